/* SPDX-License-Identifier: MIT */
/*
** Seeds for random generators: no two are alike, not even in forked processes.
*/
#ifndef MP_SEED_H
#define MP_SEED_H

#include <stdint.h>

uint64_t mp_seed(void);

#endif
