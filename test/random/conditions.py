#!/usr/bin/env python3
"""Random conditions find the same rows by an index as by a scan, for every operator class of values with many keys.

    scripts/throwaway test/random/conditions.py [--seconds N] [--queries N] [--seed N] [--only REGEX]

Makes tables of random arrays, documents, words and texts, each with an index of every access method that has a
class for them, and asks random conditions: of all operators, with values that are taken from the rows and
changed.  Texts are made of letters that are hard to compare without regard to case (Turkish, Lithuanian, Greek,
German, titlecase, compatibility characters, combining accents), under each of the collations that are likely to
disagree and that the server has, and in databases of other encodings.  Regular expressions are made of all that
the server knows.  In between rows are inserted, changed, deleted and vacuumed away.

A condition for which the index finds other rows than a scan is printed and fails the test.  An index that skips
nothing finds everything, so at the end each must have skipped a part of the pages.

Needs a server with bloomx in the PG* environment, where PGUSER is a superuser.  Makes databases.  The last line
is "N passed, N failed".
"""

import argparse
import os
import random
import re
import sys
import time

import oracles
import server

BATCH = 200  # conditions per psql

SETUP = r"""
CREATE EXTENSION bloomx;
CREATE EXTENSION bloomx_citext CASCADE;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
-- NULL if both ways find the same rows; a condition that is an error in a scan may be one, or none, by the index.
-- `whole` is an expression that must be true, or NULL.
CREATE FUNCTION compare(tab regclass, condition text, whole text, OUT problem text, OUT read bigint, OUT pages bigint) LANGUAGE plpgsql AS $$
DECLARE by_index int[]; by_scan int[]; plan json; kind text; is_whole bool;
BEGIN
	pages := pg_relation_size(tab) / 8192;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_indexscan', 'off', true);
	BEGIN
		EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %s WHERE %s', tab, condition) INTO by_scan;
	EXCEPTION WHEN OTHERS THEN
		IF SQLSTATE ~ '^(XX|57|53)' THEN problem := 'scan: ' || SQLERRM; END IF;
		RETURN;
	END;
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'on', true);
	BEGIN
		EXECUTE format('SELECT array_agg(id ORDER BY id) FROM %s WHERE %s', tab, condition) INTO by_index;
		EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT json) SELECT id FROM %s WHERE %s', tab, condition) INTO plan;
	EXCEPTION WHEN OTHERS THEN
		problem := SQLERRM;
		RETURN;
	END;
	EXECUTE 'SELECT ' || whole INTO is_whole;
	IF NOT is_whole THEN
		problem := 'parts are not the whole';
	END IF;
	IF by_index IS DISTINCT FROM by_scan THEN
		problem := format('index %s, scan %s', left(by_index::text, 200), left(by_scan::text, 200));
	END IF;
	plan := plan -> 0 -> 'Plan';
	IF plan ->> 'Node Type' = 'Bitmap Heap Scan' THEN
		read := (plan ->> 'Exact Heap Blocks')::int + (plan ->> 'Lossy Heap Blocks')::int;
	END IF;
END $$;
"""

# Letters that collations, versions of Unicode and the two ways to ignore cases treat differently.
# Words are made of one or two of these families, so that a pattern often differs from a row in the case alone.
FAMILIES = ["iIİı\u0307", "jJǰi\u0307", "ÌìIi\u0300\u0307", "ÍĨíĩĭi\u0301", "įĮi\u0307", "sSſ", "ßẞsS", "kK\u212a", "Σσς", "ΣΑαΆάσ", "ωΩ\u2126", "θΘϴϑ", "βΒϐ", "µμΜ", "ιΙ\u0345\u1fbe", "åÅ\u212b", "ÿŸ", "éÉe\u0301E",
            "ŉʼn", "\u01c4\u01c5\u01c6", "аАбБ", "ᲀвВ", "ԱաՒև", "აᲐ\u10a0\u2d00", "ệỆ", "ẛṡṠ", "ꭰᎠ", "日本語", "テ텍", "\U0001f600x", "\U00010400\U00010428", "ⅷⅧ", "ⓐⒶ", "ﬁfi", "ﬀf"]
