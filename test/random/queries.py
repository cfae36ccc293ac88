"""Conditions on values with many keys, and other ways to the answer of a query, for the tests that make random ones.

A class of values has rows, which are given to it or which it makes, and makes conditions of pieces of them.  Each other way
gives SQL that must agree with the query whatever plan it gets, and that leads to other plans: an index or a filter that drops
a row in one of them does so hardly in the others.

- Ternary logic partitioning (Rigger and Su, OOPSLA 2020): the rows of which p is true, false and NULL are all rows.
- Non-optimizing reference engine construction (the same, ESEC/FSE 2020): as many rows meet p as say so if p is an output.
"""

import decimal
import json

from values import FAMILIES, PLAIN, RARE, SAME_WORDS, SPECIAL, literal

ROWS = 300  # that a class makes


def conjunction(terms):
    return " WHERE " + " AND ".join(f"({t})" for t in terms) if terms else ""


def partitioned(select, source, where, p):
    """SELECT ... FROM source WHERE ... in three parts."""
    return " UNION ALL ".join(f"{select} FROM {source}{conjunction(where + [part])}" for part in (p, f"NOT ({p})", f"({p}) IS NULL"))


def counted(source, where, p):
    """The number of rows, by a condition and by an output."""
    return (f"SELECT count(*) AS n FROM {source}{conjunction(where + [p])}",
            f"SELECT coalesce(sum(({p})::int), 0) AS n FROM {source}{conjunction(where)}")


def makes_whole(table, p):
    """A boolean expression: the parts of the table are the table, and the counts agree."""
    by_condition, by_output = counted(table, [], p)
    parts = partitioned("SELECT id", table, [], p)
    return (f"(SELECT count(*) || ' ' || sum(id) FROM {table}) IS NOT DISTINCT FROM (SELECT count(*) || ' ' || sum(id) FROM ({parts}) parts) "
            f"AND ({by_condition}) = ({by_output})")


# ---- texts ----

def words(rng, alphabet, longest):
    return "".join(rng.choice(alphabet) for _ in range(rng.randrange(longest)))


