/* SPDX-License-Identifier: MIT */
/*
** Escapes: why compiled code makes an object.
**
** LuaJIT puts off the allocation of a table or of an FFI object until a trace
** is left, if nothing on the trace needs it before. What needs it is in the
** trace's instructions. Each kind below is enough for LuaJIT to make the object
** there, whatever else is done with it.
**
** The numbers of the operations are shown by a private state. These functions
** only read, on the thread that runs the VM.
*/
#ifndef MP_ESCAPE_H
#define MP_ESCAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/vm.h"

typedef enum mp_escapes {
  MP_ESCAPES_UNKNOWN,		/* For a reason that is not known. */
  MP_ESCAPES_TABLE,		/* It is stored in a table, */
  MP_ESCAPES_NEW,		/* in another new object, */
  MP_ESCAPES_UPVALUE,		/* in an upvalue, */
  MP_ESCAPES_MEMORY,		/* or in memory of C; */
  MP_ESCAPES_KEY,		/* a value is stored in it with a key that */
				/* is not constant; */
  MP_ESCAPES_CALL,		/* a function of C gets it; */
  MP_ESCAPES_END,		/* it is needed where the trace ends; */
  MP_ESCAPES_TURN,		/* it lives from one turn of a loop to the */
				/* next; */
  MP_ESCAPES_READ,		/* it is read, or compared. */
  MP_ESCAPES
} mp_escapes;

typedef struct mp_escape {
  mp_escapes how;
  const char *proto;		/* The object's place: a prototype, */
  uint32_t pos;			/* and the number of an instruction. */
  const char *proto_at;		/* The place where it escapes; */
  uint32_t pos_at;		/* NULL: it is not known. */
} mp_escape;

#define MP_ESCAPES_MAX	64

/* The objects that the trace of that number makes, as far as their places are
** known: at most MP_ESCAPES_MAX. Returns their number; 0: there are none, or it
** is not known. */
uint32_t mp_escape_find(mp_vm *vm, uint32_t number, mp_escape *list);

/* The text of a program that returns a function, whose loop shows the numbers
** of the operations; and keeps what its trace shows, which may be NULL. */
extern const char mp_escape_program[];
void mp_escape_learn(const char *trace);

#endif
