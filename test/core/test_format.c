/*
 * test_format.c - the interchange format: every export can be imported, and
 * nothing else can.
 */
#include "exercise.h"

/* Offsets from docs/internals/FORMAT.md. */
enum
{
	MAGIC = 0, LAYOUT = 4, KEY_TYPE = 5, NAME_LEN = 6, HASHING = 7, BLOCKS = 8, SEED = 12, CAPACITY = 20,
	PART_BITS = 28, PARTS = 36, PROBES = 38, FRACTION = 40, EXPANDED = 42, PENDING = 43, BODY = 44
};

static const char long_name[] = "a_name_of_sixty_three_bytes_the_longest_that_a_type_can_have_63";

static blx_identity
random_identity(void)
{
	blx_identity id = {one_in(2) ? random64() : 0, (uint8_t) random_between(0, 20), 0, NULL};

	if (one_in(3))
	{
		id.key_type = BLX_KEY_NAMED;
		id.name = long_name;
		id.name_len = (uint8_t) random_between(1, BLX_MAX_NAME);
	}
	else if (one_in(10))
		id.key_type = BLX_KEY_HASH;
	return id;
}

static blx_filter *
random_filter(void)
{
	blx_geometry g = random_geometry(static_layouts[random64() % LENGTH(static_layouts)]);
	blx_identity id = random_identity();
	blx_filter *f;
	size_t		n = random_between(0, 100);

	if (one_in(5))
		return open_set(random_between(4, 9), one_in(2) ? &g : NULL, &id, random_hashes(n), n);
	f = blank(&g, &id, one_in(2) ? random64() >> 1 : 0);
	blx_add(f, random_hashes(n), n);
	if (resizes(&g) && one_in(3))
	{
		g = finer(g, 2);
		f = union_of(f, blank(&g, &id, 0));
	}
	return f;
}

/* Everything except the word that belongs to PostgreSQL. */
static bool
same_memory(const blx_filter *a, const blx_filter *b)
{
	return blx_size(a) == blx_size(b) && memcmp((const char *) a + 4, (const char *) b + 4, blx_size(a) - 4) == 0;
}

static void
round_trips(void)
{
	TEST("a filter of any layout survives export and import byte for byte, at any alignment of the bytes")
	for (int round = 0; round < 4000; round++, release())
	{
		blx_filter *f = random_filter(),
				   *again;
		uint64_t	length = blx_export_bytes(f),
					shift = random_between(0, 7);
		uint8_t    *unaligned = (uint8_t *) take(length + shift) + shift;
		blx_error	error;

		blx_export(f, unaligned);
		again = imported(unaligned, length, &error);
		if (!CHECK(again != NULL, "%s", error.message))
			continue;
		CHECK(bytes_equal(exported(again), (bytes) {unaligned, length}), "layout %u", f->layout);
		if (f->layout == BLX_HASHES)
		{
			CHECK(blx_hashes_count(f) == blx_hashes_count(again), "%" PRIu64 " hashes", blx_hashes_count(again));
			continue;
		}
		CHECK(same_memory(f, again), "layout %u", f->layout);
		CHECK(length + 4 == blx_size(f), "the value is 4 bytes and the format");
	}

	TEST("an import leaves the first four bytes of the value, PostgreSQL's, alone")
	for (int round = 0; round < 100; round++, release())
	{
		bytes		wire = exported(random_filter());
		blx_error	error;
		blx_filter *f = imported(wire.data, wire.length, &error);

		CHECK(f->host == 0xA5A5A5A5, "%08x", f->host);
	}

	TEST("a set of hashes is exported ascending, whatever the order and the table they came in")
	for (int round = 0; round < 500; round++, release())
	{
		size_t		n = random_between(0, 300);
		uint64_t   *hashes = random_hashes(n);
		bytes		first = exported(open_set(8, NULL, &no_identity, hashes, n)),
					second;

		for (size_t i = n; i > 1; i--)
		{
			size_t		j = random64() % i;
			uint64_t	swap = hashes[j];

			hashes[j] = hashes[i - 1];
			hashes[i - 1] = swap;
		}
		second = exported(open_set(random_between(4, 1000), NULL, &no_identity, hashes, n));
		CHECK(bytes_equal(first, second), "%zu hashes", n);
	}

	TEST("a set of hashes can always be imported again, also one that no hash function made")
	{
		uint64_t   *hashes = take(8 * 20000);
		static const char *const shapes[] = {"1, 2, 3 ...", "32-bit hashes", "the lowest eighth of the range", "two heaps"};

		for (size_t shape = 0; shape < LENGTH(shapes); shape++)
		{
			bytes		wire;
			blx_error	error;

			for (uint64_t i = 0; i < 20000; i++)
				hashes[i] = shape == 0 ? i + 1 : shape == 1 ? random64() >> 32 : shape == 2 ? random64() >> 3
					: (i % 2) << 63 | i;
			wire = exported(open_set(8, NULL, &no_identity, hashes, 20000));
			CHECK(imported(wire.data, wire.length, &error) != NULL, "%s: %s", shapes[shape], error.message);
		}
		release();
	}
}

