/* SPDX-License-Identifier: MIT */
/*
** See attach/tracee.h.
*/
#include "config.h"

#include <errno.h>
#include <linux/filter.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/maps.h"
#include "attach/registers.h"
#include "attach/room.h"
#include "attach/stops.h"
#include "attach/tracee.h"
#include "data/clock.h"

#define PATIENCE 1.0		/* Seconds until a thread must have stopped. */

bool mp_tracee_work(pid_t tid, double *ran, bool *asleep)
{
  char name[64], state = '?';
  FILE *f;
  bool ok;
  snprintf(name, sizeof(name), "/proc/%ld/schedstat", (long)tid);
  if ((f = mp_room(fopen(name, "re"))) == NULL) return false;
  ok = fscanf(f, "%lf", ran) == 1;
  fclose(f);
  *ran *= 1e-9;
  snprintf(name, sizeof(name), "/proc/%ld/stat", (long)tid);
  if (!ok || (f = mp_room(fopen(name, "re"))) == NULL) return false;
  ok = fscanf(f, "%*d (%*[^)]) %c", &state) == 1;
  fclose(f);
  *asleep = state != 'R';
  return ok;
}

/* Waits until the thread stops. False: it has ended, or it has run, or slept,
** for that many seconds without that; on a busy machine it may come to neither
** for long. */
static bool wait_working(mp_tracee *t, double seconds, int *status)
{
  double first = 0, last = 0, ran;
  bool asleep, known = mp_tracee_work(t->tid, &first, &asleep);
  last = first;
  while (!mp_stops_within(t, seconds, status)) {
    if (t->gone || !known || !mp_tracee_work(t->tid, &ran, &asleep))
      return false;
    if (ran - first > seconds || (asleep && ran == last)) return false;
    last = ran;
  }
  return true;
}

static bool is_interrupt(int status)
{
  return status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
}

/* Waits for the stop that was asked for; signals that come first are
** delivered. */
static int wait_interrupt(mp_tracee *t)
{
  int status;
  for (;;) {
    if (!wait_working(t, PATIENCE, &status)) return t->gone ? ESRCH : EBUSY;
    if (is_interrupt(status)) return 0;
    if (status >> 16 == PTRACE_EVENT_STOP) {  /* Stopped by a signal. */
      ptrace(PTRACE_DETACH, t->tid, NULL, NULL);
      return EBUSY;
    }
    ptrace(PTRACE_CONT, t->tid, NULL,
	   (void *)(intptr_t)(status >> 16 != 0 ? 0 : WSTOPSIG(status)));
  }
}

/* Returns an errno value. A thread that did not stop in time before may still
** be ours. */
static int interrupt(pid_t tid)
{
  int err = 0;
  if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) != 0)
    err = errno;
  if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0) return 0;
  return err != 0 ? err : errno;
}

/* Stops from the terminal wait, or the thread would stand still, too. */
static void hold_stops(mp_tracee *t)
{
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGTSTP);
  sigaddset(&stops, SIGTTIN);
  sigaddset(&stops, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &stops, &t->before);
}

#ifdef __aarch64__

#define SVC	0xd4000001	/* The instruction of a system call. */

/* The call in which a thread sleeps. */
typedef struct call_before {
  long number;			/* -1: it does not. */
  unsigned long sp, pc;
} call_before;

static call_before look_before(pid_t tid)
{
  call_before c = { -1, 0, 0 };
  char name[64];
  FILE *f;
  snprintf(name, sizeof(name), "/proc/%ld/syscall", (long)tid);
  if ((f = mp_room(fopen(name, "re"))) == NULL) return c;
  if (fscanf(f, "%ld %*s %*s %*s %*s %*s %*s %lx %lx", &c.number, &c.sp,
	     &c.pc) != 3)
    c.number = -1;
  fclose(f);
  return c;
}

/* Where the kernel makes a system call again it has set the registers back
** before we see them. A sleep for a time, which would begin anew then, goes on
** by another call. */
static void note_sleep(mp_tracee *t, const call_before *c)
{
  bool relative = c->number == SYS_nanosleep ||
    (c->number == SYS_clock_nanosleep && (t->regs.R_ARG1 & TIMER_ABSTIME) == 0);
  t->sleeps = relative && t->regs.sp == c->sp && t->regs.pc + 4 == c->pc;
}

