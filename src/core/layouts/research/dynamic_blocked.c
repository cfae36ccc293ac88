/*
 * dynamic_blocked.c - a blocked filter in which full blocks grow.
 *
 * Kaler, "Cache Efficient Bloom Filters for Shared Memory Machines", section
 * 5: each block is a scalable filter (Almeida et al. 2007).  A key picks its
 * home block as in layout blocked.  If that is full, the key goes to an overflow
 * block, which is larger and has more probes, and so on: the blocks form a chain.
 *
 *	 body:   parameters | used, total | home blocks | overflow blocks | spare
 *	 block:  record | filter
 *	 record: bits set in the filter (32 bits) | stage (5) | next block (27)
 *
 * Blocks are numbered from 0 in units of home blocks.  An overflow block takes
 * several units, and its number is larger than that of the block before it in the
 * chain.  So there are no cycles, and 0 means no link.  Links from disk are checked
 * when they are followed; behind a broken link the answer is "perhaps".
 *
 * A stage takes a key only if its fill stays within the filter's limit, whatever
 * bits the key has, and a key that its chain already answers yes to is not added
 * again.  So the rate of every block is at most the sum over stages of
 * limit^k_i, a geometric series, for any keys and any loads.  No other blocked
 * layout can promise that.  The price is a record in each block, emptier
 * home blocks (dynamic_blocked_plan.c) and, beyond the planned number of keys,
 * a cache miss for each block of the chain.  docs/internals/theory.md, "When more keys come",
 * compares it with plain blocks and with scalable.
 *
 * A union joins chains stage by stage.  Two blocks of one stage are ORed if the
 * result stays within the limit, and kept side by side as "twins" if it does not.
 * So the rate is no worse than the sum of the two, for as long as a chain has no
 * more than MAX_TWINS of one stage.
 *
 * Filters of this layout unite only with an equal geometry, and they do not
 * intersect, since a key may be in different stages of two filters.
 */
#include <math.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/layouts/digits.h"
#include "core/layouts/geometry.h"
#include "core/layouts/research/dynamic_stage.h"

/* The body's words after the parameters. */
enum
{
	USED = DYNAMIC_PARAMETERS,	/* blocks in use, home blocks and overflow */
	TOTAL,						/* blocks that there is memory for */
	FIRST_BLOCK
};

/*
 * The most blocks of one stage in a chain.  Each of them costs a test a cache miss
 * and adds its rate.  Beyond four, the blocks of further unions are ORed into the
 * last one: the chain stays short, and that block may exceed its limit.
 */
#define MAX_TWINS 4

/* The fields of a record (above); the low half is the number of bits set. */
#define STAGE_SHIFT 32
#define LINK_SHIFT 37

/* ---- records and chains ---- */

static inline uint64_t
bits_set_of(uint64_t record)
{
	return (uint32_t) record;
}

static inline unsigned
stage_of(uint64_t record)
{
	return (unsigned) (record >> STAGE_SHIFT) % 32;
}

/* Returns the words of a home block, the record included. */
static inline uint64_t
block_words(const blx_filter *f)
{
	return f->part_bits / 64 + 1;
}

/* Returns the word of the body where a block begins. */
static inline uint64_t
block_at(const blx_filter *f, uint64_t block)
{
	return FIRST_BLOCK + block * block_words(f);
}

/* A block in its chain. */
typedef struct place
{
	uint64_t	block;
	uint64_t	at;				/* its record's word */
	dynamic_stage stage;
} place;

/* Returns the first block of a chain. */
static inline place
home(const blx_filter *f, uint64_t block)
{
	place		p = {block, block_at(f, block), dynamic_first_stage(f->part_bits, f->probes, blx_cwords(f))};

	return p;
}

/* Turns *s into the stage of that number, if it is not beyond it. */
static inline void
reach_stage(const blx_filter *f, dynamic_stage *s, unsigned number)
{
	while (s->number < number)
		dynamic_next_stage(s, f->part_bits, f->probes, blx_cwords(f));
}