# Words that some collation calls the same without regard to case: a row has one of them, and a needle is another.
SAME_WORDS = [["istanbul", "ISTANBUL", "İSTANBUL", "ıstanbul", "i\u0307stanbul", "I\u0307STANBUL"], ["Ìrank", "ìrank", "i\u0307\u0300rank", "I\u0300RANK"], ["rankÌ", "rankì", "ranki\u0307\u0300", "RANKI\u0300"],
              ["οδυσσευς", "ΟΔΥΣΣΕΥΣ", "οδυσσευσ"], ["straße", "STRAẞE", "STRASSE"], ["loſſ", "loss", "LOSS"], ["\u212aelvin", "kelvin", "KELVIN"], ["\u212bngstrom", "ångstrom", "ÅNGSTROM"], ["kilo\u2126", "kiloω", "KILOΩ"],
              ["აბგდ", "ᲐᲑᲒᲓ"], ["ႠႡႢႣ", "ⴀⴁⴂⴃ"], ["\u01c4ungla", "\u01c5ungla", "\u01c6ungla"], ["Ꭰ\u13a1\u13a2", "\uab70\uab71\uab72"], ["\U00010400\U00010401\U00010402", "\U00010428\U00010429\U0001042a"], ["ŉorn", "ʼNORN"]]
# Between them, so that an n-gram is in few rows.
RARE = "bcdfgh23456789"
PLAIN = "abcdeABCDE0123 -."
SPECIAL = "%_\\ \n'\".*+?()[]{}|^$"


def quote(text):
    return "'" + text.replace("'", "''") + "'"


def words(rng, alphabet, longest):
    return "".join(rng.choice(alphabet) for _ in range(rng.randrange(longest)))


# --------------------------------------------------------------------------
# Texts
# --------------------------------------------------------------------------

