/* bloomx_theory--1.0.sql: the papers' formulas for n keys, m bits and k probes per key */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION bloomx_theory" to load this file. \quit

CREATE FUNCTION bloom_fpr_approx(n bigint, m bigint, k integer) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_fpr_approx'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloom_fpr_approx(bigint, bigint, integer) IS
	'approximate false positive rate of the standard analysis, (1 - (1 - 1/m)^(kn))^k (Almeida 2022, equation 5)';

CREATE FUNCTION bloom_fpr_goel_gupta(n bigint, m bigint, k integer) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_fpr_goel_gupta'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloom_fpr_goel_gupta(bigint, bigint, integer) IS
	'upper bound of the false positive rate of a standard filter (Goel and Gupta 2010)';

CREATE FUNCTION bloom_fpr_standard(n bigint, m bigint, k integer) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_fpr_standard'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bloom_fpr_standard(bigint, bigint, integer) IS
	'exact expected false positive rate of a standard filter (Almeida 2022, equation 10)';

CREATE FUNCTION bloom_fpr_distinct(n bigint, m bigint, k integer) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_fpr_distinct'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
COMMENT ON FUNCTION bloom_fpr_distinct(bigint, bigint, integer) IS
	'exact expected false positive rate of a filter whose keys set k different bits (Bloom 1970)';

CREATE FUNCTION bloom_fpr_partitioned(n bigint, m bigint, k integer) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_fpr_partitioned'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloom_fpr_partitioned(bigint, bigint, integer) IS
	'exact expected false positive rate of a partitioned filter (Almeida 2022, equation 11)';

CREATE FUNCTION bloom_fpr_element(n bigint, m bigint, k integer, d integer) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_fpr_element'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bloom_fpr_element(bigint, bigint, integer, integer) IS
	'false positive rate of a key whose k probes are d distinct bits of a standard filter (Almeida 2022, equation 14)';

CREATE FUNCTION bloom_fpr_rational(n bigint, m bigint, k float8) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_fpr_rational'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bloom_fpr_rational(bigint, bigint, float8) IS
	'exact expected false positive rate of a rational filter, whose keys set floor(k) bits or one more, k on average';

CREATE FUNCTION bloom_fpr_blocked(n bigint, m bigint, k integer, block_bits bigint DEFAULT 512) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_fpr_blocked'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bloom_fpr_blocked(bigint, bigint, integer, bigint) IS
	'exact expected false positive rate of a blocked filter (Putze, Sanders and Singler 2009, equation 3, with binomial loads)';

CREATE FUNCTION bloom_fpr_partitioned_blocked(n bigint, blocks bigint, parts integer) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_fpr_partitioned_blocked'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bloom_fpr_partitioned_blocked(bigint, bigint, integer) IS
	'exact expected false positive rate of a partitioned_blocked filter';

CREATE FUNCTION bloom_fpr_age_partitioned(k integer, l integer, linear boolean DEFAULT false) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_fpr_age_partitioned'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION bloom_fpr_age_partitioned(integer, integer, boolean) IS
	'false positive rate of an age_partitioned filter just before a shift, its upper bound (Shtul, Baquero and Almeida 2020)';

CREATE FUNCTION bloom_collisions(m bigint, k integer, c integer) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_collisions'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloom_collisions(bigint, integer, integer) IS
	'probability that the k probes of a key are k - c distinct bits of a standard filter (Almeida 2022, equations 1 and 8)';

CREATE FUNCTION bloom_false_overlap(layout text, m bigint, k integer, n1 bigint, n2 bigint) RETURNS float8
	AS 'MODULE_PATHNAME', 'bloom_false_overlap'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
COMMENT ON FUNCTION bloom_false_overlap(text, bigint, integer, bigint, bigint) IS
	'probability that the filters of two disjoint sets are not certainly disjoint (Almeida 2022, section 6.2)';
