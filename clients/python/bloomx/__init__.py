"""Bloom filters in the interchange format of bloomx, version 1 (docs/internals/FORMAT.md).

A stand-alone reader and writer in plain Python 3.9 or later: it needs neither
PostgreSQL nor any package beyond the standard library.  It is written from the
specification, not from the C code, so that the two can check each other.  It
is meant to be read rather than to be fast: adding a million keys takes seconds.

    import bloomx
    f = bloomx.BloomFilter.empty(*bloomx.geometry_for_bits("partitioned_blocked", 8192, 7))
    f.add(bloomx.integer(42))
    f.contains(bloomx.integer(42))      # True
    f.to_text()                         # paste into SQL:  '...'::bloomfilter

It does not plan a geometry from a capacity and a rate (use bloom_plan in SQL),
fold, or expand.  Nor does it compute the keys of types of extensions, whose
canonical bytes come from PostgreSQL (pass them to bloomx.named).
"""

import argparse
import base64
import binascii
import datetime
import decimal
import ipaddress
import math
import struct
import sys
import uuid as uuid_module
from typing import NamedTuple

MASK32 = 0xFFFFFFFF
MASK64 = 0xFFFFFFFFFFFFFFFF


# --------------------------------------------------------------------------
# XXH3_64bits_withSeed, after the xxHash specification.  Names are its names.
# --------------------------------------------------------------------------

PRIME32_1 = 0x9E3779B1
PRIME32_2 = 0x85EBCA77
PRIME32_3 = 0xC2B2AE3D
PRIME64_1 = 0x9E3779B185EBCA87
PRIME64_2 = 0xC2B2AE3D27D4EB4F
PRIME64_3 = 0x165667B19E3779F9
PRIME64_4 = 0x85EBCA77C2B2AE63
PRIME64_5 = 0x27D4EB2F165667C5
PRIME_MX1 = 0x165667919E3779F9
PRIME_MX2 = 0x9FB21C651E98DF25

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)


def _read32(data, at):
    return int.from_bytes(data[at:at + 4], "little")


def _read64(data, at):
    return int.from_bytes(data[at:at + 8], "little")


def _rotate_left(x, n):
    return ((x << n) | (x >> (64 - n))) & MASK64


def _swap32(x):
    return int.from_bytes(x.to_bytes(4, "little"), "big")


def _swap64(x):
    return int.from_bytes(x.to_bytes(8, "little"), "big")


def _fold128(a, b):
    """The exclusive or of the two halves of the 128-bit product."""
    product = a * b
    return (product & MASK64) ^ (product >> 64)


def _avalanche(h):
    h ^= h >> 37
    h = h * PRIME_MX1 & MASK64
    return h ^ (h >> 32)


def _avalanche_xxh64(h):
    h ^= h >> 33
    h = h * PRIME64_2 & MASK64
    h ^= h >> 29
    h = h * PRIME64_3 & MASK64
    return h ^ (h >> 32)


def _mix16(data, at, secret_at, seed):
    """Mixes 16 bytes of data with 16 bytes of the secret."""
    return _fold128(
        _read64(data, at) ^ ((_read64(SECRET, secret_at) + seed) & MASK64),
        _read64(data, at + 8) ^ ((_read64(SECRET, secret_at + 8) - seed) & MASK64),
    )


def _xxh3_0_to_16(data, seed):
    n = len(data)
    if n == 0:
        return _avalanche_xxh64(seed ^ _read64(SECRET, 56) ^ _read64(SECRET, 64))
    if n <= 3:
        combined = data[0] << 16 | data[n >> 1] << 24 | data[n - 1] | n << 8
        flip = ((_read32(SECRET, 0) ^ _read32(SECRET, 4)) + seed) & MASK64
        return _avalanche_xxh64(combined ^ flip)
    if n <= 8:
        seed ^= _swap32(seed & MASK32) << 32
        flip = ((_read64(SECRET, 8) ^ _read64(SECRET, 16)) - seed) & MASK64
        h = (_read32(data, n - 4) | _read32(data, 0) << 32) ^ flip
        h ^= _rotate_left(h, 49) ^ _rotate_left(h, 24)
        h = h * PRIME_MX2 & MASK64
        h ^= (h >> 35) + n
        h = h * PRIME_MX2 & MASK64
        return h ^ (h >> 28)
    flip1 = ((_read64(SECRET, 24) ^ _read64(SECRET, 32)) + seed) & MASK64
    flip2 = ((_read64(SECRET, 40) ^ _read64(SECRET, 48)) - seed) & MASK64
    low = _read64(data, 0) ^ flip1
    high = _read64(data, n - 8) ^ flip2
    return _avalanche((n + _swap64(low) + high + _fold128(low, high)) & MASK64)


