/*
 * bloomx.h - the core of bloomx: Bloom filters in plain C11.
 *
 * A filter is one block of memory: a header (struct blx_filter), the name of
 * its key type if it has one, and 64-bit words.  Every static layout is one
 * geometry: B blocks, each of P parts, each part S bits, H probes a part
 * (k = P*H bits a key, m = B*P*S bits in all).  Layouts built from static ones
 * (chains, rings, counters) describe what they are built of in the same terms
 * and keep what changes with the keys in their first words.  A filter takes
 * and answers 64-bit key hashes; hash.h makes them from canonical bytes.
 *
 * The core includes no PostgreSQL header, allocates nothing (the caller asks
 * for a size and brings the memory), never prints and never aborts.  Functions
 * that can fail return false and say why in a blx_error.
 *
 * A filter that passed blx_check, of any layout and whatever its header says,
 * may be given to every function here, an open state (BLX_HASHES) too: what has
 * no meaning is refused, or is nothing (false, 0, NAN for a rate), and what is
 * false has changed nothing but its output.  The time that a function takes is
 * bounded, or linear in the size of its filters and in the number of its hashes:
 * a tenth of a second or so for 64 MB.  It is for the caller to ask, between two
 * calls, whether to go on.
 *
 * Where things are:
 *   geometry.c   sizes, validation, the blank filter
 *   layouts.c    the table of layouts;  layout_*.c  one file a layout;  flat.c  what those without blocks share
 *   options.c    what a layout can be asked for besides size and rate
 *   filter.c     add, test, remove, grow
 *   algebra.c    union, intersection, disjointness, prefix, fold, expand
 *   estimate.c   fill, cardinality, false positive rate of present contents
 *   sizing.c     capacity and rate -> the smallest geometry
 *   loads.c      how many keys a block gets
 *   occupancy.c  which bits random throws set
 *   theory.c     the papers' formulas (theory.h)
 *   groups.c     parts in groups: the addressing that several layouts share
 *   hashes.c     the open state: a growing set of hashes
 *   slices.c     filters of one geometry, transposed (slices.h)
 *   format.c     the interchange format and its one validator
 *   simd.c       which kernels run here;  kernels_*.c  the loops for one kind of processor
 */
#ifndef BLX_BLOOM_H
#define BLX_BLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Only the module itself calls these: no detour through the table of symbols that others may replace. */
#pragma GCC visibility push(hidden)

/* The largest filter, header included: PostgreSQL's value limit, 1 GB - 1. */
#define BLX_MAX_BYTES UINT64_C(0x3fffffff)

/* Bits that one key sets: k = parts * probes (of a ring of parts, fewer) is 1 .. BLX_MAX_K. */
#define BLX_MAX_K 64

/* The longest name of a key type, in bytes. */
#define BLX_MAX_NAME 63

/* Layout numbers: stored, never to be reused. */
enum blx_layout_id
{
	BLX_HASHES = 0,				/* open state: a set of hashes, not yet a filter */
	BLX_STANDARD = 1,
	BLX_PARTITIONED = 2,
	BLX_BLOCKED = 3,
	BLX_PARTITIONED_BLOCKED = 4,
	BLX_HYBRID = 5,
	BLX_RATIONAL = 6,
	BLX_VARIABLE_BLOCKED = 7,
	BLX_SCALABLE = 8,
	BLX_DYNAMIC_BLOCKED = 9,
	BLX_AGE_PARTITIONED = 10,
	BLX_COUNTING = 11
};

/* How the probes of a key derive from its hash: stored, never to be reused. */
enum blx_hashing
{
	BLX_INDEPENDENT = 0,		/* w_j (hash.h) */
	BLX_DOUBLE = 1,				/* naive double hashing */
	BLX_ENHANCED_DOUBLE = 2,
	BLX_TRIPLE = 3
};

/* The unit of fractional k. */
#define BLX_FRACTION_ONE 65536

/* Words at the start of a body that belong to the geometry; their meaning is the layout's. */
#define BLX_MAX_PARAMETERS 3

