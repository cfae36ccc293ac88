#!/usr/bin/env python3
"""A row that another session has changed meanwhile is checked again (EvalPlanQual) as without lookups.

    scripts/throwaway test/server/lookups.py

Statements that change or lock rows of a table which they join, by a nested loop with lookups, with another table wait for a
session that changes a key of one of these rows, or of the other table.  Each runs with lookups off and on.

Needs a server with bloomx in the PG* environment.  The last line is "N passed, N failed".
"""

import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "random"))
import server

DATABASE = "bloomx_lookups"
SETUP = """
CREATE EXTENSION bloomx;
CREATE TABLE o AS SELECT g AS id, g % 40 AS k, g % 7 AS e, 0 AS v FROM generate_series(1, 200) g;
CREATE TABLE i AS SELECT g AS id, g % 50 AS k, g % 9 AS e FROM generate_series(1, 30) g;
ANALYZE o, i;
"""
OPTIONS = ("-c enable_hashjoin=off -c enable_mergejoin=off -c enable_indexscan=off -c max_parallel_workers_per_gather=0 "
           "-c bloomx.runtime_filter_min_removed=0 -c session_preload_libraries=bloomx -c bloomx.runtime_lookup=")
STATEMENTS = {
    "an update of rows that change their key": ("UPDATE o SET v = i.id FROM i WHERE o.k = i.k RETURNING o.id, o.k, o.v, i.id",
                                                "UPDATE o SET k = CASE WHEN id = 5 THEN 17 ELSE 45 END WHERE id IN (5, 6)"),
    "a join by OR": ("UPDATE o SET v = 1 FROM (SELECT * FROM i WHERE id < 9) i WHERE o.k = i.k OR o.e = i.e - 0 AND o.id = i.id RETURNING o.id, o.k, i.id",
                     "UPDATE o SET k = 3, e = 1 WHERE id IN (5, 47)"),
    "rows of both sides that are locked": ("SELECT o.id, o.k, i.id FROM o JOIN i ON o.k = i.k OR o.e = i.k FOR UPDATE",
                                           "UPDATE i SET k = 21 WHERE id = 3"),
    "a delete without a match": ("DELETE FROM o WHERE NOT EXISTS (SELECT FROM i WHERE o.k = i.k) RETURNING o.id, o.k", "UPDATE o SET k = 4 WHERE id IN (35, 36)"),
}


def run(mode, statement, change):
    """The statement's rows, in order, while another session has changed some and then commits."""
    first, second, watcher = server.Session(DATABASE), server.Session(DATABASE, options=OPTIONS + mode), server.Session(DATABASE)
    rows = []
    first.run("BEGIN")
    first.run(change)
    second.run("BEGIN")
    thread = threading.Thread(target=lambda: rows.append(second.run(statement)))
    thread.start()
    while thread.is_alive() and watcher.value("(SELECT count(*) FROM pg_locks WHERE NOT granted)") == "0":
        time.sleep(0.01)
    waited = thread.is_alive()
    first.run("COMMIT")
    thread.join()
    looked_up = second.value("(SELECT coalesce(sum(lookups), 0) > 0 FROM bloomx_last_runtime_filters())")
    second.run("ROLLBACK")
    for session in (first, second, watcher):
        session.close()
    return waited, rows[0] if rows else None, looked_up


def main():
    passed = failed = 0
    for name, (statement, change) in STATEMENTS.items():
        found = {}
        for mode in ("off", "on"):
            server.make(DATABASE, SETUP)
            found[mode] = run(mode, statement, change)
        ok = found["off"][0] and found["on"][0] and found["off"][1] == found["on"][1] and found["on"][1] and found["on"][2] == "true"
        print(f"{'ok      ' if ok else 'FAILED  '}{name}: {len(found['on'][1] or [])} rows")
        if not ok:
            print(found)
        passed, failed = passed + bool(ok), failed + (not ok)
    server.drop(DATABASE)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
