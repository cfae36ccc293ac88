/*
 * stage.h - tables whose column is of type bloomset_stage.
 */
#pragma once

#include "pg/base/base.h"

#include "utils/rel.h"

/* An error unless the table has one column, of type bloomset_stage. */
extern void CheckSetTable(Relation rel);