/* Key type codes: stored, never to be reused (docs/FORMAT.md, "Key types: canonical bytes").  blx_key_type_name has their names. */
enum blx_key_type
{
	BLX_KEY_NONE = 0,			/* takes the first key's */
	BLX_KEY_INTEGER = 1,
	BLX_KEY_FLOAT = 2,
	BLX_KEY_NUMERIC = 3,
	BLX_KEY_TEXT = 4,
	BLX_KEY_BYTEA = 5,
	BLX_KEY_UUID = 6,
	BLX_KEY_BOOLEAN = 7,
	BLX_KEY_DATE = 8,
	BLX_KEY_TIME = 9,
	BLX_KEY_TIMETZ = 10,
	BLX_KEY_TIMESTAMP = 11,
	BLX_KEY_TIMESTAMPTZ = 12,
	BLX_KEY_INTERVAL = 13,
	BLX_KEY_INET = 14,
	BLX_KEY_MACADDR = 15,
	BLX_KEY_MACADDR8 = 16,
	BLX_KEY_OID = 17,
	BLX_KEY_MONEY = 18,
	BLX_KEY_ENUM = 19,
	BLX_KEY_BPCHAR = 20,
	BLX_KEY_HASH = 254,			/* ready-made 64-bit hashes */
	BLX_KEY_NAMED = 255			/* the name follows the header */
};

typedef enum blx_code
{
	BLX_OK = 0,
	BLX_INVALID_PARAMETER,		/* an argument outside its range */
	BLX_LIMIT,					/* larger than a filter can be */
	BLX_CORRUPT,				/* bytes that are no filter */
	BLX_MISMATCH,				/* two filters, or filter and key, that do not go together */
	BLX_UNSUPPORTED				/* an operation that this layout does not have */
} blx_code;

typedef struct blx_error
{
	blx_code	code;
	char		message[200];	/* lower case, no full stop */
	char		detail[200];	/* a sentence, or empty */
	char		hint[300];		/* a sentence, or empty */
} blx_error;

typedef struct blx_geometry
{
	uint8_t		layout;			/* enum blx_layout_id */
	uint32_t	blocks;			/* B >= 1 */
	uint16_t	parts;			/* P >= 1 */
	uint16_t	probes;			/* H >= 1, bits a key sets in each part */
	uint64_t	part_bits;		/* S >= 1 */
	uint8_t		hashing;		/* enum blx_hashing; not 0 only in flat layouts */
	uint16_t	fraction;		/* fractional bits a key sets, in 1/BLX_FRACTION_ONE */
	uint64_t	parameters[BLX_MAX_PARAMETERS]; /* as many as the layout has, then 0 */
} blx_geometry;

/*
 * The header.  `host` is PostgreSQL's length word; the core never reads it.
 * The rest is the interchange header in native byte order (format.c swaps).
 * The memory must be aligned to 8 bytes.
 */
typedef struct blx_filter
{
	uint32_t	host;
	uint8_t		magic[4];		/* 'B' 'L' 'X' and the format version */
	uint8_t		layout;
	uint8_t		key_type;
	uint8_t		name_len;		/* nonzero exactly when key_type is BLX_KEY_NAMED */
	uint8_t		hashing;
	uint32_t	blocks;
	uint64_t	seed;			/* of the key hash */
	uint64_t	capacity;		/* keys that it was planned for; 0 = not planned */
	uint64_t	part_bits;
	uint16_t	parts;
	uint16_t	probes;
	uint16_t	fraction;
	uint8_t		expanded;		/* log2 of the largest expansion among its sources */
	uint8_t		pending;		/* open state of an aggregate; 0 when finished */
} blx_filter;

/* Who the keys are: what two filters must share to be combined. */
typedef struct blx_identity
{
	uint64_t	seed;
	uint8_t		key_type;		/* enum blx_key_type or a code of docs/FORMAT.md */
	uint8_t		name_len;
	const char *name;			/* name_len bytes; only when BLX_KEY_NAMED */
} blx_identity;

/* Bytes of the header and the padded name. */
static inline size_t
blx_header_bytes(unsigned name_len)
{
	return sizeof(blx_filter) + ((name_len + 7u) & ~(size_t) 7);
}

static inline const char *
blx_name(const blx_filter *f)
{
	return (const char *) f + sizeof(blx_filter);
}

static inline uint64_t *
blx_words(blx_filter *f)
{
	return (uint64_t *) (void *) ((char *) f + blx_header_bytes(f->name_len));
}

static inline const uint64_t *
blx_cwords(const blx_filter *f)
{
	return (const uint64_t *) (const void *) ((const char *) f + blx_header_bytes(f->name_len));
}

/* ---- geometry.c ---- */

/* A finished filter's geometry (for BLX_HASHES: the planned one, layout = pending). Reads the body's parameters. */
extern blx_geometry blx_geometry_of(const blx_filter *f);
extern bool blx_geometry_equal(const blx_geometry *a, const blx_geometry *b);

/* Is it a geometry that the layout can have and that fits a value? */
extern bool blx_geometry_check(const blx_geometry *g, blx_error *error);

/*
 * k, the bits that a key sets, on average and rounded down; m = B*P*S; the body
 * of an empty filter in 64-bit words.  The geometry must be valid.
 */
