/*
 * setadd.h - what the functions that add keys to a set share.
 */
#ifndef BLOOMX_SETADD_H
#define BLOOMX_SETADD_H

#include "pg/bloomset/functions/setcall.h"

#pragma GCC visibility push(hidden)

/* Opens the set for the SQL function of that name, which is refused where nothing can be written. */
extern SetCall *OpenSetToAdd(FunctionCallInfo fcinfo, const char *function);

/* As HashSetArgument; the first key fixes the type of the set's keys. */
extern bool HashKeyToAdd(SetCall *call, Datum value, uint64 *hash);

#pragma GCC visibility pop

#endif							/* BLOOMX_SETADD_H */