def _xxh3_17_to_128(data, seed):
    n = len(data)
    total = n * PRIME64_1
    for i in range((n - 1) // 32 + 1):      # pairs of chunks, from both ends inwards
        total += _mix16(data, 16 * i, 32 * i, seed)
        total += _mix16(data, n - 16 * (i + 1), 32 * i + 16, seed)
    return _avalanche(total & MASK64)


def _xxh3_129_to_240(data, seed):
    n = len(data)
    total = n * PRIME64_1
    for i in range(8):
        total += _mix16(data, 16 * i, 16 * i, seed)
    total = _avalanche(total & MASK64)
    for i in range(8, n // 16):
        total += _mix16(data, 16 * i, 16 * (i - 8) + 3, seed)
    total += _mix16(data, n - 16, 136 - 17, seed)
    return _avalanche(total & MASK64)


def _xxh3_long(data, seed):
    n = len(data)
    secret = b"".join(
        struct.pack("<QQ", (_read64(SECRET, at) + seed) & MASK64, (_read64(SECRET, at + 8) - seed) & MASK64)
        for at in range(0, len(SECRET), 16)
    )
    lanes = [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1]

    def accumulate(at, secret_at):
        for i in range(8):
            value = _read64(data, at + 8 * i)
            key = value ^ _read64(secret, secret_at + 8 * i)
            lanes[i ^ 1] = (lanes[i ^ 1] + value) & MASK64
            lanes[i] = (lanes[i] + (key & MASK32) * (key >> 32)) & MASK64

    def scramble():
        for i in range(8):
            lane = lanes[i]
            lane ^= lane >> 47
            lane ^= _read64(secret, len(secret) - 64 + 8 * i)
            lanes[i] = lane * PRIME32_1 & MASK64

    stripes = (n - 1) // 64                 # all but the last, which may overlap
    for stripe in range(stripes):
        accumulate(64 * stripe, 8 * (stripe % 16))
        if stripe % 16 == 15:
            scramble()
    accumulate(n - 64, len(secret) - 64 - 7)

    total = n * PRIME64_1
    for i in range(4):
        total += _fold128(
            lanes[2 * i] ^ _read64(secret, 11 + 16 * i),
            lanes[2 * i + 1] ^ _read64(secret, 19 + 16 * i),
        )
    return _avalanche(total & MASK64)


def xxh3_64(data, seed=0):
    """XXH3_64bits_withSeed(data, seed): an unsigned 64-bit integer."""
    n = len(data)
    if n <= 16:
        return _xxh3_0_to_16(data, seed)
    if n <= 128:
        return _xxh3_17_to_128(data, seed)
    if n <= 240:
        return _xxh3_129_to_240(data, seed)
    return _xxh3_long(data, seed)


def derived_hash(key_hash, j):
    """w_j of a key hash: itself for j = 0, else its 8 bytes hashed with seed j."""
    return key_hash if j == 0 else xxh3_64(key_hash.to_bytes(8, "little"), j)


# --------------------------------------------------------------------------
# Keys: a key type's code and the canonical bytes of a value
# --------------------------------------------------------------------------

KEY_TYPES = {
    0: "none", 1: "integer", 2: "float", 3: "numeric", 4: "text", 5: "bytea", 6: "uuid", 7: "boolean",
    8: "date", 9: "time", 10: "timetz", 11: "timestamp", 12: "timestamptz", 13: "interval", 14: "inet",
    15: "macaddr", 16: "macaddr8", 17: "oid", 18: "money", 19: "enum", 20: "bpchar", 254: "hash", 255: "named",
}
KEY_CODES = {name: code for code, name in KEY_TYPES.items()}
KEY_NONE, KEY_HASH, KEY_NAMED = 0, 254, 255

EPOCH = datetime.datetime(2000, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)
MICROSECONDS_PER_DAY = 86400000000

# The infinities that PostgreSQL stores as the ends of the integer range, for date() and timestamp().
DATE_INFINITY, DATE_MINUS_INFINITY = 2**31 - 1, -(2**31)
TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY = 2**63 - 1, -(2**63)


class Key(NamedTuple):
    """A value as filters see it.  The functions below make it, one per key type."""
    code: int
    pieces: tuple                           # the canonical bytes: bytes, and keys, which stand for their hashes
    name: str = ""                          # of a named key type

    def canonical(self, seed=0):
        """The canonical bytes.  The seed matters to a key that consists of other keys."""
        return b"".join(piece.hash(seed).to_bytes(8, "little") if isinstance(piece, Key) else piece for piece in self.pieces)

    def hash(self, seed):
        """The key hash h_0.  A ready-made hash is what it is, whatever the seed."""
        if self.code == KEY_HASH:
            return int.from_bytes(self.canonical(), "little")
        return xxh3_64(self.canonical(seed), seed)

    def type_name(self):
        return self.name or KEY_TYPES[self.code]


def _key(type_name, canonical):
    return Key(KEY_CODES[type_name], (bytes(canonical),))


def integer(value):
    """int2, int4, int8: one key type, eight bytes."""
    return _key("integer", struct.pack("<q", value))


def float8(value):
    """float8; every zero is +0 and every NaN one NaN."""
    value = float(value)
    if value == 0:
        value = 0.0
    if math.isnan(value):
        return _key("float", struct.pack("<Q", 0x7FF8000000000000))
    return _key("float", struct.pack("<d", value))


def float4(value):
    """float4: rounded to single precision, then as float8 (0.1 is another key than float8's 0.1)."""
    return float8(struct.unpack("<f", struct.pack("<f", value))[0])


def numeric(value):
    """numeric, from a Decimal, an int or a str: plain decimal notation without trailing fractional zeros."""
    value = decimal.Decimal(value)
    if value.is_nan():
        return _key("numeric", b"NaN")
    if value.is_infinite():
        return _key("numeric", b"Infinity" if value > 0 else b"-Infinity")
    digits = format(value, "f")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return _key("numeric", (digits if value != 0 else "0").encode("ascii"))


def text(value, encoding="utf-8"):
    """text, varchar, name: the bytes in the encoding of the database."""
    return _key("text", value.encode(encoding))


def bpchar(value, encoding="utf-8"):
    """char(n): text without its trailing blanks, and another key type than text."""
    return _key("bpchar", value.rstrip(" ").encode(encoding))


def bytea(value):
    return _key("bytea", value)


def uuid(value):
    """uuid, from a uuid.UUID or its text."""
    return _key("uuid", uuid_module.UUID(str(value)).bytes)


def boolean(value):
    return _key("boolean", b"\x01" if value else b"\x00")


def date(value):
    """date, from a datetime.date or as days since 2000-01-01."""
    if isinstance(value, datetime.date):
        value = (value - EPOCH.date()).days
    return _key("date", struct.pack("<i", value))


def _time_of_day(value):
    if isinstance(value, datetime.time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000000 + value.microsecond
    return value


def time(value):
    """time, from a datetime.time or as microseconds since midnight (24:00:00 is 86400000000)."""
    return _key("time", struct.pack("<q", _time_of_day(value)))


def timetz(value, seconds_west=None):
    """timetz, from a datetime.time with an offset, or as local microseconds and seconds west of UTC."""
    if seconds_west is None:
        seconds_west = -(value.utcoffset() // datetime.timedelta(seconds=1))
    return _key("timetz", struct.pack("<qi", _time_of_day(value), seconds_west))


def timestamp(value):
    """timestamp, from a datetime without a zone or as microseconds since 2000-01-01."""
    if isinstance(value, datetime.datetime):
        value = (value - EPOCH) // MICROSECOND
    return _key("timestamp", struct.pack("<q", value))


def timestamptz(value):
    """timestamptz, from a datetime with a zone or as microseconds since 2000-01-01 00:00 UTC."""
    if isinstance(value, datetime.datetime):
        value = (value - EPOCH.replace(tzinfo=datetime.timezone.utc)) // MICROSECOND
    return _key("timestamptz", struct.pack("<q", value))


def interval(months=0, days=0, microseconds=0):
    """interval: its length, with 30 days a month and 24 hours a day, as PostgreSQL compares it."""
    length = microseconds + (days + 30 * months) * MICROSECONDS_PER_DAY
    return _key("interval", length.to_bytes(16, "little", signed=True))


def inet(value):
    """inet, cidr, from text or an ipaddress interface: family, prefix length, all address bytes."""
    value = ipaddress.ip_interface(value)
    return _key("inet", bytes([value.version, value.network.prefixlen]) + value.ip.packed)


def _hex_address(value, length):
    data = bytes.fromhex(value.translate(str.maketrans("", "", ":-. ")))
    if len(data) != length:
        raise ValueError(f"a hardware address of {length} bytes expected, not {value!r}")
    return data


def macaddr(value):
    return _key("macaddr", _hex_address(value, 6))


def macaddr8(value):
    return _key("macaddr8", _hex_address(value, 8))


def oid(value):
    return _key("oid", struct.pack("<I", value))


def money(value):
    """money, as an integer of its smallest unit (cents)."""
    return _key("money", struct.pack("<q", value))


def enum(label, encoding="utf-8"):
    return _key("enum", label.encode(encoding))


def ready_hash(value):
    """What SQL's bloom_add_hash adds: a 64-bit hash, signed or unsigned, used as it is."""
    return Key(KEY_HASH, ((value & MASK64).to_bytes(8, "little"),))


def named(type_name, extended_hash):
    """A type of an extension or a user: the name of its key type, and the result of its extended hash function with seed 0."""
    return Key(KEY_NAMED, ((extended_hash & MASK64).to_bytes(8, "little"),), type_name)


def _named(type_name, *pieces):
    """A named key type.  A name of more than 63 bytes is truncated and ends in a fingerprint of the whole name."""
    encoded = type_name.encode()
    if len(encoded) > 63:
        type_name = f"{encoded[:46].decode(errors='ignore')}#{xxh3_64(encoded):016x}"
    return Key(KEY_NAMED, pieces, type_name)


class Null(NamedTuple):
    """A NULL in a row or an array; in a row its key type matters."""
    name: str = ""

    def type_name(self):
        return self.name


def _nullable(item):
    return (b"\0",) if isinstance(item, Null) else (b"\1", item)


def array(element_type, items, bounds=None):
    """An array of keys of one key type and of Nulls; bounds has (length, lower bound) for each dimension."""
    if bounds is None:
        bounds = [(len(items), 1)] if items else []
    pieces = [struct.pack("<i", len(bounds)), *(struct.pack("<ii", *bound) for bound in bounds)]
    for item in items:
        pieces += _nullable(item)
    return _named(f"{element_type}[]", *pieces)


def record(*columns):
    """A row of a composite type, of keys and Nulls."""
    pieces = [piece for column in columns for piece in _nullable(column)]
    return _named(f"record({', '.join(column.type_name() for column in columns)})", *pieces)


def _range_pieces(bounds):
    """None for the empty range, else (lower, upper, "[]", "[)", "(]" or "()"); an infinite bound is None, and exclusive."""
    if bounds is None:
        return (b"\0",)
    lower, upper, brackets = bounds
    flags = 1 | (lower is None) << 1 | (upper is None) << 2 | (brackets[0] == "[") << 3 | (brackets[1] == "]") << 4
    return (bytes([flags]), *(bound for bound in (lower, upper) if bound is not None))


def range_of(type_name, bounds):
    """A range, as its type's canonical function writes it: an int4range up to 5 ends before 6."""
    return _named(type_name, *_range_pieces(bounds))


def multirange_of(type_name, ranges):
    """A multirange: its ranges in order, none touching another."""
    return _named(type_name, struct.pack("<i", len(ranges)), *(piece for bounds in ranges for piece in _range_pieces(bounds)))


def _jsonb(value):
    if value is None:
        return b"n"
    if isinstance(value, bool):
        return b"t" if value else b"f"
    if isinstance(value, str):
        data = value.encode()
        return b"s" + struct.pack("<I", len(data)) + data
    if isinstance(value, dict):
        pairs = sorted(value.items(), key=lambda pair: (len(pair[0].encode()), pair[0].encode()))
        return b"o" + struct.pack("<I", len(pairs)) + b"".join(_jsonb(key) + _jsonb(item) for key, item in pairs)
    if isinstance(value, (list, tuple)):
        return b"a" + struct.pack("<I", len(value)) + b"".join(map(_jsonb, value))
    digits = numeric(value).canonical()
    return b"d" + struct.pack("<I", len(digits)) + digits


def jsonb(value):
    """jsonb, from None, a bool, a number, a str, a list or a dict."""
    return _named("jsonb", _jsonb(value))


def internal_char(value):
    """"char", a single byte."""
    return _named('"char"', bytes([value]))


def tid(block, offset):
    return _named("tid", struct.pack("<IH", block, offset))


def xid(value):
    return _named("xid", struct.pack("<I", value))


def cid(value):
    return _named("cid", struct.pack("<I", value))


def xid8(value):
    return _named("xid8", struct.pack("<Q", value))


def pg_lsn(value):
    return _named("pg_lsn", struct.pack("<Q", value))


# --------------------------------------------------------------------------
# Layouts: the geometry and which bits a key hash sets
# --------------------------------------------------------------------------

LAYOUTS = {1: "standard", 2: "partitioned", 3: "blocked", 4: "partitioned_blocked", 5: "hybrid", 6: "rational", 7: "variable_blocked",
           8: "scalable", 9: "dynamic_blocked", 10: "age_partitioned", 11: "counting", 12: "binary_fuse"}
SEALED = ("binary_fuse",)                   # layouts that are built of all keys at once
HASHINGS = {0: "independent", 1: "double", 2: "enhanced_double", 3: "triple"}
FLAT = ("standard", "partitioned", "hybrid")            # layouts that may have any of these
FRACTIONAL = ("rational", "variable_blocked")           # layouts whose k need not be whole
ONE = 65536                                             # the unit of fractional k
LAYOUT_HASHES = 0
MAX_K = 64
GROUP = 8                                   # parts of partitioned_blocked that share a block choice
GOLDEN_RATIO = 0x9E3779B97F4A7C15
PLANES = 4                                  # bits of a counter of layout counting
SATURATED = 2**PLANES - 1                   # a counter that stays as it is


class Geometry(NamedTuple):
    """B blocks of P parts of S bits, with H probes in each part."""
    blocks: int
    parts: int
    part_bits: int
    probes: int
    hashing: int = 0
    fraction: int = 0                       # of a probe, in 1/65536
    parameters: tuple = ()                  # scalable: growth, tightening; dynamic_blocked: these, fill; age_partitioned: k, keys of a generation; binary_fuse: s | v << 8

    @property
    def k(self):
        return self.parts * self.probes + self.fraction / ONE

    @property
    def bits(self):
        return self.blocks * self.parts * self.part_bits

    @property
    def part_words(self):
        return (self.part_bits + 63) // 64

    def body_bytes(self, layout):
        words = self.blocks * self.parts * self.part_words
        if layout == "binary_fuse":
            return 8 * (SealedFilter.FIXED_WORDS + self.blocks + (self.bits + 63) // 64 + 1)
        if layout == "age_partitioned":
            return 8 * (AgePartitionedFilter.FIXED_WORDS + words)
        if layout == "scalable":                # with the first stage
            return 8 * (ScalableFilter.FIXED_WORDS + 1 + words)
        return 8 + 8 * PLANES * words if layout == "counting" else 8 * words


def _is_power_of_two(n):
    return n > 0 and n & (n - 1) == 0


def check_geometry(layout, g):
    """Raises ValueError unless a filter of the layout (a name) can have geometry g."""
    def require(true, rule):
        if not true:
            raise ValueError(f"impossible geometry for layout {layout}: {rule}, not {tuple(g)} (B, P, S, H)")

    some_probe = g.probes >= 1 or layout == "rational" and g.fraction >= 1
    require(g.blocks >= 1 and g.parts >= 1 and g.part_bits >= 1 and some_probe, "no field may be 0")
    require((g.parameters[0] if layout == "age_partitioned" else g.probes if layout in SEALED else bits_of_key(layout, g)) <= MAX_K, f"a key sets at most {MAX_K} bits: parts * probes")
    require(g.hashing == 0 or layout in FLAT and g.hashing in HASHINGS, "this layout has no such hashing")
    require(g.fraction == 0 or layout in FRACTIONAL, "this layout has no fraction of a probe")
    if layout == "standard":
        require(g.blocks == 1 and g.parts == 1, "blocks and parts must be 1")
    elif layout == "partitioned":
        require(g.blocks == 1 and g.probes == 1, "blocks and probes must be 1")
    elif layout == "hybrid":
        require(g.blocks == 1, "blocks must be 1")
    elif layout in FRACTIONAL:
        require(g.blocks == 1 and g.parts == 1, "blocks and parts must be 1")
    elif layout == "blocked":
        require(g.parts == 1, "parts must be 1")
        require(g.part_bits <= 2**32, "part bits must be at most 2^32")
    elif layout in ("partitioned_blocked", "counting", "scalable"):
        require(_is_power_of_two(g.blocks), "blocks must be a power of two")
        require(g.part_bits == 64 and g.probes == 1, "part bits must be 64 and probes 1")
        if layout == "scalable":
            growth, tightening = g.parameters
            require(growth in (2, 4, 8, 16), "growth must be 2, 4, 8 or 16")
            require(6554 <= tightening <= 62259, "tightening must be 0.1 to 0.95")
    elif layout == "dynamic_blocked":
        require(g.parts == 1, "parts must be 1")
        require(64 <= g.part_bits <= 32704 and g.part_bits % 64 == 0, "part bits must be a multiple of 64, 64 to 32704")
        growth, *fractions = g.parameters
        require(1 <= growth <= 8 and all(1 <= x <= 65535 for x in fractions), "growth must be 1 to 8, tightening and fill fractions")
    elif layout == "age_partitioned":
        k, keys = g.parameters
        require(g.blocks == 1 and g.probes == 1, "blocks and probes must be 1")
        require(1 <= k < g.parts <= k + 1024, "a key sets bits in fewer slices than there are, and at most 1024 fewer")
        require(1 <= keys <= 2**40 and g.part_bits <= 64 * (k * keys + 1), "generations must be at least a 64th of the slices' bits")
    elif layout == "binary_fuse":
        segment, value_bits = g.parameters[0] & 255, g.parameters[0] >> 8
        require(g.probes == 4, "a key has 4 slots")
        require(value_bits <= 24 and 0 <= g.parts - value_bits <= 32, "a slot has at most 24 bits of value and 32 of fingerprint")
        require(segment <= 18 and g.part_bits % 2**segment == 0 and g.part_bits >= g.probes << segment, "slots must be whole segments, at least one for each slot of a key")
        require(g.part_bits < 2**32 and g.blocks <= 2**20, "at most 2^20 blocks of less than 2^32 slots")
    else:
        raise ValueError(f"unknown layout {layout!r}; known are {', '.join(LAYOUTS.values())}")
    require(g.body_bytes(layout) + HEADER_BYTES + 4 <= MAX_VALUE_BYTES, "a filter must be smaller than 1 GB")


def _option(options, name, preset):
    """The value in "name=value, name=value"; a number, unless preset is a text."""
    for pair in filter(str.strip, options.split(",")):
        key, value = (word.strip() for word in pair.split("="))
        if key == name:
            return type(preset)(value)
    return preset


def _fixed(k):
    """Splits k into whole probes and the fraction."""
    return divmod(math.floor(k * ONE + 0.5), ONE)


def geometry_for_bits(layout, bits, k, options=""):
    """(layout, Geometry) of at most the given number of bits, by the rule of bloom_empty_bits in SQL."""
    hashing = next(code for code, name in HASHINGS.items() if name == _option(options, "hashing", "independent"))
    if layout == "standard":
        g = Geometry(1, 1, bits, k, hashing)
    elif layout == "partitioned":
        g = Geometry(1, k, bits // k, 1, hashing)
    elif layout == "hybrid":
        probes = _option(options, "probes", 2)
        if k % probes:
            raise ValueError(f"k must be a multiple of the {probes} probes in each part, not {k}")
        g = Geometry(1, k // probes, bits // (k // probes), probes, hashing)
    elif layout == "blocked":
        block_bits = _option(options, "block_bits", 512)
        g = Geometry(bits // block_bits, 1, block_bits, k)
    elif layout == "rational":
        probes, fraction = _fixed(k)
        g = Geometry(1, 1, bits, probes, fraction=fraction)
    elif layout == "variable_blocked":
        share = 2 ** (bits.bit_length() - 1) / bits
        probes, fraction = _fixed(min(k * share, math.floor(MAX_K * ONE * share) / ONE))
        g = Geometry(1, 1, bits, probes, fraction=fraction)
    elif layout == "dynamic_blocked":
        g = Geometry(bits // 512, 1, 448, k, parameters=(2, 65536 // 8, 65536 // 2))
    elif layout == "age_partitioned":
        part_bits = bits // (3 * k)
        g = Geometry(1, 3 * k, part_bits, 1, parameters=(k, int(part_bits * math.log(2) / k)))
    else:
        g = Geometry(1 << (max(bits // (64 * k), 1).bit_length() - 1), k, 64, 1)
        if layout == "scalable":
            g = g._replace(parameters=(2, 65536 // 2))
        if bits < 64 * k:
            raise ValueError(f"layout {layout} needs at least 64 bits for each of {k} parts, not {bits} in all")
    check_geometry(layout, g)
    return layout, g


def _scale(h, n):
    """mulhi: h, a 64-bit hash, scaled to 0 .. n-1."""
    return h * n >> 64


def _positions_flat(g, key_hash):
    """standard, partitioned, hybrid: probe i of all goes to part i / H."""
    h1, h2, h3 = (_scale(derived_hash(key_hash, j), g.part_bits) for j in range(3))
    for i in range(g.parts * g.probes):
        if HASHINGS[g.hashing] == "independent":
            position = _scale(derived_hash(key_hash, i), g.part_bits)
        elif HASHINGS[g.hashing] == "double":
            position = (h1 + i * h2) % g.part_bits
        elif HASHINGS[g.hashing] == "enhanced_double":
            position = (h1 + i * h2 + (i**3 - i) // 6) % g.part_bits
        else:
            position = (h1 + i * h2 + i * (i - 1) // 2 * h3) % g.part_bits
        yield 64 * g.part_words * (i // g.probes) + position


def _positions_blocked(g, key_hash):
    first = 64 * g.part_words * _scale(key_hash, g.blocks)
    width = max(1, (g.part_bits - 1).bit_length())
    positions_a_hash = (64 if _is_power_of_two(g.part_bits) else 44) // width
    for i in range(g.probes):
        if i % positions_a_hash == 0:
            x = derived_hash(key_hash, 1 + i // positions_a_hash)
        yield first + _scale(x, g.part_bits)
        x = x * g.part_bits & MASK64


class Piece(NamedTuple):
    """A filter of fractional k within a body: its first bit, its size, k in 1/65536, and the index of its first derived hash."""
    first: int
    size: int
    k: int
    hash: int


def _pieces(layout, g):
    """rational: one; variable_blocked: one for each bit that is set in S, the largest first."""
    k = g.probes * ONE + g.fraction
    if layout == "rational":
        return [Piece(0, g.part_bits, k, 0)]
    top = g.part_bits.bit_length() - 1
    pieces = []
    for log2 in range(top, -1, -1):
        if g.part_bits >> log2 & 1:
            first = sum(piece.size for piece in pieces)
            pieces.append(Piece(first, 1 << log2, k >> (top - log2), 64 * len(pieces)))
    return pieces


def _positions_fractional(layout):
    def positions(g, key_hash):
        for piece in _pieces(layout, g):
            for j in range(piece.k // ONE + 1):
                w = derived_hash(key_hash, piece.hash + j)
                if j < piece.k // ONE or w % ONE < piece.k % ONE:
                    yield piece.first + _scale(w, piece.size)
    return positions


def bits_of_key(layout, g):
    """k: how many bits a key sets, on average."""
    if layout == "variable_blocked":
        return sum(piece.k for piece in _pieces(layout, g)) / ONE
    return g.k


def _positions_partitioned_blocked(g, key_hash):
    e = g.blocks.bit_length() - 1
    for group in range((g.parts + GROUP - 1) // GROUP):
        w = derived_hash(key_hash, group)
        block = w >> (64 - e)
        x = w * GOLDEN_RATIO & MASK64
        for j in range(min(GROUP, g.parts - GROUP * group)):
            yield 64 * _grouped_word(g, block, GROUP * group + j) + (x >> (58 - 6 * j) & 63)


def _grouped_word(g, block, part):
    """The index of the word of a part of a block in partitioned_blocked: ordered by group, then block."""
    group, j = divmod(part, GROUP)
    group_parts = min(GROUP, g.parts - GROUP * group)
    return GROUP * group * g.blocks + block * group_parts + j


POSITIONS = {
    "standard": _positions_flat,
    "partitioned": _positions_flat,
    "hybrid": _positions_flat,
    "rational": _positions_fractional("rational"),
    "variable_blocked": _positions_fractional("variable_blocked"),
    "blocked": _positions_blocked,
    "partitioned_blocked": _positions_partitioned_blocked,
    "counting": _positions_partitioned_blocked,         # of cells, whose counters _planes() finds
}


def _planes(g, position):
    """Layout counting: the positions of the bits of a cell's counter, the lowest first.

    A block is PLANES blocks of partitioned_blocked, one after another; the body's first word is no block.
    """
    word, cell = divmod(position, 64)
    group = word // (GROUP * g.blocks)
    first = GROUP * group * g.blocks
    group_parts = min(GROUP, g.parts - GROUP * group)
    block, j = divmod(word - first, group_parts)
    return [64 * (1 + PLANES * (first + block * group_parts) + plane * group_parts + j) + cell for plane in range(PLANES)]


# --------------------------------------------------------------------------
# The filter and its interchange format
# --------------------------------------------------------------------------

MAGIC = b"BLX"
VERSION = 1
HEADER = struct.Struct("<3sBBBBBIQQQHHHBB")
HEADER_BYTES = 44
assert HEADER.size == HEADER_BYTES
MAX_VALUE_BYTES = 2**30 - 1                 # PostgreSQL's limit; its own 4-byte length counts
MAX_NAME_BYTES = 63


def _count_ones(data):
    return bin(int.from_bytes(data, "little")).count("1")


class BloomFilter:
    """A filter: layout (a name), geometry, seed, key type, capacity, and the body's bytes.

    The body is a bytearray.  Words are little-endian, so bit b of word w is
    bit b % 8 of byte 8 * w + b // 8, and the positions that the layouts yield
    count the bits of the whole body from 0.
    """

    def __init__(self, layout, geometry, seed=0, key_code=KEY_NONE, key_name="", capacity=0, expanded=0, body=None):
        check_geometry(layout, geometry)
        if not (0 <= seed <= MASK64 and 0 <= capacity <= MASK64):
            raise ValueError("seed and capacity are unsigned 64-bit integers")
        _check_expanded(layout, geometry, expanded)
        self.layout = layout
        self.geometry = geometry
        self.seed = seed
        self.key_code = key_code
        self.key_name = key_name
        self.capacity = capacity
        self.expanded = expanded
        self.body = bytearray(geometry.body_bytes(layout)) if body is None else bytearray(body)

    @classmethod
    def empty(cls, layout, geometry, seed=0, capacity=0):
        """An empty filter; it takes the key type of the first key."""
        return CLASSES.get(layout, BloomFilter)(layout, geometry, seed=seed, capacity=capacity)

    # ---- keys ----

    def key_type(self):
        return self.key_name or KEY_TYPES[self.key_code]

    def _check_key(self, code, name, type_name):
        if self.key_code != KEY_NONE and (self.key_code, self.key_name) != (code, name):
            raise ValueError(f"the filter holds keys of type {self.key_type()}, not {type_name}")

    def add(self, key):
        """Add a Key.  An error leaves the filter as it was."""
        self._check_key(key.code, key.name, key.type_name())
        self.key_code, self.key_name = key.code, key.name
        self.add_hash(key.hash(self.seed))

    def contains(self, key):
        """False if the key was definitely not added; True if it possibly was."""
        self._check_key(key.code, key.name, key.type_name())
        return self.contains_hash(key.hash(self.seed))

    def remove(self, key):
        """Layout counting: removes a key that was added.  False if it is absent; then no counter has changed."""
        self._check_key(key.code, key.name, key.type_name())
        return self.remove_hash(key.hash(self.seed))

    def add_hash(self, key_hash):
        for position in self._positions(key_hash):
            self._set_cell(position, min(self.cell(position) + 1, SATURATED) if self.layout == "counting" else 1)

    def contains_hash(self, key_hash):
        return all(self.cell(position) for position in self._positions(key_hash))

    def remove_hash(self, key_hash):
        if self.layout != "counting":
            raise ValueError(f"keys cannot be removed from a filter of layout {self.layout}")
        if not self.contains_hash(key_hash):
            self.refused_removals += 1
            return False
        for position in self._positions(key_hash):
            if self.cell(position) < SATURATED:
                self._set_cell(position, self.cell(position) - 1)
        return True

    def _positions(self, key_hash):
        return POSITIONS[self.layout](self.geometry, key_hash)

    def _cell_bits(self, position):
        return _planes(self.geometry, position) if self.layout == "counting" else [position]

    def cell(self, position):
        """The bit at a position; in layout counting, the counter."""
        return sum((self.body[bit // 8] >> bit % 8 & 1) << i for i, bit in enumerate(self._cell_bits(position)))

    def _set_cell(self, position, value):
        for i, bit in enumerate(self._cell_bits(position)):
            self.body[bit // 8] = self.body[bit // 8] & ~(1 << bit % 8) | (value >> i & 1) << bit % 8

    @property
    def refused_removals(self):
        """Layout counting: the number of attempts to remove an absent key; the body's first word."""
        return _read64(self.body, 0)

    @refused_removals.setter
    def refused_removals(self, value):
        self.body[:8] = (value & MASK64).to_bytes(8, "little")

    # ---- whole filters ----

    def __eq__(self, other):
        """True if both answer every query alike.  Ignores capacity, expanded and refused removals, which are only notes."""
        if not isinstance(other, BloomFilter):
            return NotImplemented
        notes = 8 if self.layout == "counting" else 0
        return self._identity() == other._identity() and self.body[notes:] == other.body[notes:]

    __hash__ = None                         # filters change

    def _identity(self):
        return (self.layout, self.geometry, self.seed, self.key_code, self.key_name)

    def union(self, other):
        """The filter of both sets of keys.  Both must have the same layout, geometry, seed and key type."""
        if (self.layout, self.geometry) != (other.layout, other.geometry):
            raise ValueError(f"cannot unite filters of different geometry: "
                             f"{self.layout} {tuple(self.geometry)} and {other.layout} {tuple(other.geometry)}")
        if self.seed != other.seed:
            raise ValueError(f"cannot unite filters of different seed: {self.seed} and {other.seed}")
        if other.key_code != KEY_NONE:
            self._check_key(other.key_code, other.key_name, other.key_type())
        typed = other if self.key_code == KEY_NONE else self
        both = BloomFilter(
            self.layout, self.geometry, self.seed, typed.key_code, typed.key_name,
            max(self.capacity, other.capacity), max(self.expanded, other.expanded),
            bytes(a | b for a, b in zip(self.body, other.body)),
        )
        if self.layout == "counting":
            both.refused_removals = self.refused_removals + other.refused_removals
            for position in range(self.geometry.bits):
                both._set_cell(position, min(self.cell(position) + other.cell(position), SATURATED))
        return both

    def to_bits(self):
        """The filter without counters: a bit is set if its counter is not 0.  Itself if it has no counters."""
        if self.layout != "counting":
            return self
        plain = BloomFilter("partitioned_blocked", self.geometry, self.seed, self.key_code, self.key_name, self.capacity, self.expanded)
        for position in range(self.geometry.bits):
            plain._set_cell(position, self.cell(position) > 0)
        return plain

    def bits_set(self):
        """The bits, or counters, that are not 0."""
        return _count_ones(self.to_bits().body)

    def _part_fill(self, block, part):
        """The fraction of a part's bits that are set."""
        g = self.geometry
        if self.layout == "partitioned_blocked":
            word = _grouped_word(g, block, part)
        else:                               # one of blocks and parts is 1
            word = (block + part) * g.part_words
        return _count_ones(self.body[8 * word:8 * (word + g.part_words)]) / g.part_bits

    def fpr(self):
        """The probability that a key that was not added is found: exact, from the present bits.

        A block choice is shared by a group of parts, so: the product over
        groups of the mean over blocks of the product over parts of fill^probes.
        """
        if self.layout == "counting":
            return self.to_bits().fpr()
        g = self.geometry
        if self.layout in FRACTIONAL:
            rate = 1.0
            for piece in _pieces(self.layout, g):
                body = int.from_bytes(self.body, "little")
                fill = bin(body >> piece.first & ((1 << piece.size) - 1)).count("1") / piece.size
                rate *= fill ** (piece.k // ONE) * (1 - piece.k % ONE / ONE * (1 - fill))
            return rate
        rate = 1.0
        for first in range(0, g.parts, GROUP):
            group = range(first, min(first + GROUP, g.parts))
            rate *= sum(
                math.prod(self._part_fill(block, part) ** g.probes for part in group)
                for block in range(g.blocks)
            ) / g.blocks
        return rate

    def cardinality(self):
        """The estimated number of distinct keys (Swamidass & Baldi, exact form); infinity when every bit is set."""
        filter_ = self.to_bits().folded()
        g = filter_.geometry
        fill = filter_.bits_set() / g.bits
        if fill == 1:
            return math.inf
        whole, fraction = divmod(bits_of_key(filter_.layout, g) / g.parts, 1)
        one_key_sets = (1 - (1 - 1 / g.part_bits) ** whole * (1 - fraction / g.part_bits)) / g.blocks
        if fill == 0 or one_key_sets == 1:
            return 0.0
        return math.log1p(-fill) / math.log1p(-one_key_sets)

    def folded(self):
        """The filter, as bits, before it was expanded: 2^expanded neighbouring blocks (or bits of a part) become one."""
        if self.expanded == 0:
            return self
        if self.layout == "counting":
            return self.to_bits().folded()
        g, x = self.geometry, self.expanded
        if self.layout == "partitioned_blocked":
            small = BloomFilter(self.layout, g._replace(blocks=g.blocks >> x), self.seed, self.key_code, self.key_name)
            for part in range(g.parts):
                for block in range(g.blocks):
                    source = 8 * _grouped_word(g, block, part)
                    target = 8 * _grouped_word(small.geometry, block >> x, part)
                    for i in range(8):
                        small.body[target + i] |= self.body[source + i]
        elif self.layout == "blocked":
            small = BloomFilter(self.layout, g._replace(blocks=g.blocks >> x), self.seed, self.key_code, self.key_name)
            block_bytes = 8 * g.part_words
            for i, byte in enumerate(self.body):
                small.body[(i // block_bytes >> x) * block_bytes + i % block_bytes] |= byte
        else:
            small = BloomFilter(self.layout, g._replace(part_bits=g.part_bits >> x), self.seed, self.key_code, self.key_name)
            for part in range(g.parts):
                for bit in range(g.part_bits):
                    source = 64 * g.part_words * part + bit
                    target = 64 * small.geometry.part_words * part + (bit >> x)
                    small.body[target // 8] |= (self.body[source // 8] >> source % 8 & 1) << target % 8
        return small

    # ---- interchange ----

    def to_bytes(self):
        """The interchange format: header, name, body."""
        g = self.geometry
        name = self.key_name.encode("utf-8", "surrogateescape")
        layout = next(code for code, layout in LAYOUTS.items() if layout == self.layout)
        header = HEADER.pack(MAGIC, VERSION, layout, self.key_code, len(name), g.hashing, g.blocks, self.seed, self.capacity,
                             g.part_bits, g.parts, g.probes, g.fraction, self.expanded, 0)
        return header + name + bytes(-len(name) % 8) + bytes(self.body)

    @classmethod
    def from_bytes(cls, data):
        """Reads the interchange format.  A ValueError says what is wrong with the bytes."""
        data = bytes(data)
        if len(data) < HEADER_BYTES:
            raise ValueError(f"a filter has at least {HEADER_BYTES} bytes, not {len(data)}")
        (magic, version, layout, key_code, name_length, hashing, blocks, seed, capacity,
         part_bits, parts, probes, fraction, expanded, pending) = HEADER.unpack_from(data)
        if magic != MAGIC:
            raise ValueError("not a filter: it does not begin with 'BLX'")
        if version != VERSION:
            raise ValueError(f"format version {version} is not known, only {VERSION}")
        if layout == LAYOUT_HASHES:
            raise ValueError("an open state of an aggregate (layout hashes), not a finished filter")
        if layout not in LAYOUTS:
            raise ValueError(f"layout code {layout} is not known")
        if pending != 0:
            raise ValueError("the state of an open aggregate (pending is not 0), not a finished filter")
        if key_code not in KEY_TYPES:
            raise ValueError(f"key type code {key_code} is not known")
        if (name_length != 0) != (key_code == KEY_NAMED) or name_length > MAX_NAME_BYTES:
            raise ValueError(f"a key type name of {name_length} bytes does not go with key type code {key_code}")
        body_at = HEADER_BYTES + (name_length + 7) // 8 * 8
        geometry = Geometry(blocks, parts, part_bits, probes, hashing, fraction)
        if LAYOUTS[layout] in CLASSES:
            class_ = CLASSES[LAYOUTS[layout]]
            if len(data) < body_at + 8 * class_.FIXED_WORDS:
                raise ValueError(f"{len(data)} bytes are too few for a filter of layout {LAYOUTS[layout]}")
            geometry = geometry._replace(parameters=struct.unpack_from(f"<{class_.PARAMETERS}Q", data, body_at))
        check_geometry(LAYOUTS[layout], geometry)

        if LAYOUTS[layout] not in CLASSES and len(data) != body_at + geometry.body_bytes(LAYOUTS[layout]):
            raise ValueError(f"{len(data)} bytes, but the header announces {body_at + geometry.body_bytes(LAYOUTS[layout])}")
        if len(data) + 4 > MAX_VALUE_BYTES:
            raise ValueError("a filter must be smaller than 1 GB")
        name = data[HEADER_BYTES:HEADER_BYTES + name_length]
        if 0 in name:
            raise ValueError("the key type name contains a zero byte")
        if any(data[HEADER_BYTES + name_length:body_at]):
            raise ValueError("the padding of the key type name must be 0")
        key_name = name.decode("utf-8", "surrogateescape")      # a name in another encoding is kept as it is

        body = data[body_at:]
        if LAYOUTS[layout] in CLASSES:
            CLASSES[LAYOUTS[layout]].check_body(geometry, body)
        else:
            _check_spare_bits(geometry, body)
        return CLASSES.get(LAYOUTS[layout], BloomFilter)(LAYOUTS[layout], geometry, seed, key_code, key_name, capacity, expanded, body)

    def to_text(self):
        return base64.b64encode(self.to_bytes()).decode("ascii")

    @classmethod
    def from_text(cls, value):
        """Reads the text form of SQL: base64, padded, without line breaks."""
        try:
            data = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError(f"not the text form of a filter: {error}") from None
        if len(value) != (len(data) + 2) // 3 * 4:
            raise ValueError("not the text form of a filter: too much padding")
        return cls.from_bytes(data)


def _check_expanded(layout, g, expanded):
    """`expanded` counts doublings, so as many halvings must be possible."""
    resolution = 1
    if layout in ("partitioned_blocked", "counting", "blocked"):
        resolution = g.blocks
    elif layout in (*FLAT, "rational"):
        resolution = g.part_bits
    if g.hashing != 0:
        resolution = 1
    if resolution % 2**expanded != 0:
        raise ValueError(f"a {layout} filter of {resolution} blocks or part bits cannot have been doubled {expanded} times")


def _check_spare_bits(g, body):
    """Only a part whose number of bits is not a multiple of 64 has spare bits: the top ones of its last word."""
    used = g.part_bits % 64
    if used == 0:
        return
    for part in range(g.blocks * g.parts):
        last_word = 8 * ((part + 1) * g.part_words - 1)
        if _read64(body, last_word) >> used:
            raise ValueError("bits beyond the end of a part must be 0")


class Stage(NamedTuple):
    """The properties of a block of dynamic_blocked at one stage."""
    number: int
    units: int                              # of memory
    bits: int
    limit: int                              # bits that may be set
    probes: int


def _stages(g):
    """All 32 stages of a geometry."""
    growth, tightening, fill = g.parameters
    units, rate = 1, 2**63
    for number in range(32):
        bits = units * (g.part_bits + 64) - 64
        yield Stage(number, units, bits, bits * fill >> 16, min(MAX_K, g.probes + 64 - rate.bit_length()))
        if units * growth <= 2**32 // (g.part_bits + 64):
            units *= growth
        rate = (rate >> 16) * tightening


class DynamicBlockedFilter(BloomFilter):
    """Layout dynamic_blocked, whose body grows.

    Here it is a list of chains, one for each home block, and a chain is a
    list of [stage number, filter as a big integer]; `order` has the place in
    the body of every overflow block, as (chain, place in the chain).
    """

    PARAMETERS = 3
    FIXED_WORDS = 5                         # before the first block
    MAX_TWINS = 4

    def __init__(self, layout, geometry, seed=0, key_code=KEY_NONE, key_name="", capacity=0, expanded=0, body=None):
        super().__init__(layout, geometry, seed, key_code, key_name, capacity, expanded, b"")
        self.stages = list(_stages(geometry))
        self.chains = [[[0, 0]] for _ in range(geometry.blocks)]
        self.order = []
        self.total = geometry.blocks
        if body is not None:
            self._read(body)

    # ---- the body ----

    @classmethod
    def check_body(cls, g, body):
        cls("dynamic_blocked", g, body=body)

    def _require(self, true, rule):
        if not true:
            raise ValueError(f"damaged filter of layout dynamic_blocked: {rule}")

    def _read(self, body):
        g = self.geometry
        unit_words = g.part_bits // 64 + 1
        self._require(len(body) % 8 == 0, "a broken word")
        words = struct.unpack(f"<{len(body) // 8}Q", body)
        used, self.total = words[3:5]
        self._require(g.blocks <= used <= self.total and len(words) == self.FIXED_WORDS + unit_words * self.total,
                      "the length does not match the blocks")

        def block(unit):
            """(stage, bits as an integer, the unit of the next block)"""
            at = 8 * (self.FIXED_WORDS + unit_words * unit)
            record = _read64(body, at)
            stage = self.stages[record >> 32 & 31]
            self._require(unit + stage.units <= used, "a block beyond the end")
            bits = int.from_bytes(body[at + 8:at + 8 + stage.bits // 8], "little")
            self._require(bin(bits).count("1") == record & 0xFFFFFFFF, "a record does not count its bits")
            return stage, bits, record >> 37

        starts, unit = [], g.blocks         # of the overflow blocks, one after another
        while unit < used:
            starts.append(unit)
            unit += block(unit)[0].units
        self._require(unit == used, "overflow blocks beyond the end")

        places = {}
        for number, chain in enumerate(self.chains):
            stage, bits, next_ = block(number)
            self._require(stage.number == 0, "a home block of a later stage")
            chain[:] = [[0, bits]]
            unit = number
            while next_ != 0:
                self._require(next_ > unit and next_ in starts and next_ not in places, "a link to no block")
                places[next_] = (number, len(chain))
                unit = next_
                stage, bits, next_ = block(unit)
                self._require(stage.number >= chain[-1][0], "stages fall")
                chain.append([stage.number, bits])
            self._require(all(sum(s == i for s, _ in chain) <= self.MAX_TWINS for i in range(32)), "too many blocks of one stage")
        self._require(len(places) == len(starts), "an overflow block in no chain")
        self._require(not any(words[self.FIXED_WORDS + unit_words * used:]), "bits in spare memory")
        self.order = [places[unit] for unit in starts]

    @property
    def used(self):
        return self.geometry.blocks + sum(self.stages[self.chains[c][i][0]].units for c, i in self.order)

    @property
    def body(self):
        """The bytes, from the chains."""
        g = self.geometry
        unit_bytes = g.part_bits // 8 + 8
        units = {(c, 0): c for c in range(g.blocks)}
        next_unit = g.blocks
        for place in self.order:
            units[place] = next_unit
            next_unit += self.stages[self.chains[place[0]][place[1]][0]].units
        out = bytearray(8 * self.FIXED_WORDS + unit_bytes * self.total)
        struct.pack_into("<5Q", out, 0, *g.parameters, next_unit, self.total)
        for (c, i), unit in units.items():
            number, bits = self.chains[c][i]
            at = 8 * self.FIXED_WORDS + unit_bytes * unit
            record = units.get((c, i + 1), 0) << 37 | number << 32 | bin(bits).count("1")
            out[at:at + 8] = record.to_bytes(8, "little")
            out[at + 8:at + 8 + self.stages[number].bits // 8] = bits.to_bytes(self.stages[number].bits // 8, "little")
        return out

    @body.setter
    def body(self, value):
        """BloomFilter's constructor sets an empty one."""

    # ---- keys ----

    def _mask(self, stage, key_hash):
        """The bits of a key in the filter of a block of that stage."""
        digits = 54 // (stage.bits - 1).bit_length()
        mask = 0
        for j in range(stage.probes):
            if j % digits == 0:
                x = derived_hash(key_hash, 1 + 64 * stage.number + j // digits)
            mask |= 1 << _scale(x, stage.bits)
            x = x * stage.bits & MASK64
        return mask

    def _chain_number(self, key_hash):
        return _scale(key_hash, self.geometry.blocks)

    def contains_hash(self, key_hash):
        for number, bits in self.chains[self._chain_number(key_hash)]:
            mask = self._mask(self.stages[number], key_hash)
            if bits & mask == mask:
                return True
        return False

    def add_hash(self, key_hash):
        if self.contains_hash(key_hash):
            return
        chain_number = self._chain_number(key_hash)
        chain = self.chains[chain_number]
        stage = self.stages[chain[-1][0]]
        count = bin(chain[-1][1]).count("1")
        if not (count == 0 or count + stage.probes <= stage.limit or stage.number == 31):
            stage = self.stages[stage.number + 1]
            while self.used + stage.units > self.total:
                self.total += max(self.total // 16, self.geometry.parameters[0])
            self.order.append((chain_number, len(chain)))
            chain.append([stage.number, 0])
        chain[-1][1] |= self._mask(stage, key_hash)

    # ---- whole filters ----

    def union(self, other):
        if (self.layout, self.geometry) != (other.layout, other.geometry):
            raise ValueError("cannot unite filters of different geometry")
        if self.seed != other.seed:
            raise ValueError(f"cannot unite filters of different seed: {self.seed} and {other.seed}")
        if other.key_code != KEY_NONE:
            self._check_key(other.key_code, other.key_name, other.key_type())
        typed = other if self.key_code == KEY_NONE else self
        both = DynamicBlockedFilter(self.layout, self.geometry, self.seed, typed.key_code, typed.key_name, max(self.capacity, other.capacity))
        for number in range(self.geometry.blocks):
            chain = both.chains[number] = self._join(self.chains[number], other.chains[number])
            both.order += [(number, i) for i in range(1, len(chain))]
        both.total = both.used
        return both

    def _join(self, a, b):
        chain, i, j = [], 0, 0

        def put(number, bits):
            if sum(n == number for n, _ in chain) == self.MAX_TWINS:
                chain[-1][1] |= bits
            else:
                chain.append([number, bits])

        while i < len(a) or j < len(b):
            if i < len(a) and j < len(b) and a[i][0] == b[j][0]:
                joint = a[i][1] | b[j][1]
                if bin(joint).count("1") <= self.stages[a[i][0]].limit:
                    put(a[i][0], joint)
                    i, j = i + 1, j + 1
                    continue
            if j == len(b) or (i < len(a) and a[i][0] <= b[j][0]):
                put(*a[i])
                i += 1
            else:
                put(*b[j])
                j += 1
        return chain

    def bits_set(self):
        return sum(bin(bits).count("1") for chain in self.chains for _, bits in chain)

    def _walk(self):
        """For every block: the rate of the blocks before it in its chain, its fill, its stage, and whether it is the last."""
        for chain in self.chains:
            before = 0.0
            for i, (number, bits) in enumerate(chain):
                stage = self.stages[number]
                fill = bin(bits).count("1") / stage.bits
                yield before, fill, stage, i + 1 == len(chain)
                before += (1 - before) * fill**stage.probes

    def fpr(self):
        return sum(before + (1 - before) * fill**stage.probes for before, fill, stage, last in self._walk() if last) / self.geometry.blocks

    def cardinality(self):
        return sum(math.log1p(-fill) / (stage.probes * math.log1p(-1 / stage.bits)) / (1 - before) if fill < 1 else math.inf
                   for before, fill, stage, _ in self._walk())


class AgePartitionedFilter(BloomFilter):
    """Layout age_partitioned: a ring of slices, the oldest of which is retired after each generation of keys."""

    PARAMETERS = 2
    FIXED_WORDS = 5
    ADDED, IN_GENERATION, YOUNGEST = 2, 3, 4    # words of the body after the parameters

    def __init__(self, layout, geometry, seed=0, key_code=KEY_NONE, key_name="", capacity=0, expanded=0, body=None):
        super().__init__(layout, geometry, seed, key_code, key_name, capacity, expanded, body)
        self.k, self.generation_keys = geometry.parameters
        self.generations = geometry.parts - self.k
        for i, parameter in enumerate(geometry.parameters):
            self._put(i, parameter)

    @classmethod
    def check_body(cls, g, body):
        if len(body) != g.body_bytes("age_partitioned"):
            raise ValueError(f"a body of {len(body)} bytes, but the header announces {g.body_bytes('age_partitioned')}")
        if _read64(body, 8 * cls.IN_GENERATION) > g.parameters[1]:
            raise ValueError("a generation with more keys than it takes")
        if _read64(body, 8 * cls.YOUNGEST) >= g.parts:
            raise ValueError("no such slice is the youngest")
        _check_spare_bits(g, body[8 * cls.FIXED_WORDS:])

    def __eq__(self, other):
        """The number of keys ever added is a note."""
        if not isinstance(other, AgePartitionedFilter):
            return NotImplemented
        note = slice(8 * self.ADDED, 8 * self.ADDED + 8)
        mine, others = bytearray(self.body), bytearray(other.body)
        mine[note] = others[note] = bytes(8)
        return self._identity() == other._identity() and mine == others

    __hash__ = None

    def _word(self, i):
        return _read64(self.body, 8 * i)

    def _put(self, i, value):
        self.body[8 * i:8 * i + 8] = (value & MASK64).to_bytes(8, "little")

    @property
    def window(self):
        """The number of last keys that are always found."""
        return self.generations * self.generation_keys

    def _slice(self, logical):
        """(number of the slice, its first byte); logical slice 0 is the youngest."""
        physical = (self._word(self.YOUNGEST) + logical) % self.geometry.parts
        return physical, 8 * (self.FIXED_WORDS + physical * self.geometry.part_words)

    def _bit(self, logical, key_hash):
        """The position of the key's bit in a slice."""
        physical, first = self._slice(logical)
        return 8 * first + _scale(derived_hash(key_hash, physical), self.geometry.part_bits)

    def add_hash(self, key_hash):
        if self._word(self.IN_GENERATION) == self.generation_keys:
            oldest, first = self._slice(self.geometry.parts - 1)
            self.body[first:first + 8 * self.geometry.part_words] = bytes(8 * self.geometry.part_words)
            self._put(self.YOUNGEST, oldest)
            self._put(self.IN_GENERATION, 0)
        for logical in range(self.k):
            self._set_cell(self._bit(logical, key_hash), 1)
        self._put(self.IN_GENERATION, self._word(self.IN_GENERATION) + 1)
        self._put(self.ADDED, self._word(self.ADDED) + 1)

    def contains_hash(self, key_hash):
        run = 0
        for logical in range(self.geometry.parts):
            run = run + 1 if self.cell(self._bit(logical, key_hash)) else 0
            if run == self.k:
                return True
        return False

    def union(self, other):
        raise ValueError("filters of layout age_partitioned cannot be merged: whose keys came before whose is not known")

    def bits_set(self):
        return _count_ones(self.body[8 * self.FIXED_WORDS:])

    def _fill(self, logical):
        _, first = self._slice(logical)
        return _count_ones(self.body[first:first + 8 * self.geometry.part_words]) / self.geometry.part_bits

    def fpr(self):
        """The probability of k matches in a row, by the probability, after each slice, of a run of each length (and none of k before)."""
        runs = [1.0] + [0.0] * self.k
        for logical in range(self.geometry.parts):
            fill = self._fill(logical)
            runs = [sum(runs[:-1]) * (1 - fill)] + [run * fill for run in runs[:-2]] + [runs[-1] + runs[-2] * fill]
        return runs[-1]

    def cardinality(self):
        """The slices l, l - k, l - 2k ... together have taken every generation of the window, and the present one, exactly once."""
        fills = [self._fill(logical) for logical in range(self.generations % self.k, self.generations + 1, self.k)]
        if 1 in fills:
            return math.inf
        return sum(math.log1p(-fill) / math.log1p(-1 / self.geometry.part_bits) for fill in fills if fill > 0)


class ScalableFilter(BloomFilter):
    """Layout scalable: a chain of partitioned_blocked filters, `stages`, the newest first."""

    PARAMETERS = 2
    FIXED_WORDS = 3                         # before the first record
    MAX_STAGES = 200
    MAX_LOG2 = 27
    # The rate of a half-full group of 0 .. 8 parts, with loads of 64 ln 2 keys on average.
    RATES = (1, 0.5, 0.2527223215129251, 0.12906070456651217, 0.06656020893143381, 0.034651052424074145,
             0.018202268099765044, 0.009644542254162109, 0.0051527187304857705)

    def __init__(self, layout, geometry, seed=0, key_code=KEY_NONE, key_name="", capacity=0, expanded=0, body=None):
        super().__init__(layout, geometry, seed, key_code, key_name, capacity, expanded, b"")
        self.stages = [self._stage(geometry.blocks.bit_length() - 1, geometry.parts)] if body is None else self._read(body)

    @staticmethod
    def _stage(log2, parts, body=None):
        return BloomFilter("partitioned_blocked", Geometry(1 << log2, parts, 64, 1), body=body)

    # ---- the body ----

    @classmethod
    def check_body(cls, g, body):
        cls("scalable", g, body=body)

    @classmethod
    def _read(cls, body):
        def require(true, rule):
            if not true:
                raise ValueError(f"damaged filter of layout scalable: {rule}")

        require(len(body) % 8 == 0, "a broken word")
        count = _read64(body, 16)
        at = 8 * (cls.FIXED_WORDS + count)
        require(1 <= count <= cls.MAX_STAGES and at <= len(body), "an impossible number of stages")
        stages = []
        for i in range(count):
            record = _read64(body, 8 * (cls.FIXED_WORDS + i))
            bits_set, log2, parts = record & (1 << 48) - 1, record >> 48 & 255, record >> 56
            require(1 <= parts <= MAX_K and log2 <= cls.MAX_LOG2, "an impossible stage")
            require(not stages or 1 << log2 <= stages[-1].geometry.blocks, "a stage larger than the one before it")
            end = at + (8 * parts << log2)
            require(end <= len(body), "the length does not match the stages")
            stages.append(cls._stage(log2, parts, body[at:end]))
            require(stages[-1].bits_set() == bits_set, "a record does not count its bits")
            at = end
        require(at == len(body), "the length does not match the stages")
        return stages

    @property
    def body(self):
        """The bytes, from the stages."""
        head = [*self.geometry.parameters, len(self.stages)]
        head += [stage.geometry.parts << 56 | (stage.geometry.blocks.bit_length() - 1) << 48 | stage.bits_set() for stage in self.stages]
        return bytearray(struct.pack(f"<{len(head)}Q", *head) + b"".join(stage.body for stage in self.stages))

    @body.setter
    def body(self, value):
        """BloomFilter's constructor sets an empty one."""

    # ---- keys ----

    @classmethod
    def _rate_when_full(cls, parts):
        return cls.RATES[GROUP] ** (parts // GROUP) * cls.RATES[parts % GROUP]

    @staticmethod
    def _is_full(stage):
        return 2 * stage.bits_set() >= stage.geometry.bits

    def _next_stage(self):
        g = self.geometry
        growth, tightening = g.parameters
        newest = self.stages[0].geometry.blocks
        level, blocks = 1, g.blocks
        while blocks * growth <= newest:
            level, blocks = level + 1, blocks * growth
        rate = self._rate_when_full(g.parts) * (tightening / 65536) ** level
        parts = g.parts
        while parts < MAX_K and self._rate_when_full(parts) > rate:
            parts += 1
        return self._stage((newest * growth).bit_length() - 1, parts)

    def contains_hash(self, key_hash):
        return any(stage.contains_hash(key_hash) for stage in self.stages)

    def add_hash(self, key_hash):
        if self.contains_hash(key_hash):
            return
        if self._is_full(self.stages[0]):
            self.stages.insert(0, self._next_stage())
        self.stages[0].add_hash(key_hash)

    # ---- whole filters ----

    def union(self, other):
        """The chain of the stages of both, whatever their geometries.  Two stages of one shape are joined unless the result would be too full."""
        if self.layout != other.layout:
            raise ValueError(f"cannot unite filters of different layout: {self.layout} and {other.layout}")
        if self.seed != other.seed:
            raise ValueError(f"cannot unite filters of different seed: {self.seed} and {other.seed}")
        if other.key_code != KEY_NONE:
            self._check_key(other.key_code, other.key_name, other.key_type())
        typed = other if self.key_code == KEY_NONE else self
        leader = self if self.stages[0].geometry.blocks >= other.stages[0].geometry.blocks else other
        both = ScalableFilter(self.layout, leader.geometry, self.seed, typed.key_code, typed.key_name, max(self.capacity, other.capacity))
        joints = []                         # [stage, whether it has absorbed another]
        for stage in self.stages:
            self._place(joints, stage)
        for stage in other.stages:
            if not any(self._absorb(joint, stage) for joint in joints):
                self._place(joints, stage)
        both.stages = [stage for stage, _ in joints]
        return both

    @staticmethod
    def _place(joints, stage):
        """Larger stages first; of equal ones the emptier; of equally full ones the one that came first."""
        def order(s):
            return -s.geometry.blocks, s.bits_set() / s.geometry.parts

        at = len(joints)
        while at > 0 and order(joints[at - 1][0]) > order(stage):
            at -= 1
        joints.insert(at, [stage, False])

    @staticmethod
    def _absorb(joint, stage):
        before, absorbed = joint
        if absorbed or before.geometry != stage.geometry:
            return False
        union = before.union(stage)
        if 2 * union.bits_set() > union.geometry.bits and union.bits_set() > max(before.bits_set(), stage.bits_set()):
            return False
        joint[:] = union, True
        return True

    def bits_set(self):
        return sum(stage.bits_set() for stage in self.stages)

    def fpr(self):
        return -math.expm1(sum(math.log1p(-stage.fpr()) for stage in self.stages))

    def cardinality(self):
        """A stage lacks the keys for which older, full stages have answered yes."""
        keys, no = 0.0, 1.0
        for stage in reversed(self.stages):
            keys += stage.cardinality() / no
            if self._is_full(stage):
                no *= 1 - self._rate_when_full(stage.geometry.parts)
        return keys


class SealedFilter(BloomFilter):
    """Layout binary_fuse: the exclusive or of a key's slots is its fingerprint, above its value if the filter is a map."""

    PARAMETERS = 1
    FIXED_WORDS = 2
    BLOCK_KEYS = 2**18
    ATTEMPTS = 64

    def __init__(self, layout, geometry, seed=0, key_code=KEY_NONE, key_name="", capacity=0, expanded=0, body=None):
        super().__init__(layout, geometry, seed, key_code, key_name, capacity, expanded, body)
        self.segment, self.value_bits = geometry.parameters[0] & 255, geometry.parameters[0] >> 8
        self.fingerprint_bits = geometry.parts - self.value_bits
        self.slots_at = 8 * (self.FIXED_WORDS + geometry.blocks)
        if body is None:
            self.body[:8] = geometry.parameters[0].to_bytes(8, "little")
            for block in range(geometry.blocks):
                self._set_salt(block, 1)
        self.keys = _read64(self.body, 8)
        if self.keys > 0 and key_code == KEY_NONE:
            raise ValueError("a sealed filter of keys has a key type")

    @classmethod
    def check_body(cls, g, body):
        if len(body) != g.body_bytes("binary_fuse"):
            raise ValueError(f"a body of {len(body)} bytes, but the header announces {g.body_bytes('binary_fuse')}")
        if _read64(body, 8) > g.blocks * g.part_bits:
            raise ValueError("more keys than slots")
        if any(_read64(body, 8 * (cls.FIXED_WORDS + block)) % 2 == 0 for block in range(g.blocks)):
            raise ValueError("a salt must be odd")
        if _read64(body, len(body) - 8) != 0:
            raise ValueError("the last word must be 0")
        if g.bits % 64 and _read64(body, len(body) - 16) >> g.bits % 64:
            raise ValueError("bits beyond the last slot must be 0")

    @staticmethod
    def sizes(fullest):
        """(s, S) of a block with that many keys."""
        if fullest < 2:
            return 0, 4
        k = fullest.bit_length() - 1
        log2 = 65536 * k + (65536 * fullest // 2**k - 65536)
        segment = min(max((1000 * log2 // 1541 - 32768) // 65536, 1), 18)
        per_key = max(70451, 50463 + 383713 * 65536 // log2)
        length = 2**segment
        slots = -(-fullest * per_key // 65536)
        return segment, max(-(-slots // length) * length, 4 * length)

    @classmethod
    def build(cls, keys, fingerprint_bits, values=None, seed=0):
        """The filter of keys, or the map of keys and values."""
        first = keys[0] if keys else Key(KEY_NONE, ())
        return cls.build_hashes([key.hash(seed) for key in keys], fingerprint_bits, values, seed, first.code, first.name)

    @classmethod
    def build_hashes(cls, hashes, fingerprint_bits, values=None, seed=0, key_code=KEY_HASH, key_name=""):
        of_key = {}
        for i, h in enumerate(hashes):
            h = derived_hash(h, 1) if key_code == KEY_HASH else h
            value = values[i] if values is not None else 0
            if of_key.setdefault(h, value) != value:
                raise ValueError(f"a key has two values, {of_key[h]} and {value}")
        n = len(of_key)
        value_bits = max(1, max(of_key.values(), default=0).bit_length()) if values is not None else 0
        blocks = [[] for _ in range(max(1, -(-n // cls.BLOCK_KEYS)))]
        for h in of_key:
            blocks[_scale(h, len(blocks))].append(h)
        segment, slots = cls.sizes(max(map(len, blocks)))
        g = Geometry(len(blocks), fingerprint_bits + value_bits, slots, 4, parameters=(segment | value_bits << 8,))
        check_geometry("binary_fuse", g)
        f = cls("binary_fuse", g, seed, key_code if n else KEY_NONE, key_name, n)
        f.keys = n
        f.body[8:16] = n.to_bytes(8, "little")
        for block, members in enumerate(blocks):
            f._seal(block, members, of_key)
        return f

    def _seal(self, block, members, of_key):
        """Fills the slots of a block with the first salt that does."""
        for t in range(self.ATTEMPTS):
            salt = 1 if t == 0 and self.geometry.blocks == 1 else xxh3_64(t.to_bytes(8, "little")) | 1
            salted = {h * salt & MASK64: of_key[h] for h in members}
            order = self._peel(salted)
            if order is None:
                continue
            self._set_salt(block, salt)
            for slot, u in reversed(order):
                wanted = self._fingerprint(u) << self.value_bits | salted[u]
                for other in self._slots(u):
                    wanted ^= self._slot(block, other) if other != slot else 0
                self._put_slot(block, slot, wanted)
            return
        raise ValueError("no filter was found for these keys")

    def _peel(self, salted):
        """[(a slot, its key)] in the order of peeling, or None if some keys are left."""
        counts, sums = [0] * self.geometry.part_bits, [0] * self.geometry.part_bits
        for u in salted:
            for slot in self._slots(u):
                counts[slot] += 1
                sums[slot] ^= u
        if max(counts) >= 255:
            return None
        queue = [slot for slot, count in enumerate(counts) if count == 1]
        order = []
        for slot in queue:                      # which grows
            if counts[slot] == 0:
                continue
            u = sums[slot]
            order.append((slot, u))
            for other in self._slots(u):
                counts[other] -= 1
                sums[other] ^= u
                if counts[other] == 1:
                    queue.append(other)
        return order if len(order) == len(salted) else None

    def _slots(self, u):
        g, mask = self.geometry, (1 << self.segment) - 1
        first = _scale(u, g.part_bits - (g.probes - 1 << self.segment))
        return [first] + [(first + (i << self.segment)) ^ (u >> (i - 1) * self.segment & mask) for i in range(1, g.probes)]

    def _fingerprint(self, u):
        return (u * GOLDEN_RATIO & MASK64) >> 32 & (1 << self.fingerprint_bits) - 1

    def _set_salt(self, block, salt):
        at = 8 * (self.FIXED_WORDS + block)
        self.body[at:at + 8] = salt.to_bytes(8, "little")

    def _slot(self, block, slot):
        bit = (block * self.geometry.part_bits + slot) * self.geometry.parts
        return _read64(self.body, self.slots_at + bit // 8) >> bit % 8 & (1 << self.geometry.parts) - 1

    def _put_slot(self, block, slot, value):
        bit = (block * self.geometry.part_bits + slot) * self.geometry.parts
        at = self.slots_at + bit // 8
        self.body[at:at + 8] = (_read64(self.body, at) | value << bit % 8).to_bytes(8, "little")

    def get_hash(self, key_hash):
        """The value of a key of the map (0 if the filter has none); None if the key is not there."""
        if self.keys == 0:
            return None
        h = derived_hash(key_hash, 1) if self.key_code == KEY_HASH else key_hash
        block = _scale(h, self.geometry.blocks)
        u = h * _read64(self.body, 8 * (self.FIXED_WORDS + block)) & MASK64
        x = 0
        for slot in self._slots(u):
            x ^= self._slot(block, slot)
        return x & (1 << self.value_bits) - 1 if x >> self.value_bits == self._fingerprint(u) else None

    def get(self, key):
        self._check_key(key.code, key.name, key.type_name())
        return self.get_hash(key.hash(self.seed))

    def contains_hash(self, key_hash):
        return self.get_hash(key_hash) is not None

    def add_hash(self, key_hash):
        raise ValueError("a sealed filter takes no more keys")

    def union(self, other):
        raise ValueError("filters of layout binary_fuse cannot be united: they no longer have their keys")

    def prefix(self, parts):
        """The filter of fewer fingerprint bits."""
        small = SealedFilter(self.layout, self.geometry._replace(parts=parts), self.seed, self.key_code, self.key_name, self.capacity)
        small.body[:self.slots_at] = self.body[:self.slots_at]
        small.keys = self.keys
        for block in range(self.geometry.blocks):
            for slot in range(self.geometry.part_bits):
                small._put_slot(block, slot, self._slot(block, slot) & (1 << parts) - 1)
        return small

    def bits_set(self):
        return _count_ones(self.body[self.slots_at:])

    def fpr(self):
        return 2.0 ** -self.fingerprint_bits if self.keys else 0.0

    def cardinality(self):
        return float(self.keys)


# Layouts whose body is more than bits.
CLASSES = {"binary_fuse": SealedFilter, "scalable": ScalableFilter, "dynamic_blocked": DynamicBlockedFilter, "age_partitioned": AgePartitionedFilter}


# --------------------------------------------------------------------------
# The command line
# --------------------------------------------------------------------------

def _parse_boolean(value):
    if value not in ("t", "true", "f", "false"):
        raise ValueError(f"true or false expected, not {value!r}")
    return value[0] == "t"


# Makes a key from a line of text, by key type.  A time may have ISO form or be the integer that PostgreSQL stores.
def _iso_or_integer(make, from_iso):
    def parse(value):
        return make(int(value) if value.lstrip("-").isdigit() else from_iso(value))
    return parse


PARSERS = {
    "integer": lambda value: integer(int(value)),
    "float": float8,
    "numeric": numeric,
    "text": text,
    "bytea": lambda value: bytea(bytes.fromhex(value[2:] if value.startswith("\\x") else value)),
    "uuid": uuid,
    "boolean": lambda value: boolean(_parse_boolean(value)),
    "date": _iso_or_integer(date, datetime.date.fromisoformat),
    "time": _iso_or_integer(time, datetime.time.fromisoformat),
    "timetz": lambda value: timetz(datetime.time.fromisoformat(value)),
    "timestamp": _iso_or_integer(timestamp, datetime.datetime.fromisoformat),
    "timestamptz": _iso_or_integer(timestamptz, datetime.datetime.fromisoformat),
    "interval": lambda value: interval(microseconds=int(value)),
    "inet": inet,
    "macaddr": macaddr,
    "macaddr8": macaddr8,
    "oid": lambda value: oid(int(value)),
    "money": lambda value: money(int(value)),
    "enum": enum,
    "bpchar": bpchar,
    "hash": lambda value: ready_hash(int(value, 0)),
}


def _read_filter(path):
    """Reads a filter from a file (- for standard input) that has the binary or the text form."""
    data = sys.stdin.buffer.read() if path == "-" else open(path, "rb").read()
    if data.startswith(MAGIC):
        return BloomFilter.from_bytes(data)
    return BloomFilter.from_text(data.decode("ascii", "replace").strip())


def _info(arguments):
    f = _read_filter(arguments.filter)
    g = f.geometry
    rows = [
        ("layout", f.layout), ("bits", g.bits), ("bytes", len(f.to_bytes()) + 4), ("blocks", g.blocks),
        ("parts", g.parts), ("part_bits", g.part_bits), ("hash_functions", g.k),
        ("key_type", f.key_type() if f.key_code else ""), ("seed", f.seed), ("capacity", f.capacity or ""),
        ("bits_set", f.bits_set()), ("fill", f.bits_set() / g.bits), ("cardinality", f.cardinality()), ("fpr", f.fpr()),
    ]
    for name, value in rows:
        print(f"{name:<14} {value}")
    return 0


def _contains(arguments):
    """Prints true or false for each key.  The exit status is 1 if one is definitely absent."""
    f = _read_filter(arguments.filter)
    parse = PARSERS.get(arguments.type or f.key_type())
    if parse is None:
        raise ValueError(f"cannot read keys of type {f.key_type()} from the command line; give --type")
    found = [f.contains(parse(value)) for value in arguments.key]
    for value, hit in zip(arguments.key, found):
        print(f"{'true' if hit else 'false'}\t{value}")
    return 0 if all(found) else 1


def _build(arguments):
    """Reads keys from standard input, one per line, and prints the text form of their filter."""
    f = BloomFilter.empty(*geometry_for_bits(arguments.layout, arguments.bits, arguments.k, arguments.options), seed=arguments.seed & MASK64)
    for line in sys.stdin:
        f.add(PARSERS[arguments.type](line.rstrip("\n")))
    print(f.to_text())
    return 0


def main(argv=None):
    parser = argparse.ArgumentParser(prog="bloomx", description="Bloom filters in the interchange format of bloomx.")
    commands = parser.add_subparsers(required=True, metavar="info | contains | build")

    info = commands.add_parser("info", help="what a filter is and holds, as SQL's bloom_info")
    info.add_argument("filter", help="a file with the binary or text form; - is standard input")
    info.set_defaults(run=_info)

    contains = commands.add_parser("contains", help="is each key in the filter? status 1 when one is not")
    contains.add_argument("filter", help="a file with the binary or text form; - is standard input")
    contains.add_argument("--type", choices=sorted(PARSERS), help="the key type; default: the filter's")
    contains.add_argument("key", nargs="+")
    contains.set_defaults(run=_contains)

    build = commands.add_parser("build", help="keys on standard input, one a line; prints the text form")
    build.add_argument("--type", choices=sorted(PARSERS), default="text", help="the key type; default: text")
    build.add_argument("--layout", choices=list(LAYOUTS.values()), default="partitioned_blocked")
    build.add_argument("--options", default="", help="as SQL's: name=value, name=value")
    build.add_argument("--bits", type=int, required=True, help="at most that many bits")
    build.add_argument("--k", type=lambda text: float(text) if "." in text else int(text), default=8, help="bits that a key sets, 1..64; default: 8")
    build.add_argument("--seed", type=int, default=0)
    build.set_defaults(run=_build)

    arguments = parser.parse_args(argv)
    try:
        return arguments.run(arguments)
    except (ValueError, OSError) as error:
        print(f"bloomx: {error}", file=sys.stderr)
        return 2

