/*
 * test_fuzz.c - libFuzzer: any bytes through the import, and what is accepted
 * through every operation.
 */
#include "exercise.h"

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	harness_complaints = 0;
	random_seed(size);
	exercise_bytes(data, size);
	release();
	if (harness_complaints > 0)
		abort();
	return 0;
}
