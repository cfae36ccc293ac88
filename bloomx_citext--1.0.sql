/* bloomx_citext--1.0.sql: the access method bloomx on columns of type citext */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION bloomx_citext" to load this file. \quit

CREATE OPERATOR CLASS citext_ops DEFAULT FOR TYPE citext USING bloomx AS
	OPERATOR 1 = (citext, citext), FUNCTION 1 bloomx_extract_scalar(internal);
COMMENT ON OPERATOR CLASS citext_ops USING bloomx IS 'citext values as keys';

CREATE FUNCTION bloomx_extract_citext_ngram(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloomx_extract_citext_ngram(internal) IS 'keys of indexed values: the n-grams of a text without regard to case';

CREATE OPERATOR CLASS citext_ngram_ops FOR TYPE citext USING bloomx AS
	OPERATOR 1 = (citext, citext),
	OPERATOR 7 ~~ (citext, citext), OPERATOR 8 ~~* (citext, citext), OPERATOR 9 ~ (citext, citext), OPERATOR 10 ~* (citext, citext),
	OPERATOR 7 ~~ (citext, text), OPERATOR 8 ~~* (citext, text), OPERATOR 9 ~ (citext, text), OPERATOR 10 ~* (citext, text),
	FUNCTION 1 bloomx_extract_citext_ngram(internal);
COMMENT ON OPERATOR CLASS citext_ngram_ops USING bloomx IS 'n-grams of texts as keys, without regard to case';
