/* SPDX-License-Identifier: MIT */
/*
** The names of registers, as ptrace has them: for attach/tracee, attach/frame
** and attach/call alone.
*/
#ifndef MP_REGISTERS_H
#define MP_REGISTERS_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>

#ifdef __x86_64__
#define R_IP	rip
#define R_SP	rsp
#define R_RESULT rax		/* Of a call or system call. */
#define R_SYSCALL orig_rax	/* The number of the system call, or -1. */
#define R_ARG0	rdi		/* Of a system call. */
#define R_ARG1	rsi
#elif defined(__aarch64__)
#define R_IP	pc
#define R_SP	sp
#define R_RESULT regs[0]
#define R_SYSCALL regs[8]	/* It has a number in other code, too. */
#define R_ARG0	regs[0]
#define R_ARG1	regs[1]
#define R_LINK	regs[30]	/* Where a function returns to. */
#else
#define R_IP	eip
#define R_SP	esp
#define R_RESULT eax
#define R_SYSCALL orig_eax
#define R_ARG0	ebx
#define R_ARG1	ecx
#endif

#ifdef __aarch64__

static inline bool mp_get_registers(pid_t tid, struct user_regs_struct *r)
{
  struct iovec io = { r, sizeof(*r) };
  return ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io) == 0;
}

static inline bool mp_set_registers(pid_t tid, struct user_regs_struct *r)
{
  struct iovec io = { r, sizeof(*r) };
  return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &io) == 0;
}

#else

static inline bool mp_get_registers(pid_t tid, struct user_regs_struct *r)
{
  return ptrace(PTRACE_GETREGS, tid, NULL, r) == 0;
}

static inline bool mp_set_registers(pid_t tid, struct user_regs_struct *r)
{
  return ptrace(PTRACE_SETREGS, tid, NULL, r) == 0;
}

#endif

#endif
