/* SPDX-License-Identifier: MIT */
/*
** Whether a stopped thread may be made to call the C library.
*/
#ifndef MP_SAFE_H
#define MP_SAFE_H

#include "attach/maps.h"
#include "attach/tracee.h"

/* The objects of a process that matter. */
typedef struct mp_code {
  const mp_maps *maps;
  const mp_mapping *vm;		/* LuaJIT's object. */
  const mp_mapping *libc;	/* The C library. */
  const mp_mapping *loader;	/* The dynamic linker. */
  const mp_mapping *memory;	/* The object that defines malloc. */
  uint64_t linker;		/* The dynamic linker's variables, or 0. */
  uint64_t linker_size;		/* Bytes of the linker's variables. */
  uint64_t restorer;		/* Where signal handlers return to, or 0; */
  uint64_t oldrestorer;		/* and those with frames of another kind. */
} mp_code;

/* Whether the thread holds no lock of the C library and has left none of the
** library's data half written. So it is if the thread is in other code, or in a
** system call that is not made for memory, for a lock or by the dynamic linker;
** if a signal handler runs, the same must hold for the code it interrupted. */
bool mp_safe_now(const mp_code *c, const mp_tracee *t);

/* Whether no thread is in the dynamic linker, as far as its locks tell. */
bool mp_safe_loader(const mp_code *c);

/* Whether the thread is in a system call, that is, sleeps. */
bool mp_safe_asleep(const mp_tracee *t);

/* Whether a signal handler runs in the thread, which may be ours. */
bool mp_safe_handles(const mp_code *c, const mp_tracee *t);

#endif
