/*
 * feed.h - somebody who wants the keys of rows that go into an index of values.
 */
#pragma once

#include "pg/base/base.h"

#include "access/genam.h"

#include "pg/keys/extract/extract.h"

/*
 * An optional folder sets this when the library is loaded, by a constructor.  A process
 * that inserts or builds has loaded the library, since it calls the access method.
 */
typedef struct BloomxFeed
{
	/* the index is built: all of its rows are in the table */
	void		(*build) (Relation heap, Relation index, struct IndexInfo *info);
	/* a statement begins to insert; NULL: it wants no keys of this index.  What is returned is in the current memory context */
	void	   *(*start) (Relation heap, Relation index);
	/* the keys of a row that the statement has put into the table */
	void		(*add) (void *feed, const KeyHashes *hashes);
	/* VACUUM is done with the index */
	void		(*vacuum) (IndexVacuumInfo *info);
	/* bloomx_check_index is done with the index; an error if a row's key is missing */
	void		(*check) (Relation heap, Relation index);
} BloomxFeed;

extern const BloomxFeed *bloomx_feed;	/* NULL: nobody */