class Texts:
    """Rows of text, and conditions with patterns taken from them."""

    def __init__(self, rng, families):
        self.rng = rng
        self.families = families
        self.letters = "".join(families) + PLAIN + SPECIAL
        self.same_words = SAME_WORDS if families is FAMILIES else [["istanbul", "ISTANBUL"]]
        self.rows = [self.value() for _ in range(300)]

    def value(self):
        rng = self.rng
        if rng.random() < 0.03:
            return rng.choice(["", "a", "ab", "abc"])
        one, other = rng.choice(self.families), rng.choice(self.families)
        text = "".join(words(rng, rng.choice([one + "a", one + RARE, one + RARE, one + other + RARE, PLAIN, PLAIN + SPECIAL, "ab"]), 12) for _ in range(rng.randrange(1, 6)))
        if rng.random() < 0.3:
            text += words(rng, RARE, 4) + self.same_word()
        # lower() makes two letters of this one
        return text.replace("İ", "i\u0307") if "\u0307" in self.letters and rng.random() < 0.4 else text

    def piece(self, longest=9):
        row = self.rng.choice(self.rows)
        start = self.rng.randrange(len(row) + 1)
        return row[start:start + self.rng.randrange(1, longest)]

    def relatives(self, text):
        """Each letter of a family becomes any letter of it; the dot above is a letter of its own, or is not."""
        if self.rng.random() < 0.3:
            text = text.replace("i\u0307", "İ")
        return "".join(self.rng.choice(next((f for f in self.families if c in f), c)) for c in text)

    def recased(self, text):
        change = self.rng.choice([str.upper, str.lower, str.swapcase, str.title, str.casefold, self.relatives, lambda t: t])
        return "".join(c for c in change(text) if c in self.letters)

    def same_word(self):
        """One in two has an i, the letter with the most rules."""
        return self.rng.choice(self.rng.choice(self.same_words[:3] if self.rng.random() < 0.5 else self.same_words))

    def needle(self):
        """Letters around one of a family, in other cases: what an index must find although it looks different."""
        if self.rng.random() < 0.5:
            return self.same_word()
        row = self.rng.choice(self.rows)
        special = [i for i, c in enumerate(row) if any(c in f for f in self.families)]
        if not special:
            return self.recased(self.piece())
        start = max(self.rng.choice(special) - self.rng.randrange(4), 0)
        needle = row[start:start + self.rng.randrange(4, 10)]
        if self.rng.random() < 0.4:
            return self.recased(needle)
        if "İ" in self.letters and self.rng.random() < 0.5:
            needle = needle.replace("i\u0307", "İ")
        return "".join(self.relatives(c) if self.rng.random() < 0.4 else c for c in needle)

    def like(self):
        rng = self.rng
        out = ""
        for _ in range(rng.randrange(1, 4)):
            out += rng.choice(["%", "", "_", "%"])
            for c in self.recased(self.piece()) if rng.random() < 0.7 else self.piece():
                roll = rng.random()
                if roll < 0.04:
                    out += "_"
                elif roll < 0.07:
                    out += "%"
                elif c in "%_\\" or roll < 0.12:
                    out += "\\" + c
                else:
                    out += c
        return out + rng.choice(["%", "%", ""])

    def atom(self, depth):
        rng = self.rng
        roll = rng.random()
        piece = self.recased(self.piece(6)) if rng.random() < 0.3 else self.piece(6)
        escaped = "".join("\\" + c if c in SPECIAL and c not in "\n' %_\"" else c for c in piece)
        if roll < 0.55 or depth <= 0:
            return escaped
        if roll < 0.62:
            return rng.choice([".", r"\d", r"\w", r"\s", r"\D", "[[:alpha:]]", "[^a]", "[a-c]", "[0-9]", "[[:upper:]]"])
        if roll < 0.68:
            members = "".join(c for c in piece if c not in "[]^-\\") or "a"
            return "[" + rng.choice(["", "", "^"]) + members + "]"
        if roll < 0.72:
            return rng.choice(["^", "$", r"\m", r"\M", r"\y", r"\Y", r"\A", r"\Z"])
        if roll < 0.78:
            return rng.choice(["(?=", "(?!", "(?<=", "(?<!"]) + self.sequence(depth - 1) + ")"
        if roll < 0.82:
            return rng.choice([r"\1", r"\2"])
        return rng.choice(["(", "(?:"]) + "|".join(self.sequence(depth - 1) for _ in range(rng.choice([1, 2, 2, 3]))) + ")"

    def sequence(self, depth):
        out = ""
        for _ in range(self.rng.randrange(1, 4)):
            atom = self.atom(depth)
            if atom and self.rng.random() < 0.25:
                atom = (atom if atom.endswith((")", "]")) else "(?:" + atom + ")") + self.rng.choice(["*", "+", "?", "{2}", "{1,3}", "{0,2}", "*?", "+?", "??"])
            out += atom
        return out

    def regex(self):
        return self.rng.choice(["", "", "", "", "(?i)", "(?n)", "(?s)", "(?c)"]) + self.sequence(2)

    def condition(self):
        rng = self.rng
        column = rng.choice(self.columns)
        operator = rng.choice(["LIKE", "LIKE", "ILIKE", "ILIKE", "~", "~", "~*", "~*", "="])
        if operator in ("ILIKE", "~*") and rng.random() < 0.5:
            needle = self.needle()
            escaped = "".join("\\" + c if c in SPECIAL and c not in "\n \"'" else c for c in needle)
            return f"{column} {operator} {quote('%' + escaped + '%' if operator == 'ILIKE' else escaped)}"
        if operator.endswith("LIKE"):
            return f"{column} {operator} {quote(self.like())}"
        if operator == "=":
            return f"{column} = {quote(rng.choice(self.rows))}"
        return f"{column} {operator} {quote(self.regex())}"

    def literal(self, value):
        return ", ".join([quote(value)] * len(self.columns))


# --------------------------------------------------------------------------
# Arrays, documents and words
# --------------------------------------------------------------------------

