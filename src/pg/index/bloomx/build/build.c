/*
 * build.c - CREATE INDEX, as far as it is the same for filters and values.
 */
#include "pg/index/bloomx/build/build.h"

#include "access/htup_details.h"
#include "access/xloginsert.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "pgstat.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "pg/base/objects.h"
#include "pg/index/bloomx/build/builder.h"
#include "pg/index/bloomx/build/concurrent.h"
#include "pg/index/bloomx/build/feed.h"
#include "pg/index/bloomx/directory/snapshot.h"
#include "pg/index/bloomx/format/options.h"

const BloomxFeed *bloomx_feed = NULL;

char *
bloomxbuildphasename(int64 phase)
{
	switch (phase)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return "initializing";
		case SCANNING_PHASE:
			return "scanning table";
		case WRITING_PHASE:
			return "writing segment";
		default:
			return NULL;
	}
}

static void
WriteMetaPage(Relation index)
{
	Buffer		buffer = ReadBuffer(index, P_NEW);
	GenericXLogState *state;

	Assert(BufferGetBlockNumber(buffer) == META_BLOCK);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	state = GenericXLogStart(index);
	BloomxInitMetaPage(index, GenericXLogRegisterBuffer(state, buffer, GENERIC_XLOG_FULL_IMAGE));
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
}

/*
 * Signatures of filters have one geometry, those of values have many: an index has one
 * column of filters, or any number of values.
 */
static void
RefuseFurtherColumns(Relation heap, Relation index, int column)
{
	AttrNumber	of_heap = index->rd_index->indkey.values[column];	/* 0: an expression */
	const char *name = of_heap == 0 ? "(...)" : quote_identifier(get_attname(RelationGetRelid(heap), of_heap, false));

	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a column of filters must be the only column of a bloomx index"),
			 errhint("Create an index of its own for it, CREATE INDEX ON %s USING bloomx (%s), and others for the other columns; a query can use several of them.",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(heap)), RelationGetRelationName(heap)), name)));
}

/* The default class of all types that have no other takes only those whose values it can find. */
static void
CheckColumn(Relation heap, Relation index, int column)
{
	Oid			type = getBaseType(TupleDescAttr(RelationGetDescr(index), column)->atttypid);
	char		kind = get_typtype(type);

	if (index->rd_opcintype[column] != FilterTypeOid())
		(void) index_getprocinfo(index, column + 1, EXTRACT_FUNCTION);	/* an error if a class of values has none */
	else if (IndexRelationGetNumberOfKeyAttributes(index) > 1)
		RefuseFurtherColumns(heap, index, column);
	if (index->rd_opcintype[column] != ANYNONARRAYOID ||
		kind == TYPTYPE_ENUM || kind == TYPTYPE_RANGE || kind == TYPTYPE_MULTIRANGE || kind == TYPTYPE_COMPOSITE)
		return;
	if (IsFilterType(type))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("the operator class of index \"%s\" is not for filters", RelationGetRelationName(index)),
				 errhint("Leave the operator class out: bloomx_ops is the default for filters.")));
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("access method bloomx has no operator class for type %s", format_type_be(type)),
			 errhint("Index an expression of a type that has one, for example a cast to text, or name an operator class.")));
}

static void
RefuseOption(bool given, const char *option, const char *what, const char *hint)
{
	if (given)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" of a bloomx index is for %s", option, what),
				 errhint("%s", hint)));
}

static void
CheckOptions(Relation index)
{
	BloomxOptions options = BloomxGetOptions(index);

	if (BloomxIsOfFilters(index))
	{
		RefuseOption(options.fpr > 0, "fpr", "values", "Set signature_bits and hash_functions, or make filters of a lower false positive rate.");
		RefuseOption(options.partition_lookup, "partition_lookup", "values", "Leave it out.");
		RefuseOption(options.max_keys_per_filter > 0, "max_keys_per_filter", "values", "Leave it out: every filter has a signature of its own.");
	}
	else
		RefuseOption(options.signature_bits > 0, "signature_bits", "filters", "Set fpr: the bits of a signature follow from its keys.");
}

static void
BuildAlone(Relation heap, Relation index, IndexInfo *info, BufFile *tids, IndexBuildResult *result)
{
	BloomxShare share = {.blocks = RelationGetNumberOfBlocks(heap), .memory = maintenance_work_mem * (Size) 1024};
	BloomxBuilder *builder = BloomxIsOfFilters(index) ? BloomxStartFilters(index, &share) : BloomxStartValues(index, &share);

	result->heap_tuples = BloomxScanTable(builder, heap, info, tids, NULL, true);
	builder->finish(builder);
	result->index_tuples = builder->indexed;
}

/* Says that the index is of little use for some rows. */
static void
NoteRowsOfTooManyKeys(Relation index)
{
	const BloomxDirectory *directory = BloomxReadDirectory(index, NULL);
	int64		rows = BloomxCountAnything(directory);

	if (rows > 0)
		ereport(NOTICE,
				(errmsg_plural("index \"%s\" has " INT64_FORMAT " row that every scan returns",
							   "index \"%s\" has " INT64_FORMAT " rows that every scan returns",
							   (unsigned long) rows, RelationGetRelationName(index), rows),
				 errdetail("A row that the index can exclude has at most %u keys.", BloomxMostKeysOfRow(directory->meta.keys.parts)),
				 errhint("Store such values in several rows, or index an expression of fewer keys.")));
}

IndexBuildResult *
bloomxbuild(Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc(sizeof(IndexBuildResult));
	bool		of_filters = BloomxIsOfFilters(index);
	BufFile    *tids = NULL;

	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		CheckColumn(heap, index, i);
	CheckOptions(index);
	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data", RelationGetRelationName(index));
	WriteMetaPage(index);
	if (heap->rd_rel->reltuples > 0)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL, (int64) heap->rd_rel->reltuples);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, SCANNING_PHASE);
	if (info->ii_Concurrent && !of_filters)
		tids = BloomxStartTidFile(index);
	if (of_filters || !BloomxBuildInParallel(heap, index, info, tids, result))
		BuildAlone(heap, index, info, tids, result);
	if (!of_filters)
		NoteRowsOfTooManyKeys(index);
	if (!of_filters && bloomx_feed != NULL)
		bloomx_feed->build(heap, index, info);
	return result;
}

/* The init fork, to which an unlogged index is reset after a crash. */
void
bloomxbuildempty(Relation index)
{
	Buffer		buffer = ReadBufferExtended(index, INIT_FORKNUM, P_NEW, RBM_NORMAL, NULL);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	START_CRIT_SECTION();
	BloomxInitMetaPage(index, BufferGetPage(buffer));
	MarkBufferDirty(buffer);
	log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
}
