/*
 * hooks.h - the door of this room.
 */
#pragma once

#include "pg/base/compat.h"

/*
 * When the module is loaded: settings and hooks.  filter_function is the one by which an
 * index class's summaries are known to be filters of this extension.
 */
extern void InstallRuntimeFilters(PGFunction filter_function);
