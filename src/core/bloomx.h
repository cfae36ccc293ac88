/*
 * bloomx.h - Bloom filters in plain C: the library behind the PostgreSQL
 * extension bloomx.
 *
 * A filter answers "is this key possibly in that set?".  It never says no to a
 * key that it holds; to other keys it says yes at a rate that is planned and
 * can be computed exactly.  Filters made here and filters made by the
 * extension are the same bytes: blx_export writes what SQL casts from bytea,
 * and blx_import reads what SQL casts to bytea (docs/internals/FORMAT.md).
 *
 *     blx_error error;
 *     blx_geometry g;
 *     blx_identity keys = {.key_type = BLX_KEY_TEXT};
 *
 *     if (!blx_plan(BLX_PARTITIONED_BLOCKED, 1000000, 0.01, NULL, &g, &error))
 *         fail(error.message);
 *     blx_filter *f = blx_new(&g, &keys, 1000000, NULL, &error);
 *     uint64_t h = blx_hash("some key", 8, keys.seed);
 *     if (!blx_grow_add(&f, &h, 1, NULL, &error)) ...
 *     if (blx_test(f, h)) ...
 *     blx_free(f, NULL);
 *
 * Units.  Keys are 64-bit hashes made by blx_hash.  A geometry is B blocks of
 * P parts of S bits, with H probes in each part: a key sets k = P * H bits of
 * the m = B * P * S.  Sizes are bytes unless a name says bits or words.
 *
 * Errors.  A function that can fail returns false, or NULL, and writes the
 * reason into its blx_error, which may be NULL.  Every value of an argument's
 * type is allowed: what is out of range is an error, never undefined.  Filters
 * are the exception: a pointer must point to a filter that this library made,
 * or that blx_check has accepted.
 *
 * Threads.  The library has no state but the choice of kernels, which is made
 * when it is loaded.  Any number of threads may read one filter; to change it a
 * thread must have it alone.
 *
 * Memory.  Functions that make a filter take it from a blx_memory; NULL stands
 * for malloc and free.  The library keeps no pointer to anything it is given.
 */
#ifndef BLX_BLOOMX_H
#define BLX_BLOOMX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLX_VERSION_MAJOR 1
#define BLX_VERSION_MINOR 0
#define BLX_VERSION_PATCH 0
#define BLX_VERSION (BLX_VERSION_MAJOR * 10000 + BLX_VERSION_MINOR * 100 + BLX_VERSION_PATCH)

