#!/usr/bin/env python3
"""The tests of other index classes, with their indexes replaced by those of bloomx, give the same rows.

    test/server/peers.sh [--only REGEX]

Takes the tests of contrib's pg_trgm, btree_gin, intarray, bloom and hstore, and those of PostgreSQL itself for GIN and BRIN.
Each runs twice, in a database of its own: as it is, and with its CREATE INDEX statements changed and sequential scans
switched off. What psql prints must be the same, apart from plans, the order of rows, what is left out of both (LEFT_OUT), and what is listed in KNOWN with the reason.
The server's log must show that the indexes of bloomx were searched.

test/server/peers.sh starts the server and knows where the tests are. The last line is "N passed, N failed".
"""

import argparse
import difflib
import os
import re
import subprocess
import sys

ANY_GIN = (r"using gin\s*\((.*?)\)", r"using bloomx (\1)")
TRGM = (r"using (?:gin|gist)\s*\((\w+) g\w+_trgm_ops(?:\(siglen=2024\))?\)", r"using bloomx (\1 text_ngram_ops)")
# Options that are errors stay. Core's operators for int[] are found first if those of the module are in another schema.
INTARRAY = (r"using (?:gin|gist)\s*\(\s*a gi\w+_ops(?:\s*\((?:numranges|siglen) = (?:252|2024)\))?\s*\)", r"using bloomx (a)")
BLOOM = (r"using bloom (\([^)]*\))(?: with \((?!length=0|col1=0)[^)]*\))?(?! with)", r"using bloomx \1")
BRIN_BLOOM = (r"\b(\w+?)_bloom_ops\b(?!\()", r"\1_bloomx_ops")

CONTRIB = {
    "pg_trgm": (["pg_trgm", "pg_word_trgm", "pg_strict_word_trgm", "pg_utf8_trgm"], [TRGM]),
    "btree_gin": (["install_btree_gin", "int2", "int4", "int8", "float4", "float8", "money", "oid", "timestamp", "timestamptz", "time", "timetz", "date",
                   "interval", "macaddr", "macaddr8", "inet", "cidr", "text", "varchar", "char", "bytea", "name", "bool", "bpchar", "uuid", "enum", "numeric"],
                  [ANY_GIN]),
    "intarray": (["_int"], [INTARRAY, (r"CREATE EXTENSION intarray;", r"CREATE SCHEMA i; CREATE EXTENSION intarray SCHEMA i; SET search_path = public, i;")]),
    "bloom": (["bloom"], [BLOOM]),
    "hstore": (["hstore"], [(r"CREATE EXTENSION hstore;", r"CREATE EXTENSION hstore; CREATE EXTENSION bloomx_hstore;"),
                             (r"using gin\s*\(h\)", r"using bloomx (h)"), (r"using gist\s*\(h(?: gist_hstore_ops\(siglen=2024\))?\)", r"using bloomx (h)")]),
}
# These need the tables of test_setup.
CORE = {
    "gin": [(r"(create index (?:\w+ )?on \w*gin_test_tbl) using gin (\([^)]*\))(?:\s*with \([^)]*\))?", r"\1 using bloomx \2")],
    "create_index": [ANY_GIN],
    "jsonb": [(r"using gin\s*\((.*?)\s*jsonb_path_ops\)", r"using bloomx (\1)"), ANY_GIN],
    "tsearch": [ANY_GIN, (r"using gist \(a(?: tsvector_ops\(siglen=484\))?\)", r"using bloomx (a)")],
    "brin_bloom": [BRIN_BLOOM],
}

# What is asked of one access method alone, and is left out of both runs.
LEFT_OUT = re.compile(r"^\\d.*$|^select gin_clean_pending_list.*$|^alter index \w+ (re)?set .*$|^select reloptions .*$|^CREATE INDEX gin_relopts_test[^;]*;"
                      r"|^INSERT INTO test__int SELECT array\(SELECT x FROM generate_series\(1, 1001\) x\);.*$", re.I | re.M)

# What differs for a reason, by test.
KNOWN = {
    "gin": r"return by index",  # how many rows are to be rechecked
    "brin_bloom": r"brin_summarize_new_values",  # how many ranges have no summary depends on what was inserted before
}


