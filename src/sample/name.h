/* SPDX-License-Identifier: MIT */
/*
** Names of functions: turns a verified frame into a frame of a report.
**
** Inside the allocator too: these functions take no memory, raise no error, and
** change nothing that is shared.
*/
#ifndef MP_NAME_H
#define MP_NAME_H

#include <stddef.h>

#include "data/stacks.h"
#include "vm/view.h"

#define MP_NAME_MAX	512	/* Bytes of a name that are kept. */
#define MP_SOURCE_MAX	4096	/* And of a chunk's. */

#define MP_CHUNK_MAX	64	/* Bytes of the name of a string chunk. */

/* Fills in *f; its strings are the VM's, static, or in buf. */
void mp_name_frame(mp_view *v, const mp_vmframe *vf, mp_frame *f,
		   char buf[MP_NAME_MAX + MP_CHUNK_MAX]);

/* Sets a function's name. Of a name that is too long the beginning is kept. */
void mp_name_set(mp_frame *f, const char *name, size_t len,
		 char buf[MP_NAME_MAX]);

/* Sets a function's source by its chunk's name, as Lua has it: with @ or =
** before it, or a text. */
void mp_name_chunk(mp_frame *f, const char *s, size_t len,
		   char buf[MP_CHUNK_MAX]);

/* Names a C function: by its symbol, exported or not; else its caller's name
** for it (in *f already) stays. The identities of its code and chunk are its
** address and that of its library (see sample/symbol.h). */
void mp_name_cfunction(mp_frame *f, const void *addr, char buf[MP_NAME_MAX]);

/* A frame of which nothing is known. */
mp_frame mp_name_none(void);

#endif
