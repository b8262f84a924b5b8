/* SPDX-License-Identifier: MIT */
/*
** The kind of object that a block of the Lua heap is.
**
** LuaJIT does not tell its allocator the kind. But each kind is allocated at
** few places of LuaJIT's code, and a place is known by two addresses on the C
** stack: the one that the allocator returns to, and the one that its caller
** returns to. The kind of a place is learned from its first blocks: when the VM
** calls the allocator again, it has filled the block in, and the block, and the
** memory that points to it, are examined.
*/
#ifndef MP_TYPE_H
#define MP_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/vm.h"

typedef enum mp_type {
  MP_TYPE_UNKNOWN,		/* Not known yet, or never. */
  MP_STRING, MP_TABLE, MP_ARRAY, MP_HASH, MP_FUNCTION, MP_UPVALUE, MP_THREAD,
  MP_STACK, MP_USERDATA, MP_CDATA, MP_PROTO, MP_TRACE, MP_BUFFER, MP_STRTAB,
  MP_RECORDER,
  MP_OTHER,			/* None of these. */
  MP_NTYPES
} mp_type;

/* Sets of types, a bit for each: all of them, and those of memory that the VM
** takes for itself, at whatever line it happens to be. */
#define MP_TYPES_ALL	((UINT32_C(1) << MP_NTYPES) - 1)
#define MP_TYPES_VM	(UINT32_C(1) << MP_STACK | UINT32_C(1) << MP_TRACE | \
			 UINT32_C(1) << MP_STRTAB | UINT32_C(1) << MP_RECORDER)

/* A place that asks for memory. */
typedef struct mp_site {
  const void *ret, *ret2;	/* The allocator's and the caller's return */
				/* addresses. */
  const void *function;		/* That the caller returns to: its */
				/* start, or NULL. */
  uint8_t type;			/* An mp_type, once it is known. */
  uint8_t guess;		/* The kind of its last block. */
  uint8_t tries;		/* Blocks whose kind was not found out. */
  size_t largest;		/* Bytes of the largest block looked at. */
} mp_site;

/* Where a function that calls the allocator keeps its own return address. */
typedef struct mp_caller {
  const void *ret;		/* In that function; NULL: empty. */
  int32_t ofs;			/* From the top of the allocator's frame. */
} mp_caller;

/* A place that was seen not long ago, by the addresses as found on the
** stack. */
typedef struct mp_cached_type {
  const void *ret, *ret2;
  mp_site *site;
} mp_cached_type;

#define MP_SITES	512	/* Powers of two. */
#define MP_CALLERS	64
#define MP_CACHED_TYPES		64

/* A block whose place was not known. */
typedef struct mp_unknown {
  char *block;			/* NULL: there is none. */
  size_t size;
  mp_site *site;
  uint32_t id;			/* The sample's: for the user. */
  int looks;			/* How often it was looked at. */
} mp_unknown;

typedef struct mp_types {
  bool enabled;			/* Types can be known on this VM. */
  const char *code, *codeend;	/* The VM's machine code. */
  uint32_t nsites, ncallers;
  mp_unknown unknown;		/* One at a time. */
  mp_cached_type cached[MP_CACHED_TYPES];		/* By ret2. */
  mp_caller callers[MP_CALLERS];
  mp_site sites[MP_SITES];
} mp_types;

void mp_type_init(mp_types *t, const mp_vm *vm);

/* mp_type_site for a place that is not among those seen last. */
mp_site *mp_type_find(mp_types *t, const void *ret, const char *frame);

static inline mp_cached_type *mp_type_cached(mp_types *t, const void *ret2)
{
  return &t->cached[(uintptr_t)ret2 >> 2 & (MP_CACHED_TYPES - 1)];
}

/* The place that calls the allocator. ret: the allocator's return address;
** frame: the top of its frame (__builtin_dwarf_cfa). NULL: not known. */
static inline mp_site *mp_type_site(mp_types *t, const void *ret,
				    const char *frame)
{
  const mp_caller *c = &t->callers[(uintptr_t)ret >> 2 & (MP_CALLERS - 1)];
  if (c->ret == ret && c->ofs >= 0) {
    const void *ret2 = *(const void *const *)(const void *)(frame + c->ofs);
    const mp_cached_type *m = mp_type_cached(t, ret2);
    if (m->ret == ret && m->ret2 == ret2) return m->site;
  }
  return mp_type_find(t, ret, frame);
}

/* The type of what is allocated there, which need not be known yet. s may be
** NULL. */
static inline uint8_t mp_type_of(const mp_site *s)
{
  return s != NULL ? s->type : (uint8_t)MP_TYPE_UNKNOWN;
}

/* The type of a block that the JIT compiler has asked for. type: its place's. A
** place that tells nothing allocates the compiler's own arrays then. */
static inline uint8_t mp_type_compiling(uint8_t type)
{
  return type == MP_TYPE_UNKNOWN || type == MP_OTHER ? MP_RECORDER : type;
}

/* A table is made by a function that allocates the object first and then its
** array and hash parts; a thread and its stack are made alike. Other functions,
** which resize an object, allocate nothing but parts. So if the same function
** that has allocated such an object allocates a part, and nothing was allocated
** in between, then this is one call of it, and the part is the object's. */

/* The function that makes an object with parts, if it allocates there. NULL: it
** does not, or it is not known. */
static inline const void *mp_type_maker(const mp_site *s)
{
  return s != NULL && (s->type == MP_TABLE || s->type == MP_THREAD) ?
	 s->function : NULL;
}

/* Whether a block from there is a part of the object that was allocated last.
** maker: that of this object. */
static inline bool mp_type_ispart(const mp_site *s, const void *maker)
{
  return maker != NULL && s->function == maker &&
	 (s->type == MP_ARRAY || s->type == MP_HASH || s->type == MP_STACK);
}

/* Whether a block is worth looking at: a place whose small blocks gave nothing
** away may have a large one that does. */
static inline bool mp_type_wanted(const mp_site *s, size_t size)
{
  return s != NULL && (s->type == MP_TYPE_UNKNOWN ||
		       (s->type == MP_OTHER && size / 2 > s->largest));
}

/* Begins to look at a block that was asked for at such a place, and at no other
** any more. */
void mp_type_ask(mp_types *t, mp_site *s, void *block, size_t size,
		 uint32_t id);

/* Looks at that block; to be called each time the VM calls the allocator. True:
** there is no need to look again, *type is its type (which may be
** MP_TYPE_UNKNOWN), and the place has learned. */
bool mp_type_look(mp_types *t, mp_vm *vm, mp_type *type);

/* The same for the last time: the block is about to be freed. Returns its
** type. */
mp_type mp_type_look_last(mp_types *t, mp_vm *vm);

/* The name that reports give to a type. */
const char *mp_type_name(unsigned type);

#endif
