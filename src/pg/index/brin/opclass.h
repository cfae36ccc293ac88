/*
 * opclass.h - the BRIN classes whose summaries are filters (opclass.c), and what scans
 * of them cost (cost.c).
 */
#ifndef BLOOMX_BRIN_OPCLASS_H
#define BLOOMX_BRIN_OPCLASS_H

#include "pg/base/base.h"

/* The support function that tells these classes from others. */
extern PGDLLEXPORT Datum bloomx_brin_consistent(PG_FUNCTION_ARGS);

#pragma GCC visibility push(hidden)

extern void InstallBrinCosts(void);

#pragma GCC visibility pop

#endif							/* BLOOMX_BRIN_OPCLASS_H */
