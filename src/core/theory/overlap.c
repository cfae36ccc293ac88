/*
 * overlap.c - how often the filters of two disjoint sets fail to prove it, for
 * filters made of blocks.
 *
 * A blocked filter fails if the two sets share a bit in any block.  In the
 * default layout every block of a group must have a part without a common bit.
 * The loads of the blocks are not independent: all keys of a set are somewhere.
 * They would be, if the numbers of keys were Poisson variables.  So the answer
 * is taken as a coefficient of a generating function, as in occupancy.c: with
 * f(x, y) the chance that one block fails if its loads are Poisson variables
 * with means x and y,
 *
 *     P = a! b! [x^a y^b] e^(x + y) (1 - (1 - f(x/B, y/B))^B).
 *
 * Both coefficients are integrals over circles.  Nothing is approximated.  But
 * where nearly every pair overlaps, the function falls steeply along the circle,
 * and the sum over its nodes leaves an error of up to some 1e-9.
 */
#include <math.h>

#include "core/kernels/block.h"
#include "core/theory/loads.h"
#include "core/theory/occupancy.h"
#include "core/theory/theory.h"

/*
 * Nodes of a circle.  From BLX_CIRCLE_LEAST keys on those of blx_circle_init.
 * For fewer keys t, equidistant ones on all of the circle: t + 36 of them, with
 * which the next coefficient that they cannot tell from t, of degree 2 t + 36,
 * is below 1e-17 of it.
 */
#define MOST_NODES ((BLX_CIRCLE_LEAST + 36) / 2 + 1)

typedef struct nodes
{
	int			last;			/* nodes 1 .. last also stand for their conjugates */
	double		x[MOST_NODES],	/* the mean load of a block at the node */
				x_i[MOST_NODES],
				weight[MOST_NODES],
				weight_i[MOST_NODES];
} nodes;

static void
whole_circle(nodes *c, double t, double blocks)
{
	unsigned	count = 2 * (((unsigned) t + 36) / 2) + 1;
	double		sum = 0;

	c->last = (int) count / 2;
	for (int i = 0; i <= c->last; i++)
	{
		double		angle = 2 * 3.14159265358979323846 * i / count,
					modulus = exp(t * (cos(angle) - 1)),
					phase = t * (sin(angle) - angle);

		c->x[i] = t / blocks * cos(angle);
		c->x_i[i] = t / blocks * sin(angle);
		c->weight[i] = modulus * cos(phase);
		c->weight_i[i] = modulus * sin(phase);
		sum += c->weight[i] * (i == 0 ? 1 : 2);
	}
	for (int i = 0; i <= c->last; i++)
	{
		c->weight[i] /= sum;
		c->weight_i[i] /= sum;
	}
}

static void
circle_of(nodes *c, double t, double blocks)
{
	blx_circle	circle;

	if (t < BLX_CIRCLE_LEAST)
	{
		whole_circle(c, t, blocks);
		return;
	}
	blx_circle_init(&circle, t);
	c->last = (int) circle.last;
	for (int i = 0; i <= c->last; i++)
	{
		c->x[i] = circle.radius / blocks * circle.cosine[i];
		c->x_i[i] = circle.radius / blocks * circle.sine[i];
		c->weight[i] = circle.weight[i];
		c->weight_i[i] = circle.weight_i[i];
	}
}

/* f at every pair of nodes: [i][last + l], where l < 0 is the conjugate of node -l. */
typedef struct failures
{
	nodes		few,
				many;
	double		re[MOST_NODES][2 * MOST_NODES],
				im[MOST_NODES][2 * MOST_NODES];
} failures;

