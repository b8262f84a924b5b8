/* SPDX-License-Identifier: MIT */
/*
** Static probes (USDT) by OpenTelemetry's memory contract: other tools see
** samples while the program runs.
**
**	otel_memory:alloc(pointer, size, weight)	a sampled allocation
**	otel_memory:free(pointer)			its free
**
** A probe is an instruction that does nothing, and a note in the file that
** says where it is and where its arguments are. Who listens has the kernel
** raise a counter, the semaphore: while that is 0 nothing is called.
*/
#ifndef MP_PROBE_H
#define MP_PROBE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__ELF__) && defined(__linux__) && \
    (defined(__x86_64__) || defined(__aarch64__) || defined(__i386__))
#define MP_PROBES	1

/* The number of listeners, which the kernel writes. Notes have these names. */
typedef volatile unsigned short mp_listeners;
extern mp_listeners mp_probe_alloc_listeners;
extern mp_listeners mp_probe_free_listeners;

void mp_probe_send_alloc(const void *p, size_t size, size_t weight);
void mp_probe_send_free(const void *p);
#else
#define MP_PROBES	0
#endif

/* A sampled allocation, which stands for so many bytes. */
static inline void mp_probe_alloc(const void *p, size_t size, double weight)
{
#if MP_PROBES
  if (__builtin_expect(mp_probe_alloc_listeners != 0, 0))
    mp_probe_send_alloc(p, size, weight < (double)SIZE_MAX ?
			(size_t)weight : SIZE_MAX);
#else
  (void)p;
  (void)size;
  (void)weight;
#endif
}

/* The free of one. */
static inline void mp_probe_free(const void *p)
{
#if MP_PROBES
  if (__builtin_expect(mp_probe_free_listeners != 0, 0))
    mp_probe_send_free(p);
#else
  (void)p;
#endif
}

#endif
