/* SPDX-License-Identifier: MIT */
/*
** See attach/call.h.
*/
#include "config.h"

#include <cpuid.h>
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
#include "attach/maps.h"
#include "attach/stops.h"
#include "data/clock.h"

/* -- The frame of a signal ------------------------------------------------ */

/*
** A signal frame, as the kernel writes it when a handler is called, and reads
** it when the handler returns.
**
** A function that is made to return to the code that handlers return to gives
** the thread its registers back by itself.
*/

/* The state that a frame gives back. */
typedef struct mp_frame_state {
  const struct user_regs_struct *regs;
  const char *vectors;		/* As NT_X86_XSTATE has them. */
  size_t size;
  uint64_t mask;		/* Blocked signals. */
} mp_frame_state;

/* Errors of system calls that the kernel makes again. */
#define RESTART_SYSTEM 512
#define RESTART_ALWAYS 513
#define RESTART_NO_HANDLER 514
#define RESTART_BLOCK 516

#define SYSCALL_SIZE 2		/* Bytes of the instruction. */
#define GENERAL	23		/* Words for general registers and traps. */

typedef struct head {
  uint64_t returns;		/* Popped by the function. */
  uint64_t flags, link;
  uint64_t stack[3];
  uint64_t general[GENERAL];
  uint64_t vectors, reserved[8];
  uint64_t mask;
} head;

_Static_assert(offsetof(head, link) == MP_FRAME_RESULT, "the unread word");

#define FLAGS	7		/* With vectors, and with ss. */
/* Flags of an alternate stack that the kernel refuses, and so keeps its own. */
#define NO_STACK 0x7fffffff
#define BELOW	512		/* Bytes for the head, with its alignment. */

/* The vectors: legacy registers with a part for software, a header, and the
** features from number 2 on. */
typedef struct software {
  uint32_t magic, whole;
  uint64_t features;
  uint32_t size, padding[7];
} software;

#define SOFTWARE_AT 464
#define IN_USE_AT 512
#define FEATURES_AT 576
#define FEATURES 63
#define DYNAMIC 18		/* The first feature that needs permission. */
#define MAGIC	0x46505853
#define MAGIC_END 0x46505845

/* Bytes of the vectors, as far as a signal frame has them. */
static uint32_t vectors_size(const mp_frame_state *s, uint64_t *features)
{
  uint32_t size = FEATURES_AT, length, offset, c, d, i;
  uint64_t in_use;
  memcpy(features, s->vectors + SOFTWARE_AT, sizeof(*features));
  memcpy(&in_use, s->vectors + IN_USE_AT, sizeof(in_use));
  *features &= in_use | ((UINT64_C(1) << DYNAMIC) - 1);
  for (i = 2; i < FEATURES; i++) {
    if ((*features >> i & 1) == 0) continue;
    __cpuid_count(0xd, i, length, offset, c, d);
    if (offset + length > size) size = offset + length;
  }
  return size <= s->size ? size : 0;
}

/* The registers to give back: a system call that was interrupted is made again,
** or fails, as it does after a signal. */
static struct user_regs_struct resumed(const struct user_regs_struct *regs)
{
  struct user_regs_struct r = *regs;
  int64_t error = -(int64_t)r.rax;
  if ((int64_t)r.orig_rax < 0) return r;
  if (error == RESTART_SYSTEM || error == RESTART_ALWAYS ||
      error == RESTART_NO_HANDLER) {
    r.rax = r.orig_rax;
    r.rip -= SYSCALL_SIZE;
  } else if (error == RESTART_BLOCK) {
    r.rax = (uint64_t)-EINTR;
  }
  return r;
}

static void fill(head *h, const mp_frame_state *s)
{
  const struct user_regs_struct r = resumed(s->regs);
  const uint64_t general[] = {
    r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rdi, r.rsi, r.rbp,
    r.rbx, r.rdx, r.rax, r.rcx, r.rsp, r.rip, r.eflags,
    r.cs | r.gs << 16 | r.fs << 32 | r.ss << 48
  };
  memset(h, 0, sizeof(*h));
  memcpy(h->general, general, sizeof(general));
  h->flags = FLAGS;
  h->stack[1] = NO_STACK;
  h->mask = s->mask;
}

/* Makes a frame that ends below the address `top`, for a function that returns
** to `returns`. False: the state cannot be had in a frame. */
static bool frame_make(mp_frame *f, const mp_frame_state *s, uint64_t top,
		   uint64_t returns)
{
  const uint32_t end = MAGIC_END;
  software sw = { .magic = MAGIC };
  char *vectors;
  head h;
  if (s->size < FEATURES_AT) return false;
  sw.size = vectors_size(s, &sw.features);
  sw.whole = sw.size + (uint32_t)sizeof(end);
  if (sw.size == 0 || sw.whole + BELOW > sizeof(f->bytes)) return false;
  fill(&h, s);
  h.vectors = (top - sw.whole) & ~UINT64_C(63);
  h.returns = returns;
  f->at = ((h.vectors - sizeof(h)) & ~UINT64_C(15)) - 8;
  f->size = h.vectors + sw.whole - f->at;
  memset(f->bytes, 0, f->size);
  memcpy(f->bytes, &h, sizeof(h));
  vectors = f->bytes + (h.vectors - f->at);
  memcpy(vectors, s->vectors, sw.size);
  memcpy(vectors + SOFTWARE_AT, &sw, sizeof(sw));
  memcpy(vectors + sw.size, &end, sizeof(end));
  return true;
}

