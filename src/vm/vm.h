/*
** What LuaJIT does not tell through its API: the running thread, the VM
** state, and the frames of a stack, inside compiled code too.
**
** vm/vm.c, vm/walk.c and vm/type.c are the only files that know LuaJIT's
** internal layout (vm/layout.h). The layout is proved on the running VM by
** mp_vm_prove before any of it is used; each frame is verified again before
** it is followed. Where the proof fails nothing here may be used, and the
** allocation sampler has to wait for the VM's own safepoints (see sample/heap.c).
*/
#ifndef MP_VM_H
#define MP_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/walk.h"

#include "lua.h"

/* The trace that was running when it was looked for the last time. */
typedef struct mp_met_trace {
  lua_State *L;			/* In this thread; NULL: none. */
  const void *cframe;		/* That thread's C frame, as it is stored. */
  const char *trace;		/* GCtrace, */
  int32_t number;		/* and its number. */
  const uint64_t *ret;		/* Where a function it calls returns to. */
} mp_met_trace;

typedef struct mp_vm {
  char *g;			/* LuaJIT's global_State. */
  bool proved;			/* The layout below may be used. */
  const char *why;		/* If not: why not. Static string. */
  const char *mainl;		/* The main thread. */
  const void *dead;		/* Running thread that was freed, or NULL. */
  uint32_t curl;		/* Offset of cur_L in the global state. */
  uint32_t vmstate;		/* Offset of vmstate. */
  uint32_t traces;		/* Offset of the trace array; 0: not met yet. */
  mp_met_trace met;
  mp_walk *walk;		/* The owner's: see vm/walk.h. */
} mp_vm;

/* One frame as it was verified, enough to recognise it and to name it. */
typedef struct mp_vmframe {
  const char *proto;		/* GCproto of a Lua function, or NULL. */
  uint64_t func;		/* Identity of the function. */
  uint64_t pc;			/* Where it is, or 0: not known. */
  uint64_t site;		/* Where it was called from. */
  bool called;			/* By a Lua call: the frame below has its PC. */
} mp_vmframe;

/* Where a thread is: the input of the functions below. */
typedef struct mp_where {
  lua_State *L;			/* The thread. */
  const char *trace;		/* Running trace (GCtrace), or NULL. */
  const char *snap;		/* Its snapshot, once it was looked for. */
  uint64_t *base;		/* Base of the interpreter's or trace's frame. */
  uint64_t pc;			/* Of the top Lua function, or in the trace. */
  uint64_t key;			/* Equal for equal stacks, until code is freed. */
  bool lost;			/* On a trace of which nothing is known. */
  bool compiling;		/* In the JIT compiler. */
} mp_where;

/* Proves the layout on the VM of L, in a call of the C function `self`. */
void mp_vm_prove(mp_vm *vm, lua_State *L, lua_CFunction self);

/* Finds out where L, which is running, is. False: there is no Lua stack to
** look at. */
bool mp_vm_where(mp_vm *vm, lua_State *L, mp_where *w);

/* The same for the running thread, inside the allocator. w->L is NULL where
** that cannot be known. *state: the VM state in luaJIT_profile_callback's
** letters, one of "NICGJ"; leaving a trace is compiled code: what it
** allocates, the code would have. */
bool mp_vm_running(mp_vm *vm, mp_where *w, int *state);

/* Whether compiled code is running. */
bool mp_vm_ontrace(const mp_vm *vm);

/* Whether the collector is at work, not the program. */
bool mp_vm_collecting(const mp_vm *vm);

/* Verifies the frames, top first, into f[MP_DEPTH]; *more tells whether there
** are others below. Returns their number, or -1: the stack cannot be read. */
int mp_vm_frames(const mp_vm *vm, mp_where *w, mp_vmframe *f, bool *more);

/* Prototypes or traces were freed: forget what was known by their addresses. */
void mp_vm_forget(mp_vm *vm);

/* Whether there is memory at p: asks the kernel. */
bool mp_vm_readable(const void *p);

/* PC of the Lua function below the frame `next`, if it was left by something
** else than a Lua call: it is saved in the C frame that was running it. f:
** the frame of the top. */
uint64_t mp_vm_cframe_pc(lua_State *L, uint64_t *f, uint64_t *next);

/* luaJIT_profile_dumpstack over the frames that mp_vm_frames verified, on a
** trace too. The caller holds the dump lock (sample/capture.c). */
const char *mp_vm_dump(const mp_vm *vm, const mp_where *w, const char *fmt,
		       int depth, size_t *len);

/* Chunk name as given to load (with its @ or =), and its length. */
const char *mp_vm_chunkname(const char *proto, size_t *len);

/* First line of a function; < 0: a builtin in bytecode. */
int mp_vm_firstline(const char *proto);

/* Whether the block that is being freed was a prototype or a trace. */
bool mp_vm_iscode(const void *block, size_t size);

/* Bytes in the Lua heap as the collector counts them: a word to be kept. */
static inline size_t *mp_vm_total(const mp_vm *vm)
{
  return (size_t *)(vm->g + 16);
}

/* Changes once in every collection cycle. */
static inline uint8_t mp_vm_white(const mp_vm *vm)
{
  return *(volatile uint8_t *)(vm->g + 32) & 3;
}

/* What the collector is doing: pause, mark, sweep or finalize; '?': unknown. */
static inline char mp_vm_phase(const mp_vm *vm)
{
  uint8_t state = *(volatile uint8_t *)(vm->g + 33);
  return state <= 5 ? "pmmssf"[state] : '?';
}

/* Whether a table has an empty array part. */
static inline bool mp_vm_noarray(const void *table)
{
  return *(const uint32_t *)((const char *)table + 48) == 0;
}

/* Threads, prototypes and traces are at least that large. */
#define MP_VM_LARGE	96

/* Whether such a block may be one of these: by an object's type. */
static inline bool mp_vm_watched(const void *block)
{
  uint8_t type = ((const uint8_t *)block)[9];
  return type < 16 && (0x2c0u >> type & 1);
}

/* The thread at `block` is being freed: do not look at it again. */
static inline void mp_vm_freeing(mp_vm *vm, const void *block)
{
  if (block == *(void **)(vm->g + vm->curl)) vm->dead = block;
  if (block == vm->met.L) vm->met.L = NULL;
}

#endif
