/* SPDX-License-Identifier: MIT */
/*
** See data/seccomp.h.
*/
#include "config.h"

#include <stddef.h>

#include "data/seccomp.h"

#ifdef __x86_64__

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#define STEPS	(1 << 16)	/* Instructions that are followed, per call. */

#define CALL(name) { SYS_##name, #name, false }
#define MUST(name) { SYS_##name, #name, true }

const mp_needed mp_seccomp_calls[] = {
  MUST(brk), CALL(clock_gettime), CALL(clock_nanosleep), CALL(clone),
  CALL(clone3), CALL(close), CALL(close_range), MUST(exit), CALL(exit_group),
  CALL(faccessat2),
  CALL(fcntl), CALL(fstat), CALL(ftruncate), MUST(futex), CALL(getcwd),
  CALL(getdents64), CALL(geteuid), CALL(getitimer), CALL(getpid),
  CALL(getrandom), CALL(getrusage), CALL(gettid), CALL(ioctl), CALL(kill),
  CALL(lseek), CALL(madvise), CALL(memfd_create), CALL(mmap), CALL(mprotect),
  CALL(mremap), CALL(munmap), CALL(nanosleep), CALL(newfstatat), CALL(openat),
  CALL(perf_event_open), CALL(pipe2), CALL(poll), CALL(pread64),
  CALL(process_vm_readv), CALL(read), CALL(readlink), MUST(rseq),
  MUST(rt_sigaction), CALL(rt_sigpending), MUST(rt_sigprocmask),
  MUST(rt_sigreturn), CALL(sched_getaffinity), CALL(set_robust_list),
  CALL(setitimer), CALL(tgkill), CALL(timer_create), CALL(timer_delete),
  CALL(timer_settime), CALL(wait4), CALL(write), { 0, NULL, false }
};

/* -- Programs of filters ------------------------------------------------- */

typedef struct value {
  bool known;
  uint32_t n;
} value;

typedef struct program {
  const struct sock_filter *ins;
  unsigned count;
  const mp_needed *call;		/* The system call. */
  unsigned steps;
} program;

typedef struct registers {
  value a, x, m[BPF_MEMWORDS];
} registers;

static const value unknown = { false, 0 };

static value exactly(uint32_t n) { return (value){ true, n }; }

static bool is_deadly(const program *p, value result)
{
  if (!result.known) return true;
  switch (result.n & SECCOMP_RET_ACTION_FULL) {
  case SECCOMP_RET_ALLOW: case SECCOMP_RET_LOG:
    return false;
  case SECCOMP_RET_TRACE: case SECCOMP_RET_ERRNO: case SECCOMP_RET_USER_NOTIF:
    return p->call->must;
  default:
    return true;
  }
}

/* Fields of the data that are the same in each call of this number. */
static value field(const program *p, uint32_t offset)
{
  if (offset == offsetof(struct seccomp_data, nr))
    return exactly((uint32_t)p->call->number);
  if (offset == offsetof(struct seccomp_data, arch))
    return exactly(AUDIT_ARCH_X86_64);
  return unknown;
}

static value load(const program *p, const registers *r,
		  const struct sock_filter *i)
{
  switch (BPF_MODE(i->code)) {
  case BPF_IMM: return exactly(i->k);
  case BPF_ABS: return field(p, i->k);
  case BPF_MEM: return i->k < BPF_MEMWORDS ? r->m[i->k] : unknown;
  case BPF_LEN: return exactly(sizeof(struct seccomp_data));
  default: return unknown;
  }
}

static value combine(value a, value b, uint16_t code)
{
  bool shifts = BPF_OP(code) == BPF_LSH || BPF_OP(code) == BPF_RSH;
  if (!a.known || !b.known || (shifts && b.n > 31)) return unknown;
  switch (BPF_OP(code)) {
  case BPF_ADD: return exactly(a.n + b.n);
  case BPF_SUB: return exactly(a.n - b.n);
  case BPF_MUL: return exactly(a.n * b.n);
  case BPF_DIV: return b.n != 0 ? exactly(a.n / b.n) : unknown;
  case BPF_AND: return exactly(a.n & b.n);
  case BPF_OR: return exactly(a.n | b.n);
  case BPF_XOR: return exactly(a.n ^ b.n);
  case BPF_LSH: return exactly(a.n << b.n);
  case BPF_RSH: return exactly(a.n >> b.n);
  case BPF_NEG: return exactly(0u - a.n);
  default: return unknown;
  }
}

static bool holds(uint16_t code, uint32_t a, uint32_t b)
{
  switch (BPF_OP(code)) {
  case BPF_JEQ: return a == b;
  case BPF_JGT: return a > b;
  case BPF_JGE: return a >= b;
  default: return (a & b) != 0;
  }
}

static void compute(const program *p, registers *r, const struct sock_filter *i)
{
  value by = BPF_SRC(i->code) == BPF_X ? r->x : exactly(i->k);
  switch (BPF_CLASS(i->code)) {
  case BPF_LD: r->a = load(p, r, i); break;
  case BPF_LDX: r->x = load(p, r, i); break;
  case BPF_ST: if (i->k < BPF_MEMWORDS) r->m[i->k] = r->a; break;
  case BPF_STX: if (i->k < BPF_MEMWORDS) r->m[i->k] = r->x; break;
  case BPF_ALU: r->a = combine(r->a, by, i->code); break;
  default:
    if (BPF_MISCOP(i->code) == BPF_TAX) r->x = r->a;
    else r->a = r->x;
  }
}

/* Whether a deadly result can be reached from an instruction. Jumps only lead
** forwards. */
static bool may_kill(program *p, registers r, unsigned at)
{
  for (; at < p->count && p->steps > 0; at++) {
    const struct sock_filter *i = &p->ins[at];
    value by = BPF_SRC(i->code) == BPF_X ? r.x : exactly(i->k);
    p->steps--;
    if (BPF_CLASS(i->code) == BPF_RET)
      return is_deadly(p, BPF_RVAL(i->code) == BPF_A ? r.a : exactly(i->k));
    if (BPF_CLASS(i->code) != BPF_JMP) {
      compute(p, &r, i);
    } else if (BPF_OP(i->code) == BPF_JA) {
      at += i->k;
    } else if (r.a.known && by.known) {
      at += holds(i->code, r.a.n, by.n) ? i->jt : i->jf;
    } else {
      if (may_kill(p, r, at + 1 + i->jt)) return true;
      at += i->jf;
    }
  }
  return true;
}

const mp_needed *mp_seccomp_deadly(const struct sock_filter *ins,
				   unsigned count)
{
  const mp_needed *call;
  registers none;
  memset(&none, 0, sizeof(none));
  none.a = none.x = exactly(0);
  for (call = mp_seccomp_calls; call->name != NULL; call++) {
    program p = { ins, count, call, STEPS };
    if (may_kill(&p, none, 0)) return call;
  }
  return NULL;
}

#else

const mp_needed mp_seccomp_calls[] = { { 0, NULL, false } };

const mp_needed *mp_seccomp_deadly(const struct sock_filter *ins,
				   unsigned count)
{
  (void)ins; (void)count;
  return NULL;
}

#endif
