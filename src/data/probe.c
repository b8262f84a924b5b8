/* SPDX-License-Identifier: MIT */
/*
** See data/probe.h.
**
** A note of type 3 by the name stapsdt has three addresses: the probe, the
** start of .stapsdt.base, by whose place a reader sees how far the file was
** moved after it was linked, and the semaphore; then three strings: provider,
** name, and arguments, each as SIZE@OPERAND in the assembler's words.
*/
#include "config.h"

#include "data/probe.h"

#if MP_PROBES

#if __SIZEOF_POINTER__ == 8
#define ADDRESS	".8byte"
#define SIZE	"8"
#else
#define ADDRESS	".4byte"
#define SIZE	"4"
#endif

/* The instruction, and its note. Readers look for the semaphore in memory that
** is loaded; notes and the base need not be. */
#define PROBE(name, arguments) \
  "990:	nop\n" \
  "	.pushsection .note.stapsdt, \"\", \"note\"\n" \
  "	.balign 4\n" \
  "	.4byte 992f - 991f, 994f - 993f, 3\n" \
  "991:	.asciz \"stapsdt\"\n" \
  "992:	.balign 4\n" \
  "993:	" ADDRESS " 990b, mp_probe_base, mp_probe_" name "_listeners\n" \
  "	.asciz \"otel_memory\"\n" \
  "	.asciz \"" name "\"\n" \
  "	.asciz \"" arguments "\"\n" \
  "994:	.balign 4\n" \
  "	.popsection\n"

#define LISTENERS __attribute__((section(".probes"), used))
mp_listeners mp_probe_alloc_listeners LISTENERS = 0;
mp_listeners mp_probe_free_listeners LISTENERS = 0;

extern const char mp_probe_base;
__attribute__((section(".stapsdt.base"), used)) const char mp_probe_base = 0;

__attribute__((noinline)) void mp_probe_send_alloc(const void *p, size_t size,
						   size_t weight)
{
  __asm__ volatile (PROBE("alloc", SIZE "@%0 " SIZE "@%1 " SIZE "@%2")
		    : : "r"(p), "r"(size), "r"(weight));
}

__attribute__((noinline)) void mp_probe_send_free(const void *p)
{
  __asm__ volatile (PROBE("free", SIZE "@%0") : : "r"(p));
}

#endif
