/*
 * bench.h - what the benchmarks of the core share (bench.c).
 */
#ifndef BENCH_H
#define BENCH_H

#include "core/bloomx.h"

#define MAX_ROUNDS 101

/* Rounds in which all candidates take turns; an odd number, for medians. */
extern int	rounds;

/* Processes whose median is taken; odd for the same reason. */
#define MAX_PROCESSES 9
extern int	processes;

/* Results go here, so that the compiler cannot drop the work. */
extern volatile uint64_t sink;

extern const char *const path_names[BLX_SIMD_PATHS];

/* Processor time of this thread in ns: other processes that use the processor do not count, but their use of the caches does. */
extern double now(void);

extern uint64_t random_hash(uint64_t i);
extern double median(const double *values, int n);

/* The median of a[i] / b[i]. */
extern double median_ratio(const double *a, const double *b, int n);

extern void die(const blx_error *error) __attribute__((noreturn));

/* Zeroed memory that begins at a page and is in huge pages, if it fills some and the system provides them.  free() takes it. */
extern char *big_alloc(uint64_t bytes);

/* Prints the title of a table.  False if the table was not asked for. */
extern bool print_title(const char *title);

extern bool runs_here(enum blx_simd_path path);
extern blx_geometry of_bits(uint8_t layout, uint64_t bytes, unsigned k);

/* ---- keys.c ---- */

/* Tables of one size; each runs in processes of its own and is printed. */
extern void keys_by_path(uint64_t bytes, unsigned k, double bits_per_key);
extern void keys_by_layout(uint64_t bytes, bool planned);
extern void keys_instructions(void);

/* The work of such a process: argv is what its parent gave, KEYS_ARGUMENTS of them after the program's name. */
#define KEYS_PROCESS "--process"
#define KEYS_ARGUMENTS 6
extern int	keys_process(char **argv);

/* ---- whole.c ---- */

extern void whole_filters(const uint8_t *layouts, size_t n_layouts, const uint64_t *sizes, int n_sizes);

/* ---- sealed.c ---- */

extern void sealed_filters(bool quick);

#endif							/* BENCH_H */
