/*
 * occupancy.h - which bits random throws set: the distributions behind the
 * formulas of standard filters and parts (occupancy.c has the method).
 *
 * m is a number of bits, at least 1, and may be any double up to the size of
 * the largest filter.  Arguments are the caller's to check.
 */
#pragma once

#include <math.h>

#include "core/bloomx.h"

/*
 * Sets distinct[d] to the probability that k throws into m bits hit exactly d
 * different bits, d = 0 .. k.
 */
extern void blx_distinct(double m, unsigned k, double distinct[]);

/* The probabilities that j given bits of m are all set, j = 0 .. k.  They follow the throws one by one. */
typedef struct blx_cover
{
	double		m;
	unsigned	k;
	double		hit[BLX_MAX_K + 1]; /* a throw hits one of j given bits */
	double		set[BLX_MAX_K + 1];	/* 0 if j > m */
} blx_cover;

/* The state before any throw.  k is 0 .. BLX_MAX_K. */
extern void blx_cover_blank(blx_cover *cover, double m, unsigned k);

/* Adds one more throw, which takes place with probability `chance`. */
extern void blx_cover_throw(blx_cover *cover, double chance);

/*
 * The state after n keys.  Each key throws `whole` times, at least once, and once
 * more with probability `fraction`, which is at least 0 and less than 1.  Takes
 * bounded time for any n.
 */
extern void blx_cover_keys(blx_cover *cover, double m, unsigned k, double n, unsigned whole, double fraction);

/*
 * Returns E[(X/m)^k], where X is the number of bits set in m after `throws`
 * random throws: exact (Almeida 2022, eq. 10).
 */
extern double blx_occupancy_power(uint64_t m, unsigned k, double throws);

/*
 * The nodes on a circle that take coefficient t out of a generating function
 * (occupancy.c).  Nodes 1 .. last also stand for their conjugates; node 0 is
 * real.
 *
 * blx_circle_init uses 15 nodes; the room for 24 only bounds its loop.
 */
#define BLX_CIRCLE_NODES 24

typedef struct blx_circle
{
	double		radius;
	unsigned	last;
	double		cosine[BLX_CIRCLE_NODES];	/* z = radius (cosine + i sine) */
	double		sine[BLX_CIRCLE_NODES];
	double		weight[BLX_CIRCLE_NODES];	/* complex; they sum to 1 with those of the conjugates */
	double		weight_i[BLX_CIRCLE_NODES];
} blx_circle;

/*
 * Sets *re + i *im to 1 - e^-(x + iy), the chance that a Poisson process with mean
 * x + iy per bit hits a given bit.  No digits cancel when x and y are small.
 */
static inline void
blx_hit(double x, double y, double *re, double *im)
{
	double		less = expm1(-x),
				half = sin(y / 2);

	*re = 2 * (1 + less) * half * half - less;
	*im = (1 + less) * sin(y);
}

/*
 * Prepares the circle for coefficient t, at least BLX_CIRCLE_LEAST: with fewer
 * throws the bell is too wide for the circle.
 */
#define BLX_CIRCLE_LEAST 64
extern void blx_circle_init(blx_circle *circle, double t);