typedef enum step
{
	MOVED,
	AT_END,
	BROKEN						/* the link does not lead to a block */
} step;

/* Moves p to the next block of the chain, if that lies wholly within the blocks in use. */
static inline step
follow(const blx_filter *f, place *p)
{
	const uint64_t *words = blx_cwords(f);
	uint64_t	next = words[p->at] >> LINK_SHIFT;
	uint64_t	at;

	if (next == 0)
		return AT_END;
	/* The link leads past this block to an overflow block in use. */
	if (next < f->blocks || next < p->block + p->stage.blocks || next >= words[USED])
		return BROKEN;

	/* Its stage is not before this one, and its memory is there. */
	at = block_at(f, next);
	if (stage_of(words[at]) < p->stage.number)
		return BROKEN;
	reach_stage(f, &p->stage, stage_of(words[at]));
	if (p->stage.blocks > words[USED] - next)
		return BROKEN;
	p->block = next;
	p->at = at;
	return MOVED;
}

/* ---- the bits of a key ---- */

/*
 * Each stage has derived hashes of its own, so stages are independent.  Digits are
 * taken as long as ten bits are left beyond the last one.  So every position is
 * equally likely to within a thousandth, and 54 bits of each hash are of use.
 */
static inline blx_digits
probes_of(const dynamic_stage *s, uint64_t hash)
{
	unsigned	width = 64 - (unsigned) __builtin_clzll(s->bits - 1);

	return (blx_digits) {.hash = hash, .base = s->bits, .derived = 1 + BLX_MAX_K * s->number, .each = 54 / width};
}

/* True if a stage's filter has all bits of the key. */
static inline bool
stage_holds(const uint64_t *filter, const dynamic_stage *s, uint64_t hash)
{
	blx_digits	sequence = probes_of(s, hash);

	for (unsigned j = 0; j < s->probes; j++)
	{
		uint64_t	bit = blx_next_digit(&sequence);

		if (!(filter[bit / 64] >> bit % 64 & 1))
			return false;
	}
	return true;
}

/* Sets the key's bits in a stage's filter.  Returns how many were not set before. */
static inline unsigned
stage_add(uint64_t *filter, const dynamic_stage *s, uint64_t hash)
{
	blx_digits	sequence = probes_of(s, hash);
	unsigned	fresh = 0;

	for (unsigned j = 0; j < s->probes; j++)
	{
		uint64_t	bit = blx_next_digit(&sequence);

		fresh += !(filter[bit / 64] >> bit % 64 & 1);
		filter[bit / 64] |= UINT64_C(1) << bit % 64;
	}
	return fresh;
}

/* ---- adding and testing ---- */

/* Tests every block of the chain; behind a broken link the key may be there. */
static bool
test(const blx_filter *f, uint64_t hash)
{
	place		p = home(f, blx_scale(hash, f->blocks));
	step		taken;

	do
		if (stage_holds(blx_cwords(f) + p.at + 1, &p.stage, hash))
			return true;
	while ((taken = follow(f, &p)) == MOVED);
	return taken == BROKEN;
}

/*
 * Appends a block behind the last one of a chain and moves p to it.  p is at that
 * last block, with the new block's stage.  False if the filter has no room.
 */
static bool
append_block(blx_filter *f, place *p)
{
	uint64_t   *words = blx_words(f);
	uint64_t	block = words[USED];

	if (p->stage.blocks > words[TOTAL] - block)
		return false;
	words[USED] += p->stage.blocks;
	words[p->at] |= block << LINK_SHIFT;
	p->block = block;
	p->at = block_at(f, block);
	words[p->at] = (uint64_t) p->stage.number << STAGE_SHIFT;
	return true;
}

