/*
 * occupancy.c - which bits random throws set: the exact rate of a standard
 * filter, and of a part.
 *
 * An absent key is a false positive if its k probes hit d different bits and
 * those d bits are all set.  The rate of a standard filter is the sum over d of
 * the product of these two probabilities (Almeida 2022, eq. 10, in other
 * words).  Both follow from a walk whose steps only add and multiply positive
 * numbers.  The textbook sums by inclusion and exclusion lose all digits by
 * cancellation.
 *
 * The walk takes one step per throw.  For many throws the same number is taken
 * as a coefficient of a generating function.  If the throws were a Poisson
 * process with mean z, the bits would be independent, and j of them would all
 * be set with probability (1 - e^(-z/m))^j.  So for exactly t throws
 *
 *     set[j] = t! [z^t] e^z (1 - e^(-z/m))^j,
 *
 * which by Cauchy's formula is an integral over a circle.  On the circle |z| = t
 * the modulus of e^z z^-t is a bell of width 1/sqrt(t) around the real axis.
 * There the trapezoid rule converges faster than any power of its step, so some
 * fifteen nodes give full precision.  Dividing by the same sum for the function
 * 1 removes t!.  Nothing cancels: no value on the circle exceeds the one on the
 * real axis, and that is close to the answer unless t is small against j^2.
 *
 * Both ways agree with rational arithmetic to 3e-15.  No normal approximation
 * is used; for large k and few throws it was off by up to 20 %.
 */
#include <math.h>

#include "core/theory/occupancy.h"

/*
 * The number of throws from which on the circle is used.  Its exactness needs
 * t not small against j^2, with j up to k: hence k^2 / 2.  Its nodes span nine
 * widths of the bell to each side, which must be a small part of the circle:
 * hence at least 64 throws, where that is 9/8 of a radian.  It is faster much
 * earlier, from as many throws as it has nodes.
 */
static double
many_throws(unsigned k)
{
	return BLX_CIRCLE_LEAST + k * k / 2;
}

/* With d bits hit so far, a throw hits one of them with probability d/m, and another bit otherwise. */
void
blx_distinct(double m, unsigned k, double distinct[])
{
	distinct[0] = 1;
	for (unsigned t = 0; t < k; t++)
	{
		distinct[t + 1] = 0;
		for (unsigned d = t + 1; d > 0; d--)
			distinct[d] = distinct[d] * (d / m) + distinct[d - 1] * fmax(0, 1 - (d - 1) / m);
		distinct[0] = 0;
	}
	for (unsigned d = 0; d <= k; d++)
		distinct[d] = fmin(distinct[d], 1);	/* the last digit may be rounded up */
}

void
blx_cover_blank(blx_cover *cover, double m, unsigned k)
{
	cover->m = m;
	cover->k = k;
	for (unsigned j = 0; j <= k; j++)
	{
		cover->hit[j] = j <= m ? j / m : 0;
		cover->set[j] = j == 0;
	}
}

/*
 * The order of the throws does not matter, so this one may be taken to come
 * first.  It hits one of the j bits with probability j/m and leaves j - 1 of
 * them to the others.  The difference below is never negative, because fewer
 * bits are more likely to be all set.
 */
void
blx_cover_throw(blx_cover *cover, double chance)
{
	double		previous = cover->set[0];

	for (unsigned j = 1; j <= cover->k; j++)
	{
		double		set = cover->set[j];

		cover->set[j] = set + chance * cover->hit[j] * (previous - set);
		previous = set;
	}
}

/*
 * Returns sin x - x.  For small x by its series, since the difference would
 * lose its leading digits; seven terms suffice below 0.5.
 */
static double
sine_less(double x)
{
	double		s = x * x;

	if (x > 0.5)
		return sin(x) - x;
	return -x * s / 6 * (1 - s / 20 * (1 - s / 42 * (1 - s / 72 * (1 - s / 110 * (1 - s / 156 * (1 - s / 210))))));
}

