"""Values of every type that can be a key, for the tests that make random rows."""


def literal(text):
    return "'" + text.replace("'", "''") + "'"


# ---- values at the ends of their types ----

# Unknown literals: {type: [value]}.
EDGES = {
    "smallint": ["0", "(-32768)", "32767"], "integer": ["0", "(-2147483648)", "2147483647"], "bigint": ["0", "(-9223372036854775807 - 1)", "9223372036854775807"], "real": ["0", "'-0'", "'NaN'", "'Infinity'"],
    "double precision": ["0", "'-0'", "'NaN'", "'-Infinity'"], "numeric": ["0", "1.50", "'NaN'", "'Infinity'", "1e300"], "text": ["''", "'x'", "repeat('x', 5000)"], "character": ["''", "'x '"],
    "name": ["''", "'x'"], "bytea": ["''", "'\\x00'"], "uuid": ["'00000000-0000-0000-0000-000000000000'"], "boolean": ["true", "false"], "date": ["'infinity'", "'2000-01-01'", "'4713-01-01 BC'"],
    "time without time zone": ["'24:00'", "'00:00'"], "time with time zone": ["'24:00+15:59'", "'00:00Z'"], "timestamp without time zone": ["'-infinity'", "'2000-01-01'"],
    "timestamp with time zone": ["'infinity'", "'2000-01-01'"], "interval": ["'1 mon'", "'30 days'", "'-178000000 years'"], "inet": ["'::1'", "'10.0.0.0/8'"], "macaddr": ["'00:00:00:00:00:01'"],
    "macaddr8": ["'00:00:00:00:00:00:00:01'"], "oid": ["0", "4294967295"], "money": ["1", "'-92233720368547758.08'"], '"char"': ["''", "'x'", "'\\377'"], "pg_lsn": ["'0/0'", "'FFFFFFFF/FFFFFFFF'"], "tid": ["'(0,0)'", "'(4294967295,65535)'"], "anyenum": ["'red'", "'blue'"],
    "anyarray": ["'{}'", "'{NULL,0}'", "'{{1,2},{3,4}}'", "'[5:6]={7,8}'"], "jsonb": ["'{}'", "'[1, [2, null], \"x\"]'", "'{\"a\": {\"b\": [1.50]}}'", "'\"x\"'"], "tsvector": ["''", "'a:1A b'", "'x'"],
}

# ---- values of a number ----

FUNCTIONS = """
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'odd', 'even', 'blue', 'calm');
CREATE TYPE pair AS (a int8, b text, c mood);
-- A number below `domain`, of a row and a column.
CREATE FUNCTION k(g bigint, c int, domain bigint) RETURNS bigint IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql AS
	'SELECT (hashint8extended(g, c) & 4611686018427387903) % domain';
-- How many keys a row's array or document has: few, but now and then many.
CREATE FUNCTION size(g bigint, c int, many int) RETURNS int IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql AS
	'SELECT CASE WHEN k(g, c + 1000, 90) = 0 THEN many ELSE k(g, c + 2000, 11) END::int';
CREATE FUNCTION word(k bigint) RETURNS text IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql AS $$
	SELECT CASE k % 16 WHEN 0 THEN 'Connection' WHEN 1 THEN 'timeout=' || k WHEN 2 THEN 'ERROR:' WHEN 3 THEN 'Straße' || k % 30 WHEN 4 THEN 'ÎLE naïve ΟΔΟΣ ẞ' || chr(8491) || 'Ǆungla Ⅷ'
		WHEN 5 THEN 'Жук' || chr(1040 + (k % 60)::int) WHEN 6 THEN '100%' WHEN 7 THEN 'a_b\\c' WHEN 8 THEN 'Iıİi' || k % 5 WHEN 9 THEN '日本語' || chr((20000 + k % 900)::int)
		WHEN 10 THEN '(x*y)[' || k % 9 || ']' WHEN 11 THEN 'ſpecial K' || chr(8490) WHEN 12 THEN E'tab\\tline\\n' || k % 4 ELSE substr(md5(k::text), 1, 6) END $$;
"""

