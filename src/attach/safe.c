/* SPDX-License-Identifier: MIT */
/*
** See attach/safe.h.
*/
#include "config.h"

#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/frame.h"
#include "attach/safe.h"

#define FRAME_SEARCH (64 << 10)	/* Bytes of the stack, for signal frames. */

/* System calls that are made with a lock of the C library, or for one. */
static bool is_locked(const mp_registers *r)
{
  switch (r->syscall) {
  case SYS_brk: case SYS_mmap: case SYS_munmap: case SYS_mremap:
  case SYS_mprotect: case SYS_madvise: case SYS_clone: case SYS_clone3:
  case SYS_execve: case SYS_exit: case SYS_exit_group: case SYS_rt_sigreturn:
#ifdef SYS_fork
  case SYS_fork: case SYS_vfork:
#endif
#ifdef __i386__
  case SYS_mmap2: case SYS_sigreturn:
#endif
    return true;
#ifdef SYS_futex_time64
  case SYS_futex_time64:
#endif
  case SYS_futex:  /* Conditions and semaphores wait by bits, locks do not. */
    return (r->arg[1] & FUTEX_CMD_MASK) != FUTEX_WAIT_BITSET;
  default:
    return false;
  }
}

/* Whether code at that address is not part of the C library's work. */
static bool free_code(const mp_code *c, uint64_t ip)
{
  const mp_mapping *a = mp_maps_find(c->maps, ip);
  return a != NULL && a->executable && !mp_maps_same(a, c->libc) &&
	 !mp_maps_same(a, c->loader) && !mp_maps_same(a, c->memory);
}

/* Whether that is the frame of a signal handler, which has interrupted code of
** the C library, or `any` code. a: the stack. */
static bool is_frame(const mp_code *c, const mp_mapping *a, const char *frame,
		     uint64_t at, bool any)
{
  int spofs = MP_FRAME_SP, ipofs = MP_FRAME_IP;
  uintptr_t returns, old, ip;
#ifdef MP_FRAME_MARK
  memcpy(&returns, frame + MP_FRAME_MARK_AT, sizeof(returns));
  if (returns != MP_FRAME_MARK) return false;
  returns = c->restorer;
#else
  memcpy(&returns, frame, sizeof(returns));
#endif
  if (returns == 0) return false;
#ifdef MP_OLDFRAME_CODE
  if (returns == c->oldrestorer) {
    spofs = MP_OLDFRAME_SP;
    ipofs = MP_OLDFRAME_IP;
  }
#endif
  if (returns != c->restorer && returns != c->oldrestorer) return false;
  memcpy(&old, frame + spofs, sizeof(old));
  memcpy(&ip, frame + ipofs, sizeof(ip));
  return old > at && old < a->to && mp_maps_find(c->maps, ip) != NULL &&
	 (any || !free_code(c, ip));
}

/* Whether a signal handler runs that has interrupted such code. The frame of an
** earlier handler may be left in a hole of the stack: such a frame costs a
** moment, or this attempt. */
static bool interrupted(const mp_code *c, uint64_t sp, bool any)
{
  static char stack[FRAME_SEARCH];
  const mp_mapping *a = mp_maps_find(c->maps, sp);
  size_t i, size;
  if (a == NULL || c->restorer == 0) return a == NULL;
  size = a->to - sp < FRAME_SEARCH ? a->to - sp : FRAME_SEARCH;
  if (!mp_remote_read(c->maps->pid, stack, sp, size)) return true;
  for (i = 0; i + MP_FRAME_SIZE <= size; i += sizeof(uintptr_t))
    if (is_frame(c, a, stack + i, sp + i, any)) return true;
  return false;
}

/* A mutex as the C library has it. */
typedef struct mutex {
#ifdef __LP64__
  uint32_t lock, count, owner, users, kind;
#else
  uint32_t lock, count, owner, kind;
#endif
} mutex;

#define RECURSIVE 1
#define LINKER_MAX (64 << 10)

static bool is_thread(pid_t pid, uint32_t tid)
{
  char name[64];
  snprintf(name, sizeof(name), "/proc/%ld/task/%lu", (long)pid,
	   (unsigned long)tid);
  return access(name, F_OK) == 0;
}

/* The linker's locks are recursive mutexes somewhere among its variables. */
bool mp_safe_loader(const mp_code *c)
{
  static char variables[LINKER_MAX];
  size_t size = c->linker_size < LINKER_MAX ? c->linker_size : LINKER_MAX, i;
  mutex m;
  if (c->linker == 0 ||
      !mp_remote_read(c->maps->pid, variables, c->linker, size))
    return true;
  for (i = 0; i + sizeof(m) <= size; i += 8) {
    memcpy(&m, variables + i, sizeof(m));
    if (m.kind == RECURSIVE && m.lock > 0 && m.lock <= 2 && m.count > 0 &&
	m.owner > 0 && is_thread(c->maps->pid, m.owner))
      return false;
  }
  return true;
}

bool mp_safe_asleep(const mp_tracee *t)
{
  return mp_tracee_registers(t).syscall >= 0;
}

bool mp_safe_now(const mp_code *c, const mp_tracee *t)
{
  mp_registers r = mp_tracee_registers(t);
  const mp_mapping *a = mp_maps_find(c->maps, r.ip);
  if (r.syscall >= 0) {
    if (is_locked(&r) || a == NULL || mp_maps_same(a, c->loader)) return false;
  } else if (!free_code(c, r.ip)) {
    return false;
  }
  return !interrupted(c, r.sp, false);
}

bool mp_safe_handles(const mp_code *c, const mp_tracee *t)
{
  return interrupted(c, mp_tracee_registers(t).sp, true);
}