void
blx_circle_init(blx_circle *circle, double t)
{
	/*
	 * In standard deviations of the bell.  With steps of 0.6 the trapezoid
	 * rule's error for the bell itself is e^(-2 (pi/0.6)^2) = 2e-24; larger steps
	 * would save nodes, but the power of 1 - e^(-z/m) changes along the bell, too.
	 * At 9 deviations the bell has fallen to 3e-18.  That makes 15 nodes.
	 */
	const double step = 0.6,
				end = 9,
				deviation = 1 / sqrt(t);
	double		sum = 0;

	circle->radius = t;
	circle->last = 0;

	/* e^z z^-t over its value on the real axis, at each node of the upper half. */
	for (unsigned i = 0; i * step < end && i < BLX_CIRCLE_NODES; i++)
	{
		double		angle = i * step * deviation,
					half = sin(angle / 2),
					modulus = exp(-2 * t * half * half),
					phase = t * sine_less(angle);

		circle->cosine[i] = 1 - 2 * half * half;
		circle->sine[i] = 2 * half * sqrt(1 - half * half);
		circle->weight[i] = modulus * cos(phase);
		circle->weight_i[i] = modulus * sin(phase);
		circle->last = i;
		sum += circle->weight[i] * (i == 0 ? 1 : 2);
	}

	/* Divide by the sum for the function 1: that is t! and all constant factors. */
	for (unsigned i = 0; i <= circle->last; i++)
	{
		circle->weight[i] /= sum;
		circle->weight_i[i] /= sum;
	}
}

/*
 * Adds a node to set[0 .. top]: weight w + iv times the powers of 1 - e^-(x +
 * iy), twice if it stands for its conjugate, too.
 */
static void
add_node(double *set, unsigned top, double w, double v, double x, double y, bool twice)
{
	double		q,
				p;

	blx_hit(x, y, &q, &p);
	for (unsigned j = 0; j <= top; j++)
	{
		double		next = w * q - v * p;

		set[j] += twice ? 2 * w : w;
		v = w * p + v * q;
		w = next;
	}
}

/*
 * Computes set[] after `whole` certain throws and n that take place with
 * probability `fraction`, 0 if there are none.  The former have a circle of
 * their own; so have the latter, and each pair of nodes is one term.
 */
static void
cover_by_circle(blx_cover *cover, double whole, double n, double fraction)
{
	unsigned	top = cover->k < cover->m ? cover->k : (unsigned) cover->m;
	blx_circle	a,
				b = {.weight = {1}};

	blx_circle_init(&a, whole);
	if (fraction > 0)
		blx_circle_init(&b, n);
	cover->set[0] = 0;

	/* Nodes with conjugates: the upper half of the first circle against both halves of the second. */
	for (unsigned i = 0; i <= a.last; i++)
		for (int l = i == 0 ? 0 : -(int) b.last; l <= (int) b.last; l++)
		{
			unsigned	j = (unsigned) (l < 0 ? -l : l);
			double		sign = l < 0 ? -1 : 1,
						scale = fraction * b.radius / cover->m;

			add_node(cover->set, top,
					 a.weight[i] * b.weight[j] - a.weight_i[i] * sign * b.weight_i[j],
					 a.weight[i] * sign * b.weight_i[j] + a.weight_i[i] * b.weight[j],
					 a.radius / cover->m * a.cosine[i] + scale * b.cosine[j],
					 a.radius / cover->m * a.sine[i] + scale * sign * b.sine[j],
					 i > 0 || l > 0);
		}
	/* Rounding may carry a probability near 1 above it, and one near 0 below it. */
	for (unsigned j = 0; j <= top; j++)
		cover->set[j] = fmax(0, fmin(cover->set[j], 1));
}

void
blx_cover_keys(blx_cover *cover, double m, unsigned k, double n, unsigned whole, double fraction)
{
	double		throws = n * whole;

	blx_cover_blank(cover, m, k);
	if (throws >= many_throws(k) && (fraction == 0 || n >= many_throws(k)))
	{
		cover_by_circle(cover, throws, n, fraction);
		return;
	}
	/* Otherwise walk.  A key has at least one throw, so these are fewer than many_throws(k) keys. */
	for (double i = 0; i < n; i++)
	{
		for (unsigned j = 0; j < whole; j++)
			blx_cover_throw(cover, 1);
		if (fraction > 0)
			blx_cover_throw(cover, fraction);
	}
}

double
blx_occupancy_power(uint64_t m, unsigned k, double throws)
{
	double		distinct[BLX_MAX_K + 1],
				sum = 0;
	blx_cover	cover;

	blx_distinct((double) m, k, distinct);
	blx_cover_keys(&cover, (double) m, k, throws, 1, 0);
	for (unsigned d = 0; d <= k; d++)
		sum += distinct[d] * cover.set[d];
	return fmin(sum, 1);		/* the last digit may be rounded up */
}
