/* SPDX-License-Identifier: MIT */
/*
** Stops of a thread that is traced, and what is known of it: for attach/tracee
** and attach/call alone.
*/
#ifndef MP_STOPS_H
#define MP_STOPS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define MP_XSTATE_MAX 12288	/* Bytes of the registers for vectors. */

struct mp_tracee {
  pid_t tid;
  int signal;			/* To be delivered when it goes on. */
  bool changed;			/* `regs` are to be written first. */
  bool gone;			/* It has ended. */
  bool left;			/* It goes on with a call by itself. */
  bool halted;			/* It got SIGSTOP meanwhile. */
  bool blocks_trap;		/* The program had SIGTRAP blocked. */
  sigset_t before;		/* What this thread had blocked. */
  uint64_t frame;		/* Address of the last call's. */
  struct user_regs_struct regs;	/* As the program has them. */
  size_t xsize;
  char xstate[MP_XSTATE_MAX];	/* The other registers, during a call. */
#ifdef __aarch64__
  struct user_fpsimd_struct fp;	/* Those of them that all processors have. */
  bool sleeps;			/* It is in a sleep that goes on. */
#endif
};

/* A thread that sleeps in the kernel may stop only after we have given up. It
** is let go then, by mp_stops_let_go, which also returns whether there is none
** any more, and while we wait for others; unless it is expected again. */
void mp_stops_leave(pid_t tid);
bool mp_stops_let_go(void);
void mp_stops_expect(pid_t tid);

#define MP_REST	20000		/* Nanoseconds between two looks. */

/* Between two looks, which it counts, from 0: gives way to other threads at
** first, and rests for that many nanoseconds later. */
void mp_stops_rest(unsigned *looks, long ns);

/* Whether the thread has stopped or ended. */
bool mp_stops_seen(struct mp_tracee *t, int *status);

/* Waits until the thread stops. False: it has ended. To be used where what the
** thread was made to do comes to an end, and must, before it is left. */
bool mp_stops_await(struct mp_tracee *t, int *status);

/* Waits until the thread stops. False: it has ended, or does not stop. */
bool mp_stops_within(struct mp_tracee *t, double seconds, int *status);

#endif
