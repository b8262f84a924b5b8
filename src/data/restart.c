/* SPDX-License-Identifier: MIT */
/*
** See data/restart.h.
*/
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "data/restart.h"

static const int faults[] = {
  SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS
};

#define NFAULTS	((int)(sizeof(faults) / sizeof(faults[0])))

void mp_restart_mask(sigset_t *set)
{
  int i;
  sigfillset(set);
  for (i = 0; i < NFAULTS; i++) sigdelset(set, faults[i]);
}

static void (*_Atomic excepted)(int, siginfo_t *, void *);

void mp_restart_except(void (*handler)(int, siginfo_t *, void *))
{
  excepted = handler;
}

#if defined(__x86_64__) || defined(__aarch64__)

#define PAGE	4096

/* Whether such a handler cannot have hidden a signal. */
static bool is_harmless(const struct sigaction *sa, int sig)
{
  if (sa->sa_flags & SA_SIGINFO) {
    if (sa->sa_sigaction == excepted) return true;
  } else if (sa->sa_handler == SIG_DFL || sa->sa_handler == SIG_IGN) {
    return true;
  }
  return (sa->sa_flags & SA_RESTART) && !sigismember(&sa->sa_mask, sig);
}

/* Whether no other signal can have ended the call. */
static bool is_alone(int sig, const ucontext_t *context)
{
  struct sigaction sa;
  sigset_t all, set;
  int s;
  mp_restart_mask(&all);
  if (sigpending(&set) != 0) return false;
  for (s = 1; s < NSIG; s++) {
    if (s == sig || sigismember(&all, s) != 1) continue;
    if (sigismember(&set, s) == 1 && !sigismember(&context->uc_sigmask, s))
      return false;
    if (sigaction(s, NULL, &sa) == 0 && !is_harmless(&sa, sig)) return false;
  }
  return true;
}

/* Others are made again by the kernel, or must not be made again, as close. */
static bool is_wait(long number)
{
  switch (number) {
#ifdef SYS_poll
  case SYS_poll: case SYS_select: case SYS_epoll_wait: case SYS_pause:
#endif
  case SYS_ppoll: case SYS_pselect6: case SYS_epoll_pwait:
  case SYS_nanosleep: case SYS_clock_nanosleep:
  case SYS_rt_sigsuspend: case SYS_rt_sigtimedwait:
  case SYS_semop: case SYS_semtimedop:
  case SYS_accept: case SYS_accept4: case SYS_recvfrom: case SYS_recvmsg:
    return true;
  default:
    return false;
  }
}

#ifdef __x86_64__

#define READ	11		/* Bytes before the end of a call. */

/* The number of the call that ends there, as the C library makes it: it is put
** into eax last, or before the first argument is taken from the stack; or
** -1. */
static int number_before(const uint8_t *end)
{
  static const uint8_t call[] = { 0x0f, 0x05 };
  static const uint8_t argument[] = { 0x8b, 0x7c, 0x24 };
  const uint8_t *p = end - sizeof(call);
  int number;
  if ((uintptr_t)end % PAGE < READ || memcmp(p, call, sizeof(call)) != 0)
    return -1;
  if (memcmp(p - 4, argument, sizeof(argument)) == 0) p -= 4;
  if (p[-5] != 0xb8) return -1;
  memcpy(&number, p - 4, sizeof(number));
  return number;
}

void mp_restart_call(int sig, void *data)
{
  ucontext_t *context = data;
  greg_t *r = context->uc_mcontext.gregs;
  int number;
  if (r[REG_RAX] != -EINTR || r[REG_RCX] != r[REG_RIP]) return;
  number = number_before((const uint8_t *)r[REG_RIP]);
  if (!is_wait(number) || !is_alone(sig, context)) return;
  r[REG_RAX] = number;
  r[REG_RIP] -= 2;
}

#else

