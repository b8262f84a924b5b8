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
  const void *vectors;		/* As NT_X86_XSTATE or NT_FPREGSET has them. */
  size_t size;
  uint64_t mask;		/* Blocked signals. */
} mp_frame_state;

/* Makes a frame that ends below the address `top`, for a function that returns
** to `returns`; where arguments are on the stack, these are. False: the state
** cannot be had in a frame. */
bool mp_frame_make(mp_frame *f, const mp_frame_state *s, uint64_t top,
		   uint64_t returns, const uint64_t args[6]);

/* The instruction that a handler of signals returns to, in the C library: its
** bytes, and the same after the result of the function, if it is ours, was
** kept in the frame. */
#ifdef __aarch64__
#define MP_RETURN_CODE "\x68\x11\x80\xd2\x01\0\0\xd4"
#define MP_CALL_CODE "\xe0\x0b\0\xf9" MP_RETURN_CODE
#elif defined(__x86_64__)
#define MP_RETURN_CODE "\x48\xc7\xc0\x0f\0\0\0\x0f\x05"
#define MP_CALL_CODE "\x48\x89\x44\x24\x08" MP_RETURN_CODE
#else
#define MP_RETURN_CODE "\xb8\xad\0\0\0\xcd\x80"
#define MP_CALL_CODE "\x89\x44\x24\x0c" MP_RETURN_CODE
#endif

/* Where signal frames have the registers of the interrupted code, from the
** address that the handler returns to on. On arm64 no place of the frame has
** that: there frames are known by the head of the registers for vectors. */
#ifdef __aarch64__
#define MP_FRAME_SP	560
#define MP_FRAME_IP	568
#define MP_FRAME_MARK_AT 592
#define MP_FRAME_MARK	UINT64_C(0x21046508001)
#define MP_FRAME_SIZE	600
#elif defined(__x86_64__)
#define MP_FRAME_SP	168
#define MP_FRAME_IP	176
#define MP_FRAME_SIZE	184
#else
#define MP_FRAME_SP	192
#define MP_FRAME_IP	220
#define MP_FRAME_SIZE	260
/* The same of handlers that get no siginfo_t: their frames are of another kind
** on i386. */
#define MP_OLDFRAME_CODE "\x58\xb8\x77\0\0\0\xcd\x80"
#define MP_OLDFRAME_SP	36
#define MP_OLDFRAME_IP	64
#endif

#endif