static void
corruption(void)
{
	TEST("40,000 damaged values: an error, or a filter that is safe in every operation")
	{
		int			accepted = 0;

		for (int round = 0; round < 40000; round++, release())
		{
			bytes		wire = exported(random_filter());
			uint8_t    *data = take(wire.length + 100);
			uint64_t	length = wire.length;
			unsigned	damage = (unsigned) random_between(1, 4);

			memcpy(data, wire.data, length);
			switch (random64() % 5)
			{
				case 0:			/* change bytes anywhere */
					while (damage-- > 0 && length > 0)
						data[random64() % length] = (uint8_t) random64();
					break;
				case 1:			/* change bits of the header */
					while (damage-- > 0)
						data[random64() % BODY] ^= (uint8_t) (1 << random64() % 8);
					break;
				case 2:
					length = random64() % length;
					break;
				case 3:
					length += random_between(1, 100);
					memset(data + wire.length, one_in(2) ? 0 : 255, length - wire.length);
					break;
				case 4:			/* make a random header, plausible enough to pass the first checks */
					for (int i = LAYOUT; i < BODY; i++)
						if (one_in(3))
							data[i] = one_in(2) ? 0 : (uint8_t) random_between(0, 8);
					break;
			}
			/* memory of exactly that length, so that the sanitizer sees its end */
			accepted += exercise_bytes(memcpy(take(length), data, length), length);
		}
		note("%d of 40000 damaged values were still filters", accepted);
		CHECK(accepted > 1000, "%d", accepted);
	}

	TEST("every truncation and every extension of a value is refused")
	for (int round = 0; round < 100; round++, release())
	{
		bytes		wire = exported(random_filter());
		uint8_t    *longer = take(wire.length + 16);
		blx_error	error;

		memset(longer, 0, wire.length + 16);
		memcpy(longer, wire.data, wire.length);
		for (uint64_t length = 0; length < wire.length + 16; length += length > 200 ? 7 : 1)
			if (length != wire.length)
			{
				CHECK(!acceptable(longer, length, &error), "%" PRIu64 " of %" PRIu64, length, wire.length);
				CHECK(error.code == BLX_CORRUPT || error.code == BLX_LIMIT, "%s", error.message);
			}
		/* nothing of a header is looked at that is not there as a whole */
		longer[0] = 0;
		for (uint64_t length = 0; length < 44; length++)
			CHECK(!acceptable(longer, length, &error) && strstr(error.message, "shorter than its header"), "%" PRIu64 ": %s", length, error.message);
	}
}

/* A header with one field changed. */
static bytes
with_field(bytes wire, int offset, int width, uint64_t value)
{
	bytes		changed = {take(wire.length), wire.length};

	memcpy(changed.data, wire.data, wire.length);
	for (int i = 0; i < width; i++)
		changed.data[offset + i] = (uint8_t) (value >> 8 * i);
	return changed;
}

