/* SPDX-License-Identifier: MIT */
/*
** See data/seed.h.
*/
#include "config.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

#include "data/map.h"
#include "data/process.h"
#include "data/seed.h"

uint64_t mp_seed(void)
{
  static uint64_t count;
  struct timespec t;
  uint64_t seed;
  int saved = errno;
  if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed))
    return seed;
  errno = saved;
  clock_gettime(CLOCK_REALTIME, &t);
  seed = mp_mix(mp_mix(1, (uint64_t)t.tv_sec), (uint64_t)t.tv_nsec);
  return mp_mix(mp_mix(seed, (uint64_t)mp_process_self()), ++count);
}