/* Sums the pairs of nodes: the weights times 1 - (1 - f)^blocks. */
static double
any_block(const failures *f, double blocks)
{
	double		sum = 0;

	for (int i = 0; i <= f->few.last; i++)
		for (int l = i == 0 ? 0 : -f->many.last; l <= f->many.last; l++)
		{
			int			j = l < 0 ? -l : l;
			double		sign = l < 0 ? -1 : 1,
						w = f->few.weight[i] * f->many.weight[j] - f->few.weight_i[i] * sign * f->many.weight_i[j],
						v = f->few.weight[i] * sign * f->many.weight_i[j] + f->few.weight_i[i] * f->many.weight[j],
						re = f->re[i][f->many.last + l],
						im = f->im[i][f->many.last + l],
						logarithm = blocks * log1p(re * (re - 2) + im * im) / 2,
						angle = blocks * atan2(-im, 1 - re);

			sum += (i > 0 || l > 0 ? 2 : 1) * (w * (-expm1(logarithm) + 2 * exp(logarithm) * sin(angle / 2) * sin(angle / 2))
											   + v * exp(logarithm) * sin(angle));
		}
	return fmax(0, fmin(sum, 1));
}

/* Adds p g_l to f at the pairs of node i of the few and all l of the many; p is the Poisson weight of the few's load there. */
static void
add_load(failures *f, int i, double p, double p_i, const double *g, const double *g_i)
{
	for (int l = -f->many.last; l <= f->many.last; l++)
	{
		int			j = l < 0 ? -l : l;
		double		im = l < 0 ? -g_i[j] : g_i[j];

		f->re[i][f->many.last + l] += p * g[j] - p_i * im;
		f->im[i][f->many.last + l] += p * im + p_i * g[j];
	}
}

/* The Poisson weights of a load at all nodes; they go from one load to the next. */
typedef struct weights
{
	double		p[MOST_NODES],
				p_i[MOST_NODES];
} weights;

static void
weights_of(weights *w, const nodes *c, double load)
{
	for (int i = 0; i <= c->last; i++)
	{
		double		modulus = exp(load * log(hypot(c->x[i], c->x_i[i])) - c->x[i] - lgamma(load + 1)),
					angle = load * atan2(c->x_i[i], c->x[i]) - c->x_i[i];

		w->p[i] = modulus * cos(angle);
		w->p_i[i] = modulus * sin(angle);
	}
}

static void
next_load(weights *w, const nodes *c, double load)
{
	for (int i = 0; i <= c->last; i++)
	{
		double		p = (w->p[i] * c->x[i] - w->p_i[i] * c->x_i[i]) / load;

		w->p_i[i] = (w->p[i] * c->x_i[i] + w->p_i[i] * c->x[i]) / load;
		w->p[i] = p;
	}
}

/* Loads that no block exceeds, or falls below, but with a negligible chance: 12 standard deviations, and some for small means. */
static unsigned
highest_load(double mean)
{
	return (unsigned) (mean + 12 * sqrt(mean) + 40);
}

static unsigned
lowest_load(double mean)
{
	return (unsigned) fmax(0, mean - 12 * sqrt(mean) - 40);
}

/* One more throw into the bits: from the distribution of the number of bits hit to the next. */
static void
throw_once(double *hit, unsigned bits, unsigned throws)
{
	for (unsigned d = throws + 1 < bits ? throws + 1 : bits; d > 0; d--)
		hit[d] = hit[d] * d / bits + hit[d - 1] * (bits - d + 1) / bits;
	hit[0] = 0;
}

/*
 * Blocks of a cache line.  If the few have hit d bits of a block, a key of the
 * many misses them with probability (1 - d/512)^k, and the sum over the many's
 * load is an exponential.
 */
#define BLOCK_BITS 512

