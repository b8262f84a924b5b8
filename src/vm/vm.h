/* SPDX-License-Identifier: MIT */
/*
** The state of the VM and of the collector, and the running thread, none of
** which LuaJIT's API tells.
**
** The files of src/vm are the only ones that know LuaJIT's internal layout
** (vm/layout.h). vm/prove.h proves it on the running VM; until `proved` is set
** no function here may be called but mp_vm_forget.
**
** These functions only read, but for mp_vm_refused, on the thread that runs the
** VM, inside the allocator too.
*/
#ifndef MP_VM_H
#define MP_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/layout.h"
#include "vm/unwind.h"

#include "lua.h"

/* The trace that was running when it was looked for the last time. */
typedef struct mp_last_trace {
  lua_State *L;			/* In this thread; NULL: none. */
  const void *cframe;		/* That thread's C frame, as it is stored. */
  const char *trace;		/* The GCtrace. */
  int32_t number;		/* The trace's number. */
  const uintptr_t *ret;		/* Return address of a function it calls. */
} mp_last_trace;

typedef struct mp_vm {
  char *g;			/* LuaJIT's global_State; NULL: not found. */
  char *alloc;			/* In it: the allocator, and behind that the */
				/* collector's state. */
  bool proved;			/* The layout below may be used. */
  const char *why;		/* The reason if it may not. Static string. */
  bool coarse;			/* LuaJIT's profiler is in mode "f". */
  const char *mainl;		/* The main thread. */
  const void *dead;		/* Running thread that was freed, or NULL. */
  const void *alive;		/* Thread that ran, not freed; or NULL. */
  uint32_t curl;		/* Offset of cur_L in the global state. */
  uint32_t jitbase;		/* Offset of jit_base. */
  uint32_t vmstate;		/* Offset of vmstate. */
  uint32_t states;		/* States that this VM has besides those */
				/* known (vm/variant.h). */
  uint32_t strtab;		/* Offset of the table of strings. */
  uint32_t tmpbuf;		/* Offset of the buffer for strings. */
  uint32_t traces;		/* Offset of the trace array; 0: not known. */
  mp_last_trace last;
  mp_cframes frames;		/* Of the VM's C functions. */
  mp_step from;			/* What has called the allocator; ip 0: not */
				/* known. */
} mp_vm;

/* The running thread, or NULL if it is not known: cur_L may refer to no thread,
** to one that has stopped, or to one that was freed. */
lua_State *mp_vm_find_thread(mp_vm *vm);
static inline lua_State *mp_vm_thread(mp_vm *vm)
{
  lua_State *L = REF(lua_State *, vm->g, vm->curl);
  /* C code may have resumed it and now run by itself: then it has no C
  ** frame. */
  return L == vm->alive && L != NULL && AT(void *, L, L_CFRAME) != NULL ? L :
	 mp_vm_find_thread(vm);
}

/* The allocator is about to refuse memory. Where compiled code asked for it,
** the stack's base is one of the past, where LuaJIT before 2 June 2023
** (2d8300c1) looks for who catches the error: a tick of ours that left compiled
** code in a called function makes that a crash. Gives the running thread the
** base of the compiled code, as LuaJIT does since. */
void mp_vm_refused(mp_vm *vm);

/* Where the VM runs. */
typedef enum mp_vm_place {
  MP_VM_IDLE,			/* Nowhere, or it is not known. */
  MP_VM_HERE,			/* In this thread. */
  MP_VM_ELSEWHERE		/* In another one, or on another stack. */
} mp_vm_place;

/* context: of the signal handler that asks, which may have a stack of its own;
** else NULL. Async-signal-safe, in any thread. */
mp_vm_place mp_vm_whereabouts(const mp_vm *vm, const void *context);

/* A VM as LuaJIT refers to it. Some VM of this LuaJIT was proved. */
static inline void *mp_vm_global(lua_State *L)
{
  return REF(void *, L, L_GLREF);
}

/* Whether no Lua code runs, judging by the main thread: the host program works
** on the VM outside of any call. */
static inline bool mp_vm_hosted(const mp_vm *vm)
{
  return AT(void *, vm->mainl, L_CFRAME) == NULL;
}

