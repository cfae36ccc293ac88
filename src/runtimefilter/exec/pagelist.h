/*
 * pagelist.h - the pages on which an index finds the keys of a set.
 */
#pragma once

#include "runtimefilter/query/registry.h"

/* A key of a filter, for which an index can be searched; and the pages of the last search. */
typedef struct PageSearch PageSearch;

/* What a search is worth. */
typedef struct SearchLimits
{
	double		rest;			/* nanoseconds that the scan takes without it */
	double		page;			/* and for a page that it reads */
} SearchLimits;

/* The point's i-th key, if the table has an index that can be searched for it; otherwise NULL. */
extern PageSearch *NewPageSearch(AppliedFilter *applied, Relation table, int i);

extern AppliedFilter *FilterOfSearch(const PageSearch *search);

/* The keys to be searched for; UINT32_MAX if they are not known one by one, or were searched for in vain. */
extern uint32 KeysToSearch(const PageSearch *search);

/* What it takes at least, in nanoseconds. */
extern double SearchCost(uint32 keys);

/* True if the search is likely to pay. */
extern bool SearchPays(uint32 keys, const SearchLimits *limits);

/* Searches the index, for a table of so many pages.  False if nothing is known then. */
extern bool SearchPages(PageSearch *search, BlockNumber n_blocks, const SearchLimits *limits);

/* True if the pages of the filter's present keys are known. */
extern bool PagesAreListed(const PageSearch *search);

/* True if the page may have a key.  The answer holds up to the page *until. */
extern bool PageIsListed(const PageSearch *search, BlockNumber page, BlockNumber *until);
