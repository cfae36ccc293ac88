CREATE EXTENSION IF NOT EXISTS bloomx;
CREATE FUNCTION partial_agg_transfn(internal, regprocedure, anyelement) RETURNS internal AS :'library' LANGUAGE c;
CREATE FUNCTION partial_agg_finalfn(internal) RETURNS text AS :'library' LANGUAGE c;
CREATE AGGREGATE partial_agg(regprocedure, anyelement) (SFUNC = partial_agg_transfn, STYPE = internal, FINALFUNC = partial_agg_finalfn);
CREATE FUNCTION combined_agg_transfn(internal, regprocedure, text, anyelement) RETURNS internal AS :'library' LANGUAGE c;
CREATE FUNCTION combined_agg_finalfn(internal, regprocedure, text, anyelement) RETURNS anyelement AS :'library' LANGUAGE c;
CREATE AGGREGATE combined_agg(regprocedure, text, anyelement) (SFUNC = combined_agg_transfn, STYPE = internal, FINALFUNC = combined_agg_finalfn, FINALFUNC_EXTRA);

-- bloom_agg without its final function: the states that workers would send.
CREATE AGGREGATE state_of(anycompatible) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
CREATE AGGREGATE state_of(anycompatible, bigint) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
CREATE AGGREGATE state_of(anycompatible, bigint, float8) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
CREATE AGGREGATE state_of(anycompatible, bloomfilter) (SFUNC = bloomx_agg_transfn, STYPE = bloomfilter);
CREATE TABLE rows AS SELECT n FROM generate_series(1, 100000) n;
ANALYZE rows;
