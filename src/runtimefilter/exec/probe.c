/*
 * probe.c - tests the rows of a site.
 *
 * A test that drops nothing is wasted.  So rows are counted in windows, and after
 * a window in which a filter dropped too few it pauses, longer each time.  The
 * filters of one site are asked in the order of what they drop per cost, measured
 * in the last window: any order of joins then comes near the best one (Zhu et al.,
 * "Looking Ahead Makes Query Plans Robust", VLDB 2017).
 */
#include "postgres.h"

#include "executor/executor.h"

#include "runtimefilter/runtimefilter.h"

/* Rows per window: enough to tell 10 % from 9 %, and a tenth of a millisecond. */
#define WINDOW_ROWS 8192

/* The first pause is 16 windows, so a useless filter costs 6 % of its tests; the last one is 4 million rows. */
#define FIRST_PAUSE (16 * WINDOW_ROWS)
#define LAST_PAUSE (512 * WINDOW_ROWS)

/*
 * What a test costs, in nanoseconds: of a bit or of a Bloom filter, after the word
 * has been read; a hash function and its call cost more than either.  Measured by
 * the set "costs" of bench/join/run.  They only weigh filters of one site against
 * each other.
 */
static double
TestCost(const SiteFilter *sf)
{
	if (!IsInteger(&sf->readers[0]))
		return 30;
	return sf->set->form == KEYS_FILTER ? 10 : 5;
}

static double
DropPerCost(const SiteFilter *sf)
{
	return sf->drop_rate / TestCost(sf);
}

/* The filters are few and nearly in order: insertion sort. */
static void
SortFilters(Site *site)
{
	for (int i = 1; i < site->n_filters; i++)
	{
		SiteFilter *moved = site->filters[i];
		int			j = i;

		for (; j > 0 && DropPerCost(site->filters[j - 1]) < DropPerCost(moved); j--)
			site->filters[j] = site->filters[j - 1];
		site->filters[j] = moved;
	}
}

/* A filter's window is full. */
static void
EndWindow(SiteFilter *sf)
{
	sf->drop_rate = (double) sf->window_dropped / sf->window_checked;
	sf->window_checked = sf->window_dropped = 0;
	if (sf->drop_rate < bloomx_runtime_filter_min_drop)
	{
		sf->pause = sf->pause == 0 ? FIRST_PAUSE : Min(sf->pause * 2, LAST_PAUSE);
		sf->paused = sf->pause;
		sf->pauses++;
	}
	else
		sf->pause = 0;
}

uint64
SiteGeneration(const Site *site)
{
	uint64		sum = 0;

	for (int i = 0; i < site->n_filters; i++)
		sum += site->filters[i]->filter->generation;
	return sum;
}

void
WakeSite(Site *site)
{
	if (site->asleep_of != SiteGeneration(site))
		site->asleep = 0;
	site->asleep_since = completed_filters;
}

/* If all filters pause, the site does. */
static void
LetSleep(Site *site)
{
	uint64		rows = UINT64_MAX;

	for (int i = 0; i < site->n_filters; i++)
		rows = Min(rows, site->filters[i]->paused);
	for (int i = 0; i < site->n_filters; i++)
		site->filters[i]->paused -= rows;
	site->asleep = rows;
	site->asleep_since = completed_filters;
	site->asleep_of = SiteGeneration(site);
}

bool
EndWindows(Site *site)
{
	bool		ended = false;

	for (int i = 0; i < site->n_filters; i++)
		if (site->filters[i]->window_checked >= WINDOW_ROWS)
		{
			EndWindow(site->filters[i]);
			ended = true;
		}
	if (ended)
	{
		SortFilters(site);
		LetSleep(site);
	}
	return ended;
}

/* The row's word; false if a key is NULL. */
static bool
ReadWord(SiteFilter *sf, TupleTableSlot *slot, uint64 *word)
{
	uint64		combined = 0;

	for (int i = 0; i < sf->n_keys; i++)
	{
		bool		is_null;
		Datum		value;
		uint64		one;

		if (sf->attnos[i] != 0)
			value = slot_getattr(slot, sf->attnos[i], &is_null);
		else
		{
			sf->filter->econtext->ecxt_outertuple = slot;
			value = ExecEvalExpr(sf->exprs[i], sf->filter->econtext, &is_null);
		}

		if (is_null)
			return false;
		one = WordOf(&sf->readers[i], value);
		if (sf->n_keys == 1)
		{
			*word = one;
			return true;
		}
		combined = CombineWords(combined, one);
	}
	*word = combined;
	return true;
}

static inline bool
MayMatch(SiteFilter *sf, TupleTableSlot *slot)
{
	MemoryContext old;
	uint64		word;
	bool		may_match;

	/* the common case: a column of integers */
	if (sf->n_keys == 1 && IsInteger(&sf->readers[0]) && sf->attnos[0] != 0)
	{
		bool		is_null;
		Datum		value = slot_getattr(slot, sf->attnos[0], &is_null);

		return !is_null && KeySetMayHold(sf->set, (uint64) IntegerOf(sf->readers[0].kind, value));
	}
	/* an expression makes values, and a hash function may detoast them */
	old = MemoryContextSwitchTo(sf->filter->scratch);
	may_match = ReadWord(sf, slot, &word) && KeySetMayHold(sf->set, word);
	MemoryContextSwitchTo(old);
	MemoryContextReset(sf->filter->scratch);
	if (sf->exprs != NULL)
		ResetExprContext(sf->filter->econtext);
	return may_match;
}

bool
IsAwake(SiteFilter *sf, uint32 rows)
{
	if (sf->generation != sf->filter->generation)
	{
		/* other keys: what was learned of the ones before is void */
		sf->generation = sf->filter->generation;
		sf->paused = sf->pause = 0;
		sf->window_checked = sf->window_dropped = 0;
	}
	if (sf->paused > 0)
	{
		sf->paused -= Min(sf->paused, rows);
		return false;
	}
	if (sf->filter->is_shared)
		CollectShared(sf->filter);
	return FilterIsReady(sf->filter);
}

bool
RowPasses(Site *site, TupleTableSlot *slot)
{
	bool		passes = true;

	for (int i = 0; i < site->n_filters && passes; i++)
	{
		SiteFilter *sf = site->filters[i];

		if (sf->in_batches || !IsAwake(sf, 1))
			continue;
		passes = MayMatch(sf, slot);
		CountTests(sf, 1, !passes);
	}
	(void) EndWindows(site);
	return passes;
}
