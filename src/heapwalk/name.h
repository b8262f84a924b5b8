/* SPDX-License-Identifier: MIT */
/*
** Names for objects of the heap and references to them, as a person writes
** them. To be used where heapwalk/heap.h can be used.
**
** Texts are cut where they are long, and end with a zero. The program's own
** strings in them are spelled (data/spell.h).
*/
#ifndef MP_HEAPNAME_H
#define MP_HEAPNAME_H

#include <stddef.h>

#include "heapwalk/edge.h"

#define MP_LABEL_MAX	160	/* Bytes that every name fits in. */

/* The text that, behind the name of `from`, names the object to which the
** reference leads: ".field", "[1]", " ^upvalue", " local x (app.lua:3)".
** NULL: the reference is the VM's own, and its name stands alone. */
void mp_heap_label(const mp_heap *h, const char *from, mp_how how,
		   uint64_t detail, char *buf, size_t n);

/* The object's type, and its best known property: "function app.lua:12". */
void mp_heap_describe(const char *obj, char *buf, size_t n);

/* The object's type alone: a static string, one of "string", "table",
** "function", "upvalue", "thread", "userdata", "cdata", "proto", "trace". */
const char *mp_heap_type(const char *obj);

/* The number of the object's type, less than MP_HEAP_TYPES. */
#define MP_HEAP_TYPES	16
unsigned mp_heap_typeno(const char *obj);

/* The key's text, where it is a string; *len: its length. Or NULL. */
const char *mp_heap_keytext(uint64_t key, size_t *len);

/* Writes that many bytes of a key's text as the other names show them. */
void mp_heap_keystart(const char *key, size_t len, char *buf, size_t n);

/* The C type of that number, as C writes it: "struct point *", "double [7]".
** One that has no name has that of its typedef, if that is near. */
void mp_heap_ctype(mp_heap *h, uint32_t id, char *buf, size_t n);

#endif
