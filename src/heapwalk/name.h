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

/* The class of a userdata, or the C type of a cdata as C writes it: "FILE*",
** "struct point *", "double [7]"; empty for one without a name. A class is the
** __name of the metatable, or the key that it has in the registry. A C type
** without a name has that of its typedef, if that is near. */
void mp_heap_class(mp_heap *h, const char *obj, char *buf, size_t n);

/* Whether it is a userdata or a cdata; and a key that is equal for two of one
** class. */
bool mp_heap_hasclass(const char *obj);
uint64_t mp_heap_classkey(const char *obj);

#endif