class Texts:
    """Rows of text, and conditions with patterns taken from them."""

    def __init__(self, rng, families=FAMILIES, rows=None):
        self.rng = rng
        self.families = families
        self.letters = "".join(families) + PLAIN + SPECIAL
        self.same_words = SAME_WORDS if families is FAMILIES else [["istanbul", "ISTANBUL"]]
        self.rows = rows or [self.value() for _ in range(ROWS)]
        self.matching = 0.85 if rows else 0.5  # how often a pattern is made to match

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

    def in_order(self):
        """A row, and some pieces of it with their places."""
        rng = self.rng
        row, pieces, at = rng.choice(self.rows), [], 0
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            if at >= len(row):
                break
            start = rng.randrange(at, len(row) if rng.random() < 0.3 else min(len(row), at + 60))
            end = min(len(row), start + rng.choice([1, 2, 3, 4, 6, 10]))
            pieces.append((start, row[start:end]))
            at = end + 1
        return row, pieces

    def in_encoding(self, text):
        """The capital of a letter may be one that another encoding than UTF8 lacks."""
        return self.families is FAMILIES or text.isascii() or all(c in self.letters for c in text)

    def other_case(self, text):
        return "".join(self.rng.choice([other for other in (c, c.upper(), c.lower()) if self.in_encoding(other)]) for c in text)

    def matching_like(self, fold):
        rng = self.rng
        row, pieces = self.in_order()
        pattern = "" if rng.random() < 0.2 else "%"
        for start, piece in pieces:
            if pattern == "":
                piece = row[:start] + piece if start < 12 else row[:4]
            piece = self.other_case(piece) if fold else piece
            piece = "".join("\\" + c if c in "%_\\" else c for c in piece)
            if rng.random() < 0.4 and len(piece) > 2 and "\\" not in piece:
                at = rng.randrange(len(piece))
                piece = piece[:at] + "_" + piece[at + 1:]
            pattern += piece + "%"
        return pattern[:-1] if rng.random() < 0.1 else pattern

    def like(self, fold):
        rng = self.rng
        if rng.random() < self.matching:
            return self.matching_like(fold)
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

    def matching_regex(self, fold):
        rng = self.rng

        def each(piece):
            piece = self.other_case(piece) if fold else piece
            return ["\\" + c if c in "\\.[]{}()*+?^$|" else "\\n" if c == "\n" else c for c in piece]
        row, pieces = self.in_order()
        parts = []
        for _, piece in pieces:
            out = each(piece)
            if rng.random() < 0.3 and out:
                at = rng.randrange(len(out))
                change = rng.choice(["(?:{}|zzz)", "[{}x]", "{}+", "{}?", ".", "({})", "(zzz|{})", "{}{{1,2}}", "(?:{})*"])
                out[at] = change.format(out[at]) if not (change[0] == "[" and out[at][0] == "\\") and not len(out[at]) > 2 else out[at]
            parts.append("".join(out))
        pattern = rng.choice([".*", ".+", "(.*)", ".{0,40}"]).join(parts)
        shape = rng.random()
        if shape < 0.2:
            return rng.choice(["({0}|{1})", "({0}|{1})", "^{0}", r"{0}(\s|$)"]).format(pattern, "".join(each(row[:6])))
        if shape < 0.23:
            return f"(?!zzz){pattern}"
        if shape < 0.26:
            return "(?i)" + self.other_case(pattern) if "\\" not in pattern else pattern
        return pattern + r"|\d\d\d\d" if shape < 0.3 else pattern

    def regex(self, fold):
        if self.rng.random() < self.matching:
            return self.matching_regex(fold)
        return self.rng.choice(["", "", "", "", "(?i)", "(?n)", "(?s)", "(?c)"]) + self.sequence(2)

    def condition(self):
        rng = self.rng
        column = rng.choice(self.columns)
        operator = rng.choice(["LIKE", "LIKE", "ILIKE", "ILIKE", "~", "~", "~*", "~*", "="])
        if operator in ("ILIKE", "~*") and rng.random() < 0.5:
            needle = self.needle()
            escaped = "".join("\\" + c if c in SPECIAL and c not in "\n \"'" else c for c in needle)
            return f"{column} {operator} {literal('%' + escaped + '%' if operator == 'ILIKE' else escaped)}"
        if operator.endswith("LIKE"):
            return f"{column} {operator} {literal(self.like(operator == 'ILIKE'))}"
        if operator == "=":
            return f"{column} = {literal(rng.choice(self.rows))}"
        return f"{column} {operator} {literal(self.regex(operator == '~*'))}"

    def literal(self, value):
        return ", ".join([literal(value)] * len(self.columns))


# ---- arrays, documents and words ----

class Arrays:
    columns = {"i": "int[]", "t": "text[]", "n": "numeric[]", "e": "mood[]", "f": "float4[]"}

    def __init__(self, rng):
        self.rng = rng
        self.rows = [self.value() for _ in range(ROWS)]

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
        return ", ".join(literal(self.text(c, value)) for c in self.columns)

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
        return f"{column} {rng.choice(['@>', '@>', '&&', '=', '<@', '<@'])} {literal(self.text(column, value))}"


def document(text):
    """A JSON text as nested Python values, whose scalars are their texts."""
    def texts(value):
        if isinstance(value, dict):
            return {json.dumps(k, ensure_ascii=False)[1:-1]: texts(v) for k, v in value.items()}
        if isinstance(value, list):
            return list(map(texts, value))
        return str(value) if isinstance(value, decimal.Decimal) else json.dumps(value, ensure_ascii=len(str(value)) % 2 == 0)
    return texts(json.loads(text, parse_int=decimal.Decimal, parse_float=decimal.Decimal))


