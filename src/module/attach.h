/* SPDX-License-Identifier: MIT */
/*
** The side of luajit-mp attach that works inside the attached process.
**
** The command (attach/session.h) makes a stopped thread of the process load
** this module and call mp_attach_enter, wherever the thread is, so that
** function does no more than a signal handler may. It sets a hook, which the VM
** calls where the VM can be used. Only if the caller has found the VM at rest,
** the request is carried out at once.
**
** The structures are those of one build: a command of another version is
** refused by their version.
*/
#ifndef MP_ATTACH_H
#define MP_ATTACH_H

#include <stdint.h>

#define MP_ATTACH_VERSION 4	/* Of what follows. */
#define MP_ATTACH_ENTER	"mp_attach_enter"
#define MP_ATTACH_ANSWER "mp_attach_answer"
#define MP_ATTACH_LEASE	10	/* Seconds. */

typedef enum mp_request {
  MP_REQUEST_START = 1,		/* Profile. */
  MP_REQUEST_STOP,		/* Write the profile, and leave. */
  MP_REQUEST_NONE,		/* Forget the request that is open. */
  MP_REQUEST_WRITE,		/* Write the profile so far: another thread */
				/* does it, and the VM need not be at rest. */
  MP_REQUEST_PREPARE		/* Make ready what a start needs, likewise. */
} mp_request;

/* A command: its process, the namespace of that number, and the time when it
** started, which no later process of the number has. */
typedef struct mp_attach_caller {
  uint32_t pid, space;
  uint64_t start;
} mp_attach_caller;

typedef struct mp_attach_call {
  uint32_t version;
  uint32_t request;
  uint64_t mainl;		/* The main thread of the VM. */
  uint64_t now;			/* A thread of it that is at rest, or 0. */
  mp_attach_caller caller;
  mp_attach_caller over;	/* One that has gone, whose profile may end. */
  uint32_t beat;		/* As below. */
  char options[256];
  char path[4096];		/* package.path for our own modules. */
} mp_attach_call;

typedef enum mp_attach_phase {
  MP_ATTACH_NOTHING,		/* No request has been done. */
  MP_ATTACH_RUNNING,		/* The profile is under way. */
  MP_ATTACH_DONE,		/* It is written; nothing is left. */
  MP_ATTACH_FAILED		/* The message says why. */
} mp_attach_phase;

typedef struct mp_attach_block {
  uint32_t version;
  volatile uint32_t phase;
  mp_attach_caller caller;	/* Whose request and profile that is. */
  volatile uint32_t open;	/* The request that has not been done, or 0. */
  volatile uint32_t performing;	/* It is being done. */
  volatile uint32_t preparing;	/* That thread prepares a start. */
  volatile uint32_t beat;	/* The caller's clock, in seconds. A profile */
				/* that nobody waits for any more ends after */
				/* MP_ATTACH_LEASE seconds. */
  volatile uint32_t written;	/* How often it was written meanwhile. */
  volatile uint32_t steps;	/* A step that is left over does no harm. */
  int32_t fd;			/* While it runs: where the .mp file goes. */
  char msg[512];
} mp_attach_block;

/* The answer; the command finds it by its name. */
extern mp_attach_block mp_attach_answer;

/* Ignored while another caller has a request or a profile here.
**
** Has the request carried out when the VM reaches a safe place, or before this
** function returns if it is at one. */
void mp_attach_enter(const mp_attach_call *call);

#endif
