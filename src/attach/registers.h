/* SPDX-License-Identifier: MIT */
/*
** The names of registers, as ptrace has them: for attach/tracee, attach/frame
** and attach/call alone.
*/
#ifndef MP_REGISTERS_H
#define MP_REGISTERS_H

#include <sys/user.h>

#ifdef __x86_64__
#define R_IP	rip
#define R_SP	rsp
#define R_RESULT rax		/* Of a call or system call. */
#define R_SYSCALL orig_rax	/* The number of the system call, or -1. */
#define R_ARG0	rdi		/* Of a system call. */
#define R_ARG1	rsi
#else
#define R_IP	eip
#define R_SP	esp
#define R_RESULT eax
#define R_SYSCALL orig_eax
#define R_ARG0	ebx
#define R_ARG1	ecx
#endif

#endif
