/*
 * stage.h - tables whose column is of type bloomset_stage.
 */
#ifndef BLOOMX_STAGE_H
#define BLOOMX_STAGE_H

#include "pg/base/base.h"

#include "utils/rel.h"

#pragma GCC visibility push(hidden)

/* An error unless the table has one column, of type bloomset_stage. */
extern void CheckSetTable(Relation rel);

#pragma GCC visibility pop

#endif							/* BLOOMX_STAGE_H */
