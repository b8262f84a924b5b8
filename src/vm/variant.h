/* SPDX-License-Identifier: MIT */
/*
** Variants of the layout: builds of LuaJIT whose VM state has more fields, or
** the known ones at other places, such as Tarantool's.
**
** The places are found by what the VM writes there while a state of our own
** does known things: calls a C function, collects, interprets, runs compiled
** code and leaves it.
*/
#ifndef MP_VARIANT_H
#define MP_VARIANT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct mp_variant {
  uint32_t alloc;		/* Offset of the allocator in the global */
				/* state. */
  uint32_t vmstate;		/* Offset of the VM's state. */
  uint32_t jitbase;		/* Offset of the running trace's base. */
  uint32_t strtab;		/* Offset of the table of strings. */
  uint32_t tmpbuf;		/* Offset of the buffer for strings. */
  uint32_t states;		/* States that it has besides those known, */
				/* between interpreter and C function. */
  uint32_t prev;		/* In a C frame: the one below. */
  uint32_t len, data;		/* In a string: its length and text. */
  uint32_t bufword;		/* Bytes of a word of the buffer. */
} mp_variant;

/* Fills in *v. False: what the VM does is not what we expect. Opens a state and
** closes it. */
bool mp_variant_find(mp_variant *v);

/* The same, found once for the process; NULL: not found. Until then the
** functions below are about the known layout. */
const mp_variant *mp_variant_once(void);

/* Where a C frame of this LuaJIT refers to the one below. */
uint32_t mp_variant_prev(void);

/* Where a string has its length, and its text. */
uint32_t mp_variant_len(void);
uint32_t mp_variant_data(void);

/* Bytes of a word of the VM's buffers (BUF_WORD). */
uint32_t mp_variant_bufword(void);

/* From now on these are the answers, of a LuaJIT that is not this process's.
** prev 0: not known. */
void mp_variant_assume(uint32_t prev, uint32_t len, uint32_t data,
		       uint32_t bufword);

#endif
