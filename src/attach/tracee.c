/* SPDX-License-Identifier: MIT */
/*
** See attach/tracee.h.
**
** When the thread continues, the kernel restarts a system call that was
** interrupted, by the registers of that moment. So a call removes the number of
** the system call from the registers, and all of them are restored afterwards.
*/
#include "config.h"

#include <elf.h>
#include <errno.h>
#include <linux/filter.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/maps.h"
#include "attach/tracee.h"
#include "data/clock.h"

#define PATIENCE 1.0		/* Seconds until a thread must have stopped, */
#define CALL_MAX 2.0		/* and until a call must have returned. */
#define XSTATE_MAX 65536	/* Bytes of the registers for vectors. */
#define TRAP_FLAG 0x100
#define DIRECTION_FLAG 0x400

struct mp_tracee {
  pid_t tid;
  int signal;			/* To be delivered when it goes on. */
  bool changed;			/* `regs` are to be written first. */
  bool gone;			/* It has ended. */
  bool halted;			/* It got SIGSTOP meanwhile. */
  struct user_regs_struct regs;	/* As the program has them. */
  size_t xsize;
  char xstate[XSTATE_MAX];	/* The other registers, during a call. */
};

/* Whether the thread has stopped or ended. */
static bool has_stopped(mp_tracee *t, int *status)
{
  pid_t got = waitpid(t->tid, status, __WALL | WNOHANG);
  if (got == t->tid) t->gone = !WIFSTOPPED(*status);
  else if (got < 0 && errno != EINTR) t->gone = true;
  return got == t->tid || t->gone;
}

static void rest(void)
{
  const struct timespec step = { 0, 20000 };
  nanosleep(&step, NULL);
}

/* Waits until the thread stops. False: it has ended. To be used where what the
** thread has been told to do comes to an end, and must, before it is left. */
static bool await_stop(mp_tracee *t, int *status)
{
  while (!has_stopped(t, status)) rest();
  return !t->gone;
}

/* Waits until the thread stops. False: it has ended, or does not stop. */
static bool wait_stop(mp_tracee *t, double seconds, int *status)
{
  double end = mp_clock_wall() + seconds;
  while (!has_stopped(t, status)) {
    if (mp_clock_wall() > end) return false;
    rest();
  }
  return !t->gone;
}

/* Seconds that the thread has run so far, and whether it sleeps. A thread that
** waits for a processor does not. */
static bool read_work(pid_t tid, double *ran, bool *asleep)
{
  char name[64], state = '?';
  FILE *f;
  bool ok;
  snprintf(name, sizeof(name), "/proc/%ld/schedstat", (long)tid);
  if ((f = fopen(name, "re")) == NULL) return false;
  ok = fscanf(f, "%lf", ran) == 1;
  fclose(f);
  *ran *= 1e-9;
  snprintf(name, sizeof(name), "/proc/%ld/stat", (long)tid);
  if (!ok || (f = fopen(name, "re")) == NULL) return false;
  ok = fscanf(f, "%*d (%*[^)]) %c", &state) == 1;
  fclose(f);
  *asleep = state != 'R';
  return ok;
}

/* Waits until the thread stops. False: it has ended, or it has run, or slept,
** for so many seconds without that; on a busy machine it may come to neither
** for long. */
static bool wait_working(mp_tracee *t, double seconds, int *status)
{
  double first = 0, last = 0, ran;
  bool asleep, known = read_work(t->tid, &first, &asleep);
  last = first;
  while (!wait_stop(t, seconds, status)) {
    if (t->gone || !known || !read_work(t->tid, &ran, &asleep)) return false;
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

mp_tracee *mp_tracee_stop(pid_t tid, int *err)
{
  mp_tracee *t = calloc(1, sizeof(*t));
  *err = ENOMEM;
  if (t == NULL) return NULL;
  t->tid = tid;
  *err = 0;
  if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0 ||
      ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
    *err = errno;
  if (*err == 0) *err = wait_interrupt(t);
  if (*err == 0 && ptrace(PTRACE_GETREGS, tid, NULL, &t->regs) != 0)
    *err = errno;
  if (*err == 0) return t;
  mp_tracee_release(t);
  return NULL;
}

void mp_tracee_release(mp_tracee *t)
{
  if (!t->gone) {
    if (t->changed) ptrace(PTRACE_SETREGS, t->tid, NULL, &t->regs);
    ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)t->signal);
    if (t->halted) syscall(SYS_tkill, t->tid, SIGSTOP);
  }
  free(t);
}

