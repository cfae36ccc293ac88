/*
 * provisional.c - the geometry of an index before there is a segment.
 *
 * If an index is made on an empty table, and neither an option nor the column's
 * type says how large its filters are, the rows that come have to say.  The first
 * few say too little.  So the geometry is provisional as long as all rows are
 * pending: it has the most blocks and the most parts of their filters.  Each row
 * notes the blocks and parts of its own filter.  When the list becomes the first
 * segment, the geometry is chosen from these, as CREATE INDEX chooses it.
 *
 * A change of the geometry rewrites the list.  The table is not read for this:
 * a signature that holds its filter as it is, folded to fewer blocks and parts,
 * is the signature that the filter has there (slices.h).
 *
 * The list is short then, so it is rewritten at once, under the directory lock,
 * so that VACUUM and checks see no change within a step, and the metapage's
 * exclusive lock, so that no row is appended meanwhile.
 */
#include "pg/index/bloomx/segment/provisional.h"

#include "utils/memutils.h"

#include "pg/index/bloomx/directory/snapshot.h"
#include "pg/index/bloomx/format/options.h"
#include "pg/index/bloomx/pending/list.h"
#include "pg/index/bloomx/pending/reader.h"

StaticAssertDecl(sizeof(BloomxRowHead) == sizeof(uint64), "the head of a row is one word");

blx_geometry
BloomxOwnGeometry(const blx_filter *f)
{
	blx_geometry geometry;

	if (!blx_signature_geometry(f, &geometry))
		geometry = (blx_geometry) {.blocks = 1, .parts = 0};
	return geometry;
}

void
BloomxWidenKeys(Relation index, BloomxKeys *keys, const blx_geometry *own)
{
	int			probes = BloomxGetOptions(index).probes;

	keys->parts = probes > 0 ? probes : Max(Max(keys->parts, own->parts), 1);
	keys->log2_blocks = Max(keys->log2_blocks, pg_leftmost_one_pos32(own->blocks));
	while ((64 * (uint64) keys->parts) << keys->log2_blocks > MAX_SIGNATURE_BITS)
		keys->log2_blocks--;
}

static bool
SameGeometry(const BloomxKeys *a, const BloomxKeys *b)
{
	return a->log2_blocks == b->log2_blocks && a->parts == b->parts;
}

/* The geometry that CREATE INDEX would choose for the filters of these rows, and one more if `own` is not NULL. */
static blx_geometry
ChooseByRows(Relation index, const uint64 *words, uint32 rows, uint32 row_words, const blx_geometry *own)
{
	BloomxOptions options = BloomxGetOptions(index);
	BloomxGeometrySample none = {0},
				sample = {0};

	/* the option was set after CREATE INDEX, and was checked without filters: they may have more parts than it has room for */
	if (options.bits > 0)
		return BloomxChooseGeometry(options.bits, options.probes, &none);
	for (uint32 i = 0; i < rows; i++)
	{
		const BloomxRowHead *head = (const BloomxRowHead *) (words + i * (Size) row_words);
		blx_geometry geometry = {.blocks = UINT32_C(1) << (head->log2_blocks & 31), .parts = head->parts};

		if (head->log2_blocks > 31 || head->parts > BLX_MAX_K)
			BloomxReportCorruption(index, META_BLOCK, "A pending row is of a filter that cannot be.");
		if (geometry.parts > 0)
			BloomxAddToSample(&sample, &geometry);
	}
	if (own != NULL && own->parts > 0)
		BloomxAddToSample(&sample, own);
	return BloomxChooseGeometry(options.bits, options.probes, &sample);
}

/*
 * The keys that the index gets.  With `own`, the provisional ones that hold such a
 * filter, too, unless the list would be too long with them: then the geometry is
 * chosen.
 */
