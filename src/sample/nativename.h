/* SPDX-License-Identifier: MIT */
/*
** Frames for the C code that asked for memory: made of an address when a sample
** is taken, named when it is reported. Any thread.
*/
#ifndef MP_NATIVENAME_H
#define MP_NATIVENAME_H

#include <stdbool.h>

#include "data/stacks.h"

#define MP_NATIVE_NAME	256	/* Bytes of a name, with its 0. */

/* The frame of the code at an address, which called the function `what`; its
** strings are in buf. Takes no lock. */
mp_frame mp_nativename_frame(const void *ret, const char *what,
			     char buf[MP_NATIVE_NAME]);

/* Whether a frame is one of these, of a library other than LuaJIT's: an address
** in the code. Asks the loader, as the next. */
bool mp_nativename_code(const mp_frame *f, const void **code);

/* The name of such a frame, in buf; its library in *library. False: the frame
** is none of these. Asks the loader: not to be called in an allocator. */
bool mp_nativename_get(const mp_frame *f, char buf[MP_NATIVE_NAME],
		       const char **library);

#endif