mp_registers mp_tracee_registers(const mp_tracee *t)
{
  mp_registers r = {
    t->regs.rip, t->regs.rsp, (int64_t)t->regs.orig_rax,
    { t->regs.rdi, t->regs.rsi }
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
  ins = malloc((size_t)n * sizeof(*ins));
  if (ins == NULL) return NULL;
  *count = (unsigned)n;
  if (ptrace(PTRACE_SECCOMP_GET_FILTER, t->tid, number, ins) == n) return ins;
  free(ins);
  return NULL;
}

void mp_tracee_jump(mp_tracee *t, uint64_t ip)
{
  t->regs.rip = ip;
  t->changed = true;
}

bool mp_tracee_step(mp_tracee *t)
{
  int status;
  if (t->changed) ptrace(PTRACE_SETREGS, t->tid, NULL, &t->regs);
  t->changed = false;
  if (ptrace(PTRACE_SINGLESTEP, t->tid, NULL, NULL) != 0 ||
      !await_stop(t, &status))
    return false;
  ptrace(PTRACE_GETREGS, t->tid, NULL, &t->regs);
  if (status >> 16 != 0) return false;
  if (WSTOPSIG(status) == SIGTRAP) return true;
  t->signal = WSTOPSIG(status);
  return false;
}

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

/* Sets a breakpoint in the processor; 0: clears it. */
static bool set_breakpoint(mp_tracee *t, uint64_t ip)
{
  const size_t debug = offsetof(struct user, u_debugreg);
  const size_t control = debug + 7 * sizeof(long);
  long enabled = ip != 0;
  return ptrace(PTRACE_POKEUSER, t->tid, (void *)debug, (void *)ip) == 0 &&
	 ptrace(PTRACE_POKEUSER, t->tid, (void *)control, (void *)enabled) == 0;
}

bool mp_tracee_run_to(mp_tracee *t, uint64_t ip, double seconds)
{
  int status;
  if (t->changed) ptrace(PTRACE_SETREGS, t->tid, NULL, &t->regs);
  t->changed = false;
  if (!set_breakpoint(t, ip) ||
      ptrace(PTRACE_CONT, t->tid, NULL, NULL) != 0)
    return false;
  if (!wait_stop(t, seconds, &status) && !t->gone) {
    ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
    await_stop(t, &status);
  }
  if (t->gone) return false;
  ptrace(PTRACE_GETREGS, t->tid, NULL, &t->regs);
  set_breakpoint(t, 0);
  if (status >> 16 != 0) return false;
  if (WSTOPSIG(status) == SIGTRAP && t->regs.rip == ip) return true;
  t->signal = WSTOPSIG(status);
  return false;
}

/* -- Calls --------------------------------------------------------------- */

/* Holds back all signals that are not needed during a call. */
static bool hold_signals(mp_tracee *t, uint64_t *old)
{
  static const int needed[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE };
  uint64_t mask = ~UINT64_C(0);
  size_t i;
  for (i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
    mask &= ~(UINT64_C(1) << (needed[i] - 1));
  return ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(*old), old) == 0 &&
	 ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(mask), &mask) == 0;
}

static bool save(mp_tracee *t, uint64_t *mask)
{
  struct iovec io = { t->xstate, sizeof(t->xstate) };
  if (ptrace(PTRACE_GETREGSET, t->tid, (void *)NT_X86_XSTATE, &io) != 0)
    return false;
  t->xsize = io.iov_len;
  return hold_signals(t, mask);
}