# name: type, value of a number {k}, other forms of equal values
SCALARS = {
    "i2": ("int2", "({k} % 30000)::int2", "({k} % 30000)::int4"),
    "i4": ("int4", "({k} % 2000000000)::int4", "({k} % 2000000000)::int8"),
    "i8": ("int8", "{k}::int8"),
    "f4": ("float4", "(({k} % 100000) / 2.0)::float4"),
    "f8": ("float8", "({k} / 3.0)::float8"),
    "n": ("numeric", "({k} * 1.50)", "({k} * 1.5000)"),
    "t": ("text", "'key ' || {k}"),
    "te": ("text COLLATE \"en-x-icu\"", "word({k})"),
    "v": ("varchar(40)", "('key ' || {k})::varchar(40)"),
    "bp": ("char(20)", "('k ' || {k})::char(20)", "rpad('k ' || {k}, 30)::bpchar"),
    "nm": ("name", "('key ' || {k})::name", "('key ' || {k})::text"),
    "by": ("bytea", "decode(md5({k}::text), 'hex')"),
    "u": ("uuid", "md5({k}::text)::uuid"),
    "bo": ("bool", "({k} % 2 = 0)"),
    "d": ("date", "(DATE '1990-01-01' + ({k} % 20000)::int)"),
    "tm": ("time", "(TIME '00:00' + {k} % 86400 * INTERVAL '1 second')"),
    "tz": ("timetz", "(TIME '00:00' + {k} % 86400 * INTERVAL '1 second')::text::timetz"),
    "ts": ("timestamp", "(TIMESTAMP '1990-01-01' + {k} % 1000000000 * INTERVAL '1 second')"),
    "tstz": ("timestamptz", "(TIMESTAMPTZ '1990-01-01 UTC' + {k} % 1000000000 * INTERVAL '1 second')"),
    "iv": ("interval", "CASE WHEN {k} % 2 = 0 THEN make_interval(months => ({k} % 10000)::int) ELSE make_interval(days => ({k} % 10000)::int * 30) END",
           "make_interval(days => ({k} % 10000)::int * 30)"),
    "ip": ("inet", "('10.' || {k} / 65536 % 256 || '.' || {k} / 256 % 256 || '.' || {k} % 256)::inet"),
    "ci": ("cidr", "('10.' || {k} / 256 % 256 || '.' || {k} % 256 || '.0/24')::cidr"),
    "ma": ("macaddr", "('08002b' || lpad(to_hex({k} % 16777216), 6, '0'))::macaddr"),
    "m8": ("macaddr8", "('08002b0102' || lpad(to_hex({k} % 16777216), 6, '0'))::macaddr8"),
    "o": ("oid", "({k} % 4000000000)::oid"),
    "mo": ("money", "(({k} % 100000000) / 100.0)::numeric::money"),
    "ch": ("\"char\"", "chr((33 + {k} % 90)::int)::\"char\""),
    "xi": ("xid", "({k} % 4000000000)::text::xid"),
    "cd": ("cid", "({k} % 4000000000)::text::cid"),
    "x8": ("xid8", "{k}::text::xid8"),
    "ls": ("pg_lsn", "('0/' || to_hex({k} % 4000000000))::pg_lsn"),
    "td": ("tid", "('(' || {k} % 100000 || ',1)')::tid"),
    "e": ("mood", "(enum_range(NULL::mood))[1 + {k} % 7]"),
    "ir": ("int4range", "int4range(({k} % 1000000)::int, ({k} % 1000000)::int + 5)", "int4range(({k} % 1000000)::int, ({k} % 1000000)::int + 4, '[]')"),
    "cm": ("pair", "ROW({k}::int8, 'key ' || {k}, (enum_range(NULL::mood))[1 + {k} % 8])::pair"),
    "cs": ("citext", "('Key ' || {k})::citext", "('kEY ' || {k})::citext"),
    "mr": ("int4multirange", "int4multirange(int4range(({k} % 1000000)::int, ({k} % 1000000)::int + 5), int4range(2000000, NULL))"),
}

# name: type, the scalar that is an element
ARRAYS = {"i4s": ("int4[]", "i4"), "i8s": ("int8[]", "i8"), "tas": ("text[]", "te"), "ns": ("numeric[]", "n"), "us": ("uuid[]", "u"), "es": ("mood[]", "e"),
          "ds": ("date[]", "d"), "bps": ("char(20)[]", "bp")}
# name: the key of a number {k}, its type
FILTERS = {"f": ("{k}", "bigint"), "fs": ("('w' || {k})", "text")}
TEXTS = {"tx": "text", "tc": 'text COLLATE "C.utf8"', "ti": 'text COLLATE "und-x-icu"', "tt": 'text COLLATE "tr-x-icu"', "vx": "varchar"}
PADDED = {"bx": "char(90)", "nx": "name", "cx": "citext"}


# The name that the server gives to the type of a column.  (Version 15 prints a byte of "char" that is no letter.)
NAMES = {"int2": "smallint", "int4": "integer", "int8": "bigint", "float4": "real", "float8": "double precision", "bool": "boolean", "time": "time without time zone",
         "timetz": "time with time zone", "timestamp": "timestamp without time zone", "timestamptz": "timestamp with time zone", "char(20)": "character", '"char"': None}


def scalar(column, k, other=False):
    """The value that a column has of a number, now and then one at the end of its type; or another form of it."""
    kind, *forms = SCALARS[column]
    form = forms[-1 if other else 0].format(k=k)
    edges = EDGES.get(NAMES.get(kind, kind), [])
    return f"(CASE WHEN {k} % 20 = 0 THEN (ARRAY[{', '.join(edges)}]::{kind}[])[1 + {k} / 20 % {len(edges)}] ELSE {form} END)" if edges else f"({form})"


# ---- letters ----

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