class Documents:
    """Rows are as document() returns them."""
    columns = {"v": "jsonb"}

    def __init__(self, rng, rows=None):
        self.rng = rng
        self.rows = rows or [self.value() for _ in range(ROWS)]

    def scalar(self):
        rng = self.rng
        return rng.choice(["null", "true", "false", '""', '"a"', '"b"', "0", "1", "1.0", "1.00", "-0.0", "1e2", "100", f'"{rng.randrange(500)}"', str(rng.randrange(500)), f"{rng.randrange(50)}.50"])

    def value(self, depth=3):
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

    def some(self, items):
        """Most of them or few, in any order."""
        rng = self.rng
        return rng.sample(items, min(len(items), sum(rng.random() < 0.7 for _ in items) if rng.random() < 0.5 else rng.choice([0, 1, 1, 1, 2, 3])))

    def part(self, value):
        """Less of a document, mostly contained in it."""
        rng = self.rng
        if isinstance(value, dict):
            return {k: self.part(value[k]) for k in self.some(list(value))}
        if isinstance(value, list):
            kept = list(map(self.part, self.some(value)))
            return kept[0] if len(kept) == 1 and rng.random() < 0.2 else kept
        if value[0] in "-0123456789" and "e" not in value and rng.random() < 0.3:
            return value + ("0" if "." in value else ".0")
        return self.scalar() if rng.random() < 0.05 else {"100": "1e2"}.get(value, value)

    def literal(self, value):
        return literal(self.text(value))

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

    def condition(self, column="v", operator=None):
        rng = self.rng
        operator = operator or rng.choice(["@>", "@>", "@>", "?", "?|", "?&", "=", "@?", "@?", "@@", "@@"])
        row = rng.choice(self.rows)
        if operator in ("@?", "@@"):
            return f"{column} {operator} {literal(self.jsonpath(operator == '@@'))}"
        if operator in ("@>", "="):
            return f"{column} {operator} {literal(self.text(row if operator == '=' else self.part(row)))}"
        names = (list(row) if isinstance(row, (dict, list)) else [row]) + ["a", "b", "x", "1"]
        names = [n.strip('"') for n in names if isinstance(n, str)]
        if operator == "?":
            return f"{column} ? {literal(rng.choice(names))}"
        elements = [literal(n) for n in rng.sample(names, rng.randrange(min(4, len(names) + 1)))] + (["NULL"] if rng.random() < 0.1 else [])
        return f"{column} {operator} ARRAY[{', '.join(elements)}]::text[]"


class Words:
    columns = {"v": "tsvector"}

    def __init__(self, rng, words=None):
        """`words` are those of one row."""
        self.rng = rng
        self.words = words
        self.rows = None if words else [self.value() for _ in range(ROWS)]

    def word(self):
        if self.words and self.rng.random() < 0.9:
            return self.rng.choice(self.words)
        return self.rng.choice(["a", "b", "c", f"w{self.rng.randrange(ROWS)}", f"w{self.rng.randrange(20)}"])

    def value(self):
        rng = self.rng
        return " ".join(self.word() + rng.choice(["", f":{rng.randrange(1, 9)}", f":{rng.randrange(1, 9)}{rng.choice('ABCD')}"]) for _ in range(rng.randrange(8)))

    def query(self, depth):
        rng = self.rng
        if depth == 0 or rng.random() < 0.25:
            word = self.word()
            word = word[:-1] if len(word) > 1 and rng.random() < 0.1 else word
            return literal(word.replace("\\", "\\\\")) + rng.choice(["", "", "", ":*"] + ([":A", ":BC"] if not self.words or rng.random() < 0.2 else []))
        if rng.random() < 0.2:
            return "!" + "(" + self.query(depth - 1) + ")"
        return "(" + self.query(depth - 1) + rng.choice([" & ", " | ", " <-> ", " <2> "]) + self.query(depth - 1) + ")"

    def literal(self, value):
        return literal(value)

    def asked(self, depth):
        if self.words and self.rng.random() < 0.15:
            return literal(" & ".join(literal(word.replace("\\", "\\\\")) for word in self.words)) + "::tsquery"
        return literal(self.query(depth)) + "::tsquery"

    def condition(self):
        if self.rng.random() < 0.1:
            return f"v = {literal(self.rng.choice(self.rows))}"
        return f"v @@ {self.asked(3)}"
