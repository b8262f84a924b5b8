/* SPDX-License-Identifier: MIT */
/*
** A signal frame, as the kernel writes it when a handler is called, and reads
** it when the handler returns.
**
** A function that is made to return to the code that handlers return to gives
** the thread its registers back by itself.
*/
#ifndef MP_FRAME_H
#define MP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#define MP_FRAME_MAX	16384	/* Bytes. */
#define MP_FRAME_RESULT	16	/* Offset of a word that the kernel does not */
				/* read. */

typedef struct mp_frame {
  uint64_t at;			/* Its address: the stack pointer of the */
				/* function. */
  size_t size;
  char bytes[MP_FRAME_MAX];
} mp_frame;

/* The state that a frame gives back. */
typedef struct mp_frame_state {
  const struct user_regs_struct *regs;
  const char *vectors;		/* As NT_X86_XSTATE has them. */
  size_t size;
  uint64_t mask;		/* Blocked signals. */
} mp_frame_state;

/* Makes a frame that ends below the address `top`, for a function that returns
** to `returns`. False: the state cannot be had in a frame. */
bool mp_frame_make(mp_frame *f, const mp_frame_state *s, uint64_t top,
		   uint64_t returns);

#endif
