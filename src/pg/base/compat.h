/*
 * compat.h - every difference between the supported PostgreSQL versions.
 */
#pragma once

#include "postgres.h"
#include "fmgr.h"
#include "nodes/nodes.h"

#if PG_VERSION_NUM < 150000
#error "bloomx needs PostgreSQL 15 or newer"
#endif

/* ---- 16 ---- */

#if PG_VERSION_NUM >= 160000
/* varlena macros have a header of their own; errors can be soft, also those of input functions */
#include "varatt.h"
#include "nodes/miscnodes.h"
#define SOFT_ERROR_CONTEXT(fcinfo) ((fcinfo)->context)
#define InputFunctionCallSoftly InputFunctionCallSafe
#define NewSoftErrors() ((Node *) makeNode(ErrorSaveContext))

/* all relations of a query are no longer its base relations alone: outer joins have numbers too */
#define QUERY_RELIDS(root) ((root)->all_query_rels)

/* the files of a relation, the counters of a table's statistics and who owns it have other names */
#define RelationLocator RelFileLocator
#define LOCATOR_OF(relation) ((relation)->rd_locator)
#define SEQSCANS_OF(table) ((table)->pgstat_info->counts.numscans)
#define ROWS_READ_OF(table) ((table)->pgstat_info->counts.tuples_returned)
#define OwnsRelation(id, user) object_ownercheck(RelationRelationId, id, user)
#define MayExecute(function, user) (object_aclcheck(ProcedureRelationId, function, user, ACL_EXECUTE) == ACLCHECK_OK)
#else
#define SOFT_ERROR_CONTEXT(fcinfo) NULL
#define errsave(context, ...) do { if ((context) == NULL) ereport(ERROR, __VA_ARGS__); } while (0)
#define ereturn(context, result, ...) do { errsave(context, __VA_ARGS__); return result; } while (0)
#define NewSoftErrors() ((Node *) palloc0(sizeof(Node)))
#define InputFunctionCallSoftly(function, text, io_param, typmod, soft, value) \
	((void) (soft), *(value) = InputFunctionCall(function, text, io_param, typmod), true)
#define QUERY_RELIDS(root) ((root)->all_baserels)
#define RelationLocator RelFileNode
#define LOCATOR_OF(relation) ((relation)->rd_node)
#define SEQSCANS_OF(table) ((table)->pgstat_info->t_counts.t_numscans)
#define ROWS_READ_OF(table) ((table)->pgstat_info->t_counts.t_tuples_returned)
#define OwnsRelation(id, user) pg_class_ownercheck(id, user)
#define MayExecute(function, user) (pg_proc_aclcheck(function, user, ACL_EXECUTE) == ACLCHECK_OK)

/* what PostgreSQL looks for by name must be visible, beside all that is hidden (Makefile) */
#undef PGDLLEXPORT
#define PGDLLEXPORT __attribute__((visibility("default")))
#undef PG_FUNCTION_INFO_V1
#define PG_FUNCTION_INFO_V1(function) \
	extern PGDLLEXPORT Datum function(PG_FUNCTION_ARGS); \
	extern PGDLLEXPORT const Pg_finfo_record *pg_finfo_##function(void); \
	const Pg_finfo_record *pg_finfo_##function(void) {static const Pg_finfo_record info = {1}; return &info;} \
	extern int	no_such_variable

/* the phases in which a shared hash table is built have other names */
#define PHJ_BUILD_HASH_INNER PHJ_BUILD_HASHING_INNER
#endif

/* an update of columns that only BRIN indexes have may be HOT */
#define BRIN_ALLOWS_HOT_UPDATES (PG_VERSION_NUM >= 160000)

/* hash joins may return rows of the inner side without a match; from 18 on, one copy of those with a match */
#if PG_VERSION_NUM >= 180000
#define IS_RIGHT_SEMI_OR_ANTI(type) ((type) == JOIN_RIGHT_SEMI || (type) == JOIN_RIGHT_ANTI)
#elif PG_VERSION_NUM >= 160000
#define IS_RIGHT_SEMI_OR_ANTI(type) ((type) == JOIN_RIGHT_ANTI)
#else
#define IS_RIGHT_SEMI_OR_ANTI(type) false
#endif

/* ---- 17 ---- */

#if PG_VERSION_NUM >= 170000
/* no old_snapshot_threshold any more: VACUUM removed what an old snapshot still saw, and BRIN lookups took a snapshot */
#define CheckForOldSnapshot(snapshot, relation, page) ((void) (snapshot))
#define BrinRevmapInitialize(index, pages_per_range, snapshot) brinRevmapInitialize(index, pages_per_range)
#define BrinGetTupleForHeapBlock(revmap, block, buffer, offset, size, mode, snapshot) \
	brinGetTupleForHeapBlock(revmap, block, buffer, offset, size, mode)

/* the length of an array looks into statistics */
#define ESTIMATE_ARRAY_LENGTH(root, array) estimate_array_length(root, array)

/* the server asks the planner how many workers may build an index of an access method that can use them */
#define SetCanBuildInParallel(routine) ((routine)->amcanbuildparallel = true)
#define BuildWorkers(heap, index, info) ((info)->ii_ParallelWorkers)
#define LOCAL_TRANSACTION() (MyProc->vxid.lxid)
#else
#define CheckForOldSnapshot(snapshot, relation, page) TestForOldSnapshot(snapshot, relation, page)
#define BrinRevmapInitialize(index, pages_per_range, snapshot) brinRevmapInitialize(index, pages_per_range, snapshot)
#define BrinGetTupleForHeapBlock(revmap, block, buffer, offset, size, mode, snapshot) \
	brinGetTupleForHeapBlock(revmap, block, buffer, offset, size, mode, snapshot)
