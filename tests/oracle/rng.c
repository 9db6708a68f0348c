// SPDX-License-Identifier: MIT
/* Pseudo-random numbers, the same on every host. */
#include "../tap.h"
#include "harness.h"

static uint64_t rng_state = 1;

void rng_seed(uint64_t seed)
{
	rng_state = seed * 2 + 1;
	tap_diag("seed %llu", (unsigned long long)seed);
}

uint32_t rng(void)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((rng_state >> 33) ^ (rng_state >> 20));
}

uint32_t rng_below(uint32_t n)
{
	return n ? (uint32_t)(((uint64_t)rng() * n) >> 32) : 0;
}

uint32_t rng_range(uint32_t lo, uint32_t hi)
{
	return lo + rng_below(hi - lo + 1);
}

int rng_chance(uint32_t one_in)
{
	return rng_below(one_in) == 0;
}

float rng_float(void)
{
	float v = (float)(int32_t)rng() / 2147483648.0f;

	return rng_chance(4) ? v * 8 : v;
}