static BloomxKeys
NewKeys(Relation index, const BloomxDirectory *directory, const uint64 *words, uint32 rows, const blx_geometry *own)
{
	BloomxMeta	meta = directory->meta;
	BloomxKeys	keys;
	blx_geometry geometry;

	if (own != NULL)
	{
		BloomxWidenKeys(index, &meta.keys, own);
		geometry = BloomxGeometryOf(&meta.keys);
		if (!BloomxListIsTooLong(&meta, FIRST_LIST, (rows + 1) * (uint64) BloomxPendingWords(&geometry), BloomxPendingLimit(index)))
			return meta.keys;
	}
	keys = directory->meta.keys;
	geometry = ChooseByRows(index, words, rows, BloomxPendingWords(&directory->geometry), own);
	BloomxSetGeometry(&keys, &geometry);
	keys.provisional = false;
	return keys;
}

/* The rows with signatures of another geometry. */
static uint64 *
ConvertRows(const uint64 *words, uint32 rows, const blx_geometry *from, const blx_geometry *to)
{
	uint32		old_words = BloomxPendingWords(from),
				new_words = BloomxPendingWords(to);
	uint64	   *converted = MemoryContextAllocHuge(CurrentMemoryContext, Max(1, rows) * (Size) new_words * sizeof(uint64));

	for (uint32 i = 0; i < rows; i++)
	{
		const uint64 *row = words + i * (Size) old_words;
		uint64	   *new_row = converted + i * (Size) new_words;

		new_row[0] = row[0];
		blx_signature_convert(new_row + 1, to, row + 1, from);
	}
	return converted;
}

/* Rewrites the list, in meta, and on new pages.  False if too few pages are free. */
static bool
RewriteList(Relation index, const BloomxDirectory *directory, const blx_geometry *own, BloomxMeta *meta)
{
	BlockNumber *blocks = BloomxPendingBlocks(index, directory, FIRST_LIST, meta->pending[FIRST_LIST].pages);
	blx_geometry geometry;
	uint32		rows;
	uint64		taken,
			   *words = BloomxReadPendingRows(index, directory, FIRST_LIST, directory->list_words[FIRST_LIST], &rows, &taken);

	meta->keys = NewKeys(index, directory, words, rows, own);
	geometry = BloomxGeometryOf(&meta->keys);
	words = ConvertRows(words, rows, &directory->geometry, &geometry);
	return BloomxReplacePending(index, meta, blocks, words, rows * (uint64) BloomxPendingWords(&geometry));
}

/*
 * One WAL record makes the metapage name the new list, and its geometry.  If there
 * is a crash before it, the new pages are still free.  False if too few pages were.
 */
static bool
TryRewrite(Relation index, const blx_geometry *own)
{
	Buffer		buffer = ReadBuffer(index, META_BLOCK);
	BloomxDirectory directory = {.segments = NULL};
	BloomxMeta	meta;
	bool		done = true;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	directory.meta = meta = *BloomxGetMeta(index, BufferGetPage(buffer));
	directory.blocks = RelationGetNumberOfBlocks(index);
	directory.geometry = BloomxGeometryOf(&meta.keys);
	directory.list_words[FIRST_LIST] = BloomxCountPending(index, &meta, FIRST_LIST);
	if (meta.keys.provisional)
	{
		done = RewriteList(index, &directory, own, &meta);
		if (done)
		{
			GenericXLogState *state = GenericXLogStart(index);

			meta.changes++;
			BloomxSealMeta(&meta);
			memcpy(PageGetContents(GenericXLogRegisterBuffer(state, buffer, 0)), &meta, sizeof meta);
			GenericXLogFinish(state);
		}
	}
	UnlockReleaseBuffer(buffer);
	return done;
}

static void
Rewrite(Relation index, const blx_geometry *own)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "bloomx provisional", ALLOCSET_DEFAULT_SIZES),
				old = MemoryContextSwitchTo(memory);

	while (!TryRewrite(index, own))
	{
		BloomxExtendIndex(index, EXTENSION_PAGES);
		MemoryContextReset(memory);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(memory);
}

bool
BloomxWidenPending(Relation index, const BloomxKeys *keys, const blx_geometry *own)
{
	BloomxKeys	wider = *keys;

	BloomxWidenKeys(index, &wider, own);
	if (SameGeometry(&wider, keys))
		return false;
	BloomxLockDirectory(index);
	Rewrite(index, own);
	BloomxUnlockDirectory(index);
	return true;
}

void
BloomxSettleGeometry(Relation index)
{
	Rewrite(index, NULL);
}
