/*
 * harness.h - what every test of the core needs: checks, and random numbers
 * that are the same on every machine and in every run.
 *
 *	TEST("folding gives the filter that would have been built smaller")
 *	{
 *		CHECK(a == b, "%d is not %d", a, b);
 *	}
 *	return report();
 *
 * A test prints one line "ok N - name" or "not ok N - name".  Checks that fail
 * print lines that begin with '#' above it.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rounds of the property tests.  Fewer are enough under sanitizers, which are several times slower. */
#ifndef ROUNDS
#define ROUNDS 1500
#endif

static const char *harness_name;
static int	harness_tests,
			harness_failed;
static long harness_complaints;

static inline bool
harness_finish(void)
{
	harness_tests++;
	harness_failed += harness_complaints > 0;
	if (harness_complaints > 5)
		printf("# ... %ld failed checks in all\n", harness_complaints);
	printf("%s %d - %s\n", harness_complaints > 0 ? "not ok" : "ok", harness_tests, harness_name);
	fflush(stdout);
	harness_name = NULL;
	return false;
}

/* Also of a test that left its function before its end. */
static inline void
harness_close(void)
{
	if (harness_name != NULL)
		harness_finish();
}

static inline bool
harness_begin(const char *name)
{
	harness_close();
	harness_name = name;
	harness_complaints = 0;
	return true;
}

static inline __attribute__((format(printf, 5, 6))) bool
harness_check(bool holds, const char *file, int line, const char *condition, const char *format,...)
{
	if (!holds && ++harness_complaints <= 5)
	{
		va_list		args;

		printf("# %s:%d: not true: %s\n#   ", file, line, condition);
		va_start(args, format);
		vprintf(format, args);
		va_end(args);
		printf("\n");
	}
	return holds;
}

/* Prints a line of explanation or of measured numbers. */
static inline __attribute__((format(printf, 1, 2))) void
note(const char *format,...)
{
	va_list		args;

	printf("# ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

#define TEST(name) for (bool harness_once = harness_begin(name); harness_once; harness_once = harness_finish())
#define CHECK(condition, ...) harness_check((condition), __FILE__, __LINE__, #condition, __VA_ARGS__)
#define LENGTH(array) (sizeof (array) / sizeof (array)[0])

/* Prints the last line and returns the exit status. */
static inline int
report(void)
{
	harness_close();
	printf("%d passed, %d failed\n", harness_tests - harness_failed, harness_failed);
	return harness_failed > 0;
}

/* ---- random numbers: splitmix64 (Steele, Lea, Flood 2014) ---- */

static uint64_t random_state = 1;

static inline void
random_seed(uint64_t seed)
{
	random_state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
}

static inline uint64_t
random64(void)
{
	uint64_t	z = (random_state += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/* A number from low to high, both included. */
static inline uint64_t
random_between(uint64_t low, uint64_t high)
{
	return high - low == UINT64_MAX ? random64() : low + random64() % (high - low + 1);
}

/* True in one of n calls, on average. */
static inline bool
one_in(unsigned n)
{
	return random64() % n == 0;
}

#endif							/* HARNESS_H */
