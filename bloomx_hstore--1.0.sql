/* bloomx_hstore--1.0.sql: the access method bloomx on columns of type hstore */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION bloomx_hstore" to load this file. \quit

CREATE FUNCTION bloomx_extract_hstore(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_extract_hstore(internal) IS 'keys of indexed values: the names of an hstore, and its pairs';

CREATE OPERATOR CLASS hstore_ops DEFAULT FOR TYPE hstore USING bloomx AS
	OPERATOR 1 = (hstore, hstore), OPERATOR 2 @> (hstore, hstore), OPERATOR 4 ? (hstore, text), OPERATOR 5 ?| (hstore, text[]), OPERATOR 6 ?& (hstore, text[]),
	FUNCTION 1 bloomx_extract_hstore(internal);
COMMENT ON OPERATOR CLASS hstore_ops USING bloomx IS 'names and pairs as keys';
