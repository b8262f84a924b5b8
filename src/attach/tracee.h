/* SPDX-License-Identifier: MIT */
/*
** A thread of another process that is stopped for a moment, by ptrace, to
** inspect it or to make it call a function (attach/call.h). Afterwards it
** continues as if nothing had happened. All functions are for one thread of
** this process.
*/
#ifndef MP_TRACEE_H
#define MP_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The registers that others look at. */
typedef struct mp_registers {
  uint64_t ip, sp;
  int64_t syscall;		/* The system call that it is in, or -1. */
  uint64_t arg[2];		/* The first two arguments of that. */
  uint64_t link;		/* Where a function returns to that has not */
				/* saved it; 0: the processor has none. */
} mp_registers;

typedef struct mp_tracee mp_tracee;
struct sock_filter;

/* Stops the thread. Returns it, or NULL and an errno value: EPERM, ESRCH;
** EBUSY: the thread is stopped by a signal, or cannot be stopped now. */
mp_tracee *mp_tracee_stop(pid_t tid, int *err);

/* Lets the thread continue, and frees t. */
void mp_tracee_release(mp_tracee *t);

/* Lets threads continue that were slow to stop. Whether there are none. To be
** called often. */
bool mp_tracee_all_gone_on(void);

/* CPU seconds of a thread so far, and whether it sleeps; not if it waits for a
** processor. False: they cannot be read. */
bool mp_tracee_work(pid_t tid, double *ran, bool *asleep);

/* Has a system call made again that only our stop has ended. */
void mp_tracee_again(mp_tracee *t);

mp_registers mp_tracee_registers(const mp_tracee *t);

/* A seccomp filter of the thread, by number from 0; to be freed. NULL: there is
** none (ENOENT), or it cannot be read. */
struct sock_filter *mp_tracee_filter(mp_tracee *t, unsigned i,
				     unsigned *count);

/* Makes it execute one instruction. False: something else happened, and the
** thread is to be released. */
bool mp_tracee_step(mp_tracee *t);

/* The same until it reaches an instruction. False: it did not by that time. */
bool mp_tracee_run_to(mp_tracee *t, uint64_t ip, double until);

/* Writes to its memory, even where the thread may not. */
bool mp_tracee_poke(mp_tracee *t, uint64_t to, const char *from, size_t n);

/* Around steps. If we are killed between two of them, the thread gets SIGTRAP,
** which must not end the process: see module/attach. */
void mp_tracee_begin_steps(mp_tracee *t);
void mp_tracee_end_steps(mp_tracee *t);

/* The lower 64 bits of a register: general ones from 0 on as the processor
** numbers them, and behind them those for floating point. */
uint64_t mp_tracee_value(const mp_tracee *t, int reg);

/* Makes the thread continue at that instruction. */
void mp_tracee_jump(mp_tracee *t, uint64_t ip);

#endif
