/*
 * stageplan.h - the shapes of stages.
 */
#pragma once

#include "pg/bloomset/stages/format.h"

/* The most keys that a set is planned for: numbers up to there are exact as double. */
#define SET_MAX_CAPACITY (UINT64CONST(1) << 53)

/* The stage of a set that does not grow; an error if a relation cannot be that large.  `first` is left to the caller. */
extern SetStage PlanOneStage(uint64 capacity, double fpr);

/* The next stage of a growing set. */
extern SetStage PlanNextStage(const SetMeta *meta);

/*
 * The stage of a growing set that is built of `keys` keys at once, or of the first
 * stage->keys of these.
 */
extern SetStage PlanBuiltStage(const SetMeta *meta, uint64 keys);

/* The share of bits that are set in a stage of n keys, and the number of keys of such a share. */
extern double ShareOfKeys(const SetStage *stage, double n);
extern double KeysOfShare(const SetStage *stage, double share);

/* The rate of a stage with n keys. */
extern double RateOfStage(const SetStage *stage, double n);
