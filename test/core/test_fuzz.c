/*
 * test_fuzz.c - libFuzzer: passes any bytes to the import, and what the import
 * accepts to every operation.
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