/* Adds a key.  False if the filter must grow first. */
static bool
add_key(blx_filter *f, uint64_t hash)
{
	uint64_t   *words = blx_words(f);
	place		p = home(f, blx_scale(hash, f->blocks));
	step		taken;

	/* To the end of the chain; a key that some block has already is not added again. */
	do
		if (stage_holds(words + p.at + 1, &p.stage, hash))
			return true;
	while ((taken = follow(f, &p)) == MOVED);
	if (taken == BROKEN)
		return true;			/* the test finds every key behind a broken link */

	/* The last block is full: append one of the next stage. */
	if (!dynamic_has_room(&p.stage, bits_set_of(words[p.at])))
	{
		reach_stage(f, &p.stage, p.stage.number + 1);
		if (!append_block(f, &p))
			return false;
	}
	words[p.at] += stage_add(words + p.at + 1, &p.stage, hash);
	return true;
}

static size_t
add(blx_filter *f, const uint64_t *hashes, size_t n)
{
	size_t		i = 0;

	while (i < n && add_key(f, hashes[i]))
		i++;
	return i;
}

/* ---- size ---- */

static uint64_t
body_words(const blx_geometry *g)
{
	return FIRST_BLOCK + g->blocks * (g->part_bits / 64 + 1);
}

static uint64_t
words_of(const blx_filter *f)
{
	return block_at(f, blx_cwords(f)[TOTAL]);
}

static void
init(blx_filter *f)
{
	blx_words(f)[USED] = blx_words(f)[TOTAL] = f->blocks;
}

/*
 * Grows the memory by a sixteenth, and at least by what a first overflow block
 * needs.  A stage that needs more makes add ask again.  A sixteenth leaves at most
 * 6 % spare, and every word is copied some 16 times while a filter grows; doubling
 * would copy it once and leave up to half spare.
 */
static uint64_t
grown_words(const blx_filter *f)
{
	uint64_t	total = blx_cwords(f)[TOTAL];
	uint64_t	more = total / 16;

	if (more < blx_cwords(f)[DYNAMIC_GROWTH])
		more = blx_cwords(f)[DYNAMIC_GROWTH];
	return block_at(f, total + more);
}

static void
grow(blx_filter *dst, const blx_filter *f)
{
	uint64_t	words = grown_words(f);

	memcpy(blx_words(dst), blx_cwords(f), 8 * words_of(f));
	blx_words(dst)[TOTAL] = (words - FIRST_BLOCK) / block_words(f);
}

/* ---- validation ---- */

static bool
check(const blx_geometry *g, blx_error *error)
{
	/* up to 4096 bytes with the record: the page of Kaler's paper */
	if (g->part_bits < 64 || g->part_bits > 32768 - DYNAMIC_RECORD_BITS || g->part_bits % 64 != 0)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL,
						"a dynamic_blocked filter's home block has 64 to 32704 bits, a multiple of 64, not %llu",
						(unsigned long long) g->part_bits);
	if (g->parameters[DYNAMIC_GROWTH] < 1 || g->parameters[DYNAMIC_GROWTH] > DYNAMIC_MAX_GROWTH ||
		g->parameters[DYNAMIC_TIGHTENING] - 1 >= 65535 || g->parameters[DYNAMIC_FILL] - 1 >= 65535)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a dynamic_blocked filter has impossible parameters");
	return true;
}

static bool
check_body(const blx_filter *f, uint64_t words, blx_error *error)
{
	const uint64_t *body = blx_cwords(f);

	if (words < FIRST_BLOCK || body[TOTAL] > words || block_at(f, body[TOTAL]) != words ||
		body[USED] > body[TOTAL] || body[USED] < f->blocks)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a dynamic_blocked filter does not have the blocks that it says");
	return true;
}

/* Blocks that are still to be found: their number, and the sum of the hashes of their places. */
typedef struct unfound
{
	uint64_t	blocks;
	uint64_t	sum;
} unfound;

