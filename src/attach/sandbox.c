/* SPDX-License-Identifier: MIT */
/*
** See attach/sandbox.h.
**
** A filter is a small program, which is followed here with the number of a
** system call and any arguments.
*/
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/look.h"
#include "attach/sandbox.h"
#include "attach/tracee.h"

#define STEPS	(1 << 16)	/* Instructions that are followed, per call. */
#define TRIES	50		/* To stop a thread, */
#define PAUSE	20000000	/* with this many nanoseconds in between. */

typedef struct needed {
  int number;
  const char *name;
  bool must;			/* An error would end the process, too. */
} needed;

#define CALL(name) { SYS_##name, #name, false }
#define MUST(name) { SYS_##name, #name, true }

/* A profile: calls of the loader, the profiler and the C library. */
static const needed calls[] = {
  CALL(brk), CALL(clock_gettime), CALL(clock_nanosleep), CALL(clone),
  CALL(clone3), CALL(close), MUST(exit), CALL(exit_group), CALL(faccessat2),
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
  CALL(timer_settime), CALL(wait4), CALL(write)
};

#define COUNT (sizeof(calls) / sizeof(calls[0]))

/* -- Programs of filters ------------------------------------------------- */

typedef struct value {
  bool known;
  uint32_t n;
} value;

typedef struct program {
  const struct sock_filter *ins;
  unsigned count;
  const needed *call;		/* The system call. */
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

/* A system call for which the process may end with that filter, or NULL. */
static const needed *deadly(const struct sock_filter *ins, unsigned count)
{
  registers none;
  size_t i;
  memset(&none, 0, sizeof(none));
  none.a = none.x = exactly(0);
  for (i = 0; i < COUNT; i++) {
    program p = { ins, count, &calls[i], STEPS };
    if (may_kill(&p, none, 0)) return &calls[i];
  }
  return NULL;
}

/* -- The filters of a process -------------------------------------------- */

typedef enum verdict { PERMITTED, DEADLY, UNREADABLE, REFUSED } verdict;

static mp_tracee *stop(pid_t tid, int *err)
{
  const struct timespec pause = { 0, PAUSE };
  mp_tracee *t = NULL;
  int i;
  for (i = 0; i < TRIES && t == NULL; i++) {
    t = mp_tracee_stop(tid, err);
    if (t == NULL && *err == EPERM && mp_look_tracer(tid) != 0) *err = EBUSY;
    if (t == NULL && *err != EBUSY) break;
    if (t == NULL) nanosleep(&pause, NULL);
  }
  return t;
}

static verdict check_filters(mp_tracee *t, const needed **call)
{
  struct sock_filter *ins;
  verdict v = PERMITTED;
  unsigned i, count;
  for (i = 0; v == PERMITTED && (ins = mp_tracee_filter(t, i, &count)) != NULL;
       i++) {
    *call = deadly(ins, count);
    if (*call != NULL) v = DEADLY;
    free(ins);
  }
  return v == PERMITTED && errno != ENOENT ? UNREADABLE : v;
}

/* A thread that has filters. One that has ended has none. */
static verdict check_thread(pid_t tid, const needed **call)
{
  verdict v;
  int err;
  mp_tracee *t = stop(tid, &err);
  if (t == NULL && err == ESRCH) return PERMITTED;
  if (t == NULL) return err == EPERM || err == EACCES ? REFUSED : UNREADABLE;
  v = check_filters(t, call);
  mp_tracee_release(t);
  return v;
}

/* -- Filters of our own -------------------------------------------------- */

/* Whether a file of the same name has the same text below two directories. */
static bool same_text(const char *a, const char *b)
{
  char x[4096], y[4096];
  FILE *f = fopen(a, "re"), *g = fopen(b, "re");
  size_t n = f != NULL ? fread(x, 1, sizeof(x), f) : 0;
  size_t m = g != NULL ? fread(y, 1, sizeof(y), g) : 0;
  if (f != NULL) fclose(f);
  if (g != NULL) fclose(g);
  return n > 0 && n == m && n < sizeof(x) && memcmp(x, y, n) == 0;
}

/* Whether a thread has the filters that we have: a container's, since filters
** are inherited and never removed. */
static bool has_ours(pid_t pid, const mp_confined *theirs)
{
  mp_confined ours = mp_look_confined(getpid());
  char name[64];
  snprintf(name, sizeof(name), "/proc/%ld/cgroup", (long)pid);
  return ours.mode == theirs->mode && ours.filters == theirs->filters &&
	 same_text(name, "/proc/self/cgroup");
}

/* Makes all the calls, with arguments by which they do nothing. */
static void try_calls(void)
{
  size_t i;
  for (i = 0; i < COUNT; i++) {
    if (calls[i].number != SYS_exit && calls[i].number != SYS_exit_group &&
	calls[i].number != SYS_rt_sigreturn &&
	syscall(calls[i].number, -1L, -1L, -1L, -1L, -1L, -1L) < 0 &&
	calls[i].must && (errno == EPERM || errno == EACCES))
      _exit(1);
  }
  _exit(0);
}

/* Whether a child survives that. */
static bool survives(void)
{
  int status = 0;
  pid_t child = fork();
  if (child == 0) try_calls();
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) ;
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* -- All threads --------------------------------------------------------- */

static verdict check(pid_t pid, pid_t tid, const needed **call)
{
  mp_confined c = mp_look_confined(tid);
  verdict v;
  if (c.mode == SECCOMP_MODE_DISABLED) return PERMITTED;
  if (c.mode == SECCOMP_MODE_STRICT) {
    *call = &calls[0];
    return DEADLY;
  }
  v = check_thread(tid, call);
  return v == UNREADABLE && has_ours(pid, &c) && survives() ? PERMITTED : v;
}

static verdict check_all(pid_t pid, const needed **call)
{
  verdict v = PERMITTED;
  char dir[64];
  struct dirent *e;
  DIR *d;
  snprintf(dir, sizeof(dir), "/proc/%ld/task", (long)pid);
  if ((d = opendir(dir)) == NULL) return PERMITTED;
  while (v == PERMITTED && (e = readdir(d)) != NULL) {
    pid_t tid = (pid_t)atol(e->d_name);
    if (tid > 0) v = check(pid, tid, call);
  }
  closedir(d);
  return v;
}

bool mp_sandbox_permits(pid_t pid, char *buf, size_t n)
{
  const needed *call = NULL;
  switch (check_all(pid, &call)) {
  case PERMITTED:
    return true;
  case DEADLY:
    snprintf(buf, n, "its seccomp filter would kill it for a system call that "
	     "a profile needs (%s): let the filter allow that%s", call->name,
	     call->must ? "" : ", or return an error "
	     "(SystemCallErrorNumber=EPERM in a unit of systemd)");
    return false;
  case UNREADABLE:
    snprintf(buf, n, "it has a seccomp filter, which might kill it for a "
	     "system call of the profiler, and which cannot be read from here: "
	     "run luajit-mp as root, outside of the sandbox");
    return false;
  default:
    mp_look_forbidden(pid, buf, n);
    return false;
  }
}