extern double blx_bits_per_key(const blx_geometry *g);
extern unsigned blx_k(const blx_geometry *g);
extern uint64_t blx_bits(const blx_geometry *g);
extern uint64_t blx_body_words(const blx_geometry *g);

/* The size of an empty filter of that geometry with a key type name of name_len bytes. */
extern uint64_t blx_bytes(const blx_geometry *g, unsigned name_len);

/* The size of f as it is. */
extern uint64_t blx_size(const blx_filter *f);

/* An empty filter in blx_bytes() of memory (every byte after `host` is written). */
extern void blx_init(blx_filter *f, const blx_geometry *g, const blx_identity *id, uint64_t capacity);

/*
 * f with another identity, in blx_size(f) bytes plus the difference of the headers (`host` is left alone).
 * False, of an open state only: the hashes stand too close with the other key type (blx_hashes_copy).
 */
extern bool blx_copy_as(blx_filter *dst, const blx_filter *f, const blx_identity *id);

extern blx_identity blx_identity_of(const blx_filter *f);

/*
 * Do two filters (or a filter and a key) agree on seed and key type?  A key
 * type of BLX_KEY_NONE agrees with any.  The error calls the two what_a and what_b.
 */
extern bool blx_identity_check(const blx_identity *a, const char *what_a,
							   const blx_identity *b, const char *what_b, blx_error *error);

/* True if the two agree: blx_identity_check without the error. */
extern bool blx_same_keys(const blx_identity *a, const blx_identity *b);

/* The name of a key type: a literal, or the name in the identity copied to buf. */
extern const char *blx_key_type_name(const blx_identity *id, char buf[BLX_MAX_NAME + 1]);
extern bool blx_key_type_known(uint8_t code);

/* ---- layouts.c ---- */

extern const char *blx_layout_name(uint8_t layout);

/* The layout of that name, or an error that lists the names. */
extern bool blx_layout_by_name(const char *name, uint8_t *layout, blx_error *error);

/* Operations that a layout may not have. */
enum blx_operation
{
	BLX_UNION,
	BLX_INTERSECTION,
	BLX_DISJOINT,
	BLX_COMPARISON,				/* estimates of two filters */
	BLX_PREFIX,
	BLX_FOLD,
	BLX_OPERATIONS
};

/* Does the layout have that operation?  If not, an error that says why. */
extern bool blx_check_operation(uint8_t layout, enum blx_operation operation, blx_error *error);

/* What the rest of the world must know of a layout. */
enum blx_trait
{
	/* A key's second coming counts, or the order of keys does: distinct hashes are no substitute for the stream. */
	BLX_STREAM = 1,
	/* Takes any number of keys, by growing or by forgetting: never overfilled. */
	BLX_UNBOUNDED = 2,
	/* The header says all about the size, and blx_test_fetched works. */
	BLX_FETCHABLE = 4,
	/* blx_test_fetched works, but it, blx_check, blx_size and blx_bits_in need the first BLX_HEAD_BYTES. */
	BLX_HEAD_FETCHABLE = 8
};

/* A size that PostgreSQL stores in one piece. */
#define BLX_HEAD_BYTES 1736

extern unsigned blx_traits(uint8_t layout);

/* ---- options.c ---- */

enum blx_option
{
	BLX_OPT_HASHING,			/* enum blx_hashing */
	BLX_OPT_PROBES,				/* hybrid: in each part */
	BLX_OPT_BLOCK_BITS,
	BLX_OPT_GROWTH,				/* size of a stage over that of the one before */
	BLX_OPT_TIGHTENING,			/* rate of a stage over that of the one before */
	BLX_OPT_GENERATIONS,		/* age_partitioned: l */
	BLX_OPTIONS
};

/* One value for each option; what the layout does not have is ignored. */
typedef struct blx_options
{
	double		value[BLX_OPTIONS];
} blx_options;

/* The presets of a layout. */
extern blx_options blx_default_options(uint8_t layout);

/*
 * Reads "name=value, name=value" (or nothing) over the presets.  Errors name
 * the option, its range, and what the layout has.
 */
extern bool blx_parse_options(uint8_t layout, const char *text, blx_options *options, blx_error *error);

extern const char *blx_hashing_name(uint8_t hashing);

/* ---- filter.c ---- */

/*
 * Adds key hashes, in order; returns how many it took.  Fewer than n: the
 * filter must grow (blx_grow) before it takes the next.  Layouts of a fixed
 * size take all.
 */
extern size_t blx_add(blx_filter *f, const uint64_t *hashes, size_t n);