/* The overflow blocks, one after another by their sizes.  False if they do not end where the memory in use does. */
static bool
list_overflow(const blx_filter *f, unfound *left)
{
	const uint64_t *words = blx_cwords(f);
	uint64_t	end = block_at(f, words[USED]),
				at = block_at(f, f->blocks);

	while (at < end)
	{
		dynamic_stage s = home(f, 0).stage;

		reach_stage(f, &s, stage_of(words[at]));
		left->blocks++;
		left->sum += blx_hash_int64(at, 0);
		at += s.blocks * block_words(f);
	}
	return at == end;
}

/*
 * True if the chain of a home block can be walked to its end, its stages are in
 * order without too many twins, and its records count their bits.  Takes its
 * overflow blocks off those that are left.
 */
static bool
chain_is_sound(const blx_filter *f, uint64_t block, unfound *left)
{
	const uint64_t *words = blx_cwords(f);
	place		p = home(f, block);
	unsigned	twins = 1;
	step		taken;

	if (stage_of(words[p.at]) != 0)
		return false;
	for (;;)
	{
		unsigned	stage = p.stage.number;

		if (blx_popcount(words + p.at + 1, p.stage.bits / 64) != bits_set_of(words[p.at]))
			return false;
		taken = follow(f, &p);
		if (taken != MOVED)
			return taken == AT_END;
		twins = p.stage.number == stage ? twins + 1 : 1;
		if (twins > MAX_TWINS || left->blocks == 0)
			return false;
		left->blocks--;
		left->sum -= blx_hash_int64(p.at, 0);
	}
}

/*
 * Every overflow block must be linked from exactly one other block: a link to
 * anything else, such as the inside of a block, would let a key change a record.  So
 * the links must lead to as many places as there are blocks, and to the same ones, as
 * the sums of their hashes tell.  No more links than that are followed.
 */
static bool
check_contents(blx_filter *f, blx_error *error)
{
	const uint64_t *words = blx_cwords(f);
	unfound		left = {0};
	bool		sound = list_overflow(f, &left);

	for (uint64_t block = 0; sound && block < f->blocks; block++)
		sound = chain_is_sound(f, block, &left);
	if (!sound || left.blocks != 0 || left.sum != 0)
		return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a dynamic_blocked filter has a broken chain of blocks");
	/* The spare memory must be zeros, since overflow blocks will be made of it. */
	for (uint64_t i = block_at(f, words[USED]); i < words_of(f); i++)
		if (words[i] != 0)
			return blx_fail(error, BLX_CORRUPT, NULL, NULL, "a dynamic_blocked filter has bits set in its spare blocks");
	return true;
}

/* ---- union ---- */

/*
 * The chain of a union, while it is written to dst.  If dst is NULL, it is only
 * measured.
 */
typedef struct chain
{
	blx_filter *dst;
	place		last;
	unsigned	twins;			/* blocks of the last block's stage; 0 if the chain is empty */
	uint64_t	overflow;		/* memory of the overflow blocks of all chains, in home blocks */
} chain;

/* Appends a block of p's stage to the chain, unless the chain ends with MAX_TWINS blocks of this stage. */
static void
extend_chain(chain *c, const place *p)
{
	if (c->twins == 0)			/* the chain begins with the home block, which is there */
	{
		c->last = *p;
		c->twins = 1;
		return;
	}
	if (c->last.stage.number != p->stage.number)
		c->twins = 0;
	else if (c->twins == MAX_TWINS)
		return;
	c->twins++;
	c->last.stage = p->stage;
	c->overflow += p->stage.blocks;
	if (c->dst != NULL)
		append_block(c->dst, &c->last);
}

/* ORs the filter at p into the last block of the chain, and counts its bits anew. */
static void
or_into_last(const chain *c, const blx_filter *f, const place *p)
{
	uint64_t   *record;
	uint64_t	words = p->stage.bits / 64;

	if (c->dst == NULL)
		return;
	record = blx_words(c->dst) + c->last.at;
	blx_or_words(record + 1, blx_cwords(f) + p->at + 1, words);
	*record = *record >> STAGE_SHIFT << STAGE_SHIFT | blx_popcount(record + 1, words);
}

