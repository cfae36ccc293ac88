/*
 * hooks.h - the door of this room.
 */
#ifndef RUNTIMEFILTER_HOOKS_H
#define RUNTIMEFILTER_HOOKS_H

#include "pg/base/compat.h"

#pragma GCC visibility push(hidden)

/*
 * When the module is loaded: settings and hooks.  filter_function is the one by which an
 * index class's summaries are known to be filters of this extension.
 */
extern void InstallRuntimeFilters(PGFunction filter_function);

#pragma GCC visibility pop

#endif							/* RUNTIMEFILTER_HOOKS_H */
