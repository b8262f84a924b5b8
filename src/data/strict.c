/* SPDX-License-Identifier: MIT */
/*
** See data/strict.h.
*/
#include "config.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "data/strict.h"

#ifdef __x86_64__
#define ARCH	AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH	AUDIT_ARCH_AARCH64
#elif defined(__i386__)
#define ARCH	AUDIT_ARCH_I386
#endif

#ifdef ARCH

#define LOAD(field) \
  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 1, 0)
#define ALLOW(call) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

bool mp_strict_begin(void)
{
  struct sock_filter ins[] = {
    LOAD(arch),
    UNLESS(ARCH), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
    LOAD(nr),
#ifdef SYS_mmap2
    ALLOW(mmap2),
#endif
#ifdef SYS_mmap
    ALLOW(mmap),
#endif
    ALLOW(munmap), ALLOW(mremap), ALLOW(madvise), ALLOW(brk),
    ALLOW(clock_gettime), ALLOW(rt_sigreturn), ALLOW(exit), ALLOW(exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
  };
  const struct sock_fprog filter = { sizeof(ins) / sizeof(ins[0]), ins };
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	 prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

#else

bool mp_strict_begin(void) { return false; }

#endif