/* Instructions, and their operands. */
#define SVC	0xd4000001u	/* svc #0 */
#define MOV	0x2a0003e0u	/* mov Rd, Rm */
#define MOV_MASK 0x7fe0ffe0u
#define MOVZ	0x52800000u	/* mov Rd, #constant */
#define MOVZ_MASK 0x7fe00000u
#define RD(i)	((i) & 31)
#define RM(i)	((i) >> 16 & 31)
#define CONSTANT(i) ((i) >> 5 & 0xffff)
#define IS_WIDE(i) (((i) & 0x80000000u) != 0)
#define ZERO	31		/* As a register. */
#define NUMBER	8		/* Register with the number of a call. */

/* Instructions that are away by the signed number of that many bits. */
static int32_t distance(uint32_t i, int low, int bits)
{
  return (int32_t)(i << (32 - low - bits)) >> (32 - bits);
}

/* Where a branch goes to, but for one to a register; to itself: it is none. */
static const uint32_t *target(const uint32_t *p)
{
  uint32_t i = *p;
  if ((i & 0x7c000000u) == 0x14000000u)  /* b, bl. */
    return p + distance(i, 0, 26);
  if ((i & 0xff000000u) == 0x54000000u ||  /* b.cond; cbz, cbnz. */
      (i & 0x7e000000u) == 0x34000000u)
    return p + distance(i, 5, 19);
  return (i & 0x7e000000u) == 0x36000000u ?  /* tbz, tbnz. */
	 p + distance(i, 5, 14) : p;
}

/* Whether code of the same page enters between the two. */
static bool is_entered(const uint32_t *after, const uint32_t *last)
{
  const uint32_t *p = (const uint32_t *)((uintptr_t)last & ~(PAGE - 1ul));
  const uint32_t *end = p + PAGE / sizeof(*p);
  for (; p < end; p++) {
    const uint32_t *to = target(p);
    if (to != p && to > after && to <= last) return true;
  }
  return false;
}

/* Finds the first argument of a call, in whose register the result is now. The
** C library has it in a register that calls do not change, or it is a constant:
** among the moves before the call is one from there. One of the call's number
** is believed, too: a sleep goes on by another call after a stop. */
static bool find_argument(const mcontext_t *m, const uint32_t *call,
			  uint64_t *value, uint64_t *number)
{
  uint32_t moved = 1;		/* Registers that have another value now. */
  const uint32_t *p = call;
  uint32_t i;
  do {
    if ((uintptr_t)p % PAGE == 0) return false;
    i = *--p;
    if ((i & MOV_MASK) == MOV ? RM(i) == ZERO : (i & MOVZ_MASK) != MOVZ)
      return false;
    if ((i & MOV_MASK) != MOV && RD(i) == NUMBER) *number = CONSTANT(i);
    moved |= RD(i) != 0 ? UINT32_C(1) << RD(i) : 0;
  } while (RD(i) != 0);
  if ((i & MOV_MASK) != MOV) *value = CONSTANT(i);
  else if (moved >> RM(i) & 1) return false;
  else *value = IS_WIDE(i) ? m->regs[RM(i)] : (uint32_t)m->regs[RM(i)];
  return !is_entered(p, call);
}

void mp_restart_call(int sig, void *data)
{
  ucontext_t *context = data;
  mcontext_t *m = &context->uc_mcontext;
  const uint32_t *call = (const uint32_t *)(uintptr_t)m->pc - 1;
  uint64_t argument, number = m->regs[NUMBER];
  if ((int64_t)m->regs[0] != -EINTR || m->pc % PAGE == 0 || *call != SVC ||
      !find_argument(m, call, &argument, &number) || !is_wait((long)number) ||
      !is_alone(sig, context))
    return;
  m->regs[0] = argument;
  m->regs[NUMBER] = number;
  m->pc -= sizeof(*call);
}

#endif

#else

void mp_restart_call(int sig, void *context) { (void)sig; (void)context; }

#endif