static void put_back(mp_tracee *t, uint64_t mask)
{
  struct iovec io = { t->xstate, t->xsize };
  if (t->gone) return;
  ptrace(PTRACE_SETREGSET, t->tid, (void *)NT_X86_XSTATE, &io);
  ptrace(PTRACE_SETREGS, t->tid, NULL, &t->regs);
  ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(mask), &mask);
  t->changed = false;
}

/* Registers for a call, of a thread that is in no system call. */
static struct user_regs_struct fresh(const mp_tracee *t, uint64_t ip)
{
  struct user_regs_struct r = t->regs;
  r.orig_rax = ~UINT64_C(0);
  r.eflags &= ~(uint64_t)(TRAP_FLAG | DIRECTION_FLAG);
  r.rip = ip;
  return r;
}

/* Whether a stop is none that a call, or a step of it, ends with: SIGSTOP can
** neither be held back, nor may it end a call halfway. */
static bool comes_between(mp_tracee *t, int status)
{
  if (status >> 16 == 0 && WSTOPSIG(status) != SIGSTOP) return false;
  if (status >> 16 == 0) t->halted = true;
  return true;
}

int64_t mp_tracee_syscall(mp_tracee *t, const mp_place *p, long number,
			  const uint64_t args[6])
{
  struct user_regs_struct r = fresh(t, p->syscall);
  uint64_t mask;
  int status;
  if (!save(t, &mask)) return -EPERM;
  r.rax = (uint64_t)number;
  r.rdi = args[0];
  r.rsi = args[1];
  r.rdx = args[2];
  r.r10 = args[3];
  r.r8 = args[4];
  r.r9 = args[5];
  ptrace(PTRACE_SETREGS, t->tid, NULL, &r);
  r.rax = (uint64_t)-EINTR;
  while (ptrace(PTRACE_SINGLESTEP, t->tid, NULL, NULL) == 0 &&
	 await_stop(t, &status)) {
    struct user_regs_struct now;
    ptrace(PTRACE_GETREGS, t->tid, NULL, &now);
    if (comes_between(t, status) && now.rip == p->syscall) continue;
    r.rax = now.rax;
    break;
  }
  put_back(t, mask);
  return (int64_t)r.rax;
}

/* Waits for the breakpoint that the call returns to. A call that does not
** return is abandoned, wherever it is. */
static bool wait_return(mp_tracee *t, const mp_place *p,
			struct user_regs_struct *r)
{
  int status;
  while (wait_working(t, CALL_MAX, &status)) {
    ptrace(PTRACE_GETREGS, t->tid, NULL, r);
    if (comes_between(t, status)) ptrace(PTRACE_CONT, t->tid, NULL, NULL);
    else return WSTOPSIG(status) == SIGTRAP && r->rip == p->trap + 1;
  }
  if (!t->gone && ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL) == 0)
    await_stop(t, &status);
  return false;
}

bool mp_tracee_call(mp_tracee *t, const mp_place *p, uint64_t top,
		    uint64_t function, const uint64_t args[3],
		    uint64_t *result)
{
  struct user_regs_struct r = fresh(t, function);
  uint64_t mask;
  bool ok;
  r.rsp = (top & ~UINT64_C(15)) - 8;
  r.rax = 0;
  r.rdi = args[0];
  r.rsi = args[1];
  r.rdx = args[2];
  if (!mp_remote_write(t->tid, r.rsp, &p->trap, sizeof(p->trap)) ||
      !save(t, &mask))
    return false;
  ok = ptrace(PTRACE_SETREGS, t->tid, NULL, &r) == 0 &&
       ptrace(PTRACE_CONT, t->tid, NULL, NULL) == 0 && wait_return(t, p, &r);
  if (ok) *result = r.rax;
  put_back(t, mask);
  return ok;
}