static void
expect(bytes wire, bool accepted, const char *what, uint64_t value)
{
	blx_error	error = {.code = BLX_OK};

	CHECK(acceptable(wire.data, wire.length, &error) == accepted, "%s %" PRIu64 ": %s", what, value,
		  accepted ? error.message : "accepted");
}

static void
header_limits(void)
{
	const blx_geometry geometries[] = {
		{BLX_STANDARD, 1, 1, 7, 1000},
		{BLX_PARTITIONED, 1, 7, 1, 1024},
		{BLX_BLOCKED, 16, 1, 7, 512},
		{BLX_PARTITIONED_BLOCKED, 16, 7, 1, 64},
		{BLX_HYBRID, 1, 7, 2, 1024},
		{BLX_RATIONAL, 1, 1, 7, 1000, .fraction = 30000},
		{BLX_VARIABLE_BLOCKED, 1, 1, 4, 1000, .fraction = 30000},
	};
	/* such values are valid under other layouts, too, if they have one block, one part and no fraction */
	enum
	{
		STANDARD, PARTITIONED, BLOCKED, PARTITIONED_BLOCKED, HYBRID, RATIONAL, VARIABLE_BLOCKED
	};
	static const bool also[][16] = {
		[STANDARD] = {[BLX_BLOCKED] = true, [BLX_HYBRID] = true, [BLX_RATIONAL] = true, [BLX_VARIABLE_BLOCKED] = true},
		[PARTITIONED] = {[BLX_HYBRID] = true},
		[RATIONAL] = {[BLX_VARIABLE_BLOCKED] = true},
		[VARIABLE_BLOCKED] = {[BLX_RATIONAL] = true},
	};

	TEST("header: magic, version, layout, hashing, fraction")
	for (size_t i = 0; i < LENGTH(geometries); i++, release())
	{
		bytes		wire = exported(blank(&geometries[i], &no_identity, 0));

		expect(wire, true, "the value itself", 0);
		for (int byte = 0; byte < 4; byte++)
			expect(with_field(wire, MAGIC + byte, 1, 'b'), false, "magic", (uint64_t) byte);
		for (uint64_t version = 0; version < 256; version++)
			expect(with_field(wire, MAGIC + 3, 1, version), version == 1, "version", version);
		for (uint64_t layout = 0; layout < 256; layout++)
			if (layout != geometries[i].layout)
				expect(with_field(wire, LAYOUT, 1, layout), i < LENGTH(also) && layout < LENGTH(also[0]) && also[i][layout], "layout", layout);
		for (uint64_t hashing = 1; hashing < 256; hashing++)
			expect(with_field(wire, HASHING, 1, hashing), hashing <= BLX_TRIPLE && (i == STANDARD || i == PARTITIONED || i == HYBRID), "hashing", hashing);
		for (int bit = 0; bit < 16; bit++)
			expect(with_field(wire, FRACTION, 2, 1u << bit), i >= RATIONAL, "a bit of fraction", (uint64_t) bit);
		for (uint64_t pending = 2; pending < 256; pending++)
			expect(with_field(wire, PENDING, 1, pending), false, "pending", pending);
	}

	TEST("header: exactly the key types of the table, a name exactly with code 255")
	{
		bytes		wire = exported(blank(&geometries[3], &no_identity, 0));

		for (uint64_t code = 0; code < 256; code++)
			expect(with_field(wire, KEY_TYPE, 1, code), code <= 20 || code == 254, "key type", code);
		for (uint64_t length = 1; length < 256; length++)
			expect(with_field(wire, NAME_LEN, 1, length), false, "name length without a name", length);
		for (unsigned length = 1; length <= BLX_MAX_NAME; length++)
		{
			blx_identity id = {0, BLX_KEY_NAMED, (uint8_t) length, long_name};
			bytes		named = exported(blank(&geometries[3], &id, 0));

			expect(named, true, "name length", length);
			expect(with_field(named, KEY_TYPE, 1, 1), false, "a name for a type that has one", length);
			for (uint64_t other = 0; other < 256; other++)
				if (other != length)
					expect(with_field(named, NAME_LEN, 1, other), false, "wrong name length", other);
			expect(with_field(named, BODY + (int) (random64() % length), 1, 0), false, "zero byte in a name", length);
			for (unsigned pad = length; pad % 8 != 0; pad++)
				expect(with_field(named, BODY + (int) pad, 1, 1), false, "padding that is not zero", pad);
		}
		release();
	}

	TEST("header: a geometry with a zero, with more than 64 bits per key, or that its layout cannot have")
	for (size_t i = 0; i < LENGTH(geometries); i++, release())
	{
		bytes		wire = exported(blank(&geometries[i], &no_identity, 0));

		expect(with_field(wire, BLOCKS, 4, 0), false, "blocks", 0);
		expect(with_field(wire, PARTS, 2, 0), false, "parts", 0);
		expect(with_field(wire, PROBES, 2, 0), i == RATIONAL, "probes", 0);
		expect(with_field(wire, PART_BITS, 8, 0), false, "part bits", 0);
		expect(with_field(wire, PROBES, 2, 65), false, "probes", 65);
		expect(with_field(wire, PARTS, 2, 65), false, "parts", 65);
		expect(with_field(wire, PARTS, 2, 0xFFFF), false, "parts", 0xFFFF);
		expect(with_field(wire, BLOCKS, 4, UINT32_MAX), false, "blocks", UINT32_MAX);
		expect(with_field(wire, PART_BITS, 8, UINT64_MAX), false, "part bits", UINT64_MAX);
		expect(with_field(wire, PART_BITS, 8, UINT64_C(1) << 63), false, "part bits", UINT64_C(1) << 63);
		expect(with_field(wire, PART_BITS, 8, (UINT64_C(1) << 61) + 64), false, "part bits", 0);
		expect(with_field(wire, BLOCKS, 4, geometries[i].blocks * 2), false, "twice the blocks", 0);
		expect(with_field(wire, PROBES, 2, 2), i != PARTITIONED && i != PARTITIONED_BLOCKED, "2 probes", 2);
	}

	TEST("header: expanded no more often than the resolution halves, and only where layouts expand")
	for (size_t i = 0; i < LENGTH(geometries); i++, release())
	{
		bytes		wire = exported(blank(&geometries[i], &no_identity, 0));
		uint64_t	most = i == PARTITIONED || i == HYBRID ? 10 : i == PARTITIONED_BLOCKED || i == BLOCKED ? 4 : i == VARIABLE_BLOCKED ? 0 : 3;

		for (uint64_t expanded = 0; expanded < 256; expanded++)
			expect(with_field(wire, EXPANDED, 1, expanded), expanded <= most, "expanded", expanded);
		expect(with_field(with_field(wire, EXPANDED, 1, 1), HASHING, 1, BLX_DOUBLE), false, "expanded with double hashing", 1);
	}

	TEST("body: a bit beyond the end of a part is refused")
	for (unsigned bits = 1; bits < 200; bits++, release())
	{
		blx_geometry g = {BLX_PARTITIONED, 1, 3, 1, bits};
		bytes		wire = exported(blank(&g, &no_identity, 0));
		unsigned	part_bytes = (bits + 63) / 64 * 8;

		for (unsigned part = 0; part < 3; part++)
			for (unsigned bit = 0; bit < part_bytes * 8; bit++)
				expect(with_field(wire, (int) (BODY + part * part_bytes + bit / 8), 1, 1u << bit % 8),
					   bit < bits, "bit", bit);
	}

	TEST("open set: count, order, geometry of the plan")
	{
		uint64_t	hashes[] = {5, UINT64_MAX, 0, 7};
		bytes		wire = exported(open_set(8, NULL, &no_identity, hashes, 4)),
					planned = exported(open_set(8, &geometries[3], &no_identity, hashes, 4));

		expect(wire, true, "the set", 4);
		expect(planned, true, "the planned set", 4);
		CHECK(wire.length == BODY + 8 + 4 * 8, "%" PRIu64 " bytes", wire.length);
		for (uint64_t count = 0; count < 9; count++)
			expect(with_field(wire, BODY, 8, count), count == 4, "count", count);
		expect(with_field(wire, BODY, 8, UINT64_MAX), false, "count", UINT64_MAX);
		expect(with_field(wire, BODY, 8, UINT64_C(1) << 61 | 4), false, "count", UINT64_C(1) << 61 | 4);
		expect(with_field(wire, BODY + 8, 8, 5), false, "twice the same hash", 5);
		expect(with_field(wire, BODY + 8, 8, 6), false, "descending", 6);
		expect(with_field(wire, BLOCKS, 4, 1), false, "geometry without a plan, blocks", 1);
		expect(with_field(wire, PARTS, 2, 1), false, "geometry without a plan, parts", 1);
		expect(with_field(wire, EXPANDED, 1, 1), false, "expanded set", 1);
		expect(with_field(planned, EXPANDED, 1, 1), false, "expanded set", 1);
		expect(with_field(planned, PENDING, 1, 99), false, "planned layout", 99);
		expect(with_field(planned, PENDING, 1, BLX_BLOCKED), false, "a plan that the layout cannot have", BLX_BLOCKED);
		expect(with_field(planned, BLOCKS, 4, 3), false, "planned blocks", 3);
		release();
	}
}