class Arrays:
    columns = {"i": "int[]", "t": "text[]", "n": "numeric[]", "e": "mood[]", "f": "float4[]"}

    def __init__(self, rng):
        self.rng = rng
        self.rows = [self.value() for _ in range(300)]

    def value(self):
        rng = self.rng
        return [rng.choice(["NULL", None, None, None]) or str(rng.choice([rng.randrange(6), rng.randrange(3000)])) for _ in range(rng.choice([0, 1, 2, 3, 8]))]

    def text(self, column, value):
        value = [v if v == "NULL" else {"e": ["sad", "ok", "happy"][int(v) % 3], "n": v + ".50", "t": '"w ' + v + '"'}.get(column, v) for v in value]
        if len(value) % 2 == 0 and value and self.rng.random() < 0.2:
            half = len(value) // 2
            return "{{" + ",".join(value[:half]) + "},{" + ",".join(value[half:]) + "}}"
        return "{" + ",".join(value) + "}"

    def literal(self, value):
        return ", ".join(quote(self.text(c, value)) for c in self.columns)

    def condition(self):
        rng = self.rng
        column = rng.choice(list(self.columns))
        value = list(rng.choice(self.rows))
        rng.shuffle(value)
        if rng.random() < 0.1:
            value += rng.choice(self.rows)
        elif rng.random() < 0.7:
            value = value[:rng.randrange(len(value) + 1)]
        if rng.random() < 0.3:
            value.append(rng.choice(["NULL", "99999", "3"]))
        return f"{column} {rng.choice(['@>', '@>', '&&', '=', '<@', '<@'])} {quote(self.text(column, value))}"


class Documents:
    columns = {"v": "jsonb"}

    def __init__(self, rng):
        self.rng = rng
        self.rows = [self.value(3) for _ in range(300)]

    def scalar(self):
        rng = self.rng
        return rng.choice(["null", "true", "false", '""', '"a"', '"b"', "0", "1", "1.0", "1.00", "-0.0", "1e2", "100", f'"{rng.randrange(500)}"', str(rng.randrange(500)), f"{rng.randrange(50)}.50"])

    def value(self, depth):
        """A document as nested Python values, whose scalars are their texts."""
        rng = self.rng
        roll = rng.random()
        if depth == 0 or roll < 0.25:
            return self.scalar()
        if roll < 0.6:
            return {rng.choice(["a", "b", "c", "", "id", f"k{rng.randrange(40)}"]): self.value(depth - 1) for _ in range(rng.randrange(4))}
        return [self.value(depth - 1) for _ in range(rng.randrange(4))]

    def text(self, value):
        if isinstance(value, dict):
            return "{" + ", ".join(f'"{k}": {self.text(v)}' for k, v in value.items()) + "}"
        return "[" + ", ".join(map(self.text, value)) + "]" if isinstance(value, list) else value

    def part(self, value):
        """Less of a document, mostly contained in it."""
        rng = self.rng
        if isinstance(value, dict):
            return {k: self.part(v) for k, v in value.items() if rng.random() < 0.7}
        if isinstance(value, list):
            kept = [self.part(v) for v in value if rng.random() < 0.7]
            rng.shuffle(kept)
            return kept[0] if len(kept) == 1 and rng.random() < 0.2 else kept
        return self.scalar() if rng.random() < 0.05 else {"1": "1.000", "100": "1e2"}.get(value, value)

    def literal(self, value):
        return quote(self.text(value))

    def path(self, at, value, depth):
        """A jsonpath from a value downwards, mostly one that the value has; and what is there."""
        rng = self.rng
        while rng.random() < 0.75:
            if isinstance(value, dict) and value:
                key = rng.choice(list(value))
                at, value = f'{at}."{key}"', value[key]
            elif isinstance(value, list) and value:
                at, value = at + rng.choice(["", "[*]", "[*]", "[0]", "[last]", "[0 to 2]", "[$.size() - 1]"]), rng.choice(value)
            else:
                break
            if depth > 0 and rng.random() < 0.15:
                at += f" ? ({self.predicate('@', value, depth - 1)})"
            if rng.random() < 0.07:
                at += rng.choice([".*", ".**", ".**{1 to 2}", ".size()", ".type()", ".double()", "[*]", ".nobody", ".keyvalue().value", " ? (@ > 1)"])
        return at, value

    def predicate(self, at, value, depth):
        rng = self.rng
        roll = rng.random()
        if depth > 0 and roll < 0.3:
            return f"({self.predicate(at, value, depth - 1)} {rng.choice(['&&', '||'])} {self.predicate(at, value, depth - 1)})"
        if depth > 0 and roll < 0.4:
            return rng.choice(["!({})", "!(!({}))", "(({}) is unknown)", "(({}) ? (@ == false)) == false", "({}).type() == \"boolean\""]).format(self.predicate(at, value, depth - 1))
        if roll < 0.5:
            return f"exists({self.path(at, value, depth)[0]})"
        path, there = self.path(*rng.choice([(at, value), (at, value), ("$", self.row)]), depth)
        if roll < 0.56:
            return path + rng.choice([' starts with "a"', ' like_regex "^[ab]"', ' like_regex "A" flag "i"'])
        scalar = there if isinstance(there, str) and rng.random() < 0.8 else self.scalar()
        scalar = rng.choice([scalar] * 12 + ["$x", "1 + 0", '"a".size()', '"100".double()', "(1).type()", self.path("$", self.row, 0)[0]])
        sides = [path, scalar] if rng.random() < 0.7 else [scalar, path]
        return rng.choice(["==", "==", "==", "==", "!=", "<", ">="]).join(sides)

    def jsonpath(self, match):
        rng = self.rng
        self.row = rng.choice(self.rows)
        mode = rng.choice(["", "", "lax ", "strict "])
        if match and rng.random() < 0.85:
            return mode + rng.choice(["{}"] * 9 + ["({}).size()", "({}) ? (@ == true)", "({}) ? (@ == false)"]).format(self.predicate("$", self.row, 3))
        return mode + self.path("$", self.row, 3)[0] + (f" ? ({self.predicate('@', self.row, 2)})" if rng.random() < 0.5 else "")

    def condition(self):
        rng = self.rng
        operator = rng.choice(["@>", "@>", "@>", "?", "?|", "?&", "=", "@?", "@?", "@@", "@@"])
        row = rng.choice(self.rows)
        if operator in ("@?", "@@"):
            return f"v {operator} {quote(self.jsonpath(operator == '@@'))}"
        if operator in "@>=":
            return f"v {operator} {quote(self.text(row if operator == '=' else self.part(row)))}"
        names = (list(row) if isinstance(row, (dict, list)) else [row]) + ["a", "b", "x", "1"]
        names = [n.strip('"') for n in names if isinstance(n, str)]
        if operator == "?":
            return f"v ? {quote(rng.choice(names))}"
        elements = [quote(n) for n in rng.sample(names, rng.randrange(min(4, len(names) + 1)))] + (["NULL"] if rng.random() < 0.1 else [])
        return f"v {operator} ARRAY[{', '.join(elements)}]::text[]"


