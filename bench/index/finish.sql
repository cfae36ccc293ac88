-- Reports the costs of the indexes and drops the table.
DO $$ BEGIN
	PERFORM use('bloomx', 'indisvalid');
	IF to_regclass('t_bloomx') IS NULL THEN RETURN; END IF;
	IF bloomx_check_index('t_bloomx') <> (SELECT count(*) FROM t) THEN RAISE 'the index lacks rows'; END IF;
END $$;
CREATE TABLE rows_to_insert AS SELECT * FROM t WHERE id % 50 = 1;
CALL insert_rows(3);
SELECT report_costs();
DROP TABLE t, rows_to_insert;
