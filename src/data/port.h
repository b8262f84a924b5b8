/* SPDX-License-Identifier: MIT */
/*
** The interface between the library that intercepts malloc (src/preload) and
** the sampler of C memory (native/native.h).
**
** The library is preloaded and knows nothing of LuaJIT: it counts down the
** bytes that each thread allocates, and calls the sampler when a sample is due,
** or when a block that may have been sampled is freed. Without a sampler it
** only passes calls on.
*/
#ifndef MP_PORT_H
#define MP_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MP_PORT_SYMBOL	"luajit_mp_native_port"
#define MP_PORT_VERSION	1

/* The distance to a thread's next sample. */
typedef struct mp_draw {
  int64_t left;			/* Bytes to go; below 0: a sample is due. */
  int64_t drawn;		/* Bytes that the countdown began with. */
  double mean;			/* Mean of the distances that are drawn. */
  uint32_t epoch;		/* Of another epoch: it says nothing. */
} mp_draw;

/* A sampler: called on any thread, which may be in the middle of anything but
** an allocation. None of these raises an error or changes errno. */
typedef struct mp_sink {
  /* The function `what`, a literal, made a block of n bytes for the code at
  ** `ret`; draw->left has been lowered by n. */
  void (*made)(void *p, size_t n, const void *ret, const char *what,
	       mp_draw *draw);
  /* The block is about to be freed, */
  void (*gone)(void *p);
  /* or to be reallocated: to be followed by one of the next two, with what
  ** this one returns. 0: it is not a sample. */
  uint32_t (*take)(void *p);
  void (*drop)(uint32_t id);
  void (*put)(void *p, uint32_t id);
} mp_sink;

typedef struct mp_port {
  uint32_t version;		/* MP_PORT_VERSION */
  volatile uint32_t epoch;	/* Changes with the sampler; 0: none. */
  const mp_sink *sink;
  const volatile uint8_t *filter;  /* By mp_filter_hash: 0: no sampled block. */
  /* From now on what this thread allocates is not counted (1), or is counted
  ** again (-1). Calls nest. */
  void (*pause)(int by);
  /* Has this thread's calls noted: where in the code they come from, without
  ** doubles. Returns their number; stops at NULL. */
  int (*note)(const void **sites, int max);
  /* Calls from there are not counted: addresses, `nsites` of them. */
  const void *const *sites;
  int nsites;
} mp_port;

/* The library's port: looked for until it is found; NULL: it is not preloaded,
** or of another version. Asks the loader. */
mp_port *mp_port_find(void);

/* Allocations of this thread are not counted until the matching resume. No
** effect before the port has been found. */
void mp_port_pause(void);
void mp_port_resume(void);

#endif