class Words:
    columns = {"v": "tsvector"}

    def __init__(self, rng):
        self.rng = rng
        self.rows = [self.value() for _ in range(300)]

    def word(self):
        return self.rng.choice(["a", "b", "c", f"w{self.rng.randrange(300)}", f"w{self.rng.randrange(20)}"])

    def value(self):
        rng = self.rng
        return " ".join(self.word() + rng.choice(["", f":{rng.randrange(1, 9)}", f":{rng.randrange(1, 9)}{rng.choice('ABCD')}"]) for _ in range(rng.randrange(8)))

    def query(self, depth):
        rng = self.rng
        if depth == 0 or rng.random() < 0.25:
            return self.word() + rng.choice(["", "", "", ":*", ":A", ":BC"])
        if rng.random() < 0.2:
            return "!" + "(" + self.query(depth - 1) + ")"
        return "(" + self.query(depth - 1) + rng.choice([" & ", " | ", " <-> ", " <2> "]) + self.query(depth - 1) + ")"

    def literal(self, value):
        return quote(value)

    def condition(self):
        if self.rng.random() < 0.1:
            return f"v = {quote(self.rng.choice(self.rows))}"
        return f"v @@ {quote(self.query(3))}::tsquery"


# --------------------------------------------------------------------------
# The test
# --------------------------------------------------------------------------

passed = failed = 0


def psql(database, sql):
    """Rows of fields."""
    done = server.psql("\\pset fieldsep '\t'\n" + sql, database, "-c client_min_messages=error -c bloomx.overfill=off", stop=True)
    return [line.split("\t") for line in done.stdout.split("\n")[:-1]]


