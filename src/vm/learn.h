/* SPDX-License-Identifier: MIT */
/*
** Facts about this LuaJIT that nothing in the program's state proves. A state
** of our own runs small programs, and its allocator looks at the VM:
**
** - Each IR instruction that allocates an object calls a function of its own.
**   No symbol tells where these are.
** - The functions of its allocator (vm/allocator.h) and of its library package
**   (vm/package.h).
** - The compiler's state has the numbers of the trace and of the exit by which
**   compiled code was left. Other pairs of words there may look the same.
*/
#ifndef MP_LEARN_H
#define MP_LEARN_H

#include <stdbool.h>
#include <stdint.h>

typedef enum mp_maker {
  MP_MAKER_TABLE,		/* Makes a table of given sizes, */
  MP_MAKER_COPY,		/* a copy of a table with constants, */
  MP_MAKER_CDATA,		/* an object of the FFI; */
  MP_MAKER_OTHER,		/* something else; or */
  MP_MAKER_UNKNOWN		/* it is not known what. */
} mp_maker;

/* Learns, once in a process. Opens a state and runs Lua code. Without memory,
** the compiler, or a layout that is proved, there is nothing to learn. From any
** thread; not inside an allocator. */
void mp_learn(void);

/* Whether nothing was found that compiled code has called: the C functions
** between it and the allocator cannot be unwound. */
bool mp_learn_blind(void);

/* The kind of object that a function of LuaJIT makes. Async-signal-safe, as the
** next. */
mp_maker mp_learn_maker(const void *function);

/* Offset of the two numbers of the exit from the pointer to the array of
** traces; 0: not known. */
uint32_t mp_learn_exit(void);

#endif