/* True if two blocks are of one stage and their OR stays within its limit. */
static bool
fit_in_one(const blx_filter *a, const blx_filter *b, const place *pa, const place *pb)
{
	const uint64_t *x = blx_cwords(a) + pa->at + 1,
			   *y = blx_cwords(b) + pb->at + 1;
	uint64_t	bits = 0;

	if (pa->stage.number != pb->stage.number)
		return false;
	for (uint64_t i = 0; i < pa->stage.bits / 64; i++)
		bits += (uint64_t) __builtin_popcountll(x[i] | y[i]);
	return bits <= pa->stage.limit;
}

/* Joins the two chains of one home block, in the order of their stages. */
static void
join_chains(chain *c, const blx_filter *a, const blx_filter *b, uint64_t block)
{
	place		pa = home(a, block),
				pb = home(b, block);
	bool		more_a = true,
				more_b = true;

	c->twins = 0;
	while (more_a || more_b)
	{
		bool		both = more_a && more_b && fit_in_one(a, b, &pa, &pb);
		bool		take_a = more_a && (!more_b || pa.stage.number <= pb.stage.number);

		/* A block for the lower stage, of a if they are equal; both go into it if they fit. */
		extend_chain(c, take_a ? &pa : &pb);
		if (take_a)
		{
			or_into_last(c, a, &pa);
			more_a = follow(a, &pa) == MOVED;
		}
		/* b's block, if it went into the same one or is the lower */
		if (both || !take_a)
		{
			or_into_last(c, b, &pb);
			more_b = follow(b, &pb) == MOVED;
		}
	}
}

static bool
union_words(const blx_filter *a, const blx_filter *b, uint64_t *words, blx_error *error)
{
	chain		c = {0};

	if (!blx_check_equal_geometry(a, b, error))
		return false;
	for (uint64_t block = 0; block < a->blocks; block++)
		join_chains(&c, a, b, block);
	*words = block_at(a, a->blocks + c.overflow);
	return true;
}

static void
unite(blx_filter *dst, const blx_filter *a, const blx_filter *b)
{
	uint64_t	words;
	chain		c = {.dst = dst};

	union_words(a, b, &words, NULL);
	blx_words(dst)[USED] = a->blocks;
	blx_words(dst)[TOTAL] = (words - FIRST_BLOCK) / block_words(a);
	for (uint64_t block = 0; block < a->blocks; block++)
		join_chains(&c, a, b, block);
}

/* ---- what the filter knows about itself ---- */

/* Sums over all chains. */
typedef struct totals
{
	uint64_t	bits;
	uint64_t	bits_set;
	uint64_t	overflow_blocks;
	unsigned	longest_chain;
	double		rates;			/* of the home blocks' chains */
	double		keys;
} totals;

/*
 * A stage got only those keys of the chain that the stages before it did not
 * answer yes to, so it stands for more than it holds.
 */
static void
count_chain(const blx_filter *f, uint64_t block, totals *t)
{
	place		p = home(f, block);
	double		rate = 0;
	unsigned	length = 0;

	do
	{
		uint64_t	set = bits_set_of(blx_cwords(f)[p.at]);
		double		fill = fmin((double) set / (double) p.stage.bits, 1);

		t->bits += p.stage.bits;
		t->bits_set += set;
		t->keys += log1p(-fill) / (p.stage.probes * log1p(-1 / (double) p.stage.bits)) / (1 - rate);
		rate += (1 - rate) * blx_power(fill, p.stage.probes);
		length++;
	} while (follow(f, &p) == MOVED);
	t->rates += rate;
	t->overflow_blocks += length - 1;
	if (length > t->longest_chain)
		t->longest_chain = length;
}

