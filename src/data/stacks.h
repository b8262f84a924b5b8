/* SPDX-License-Identifier: MIT */
/*
** Interned frames and stacks: a stack is an id.
**
** A stack is a node in a tree whose root is the empty stack (id 0): a node
** is its caller's node plus one frame. Equal frames and equal stacks get
** equal ids, ids count from 1 without gaps, and nothing is ever removed,
** so an id stays valid until mp_stacks_free. CPU and heap samples share one
** such table. A second table holds the labels and zones of samples: there a
** frame is a zone's name, or a label's with its value as the source.
*/
#ifndef MP_STACKS_H
#define MP_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/map.h"

#define MP_NONE UINT32_MAX	/* No memory: nothing was interned. */

typedef enum mp_kind {
  MP_LUA,			/* Lua function. */
  MP_C,				/* C function. */
  MP_BUILTIN,			/* Builtin of the VM, known by number. */
  MP_PSEUDO,			/* No function: a state, such as "(C code)". */
  MP_ZONE,			/* A zone's name. */
  MP_LABEL,			/* A label. */
  MP_OWN			/* The profiler's own function: in no stack. */
} mp_kind;

typedef struct mp_frame {
  const char *name;		/* Function name, copied; NULL: anonymous. */
  const char *source;		/* Chunk name without @ or =; C: the library. */
  uint32_t namelen;		/* Bytes in name. May contain any byte. */
  uint32_t sourcelen;		/* Bytes in source. */
  int32_t line;			/* Current line, or 0: unknown. */
  int32_t linedefined;		/* First line (0: main chunk); -1: unknown. */
  uint32_t builtin;		/* Builtin's number, or 0. */
  uint64_t code, chunk;		/* Lua: identities (vm/code.h), or 0; C: the */
				/* function's address, and its library's. */
  mp_kind kind;
  bool symbol;			/* C: the name is the function's own. */
} mp_frame;

typedef struct mp_node {
  uint32_t parent;		/* Stack id of the caller; 0: none. */
  uint32_t frame;		/* Frame id. */
} mp_node;

typedef struct mp_stacks {
  mp_frame *frames;		/* Frame id -> frame; [0] is unused. */
  mp_node *nodes;		/* Stack id -> node; [0] is the empty stack. */
  uint32_t nframes;		/* Highest frame id. */
  uint32_t nnodes;		/* Highest stack id. */
  uint32_t capframes, capnodes;	/* Allocated elements. */
  mp_map framemap, nodemap;	/* Hash of contents -> id. */
  mp_map stringmap;		/* Hash of a source -> a frame that has it. */
  struct mp_arena *arena;	/* Where the strings live. */
  size_t textbytes;		/* Bytes of the strings. */
  bool closed;			/* What is new is not interned any more. */
} mp_stacks;

/* Makes an empty table. Takes no memory yet. */
void mp_stacks_init(mp_stacks *s);

/* Id of the frame equal to *f (strings are copied; they need not end in 0).
** MP_NONE: no memory, or the table is closed. */
uint32_t mp_stacks_frame(mp_stacks *s, const mp_frame *f);

/* Id of the stack that is `parent` plus `frame`. MP_NONE: no memory, or the
** table is closed. */
uint32_t mp_stacks_push(mp_stacks *s, uint32_t parent, uint32_t frame);

/* Bytes that the table will have taken once it has that many frames and nodes
** more. */
size_t mp_stacks_after(const mp_stacks *s, uint32_t more);

/* Gives all memory back. */
void mp_stacks_free(mp_stacks *s);

#endif
