/*
 * concurrent.c - CREATE INDEX CONCURRENTLY and REINDEX CONCURRENTLY of values.
 *
 * These build the index from a snapshot, and then insert the rows that it does not
 * have.  For that they ask the index for all of its TIDs, by a VACUUM that removes
 * none.  But an entry of a block does not know which rows it stands for.  If it
 * named none, the whole table would be inserted once more; if it named all rows of
 * the block, those that came after the snapshot would be missing.  So a concurrent
 * build writes the TIDs of its rows to a temporary file; if several processes build,
 * each of them has one, and the leader joins them.  The same backend reads it, in a
 * later transaction of the same command.
 */
#include "pg/index/bloomx/build/concurrent.h"

#include "access/xact.h"
#include "commands/tablespace.h"
#include "storage/buffile.h"
#include "utils/memutils.h"
#include "utils/rel.h"

typedef struct TidFile
{
	struct TidFile *next;
	Oid			index;
	BufFile    *file;
} TidFile;

static TidFile *tid_files = NULL;

static void
CloseTidFile(TidFile **link)
{
	TidFile    *closed = *link;

	*link = closed->next;
	BufFileClose(closed->file);
	pfree(closed);
}

/* The command has failed. */
static void
AtAbort(XactEvent event, void *arg)
{
	while (event == XACT_EVENT_ABORT && tid_files != NULL)
		CloseTidFile(&tid_files);
}

static TidFile **
FindTidFile(Relation index)
{
	TidFile   **link = &tid_files;

	while (*link != NULL && (*link)->index != RelationGetRelid(index))
		link = &(*link)->next;
	return link;
}

BufFile *
BloomxStartTidFile(Relation index)
{
	static bool is_registered = false;
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	TidFile    *file = palloc0(sizeof(TidFile));

	if (!is_registered)
		RegisterXactCallback(AtAbort, NULL);
	is_registered = true;
	PrepareTempTablespaces();
	file->index = RelationGetRelid(index);
	file->file = BufFileCreateTemp(true);
	file->next = tid_files;
	tid_files = file;
	MemoryContextSwitchTo(old);
	return file->file;
}

void
BloomxNoteTid(BufFile *file, const ItemPointerData *tid)
{
	BufFileWrite(file, (void *) tid, sizeof *tid);
}

void
BloomxCopyTids(BufFile *to, BufFile *from)
{
	ItemPointerData tids[1024];
	size_t		bytes;

	while ((bytes = BufFileRead(from, tids, sizeof tids)) > 0)
		BufFileWrite(to, tids, bytes);
}

void
BloomxReportTidFile(Relation index, IndexBulkDeleteCallback callback, void *state)
{
	TidFile   **link = FindTidFile(index);
	ItemPointerData tid;

	if (*link == NULL)
		return;
	if (BufFileSeek((*link)->file, 0, 0, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not rewind a temporary file: %m")));
	while (BufFileRead((*link)->file, &tid, sizeof tid) == sizeof tid)
		(void) callback(&tid, state);
	CloseTidFile(link);
}
