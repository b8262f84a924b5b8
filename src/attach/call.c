/* SPDX-License-Identifier: MIT */
/*
** See attach/call.h.
*/
#include "config.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "attach/call.h"
#include "attach/frame.h"
#include "attach/maps.h"
#include "attach/registers.h"
#include "attach/stops.h"
#include "data/clock.h"

/* -- Calls ---------------------------------------------------------------- */

#define PATIENCE 1.0		/* Seconds until a thread must have stopped, */
#define LONG	2.0		/* and after which a call takes long. */
#define SPIN	0.01		/* Seconds of short rests, */
#define LONG_REST 1000000	/* and nanoseconds of those afterwards. */
#define RED_ZONE 128		/* Bytes that belong to the function. */
#define SYSCALL_STOP (SIGTRAP | 0x80)
#ifdef __aarch64__

#define REGSET	NT_ARM_SVE	/* All registers for vectors. */
#define BRANCH_TYPE 0xc00ul	/* Of a jump that was just made. */
#define ACTIVE	1		/* Bits at a regset's beginning, or end. */
#define REGSET_GUARDS 0x410
#define REGSET_STREAM 0x40b
#define STREAM_FLAGS 12		/* Offset of its flags. */

static bool has_flag(const mp_tracee *t, uintptr_t regset, size_t at)
{
  char head[24] = "";
  struct iovec io = { head, sizeof(head) };
  return ptrace(PTRACE_GETREGSET, t->tid, (void *)regset, &io) == 0 &&
	 io.iov_len > at && (head[at] & ACTIVE) != 0;
}

/* Not saved is what a thread has while it streams vectors; and a stack of
** return addresses, which would check the call, has none of ours. */
static bool save_vectors(mp_tracee *t)
{
  struct iovec io = { &t->fp, sizeof(t->fp) };
  struct iovec all = { t->xstate, sizeof(t->xstate) };
  if (has_flag(t, REGSET_STREAM, STREAM_FLAGS) ||
      has_flag(t, REGSET_GUARDS, 0) ||
      ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_FPREGSET, &io) != 0)
    return false;
  t->xsize = ptrace(PTRACE_GETREGSET, t->tid, (void *)REGSET, &all) == 0 ?
	     all.iov_len : 0;
  return true;
}

static void restore_vectors(mp_tracee *t)
{
  struct iovec io = { &t->fp, sizeof(t->fp) };
  struct iovec all = { t->xstate, t->xsize };
  if (t->xsize == 0 ||
      ptrace(PTRACE_SETREGSET, t->tid, (void *)REGSET, &all) != 0)
    ptrace(PTRACE_SETREGSET, t->tid, (void *)NT_FPREGSET, &io);
}

static void set_arguments(struct user_regs_struct *r, const mp_place *p,
			  const uint64_t args[6])
{
  int i;
  for (i = 0; i < 6; i++) r->regs[i] = args[i];
  r->R_LINK = p->returns;
  r->pstate &= ~BRANCH_TYPE;
}

/* Has the system call that is about to begin not made. */
static void cancel_call(mp_tracee *t, struct user_regs_struct *r)
{
  int none = -1;
  struct iovec io = { &none, sizeof(none) };
  mp_set_registers(t->tid, r);
  ptrace(PTRACE_SETREGSET, t->tid, (void *)NT_ARM_SYSTEM_CALL, &io);
}

/* The registers as the kernel would set them where the thread goes on. */
static void resume(mp_tracee *t)
{
  struct user_regs_struct r = t->regs;
  if (t->sleeps) r.R_SYSCALL = SYS_restart_syscall;
  mp_set_registers(t->tid, &r);
}

#define VECTORS(t) &(t)->fp, sizeof((t)->fp)
#define POPPED	0		/* Bytes that a function's return pops. */

#else

#define TRAP_FLAG 0x100L
#define DIRECTION_FLAG 0x400L

static bool save_vectors(mp_tracee *t)
{
  struct iovec io = { t->xstate, sizeof(t->xstate) };
  if (ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_X86_XSTATE, &io) != 0)
    return false;
  t->xsize = io.iov_len;
  return true;
}

static void restore_vectors(mp_tracee *t)
{
  struct iovec io = { t->xstate, t->xsize };
  ptrace(PTRACE_SETREGSET, t->tid, (void *)NT_X86_XSTATE, &io);
}

static void set_arguments(struct user_regs_struct *r, const mp_place *p,
			  const uint64_t args[6])
{
  (void)p;
  r->R_SYSCALL = -1;
  r->eflags &= ~(TRAP_FLAG | DIRECTION_FLAG);
  r->R_RESULT = 0;
#ifdef __x86_64__
  r->rdi = args[0];
  r->rsi = args[1];
  r->rdx = args[2];
  r->rcx = args[3];
  r->r8 = args[4];
  r->r9 = args[5];
#else
  (void)args;  /* The frame has them. */
#endif
}

/* Has the system call that is about to begin not made. */
static void cancel_call(mp_tracee *t, struct user_regs_struct *r)
{
  r->R_SYSCALL = -1;
  mp_set_registers(t->tid, r);
}

static void resume(mp_tracee *t) { mp_set_registers(t->tid, &t->regs); }

#define VECTORS(t) (t)->xstate, (t)->xsize
#define POPPED	sizeof(long)	/* Bytes that a function's return pops. */

#endif

static bool save(mp_tracee *t, uint64_t *mask)
{
  return save_vectors(t) &&
	 ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(*mask), mask) == 0;
}

