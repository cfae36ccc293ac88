-- Makes a table of filters of rate :rate and its indexes, and runs every lookup.
CREATE TABLE t AS SELECT * FROM filters(:rate, :room);
VACUUM ANALYZE t;
TRUNCATE lookup, timing, insertion, built;
CALL build();
INSERT INTO lookup SELECT kind, round, format(condition, quote_literal(keys) || '::' || type, :rate, capacity) FROM sought JOIN form USING (kind), keys_of;
CALL take_turns();