COLLATIONS = ["C", "ucs_basic", "und-x-icu", "en-x-icu", "de-x-icu", "tr-x-icu", "az-x-icu", "lt-x-icu", "el-x-icu", "nl-x-icu", "C.utf8", "en_US.utf8", "tr_TR.utf8", "pg_c_utf8", "pg_unicode_fast"]


# Texts of other types, whose classes of n-grams only the access method bloomx has.
OTHER_TEXTS = {"char(250)": "bpchar_ngram_ops", "name": "name_ngram_ops", "citext": "citext_ngram_ops"}


def access_methods(database, name, columns):
    """Those with a class for the type."""
    if name in OTHER_TEXTS:
        return {"bloomx": f"USING bloomx ({', '.join(f'{c} {OTHER_TEXTS[t.split()[0]]}' for c, t in columns.items())})"}
    classes = {"brin": {"text": "text_ngram_bloomx_ops (fpr = 0.05)", "jsonb": "jsonb_bloomx_ops", "tsvector": "tsvector_bloomx_ops"}, "bloomx": {"text": "text_ngram_ops"}}
    methods = {}
    for method, of_type in classes.items():
        opclass = of_type.get(name, "array_bloomx_ops" if method == "brin" else "") if not name.endswith("[]") else ("array_bloomx_ops" if method == "brin" else "")
        options = "WITH (pages_per_range = 1)" if method == "brin" else ""
        index = f"USING {method} ({', '.join(f'{c} {opclass}' for c in columns)}) {options}"
        # an access method that has no class for the type yet says so
        if psql(database, f"""DO $$ BEGIN CREATE TEMP TABLE t AS SELECT * FROM template_of_rows; CREATE INDEX ON t {index}; DROP TABLE t;
                              EXCEPTION WHEN OTHERS THEN IF SQLERRM !~ 'access method "?bloomx' THEN RAISE; END IF; CREATE TABLE refused_{method} (); END $$; SELECT to_regclass('refused_{method}') IS NULL; DROP TABLE IF EXISTS refused_{method}""")[0][0] == "t":
            methods[method] = index
        else:
            print(f"# {method} refuses {name}")
    return methods


