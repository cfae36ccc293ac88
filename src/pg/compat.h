/*
 * compat.h - every difference between the supported PostgreSQL versions.
 */
#ifndef BLOOMX_COMPAT_H
#define BLOOMX_COMPAT_H

#include "postgres.h"
#include "fmgr.h"
#include "nodes/nodes.h"

#if PG_VERSION_NUM < 150000
#error "bloomx needs PostgreSQL 15 or newer"
#endif

/* 16: varlena macros have a header of their own; input functions can report softly */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#include "nodes/miscnodes.h"
#define SOFT_ERROR_CONTEXT(fcinfo) ((fcinfo)->context)
#else
#define SOFT_ERROR_CONTEXT(fcinfo) NULL
#define errsave(context, ...) ereport(ERROR, __VA_ARGS__)
#endif

/* 18: functions that do not return are marked in front */
#ifndef pg_noreturn
#define pg_noreturn __attribute__((noreturn))
#endif

/* 18: a module says its name and version */
#ifdef PG_MODULE_MAGIC_EXT
#define BLOOMX_MODULE_MAGIC PG_MODULE_MAGIC_EXT(.name = "bloomx", .version = "1.0.0")
#else
#define BLOOMX_MODULE_MAGIC PG_MODULE_MAGIC
#endif

#endif							/* BLOOMX_COMPAT_H */
