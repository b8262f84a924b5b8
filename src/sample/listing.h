/* SPDX-License-Identifier: MIT */
/*
** Listings: what was recorded for a trace, its bytecode and the compiler's
** instructions.
**
** A listing is a text for jit.mp.model.listing, which has the names: lines of a
** letter and numbers. The VM's layout is proved. All memory is our own; what
** has no room is left out, and the listing says so.
*/
#ifndef MP_LISTING_H
#define MP_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/vm.h"

/* The one that is being made. All zeros: empty. */
typedef struct mp_listing {
  char *text;
  uint32_t length, cap;
  bool cut;			/* There was no room. */
  const char *proto;		/* That of the last bytecode. */
} mp_listing;

/* Forgets what there is: a recording begins. */
void mp_listing_begin(mp_listing *l);

/* An instruction of a prototype is recorded: in a call as deep as that. */
void mp_listing_bytecode(mp_listing *l, const char *proto, uint32_t pos,
			 uint32_t depth);

/* A builtin of that number is, or a C function. */
void mp_listing_builtin(mp_listing *l, uint32_t ffid, uint32_t depth);

/* Adds the trace's instructions, constants and exits. Returns a copy that the
** caller frees; NULL: no memory. */
char *mp_listing_end(mp_listing *l, const char *trace);

void mp_listing_free(mp_listing *l);

#endif
