/* bloomx--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION bloomx" to load this file. \quit

-- ---------------------------------------------------------------------------
-- The type
-- ---------------------------------------------------------------------------

CREATE TYPE bloomfilter;
CREATE FUNCTION bloomfilter_in(cstring, oid, integer) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomfilter_in'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomfilter_in(cstring, oid, integer) IS
	'I/O';

CREATE FUNCTION bloomfilter_out(bloomfilter) RETURNS cstring
	AS 'MODULE_PATHNAME', 'bloomfilter_out'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomfilter_out(bloomfilter) IS
	'I/O';

CREATE FUNCTION bloomfilter_recv(internal, oid, integer) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomfilter_recv'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomfilter_recv(internal, oid, integer) IS
	'I/O';

CREATE FUNCTION bloomfilter_send(bloomfilter) RETURNS bytea
	AS 'MODULE_PATHNAME', 'bloomfilter_send'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomfilter_send(bloomfilter) IS
	'I/O';

CREATE FUNCTION bloomfilter_typmod_in(cstring[]) RETURNS integer
	AS 'MODULE_PATHNAME', 'bloomfilter_typmod_in'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomfilter_typmod_in(cstring[]) IS
	'I/O typmod';

CREATE FUNCTION bloomfilter_typmod_out(integer) RETURNS cstring
	AS 'MODULE_PATHNAME', 'bloomfilter_typmod_out'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomfilter_typmod_out(integer) IS
	'I/O typmod';

CREATE FUNCTION bloomfilter_typanalyze(internal) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_typanalyze'
	LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomfilter_typanalyze(internal) IS
	'bloomfilter typanalyze';

CREATE TYPE bloomfilter (
	INPUT = bloomfilter_in,
	OUTPUT = bloomfilter_out,
	RECEIVE = bloomfilter_recv,
	SEND = bloomfilter_send,
	TYPMOD_IN = bloomfilter_typmod_in,
	TYPMOD_OUT = bloomfilter_typmod_out,
	ANALYZE = bloomfilter_typanalyze,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = double,
	STORAGE = external
);
COMMENT ON TYPE bloomfilter IS
	'Bloom filter: a compact set of keys, with false positives but no false negatives';

CREATE FUNCTION bloomfilter(bloomfilter, integer, boolean) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomfilter_apply_typmod'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomfilter(bloomfilter, integer, boolean) IS
	'convert bloomfilter to the geometry of a type modifier';

CREATE CAST (bloomfilter AS bloomfilter) WITH FUNCTION bloomfilter(bloomfilter, integer, boolean) AS IMPLICIT;
COMMENT ON CAST (bloomfilter AS bloomfilter) IS 'geometry of a type modifier';

CREATE FUNCTION bytea(bloomfilter) RETURNS bytea
	AS 'MODULE_PATHNAME', 'bloomfilter_send'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bytea(bloomfilter) IS
	'convert bloomfilter to bytea, in the interchange format (docs/internals/FORMAT.md)';

CREATE FUNCTION bloomfilter(bytea) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomfilter_from_bytea'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomfilter(bytea) IS
	'convert bytea, in the interchange format (docs/internals/FORMAT.md), to bloomfilter';

CREATE CAST (bloomfilter AS bytea) WITH FUNCTION bytea(bloomfilter);
COMMENT ON CAST (bloomfilter AS bytea) IS 'interchange format';
CREATE CAST (bytea AS bloomfilter) WITH FUNCTION bloomfilter(bytea) AS ASSIGNMENT;
COMMENT ON CAST (bytea AS bloomfilter) IS 'interchange format';

-- ---------------------------------------------------------------------------
-- Equality, order, hashing: by seed, key type, geometry and bits
-- ---------------------------------------------------------------------------

CREATE FUNCTION bloomfilter_eq(bloomfilter, bloomfilter) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_eq'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomfilter_eq(bloomfilter, bloomfilter) IS
	'implementation of = operator';

CREATE FUNCTION bloomfilter_ne(bloomfilter, bloomfilter) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_ne'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomfilter_ne(bloomfilter, bloomfilter) IS
	'implementation of <> operator';

CREATE FUNCTION bloomfilter_lt(bloomfilter, bloomfilter) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_lt'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomfilter_lt(bloomfilter, bloomfilter) IS
	'implementation of < operator';

CREATE FUNCTION bloomfilter_le(bloomfilter, bloomfilter) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_le'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomfilter_le(bloomfilter, bloomfilter) IS
	'implementation of <= operator';

CREATE FUNCTION bloomfilter_ge(bloomfilter, bloomfilter) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_ge'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomfilter_ge(bloomfilter, bloomfilter) IS
	'implementation of >= operator';

CREATE FUNCTION bloomfilter_gt(bloomfilter, bloomfilter) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomfilter_gt'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomfilter_gt(bloomfilter, bloomfilter) IS
	'implementation of > operator';

CREATE FUNCTION bloomfilter_cmp(bloomfilter, bloomfilter) RETURNS integer
	AS 'MODULE_PATHNAME', 'bloomfilter_cmp'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomfilter_cmp(bloomfilter, bloomfilter) IS
	'less-equal-greater';

CREATE FUNCTION bloomfilter_hash(bloomfilter) RETURNS integer
	AS 'MODULE_PATHNAME', 'bloomfilter_hash'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomfilter_hash(bloomfilter) IS
	'hash';

CREATE FUNCTION bloomfilter_hash_extended(bloomfilter, bigint) RETURNS bigint
	AS 'MODULE_PATHNAME', 'bloomfilter_hash_extended'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomfilter_hash_extended(bloomfilter, bigint) IS
	'hash';

CREATE OPERATOR = (
	LEFTARG = bloomfilter, RIGHTARG = bloomfilter, FUNCTION = bloomfilter_eq,
	COMMUTATOR = =, NEGATOR = <>,
	RESTRICT = eqsel, JOIN = eqjoinsel,
	HASHES, MERGES
);
COMMENT ON OPERATOR = (bloomfilter, bloomfilter) IS 'equal: same seed, key type, geometry and bits';
CREATE OPERATOR <> (
	LEFTARG = bloomfilter, RIGHTARG = bloomfilter, FUNCTION = bloomfilter_ne,
	COMMUTATOR = <>, NEGATOR = =,
	RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (bloomfilter, bloomfilter) IS 'not equal';
CREATE OPERATOR < (
	LEFTARG = bloomfilter, RIGHTARG = bloomfilter, FUNCTION = bloomfilter_lt,
	COMMUTATOR = >, NEGATOR = >=,
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (bloomfilter, bloomfilter) IS 'less than, in an arbitrary order';
CREATE OPERATOR <= (
	LEFTARG = bloomfilter, RIGHTARG = bloomfilter, FUNCTION = bloomfilter_le,
	COMMUTATOR = >=, NEGATOR = >,
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (bloomfilter, bloomfilter) IS 'less than or equal, in an arbitrary order';
CREATE OPERATOR >= (
	LEFTARG = bloomfilter, RIGHTARG = bloomfilter, FUNCTION = bloomfilter_ge,
	COMMUTATOR = <=, NEGATOR = <,
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (bloomfilter, bloomfilter) IS 'greater than or equal, in an arbitrary order';
CREATE OPERATOR > (
	LEFTARG = bloomfilter, RIGHTARG = bloomfilter, FUNCTION = bloomfilter_gt,
	COMMUTATOR = <, NEGATOR = <=,
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (bloomfilter, bloomfilter) IS 'greater than, in an arbitrary order';

CREATE OPERATOR CLASS bloomfilter_btree_ops
	DEFAULT FOR TYPE bloomfilter USING btree AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 bloomfilter_cmp(bloomfilter, bloomfilter);
COMMENT ON OPERATOR CLASS bloomfilter_btree_ops USING btree IS
	'sorting, DISTINCT and merge joins of filters';
CREATE OPERATOR CLASS bloomfilter_hash_ops
	DEFAULT FOR TYPE bloomfilter USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 bloomfilter_hash(bloomfilter),
	FUNCTION 2 bloomfilter_hash_extended(bloomfilter, bigint);
COMMENT ON OPERATOR CLASS bloomfilter_hash_ops USING hash IS
	'grouping and hash joins of filters';

-- ---------------------------------------------------------------------------
-- Building and changing filters
-- ---------------------------------------------------------------------------

CREATE FUNCTION bloom_empty(capacity bigint, fpr float8 DEFAULT 0.01, layout text DEFAULT 'partitioned_blocked',
	seed bigint DEFAULT 0, options text DEFAULT '', key_type regtype DEFAULT NULL) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_empty'
	LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bloom_empty(capacity bigint, fpr float8, layout text, seed bigint, options text, key_type regtype) IS
	'make an empty filter whose false positive rate with capacity keys is below fpr';

CREATE FUNCTION bloom_empty_bits(bits bigint, k float8, layout text DEFAULT 'partitioned_blocked',
	seed bigint DEFAULT 0, options text DEFAULT '', key_type regtype DEFAULT NULL) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_empty_bits'
	LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bloom_empty_bits(bits bigint, k float8, layout text, seed bigint, options text, key_type regtype) IS
	'make an empty filter of at most the given number of bits, of which each key sets k';

CREATE FUNCTION bloomx_add_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'bloomx_add_support'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_add_support(internal) IS
	'planner support for functions that add keys: a variable may be changed in place';

CREATE FUNCTION bloom_add(f bloomfilter, v anycompatible) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_add'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50
	SUPPORT bloomx_add_support;
COMMENT ON FUNCTION bloom_add(f bloomfilter, v anycompatible) IS
	'add a key to a filter; null keys are ignored';

-- filter || text is an operator of its own: with that of any key type alone, text || any type would be as near.
CREATE FUNCTION bloomx_add_text(f bloomfilter, v text) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_add'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50
	SUPPORT bloomx_add_support;
COMMENT ON FUNCTION bloomx_add_text(f bloomfilter, v text) IS
	'implementation of || operator';

CREATE FUNCTION bloomx_add_bpchar(f bloomfilter, v character) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_add'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50
	SUPPORT bloomx_add_support;
COMMENT ON FUNCTION bloomx_add_bpchar(f bloomfilter, v character) IS
	'implementation of || operator';

CREATE OPERATOR || (LEFTARG = bloomfilter, RIGHTARG = anycompatible, FUNCTION = bloom_add);
COMMENT ON OPERATOR || (bloomfilter, anycompatible) IS 'add a key';
CREATE OPERATOR || (LEFTARG = bloomfilter, RIGHTARG = text, FUNCTION = bloomx_add_text);
COMMENT ON OPERATOR || (bloomfilter, text) IS 'add a key';
CREATE OPERATOR || (LEFTARG = bloomfilter, RIGHTARG = character, FUNCTION = bloomx_add_bpchar);
COMMENT ON OPERATOR || (bloomfilter, character) IS 'add a key';

CREATE FUNCTION bloom_add_all(f bloomfilter, vs anycompatiblearray) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_add_all'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50
	SUPPORT bloomx_add_support;
COMMENT ON FUNCTION bloom_add_all(f bloomfilter, vs anycompatiblearray) IS
	'add the elements of an array to a filter; null elements are ignored';

CREATE FUNCTION bloom_test_and_add(f bloomfilter, v anycompatible, OUT filter bloomfilter, OUT is_new boolean) RETURNS record
	AS 'MODULE_PATHNAME', 'bloom_test_and_add'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION bloom_test_and_add(f bloomfilter, v anycompatible) IS
	'add a key to a filter, and say whether it was definitely new; null keys are ignored';

CREATE FUNCTION bloom_add_hash(f bloomfilter, hash bigint) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_add_hash'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50
	SUPPORT bloomx_add_support;
COMMENT ON FUNCTION bloom_add_hash(f bloomfilter, hash bigint) IS
	'add a key, given by its bloom_hash, to a filter';

CREATE FUNCTION bloom_remove(f bloomfilter, v anycompatible) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_remove'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION bloom_remove(f bloomfilter, v anycompatible) IS
	'remove a key from a filter of layout counting; only keys that were added may be removed';

CREATE FUNCTION bloom_remove_all(f bloomfilter, vs anycompatiblearray) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_remove_all'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION bloom_remove_all(f bloomfilter, vs anycompatiblearray) IS
	'remove the elements of an array from a filter of layout counting; null elements are ignored';

CREATE FUNCTION bloom_remove_hash(f bloomfilter, hash bigint) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_remove_hash'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION bloom_remove_hash(f bloomfilter, hash bigint) IS
	'remove a key, given by its bloom_hash, from a filter of layout counting';

CREATE FUNCTION bloom_key_count(f bloomfilter, v anycompatible) RETURNS integer
	AS 'MODULE_PATHNAME', 'bloom_key_count'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION bloom_key_count(f bloomfilter, v anycompatible) IS
	'how often a key was added to a filter of layout counting, never too low; 15 means 15 or more';

CREATE FUNCTION bloom_key_count_hash(f bloomfilter, hash bigint) RETURNS integer
	AS 'MODULE_PATHNAME', 'bloom_key_count_hash'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION bloom_key_count_hash(f bloomfilter, hash bigint) IS
	'bloom_key_count of a key given by its bloom_hash';

CREATE FUNCTION bloom_get(f bloomfilter, v anycompatible) RETURNS integer
	AS 'MODULE_PATHNAME', 'bloom_get'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION bloom_get(f bloomfilter, v anycompatible) IS
	'value of a key in a map of bloom_map_agg; null if the key is definitely not there';

CREATE FUNCTION bloom_drop_counters(f bloomfilter) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_drop_counters'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION bloom_drop_counters(f bloomfilter) IS
	'convert a filter of layout counting to a filter of the same keys without counters';

CREATE FUNCTION bloom_hash(v anycompatible, seed bigint DEFAULT 0) RETURNS bigint
	AS 'MODULE_PATHNAME', 'bloom_hash'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_hash(v anycompatible, seed bigint) IS
	'64-bit hash of a key, the same on every platform and version (docs/internals/FORMAT.md)';

CREATE FUNCTION bloom_random_seed() RETURNS bigint
	AS 'MODULE_PATHNAME', 'bloom_random_seed'
	LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION bloom_random_seed() IS
	'random seed from a cryptographic source, for filters whose keys untrusted people choose';

-- ---------------------------------------------------------------------------
-- Membership
-- ---------------------------------------------------------------------------

CREATE FUNCTION bloomx_contains_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'bloomx_contains_support'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_contains_support(internal) IS
	'planner support for membership: cost, selectivity and index conditions';

CREATE FUNCTION bloomx_contains_sel(internal, oid, internal, integer) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloomx_contains_sel'
	LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_contains_sel(internal, oid, internal, integer) IS
	'restriction selectivity of operators for membership and overlap';

CREATE FUNCTION bloomx_contains_joinsel(internal, oid, internal, smallint, internal) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloomx_contains_joinsel'
	LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_contains_joinsel(internal, oid, internal, smallint, internal) IS
	'join selectivity of operators for membership and overlap';

CREATE FUNCTION bloom_contains(f bloomfilter, v anycompatible) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloom_contains'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2
	SUPPORT bloomx_contains_support;
COMMENT ON FUNCTION bloom_contains(f bloomfilter, v anycompatible) IS
	'false if the filter definitely lacks the key';

CREATE FUNCTION bloom_contained(v anycompatible, f bloomfilter) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloom_contained'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2
	SUPPORT bloomx_contains_support;
COMMENT ON FUNCTION bloom_contained(v anycompatible, f bloomfilter) IS
	'implementation of <@ operator';

CREATE FUNCTION bloom_prefilter(f bloomfilter, v anycompatible) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloom_contains'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2
	SUPPORT bloomx_contains_support;
COMMENT ON FUNCTION bloom_prefilter(f bloomfilter, v anycompatible) IS
	'same as f @> v, for use beside a join that removes the same rows: row estimates do not count it';

CREATE FUNCTION bloom_contains_any(f bloomfilter, vs anycompatiblearray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloom_contains_any'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
	SUPPORT bloomx_contains_support;
COMMENT ON FUNCTION bloom_contains_any(f bloomfilter, vs anycompatiblearray) IS
	'false if the filter definitely lacks every element of the array';

CREATE FUNCTION bloom_contains_all(f bloomfilter, vs anycompatiblearray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloom_contains_all'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10
	SUPPORT bloomx_contains_support;
COMMENT ON FUNCTION bloom_contains_all(f bloomfilter, vs anycompatiblearray) IS
	'false if the filter definitely lacks some element of the array';

CREATE FUNCTION bloom_contains_hash(f bloomfilter, hash bigint) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloom_contains_hash'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2
	SUPPORT bloomx_contains_support;
COMMENT ON FUNCTION bloom_contains_hash(f bloomfilter, hash bigint) IS
	'false if the filter definitely lacks the key, given by its bloom_hash';

CREATE OPERATOR @> (
	LEFTARG = bloomfilter, RIGHTARG = anycompatible, FUNCTION = bloom_contains,
	COMMUTATOR = <@,
	RESTRICT = bloomx_contains_sel, JOIN = bloomx_contains_joinsel
);
COMMENT ON OPERATOR @> (bloomfilter, anycompatible) IS 'possibly contains';
CREATE OPERATOR <@ (
	LEFTARG = anycompatible, RIGHTARG = bloomfilter, FUNCTION = bloom_contained,
	COMMUTATOR = @>,
	RESTRICT = bloomx_contains_sel, JOIN = bloomx_contains_joinsel
);
COMMENT ON OPERATOR <@ (anycompatible, bloomfilter) IS 'is possibly contained by';

-- Membership as an index condition: the planner turns f @> v into f ?& bloomx_probe(v).
CREATE FUNCTION bloomx_probe(v anycompatible) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomx_probe'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomx_probe(v anycompatible) IS
	'set of one key, for ?& and ?| and the conditions of an index of filters';

CREATE FUNCTION bloomx_probe_all(vs anycompatiblearray) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomx_probe_all'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomx_probe_all(vs anycompatiblearray) IS
	'set of the elements of an array, for ?& and ?| and the conditions of an index of filters';

CREATE FUNCTION bloomx_probe_hash(hash bigint) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomx_probe_hash'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomx_probe_hash(hash bigint) IS
	'set of one key, given by its bloom_hash, for ?& and ?| and the conditions of an index of filters';

CREATE FUNCTION bloomx_holds_all(f bloomfilter, probe bloomfilter) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomx_holds_all'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomx_holds_all(f bloomfilter, probe bloomfilter) IS
	'implementation of ?& operator';

CREATE FUNCTION bloomx_holds_any(f bloomfilter, probe bloomfilter) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomx_holds_any'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomx_holds_any(f bloomfilter, probe bloomfilter) IS
	'implementation of ?| operator';

CREATE OPERATOR ?& (
	LEFTARG = bloomfilter, RIGHTARG = bloomfilter, FUNCTION = bloomx_holds_all,
	RESTRICT = bloomx_contains_sel, JOIN = bloomx_contains_joinsel
);
COMMENT ON OPERATOR ?& (bloomfilter, bloomfilter) IS 'possibly contains all keys of a set made by bloomx_probe';
CREATE OPERATOR ?| (
	LEFTARG = bloomfilter, RIGHTARG = bloomfilter, FUNCTION = bloomx_holds_any,
	RESTRICT = bloomx_contains_sel, JOIN = bloomx_contains_joinsel
);
COMMENT ON OPERATOR ?| (bloomfilter, bloomfilter) IS 'possibly contains any key of a set made by bloomx_probe';

-- The same for keys without a type, whose text is read as a key of the filter's type: f @> '42' becomes f ?& '42'::text.
-- What a text is read as may depend on settings such as TimeZone, which another server does not share: so they are stable.
CREATE FUNCTION bloomx_holds_text(f bloomfilter, v text) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomx_holds_text'
	LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomx_holds_text(f bloomfilter, v text) IS
	'implementation of ?& operator';

CREATE FUNCTION bloomx_holds_all_texts(f bloomfilter, vs text[]) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomx_holds_all_texts'
	LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomx_holds_all_texts(f bloomfilter, vs text[]) IS
	'implementation of ?& operator';

CREATE FUNCTION bloomx_holds_any_text(f bloomfilter, vs text[]) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomx_holds_any_text'
	LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloomx_holds_any_text(f bloomfilter, vs text[]) IS
	'implementation of ?| operator';

CREATE OPERATOR ?& (
	LEFTARG = bloomfilter, RIGHTARG = text, FUNCTION = bloomx_holds_text,
	RESTRICT = bloomx_contains_sel, JOIN = bloomx_contains_joinsel
);
COMMENT ON OPERATOR ?& (bloomfilter, text) IS 'possibly contains the key that the text is read as';
CREATE OPERATOR ?& (
	LEFTARG = bloomfilter, RIGHTARG = text[], FUNCTION = bloomx_holds_all_texts,
	RESTRICT = bloomx_contains_sel, JOIN = bloomx_contains_joinsel
);
COMMENT ON OPERATOR ?& (bloomfilter, text[]) IS 'possibly contains all keys that the texts are read as';
CREATE OPERATOR ?| (
	LEFTARG = bloomfilter, RIGHTARG = text[], FUNCTION = bloomx_holds_any_text,
	RESTRICT = bloomx_contains_sel, JOIN = bloomx_contains_joinsel
);
COMMENT ON OPERATOR ?| (bloomfilter, text[]) IS 'possibly contains any key that the texts are read as';

-- ---------------------------------------------------------------------------
-- Set operations
-- ---------------------------------------------------------------------------

CREATE FUNCTION bloom_union(a bloomfilter, b bloomfilter) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_union'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_union(a bloomfilter, b bloomfilter) IS
	'filter of the keys of either; sizes may differ';

CREATE FUNCTION bloom_intersection(a bloomfilter, b bloomfilter) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_intersection'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_intersection(a bloomfilter, b bloomfilter) IS
	'filter that holds at least the keys of both; sizes may differ';

CREATE FUNCTION bloom_disjoint(a bloomfilter, b bloomfilter) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloom_disjoint'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_disjoint(a bloomfilter, b bloomfilter) IS
	'true if the filters definitely have no key in common';

CREATE FUNCTION bloom_overlaps(a bloomfilter, b bloomfilter) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloom_overlaps'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_overlaps(a bloomfilter, b bloomfilter) IS
	'false if the filters definitely have no key in common';

CREATE OPERATOR | (LEFTARG = bloomfilter, RIGHTARG = bloomfilter, FUNCTION = bloom_union, COMMUTATOR = |);
COMMENT ON OPERATOR | (bloomfilter, bloomfilter) IS 'union';
CREATE OPERATOR & (LEFTARG = bloomfilter, RIGHTARG = bloomfilter, FUNCTION = bloom_intersection, COMMUTATOR = &);
COMMENT ON OPERATOR & (bloomfilter, bloomfilter) IS 'intersection';
CREATE OPERATOR && (
	LEFTARG = bloomfilter, RIGHTARG = bloomfilter, FUNCTION = bloom_overlaps,
	COMMUTATOR = &&, NEGATOR = !&&, RESTRICT = bloomx_contains_sel, JOIN = bloomx_contains_joinsel
);
COMMENT ON OPERATOR && (bloomfilter, bloomfilter) IS 'possibly overlaps';
CREATE OPERATOR !&& (
	LEFTARG = bloomfilter, RIGHTARG = bloomfilter, FUNCTION = bloom_disjoint,
	COMMUTATOR = !&&, NEGATOR = &&, RESTRICT = bloomx_contains_sel, JOIN = bloomx_contains_joinsel
);
COMMENT ON OPERATOR !&& (bloomfilter, bloomfilter) IS 'definitely does not overlap';

-- ---------------------------------------------------------------------------
-- Size reduction
-- ---------------------------------------------------------------------------

CREATE FUNCTION bloom_prefix(f bloomfilter, parts integer) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_prefix'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_prefix(f bloomfilter, parts integer) IS
	'keep the first parts of a filter: smaller, with a higher false positive rate';

CREATE FUNCTION bloom_fold(f bloomfilter, times integer DEFAULT 1) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_fold'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_fold(f bloomfilter, times integer) IS
	'halve a filter the given number of times: smaller, with a higher false positive rate';

CREATE FUNCTION bloom_shrink(f bloomfilter, fpr float8) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_shrink'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bloom_shrink(f bloomfilter, fpr float8) IS
	'smallest prefix and fold of a filter whose false positive rate, with its present keys, is at most fpr';

-- ---------------------------------------------------------------------------
-- Inspection and planning
-- ---------------------------------------------------------------------------

CREATE FUNCTION bloom_info(f bloomfilter,
	OUT layout text, OUT bits bigint, OUT bytes bigint, OUT blocks bigint, OUT parts integer,
	OUT part_bits bigint, OUT hash_functions integer, OUT key_type text, OUT seed bigint,
	OUT capacity bigint, OUT overfilled boolean, OUT bits_set bigint,
	OUT fill float8, OUT cardinality float8, OUT fpr float8, OUT details jsonb) RETURNS record
	AS 'MODULE_PATHNAME', 'bloom_info'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_info(bloomfilter) IS
	'geometry, key type, capacity, fill, estimated number of keys and false positive rate of a filter';

CREATE FUNCTION bloom_summary(f bloomfilter) RETURNS text
	AS 'MODULE_PATHNAME', 'bloom_summary'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_summary(bloomfilter) IS
	'one line about a filter, for people: layout, keys, false positive rate, fill and size';

CREATE FUNCTION bloom_header(f bloomfilter,
	OUT layout text, OUT bits bigint, OUT bytes bigint, OUT blocks bigint, OUT parts integer,
	OUT part_bits bigint, OUT hash_functions integer, OUT key_type text, OUT seed bigint,
	OUT capacity bigint) RETURNS record
	AS 'MODULE_PATHNAME', 'bloom_header'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloom_header(bloomfilter) IS
	'columns of bloom_info that do not depend on the keys; reads only the beginning of a stored filter';

CREATE FUNCTION bloom_plan(capacity bigint, fpr float8 DEFAULT 0.01, layout text DEFAULT 'partitioned_blocked',
	options text DEFAULT '',
	OUT layout text, OUT bits bigint, OUT bytes bigint, OUT blocks bigint, OUT parts integer,
	OUT part_bits bigint, OUT hash_functions integer, OUT fpr float8) RETURNS record
	AS 'MODULE_PATHNAME', 'bloom_plan'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_plan(bigint, float8, text, text) IS
	'geometry, size and false positive rate of the filter that bloom_empty makes';

CREATE FUNCTION bloom_cardinality(f bloomfilter) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_cardinality'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_cardinality(f bloomfilter) IS
	'estimated number of distinct keys in a filter';

CREATE FUNCTION bloom_fpr(f bloomfilter) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_fpr'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_fpr(f bloomfilter) IS
	'exact false positive rate of a filter with its present bits';

CREATE FUNCTION bloom_is_empty(f bloomfilter) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloom_is_empty'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_is_empty(f bloomfilter) IS
	'whether a filter has no keys';

CREATE FUNCTION bloom_fill(f bloomfilter) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_fill'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_fill(f bloomfilter) IS
	'fraction of the bits of a filter that are set';

CREATE FUNCTION bloom_union_cardinality(a bloomfilter, b bloomfilter) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_union_cardinality'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_union_cardinality(a bloomfilter, b bloomfilter) IS
	'estimated number of distinct keys in either filter';

CREATE FUNCTION bloom_intersection_cardinality(a bloomfilter, b bloomfilter) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_intersection_cardinality'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_intersection_cardinality(a bloomfilter, b bloomfilter) IS
	'estimated number of distinct keys in both filters';

CREATE FUNCTION bloom_jaccard(a bloomfilter, b bloomfilter) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_jaccard'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_jaccard(a bloomfilter, b bloomfilter) IS
	'estimated Jaccard index: distinct keys in both filters over those in either';

CREATE FUNCTION bloom_compare(a bloomfilter, b bloomfilter,
							  OUT union_keys float8, OUT union_error float8, OUT intersection_keys float8, OUT intersection_error float8,
							  OUT jaccard float8, OUT jaccard_error float8)
	AS 'MODULE_PATHNAME', 'bloom_compare'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_compare(a bloomfilter, b bloomfilter) IS
	'estimated distinct keys in either filter and in both, and their Jaccard index, each with its standard error';

-- ---------------------------------------------------------------------------
-- Aggregates.  The transition type is the filter type itself: partial states
-- combine in parallel workers and can be stored or sent.
-- ---------------------------------------------------------------------------

CREATE FUNCTION bloomx_agg_transfn(bloomfilter, anycompatible) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomx_agg_transfn'
	LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_agg_transfn(bloomfilter, anycompatible) IS
	'implementation of bloom_agg';

CREATE FUNCTION bloomx_agg_transfn(bloomfilter, anycompatible, bigint) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_agg_capacity_transfn'
	LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_agg_transfn(bloomfilter, anycompatible, bigint) IS
	'implementation of bloom_agg';

CREATE FUNCTION bloomx_agg_transfn(bloomfilter, anycompatible, bigint, float8) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_agg_capacity_transfn'
	LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_agg_transfn(bloomfilter, anycompatible, bigint, float8) IS
	'implementation of bloom_agg';

CREATE FUNCTION bloomx_agg_transfn(bloomfilter, anycompatible, bloomfilter) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloom_agg_template_transfn'
	LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_agg_transfn(bloomfilter, anycompatible, bloomfilter) IS
	'implementation of bloom_agg';

CREATE FUNCTION bloomx_agg_finalfn(bloomfilter, anycompatible) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomx_agg_finalfn'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloomx_agg_finalfn(bloomfilter, anycompatible) IS
	'implementation of bloom_agg';

CREATE FUNCTION bloomx_agg_finalfn(bloomfilter, anycompatible, bigint) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomx_agg_finalfn'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloomx_agg_finalfn(bloomfilter, anycompatible, bigint) IS
	'implementation of bloom_agg';

CREATE FUNCTION bloomx_agg_finalfn(bloomfilter, anycompatible, bigint, float8) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomx_agg_finalfn'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloomx_agg_finalfn(bloomfilter, anycompatible, bigint, float8) IS
	'implementation of bloom_agg';

CREATE FUNCTION bloomx_agg_finalfn(bloomfilter, anycompatible, bloomfilter) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomx_agg_finalfn'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloomx_agg_finalfn(bloomfilter, anycompatible, bloomfilter) IS
	'implementation of bloom_agg';

CREATE FUNCTION bloomx_union_transfn(bloomfilter, bloomfilter) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomx_union_transfn'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloomx_union_transfn(bloomfilter, bloomfilter) IS
	'implementation of bloom_union_agg; combines the partial states of bloom_agg';

CREATE FUNCTION bloomx_union_finalfn(bloomfilter) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomx_union_finalfn'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloomx_union_finalfn(bloomfilter) IS
	'implementation of bloom_union_agg';

CREATE FUNCTION bloomx_intersection_transfn(bloomfilter, bloomfilter) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomx_intersection_transfn'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloomx_intersection_transfn(bloomfilter, bloomfilter) IS
	'implementation of bloom_intersection_agg';

CREATE FUNCTION bloomx_intersection_finalfn(bloomfilter) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomx_intersection_finalfn'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloomx_intersection_finalfn(bloomfilter) IS
	'implementation of bloom_intersection_agg';

CREATE FUNCTION bloomx_map_agg_transfn(internal, anycompatible, integer) RETURNS internal
	AS 'MODULE_PATHNAME', 'bloomx_map_agg_transfn'
	LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_map_agg_transfn(internal, anycompatible, integer) IS
	'implementation of bloom_map_agg';

CREATE FUNCTION bloomx_map_agg_transfn(internal, anycompatible, integer, bloomfilter) RETURNS internal
	AS 'MODULE_PATHNAME', 'bloomx_map_agg_transfn'
	LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_map_agg_transfn(internal, anycompatible, integer, bloomfilter) IS
	'implementation of bloom_map_agg';

CREATE FUNCTION bloomx_map_agg_finalfn(internal, anycompatible, integer) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomx_map_agg_finalfn'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bloomx_map_agg_finalfn(internal, anycompatible, integer) IS
	'implementation of bloom_map_agg';

CREATE FUNCTION bloomx_map_agg_finalfn(internal, anycompatible, integer, bloomfilter) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomx_map_agg_finalfn'
	LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bloomx_map_agg_finalfn(internal, anycompatible, integer, bloomfilter) IS
	'implementation of bloom_map_agg';

CREATE AGGREGATE bloom_agg(v anycompatible) (
	SFUNC = bloomx_agg_transfn, STYPE = bloomfilter, SSPACE = 1000,
	FINALFUNC = bloomx_agg_finalfn, FINALFUNC_EXTRA,
	COMBINEFUNC = bloomx_union_transfn, PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_agg(anycompatible) IS
	'filter of the keys, sized by their number for a false positive rate of 1 % within the memory of bloomx.build_mem';

CREATE AGGREGATE bloom_agg(v anycompatible, capacity bigint) (
	SFUNC = bloomx_agg_transfn, STYPE = bloomfilter, SSPACE = 1000,
	FINALFUNC = bloomx_agg_finalfn, FINALFUNC_EXTRA,
	COMBINEFUNC = bloomx_union_transfn, PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_agg(anycompatible, bigint) IS
	'filter of the keys, planned for capacity keys (or for their number, if it is null) and a false positive rate of 1 %';

CREATE AGGREGATE bloom_agg(v anycompatible, capacity bigint, fpr float8) (
	SFUNC = bloomx_agg_transfn, STYPE = bloomfilter, SSPACE = 1000,
	FINALFUNC = bloomx_agg_finalfn, FINALFUNC_EXTRA,
	COMBINEFUNC = bloomx_union_transfn, PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_agg(anycompatible, bigint, float8) IS
	'filter of the keys, planned for capacity keys (or for their number, if it is null) and the false positive rate fpr';

CREATE AGGREGATE bloom_agg(v anycompatible, template bloomfilter) (
	SFUNC = bloomx_agg_transfn, STYPE = bloomfilter, SSPACE = 1000,
	FINALFUNC = bloomx_agg_finalfn, FINALFUNC_EXTRA,
	COMBINEFUNC = bloomx_union_transfn, PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_agg(anycompatible, bloomfilter) IS
	'filter of the keys, with the layout, geometry, seed, key type and capacity of template';

-- A map is made of all its keys at once, so there are no partial states (src/pg/functions/build/map.c).
CREATE AGGREGATE bloom_map_agg(v anycompatible, value integer) (
	SFUNC = bloomx_map_agg_transfn, STYPE = internal, SSPACE = 1000,
	FINALFUNC = bloomx_map_agg_finalfn, FINALFUNC_EXTRA, PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_map_agg(anycompatible, integer) IS
	'map of the keys: a filter of layout binary_fuse, with a value of each key for bloom_get, and a false positive rate of at most 1 %';

CREATE AGGREGATE bloom_map_agg(v anycompatible, value integer, template bloomfilter) (
	SFUNC = bloomx_map_agg_transfn, STYPE = internal, SSPACE = 1000,
	FINALFUNC = bloomx_map_agg_finalfn, FINALFUNC_EXTRA, PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_map_agg(anycompatible, integer, bloomfilter) IS
	'map of the keys, with the fingerprints, seed and key type of template, a filter of layout binary_fuse';

CREATE AGGREGATE bloom_union_agg(f bloomfilter) (
	SFUNC = bloomx_union_transfn, STYPE = bloomfilter, SSPACE = 8192,
	FINALFUNC = bloomx_union_finalfn,
	COMBINEFUNC = bloomx_union_transfn, PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_union_agg(bloomfilter) IS
	'union of the filters';

CREATE AGGREGATE bloom_intersection_agg(f bloomfilter) (
	SFUNC = bloomx_intersection_transfn, STYPE = bloomfilter, SSPACE = 8192,
	FINALFUNC = bloomx_intersection_finalfn,
	COMBINEFUNC = bloomx_intersection_transfn, PARALLEL = SAFE
);
COMMENT ON AGGREGATE bloom_intersection_agg(bloomfilter) IS
	'intersection of the filters';

-- ---------------------------------------------------------------------------
-- Indexes on ordinary columns: the keys of a value, and those that a condition asks for
-- ---------------------------------------------------------------------------

CREATE FUNCTION bloomx_extract_scalar(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_extract_scalar(internal) IS 'keys of indexed values: a value is one key';
CREATE FUNCTION bloomx_extract_array(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_extract_array(internal) IS 'keys of indexed values: the elements of an array';
CREATE FUNCTION bloomx_extract_jsonb(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_extract_jsonb(internal) IS 'keys of indexed values: scalars of a document with their paths, and the names at its top';
CREATE FUNCTION bloomx_extract_jsonb_values(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_extract_jsonb_values(internal) IS 'keys of indexed values: scalars of a document with their paths';
CREATE FUNCTION bloomx_extract_tsvector(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_extract_tsvector(internal) IS 'keys of indexed values: the lexemes of a document';
CREATE FUNCTION bloomx_extract_text_ngram(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_extract_text_ngram(internal) IS 'keys of indexed values: the n-grams of a text';

-- ---------------------------------------------------------------------------
-- BRIN: one filter of the values of each page range
-- ---------------------------------------------------------------------------

CREATE FUNCTION bloomx_brin_opcinfo(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_brin_opcinfo(internal) IS 'BRIN bloomx support';
CREATE FUNCTION bloomx_brin_add_value(internal, internal, internal, internal) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_brin_add_value(internal, internal, internal, internal) IS 'BRIN bloomx support';
CREATE FUNCTION bloomx_brin_consistent(internal, internal, internal, integer) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_brin_consistent(internal, internal, internal, integer) IS 'BRIN bloomx support';
CREATE FUNCTION bloomx_brin_union(internal, internal, internal) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_brin_union(internal, internal, internal) IS 'BRIN bloomx support';
CREATE FUNCTION bloomx_brin_options(internal) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_brin_options(internal) IS 'BRIN bloomx support';

CREATE OPERATOR FAMILY integer_bloomx_ops USING brin;
COMMENT ON OPERATOR FAMILY integer_bloomx_ops USING brin IS
	'filters of page ranges, for conditions of other widths too';
CREATE OPERATOR FAMILY float_bloomx_ops USING brin;
COMMENT ON OPERATOR FAMILY float_bloomx_ops USING brin IS
	'filters of page ranges, for conditions of other widths too';
CREATE OPERATOR CLASS int2_bloomx_ops FOR TYPE int2 USING brin FAMILY integer_bloomx_ops AS
	OPERATOR 1 = (int2, int2),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS int2_bloomx_ops USING brin IS
	'filters of the int2 values of page ranges';
CREATE OPERATOR CLASS int4_bloomx_ops FOR TYPE int4 USING brin FAMILY integer_bloomx_ops AS
	OPERATOR 1 = (int4, int4),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS int4_bloomx_ops USING brin IS
	'filters of the int4 values of page ranges';
CREATE OPERATOR CLASS int8_bloomx_ops FOR TYPE int8 USING brin FAMILY integer_bloomx_ops AS
	OPERATOR 1 = (int8, int8),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS int8_bloomx_ops USING brin IS
	'filters of the int8 values of page ranges';
CREATE OPERATOR CLASS float4_bloomx_ops FOR TYPE float4 USING brin FAMILY float_bloomx_ops AS
	OPERATOR 1 = (float4, float4),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS float4_bloomx_ops USING brin IS
	'filters of the float4 values of page ranges';
CREATE OPERATOR CLASS float8_bloomx_ops FOR TYPE float8 USING brin FAMILY float_bloomx_ops AS
	OPERATOR 1 = (float8, float8),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS float8_bloomx_ops USING brin IS
	'filters of the float8 values of page ranges';
CREATE OPERATOR CLASS numeric_bloomx_ops FOR TYPE numeric USING brin AS
	OPERATOR 1 = (numeric, numeric),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS numeric_bloomx_ops USING brin IS
	'filters of the numeric values of page ranges';
CREATE OPERATOR CLASS text_bloomx_ops FOR TYPE text USING brin AS
	OPERATOR 1 = (text, text),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS text_bloomx_ops USING brin IS
	'filters of the text values of page ranges';
CREATE OPERATOR CLASS bpchar_bloomx_ops FOR TYPE bpchar USING brin AS
	OPERATOR 1 = (bpchar, bpchar),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS bpchar_bloomx_ops USING brin IS
	'filters of the bpchar values of page ranges';
CREATE OPERATOR CLASS name_bloomx_ops FOR TYPE name USING brin AS
	OPERATOR 1 = (name, name),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS name_bloomx_ops USING brin IS
	'filters of the name values of page ranges';
CREATE OPERATOR CLASS bytea_bloomx_ops FOR TYPE bytea USING brin AS
	OPERATOR 1 = (bytea, bytea),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS bytea_bloomx_ops USING brin IS
	'filters of the bytea values of page ranges';
CREATE OPERATOR CLASS uuid_bloomx_ops FOR TYPE uuid USING brin AS
	OPERATOR 1 = (uuid, uuid),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS uuid_bloomx_ops USING brin IS
	'filters of the uuid values of page ranges';
CREATE OPERATOR CLASS bool_bloomx_ops FOR TYPE bool USING brin AS
	OPERATOR 1 = (bool, bool),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS bool_bloomx_ops USING brin IS
	'filters of the bool values of page ranges';
CREATE OPERATOR CLASS date_bloomx_ops FOR TYPE date USING brin AS
	OPERATOR 1 = (date, date),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS date_bloomx_ops USING brin IS
	'filters of the date values of page ranges';
CREATE OPERATOR CLASS time_bloomx_ops FOR TYPE time USING brin AS
	OPERATOR 1 = (time, time),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS time_bloomx_ops USING brin IS
	'filters of the time values of page ranges';
CREATE OPERATOR CLASS timetz_bloomx_ops FOR TYPE timetz USING brin AS
	OPERATOR 1 = (timetz, timetz),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS timetz_bloomx_ops USING brin IS
	'filters of the timetz values of page ranges';
CREATE OPERATOR CLASS timestamp_bloomx_ops FOR TYPE timestamp USING brin AS
	OPERATOR 1 = (timestamp, timestamp),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS timestamp_bloomx_ops USING brin IS
	'filters of the timestamp values of page ranges';
CREATE OPERATOR CLASS timestamptz_bloomx_ops FOR TYPE timestamptz USING brin AS
	OPERATOR 1 = (timestamptz, timestamptz),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS timestamptz_bloomx_ops USING brin IS
	'filters of the timestamptz values of page ranges';
CREATE OPERATOR CLASS interval_bloomx_ops FOR TYPE interval USING brin AS
	OPERATOR 1 = (interval, interval),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS interval_bloomx_ops USING brin IS
	'filters of the interval values of page ranges';
CREATE OPERATOR CLASS inet_bloomx_ops FOR TYPE inet USING brin AS
	OPERATOR 1 = (inet, inet),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS inet_bloomx_ops USING brin IS
	'filters of the inet values of page ranges';
CREATE OPERATOR CLASS macaddr_bloomx_ops FOR TYPE macaddr USING brin AS
	OPERATOR 1 = (macaddr, macaddr),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS macaddr_bloomx_ops USING brin IS
	'filters of the macaddr values of page ranges';
CREATE OPERATOR CLASS macaddr8_bloomx_ops FOR TYPE macaddr8 USING brin AS
	OPERATOR 1 = (macaddr8, macaddr8),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS macaddr8_bloomx_ops USING brin IS
	'filters of the macaddr8 values of page ranges';
CREATE OPERATOR CLASS oid_bloomx_ops FOR TYPE oid USING brin AS
	OPERATOR 1 = (oid, oid),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS oid_bloomx_ops USING brin IS
	'filters of the oid values of page ranges';
CREATE OPERATOR CLASS money_bloomx_ops FOR TYPE money USING brin AS
	OPERATOR 1 = (money, money),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS money_bloomx_ops USING brin IS
	'filters of the money values of page ranges';
CREATE OPERATOR CLASS char_bloomx_ops FOR TYPE "char" USING brin AS
	OPERATOR 1 = ("char", "char"),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS char_bloomx_ops USING brin IS
	'filters of the char values of page ranges';
CREATE OPERATOR CLASS pg_lsn_bloomx_ops FOR TYPE pg_lsn USING brin AS
	OPERATOR 1 = (pg_lsn, pg_lsn),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS pg_lsn_bloomx_ops USING brin IS
	'filters of the pg_lsn values of page ranges';
CREATE OPERATOR CLASS tid_bloomx_ops FOR TYPE tid USING brin AS
	OPERATOR 1 = (tid, tid),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS tid_bloomx_ops USING brin IS
	'filters of the tid values of page ranges';
CREATE OPERATOR CLASS anyenum_bloomx_ops FOR TYPE anyenum USING brin AS
	OPERATOR 1 = (anyenum, anyenum),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS anyenum_bloomx_ops USING brin IS
	'filters of the enum values of page ranges';
ALTER OPERATOR FAMILY integer_bloomx_ops USING brin ADD
	OPERATOR 1 = (int2, int4), OPERATOR 1 = (int2, int8), OPERATOR 1 = (int4, int2),
	OPERATOR 1 = (int4, int8), OPERATOR 1 = (int8, int2), OPERATOR 1 = (int8, int4);
ALTER OPERATOR FAMILY float_bloomx_ops USING brin ADD
	OPERATOR 1 = (float4, float8), OPERATOR 1 = (float8, float4);

-- Values with many keys: their elements, members, words or n-grams.
CREATE OPERATOR CLASS array_bloomx_ops FOR TYPE anyarray USING brin AS
	OPERATOR 1 = (anyarray, anyarray), OPERATOR 2 @> (anyarray, anyarray), OPERATOR 3 && (anyarray, anyarray),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_array(internal);
COMMENT ON OPERATOR CLASS array_bloomx_ops USING brin IS
	'filters of the array elements of page ranges';
-- No operators of names (?, ?|, ?&): their collation is that of texts, and BRIN wants that of the column, which has none.
CREATE OPERATOR CLASS jsonb_bloomx_ops FOR TYPE jsonb USING brin AS
	OPERATOR 1 = (jsonb, jsonb), OPERATOR 2 @> (jsonb, jsonb), OPERATOR 11 @@ (jsonb, jsonpath), OPERATOR 12 @? (jsonb, jsonpath),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_jsonb_values(internal);
COMMENT ON OPERATOR CLASS jsonb_bloomx_ops USING brin IS
	'filters of the document scalars, with their paths, of page ranges';
CREATE OPERATOR CLASS tsvector_bloomx_ops FOR TYPE tsvector USING brin AS
	OPERATOR 1 = (tsvector, tsvector), OPERATOR 11 @@ (tsvector, tsquery),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_tsvector(internal);
COMMENT ON OPERATOR CLASS tsvector_bloomx_ops USING brin IS
	'filters of the lexemes of page ranges';
CREATE OPERATOR CLASS text_ngram_bloomx_ops FOR TYPE text USING brin AS
	OPERATOR 1 = (text, text), OPERATOR 7 ~~ (text, text), OPERATOR 8 ~~* (text, text),
	OPERATOR 9 ~ (text, text), OPERATOR 10 ~* (text, text),
	FUNCTION 1 bloomx_brin_opcinfo(internal), FUNCTION 2 bloomx_brin_add_value(internal, internal, internal, internal),
	FUNCTION 3 bloomx_brin_consistent(internal, internal, internal, integer), FUNCTION 4 bloomx_brin_union(internal, internal, internal),
	FUNCTION 5 bloomx_brin_options(internal), FUNCTION 11 bloomx_extract_text_ngram(internal);
COMMENT ON OPERATOR CLASS text_ngram_bloomx_ops USING brin IS
	'filters of the text n-grams of page ranges';

-- ---------------------------------------------------------------------------
-- The index access method bloomx: the bits of many filters, stored transposed
-- ---------------------------------------------------------------------------

CREATE FUNCTION bloomx_handler(internal) RETURNS index_am_handler
	AS 'MODULE_PATHNAME', 'bloomx_handler'
	LANGUAGE C;
COMMENT ON FUNCTION bloomx_handler(internal) IS 'bloomx index access method handler';

CREATE ACCESS METHOD bloomx TYPE INDEX HANDLER bloomx_handler;
COMMENT ON ACCESS METHOD bloomx IS 'bit-sliced index access method, for lookups of rare keys in columns of values and of filters';

CREATE OPERATOR CLASS bloomx_ops
	DEFAULT FOR TYPE bloomfilter USING bloomx AS
	OPERATOR 1 ?&,
	OPERATOR 2 ?|,
	OPERATOR 3 ?& (bloomfilter, text),
	OPERATOR 4 ?& (bloomfilter, text[]),
	OPERATOR 5 ?| (bloomfilter, text[]),
	OPERATOR 6 &&;
COMMENT ON OPERATOR CLASS bloomx_ops USING bloomx IS 'bit-sliced signatures of filters, for membership and overlap';

-- Values that are keys: each is one.  The families have the operators between the widths of a type, too.
CREATE OPERATOR FAMILY integer_ops USING bloomx;
COMMENT ON OPERATOR FAMILY integer_ops USING bloomx IS
	'integers, for conditions of other widths too';
CREATE OPERATOR FAMILY float_ops USING bloomx;
COMMENT ON OPERATOR FAMILY float_ops USING bloomx IS
	'floating-point numbers, for conditions of other widths too';
CREATE OPERATOR FAMILY text_ops USING bloomx;
COMMENT ON OPERATOR FAMILY text_ops USING bloomx IS
	'text and name, for conditions of either';
CREATE OPERATOR CLASS int2_ops DEFAULT FOR TYPE int2 USING bloomx FAMILY integer_ops AS
	OPERATOR 1 = (int2, int2), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS int2_ops USING bloomx IS 'int2 values as keys';
CREATE OPERATOR CLASS int4_ops DEFAULT FOR TYPE int4 USING bloomx FAMILY integer_ops AS
	OPERATOR 1 = (int4, int4), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS int4_ops USING bloomx IS 'int4 values as keys';
CREATE OPERATOR CLASS int8_ops DEFAULT FOR TYPE int8 USING bloomx FAMILY integer_ops AS
	OPERATOR 1 = (int8, int8), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS int8_ops USING bloomx IS 'int8 values as keys';
CREATE OPERATOR CLASS float4_ops DEFAULT FOR TYPE float4 USING bloomx FAMILY float_ops AS
	OPERATOR 1 = (float4, float4), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS float4_ops USING bloomx IS 'float4 values as keys';
CREATE OPERATOR CLASS float8_ops DEFAULT FOR TYPE float8 USING bloomx FAMILY float_ops AS
	OPERATOR 1 = (float8, float8), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS float8_ops USING bloomx IS 'float8 values as keys';
CREATE OPERATOR CLASS numeric_ops DEFAULT FOR TYPE numeric USING bloomx AS
	OPERATOR 1 = (numeric, numeric), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS numeric_ops USING bloomx IS 'numeric values as keys';
CREATE OPERATOR CLASS text_ops DEFAULT FOR TYPE text USING bloomx FAMILY text_ops AS
	OPERATOR 1 = (text, text), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS text_ops USING bloomx IS 'text values as keys';
CREATE OPERATOR CLASS bpchar_ops DEFAULT FOR TYPE bpchar USING bloomx AS
	OPERATOR 1 = (bpchar, bpchar), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS bpchar_ops USING bloomx IS 'bpchar values as keys';
CREATE OPERATOR CLASS name_ops DEFAULT FOR TYPE name USING bloomx FAMILY text_ops AS
	OPERATOR 1 = (name, name), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS name_ops USING bloomx IS 'name values as keys';
CREATE OPERATOR CLASS bytea_ops DEFAULT FOR TYPE bytea USING bloomx AS
	OPERATOR 1 = (bytea, bytea), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS bytea_ops USING bloomx IS 'bytea values as keys';
CREATE OPERATOR CLASS uuid_ops DEFAULT FOR TYPE uuid USING bloomx AS
	OPERATOR 1 = (uuid, uuid), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS uuid_ops USING bloomx IS 'uuid values as keys';
CREATE OPERATOR CLASS bool_ops DEFAULT FOR TYPE bool USING bloomx AS
	OPERATOR 1 = (bool, bool), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS bool_ops USING bloomx IS 'bool values as keys';
CREATE OPERATOR CLASS date_ops DEFAULT FOR TYPE date USING bloomx AS
	OPERATOR 1 = (date, date), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS date_ops USING bloomx IS 'date values as keys';
CREATE OPERATOR CLASS time_ops DEFAULT FOR TYPE time USING bloomx AS
	OPERATOR 1 = (time, time), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS time_ops USING bloomx IS 'time values as keys';
CREATE OPERATOR CLASS timetz_ops DEFAULT FOR TYPE timetz USING bloomx AS
	OPERATOR 1 = (timetz, timetz), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS timetz_ops USING bloomx IS 'timetz values as keys';
CREATE OPERATOR CLASS timestamp_ops DEFAULT FOR TYPE timestamp USING bloomx AS
	OPERATOR 1 = (timestamp, timestamp), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS timestamp_ops USING bloomx IS 'timestamp values as keys';
CREATE OPERATOR CLASS timestamptz_ops DEFAULT FOR TYPE timestamptz USING bloomx AS
	OPERATOR 1 = (timestamptz, timestamptz), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS timestamptz_ops USING bloomx IS 'timestamptz values as keys';
CREATE OPERATOR CLASS interval_ops DEFAULT FOR TYPE interval USING bloomx AS
	OPERATOR 1 = (interval, interval), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS interval_ops USING bloomx IS 'interval values as keys';
CREATE OPERATOR CLASS inet_ops DEFAULT FOR TYPE inet USING bloomx AS
	OPERATOR 1 = (inet, inet), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS inet_ops USING bloomx IS 'inet values as keys';
CREATE OPERATOR CLASS macaddr_ops DEFAULT FOR TYPE macaddr USING bloomx AS
	OPERATOR 1 = (macaddr, macaddr), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS macaddr_ops USING bloomx IS 'macaddr values as keys';
CREATE OPERATOR CLASS macaddr8_ops DEFAULT FOR TYPE macaddr8 USING bloomx AS
	OPERATOR 1 = (macaddr8, macaddr8), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS macaddr8_ops USING bloomx IS 'macaddr8 values as keys';
CREATE OPERATOR CLASS oid_ops DEFAULT FOR TYPE oid USING bloomx AS
	OPERATOR 1 = (oid, oid), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS oid_ops USING bloomx IS 'oid values as keys';
CREATE OPERATOR CLASS money_ops DEFAULT FOR TYPE money USING bloomx AS
	OPERATOR 1 = (money, money), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS money_ops USING bloomx IS 'money values as keys';
CREATE OPERATOR CLASS char_ops DEFAULT FOR TYPE "char" USING bloomx AS
	OPERATOR 1 = ("char", "char"), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS char_ops USING bloomx IS 'char values as keys';
CREATE OPERATOR CLASS xid_ops DEFAULT FOR TYPE xid USING bloomx AS
	OPERATOR 1 = (xid, xid), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS xid_ops USING bloomx IS 'xid values as keys';
CREATE OPERATOR CLASS cid_ops DEFAULT FOR TYPE cid USING bloomx AS
	OPERATOR 1 = (cid, cid), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS cid_ops USING bloomx IS 'cid values as keys';
CREATE OPERATOR CLASS xid8_ops DEFAULT FOR TYPE xid8 USING bloomx AS
	OPERATOR 1 = (xid8, xid8), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS xid8_ops USING bloomx IS 'xid8 values as keys';
CREATE OPERATOR CLASS pg_lsn_ops DEFAULT FOR TYPE pg_lsn USING bloomx AS
	OPERATOR 1 = (pg_lsn, pg_lsn), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS pg_lsn_ops USING bloomx IS 'pg_lsn values as keys';
CREATE OPERATOR CLASS tid_ops DEFAULT FOR TYPE tid USING bloomx AS
	OPERATOR 1 = (tid, tid), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS tid_ops USING bloomx IS 'tid values as keys';
ALTER OPERATOR FAMILY integer_ops USING bloomx ADD
	OPERATOR 1 = (int2, int4), OPERATOR 1 = (int2, int8), OPERATOR 1 = (int4, int2),
	OPERATOR 1 = (int4, int8), OPERATOR 1 = (int8, int2), OPERATOR 1 = (int8, int4);
ALTER OPERATOR FAMILY float_ops USING bloomx ADD
	OPERATOR 1 = (float4, float8), OPERATOR 1 = (float8, float4);
ALTER OPERATOR FAMILY text_ops USING bloomx ADD
	OPERATOR 1 = (text, name), OPERATOR 1 = (name, text);

-- All other types but arrays.  Enums, ranges, multiranges and rows are keys as they are.  The access method refuses the rest,
-- and says what to write instead.
CREATE OPERATOR CLASS anynonarray_ops DEFAULT FOR TYPE anynonarray USING bloomx AS
	OPERATOR 1 = (anyenum, anyenum), FUNCTION 1 bloomx_extract_scalar(internal);
ALTER OPERATOR FAMILY anynonarray_ops USING bloomx ADD
	OPERATOR 1 = (anyrange, anyrange), OPERATOR 1 = (anymultirange, anymultirange), OPERATOR 1 = (record, record);
COMMENT ON OPERATOR CLASS anynonarray_ops USING bloomx IS 'enums, ranges, multiranges and rows as keys; refuses other types, with a hint';

-- Values with many keys: their elements, members, words or n-grams.
CREATE OPERATOR CLASS array_ops DEFAULT FOR TYPE anyarray USING bloomx AS
	OPERATOR 1 = (anyarray, anyarray), OPERATOR 2 @> (anyarray, anyarray), OPERATOR 3 && (anyarray, anyarray), OPERATOR 13 <@ (anyarray, anyarray),
	FUNCTION 1 bloomx_extract_array(internal);
COMMENT ON OPERATOR CLASS array_ops USING bloomx IS 'elements of arrays as keys';
CREATE OPERATOR CLASS jsonb_ops DEFAULT FOR TYPE jsonb USING bloomx AS
	OPERATOR 1 = (jsonb, jsonb), OPERATOR 2 @> (jsonb, jsonb), OPERATOR 4 ? (jsonb, text), OPERATOR 5 ?| (jsonb, text[]), OPERATOR 6 ?& (jsonb, text[]),
	OPERATOR 11 @@ (jsonb, jsonpath), OPERATOR 12 @? (jsonb, jsonpath),
	FUNCTION 1 bloomx_extract_jsonb(internal);
COMMENT ON OPERATOR CLASS jsonb_ops USING bloomx IS 'scalars of documents with their paths, and the names at their top, as keys';
CREATE OPERATOR CLASS tsvector_ops DEFAULT FOR TYPE tsvector USING bloomx AS
	OPERATOR 1 = (tsvector, tsvector), OPERATOR 11 @@ (tsvector, tsquery),
	FUNCTION 1 bloomx_extract_tsvector(internal);
COMMENT ON OPERATOR CLASS tsvector_ops USING bloomx IS 'lexemes of documents as keys';
CREATE OPERATOR CLASS text_ngram_ops FOR TYPE text USING bloomx AS
	OPERATOR 1 = (text, text), OPERATOR 7 ~~ (text, text), OPERATOR 8 ~~* (text, text),
	OPERATOR 9 ~ (text, text), OPERATOR 10 ~* (text, text),
	FUNCTION 1 bloomx_extract_text_ngram(internal);
COMMENT ON OPERATOR CLASS text_ngram_ops USING bloomx IS 'n-grams of texts as keys';
CREATE OPERATOR CLASS bpchar_ngram_ops FOR TYPE bpchar USING bloomx AS
	OPERATOR 1 = (bpchar, bpchar), OPERATOR 7 ~~ (bpchar, text), OPERATOR 8 ~~* (bpchar, text),
	OPERATOR 9 ~ (bpchar, text), OPERATOR 10 ~* (bpchar, text),
	FUNCTION 1 bloomx_extract_text_ngram(internal);
COMMENT ON OPERATOR CLASS bpchar_ngram_ops USING bloomx IS 'n-grams of padded texts as keys';
CREATE OPERATOR CLASS name_ngram_ops FOR TYPE name USING bloomx AS
	OPERATOR 1 = (name, name), OPERATOR 1 = (name, text), OPERATOR 7 ~~ (name, text), OPERATOR 8 ~~* (name, text),
	OPERATOR 9 ~ (name, text), OPERATOR 10 ~* (name, text),
	FUNCTION 1 bloomx_extract_text_ngram(internal);
COMMENT ON OPERATOR CLASS name_ngram_ops USING bloomx IS 'n-grams of names as keys';

CREATE FUNCTION bloomx_check_index(index regclass) RETURNS bigint
	AS 'MODULE_PATHNAME', 'bloomx_check_index'
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION bloomx_check_index(regclass) IS
	'compare a bloomx index with its table and count the rows; for the owner of the table and for pg_stat_scan_tables';

-- The store of partitions' keys: the index of a table that stays empty.  It comes before the last function, so that
-- whoever looks for it has noticed by then that there is something new.

CREATE FUNCTION bloomx_partition_store_handler(internal) RETURNS index_am_handler
	AS 'MODULE_PATHNAME', 'bloomx_partition_store_handler'
	LANGUAGE C;
COMMENT ON FUNCTION bloomx_partition_store_handler(internal) IS
	'handler of the access method bloomx_partition_store';
CREATE ACCESS METHOD bloomx_partition_store TYPE INDEX HANDLER bloomx_partition_store_handler;
COMMENT ON ACCESS METHOD bloomx_partition_store IS 'pages for the store of partitions'' keys; not for indexes of rows';
CREATE OPERATOR CLASS bloomx_partition_store_ops DEFAULT FOR TYPE boolean USING bloomx_partition_store AS STORAGE boolean;
COMMENT ON OPERATOR CLASS bloomx_partition_store_ops USING bloomx_partition_store IS 'the column of an empty table';

CREATE TABLE bloomx_partition_store (empty boolean CHECK (false));
COMMENT ON TABLE bloomx_partition_store IS 'stays empty; its index has the keys of partitions, for bloomx indexes with partition_lookup';
CREATE INDEX bloomx_partition_store_pages ON bloomx_partition_store USING bloomx_partition_store (empty);
COMMENT ON INDEX bloomx_partition_store_pages IS 'keys of partitions; after REINDEX it is empty until VACUUM has read the partitions';

CREATE FUNCTION bloomx_seal(index regclass) RETURNS bigint
	AS 'MODULE_PATHNAME', 'bloomx_seal'
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION bloomx_seal(regclass) IS
	'make the lookup of partitions as fast as it gets: read those that were written, and put their keys together; returns how many were read';

CREATE FUNCTION bloomx_partitions(index regclass, OUT partition regclass, OUT complete boolean, OUT sealed boolean, OUT keys bigint, OUT fpr double precision, OUT bytes bigint)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'bloomx_partitions'
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 10000 ROWS 1000;
REVOKE ALL ON FUNCTION bloomx_partitions(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION bloomx_partitions(regclass) TO pg_stat_scan_tables;
COMMENT ON FUNCTION bloomx_partitions(regclass) IS
	'what is known of the keys of each partition, for an index with partition_lookup; a partition that is not complete is always scanned';

CREATE FUNCTION bloomx_possible_partitions(index regclass, key anycompatible, column_number integer DEFAULT 1) RETURNS SETOF regclass
	AS 'MODULE_PATHNAME', 'bloomx_possible_partitions'
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1000 ROWS 1;
REVOKE ALL ON FUNCTION bloomx_possible_partitions(regclass, anycompatible, integer) FROM PUBLIC;
COMMENT ON FUNCTION bloomx_possible_partitions(regclass, anycompatible, integer) IS
	'the partitions that possibly have a key, for an index with partition_lookup: all others definitely do not';

CREATE FUNCTION bloomx_index_info(index regclass, OUT columns text[], OUT signature_bits bigint, OUT hash_functions integer, OUT segments bigint, OUT rows bigint,
	OUT entries bigint, OUT anything bigint, OUT removed bigint, OUT pending bigint, OUT pages bigint, OUT free bigint, OUT merging bigint, OUT lost bigint)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'bloomx_index_info'
	LANGUAGE C VOLATILE STRICT PARALLEL SAFE ROWS 1;
COMMENT ON FUNCTION bloomx_index_info(regclass) IS
	'signature size, segments, rows and pages of a bloomx index; needs SELECT on the table or pg_stat_scan_tables';

CREATE FUNCTION bloomx_version() RETURNS text
	AS 'MODULE_PATHNAME', 'bloomx_version'
	LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_version() IS
	'version of the library that this session has loaded; extversion in pg_extension is that of the SQL objects';

-- ---------------------------------------------------------------------------
-- Sets: Bloom filters in the pages of an index, always current
-- ---------------------------------------------------------------------------

CREATE FUNCTION bloomset_handler(internal) RETURNS index_am_handler
	AS 'MODULE_PATHNAME', 'bloomset_handler'
	LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomset_handler(internal) IS 'handler of index access method bloomset';
CREATE ACCESS METHOD bloomset TYPE INDEX HANDLER bloomset_handler;
COMMENT ON ACCESS METHOD bloomset IS 'a Bloom filter of the keys in a table, always current, for bloomset_contains';

-- One class for all types: it has neither operators nor functions, and the access method refuses types that cannot be keys.
CREATE OPERATOR CLASS bloomset_ops DEFAULT FOR TYPE anyelement USING bloomset AS STORAGE anyelement;
COMMENT ON OPERATOR CLASS bloomset_ops USING bloomset IS 'values of any type as keys of a set';

-- A set without a table of rows: a table of one column, whose rows are the stages of the set.
CREATE TYPE bloomset_stage;
CREATE FUNCTION bloomset_stage_in(cstring) RETURNS bloomset_stage
	AS 'MODULE_PATHNAME', 'bloomset_stage_in'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomset_stage_in(cstring) IS 'I/O';
CREATE FUNCTION bloomset_stage_out(bloomset_stage) RETURNS cstring
	AS 'MODULE_PATHNAME', 'bloomfilter_out'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomset_stage_out(bloomset_stage) IS 'I/O';
CREATE FUNCTION bloomset_stage_recv(internal) RETURNS bloomset_stage
	AS 'MODULE_PATHNAME', 'bloomset_stage_recv'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomset_stage_recv(internal) IS 'I/O';
CREATE FUNCTION bloomset_stage_send(bloomset_stage) RETURNS bytea
	AS 'MODULE_PATHNAME', 'bloomfilter_send'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomset_stage_send(bloomset_stage) IS 'I/O';
CREATE FUNCTION bloomset_stage_typmod_in(cstring[]) RETURNS integer
	AS 'MODULE_PATHNAME', 'bloomset_stage_typmod_in'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomset_stage_typmod_in(cstring[]) IS 'I/O typmod';
CREATE TYPE bloomset_stage (
	INPUT = bloomset_stage_in,
	OUTPUT = bloomset_stage_out,
	RECEIVE = bloomset_stage_recv,
	SEND = bloomset_stage_send,
	TYPMOD_IN = bloomset_stage_typmod_in,
	TYPMOD_OUT = bloomfilter_typmod_out,
	INTERNALLENGTH = VARIABLE,
	ALIGNMENT = double,
	STORAGE = external
);
COMMENT ON TYPE bloomset_stage IS 'a stage of a set, which is a filter; the modifier is the set''s expected number of keys and false positive rate';
CREATE CAST (bloomset_stage AS bloomfilter) WITHOUT FUNCTION AS IMPLICIT;
COMMENT ON CAST (bloomset_stage AS bloomfilter) IS 'a stage is a filter';
CREATE CAST (bloomfilter AS bloomset_stage) WITHOUT FUNCTION AS ASSIGNMENT;
COMMENT ON CAST (bloomfilter AS bloomset_stage) IS 'a filter can become a stage, or part of one';

CREATE FUNCTION bloomset_table_handler(internal) RETURNS table_am_handler
	AS 'MODULE_PATHNAME', 'bloomset_table_handler'
	LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomset_table_handler(internal) IS 'handler of table access method bloomset_table';
CREATE ACCESS METHOD bloomset_table TYPE TABLE HANDLER bloomset_table_handler;
COMMENT ON ACCESS METHOD bloomset_table IS 'a set without a table of rows: one column of type bloomset_stage, for bloomset_add and bloomset_contains';

CREATE FUNCTION bloomset_add(set regclass, key anycompatible) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomset_add'
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 20;
COMMENT ON FUNCTION bloomset_add(regclass, anycompatible) IS
	'add a key to a set without a table: true if it was new; needs INSERT';

CREATE FUNCTION bloomset_add_new(set regclass, keys anycompatiblearray) RETURNS anycompatiblearray
	AS 'MODULE_PATHNAME', 'bloomset_add_new'
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION bloomset_add_new(regclass, anycompatiblearray) IS
	'add keys to a set without a table, and return those that were new; needs INSERT';

CREATE FUNCTION bloomset_claim(set regclass, key anycompatible) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomset_claim'
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 50;
COMMENT ON FUNCTION bloomset_claim(regclass, anycompatible) IS
	'add a key to a set without a table if the transaction commits: true if it was new; needs INSERT';

CREATE FUNCTION bloomset_merge(set regclass, filter bloomfilter) RETURNS void
	AS 'MODULE_PATHNAME', 'bloomset_merge'
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000;
COMMENT ON FUNCTION bloomset_merge(regclass, bloomfilter) IS
	'add the keys of a filter to a set without a table; needs INSERT';

CREATE FUNCTION bloomx_set_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'bloomx_set_support'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_set_support(internal) IS 'planner support for bloomset_contains';

CREATE FUNCTION bloomset_contains(set regclass, key anycompatible) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomset_contains'
	LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 10 SUPPORT bloomx_set_support;
COMMENT ON FUNCTION bloomset_contains(regclass, anycompatible) IS
	'test a set for a key: true is possibly, false is definitely not; needs SELECT on the table';

CREATE FUNCTION bloomset_contains_any(set regclass, keys anycompatiblearray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomset_contains_any'
	LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 50;
COMMENT ON FUNCTION bloomset_contains_any(regclass, anycompatiblearray) IS
	'test a set for keys: true if it possibly has one of them; needs SELECT on the table';

CREATE FUNCTION bloomset_contains_all(set regclass, keys anycompatiblearray) RETURNS boolean
	AS 'MODULE_PATHNAME', 'bloomset_contains_all'
	LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 50;
COMMENT ON FUNCTION bloomset_contains_all(regclass, anycompatiblearray) IS
	'test a set for keys: true if it possibly has all of them; needs SELECT on the table';

CREATE FUNCTION bloomset_value(set regclass) RETURNS bloomfilter
	AS 'MODULE_PATHNAME', 'bloomset_value'
	LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 10000;
COMMENT ON FUNCTION bloomset_value(regclass) IS
	'the set as a filter, of at most 1 GB; needs SELECT on the table';

CREATE FUNCTION bloomset_info(set regclass, OUT keys bigint, OUT fpr float8, OUT rebuilt_fpr float8, OUT stages integer, OUT capacity bigint,
	OUT bytes bigint, OUT checkpoint_bytes bigint) RETURNS record
	AS 'MODULE_PATHNAME', 'bloomset_info'
	LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 10000;
COMMENT ON FUNCTION bloomset_info(regclass) IS
	'estimated keys, false positive rate, stages and size of a set; needs SELECT on the table';

CREATE FUNCTION bloomset_check(set regclass) RETURNS bigint
	AS 'MODULE_PATHNAME', 'bloomset_check'
	LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000;
REVOKE ALL ON FUNCTION bloomset_check(regclass) FROM PUBLIC;
COMMENT ON FUNCTION bloomset_check(regclass) IS
	'verify a set against its table and count the rows with a key; needs EXECUTE, and SELECT on the table';

-- ---------------------------------------------------------------------------
-- Runtime filters: what bloomx.runtime_filter did
-- ---------------------------------------------------------------------------

CREATE FUNCTION bloomx_last_runtime_filters(OUT join_node integer, OUT site_node integer, OUT "table" text, OUT "column" text, OUT keys integer,
	OUT kind text, OUT build_rows bigint, OUT bytes bigint, OUT rows_checked bigint, OUT rows_removed bigint,
	OUT pages bigint, OUT pages_skipped bigint, OUT partitions bigint, OUT partitions_skipped bigint, OUT pauses bigint,
	OUT bytes_sent bigint, OUT lookups bigint, OUT index_searches bigint, OUT index_scans bigint, OUT index_scans_skipped bigint, OUT processes integer)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'bloomx_last_runtime_filters'
	LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION bloomx_last_runtime_filters() IS 'what the runtime filters of this session''s last statement did';

CREATE FUNCTION bloomx_explain(statement text) RETURNS SETOF text
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
	SET bloomx.explain_conditions = on
	AS $$
DECLARE
	line text;
	has_reason boolean := false;
BEGIN
	-- loads the library, wherever it is
	EXECUTE (SELECT pg_catalog.format('SELECT FROM %s.bloomx_last_runtime_filters()', extnamespace::pg_catalog.regnamespace)
			 FROM pg_catalog.pg_extension WHERE extname OPERATOR(pg_catalog.=) 'bloomx');
	FOR line IN EXECUTE pg_catalog.format('EXPLAIN %s', pg_catalog.regexp_replace(statement, '^[[:space:]]*explain([[:space:]]+|(?=[(]))', '', 'i')) LOOP
		has_reason := has_reason OR pg_catalog.lower(line) OPERATOR(pg_catalog.~) 'runtime (filter|lookup)';
		RETURN NEXT line;
	END LOOP;
	IF NOT pg_catalog.current_setting('bloomx.runtime_filter')::pg_catalog.bool THEN
		RETURN NEXT 'No runtime filters: bloomx.runtime_filter is off'::pg_catalog.text;
	ELSIF NOT has_reason AND pg_catalog.strpos('[<-', pg_catalog.substr(line, 1, 1)) OPERATOR(pg_catalog.=) 0 THEN	-- not in JSON, XML or YAML
		RETURN NEXT 'No runtime filters: hash joins, and merge joins of two sorts, can have them'::pg_catalog.text;
	END IF;
END $$;
COMMENT ON FUNCTION bloomx_explain(text) IS
	'EXPLAIN with the runtime filters that the plan will have, and why a join has none; the statement may begin with EXPLAIN, ANALYZE or options in parentheses';

CREATE FUNCTION bloomx_runtime_filter_totals(OUT scope text, OUT filters bigint, OUT rows_checked bigint, OUT rows_removed bigint,
	OUT pages bigint, OUT pages_skipped bigint, OUT partitions bigint, OUT partitions_skipped bigint, OUT pauses bigint,
	OUT bytes_sent bigint, OUT lookups bigint, OUT index_searches bigint, OUT index_scans bigint, OUT index_scans_skipped bigint, OUT stats_reset timestamptz)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'bloomx_runtime_filter_totals'
	LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 2;
COMMENT ON FUNCTION bloomx_runtime_filter_totals() IS 'what all runtime filters did: of this session and, if the library is preloaded, of the server';

CREATE VIEW bloomx_stat_runtime_filters AS SELECT * FROM bloomx_runtime_filter_totals();
COMMENT ON VIEW bloomx_stat_runtime_filters IS 'what all runtime filters did: of this session and, if the library is preloaded, of the server';
COMMENT ON COLUMN bloomx_stat_runtime_filters.scope IS 'session or server';
COMMENT ON COLUMN bloomx_stat_runtime_filters.filters IS 'filters, once for each node that they filtered, loops with lookups, and index scans that tested a bloomset index';
COMMENT ON COLUMN bloomx_stat_runtime_filters.rows_checked IS 'rows that filters tested';
COMMENT ON COLUMN bloomx_stat_runtime_filters.rows_removed IS 'rows that filters removed';
COMMENT ON COLUMN bloomx_stat_runtime_filters.pages IS 'pages of scans that could skip some';
COMMENT ON COLUMN bloomx_stat_runtime_filters.pages_skipped IS 'pages that were not read';
COMMENT ON COLUMN bloomx_stat_runtime_filters.partitions IS 'partitions that filters examined';
COMMENT ON COLUMN bloomx_stat_runtime_filters.partitions_skipped IS 'partitions that were not scanned';
COMMENT ON COLUMN bloomx_stat_runtime_filters.pauses IS 'times that a filter stopped for a while, because it removed too little';
COMMENT ON COLUMN bloomx_stat_runtime_filters.bytes_sent IS 'bytes of filters that went to foreign servers';
COMMENT ON COLUMN bloomx_stat_runtime_filters.lookups IS 'outer rows of nested loops that were looked up in the rows that the loop had kept';
COMMENT ON COLUMN bloomx_stat_runtime_filters.index_searches IS 'searches of an index for the pages that a sequential scan has to read';
COMMENT ON COLUMN bloomx_stat_runtime_filters.index_scans IS 'index scans of nested loops that a bloomset index could save';
COMMENT ON COLUMN bloomx_stat_runtime_filters.index_scans_skipped IS 'index scans that it saved';
COMMENT ON COLUMN bloomx_stat_runtime_filters.stats_reset IS 'when the counts began';
GRANT SELECT ON bloomx_stat_runtime_filters TO PUBLIC;

CREATE FUNCTION bloomx_stat_reset() RETURNS void
	AS 'MODULE_PATHNAME'
	LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION bloomx_stat_reset() IS 'set the totals of runtime filters and of lookups of partitions, of this session and of the server, to zero';
REVOKE ALL ON FUNCTION bloomx_stat_reset() FROM PUBLIC;

-- ---------------------------------------------------------------------------
-- One lookup for all partitions
-- ---------------------------------------------------------------------------

CREATE FUNCTION bloomx_partition_lookup_totals(OUT scope text, OUT lookups bigint, OUT partitions bigint, OUT partitions_pruned bigint,
	OUT plans_made_again bigint, OUT stubs bigint, OUT stats_reset timestamptz)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'bloomx_partition_lookup_totals'
	LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 2;
COMMENT ON FUNCTION bloomx_partition_lookup_totals() IS 'what lookups of partitions did: of this session and, if the library is preloaded, of the server';

CREATE VIEW bloomx_stat_partition_lookups AS SELECT * FROM bloomx_partition_lookup_totals();
COMMENT ON VIEW bloomx_stat_partition_lookups IS 'what lookups of partitions did: of this session and, if the library is preloaded, of the server';
COMMENT ON COLUMN bloomx_stat_partition_lookups.scope IS 'session or server';
COMMENT ON COLUMN bloomx_stat_partition_lookups.lookups IS 'lookups for plans and at scans';
COMMENT ON COLUMN bloomx_stat_partition_lookups.partitions IS 'partitions that would have been read';
COMMENT ON COLUMN bloomx_stat_partition_lookups.partitions_pruned IS 'partitions that were left out';
COMMENT ON COLUMN bloomx_stat_partition_lookups.plans_made_again IS 'plans made again when a statement started: stubs, and plans that lacked a partition because a key had come';
COMMENT ON COLUMN bloomx_stat_partition_lookups.stubs IS 'plans without values of their parameters';
COMMENT ON COLUMN bloomx_stat_partition_lookups.stats_reset IS 'when the counts began';
GRANT SELECT ON bloomx_stat_partition_lookups TO PUBLIC;

CREATE FUNCTION bloomx_unique_check() RETURNS trigger
	AS 'MODULE_PATHNAME', 'bloomx_unique_check'
	LANGUAGE C;
COMMENT ON FUNCTION bloomx_unique_check() IS 'look in all partitions for the key of a new row; for the triggers that bloomx_unique makes';

-- The table is locked against writers before its rows are read, until the trigger is committed; who has written has ended.  The trigger locks
-- the table, too, so this holds for rows that are inserted into a partition.  A partition that the same transaction has attached is read here,
-- and seen by whoever writes afterwards.
CREATE FUNCTION bloomx_unique(source regclass, key name) RETURNS name
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET row_security = off
	AS $unique$
DECLARE
	s CONSTANT pg_class := (SELECT c FROM pg_class c WHERE c.oid = source);
	a CONSTANT pg_attribute := (SELECT a FROM pg_attribute a WHERE attrelid = source AND attname = key AND attnum > 0 AND NOT attisdropped);
	own CONSTANT text := (SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'bloomx');
	check_function CONSTANT regprocedure := to_regprocedure(own || '.bloomx_unique_check()');
	name name := (SELECT tgname FROM pg_trigger t JOIN pg_depend ON classid = 'pg_trigger'::regclass AND objid = t.oid
		WHERE tgrelid = source AND tgfoid = check_function AND tgparentid = 0 AND refobjid = source AND refobjsubid = a.attnum);
	duplicate text;
BEGIN
	IF source IS NULL OR key IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'source and key must not be null';
	ELSIF s.relkind IS DISTINCT FROM 'p' THEN
		RAISE wrong_object_type USING MESSAGE = format('%s is not a partitioned table', source),
			HINT = CASE WHEN s.relispartition THEN 'Name the partitioned table.' ELSE format('ALTER TABLE %s ADD UNIQUE (%I);', source, key) END;
	ELSIF a IS NULL THEN
		RAISE undefined_column USING MESSAGE = format('table %s has no column "%s"', source, key), HINT = 'The name of the column is written here without double quotes.';
	ELSIF NOT pg_has_role(s.relowner, 'USAGE') THEN
		RAISE insufficient_privilege USING MESSAGE = format('must be owner of table %s', source);
	ELSIF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
		RAISE feature_not_supported USING MESSAGE = 'bloomx_unique must run at READ COMMITTED',
			DETAIL = 'An older snapshot lacks the latest rows of the table.';
	END IF;
	EXECUTE format('LOCK TABLE ONLY %s IN SHARE ROW EXCLUSIVE MODE', source);
	IF NOT EXISTS (SELECT FROM pg_index JOIN pg_class c ON c.oid = indexrelid JOIN pg_opclass o ON o.oid = indclass[0]
		WHERE indrelid = source AND indisvalid AND indkey[0] = a.attnum AND indcollation[0] = a.attcollation AND indpred IS NULL AND opcdefault
			AND relam = (SELECT oid FROM pg_am WHERE amname = 'btree')) THEN
		RAISE object_not_in_prerequisite_state USING MESSAGE = format('table %s has no btree index on column %I', source, key),
			DETAIL = 'Keys are looked for in an index of each partition: its first column, of the default operator class and the column''s collation, without a condition.',
			HINT = format('CREATE INDEX ON %s (%I);', source, key);
	ELSIF EXISTS (SELECT FROM pg_partition_tree(source) JOIN pg_class c ON c.oid = relid WHERE relkind = 'f') THEN
		RAISE feature_not_supported USING MESSAGE = format('table %s has foreign partitions', source),
			DETAIL = 'Rows that another server inserts are not checked.', HINT = 'Detach the foreign partitions, or make the key unique where it is generated.';
	END IF;
	IF name IS NULL THEN
		-- both parts stay in a name that is too long
		name := CASE WHEN octet_length(s.relname) + octet_length(key) < 59 THEN format('%s_%s_key', s.relname, key) ELSE format('%s_%s_key', left(s.relname, 29), left(key, 29)) END;
		EXECUTE format('CREATE CONSTRAINT TRIGGER %I AFTER INSERT OR UPDATE ON %s DEFERRABLE FOR EACH ROW WHEN (NEW.%I IS DISTINCT FROM NULL) EXECUTE FUNCTION %s.bloomx_unique_check()', name, source, key, own);
		-- in a replica, too, as a unique index is
		EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', source, name);
	END IF;
	EXECUTE format('SELECT %1$I::text FROM (SELECT %1$I FROM %2$s WHERE %1$I IS DISTINCT FROM NULL GROUP BY %1$I HAVING count(*) > 1 LIMIT 1) d', key, source) INTO duplicate;
	IF duplicate IS NOT NULL THEN
		RAISE unique_violation USING MESSAGE = format('could not make column %I of table %s unique', key, source), DETAIL = format('Key (%I)=(%s) is duplicated.', key, duplicate),
			HINT = format('SELECT %1$I FROM %2$s GROUP BY %1$I HAVING count(*) > 1;', key, source);
	END IF;
	RETURN name;
END $unique$;
COMMENT ON FUNCTION bloomx_unique(regclass, name) IS
	'make a column unique across partitions by a constraint trigger, or check all rows again if it is there; returns its name';

-- ---------------------------------------------------------------------------
-- Filter columns that triggers keep current
-- ---------------------------------------------------------------------------

CREATE FUNCTION bloomx_maintainer(source regclass, key text, target regclass, filter name, segment text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$ SELECT 'bloomx_maintain_' || left(md5(format('%s,%L,%s,%I,%L', source, key, target, filter, segment)), 12) $$;
COMMENT ON FUNCTION bloomx_maintainer(regclass, text, regclass, name, text) IS
	'name of the trigger function that bloom_maintain makes';

-- The trigger function runs as the owner of both tables, and bloom_maintain asks for an owner: a cast of a column, or a trigger on the
-- filters, could act with the rights of whoever wrote here for others.  It finds names in pg_catalog, in the schema of bloomx, unless others
-- can make objects there that would be taken for those of pg_catalog, and, last, in pg_temp.
--
-- No key is lost.  The table is locked against writers before its rows are read, until the triggers are committed, and at READ COMMITTED
-- the reading sees whatever was committed before.  A trigger locks a filter before it looks which keys that has: a rebuild that takes
-- the same lock has ended before, or will see the rows.
CREATE FUNCTION bloom_maintain(source regclass, key text, target regclass, filter name, segment text DEFAULT NULL) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET row_security = off
	AS $maintain$
DECLARE
	own CONSTANT text := (SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'bloomx');
	s CONSTANT pg_class := (SELECT c FROM pg_class c WHERE c.oid = source);
	t CONSTANT pg_class := (SELECT c FROM pg_class c WHERE c.oid = target);
	path CONSTANT text := 'pg_catalog, ' || CASE WHEN EXISTS (SELECT FROM pg_roles r WHERE NOT rolsuper AND (r.oid <> s.relowner OR rolname <> current_user) AND rolname <> 'pg_database_owner' AND has_schema_privilege(r.oid, to_regnamespace(own), 'CREATE'))
		THEN '' ELSE own || ', ' END || 'pg_temp';
	type_of_filter CONSTANT text := (SELECT format_type(atttypid, atttypmod) FROM pg_attribute
		WHERE attrelid = target AND attname = filter AND attnum > 0 AND NOT attisdropped AND atttypid = to_regtype(own || '.bloomfilter'));
	modifier CONSTANT text := substring(type_of_filter FROM '[(](.*)[)]');
	unique_columns CONSTANT name[] := ARRAY(SELECT DISTINCT attname FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
		WHERE indrelid = target AND indisunique AND indisvalid AND indimmediate AND indnkeyatts = 1 AND indpred IS NULL AND indexprs IS NULL AND attname <> filter);
	-- a partition has row triggers: they fire for statements on the partitioned table and on a partition, and later partitions inherit them
	by_row CONSTANT boolean := s.relkind = 'p' OR s.relispartition;
	-- the arguments of all templates: target, filter, key, schema of bloomx, an empty filter, column and expression of the segment, rows
	a text[] := ARRAY[target::text, quote_ident(filter), key, own, NULL, NULL, coalesce(segment, '1'), source::text];
	rows_by_segment CONSTANT text := 'SELECT s, array_agg(k) AS keys FROM (SELECT (%3$s) AS k, (%7$s) AS s FROM %8$s AS changed) c WHERE k IS DISTINCT FROM NULL GROUP BY s ORDER BY s';
	maintainer text;
	maintaining text;			-- the same with its schema
	segment_column name;
	type_of_key regtype;
	other_type text;
	counting boolean;
	shared boolean := false;	-- the segment is a constant
	n bigint;
	body text;
	statements text[];
	event text;
BEGIN
	IF source IS NULL OR key IS NULL OR target IS NULL OR filter IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'source, key, target and filter must not be null';
	ELSIF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
		RAISE feature_not_supported USING MESSAGE = 'bloom_maintain must run at READ COMMITTED',
			DETAIL = 'An older snapshot lacks the latest rows of the table, whose keys would be lost.';
	ELSIF s.relkind IS DISTINCT FROM 'r' AND s.relkind IS DISTINCT FROM 'p' OR t.relkind IS DISTINCT FROM 'r' AND t.relkind IS DISTINCT FROM 'p' THEN
		RAISE wrong_object_type USING MESSAGE = format('%s is not a table', CASE WHEN s.relkind IN ('r', 'p') THEN target ELSE source END);
	ELSIF s.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits WHERE inhparent = source) THEN
		RAISE feature_not_supported USING MESSAGE = format('table %s has child tables', source), HINT = 'Call bloom_maintain for each of them.';
	ELSIF s.relowner <> t.relowner OR NOT pg_has_role(s.relowner, 'USAGE') THEN
		RAISE insufficient_privilege USING MESSAGE = format('must be owner of tables %s and %s', source, target);
	ELSIF type_of_filter IS NULL THEN
		RAISE undefined_column USING MESSAGE = format('table %s has no column "%s" of type bloomfilter', target, filter),
			HINT = 'Create the column first. Its name is written here without double quotes.';
	END IF;
	EXECUTE format('SELECT %s.bloomx_maintainer($1, $2, $3, $4, $5)', own) INTO maintainer USING source, key, target, filter, segment;
	PERFORM set_config('search_path', path, true);

	-- what is the name of a column is written as one
	IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = source AND attname = key AND attnum > 0 AND NOT attisdropped) THEN
		a[3] := quote_ident(key);
	END IF;
	IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = source AND attname = segment AND attnum > 0 AND NOT attisdropped) THEN
		a[7] := quote_ident(segment);
	END IF;
	IF segment IS NOT NULL THEN
		segment_column := CASE WHEN segment = ANY (unique_columns) THEN segment WHEN cardinality(unique_columns) = 1 THEN unique_columns[1] END;
		a[6] := quote_ident(segment_column);
		IF segment_column IS NULL THEN
			RAISE invalid_table_definition USING MESSAGE = format('table %s does not show which column has the segments', target),
				HINT = 'Give it a primary key of one column, or a unique column of the same name.';
		END IF;
	END IF;

	-- from here on nobody writes to the table, and all who did have ended
	EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', source);
	-- Other tables may add keys to the filters if each has constant segments.  Then a TRUNCATE takes no key away: it could be another table's.
	EXECUTE format('LOCK TABLE %s IN SHARE UPDATE EXCLUSIVE MODE', target);
	IF segment IS NOT NULL THEN
		BEGIN
			EXECUTE format('SELECT %s', a[7]);
			shared := true;
		EXCEPTION WHEN undefined_column OR undefined_table THEN
			NULL;
		END;
	END IF;
	event := (SELECT min(format('%s()', p.oid::regproc)) FROM pg_proc p WHERE pronamespace = t.relnamespace AND starts_with(proname, 'bloomx_maintain_') AND proname <> maintainer AND EXISTS (SELECT FROM pg_trigger WHERE tgfoid = p.oid)
		AND strpos(prosrc, format('INTO %1$s AS d (%6$s, %2$s)', VARIADIC a)) + strpos(prosrc, format('UPDATE %1$s AS d SET %2$s ', VARIADIC a)) > 0
		AND NOT (shared AND strpos(prosrc, '''TRUNCATE''') = 0));
	IF event IS NOT NULL THEN
		RAISE object_not_in_prerequisite_state USING MESSAGE = format('column %s of table %s is kept current by function %s', a[2], target, event),
			HINT = 'bloom_unmaintain, with the arguments of the call that made the function, ends that. Several tables need filters of their own, or a constant segment each.';
	END IF;
	EXECUTE format('SELECT pg_typeof((SELECT (%3$s) FROM %8$s AS changed LIMIT 1))', VARIADIC a) INTO type_of_key;
	IF EXISTS (SELECT FROM pg_type WHERE oid = type_of_key AND typcategory = 'A') THEN
		RAISE datatype_mismatch USING MESSAGE = format('key %s is an array', key), HINT = format('For its elements as keys write unnest(%s).', key);
	END IF;
	EXECUTE format('SELECT bool_or((%4$s.bloom_header(%2$s)).layout = ''counting''), count(*) FROM %1$s', VARIADIC a) INTO counting, n;
	-- an empty table would not show that its keys are of another type than the filter's
	IF EXISTS (SELECT FROM pg_type WHERE oid = type_of_key AND typtype <> 'p') THEN
		EXECUTE format('SELECT min(h.key_type) FROM %1$s AS d, %4$s.bloom_header(d.%2$s) h WHERE ' || CASE WHEN shared THEN '%6$s = (%7$s)' ELSE 'true' END
			|| ' HAVING bool_and(h.key_type <> (%4$s.bloom_header(%4$s.bloom_empty(1, key_type => %9$L::regtype))).key_type)', VARIADIC a || type_of_key::text) INTO other_type;
		IF other_type IS NOT NULL THEN
			RAISE datatype_mismatch USING MESSAGE = format('key %s has type %s, but the filter has keys of type %s', key, type_of_key, other_type),
				HINT = 'Cast the key, or empty the filter first.';
		END IF;
	END IF;
	counting := coalesce(counting, false) OR coalesce(modifier ~ ',counting$', false);
	IF segment IS NULL AND n > 1 THEN
		RAISE cardinality_violation USING MESSAGE = format('table %s has %s rows', target, n),
			HINT = 'Without a segment it has one filter, in one row. With several, tell by a segment which row a key belongs to.';
	END IF;
	a[5] := own || '.bloom_empty(' || coalesce(regexp_replace(modifier, ',([a-z_]+)$', E',''\\1'''), '1000, layout => ''scalable''') || ')';

	-- the keys that are there
	IF segment IS NULL THEN
		IF n = 0 THEN
			BEGIN
				EXECUTE format('INSERT INTO %1$s (%2$s) VALUES (%5$s)', VARIADIC a);
			EXCEPTION WHEN not_null_violation THEN
				RAISE not_null_violation USING MESSAGE = SQLERRM, HINT = 'Insert the row of the filter before, or name a segment as fifth argument.';
			END;
		END IF;
		EXECUTE format('UPDATE %1$s AS d SET %2$s = CASE WHEN %4$s.bloom_is_empty(d.%2$s) IS NOT FALSE THEN c.f ELSE %4$s.bloom_union(d.%2$s, c.f) END '
			'FROM (SELECT %4$s.bloom_agg(c.k, coalesce(e.%2$s, %5$s)) AS f FROM (SELECT (%3$s) AS k FROM %8$s AS changed) c, %1$s AS e) c WHERE NOT %4$s.bloom_is_empty(c.f)', VARIADIC a);
	ELSE
		EXECUTE format('SELECT count(*) FROM (SELECT (%3$s) AS k, (%7$s) AS s FROM %8$s AS changed) c WHERE s IS NULL AND k IS DISTINCT FROM NULL', VARIADIC a) INTO n;
		IF n > 0 THEN
			RAISE not_null_violation USING MESSAGE = format('segment %s is null in %s rows of %s', segment, n, source), HINT = 'coalesce() can give them a segment.';
		END IF;
		EXECUTE format('INSERT INTO %1$s AS d (%6$s, %2$s) SELECT c.s, %4$s.bloom_agg(c.k, coalesce(e.%2$s, %5$s)) FROM (SELECT (%3$s) AS k, (%7$s) AS s FROM %8$s AS changed) c '
			'LEFT JOIN %1$s AS e ON e.%6$s = c.s WHERE c.k IS DISTINCT FROM NULL GROUP BY c.s ORDER BY c.s ON CONFLICT (%6$s) DO UPDATE SET %2$s = '
			'CASE WHEN %4$s.bloom_is_empty(d.%2$s) IS NOT FALSE THEN EXCLUDED.%2$s ELSE %4$s.bloom_union(d.%2$s, EXCLUDED.%2$s) END', VARIADIC a);
	END IF;

	a[8] := CASE WHEN by_row THEN '(SELECT NEW.*)' ELSE 'added' END;
	body := format($f$
#variable_conflict use_column
DECLARE
	r_ record;
BEGIN
$f$ || CASE WHEN shared THEN '' ELSE $f$	IF TG_OP = 'TRUNCATE' THEN
		UPDATE %1$s AS d SET %2$s = (SELECT %4$s.bloom_agg(NULL::$f$ || replace(type_of_key::text, '%', '%%') || $f$, f) FROM (SELECT d.%2$s AS f) c);
		RETURN NULL;
	END IF;
$f$ END
	-- all filters in one order: an update may change one twice
	|| CASE WHEN counting AND segment IS NOT NULL THEN $f$	IF TG_OP = 'UPDATE' THEN
		PERFORM FROM %1$s WHERE %6$s IN (SELECT (%7$s) FROM %8$s AS changed UNION ALL SELECT (%7$s) FROM $f$ || CASE WHEN by_row THEN '(SELECT OLD.*)' ELSE 'removed' END || $f$ AS changed) ORDER BY %6$s FOR UPDATE;
	END IF;
$f$ ELSE '' END || $f$	IF TG_OP <> 'DELETE' THEN
		FOR r_ IN $f$ || rows_by_segment || ' LOOP' || CASE WHEN segment IS NULL THEN $f$
			PERFORM FROM %1$s FOR UPDATE;
			IF NOT FOUND THEN
				RAISE USING ERRCODE = CASE current_setting('transaction_isolation') WHEN 'read committed' THEN 'no_data_found' ELSE 'serialization_failure' END,
					MESSAGE = 'the row of the filter is gone, or newer than this transaction',
					HINT = 'Try again in a new transaction. If the table of the filter is empty, call bloom_maintain again.';
			END IF;
			UPDATE %1$s AS d SET %2$s = $f$ ELSE $f$
			IF r_.s IS NULL THEN
				RAISE not_null_violation USING MESSAGE = 'the segment of a key is null';
			END IF;
			INSERT INTO %1$s AS d (%6$s, %2$s) VALUES (r_.s, %4$s.bloom_add_all(%5$s, r_.keys))
			ON CONFLICT (%6$s) DO UPDATE SET %2$s = $f$ END || '%4$s.bloom_add_all(coalesce(d.%2$s, %5$s), r_.keys)'
			|| CASE WHEN counting THEN '' ELSE E'\n\t\t\tWHERE %4$s.bloom_contains_all(d.%2$s, r_.keys) IS NOT TRUE' END || $f$;
		END LOOP;
	END IF;$f$ || CASE WHEN counting THEN $f$
	IF TG_OP <> 'INSERT' THEN
		FOR r_ IN $f$ || replace(rows_by_segment, '%8$s', CASE WHEN by_row THEN '(SELECT OLD.*)' ELSE 'removed' END) || $f$ LOOP
			UPDATE %1$s AS d SET %2$s = %4$s.bloom_remove_all(d.%2$s, r_.keys)$f$ || CASE WHEN segment IS NULL THEN '' ELSE ' WHERE d.%6$s = r_.s' END || $f$;
		END LOOP;
	END IF;$f$ ELSE '' END || $f$
	RETURN NULL;
END $f$, VARIADIC a);
	maintaining := format('%I.%I', (SELECT nspname FROM pg_namespace WHERE oid = t.relnamespace), maintainer);
	statements := ARRAY[format(E'CREATE OR REPLACE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql\n\tSECURITY DEFINER SET search_path = %s SET row_security = off AS ', maintaining, path)
		|| CASE WHEN strpos(body, '$body$') = 0 THEN '$body$' || body || '$body$' ELSE quote_literal(body) END];
	FOREACH event IN ARRAY ARRAY['INSERT', 'UPDATE', CASE WHEN counting THEN 'DELETE' END, CASE WHEN NOT shared THEN 'TRUNCATE' END] LOOP
		CONTINUE WHEN event IS NULL;
		statements := statements || (format('CREATE OR REPLACE TRIGGER %I AFTER %s ON %s ', maintainer || lower('_' || event), event, source)
			|| CASE WHEN event = 'TRUNCATE' THEN '' WHEN by_row THEN 'FOR EACH ROW ' ELSE 'REFERENCING ' || CASE WHEN counting AND event <> 'INSERT' THEN 'OLD TABLE AS removed ' ELSE '' END
				|| CASE WHEN event <> 'DELETE' THEN 'NEW TABLE AS added ' ELSE '' END END || 'EXECUTE FUNCTION ' || maintaining || '()');
	END LOOP;
	statements := statements || format('REVOKE ALL ON FUNCTION %s() FROM PUBLIC', maintaining) || format('ALTER FUNCTION %s() OWNER TO %s', maintaining, s.relowner::regrole)
		|| format('ALTER FUNCTION %s() DEPENDS ON EXTENSION bloomx', maintaining);	-- else DROP EXTENSION CASCADE would leave triggers that fail
	FOREACH event IN ARRAY statements LOOP
		RAISE NOTICE '%;', event;
		EXECUTE event;
	END LOOP;
END $maintain$;
COMMENT ON FUNCTION bloom_maintain(regclass, text, regclass, name, text) IS
	'keep a filter of target current by triggers on source: one with the keys of all rows, or one for each value of segment';

CREATE FUNCTION bloom_unmaintain(source regclass, key text, target regclass, filter name, segment text DEFAULT NULL) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $unmaintain$
DECLARE
	maintainer regproc;
	statement text;
BEGIN
	EXECUTE (SELECT format('SELECT %I.bloomx_maintainer($1, $2, $3, $4, $5)', nspname) FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'bloomx')
		INTO statement USING source, key, target, filter, segment;
	maintainer := (SELECT p.oid FROM pg_class t JOIN pg_proc p ON pronamespace = relnamespace WHERE t.oid = target AND pronargs = 0 AND proname = statement);
	IF maintainer IS NULL THEN
		RAISE undefined_object USING MESSAGE = format('bloom_maintain has no triggers on %s with these arguments', source),
			HINT = 'Write the arguments as bloom_maintain was given them. After a table was renamed, drop the function that its triggers call, with CASCADE.';
	END IF;
	FOR statement IN SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass) FROM pg_trigger WHERE tgfoid = maintainer AND tgparentid = 0 ORDER BY 1 LOOP
		RAISE NOTICE '%;', statement;
		EXECUTE statement;
	END LOOP;
	RAISE NOTICE 'DROP FUNCTION %();', maintainer;
	EXECUTE format('DROP FUNCTION %s()', maintainer);
END $unmaintain$;
COMMENT ON FUNCTION bloom_unmaintain(regclass, text, regclass, name, text) IS
	'drop the triggers that bloom_maintain made with these arguments; the filters stay as they are';
