/*
 * occupancy.h - which bits random throws set: the distributions behind the
 * formulas of standard filters and parts.
 */
#ifndef BLX_OCCUPANCY_H
#define BLX_OCCUPANCY_H

#include <math.h>

#include "core/bloomx.h"

/*
 * distinct[d] = the probability that k throws into m bits hit exactly d
 * different ones, d = 0 .. k.  k is 0 .. BLX_MAX_K, m at least 1.
 */
extern void blx_distinct(double m, unsigned k, double distinct[BLX_MAX_K + 1]);

/* The probability that j given bits of m are all set, j = 0 .. k, while throws go on. */
typedef struct blx_cover
{
	double		m;
	unsigned	k;
	double		hit[BLX_MAX_K + 1]; /* a throw hits one of j bits */
	double		set[BLX_MAX_K + 1];	/* 0 for more bits than there are */
} blx_cover;

/* No bit is set yet.  m is at least 1, k 0 .. BLX_MAX_K. */
extern void blx_cover_blank(blx_cover *cover, double m, unsigned k);

/* One more throw, which takes place with the given probability. */
extern void blx_cover_throw(blx_cover *cover, double chance);

/* After n keys, each of which throws `whole` times, at least once, and once more with probability `fraction` (in [0, 1)). */
extern void blx_cover_keys(blx_cover *cover, double m, unsigned k, double n, unsigned whole, double fraction);

/* E[(X/m)^k], X = bits set in m after `throws` random throws: exact (Almeida 2022, eq. 10). */
extern double blx_occupancy_power(uint64_t m, unsigned k, double throws);

/*
 * Powers and exponentials of complex numbers on a circle: how a coefficient
 * is taken out of a generating function (occupancy.c).  Node i of 0 .. last
 * stands for its conjugate too, but for node 0.
 */
#define BLX_CIRCLE_NODES 24

typedef struct blx_circle
{
	double		radius;
	unsigned	last;
	double		cosine[BLX_CIRCLE_NODES];	/* z = radius (cosine + i sine) */
	double		sine[BLX_CIRCLE_NODES];
	double		weight[BLX_CIRCLE_NODES];	/* complex; with the conjugates they sum to 1 */
	double		weight_i[BLX_CIRCLE_NODES];
} blx_circle;

/* 1 - e^-(x + iy): a given bit is hit by a Poisson process with mean x + iy. */
static inline void
blx_hit(double x, double y, double *re, double *im)
{
	double		less = expm1(-x),
				half = sin(y / 2);

	*re = 2 * (1 + less) * half * half - less;
	*im = (1 + less) * sin(y);
}

/* For coefficient t, at least BLX_CIRCLE_LEAST. */
#define BLX_CIRCLE_LEAST 64
extern void blx_circle_init(blx_circle *circle, double t);

#endif							/* BLX_OCCUPANCY_H */