#ifdef __cplusplus
extern "C"
{
#endif

/*
 * The PostgreSQL module compiles the core into itself: there nothing may be
 * replaced by another library's symbols, nor called by a detour.
 */
#ifdef BLX_INSIDE
#pragma GCC visibility push(hidden)
#else
#pragma GCC visibility push(default)
#endif

/* The version of the library that is linked, as BLX_VERSION. */
extern unsigned blx_version(void);

/* ---- limits and codes ---- */

/* The largest filter, header included: PostgreSQL's value limit, 1 GB - 1. */
#define BLX_MAX_BYTES UINT64_C(0x3fffffff)

/* k, the bits that one key sets, is 1 .. BLX_MAX_K: parts * probes, or fewer in a ring of parts. */
#define BLX_MAX_K 64

/* The false positive rate of a filter whose builder did not ask for one. */
#define BLX_DEFAULT_FPR 0.01

/* The longest name of a key type, in bytes. */
#define BLX_MAX_NAME 63

/* The most keys of one blx_test_batch: its answer has a bit for each, in one word. */
#define BLX_BATCH 64

/* Layouts (docs/internals/design.md).  The numbers are stored: never reuse one. */
enum blx_layout_id
{
	BLX_HASHES = 0,				/* the open set: distinct hashes, not yet a filter */
	BLX_STANDARD = 1,			/* Bloom 1970: one array of bits */
	BLX_PARTITIONED = 2,		/* Mullin 1983; Almeida 2022: k parts, one probe in each */
	BLX_BLOCKED = 3,			/* Putze, Sanders, Singler 2009: a small standard filter per block */
	BLX_PARTITIONED_BLOCKED = 4,	/* the default: Almeida 2022, section 6.1 */
	BLX_HYBRID = 5,				/* k/h parts, h probes in each: Almeida 2022, section 1 */
	BLX_RATIONAL = 6,			/* k need not be whole: Walther, Mansour, Werner */
	BLX_VARIABLE_BLOCKED = 7,	/* blocks of unequal sizes: the same */
	BLX_SCALABLE = 8,			/* a chain that grows: Almeida et al. 2007 */
	BLX_DYNAMIC_BLOCKED = 9,	/* each block grows: Kaler */
	BLX_AGE_PARTITIONED = 10,	/* a sliding window: Shtul, Baquero, Almeida 2020 */
	BLX_COUNTING = 11,			/* counters of 4 bits, so that keys can be removed */
	BLX_BINARY_FUSE = 12		/* sealed: built once of all keys.  Graf, Lemire 2022 */
};

/* How the probes of a key derive from its hash (Almeida 2022, section 5).  Stored: never reuse one. */
enum blx_hashing
{
	BLX_INDEPENDENT = 0,
	BLX_DOUBLE = 1,
	BLX_ENHANCED_DOUBLE = 2,
	BLX_TRIPLE = 3
};

/* What keys are (docs/internals/FORMAT.md says how each type's values become bytes).  Stored: never reuse a number. */
enum blx_key_type
{
	BLX_KEY_NONE = 0,			/* not known yet: the filter takes the type of its first key */
	BLX_KEY_INTEGER = 1,		/* int2, int4, int8: eight bytes, the lowest first */
	BLX_KEY_FLOAT = 2,
	BLX_KEY_NUMERIC = 3,
	BLX_KEY_TEXT = 4,			/* text, varchar, name: the bytes as they are */
	BLX_KEY_BYTEA = 5,
	BLX_KEY_UUID = 6,
	BLX_KEY_BOOLEAN = 7,
	BLX_KEY_DATE = 8,
	BLX_KEY_TIME = 9,
	BLX_KEY_TIMETZ = 10,
	BLX_KEY_TIMESTAMP = 11,
	BLX_KEY_TIMESTAMPTZ = 12,
	BLX_KEY_INTERVAL = 13,
	BLX_KEY_INET = 14,			/* inet, cidr */
	BLX_KEY_MACADDR = 15,
	BLX_KEY_MACADDR8 = 16,
	BLX_KEY_OID = 17,
	BLX_KEY_MONEY = 18,
	BLX_KEY_ENUM = 19,			/* the label */
	BLX_KEY_BPCHAR = 20,		/* char(n): the bytes without trailing blanks */
	BLX_KEY_HASH = 254,			/* ready-made 64-bit hashes */
	BLX_KEY_NAMED = 255			/* any other type: its name follows the header */
};

typedef enum blx_code
{
	BLX_OK = 0,
	BLX_INVALID_PARAMETER,		/* an argument outside its range */
	BLX_LIMIT,					/* larger than a filter can be */
	BLX_CORRUPT,				/* bytes that are no filter */
	BLX_MISMATCH,				/* two filters, or filter and key, that do not go together */
	BLX_UNSUPPORTED,			/* an operation that this layout does not have */
	BLX_NO_MEMORY,				/* the allocator gave none */
	BLX_AMBIGUOUS				/* two values for one key */
} blx_code;

typedef struct blx_error
{
	blx_code	code;
	char		message[200];	/* lower case, no full stop */
	char		detail[200];	/* a sentence, or empty */
	char		hint[300];		/* a sentence, or empty */
} blx_error;

/* Where filters come from and go to.  alloc gives memory aligned to 8 bytes, or NULL. */
typedef struct blx_memory
{
	void	   *(*alloc) (void *arg, size_t bytes);
	void		(*free) (void *arg, void *memory);
	void	   *arg;
} blx_memory;

/* ---- geometry ---- */

/* The unit of a fractional k. */
#define BLX_FRACTION_ONE 65536

/* Words at the start of a body that belong to the geometry; their meaning is the layout's. */
#define BLX_MAX_PARAMETERS 3

typedef struct blx_geometry
{
	uint8_t		layout;			/* enum blx_layout_id */
	uint32_t	blocks;			/* B >= 1 */
	uint16_t	parts;			/* P >= 1 */
	uint16_t	probes;			/* H: bits that a key sets in each part */
	uint64_t	part_bits;		/* S >= 1 */
	uint8_t		hashing;		/* enum blx_hashing; not 0 only in layouts without blocks */
	uint16_t	fraction;		/* of one more bit per key, in 1/BLX_FRACTION_ONE */
	uint64_t	parameters[BLX_MAX_PARAMETERS]; /* as many as the layout has, then 0 */
} blx_geometry;

/* What a plan can ask of a layout besides size and rate. */
enum blx_option
{
	BLX_OPT_HASHING,			/* enum blx_hashing */
	BLX_OPT_PROBES,				/* hybrid: probes in each part */
	BLX_OPT_BLOCK_BITS,
	BLX_OPT_GROWTH,				/* size of a stage over that of the one before */
	BLX_OPT_TIGHTENING,			/* rate of a stage over that of the one before */
	BLX_OPT_GENERATIONS,		/* age_partitioned: l */
	BLX_OPT_FINGERPRINT_BITS,	/* binary_fuse: in place of the rate */
	BLX_OPTIONS
};

/* One value per option.  Options that the layout does not have are ignored. */
typedef struct blx_options
{
	double		value[BLX_OPTIONS];
} blx_options;

/* "partitioned_blocked", ...; "unknown" for a number that is none. */
extern const char *blx_layout_name(uint8_t layout);

/* The layout of that name, in upper or lower case.  BLX_INVALID_PARAMETER with a hint that lists the names. */
extern bool blx_layout_by_name(const char *name, uint8_t *layout, blx_error *error);

/* Reads "name=value, name=value" (or "") over the presets of the layout.  BLX_INVALID_PARAMETER names the option and its range. */
extern bool blx_parse_options(uint8_t layout, const char *text, blx_options *options, blx_error *error);

/*
 * The smallest geometry whose false positive rate with `capacity` keys is below
 * fpr (of binary_fuse: at most fpr), by the exact formula of the layout.  In its place, partitioned_blocked and
 * counting take one of 8 parts that is at most 15 % larger: it is faster.
 * capacity is 1 .. 2^63 - 1, fpr between 0 and 1, both excluded; options NULL
 * stands for the presets.
 * BLX_LIMIT when no filter of at most BLX_MAX_BYTES does; the hint says how many keys fit.
 */
extern bool blx_plan(uint8_t layout, uint64_t capacity, double fpr, const blx_options *options,
					 blx_geometry *g, blx_error *error);

/* The largest geometry of at most `bits` bits (1 or more) and k probes (1 .. BLX_MAX_K, whole; layouts that take a fraction also take less than 1). */
extern bool blx_plan_bits(uint8_t layout, int64_t bits, double k, const blx_options *options,
						  blx_geometry *g, blx_error *error);

/* The expected false positive rate with n keys, over random hashes: the exact formula of the layout (theory/theory.h). */
extern double blx_fpr_expected(const blx_geometry *g, uint64_t n);

/* The rate that a plan for that capacity promises.  If the layout takes any number of keys: its highest rate with any number. */
extern double blx_fpr_planned(const blx_geometry *g, uint64_t capacity);

/* The most keys for which blx_fpr_expected(g, n) < fpr. */
extern uint64_t blx_capacity(const blx_geometry *g, double fpr);

extern bool blx_geometry_equal(const blx_geometry *a, const blx_geometry *b);

/* m = B * P * S, and the bytes of an empty filter whose key type has a name of name_len bytes.  0 if g is no geometry. */
extern uint64_t blx_bits(const blx_geometry *g);
extern uint64_t blx_bytes(const blx_geometry *g, unsigned name_len);

/* ---- a filter ---- */

/*
 * One block of memory aligned to 8 bytes: this header, the padded name of the
 * key type if it has one, and 64-bit words.  For reading; functions change it.
 */
typedef struct blx_filter
{
	uint32_t	host;			/* the host's: the library keeps it and never reads it */
	uint8_t		magic[4];		/* 'B' 'L' 'X' and the format version */
	uint8_t		layout;
	uint8_t		key_type;
	uint8_t		name_len;		/* not 0 exactly when key_type is BLX_KEY_NAMED */
	uint8_t		hashing;
	uint32_t	blocks;
	uint64_t	seed;			/* of the key hash */
	uint64_t	capacity;		/* keys that it was planned for; 0: not planned.  While its size is open: a rate, as bits */
	uint64_t	part_bits;
	uint16_t	parts;
	uint16_t	probes;
	uint16_t	fraction;
	uint8_t		expanded;		/* log2 of the largest expansion among the filters it was united of */
	uint8_t		pending;		/* of an open set: the layout that it is to become, 0 if its count decides;
								 * of a filter: 1 until blx_finish cuts it */
} blx_filter;

/* Whose the keys are: what two filters must share to be combined. */
typedef struct blx_identity
{
	uint64_t	seed;			/* of blx_hash */
	uint8_t		key_type;		/* enum blx_key_type */
	uint8_t		name_len;
	const char *name;			/* name_len bytes; only for BLX_KEY_NAMED */
} blx_identity;

/* An empty filter.  capacity is what it promises to hold, at most 2^63 - 1 (0: nothing is promised). */
extern blx_filter *blx_new(const blx_geometry *g, const blx_identity *id, uint64_t capacity,
						   const blx_memory *memory, blx_error *error);

/* The same in blx_bytes(g, id->name_len) bytes of the caller's, of a geometry that a plan gave. */
extern void blx_init(blx_filter *f, const blx_geometry *g, const blx_identity *id, uint64_t capacity);

extern void blx_free(blx_filter *f, const blx_memory *memory);

/* The geometry (of an open set: the planned one, or all 0), the identity (its name points into f), the bytes of f. */
extern blx_geometry blx_geometry_of(const blx_filter *f);
extern blx_identity blx_identity_of(const blx_filter *f);
extern uint64_t blx_size(const blx_filter *f);

/* The name of a key type: a literal, or the name in the identity copied to buf. */
extern const char *blx_key_type_name(const blx_identity *id, char buf[BLX_MAX_NAME + 1]);

/*
 * True if two filters, or a filter and a key, agree on seed and key type;
 * BLX_KEY_NONE agrees with every type.  BLX_MISMATCH says what differs; of two
 * filters it calls the first what_a, at the start of a sentence, and the other what_b.
 */
extern bool blx_identity_check(const blx_identity *a, const char *what_a,
							   const blx_identity *b, const char *what_b, blx_error *error);
extern bool blx_key_check(const blx_identity *filter, const blx_identity *key, blx_error *error);

/* ---- keys ---- */

/* The hash of a key: XXH3, with the filter's seed, of the canonical bytes that docs/internals/FORMAT.md gives for its type. */
extern uint64_t blx_hash(const void *bytes, size_t length, uint64_t seed);

/*
 * Adds n hashes to *f, which moves when it grows: the old one is freed.  False
 * if it cannot grow any further (BLX_LIMIT, BLX_NO_MEMORY): then *f is whole
 * and holds some of the hashes.
 */
extern bool blx_grow_add(blx_filter **f, const uint64_t *hashes, size_t n, const blx_memory *memory, blx_error *error);

/* False: the key is certainly not in f.  True: it probably is. */
extern bool blx_test(const blx_filter *f, uint64_t hash);

/* Bit i of the answer is the test of hash i; n is at most BLX_BATCH.  The blocks of all are fetched together. */
extern uint64_t blx_test_batch(const blx_filter *f, const uint64_t *hashes, unsigned n);

/*
 * Takes n keys out of a counting filter, each once; *removed (or NULL) counts
 * those that f said are there.  Remove only what was added: after the removal
 * of a false positive other keys may not be found any more.
 */
extern bool blx_remove(blx_filter *f, const uint64_t *hashes, size_t n, size_t *removed, blx_error *error);

/*
 * Sets *count to at least the number of times that a key was added to a counting
 * filter and not removed.  The bound is exact unless other keys share all of
 * its counters.  15 means 15 or more.
 */
extern bool blx_count(const blx_filter *f, uint64_t hash, unsigned *count, blx_error *error);

/* ---- maps: sealed filters with a value for each key ---- */

typedef struct blx_entry
{
	uint64_t	hash;			/* as blx_hash makes it */
	uint32_t	value;			/* below 2^24 */
} blx_entry;

/*
 * A binary_fuse filter of the n keys that gives the value of each.  Of the planned geometry
 * only the fingerprint counts.  The entries are sorted and changed.  BLX_AMBIGUOUS if a key
 * has two values; one that comes twice with one value is no error.  poll (or NULL) is called now
 * and then, and need not return.
 */
extern blx_filter *blx_build_map(const blx_geometry *planned, const blx_identity *id, blx_entry *entries, uint64_t n,
								 const blx_memory *memory, void (*poll) (void), blx_error *error);

/*
 * Sets *found as blx_test does, and *value, if found, to the key's value: that of a key of the
 * map, any number for another.  BLX_UNSUPPORTED if f has no values.
 */
extern bool blx_get(const blx_filter *f, uint64_t hash, bool *found, uint32_t *value, blx_error *error);

/* ---- open sets: filters whose size is not known yet ---- */

/*
 * A set of distinct hashes, which blx_grow_add grows.  planned is the geometry
 * that it becomes as soon as that is smaller, or NULL: then blx_finish sizes it.
 */
extern blx_filter *blx_open(const blx_geometry *planned, const blx_identity *id, uint64_t capacity,
							const blx_memory *memory, blx_error *error);

/*
 * The finished filter of an open set, a new one: the planned one, or the smallest
 * of rate fpr for its keys.  A copy of any other filter.  A set that outgrew
 * BLX_MAX_BYTES is a filter planned for 1 % by then, which may not meet a lower fpr.
 */
extern blx_filter *blx_finish(const blx_filter *open, double fpr, const blx_memory *memory, blx_error *error);

/* ---- algebra: each makes a new filter (docs/internals/design.md, "The algebra") ---- */

/*
 * The union, and the intersection, which loses no key that both hold.  Filters of
 * a fixed size, but for variable_blocked, may differ in resolution by a power of
 * two, and in parts where they have any.  The others, but for scalable, must have
 * one geometry (docs/internals/FORMAT.md, "Combining filters").  BLX_MISMATCH names what differs; BLX_UNSUPPORTED says why
 * a layout does not have the operation.
 */
extern blx_filter *blx_unite(const blx_filter *a, const blx_filter *b, const blx_memory *memory, blx_error *error);
extern blx_filter *blx_intersect(const blx_filter *a, const blx_filter *b, const blx_memory *memory, blx_error *error);

/* Sets *certain to true if no key can be in both, else to false. */
extern bool blx_disjoint(const blx_filter *a, const blx_filter *b, bool *certain, blx_error *error);

/*
 * Smaller filters of the same keys: the first `parts` parts; the blocks halved
 * `times` times; the smallest of both kinds whose rate, with f's contents, is at
 * most fpr.
 */
extern blx_filter *blx_prefix(const blx_filter *f, int64_t parts, const blx_memory *memory, blx_error *error);
extern blx_filter *blx_fold(const blx_filter *f, int64_t times, const blx_memory *memory, blx_error *error);
extern blx_filter *blx_shrink(const blx_filter *f, double fpr, const blx_memory *memory, blx_error *error);

/* Orders filters by key type, seed, geometry and words: 0 if they answer every query alike.  And a hash of what it compares. */
extern int	blx_compare(const blx_filter *a, const blx_filter *b);
extern uint64_t blx_value_hash(const blx_filter *f, uint64_t seed);

/* ---- estimates ---- */

/* Bits (of a counting filter: counters) that f has, and how many are set (are not 0); 0 for an open set. */
extern uint64_t blx_bits_in(const blx_filter *f);
extern uint64_t blx_bits_set(const blx_filter *f);

/* Keys in f from its fill (Swamidass and Baldi 2007); INFINITY when every bit is set. */
extern double blx_cardinality(const blx_filter *f);

/* The standard error of blx_cardinality for a filter of geometry g that holds n keys; of variable_blocked an upper bound. */
extern double blx_cardinality_error(const blx_geometry *g, double n);

/* Estimates of the keys of two filters, each with its standard error.  in_both may be below 0 where chance wants it so. */
typedef struct blx_pair
{
	double		in_either,
				in_either_error;
	double		in_both,
				in_both_error;
	double		jaccard,		/* in_both / in_either, within 0 .. 1; 1 if there are no keys */
				jaccard_error;
} blx_pair;

/*
 * Compares two filters at the finer of their resolutions.  Layouts and sizes are
 * those that blx_unite combines by bits; BLX_UNSUPPORTED says why a layout does not
 * have the operation.  Where every bit is set, in_either is the largest number
 * possible, or INFINITY, and what is not known is NAN.
 */
extern bool blx_estimate_pair(const blx_filter *a, const blx_filter *b, const blx_memory *memory, blx_pair *pair, blx_error *error);

/* The false positive rate for a key not in f, over random hashes: exact, from the bits as they are. */
extern double blx_fpr(const blx_filter *f);

/* Calls `emit` for each detail that is special to the layout: a name with a number (text is NULL) or with a text. */
typedef void (*blx_emit) (void *arg, const char *name, double number, const char *text);
extern void blx_details(const blx_filter *f, blx_emit emit, void *arg);

/* ---- exchange ---- */

/* The interchange format of f (docs/internals/FORMAT.md): its length, and the bytes. */
extern uint64_t blx_export_bytes(const blx_filter *f);
extern void blx_export(const blx_filter *f, uint8_t *out);

/* The filter of interchange bytes, which may come from anywhere.  BLX_CORRUPT says what is wrong with them. */
extern blx_filter *blx_import(const uint8_t *bytes, uint64_t length, const blx_memory *memory, blx_error *error);

/* True if this memory of `size` bytes, aligned to 8, is a filter that every function can read.  BLX_CORRUPT says why not. */
extern bool blx_check(const blx_filter *f, uint64_t size, blx_error *error);

/* ---- kernels ---- */

/* Kinds of instructions.  All set the same bits and give the same answers. */
enum blx_simd_path
{
	BLX_SIMD_AUTO,				/* the fastest that this processor runs, chosen at load time */
	BLX_SIMD_SCALAR,
	BLX_SIMD_AVX2,
	BLX_SIMD_AVX512,			/* with BW, DQ and VL */
	BLX_SIMD_AVX512_VBMI,		/* with VBMI, BITALG and VPOPCNTDQ, too */
	BLX_SIMD_NEON,
	BLX_SIMD_PATHS
};

/* True if processor and operating system run that path.  The hint of BLX_UNSUPPORTED names the paths that they run. */
extern bool blx_simd_check(enum blx_simd_path path, blx_error *error);

/* Uses that path from now on, in the whole process.  A path that does not run here changes nothing. */
extern void blx_simd_set(enum blx_simd_path path);

/* The path in use: "scalar", "avx2", "avx512", "avx512_vbmi" or "neon". */
extern const char *blx_simd_name(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif							/* BLX_BLOOMX_H */