/* The number of the system call that a thread is in: it stands before the
** instruction, to be made again, or behind it. */
static int64_t system_call(const mp_tracee *t)
{
  uint32_t code[2] = { 0, 0 };
  bool in = mp_remote_read(t->tid, code, t->regs.pc - 4, sizeof(code)) &&
	    (code[0] == SVC || code[1] == SVC);
  return in ? (int64_t)(int32_t)t->regs.R_SYSCALL : -1;
}

#define LINK(t)	(t)->regs.R_LINK

#else

typedef int call_before;

static call_before look_before(pid_t tid)
{
  (void)tid;
  return 0;
}

static void note_sleep(mp_tracee *t, const call_before *c)
{
  (void)t; (void)c;
}

static int64_t system_call(const mp_tracee *t)
{
  return (long)t->regs.R_SYSCALL;
}

#define LINK(t)	0

#endif

mp_tracee *mp_tracee_stop(pid_t tid, int *err)
{
  mp_tracee *t = mp_room(calloc(1, sizeof(*t)));
  call_before call = look_before(tid);
  *err = ENOMEM;
  if (t == NULL) return NULL;
  t->tid = tid;
  hold_stops(t);
  mp_stops_expect(tid);
  *err = interrupt(tid);
  if (*err == 0) *err = wait_interrupt(t);
  if (*err == 0 && !mp_get_registers(tid, &t->regs)) *err = errno;
  if (*err == 0) note_sleep(t, &call);
  if (*err == 0) return t;
  mp_tracee_release(t);
  return NULL;
}

void mp_tracee_release(mp_tracee *t)
{
  if (!t->gone) {
    if (t->changed) mp_set_registers(t->tid, &t->regs);
    if (ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)t->signal) != 0)
      mp_stops_leave(t->tid);
    if (t->changed) mp_set_registers(t->tid, &t->regs);
    ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)t->signal);
    if (t->halted) syscall(SYS_tkill, t->tid, SIGSTOP);
  }
  pthread_sigmask(SIG_SETMASK, &t->before, NULL);
  free(t);
}

bool mp_tracee_all_gone_on(void) { return mp_stops_let_go(); }

mp_registers mp_tracee_registers(const mp_tracee *t)
{
  mp_registers r = {
    (unsigned long)t->regs.R_IP, (unsigned long)t->regs.R_SP,
    system_call(t),
    { (unsigned long)t->regs.R_ARG0, (unsigned long)t->regs.R_ARG1 }, LINK(t)
  };
  return r;
}

struct sock_filter *mp_tracee_filter(mp_tracee *t, unsigned i,
				     unsigned *count)
{
  void *number = (void *)(uintptr_t)i;
  struct sock_filter *ins;
  long n = ptrace(PTRACE_SECCOMP_GET_FILTER, t->tid, number, NULL);
  if (n < 0 || n > BPF_MAXINSNS) return NULL;
  ins = mp_room(malloc((size_t)n * sizeof(*ins)));
  if (ins == NULL) return NULL;
  *count = (unsigned)n;
  if (ptrace(PTRACE_SECCOMP_GET_FILTER, t->tid, number, ins) == n) return ins;
  free(ins);
  return NULL;
}

void mp_tracee_jump(mp_tracee *t, uint64_t ip)
{
  t->regs.R_IP = (unsigned long)ip;
  t->changed = true;
}

bool mp_tracee_step(mp_tracee *t)
{
  int status;
  if (t->changed) mp_set_registers(t->tid, &t->regs);
  t->changed = false;
  if (ptrace(PTRACE_SINGLESTEP, t->tid, NULL, NULL) != 0 ||
      !mp_stops_await(t, &status))
    return false;
  mp_get_registers(t->tid, &t->regs);
  if (status >> 16 != 0) return false;
  if (WSTOPSIG(status) == SIGTRAP) return true;
  t->signal = WSTOPSIG(status);
  return false;
}

#ifdef __aarch64__

void mp_tracee_again(mp_tracee *t) { (void)t; }

#else

#define CALL_CODE 2		/* Bytes of the instruction of a call. */