static totals
count_all(const blx_filter *f)
{
	totals		t = {0};

	for (uint64_t block = 0; block < f->blocks; block++)
		count_chain(f, block, &t);
	return t;
}

static uint64_t
bits_in(const blx_filter *f)
{
	return count_all(f).bits;
}

static uint64_t
bits_set(const blx_filter *f)
{
	return count_all(f).bits_set;
}

static double
cardinality(const blx_filter *f)
{
	return count_all(f).keys;
}

/* Exact except for twins, which probe the same places and are taken as independent. */
static double
fpr(const blx_filter *f)
{
	return count_all(f).rates / f->blocks;
}

static void
details(const blx_filter *f, blx_emit emit, void *arg)
{
	const uint64_t *words = blx_cwords(f);
	totals		t = count_all(f);

	emit(arg, "growth", (double) words[DYNAMIC_GROWTH], NULL);
	emit(arg, "tightening", (double) words[DYNAMIC_TIGHTENING] / 65536, NULL);
	emit(arg, "full_at", (double) words[DYNAMIC_FILL] / 65536, NULL);
	emit(arg, "overflow_blocks", (double) t.overflow_blocks, NULL);
	emit(arg, "longest_chain", t.longest_chain, NULL);
	emit(arg, "overflow_bytes", (double) (8 * block_words(f) * (words[USED] - f->blocks)), NULL);
	emit(arg, "spare_bytes", (double) (8 * block_words(f) * (words[TOTAL] - words[USED])), NULL);
}

static bool
at_bits(double k, uint64_t bits, const blx_options *options, blx_geometry *g, blx_error *error)
{
	uint64_t	block_bits = (uint64_t) options->value[BLX_OPT_BLOCK_BITS];

	if (bits < block_bits)
		return blx_fail(error, BLX_INVALID_PARAMETER, NULL, NULL,
						"bits must be at least one block for a dynamic_blocked filter, %llu, not %llu",
						(unsigned long long) block_bits, (unsigned long long) bits);
	return blx_dynamic_geometry(options, (uint32_t) (bits / block_bits), (unsigned) k, g, error);
}

/*
 * A home block is 16 bytes, a record and a word, to 4096, a page; one cache line
 * unless given.  A tightening of 1/8 is three more probes per stage; nearer to 1
 * the rates hardly fall from stage to stage, and the first must be lower.
 */
static const blx_option_range options[] = {
	{BLX_OPT_BLOCK_BITS, 128, 32768, 512},
	{BLX_OPT_GROWTH, 1, DYNAMIC_MAX_GROWTH, 2},
	{BLX_OPT_TIGHTENING, 0.01, 0.99, 0.125},
	{0}
};

#define STAGES_DIFFER "A key may be in different stages of two filters, where its bits are different ones."

const blx_layout blx_layout_dynamic_blocked = {
	.name = "dynamic_blocked",
	.traits = BLX_UNBOUNDED,
	.options = options,
	.why_not = {
		[BLX_INTERSECTION] = STAGES_DIFFER,
		[BLX_DISJOINT] = STAGES_DIFFER,
		[BLX_COMPARISON] = STAGES_DIFFER,
		[BLX_PREFIX] = "Its blocks have one part.",
		[BLX_FOLD] = "With half the blocks, the chains would be twice as long, and no space would be saved.",
	},
	.one = BLX_ONE_PART,
	.check = check,
	.plan = blx_dynamic_plan,
	.at_bits = at_bits,
	.add = add,
	.test = test,
	.fpr_expected = blx_dynamic_fpr_expected,
	.parameters = DYNAMIC_PARAMETERS,
	.body_words = body_words,
	.words = words_of,
	.init = init,
	.check_body = check_body,
	.check_contents = check_contents,
	.grown_words = grown_words,
	.grow = grow,
	.union_words = union_words,
	.unite = unite,
	.bits_in = bits_in,
	.bits_set = bits_set,
	.cardinality = cardinality,
	.fpr = fpr,
	.details = details,
};