/* LuaJIT's vmstate: the number of the running trace, or one of VM_*. */
static inline int32_t mp_vm_state(const mp_vm *vm)
{
  int32_t st = AT(volatile int32_t, vm->g, vm->vmstate);
  if (__builtin_expect(vm->states == 0, true) || st >= 0) return st;
  st += (int32_t)vm->states;  /* The others are the interpreter's. */
  return st < VM_INTERP ? st : VM_INTERP;
}

/* The VM's state as one of luaJIT_profile_callback's letters "NICGJ". Leaving a
** trace counts as compiled code: the objects that are allocated then are those
** that the code would have allocated. */
static inline int mp_vm_letter(const mp_vm *vm)
{
  int32_t st = mp_vm_state(vm);
  return st >= 0 ? 'N' : st < VM_EXIT ? 'J' : "NGCI"[st - VM_EXIT];
}

/* Base of the running trace's frame; NULL: no compiled code is running. */
static inline slot *mp_vm_jitbase(const mp_vm *vm)
{
  return REF(slot *, vm->g, vm->jitbase);
}

/* Whether compiled code is running. */
static inline bool mp_vm_ontrace(const mp_vm *vm)
{
  return mp_vm_jitbase(vm) != NULL;
}

/* Whether the collector is running, not the program. */
static inline bool mp_vm_collecting(const mp_vm *vm)
{
  return mp_vm_state(vm) == VM_GC;
}

/* Notes what has called the allocator, by its return address and the top of its
** frame, for mp_trace_meet: where a call itself does not save the address of
** compiled code. */
static inline void mp_vm_called(mp_vm *vm, const void *ret, const char *frame)
{
  if (!CALL_SAVES)
    vm->from = (mp_step){ (uint64_t)(uintptr_t)ret, frame, NULL };
}

/* Whether the block that is being freed was a prototype or a trace. */
bool mp_vm_iscode(const void *block, size_t size);

/* Prototypes or traces were freed: forgets the trace that was seen last. */
static inline void mp_vm_forget(mp_vm *vm) { vm->last.L = NULL; }

/* The address of the word in which the collector counts the bytes of the
** heap. */
static inline gcsize *mp_vm_total(const mp_vm *vm)
{
  return (gcsize *)(void *)(vm->alloc + G_TOTAL);
}

/* Changes once in every collection cycle. */
static inline uint8_t mp_vm_white(const mp_vm *vm)
{
  return AT(volatile uint8_t, vm->alloc, G_WHITE) & OBJ_WHITES;
}

/* The phase of the collector: pause, mark, sweep or finalize; '?': unknown. */
static inline char mp_vm_phase(const mp_vm *vm)
{
  uint8_t phase = AT(volatile uint8_t, vm->alloc, G_PHASE);
  return phase < G_PHASES ? "pmmssf"[phase] : '?';
}

/* Whether a table has an empty array part. */
static inline bool mp_vm_noarray(const void *table)
{
  return AT(const uint32_t, table, TAB_ASIZE) == 0;
}

/* The array part of a table, and its size in bytes. */
static inline const void *mp_vm_array(const void *table, size_t *size)
{
  *size = AT(const uint32_t, table, TAB_ASIZE) * sizeof(slot);
  return REF(const void *, table, TAB_ARRAY);
}

/* Threads, prototypes and traces have at least this size. */
#define MP_VM_LARGE	L_SIZE

/* Whether a block of that size may be one of these: by an object's type. */
static inline bool mp_vm_watched(const void *block)
{
  uint8_t type = AT(const uint8_t, block, OBJ_GCT);
  return type < OBJ_TYPES &&
	 ((1u << GCT_THREAD | 1u << GCT_PROTO | 1u << GCT_TRACE) >> type & 1);
}

/* The thread at `block` is being freed: it is not looked at again. */
static inline void mp_vm_freeing(mp_vm *vm, const void *block)
{
  if (block == REF(void *, vm->g, vm->curl)) vm->dead = block;
  if (block == vm->last.L) vm->last.L = NULL;
  if (block == vm->alive) vm->alive = NULL;
}

#endif