/* Writes the frame. Its address, or 0. */
static uint64_t write_frame(mp_tracee *t, const mp_place *p, uint64_t mask,
			    const uint64_t args[6])
{
  const mp_frame_state state = { &t->regs, VECTORS(t), mask };
  uint64_t sp = (unsigned long)t->regs.R_SP;
  uint64_t top = p->stack != 0 ? p->stack : sp - RED_ZONE;
  mp_frame f;
  return mp_frame_make(&f, &state, top, p->returns, args) &&
	 mp_remote_write(t->tid, f.at, f.bytes, f.size) ? f.at : 0;
}

/* Registers for a call, of a thread that is in no system call. */
static struct user_regs_struct fresh(const mp_tracee *t, const mp_place *p,
				     uint64_t function, uint64_t sp,
				     const uint64_t args[6])
{
  struct user_regs_struct r = t->regs;
  set_arguments(&r, p, args);
  r.R_IP = (unsigned long)function;
  r.R_SP = (unsigned long)sp;
  return r;
}

/* Holds back all signals that are not needed during a call. */
static void hold_signals(mp_tracee *t)
{
  static const int needed[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE };
  uint64_t mask = ~UINT64_C(0);
  size_t i;
  for (i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
    mask &= ~(UINT64_C(1) << (needed[i] - 1));
  ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(mask), &mask);
}

/* Lets a call go on to its end without us. */
static void leave(mp_tracee *t)
{
  int status;
  ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
  if (mp_stops_within(t, PATIENCE, &status))
    ptrace(PTRACE_DETACH, t->tid, NULL, NULL);
  t->gone = t->left = true;
}

/* Waits for the next stop of a call, however long that takes, unless the user
** ends it. */
static bool wait_call(mp_tracee *t, mp_place *p, double begin, int *status)
{
  double last = mp_clock_wall();
  unsigned looks = 0;
  while (!mp_stops_seen(t, status)) {
    double now = mp_clock_wall();
    mp_stops_rest(&looks, now < last + SPIN ? MP_REST : LONG_REST);
    if (now < begin + LONG) continue;
    if (*p->end) {
      leave(t);
      return false;
    }
    if (!p->slow)
      fprintf(stderr, "luajit-mp: waiting for thread %ld, which is slow to "
	      "load the profiler\n", (long)t->tid);
    p->slow = true;
  }
  return !t->gone;
}

/* Whether the thread is about to return from a call. */
static bool is_returning(const struct user_regs_struct *r, uint64_t sp)
{
  return (long)r->R_SYSCALL == SYS_rt_sigreturn &&
	 (unsigned long)r->R_SP == sp + POPPED;
}

/* Whether the call goes on after a stop: SIGSTOP can neither be held back, nor
** may it end a call halfway. */
static bool goes_on(mp_tracee *t, int status)
{
  if (status >> 16 != 0 || WSTOPSIG(status) == SYSCALL_STOP) return true;
  if (WSTOPSIG(status) != SIGSTOP) return false;
  t->halted = true;
  return true;
}

/* Waits until the function has returned. *result: what its last system call
** returned. */
static mp_called wait_return(mp_tracee *t, mp_place *p, uint64_t sp,
			     int64_t *result)
{
  double begin = mp_clock_wall();
  struct user_regs_struct r;
  int status;
  *result = 0;
  while (ptrace(PTRACE_SYSCALL, t->tid, NULL, NULL) == 0 &&
	 wait_call(t, p, begin, &status)) {
    mp_get_registers(t->tid, &r);
    if (!goes_on(t, status)) return MP_CALL_FAILED;
    if (WSTOPSIG(status) != SYSCALL_STOP) continue;
    if (is_returning(&r, sp)) {
      r.R_IP = (unsigned long)p->returns;  /* It comes back if we end now. */
      cancel_call(t, &r);
      return MP_CALL_DONE;
    }
    *result = (long)r.R_RESULT;
  }
  return t->left ? MP_CALL_LEFT : MP_CALL_FAILED;
}

/* Stops the thread where the kernel will look at an interrupted system call,
** and puts all back, the registers last: until then it can return by itself. */
static void put_back(mp_tracee *t, uint64_t mask, bool at_syscall)
{
  int status;
  if (at_syscall && !t->gone) {
    ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
    ptrace(PTRACE_CONT, t->tid, NULL, NULL);
    if (mp_stops_await(t, &status) && status >> 16 == 0 &&
	WSTOPSIG(status) == SIGSTOP)
      t->halted = true;
  }
  if (t->gone) return;
  restore_vectors(t);
  ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(mask), &mask);
  resume(t);
  t->changed = false;
}

mp_called mp_call(mp_tracee *t, mp_place *p, uint64_t function,
		  const uint64_t args[6], int64_t *result)
{
  struct user_regs_struct r;
  mp_called called;
  uint64_t mask;
  if (!save(t, &mask) || (t->frame = write_frame(t, p, mask, args)) == 0)
    return MP_CALL_FAILED;
  r = fresh(t, p, function, t->frame, args);
  if (!mp_set_registers(t->tid, &r)) return MP_CALL_FAILED;
  hold_signals(t);
  called = wait_return(t, p, t->frame, result);
  put_back(t, mask, called == MP_CALL_DONE);
  return called;
}

bool mp_call_result(const mp_tracee *t, uint64_t *result)
{
  unsigned long word;
  if (!mp_remote_read(t->tid, &word, t->frame + MP_FRAME_RESULT, sizeof(word)))
    return false;
  *result = word;
  return true;
}
