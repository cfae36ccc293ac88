/*
 * bloomx.c - what happens when the module is loaded.
 */
#include "bloomx.h"

#include "utils/guc.h"

BLOOMX_MODULE_MAGIC;

int			bloomx_overfill = OVERFILL_NOTICE;
int			bloomx_build_mem;

static const struct config_enum_entry overfill_options[] = {
	{"off", OVERFILL_OFF, false},
	{"notice", OVERFILL_NOTICE, false},
	{"error", OVERFILL_ERROR, false},
	{NULL, 0, false}
};

void		_PG_init(void);

void
_PG_init(void)
{
	DefineCustomEnumVariable("bloomx.overfill",
							 "What to do when a filter is given more keys than its planned capacity.",
							 "The filter still finds every key; its false positive rate rises above the planned one.",
							 &bloomx_overfill, OVERFILL_NOTICE, overfill_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("bloomx.build_mem",
							"How much memory an auto-sized bloom_agg may use for a filter while it counts distinct keys.",
							"Beyond it the keys go into a filter of at most that size, which is cut down at the end.",
							&bloomx_build_mem, (int) (BLX_MAX_BYTES / 1024), 64, (int) (BLX_MAX_BYTES / 1024),
							PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
	MarkGUCPrefixReserved("bloomx");
}