static void
memory(void)
{
	TEST("a value in memory: only its own size is accepted, and no size is read past its end")
	for (int round = 0; round < 300; round++, release())
	{
		blx_filter *f = random_filter();
		uint64_t	size = blx_size(f);
		blx_error	error;

		CHECK(blx_check(f, size, &error), "%s", error.message);
		CHECK(!blx_check(f, size + 8, &error) && !blx_check(f, size + 1, &error), "longer");
		CHECK(!blx_check(f, UINT64_MAX, &error), "far longer");
		for (uint64_t shorter = 0; shorter < size; shorter += shorter > 200 ? 37 : 1)
		{
			blx_filter *cut = take(shorter);

			memcpy(cut, f, shorter);
			CHECK(!blx_check(cut, shorter, &error), "%" PRIu64 " of %" PRIu64 " bytes", shorter, size);
		}
	}

	TEST("a value in memory with a damaged header: an error, or safe")
	{
		int			accepted = 0;

		for (int round = 0; round < 20000; round++, release())
		{
			blx_filter *f = random_filter();
			uint64_t	size = blx_size(f);
			blx_error	error;

			for (unsigned damage = (unsigned) random_between(1, 3); damage > 0; damage--)
				((uint8_t *) f)[random_between(4, sizeof(blx_filter) - 1)] ^= (uint8_t) (1 << random64() % 8);
			if (!blx_check(f, size, &error))
				continue;
			accepted++;
			if (f->layout == BLX_HASHES)
				exercise_set(f);
			else
				exercise_filter(f, false);
		}
		note("%d of 20000 were still filters", accepted);
	}

	TEST("an open set in memory whose count is not that of its slots is refused")
	{
		uint64_t   *hashes = new_hashes(4);
		blx_error	error;

		for (unsigned count = 0; count <= 8; count++)
		{
			blx_filter *f = open_set(8, NULL, &no_identity, hashes, 4);

			blx_words(f)[0] = count;
			CHECK(blx_check(f, blx_size(f), &error) == (count == 4), "count %u for 4 hashes in 8 slots", count);
		}
		release();
	}

	TEST("an open set in memory without a free slot is refused: a search would not end")
	for (unsigned slots = 1; slots <= 8; slots++, release())
	{
		blx_filter *f = take(blx_hashes_bytes(slots, 0));
		blx_error	error;

		blx_hashes_init(f, slots, NULL, &no_identity, 0);
		for (unsigned i = 0; i < slots; i++)
			blx_words(f)[3 + i] = random64();
		blx_words(f)[0] = slots;
		CHECK(!blx_check(f, blx_size(f), &error), "%u hashes in %u slots", slots, slots);
	}
}

int
main(void)
{
	random_seed(2);
	round_trips();
	corruption();
	header_limits();
	memory();
	return report();
}
