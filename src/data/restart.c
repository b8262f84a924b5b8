/* SPDX-License-Identifier: MIT */
/*
** See data/restart.h.
*/
#include "config.h"

#include <ucontext.h>

#include "data/restart.h"

#ifdef __x86_64__

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

/* Others are made again by the kernel, or must not be made again, as close. */
static const int waits[] = {
  SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_epoll_wait,
  SYS_epoll_pwait, SYS_nanosleep, SYS_clock_nanosleep, SYS_pause,
  SYS_rt_sigsuspend, SYS_rt_sigtimedwait, SYS_semop, SYS_semtimedop,
  SYS_accept, SYS_accept4, SYS_recvfrom, SYS_recvmsg
};

static bool is_wait(int number)
{
  size_t i;
  for (i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
    if (waits[i] == number) return true;
  return false;
}

#define PAGE	4096
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

void mp_restart_call(void *context)
{
  greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
  int number;
  if (r[REG_RAX] != -EINTR || r[REG_RCX] != r[REG_RIP]) return;
  number = number_before((const uint8_t *)r[REG_RIP]);
  if (!is_wait(number)) return;
  r[REG_RAX] = number;
  r[REG_RIP] -= 2;
}

#else

void mp_restart_call(void *context) { (void)context; }

#endif
