/* SPDX-License-Identifier: MIT */
/*
** A thread of another process that is stopped for a moment, by ptrace, to
** inspect it or to make it call a function.
**
** A call is made on a stack of its own and with signals held back; afterwards
** the thread continues as if nothing had happened, even in a system call that
** was interrupted. All functions are for one thread of this process.
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
} mp_registers;

typedef struct mp_tracee mp_tracee;
struct sock_filter;

/* Stops the thread. Returns it, or NULL and an errno value: EPERM, ESRCH;
** EBUSY: the thread is stopped by a signal, or cannot be stopped now. */
mp_tracee *mp_tracee_stop(pid_t tid, int *err);

/* Lets the thread continue, and frees t. */
void mp_tracee_release(mp_tracee *t);

mp_registers mp_tracee_registers(const mp_tracee *t);

/* A seccomp filter of the thread, by number from 0; to be freed. NULL: there is
** none (ENOENT), or it cannot be read. */
struct sock_filter *mp_tracee_filter(mp_tracee *t, unsigned i,
				     unsigned *count);

/* Makes it execute one instruction. False: something else happened, and the
** thread is to be released. */
bool mp_tracee_step(mp_tracee *t);

/* Lets the thread run to an instruction. False: it did not reach that within so
** many seconds. */
bool mp_tracee_run_to(mp_tracee *t, uint64_t ip, double seconds);

/* The lower 64 bits of a register: general ones from 0 on as the processor
** numbers them, and from 16 on those for floating point. */
uint64_t mp_tracee_value(const mp_tracee *t, int reg);

/* Makes the thread continue at that instruction. */
void mp_tracee_jump(mp_tracee *t, uint64_t ip);

/* Where calls are made from: instructions somewhere in its memory. */
typedef struct mp_place {
  uint64_t syscall;		/* A system call, */
  uint64_t trap;		/* and a breakpoint (0xcc). */
} mp_place;

/* Makes a system call. Its result; less than 0: a negative errno value. */
int64_t mp_tracee_syscall(mp_tracee *t, const mp_place *p, long number,
			  const uint64_t args[6]);

/* Calls a function with up to three arguments on the stack that ends at `top`.
** False: it did not return. */
bool mp_tracee_call(mp_tracee *t, const mp_place *p, uint64_t top,
		    uint64_t function, const uint64_t args[3],
		    uint64_t *result);

#endif
