/* SPDX-License-Identifier: MIT */
/*
** Facts about this LuaJIT that nothing in the program's state proves. A state
** of our own runs small programs, and its allocator looks at the VM:
**
** - Each IR instruction that allocates an object calls a function of its own,
**   for which there is no symbol (vm/snap.h).
** - The functions of its allocator (vm/allocator.h) and of its library package
**   (vm/package.h).
** - The compiler's state has the numbers of the trace and of the exit by which
**   compiled code was left. Other pairs of words there may look the same
**   (vm/snap.h).
*/
#ifndef MP_LEARN_H
#define MP_LEARN_H

#include <stdbool.h>

/* Learns, once in a process. Opens a state and runs Lua code. Without memory,
** the compiler, or a layout that is proved, there is nothing to learn. From any
** thread; not inside an allocator. */
void mp_learn(void);

/* NULL, or the reason why places in compiled code cannot be found, such as that
** its C functions cannot be unwound. Static string. */
const char *mp_learn_why(void);

#endif
