/* SPDX-License-Identifier: MIT */
/*
** Seeds for random generators: no two are alike, not even in forked processes.
*/
#ifndef MP_SEED_H
#define MP_SEED_H

#include <stdint.h>

uint64_t mp_seed(void);

/* A random number between a half and one and a half times the mean. The
** generator begins with a seed. Async-signal-safe. */
static inline uint64_t mp_seed_vary(uint64_t *generator, uint64_t mean)
{
  *generator = *generator * UINT64_C(6364136223846793005) + 1;
  return mean / 2 + (uint64_t)((double)(*generator >> 32) / UINT32_MAX *
			       (double)mean);
}

#endif
