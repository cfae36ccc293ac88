/*
 * opclass.h - the BRIN classes whose summaries are filters (opclass.c), and what scans
 * of them cost (cost.c).
 */
#pragma once

#include "pg/base/base.h"

/* The support function that tells these classes from others. */
extern PGDLLEXPORT Datum bloomx_brin_consistent(PG_FUNCTION_ARGS);

extern void InstallBrinCosts(void);
