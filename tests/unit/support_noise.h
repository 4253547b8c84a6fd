/* Random numbers of a fixed seed, the same on every machine, and autocorrelated series of them. */
#ifndef MTRACE_TESTS_SUPPORT_NOISE_H
#define MTRACE_TESTS_SUPPORT_NOISE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* A 64-bit generator: a counter with a large odd step, its bits mixed by multiplication and shifts
 * (splitmix64, Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). */
static inline double noise_uniform(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	z ^= z >> 31;
	return ((double)(z >> 11) + 0.5) / 9007199254740992.0;
}

/* Standard normal (Box and Muller). */
static inline double noise_normal(uint64_t *state)
{
	double radius = sqrt(-2 * log(noise_uniform(state)));
	return radius * cos(6.283185307179586 * noise_uniform(state));
}

/* First-order autoregressive series, started in its stationary distribution: x[t] = phi * x[t - 1] + noise.
 */
static inline void noise_ar1(uint64_t *state, double phi, double *x, size_t n)
{
	double value = noise_normal(state) / sqrt(1 - phi * phi);
	for (size_t i = 0; i < n; i++) {
		x[i] = value;
		value = phi * value + noise_normal(state);
	}
}

#endif