/* Whether a signal waits for the thread that it does not block. */
static bool has_signals(pid_t tid)
{
  unsigned long long of_thread = 0, of_all = 0, blocked = 0;
  char name[64], line[128];
  FILE *f;
  snprintf(name, sizeof(name), "/proc/%ld/status", (long)tid);
  if ((f = mp_room(fopen(name, "re"))) == NULL) return true;
  while (fgets(line, sizeof(line), f) != NULL) {
    sscanf(line, "SigPnd: %llx", &of_thread);
    sscanf(line, "ShdPnd: %llx", &of_all);
    sscanf(line, "SigBlk: %llx", &blocked);
  }
  fclose(f);
  return ((of_thread | of_all) & ~blocked) != 0;
}

/* The kernel itself makes the others again. */
void mp_tracee_again(mp_tracee *t)
{
  if ((long)t->regs.R_SYSCALL < 0 || (long)t->regs.R_RESULT != -EINTR ||
      has_signals(t->tid))
    return;
  t->regs.R_RESULT = t->regs.R_SYSCALL;
  t->regs.R_SYSCALL = -1;
  t->regs.R_IP -= CALL_CODE;
  t->changed = true;
}

#endif

#ifdef __x86_64__

uint64_t mp_tracee_value(const mp_tracee *t, int reg)
{
  const struct user_regs_struct *r = &t->regs;
  const unsigned long long general[] = {
    r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
    r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15
  };
  struct user_fpregs_struct fp;
  uint64_t value = 0;
  if (reg < 16) return general[reg];
  if (ptrace(PTRACE_GETFPREGS, t->tid, NULL, &fp) == 0)
    memcpy(&value, &fp.xmm_space[(reg - 16) * 4], sizeof(value));
  return value;
}

#elif defined(__i386__)

uint64_t mp_tracee_value(const mp_tracee *t, int reg)
{
  const struct user_regs_struct *r = &t->regs;
  const long general[] = {
    r->eax, r->ecx, r->edx, r->ebx, r->esp, r->ebp, r->esi, r->edi
  };
  struct user_fpxregs_struct fp;
  uint64_t value = 0;
  if (reg < 8) return (unsigned long)general[reg];
  if (reg < 16 && ptrace(PTRACE_GETFPXREGS, t->tid, NULL, &fp) == 0)
    memcpy(&value, &fp.xmm_space[(reg - 8) * 4], sizeof(value));
  return value;
}

#else

uint64_t mp_tracee_value(const mp_tracee *t, int reg)
{
  struct user_fpsimd_struct fp;
  struct iovec io = { &fp, sizeof(fp) };
  if (reg < 31) return t->regs.regs[reg];
  if (reg > 31 &&
      ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_FPREGSET, &io) == 0)
    return (uint64_t)fp.vregs[reg - 32];
  return t->regs.sp;
}

#endif

bool mp_tracee_poke(mp_tracee *t, uint64_t to, const char *from, size_t n)
{
  size_t i;
  long word;
  for (i = 0; i < n; i += sizeof(word)) {
    word = 0;
    memcpy(&word, from + i, n - i < sizeof(word) ? n - i : sizeof(word));
    if (ptrace(PTRACE_POKEDATA, t->tid, (void *)(uintptr_t)(to + i),
	       (void *)word) != 0)
      return false;
  }
  return true;
}

/* Blocks a signal, or unblocks it. */
static void block_signal(mp_tracee *t, int sig, bool block)
{
  uint64_t mask, bit = UINT64_C(1) << (sig - 1);
  if (ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(mask), &mask) != 0)
    return;
  mask = block ? mask | bit : mask & ~bit;
  ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(mask), &mask);
}

/* The kernel unblocks a blocked SIGTRAP for good, and removes its handler. */
void mp_tracee_begin_steps(mp_tracee *t)
{
  uint64_t mask = 0;
  ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(mask), &mask);
  t->blocks_trap = (mask & UINT64_C(1) << (SIGTRAP - 1)) != 0;
  if (t->blocks_trap) block_signal(t, SIGTRAP, false);
}

void mp_tracee_end_steps(mp_tracee *t)
{
  if (t->blocks_trap && !t->gone) block_signal(t, SIGTRAP, true);
  t->blocks_trap = false;
}

bool mp_tracee_run_to(mp_tracee *t, uint64_t ip, double until)
{
  while (mp_clock_wall() < until && mp_tracee_step(t))
    if ((unsigned long)t->regs.R_IP == ip) return true;
  return false;
}