/* The size that f must grow to; BLX_LIMIT when that is larger than a filter can be. */
extern bool blx_grown_bytes(const blx_filter *f, uint64_t *bytes, blx_error *error);

/* f, grown, in that much memory (`host` is left alone); false if f does not grow, or is a set that must grow more. */
extern bool blx_grow(blx_filter *dst, const blx_filter *f);

/* False: the key is certainly not in f.  True: it probably is. */
extern bool blx_test(const blx_filter *f, uint64_t hash);

/* Many tests at once, whose blocks are fetched together: bit i of the answer is that of hash i.  n is at most 64. */
extern uint64_t blx_test_batch(const blx_filter *f, const uint64_t *hashes, unsigned n);

/*
 * The same for a filter of which only the header is in memory, or the head
 * (enum blx_trait): fetch brings words first .. first+n-1 of its body, n at most
 * BLX_MAX_FETCH, good until the next call.
 */
#define BLX_MAX_FETCH 32

typedef const uint64_t *(*blx_fetch) (void *arg, uint64_t first, unsigned n);
extern bool blx_test_fetched(const blx_filter *header, uint64_t hash, blx_fetch fetch, void *arg);

/*
 * Takes n keys out, each once; *removed counts those that f said are there.
 * The others change nothing, but that f counts them.  Only keys that were
 * added may be removed: after the removal of a false positive other keys may
 * not be found any more.
 */
extern bool blx_remove(blx_filter *f, const uint64_t *hashes, size_t n, size_t *removed, blx_error *error);

/* The geometry of f without its counters, and f's keys added to an empty filter of it. */
extern bool blx_to_bits_geometry(const blx_filter *f, blx_geometry *g, blx_error *error);
extern bool blx_to_bits(blx_filter *dst, const blx_filter *f);

/* ---- algebra.c ---- */

/* The geometry of the prefix of `parts` parts, 1 .. parts of f. */
extern bool blx_prefix_geometry(const blx_filter *f, int64_t parts, blx_geometry *g, blx_error *error);

/*
 * Of a filter of which only the beginning is in memory: the words of its body
 * that blx_or_into needs for that prefix.  Only BLX_FETCHABLE layouts.
 */
extern uint64_t blx_prefix_words(const blx_filter *header, const blx_geometry *g);

/* Makes it the prefix, of as many words, where that needs no others: no part of a group is dropped without the group. */
extern bool blx_cut(blx_filter *f, const blx_geometry *g);

/* The geometry after `times` halvings of blocks (or of part_bits in the flat layout). */
extern bool blx_fold_geometry(const blx_filter *f, int64_t times, blx_geometry *g, blx_error *error);

/*
 * The union of two filters: its size, and the filter in that much memory
 * (`host` is left alone), with the key type of id.  The error names what differs.
 */
extern bool blx_union_bytes(const blx_filter *a, const blx_filter *b, unsigned name_len,
							uint64_t *bytes, blx_error *error);
extern bool blx_union(blx_filter *dst, const blx_filter *a, const blx_filter *b, const blx_identity *id);

/*
 * The geometries of a | b and a & b (docs/FORMAT.md, "Combining filters"); the error names what differs.
 * Only layouts whose union has a size that follows from the two sizes.
 */
extern bool blx_union_geometry(const blx_filter *a, const blx_filter *b, blx_geometry *g, blx_error *error);
extern bool blx_intersection_geometry(const blx_filter *a, const blx_filter *b, blx_geometry *g, blx_error *error);

/* The largest geometry that both fold and prefix to exactly: where estimates compare them. */
extern bool blx_common_geometry(const blx_filter *a, const blx_filter *b, blx_geometry *g, blx_error *error);

/* f as it was before any expansion: where cardinality is estimated. */
extern blx_geometry blx_unexpanded_geometry(const blx_filter *f);

/*
 * dst, an empty filter of a geometry made by one of the above, takes the keys
 * of src: folding, expanding and dropping parts as the geometries say.
 */
extern bool blx_or_into(blx_filter *dst, const blx_filter *src);

/*
 * a & b: set all bits of an empty filter of blx_intersection_geometry(a, b),
 * then and both into it.  A filter of that geometry may itself be dst.
 */
extern bool blx_set_all(blx_filter *dst);
extern bool blx_and_into(blx_filter *dst, const blx_filter *src);

/* Sets *certain when no key can be in both. */
extern bool blx_disjoint(const blx_filter *a, const blx_filter *b, bool *certain, blx_error *error);

/*
 * The smallest prefix and fold of f whose false positive rate, with f's
 * present contents, is at most fpr.  scratch: blx_shrink_scratch(f) bytes.
 */