def run(database, sql, options=""):
    environment = dict(os.environ, PGOPTIONS=f"-c client_min_messages=notice {options}", PGTZ="PST8PDT", PGDATESTYLE="Postgres, MDY", PGCLIENTENCODING="UTF8")
    done = subprocess.run(["psql", "-X", "-q", "-d", database], input=sql, encoding="utf-8", errors="replace", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=environment, check=False)
    return done.stdout


def blocks(output):
    """What psql printed as a list of blocks: tables with their rows in order of the alphabet, and single lines. Plans are left out."""
    result, lines, i = [], output.splitlines(), 0
    while i < len(lines):
        if i + 1 < len(lines) and re.fullmatch(r"-+(\+-+)*", lines[i + 1]):
            end = next((j for j in range(i + 2, len(lines)) if re.fullmatch(r"\(\d+ rows?\)", lines[j])), len(lines) - 1)
            if lines[i].strip() != "QUERY PLAN":
                result.append("\n".join([lines[i].strip(), *sorted(line.rstrip() for line in lines[i + 2:end]), lines[end]]))
            i = end + 1
        else:
            if lines[i].strip() and not re.match(r"LINE \d+:|\s*\^\s*$|create index ", lines[i]):
                result.append(lines[i].rstrip())
            i += 1
    return result


def searches():
    with open(os.environ["BLOOMX_LOG"], encoding="utf-8", errors="replace") as log:
        return sum("Bitmap Index Scan on" in line for line in log)


class Test:
    passed = failed = 0

    def peer(self, name, before, scripts, changes):
        """Runs scripts as they are and changed; `before` makes what they need."""
        outputs, used, replaced = [], 0, 0
        for ours in (False, True):
            database = "bloomx_peers"
            run("postgres", f"DROP DATABASE IF EXISTS {database}; CREATE DATABASE {database} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C.UTF-8';"
                            f"ALTER DATABASE {database} SET timezone = 'PST8PDT'; ALTER DATABASE {database} SET datestyle = 'Postgres, MDY';"
                            f"ALTER DATABASE {database} SET bytea_output = 'hex'; ALTER DATABASE {database} SET intervalstyle = 'postgres_verbose';")
            run(database, "CREATE EXTENSION bloomx;\n" + before)
            started, output = searches(), []
            for script in scripts:
                script = LEFT_OUT.sub("", script)
                if ours:
                    for pattern, replacement in changes:
                        script, n = re.subn(pattern, replacement, script, flags=re.I | re.S)
                        replaced += n
                output += blocks(run(database, script, "-c enable_seqscan=off -c session_preload_libraries=auto_explain -c auto_explain.log_min_duration=0"
                                     if ours else ""))
            outputs.append(output)
            used = searches() - started
        different = [line for line in difflib.unified_diff(*outputs, "peer", "bloomx", lineterm="", n=0) if not re.match(r"(---|\+\+\+|@@)", line)]
        unknown = [line for line in different if name not in KNOWN or not re.search(KNOWN[name], line)]
        if unknown or not replaced or not used:
            self.failed += 1
            print(f"not ok - {name}: {replaced} indexes replaced, {used} searches", *unknown[:60], sep="\n")
        else:
            self.passed += 1
            print(f"ok - {name}: {len(outputs[0])} results the same, {replaced} indexes replaced, {used} searches", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("contrib", help="PostgreSQL's contrib, of the server's version")
    arguments.add_argument("regress", help="its src/test/regress, built")
    arguments.add_argument("--only", default="", help="only tests whose name matches")
    options = arguments.parse_args()
    test = Test()

    def read(*path):
        with open(os.path.join(*path), encoding="utf-8") as file:
            return file.read()

    for module, (files, changes) in CONTRIB.items():
        if re.search(options.only, module):
            os.chdir(os.path.join(options.contrib, module))
            test.peer(module, "", [read("sql", f"{file}.sql") for file in files], changes)
    os.environ.update(PG_ABS_SRCDIR=options.regress, PG_LIBDIR=options.regress, PG_DLSUFFIX=".so", PG_ABS_BUILDDIR="/nonexistent")
    for name, changes in CORE.items():
        if re.search(options.only, name):
            os.chdir(options.regress)
            test.peer(name, read("sql", "test_setup.sql"), [read("sql", f"{name}.sql")], changes)
    print(f"{test.passed} passed, {test.failed} failed")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
