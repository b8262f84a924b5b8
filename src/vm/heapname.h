/* SPDX-License-Identifier: MIT */
/*
** Names for objects of the heap and references to them, as a person writes
** them. Where vm/heap.h can be used.
**
** Texts are cut where they are long, and end with a zero. What is not text in
** them shows as "?".
*/
#ifndef MP_HEAPNAME_H
#define MP_HEAPNAME_H

#include <stddef.h>

#include "vm/heap.h"

#define MP_LABEL_MAX	160	/* Room that every name fits in. */

/* What to append to the name of `from` (NULL: the VM's own reference, it
** stands alone) to name what the reference leads to: ".field", "[1]",
** " ^upvalue", " local x (app.lua:3)". */
void mp_heap_label(const mp_heap *h, const char *from, mp_how how,
		   uint64_t detail, char *buf, size_t n);

/* The object's type, and what it is best known by: "function app.lua:12". */
void mp_heap_describe(const char *obj, char *buf, size_t n);

/* Its type alone: a static string, one of "string", "table", "function",
** "upvalue", "thread", "userdata", "cdata", "proto", "trace". */
const char *mp_heap_type(const char *obj);

/* The number of its type, less than MP_HEAP_TYPES. */
#define MP_HEAP_TYPES	16
unsigned mp_heap_typeno(const char *obj);

/* The key's text, where it is a string; *len: its length. Or NULL. */
const char *mp_heap_keytext(uint64_t key, size_t *len);

#endif