def run(database, what, kind, columns, type_name, rng, deadline, queries):
    global passed, failed
    psql(database, "DROP TABLE IF EXISTS template_of_rows; CREATE TABLE template_of_rows (id int, " + ", ".join(f"{c} {t}" for c, t in columns.items()) + ", room text)")
    methods = access_methods(database, type_name, columns)
    # few rows per page, so that a page without a row that should be found is seldom read for another one's sake
    filler = "repeat('-', 1500)"
    for method, index in methods.items():
        psql(database, f"DROP TABLE IF EXISTS t_{method}; CREATE TABLE t_{method} (LIKE template_of_rows); ALTER TABLE t_{method} ALTER room SET STORAGE PLAIN; INSERT INTO t_{method} VALUES " +
             ", ".join(f"({i}, {kind.literal(v)}, {filler})" for i, v in enumerate(kind.rows)) + f"; INSERT INTO t_{method} (id) VALUES (-1); CREATE INDEX ON t_{method} {index}; ANALYZE t_{method}")
    asked = 0
    read = {m: [0, 0] for m in methods}
    wrong = 0
    while asked < queries and time.monotonic() < deadline:
        conditions = []
        for _ in range(BATCH):
            condition = kind.condition()
            if rng.random() < 0.1:
                condition = f"({condition}) {rng.choice(['AND', 'OR'])} ({kind.condition()})"
            conditions.append(condition)
        for method in methods:
            sql = "SET statement_timeout = '600s';\n" + "\n".join(f"SELECT {n}, * FROM compare('t_{method}', {quote(c)}, {quote(oracles.makes_whole(f't_{method}', c)) if n % 20 == 0 else quote('true')});" for n, c in enumerate(conditions))
            for n, problem, pages_read, pages in psql(database, sql.replace("\0", "")):
                if pages_read:
                    read[method][0] += int(pages_read)
                    read[method][1] += int(pages)
                if problem:
                    wrong += 1
                    if wrong <= 10:
                        print(f"WRONG {what}, {method}: {conditions[int(n)]!r}\n    {problem}", flush=True)
        asked += len(conditions)
        # other rows: into summarised ranges, changed, deleted; sometimes vacuumed
        changes = ""
        for _ in range(rng.randrange(30)):
            i = rng.randrange(2 * len(kind.rows))
            value = kind.value(3) if isinstance(kind, Documents) else kind.value()
            roll = rng.random()
            if roll < 0.5:
                kind.rows.append(value)
                changes += f"INSERT INTO @t VALUES ({len(kind.rows)}, {kind.literal(value)}, {filler});\n"
            elif roll < 0.8:
                changes += f"DELETE FROM @t WHERE id = {i}; INSERT INTO @t VALUES ({i}, {kind.literal(value)}, {filler});\n"
            else:
                changes += f"DELETE FROM @t WHERE id = {i};\n"
        for method in methods:
            psql(database, changes.replace("@t", f"t_{method}") + (f"VACUUM t_{method};" if rng.random() < 0.5 else ""))
    for method, (pages_read, pages) in read.items():
        idle = pages_read >= 0.9 * pages
        bad = wrong > 0 or idle
        passed += not bad
        failed += bad
        print(f"{'FAILED' if bad else 'ok'} - {what}, {method}: {asked} conditions, {100 * pages_read // max(pages, 1)} % of the pages read{', which skips nothing' if idle else ''}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--queries", type=int, default=1000000, help="conditions per kind of value")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="regular expression for the kinds of values")
    options = parser.parse_args()
    print(f"# seed {options.seed}")
    start = time.monotonic()

    tasks = [("arrays", "UTF8", lambda rng: Arrays(rng), None), ("documents", "UTF8", lambda rng: Documents(rng), None), ("words", "UTF8", lambda rng: Words(rng), None),
             ("texts", "UTF8", lambda rng: Texts(rng, FAMILIES), None), ("texts of other types", "UTF8", lambda rng: Texts(rng, FAMILIES), None)]
    for encoding, letters in [("LATIN1", ["àÀ", "éÉ", "ßsS", "ÿiI"]), ("SQL_ASCII", ["àÀ", "iI"]), ("EUC_JP", ["日本語", "テア"]), ("LATIN5", ["ıİiI", "ğĞ", "şŞsS"])]:
        tasks.append((f"texts in {encoding}", encoding, lambda rng, letters=letters: Texts(rng, letters), None))
    tasks = [t for t in tasks if re.search(options.only, t[0])]
    for encoding in sorted({t[1] for t in tasks}):
        server.make(f"bloomx_conditions_{encoding.lower()}", SETUP, options=f"ENCODING '{encoding}' LOCALE 'C'")
    for n, (what, encoding, make, _) in enumerate(tasks):
        rng = random.Random(f"{options.seed} {what}")
        kind = make(rng)
        database = f"bloomx_conditions_{encoding.lower()}"
        type_name = "text"
        if isinstance(kind, Texts):
            there = [row[0] for row in psql(database, "SELECT collname FROM pg_collation WHERE collisdeterministic AND collencoding IN (-1, (SELECT encoding FROM pg_database WHERE datname = current_database())) "
                                            "AND (collprovider <> 'i' OR getdatabaseencoding() <> 'SQL_ASCII') "
                                            f"AND collname IN ({', '.join(map(quote, COLLATIONS))}) ORDER BY 1")]
            columns = {f"c{i}": f'text COLLATE "{name}"' for i, name in enumerate(there)}
            print(f"# {what}: collations {', '.join(there)}")
            if what == "texts of other types":
                columns = {f"{t[0]}{i}": f'{t} COLLATE "{name}"' for i, name in enumerate(there) for t in OTHER_TEXTS if t != "name"} | {"name": "name"}
                type_name = "name"
        else:
            columns = kind.columns
            type_name = list(columns.values())[0]
        kind.columns = columns if not isinstance(kind, Texts) else list(columns)
        # texts have many collations: as much time as all others together
        share = (options.seconds - (time.monotonic() - start)) / (len(tasks) - n + (2 if what == "texts" else 0)) * (3 if what == "texts" else 1)
        run(database, what, kind, columns, type_name, rng, time.monotonic() + max(share, 3), options.queries)
    for encoding in sorted({t[1] for t in tasks}):
        server.drop(f"bloomx_conditions_{encoding.lower()}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