double
blx_overlap_blocked(double blocks, unsigned k, double a, double b)
{
	double		few = fmin(a, b),
				many = fmax(a, b);
	double		hit[BLOCK_BITS + 1] = {1};
	unsigned	throws = 0,
				lowest;
	failures	f = {0};
	weights		w;

	if (few == 0)
		return 0;
	lowest = lowest_load(fmin(few / blocks, UINT16_MAX));
	/* four probes per bit and set: in no block all of the common bits are missing */
	if (few / blocks * k > 4 * BLOCK_BITS)
		return 1;
	circle_of(&f.few, few, blocks);
	circle_of(&f.many, many, blocks);
	weights_of(&w, &f.few, lowest);
	for (unsigned load = 1; load <= highest_load(few / blocks); load++)
	{
		double		g[MOST_NODES] = {0},
					g_i[MOST_NODES] = {0};

		for (unsigned j = 0; j < k; j++)
			throw_once(hit, BLOCK_BITS, throws++);
		if (load <= lowest)
			continue;
		next_load(&w, &f.few, load);
		for (unsigned d = 1; d <= BLOCK_BITS && d <= throws; d++)
			for (int j = 0; hit[d] > 1e-20 && j <= f.many.last; j++)
			{
				double		meets = -expm1(k * log1p(-(double) d / BLOCK_BITS)),
							re,
							im;

				blx_hit(f.many.x[j] * meets, f.many.x_i[j] * meets, &re, &im);
				g[j] += hit[d] * re;
				g_i[j] += hit[d] * im;
			}
		for (int i = 0; i <= f.few.last; i++)
			add_load(&f, i, w.p[i], w.p_i[i], g, g_i);
	}
	return any_block(&f, blocks);
}

/* One group of parts of 64 bits. */
#define PART_BITS 64

static double
group_overlap(double blocks, unsigned parts, double few, double many)
{
	double		hit[PART_BITS + 1] = {1};
	unsigned	lowest = lowest_load(many / blocks);
	failures	f = {0};
	weights		w,
				first;

	circle_of(&f.few, few, blocks);
	circle_of(&f.many, many, blocks);
	weights_of(&w, &f.few, 0);
	weights_of(&first, &f.many, lowest);
	for (unsigned load = 1; load <= highest_load(few / blocks); load++)
	{
		double		g[MOST_NODES] = {0},
					g_i[MOST_NODES] = {0},
					miss[PART_BITS + 1],
					none = 1;
		weights		v = first;

		next_load(&w, &f.few, load);
		throw_once(hit, PART_BITS, load - 1);
		for (unsigned d = 0; d <= PART_BITS; d++)
			miss[d] = hit[d] * pow(1 - (double) d / PART_BITS, lowest);
		/* miss[d] is the chance that d bits are hit, and the many's throws miss all of them */
		for (unsigned other = lowest + 1; other <= highest_load(many / blocks); other++)
		{
			double		fails = 1;

			next_load(&v, &f.many, other);
			if (none > 1e-18)
			{
				none = 0;
				for (unsigned d = 0; d <= PART_BITS; d++)
					none += miss[d] *= 1 - (double) d / PART_BITS;
				fails = blx_power(1 - none, parts);
			}
			for (int j = 0; j <= f.many.last; j++)
			{
				g[j] += v.p[j] * fails;
				g_i[j] += v.p_i[j] * fails;
			}
		}
		for (int i = 0; i <= f.few.last; i++)
			add_load(&f, i, w.p[i], w.p_i[i], g, g_i);
	}
	return any_block(&f, blocks);
}

/* The groups of a key pick their blocks independently, so their chances multiply. */
double
blx_overlap_partitioned_blocked(double blocks, unsigned parts, double a, double b)
{
	double		few = fmin(a, b),
				many = fmax(a, b),
				rate = 1;

	if (few == 0)
		return 0;
	/* a part without a common bit has the chance e^(-64 times the product of the fills): 1e-21 at most */
	if (expm1(-few / blocks / PART_BITS) * expm1(-many / blocks / PART_BITS) > 0.75)
		return 1;
	/* beyond 64 keys per bit every bit is set */
	many = fmin(many, PART_BITS * PART_BITS * blocks);
	if (parts >= BLX_GROUP)
		rate = blx_power(group_overlap(blocks, BLX_GROUP, few, many), parts / BLX_GROUP);
	if (parts % BLX_GROUP > 0)
		rate *= group_overlap(blocks, parts % BLX_GROUP, few, many);
	return rate;
}