extern uint64_t blx_shrink_scratch(const blx_filter *f);
extern bool blx_shrink_geometry(const blx_filter *f, double fpr, blx_filter *scratch,
								blx_geometry *g, blx_error *error);

/* Order by key type, seed, geometry and words: 0 when they answer every query alike. */
extern int	blx_compare(const blx_filter *a, const blx_filter *b);

/* A hash of what blx_compare compares. */
extern uint64_t blx_value_hash(const blx_filter *f, uint64_t seed);

/* ---- estimate.c ---- */

/* Bits (of a counting filter: cells) that f has, as it is, and how many are set; 0 for an open state. */
extern uint64_t blx_bits_in(const blx_filter *f);
extern uint64_t blx_bits_set(const blx_filter *f);

/* Keys in f from its fill (Swamidass & Baldi 2007); INFINITY when full.  f->expanded must be 0. */
extern double blx_cardinality(const blx_filter *f);

/* What only this layout has to tell: each name with a number, or with a text. */
typedef void (*blx_tell) (void *arg, const char *name, double number, const char *text);
extern void blx_details(const blx_filter *f, blx_tell tell, void *arg);

/* The standard error of blx_cardinality for a filter of geometry g that holds n keys. */
extern double blx_cardinality_error(const blx_geometry *g, double n);

/* The false positive rate for a key not in f, over random hashes: exact, from the bits as they are. */
extern double blx_fpr(const blx_filter *f);

/* ---- sizing.c ---- */

/* The expected false positive rate with n keys: the layout's exact formula. */
extern double blx_fpr_expected(const blx_geometry *g, uint64_t n);

/* The rate that a plan for that capacity promises: of a layout that takes any number of keys the most that it is with any. */
extern double blx_fpr_planned(const blx_geometry *g, uint64_t capacity);

/* The smallest geometry of a layout with blx_fpr_planned(g, capacity) < fpr.  options NULL = the presets. */
extern bool blx_plan(uint8_t layout, uint64_t capacity, double fpr, const blx_options *options,
					 blx_geometry *g, blx_error *error);

/* The geometry of `bits` bits and k probes: the largest that does not exceed bits. */
extern bool blx_plan_bits(uint8_t layout, int64_t bits, double k, const blx_options *options,
						  blx_geometry *g, blx_error *error);

/* The most keys for which blx_fpr_expected(g, n) < fpr. */
extern uint64_t blx_capacity(const blx_geometry *g, double fpr);

/*
 * The geometry of a layout for that many keys in at most `bytes` bytes:
 * the smallest of rate fpr, or else the one of the lowest rate; false when even
 * that is above a half.
 */
extern bool blx_plan_within(uint8_t layout, uint64_t bytes, uint64_t keys, double fpr, blx_geometry *g);

/* The partitioned_blocked geometry that carries the most keys at rate fpr in at most `bytes` bytes. */
extern bool blx_plan_bytes(uint64_t bytes, double fpr, blx_geometry *g, blx_error *error);

/* ---- simd.c ---- */

/* Kinds of kernels.  All set the same bits and give the same answers. */
enum blx_simd_path
{
	BLX_SIMD_AUTO,				/* the fastest that this processor runs: the choice at load */
	BLX_SIMD_SCALAR,
	BLX_SIMD_AVX2,
	BLX_SIMD_AVX512,
	BLX_SIMD_NEON,
	BLX_SIMD_PATHS
};

/* Do processor and operating system run that path?  The error names those that they run. */
extern bool blx_simd_check(enum blx_simd_path path, blx_error *error);

/* Takes a path that runs here from now on, for the whole process. */
extern void blx_simd_set(enum blx_simd_path path);

/* The path in use: "scalar", "avx2", "avx512" or "neon". */
extern const char *blx_simd_name(void);

/* ---- format.c ---- */

/* The one validator: is this memory of `size` bytes a filter whose geometry matches it? */
extern bool blx_check(const blx_filter *f, uint64_t size, blx_error *error);

/* The interchange format of f: its length, and the bytes. */
extern uint64_t blx_export_bytes(const blx_filter *f);
extern void blx_export(const blx_filter *f, uint8_t *out);

/* Validates interchange bytes; *size is the memory that blx_import needs. */
extern bool blx_import_check(const uint8_t *in, uint64_t length, uint64_t *size, blx_error *error);

/*
 * Reads bytes that passed blx_import_check into that much memory (`host` is
 * left alone), and checks the body as no later reader will.
 */
extern bool blx_import(const uint8_t *in, uint64_t length, blx_filter *f, blx_error *error);

#pragma GCC visibility pop

#endif							/* BLX_BLOOM_H */