#define ESTIMATE_ARRAY_LENGTH(root, array) estimate_array_length(array)
#define SetCanBuildInParallel(routine) ((void) 0)
#define BuildWorkers(heap, index, info) \
	(IsNormalProcessingMode() ? plan_create_index_workers(RelationGetRelid(heap), RelationGetRelid(index)) : 0)
/* maintenance runs a user's code with a safe search_path */
#define RestrictSearchPath() ((void) 0)
#define LOCAL_TRANSACTION() (MyProc->lxid)
/* another name, elsewhere */
#define AmAutoVacuumWorkerProcess() IsAutoVacuumWorkerProcess()
#endif

/* ---- 18 ---- */

#if PG_VERSION_NUM >= 180000
#include "nodes/supportnodes.h"

/* VACUUM says whether it is ANALYZE that pauses */
#define VacuumDelayPoint() vacuum_delay_point(false)
#define AnalyzeDelayPoint() vacuum_delay_point(true)

/* EXPLAIN asks extensions for more about a node */
#define HAS_EXPLAIN_NODE_HOOK

/* a module says its name and version */
#define BLOOMX_MODULE_MAGIC PG_MODULE_MAGIC_EXT(.name = "bloomx", .version = BLOOMX_VERSION)

/* a function can say which argument it changes in place */
static inline Node *
ArgumentChangedInPlace(Node *request)
{
	SupportRequestModifyInPlace *in_place = (SupportRequestModifyInPlace *) request;
	Param	   *first;

	if (!IsA(request, SupportRequestModifyInPlace))
		return NULL;
	first = (Param *) linitial(in_place->args);
	return IsA(first, Param) && first->paramkind == PARAM_EXTERN && first->paramid == in_place->paramid ? (Node *) first : NULL;
}
#else
#define VacuumDelayPoint() vacuum_delay_point()
#define AnalyzeDelayPoint() vacuum_delay_point()
#define BLOOMX_MODULE_MAGIC PG_MODULE_MAGIC
#define ArgumentChangedInPlace(request) NULL
#endif

/* functions that do not return are marked in front */
#ifndef pg_noreturn
#define pg_noreturn __attribute__((noreturn))
#endif

/* ---- 19 ---- */

#if PG_VERSION_NUM >= 190000
/* what is known of a relation can be changed when the planner has made its node, not when it has read the catalogs */
#define RelationHook build_simple_rel_hook_type
#define relation_hook build_simple_rel_hook
#define RELATION_HOOK_PARAMETERS PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte
#define RELATION_HOOK_ARGUMENTS root, rel, rte

/* scans are told whether the query leaves the table as it is, and whether EXPLAIN wants to know of reads */
#define BeginSeqScan(node, table, snapshot) \
	table_beginscan(table, snapshot, 0, NULL, \
					(ScanRelIsReadOnly(node) ? SO_HINT_REL_READ_ONLY : SO_NONE) | \
					(((node)->ps.state->es_instrument & INSTRUMENT_IO) != 0 ? SO_SCAN_INSTRUMENT : SO_NONE))
#define BeginParallelScan(table, shared) table_beginscan_parallel(table, shared, SO_NONE)
#define InitParallelBlocks(scan, shared) \
	table_block_parallelscan_startblock_init((scan)->rs_base.rs_rd, (scan)->rs_parallelworkerdata, shared, \
											 (scan)->rs_startblock, (scan)->rs_numblocks)

/* the tables that a query changes are a set */
#define IsResultRelation(statement, relid) bms_is_member(relid, (statement)->resultRelationRelids)
#define EXPLAIN_OPTION_CHECK , GUCCheckBooleanExplainOption

/* copyObject() needs C23, and says the same with what C11 compilers have */
#ifndef typeof_unqual
#define typeof_unqual __typeof__
#endif
#else
#define RelationHook get_relation_info_hook_type
#define relation_hook get_relation_info_hook
#define RELATION_HOOK_PARAMETERS PlannerInfo *root, Oid relation, bool is_parent, RelOptInfo *rel
#define RELATION_HOOK_ARGUMENTS root, relation, is_parent, rel
#define BeginSeqScan(node, table, snapshot) table_beginscan(table, snapshot, 0, NULL)
#define BeginParallelScan(table, shared) table_beginscan_parallel(table, shared)
#define InitParallelBlocks(scan, shared) \
	table_block_parallelscan_startblock_init((scan)->rs_base.rs_rd, (scan)->rs_parallelworkerdata, shared)
#define IsResultRelation(statement, relid) list_member_int((statement)->resultRelations, relid)
#define EXPLAIN_OPTION_CHECK

/* a type of OIDs of 64 bits */
#define OID8OID InvalidOid
#endif

/* ---- known up to 19: look before you raise the number ---- */

/*
 * A generic WAL record consists of offset, length and bytes of each change (generic_xlog.c); the index bloomx writes
 * it by hand (test/server/index.sh replays it with wal_consistency_checking).
 */
#ifndef GENERIC_RECORD_IS_KNOWN
#define GENERIC_RECORD_IS_KNOWN (PG_VERSION_NUM < 200000)
#endif

/* The private data of postgres_fdw's scan of a table: query, columns, rows per fetch (runtimefilter/remote/remote.c); remote_filters.sh tries it. */
#define POSTGRES_FDW_IS_KNOWN (PG_VERSION_NUM < 200000)