/* -- Calls ---------------------------------------------------------------- */

#define PATIENCE 1.0		/* Seconds until a thread must have stopped, */
#define LONG	2.0		/* and after which a call takes long. */
#define SPIN	0.01		/* Seconds of short rests, */
#define LONG_REST 1000000	/* and nanoseconds of those afterwards. */
#define RED_ZONE 128		/* Bytes that belong to the function. */
#define SYSCALL_STOP (SIGTRAP | 0x80)
#define TRAP_FLAG 0x100
#define DIRECTION_FLAG 0x400

/* Writes the frame. Its address, or 0. */
static uint64_t write_frame(mp_tracee *t, const mp_place *p, uint64_t mask)
{
  const mp_frame_state state = { &t->regs, t->xstate, t->xsize, mask };
  uint64_t top = p->stack != 0 ? p->stack : t->regs.rsp - RED_ZONE;
  mp_frame f;
  return frame_make(&f, &state, top, p->returns) &&
	 mp_remote_write(t->tid, f.at, f.bytes, f.size) ? f.at : 0;
}

static bool save(mp_tracee *t, uint64_t *mask)
{
  struct iovec io = { t->xstate, sizeof(t->xstate) };
  if (ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_X86_XSTATE, &io) != 0)
    return false;
  t->xsize = io.iov_len;
  return ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(*mask), mask) == 0;
}

/* Registers for a call, of a thread that is in no system call. */
static struct user_regs_struct fresh(const mp_tracee *t, uint64_t function,
				     uint64_t sp, const uint64_t args[6])
{
  struct user_regs_struct r = t->regs;
  r.orig_rax = ~UINT64_C(0);
  r.eflags &= ~(uint64_t)(TRAP_FLAG | DIRECTION_FLAG);
  r.rip = function;
  r.rsp = sp;
  r.rax = 0;
  r.rdi = args[0];
  r.rsi = args[1];
  r.rdx = args[2];
  r.rcx = args[3];
  r.r8 = args[4];
  r.r9 = args[5];
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
  while (!mp_stops_seen(t, status)) {
    double now = mp_clock_wall();
    mp_stops_rest(now < last + SPIN ? MP_REST : LONG_REST);
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
  return (int64_t)r->orig_rax == SYS_rt_sigreturn && r->rsp == sp + 8;
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
    ptrace(PTRACE_GETREGS, t->tid, NULL, &r);
    if (!goes_on(t, status)) return MP_CALL_FAILED;
    if (WSTOPSIG(status) != SYSCALL_STOP) continue;
    if (is_returning(&r, sp)) {
      r.orig_rax = ~UINT64_C(0);  /* It comes back here if we end now. */
      r.rip = p->returns;
      ptrace(PTRACE_SETREGS, t->tid, NULL, &r);
      return MP_CALL_DONE;
    }
    *result = (int64_t)r.rax;
  }
  return t->left ? MP_CALL_LEFT : MP_CALL_FAILED;
}

/* Stops the thread where the kernel will look at an interrupted system call,
** and puts all back, the registers last: until then it can return by itself. */
static void put_back(mp_tracee *t, uint64_t mask, bool at_syscall)
{
  struct iovec io = { t->xstate, t->xsize };
  int status;
  if (at_syscall && !t->gone) {
    ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
    ptrace(PTRACE_CONT, t->tid, NULL, NULL);
    if (mp_stops_await(t, &status) && status >> 16 == 0 &&
	WSTOPSIG(status) == SIGSTOP)
      t->halted = true;
  }
  if (t->gone) return;
  ptrace(PTRACE_SETREGSET, t->tid, (void *)NT_X86_XSTATE, &io);
  ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(mask), &mask);
  ptrace(PTRACE_SETREGS, t->tid, NULL, &t->regs);
  t->changed = false;
}

mp_called mp_call(mp_tracee *t, mp_place *p, uint64_t function,
		  const uint64_t args[6], int64_t *result)
{
  struct user_regs_struct r;
  mp_called called;
  uint64_t mask;
  if (!save(t, &mask) || (t->frame = write_frame(t, p, mask)) == 0)
    return MP_CALL_FAILED;
  r = fresh(t, function, t->frame, args);
  if (ptrace(PTRACE_SETREGS, t->tid, NULL, &r) != 0) return MP_CALL_FAILED;
  hold_signals(t);
  called = wait_return(t, p, t->frame, result);
  put_back(t, mask, called == MP_CALL_DONE);
  return called;
}

bool mp_call_result(const mp_tracee *t, uint64_t *result)
{
  return mp_remote_read(t->tid, result, t->frame + MP_FRAME_RESULT,
			sizeof(*result));
}
