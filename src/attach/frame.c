/* SPDX-License-Identifier: MIT */
/*
** See attach/frame.h.
*/
#include "config.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#include <errno.h>
#include <string.h>

#include "attach/frame.h"
#include "attach/registers.h"

#ifdef __aarch64__

typedef struct record {
  uint32_t magic, size;
} record;

#define VECTORS	0x46508001

/* Vectors longer than 128 bits are not in it: who is stopped within a loop that
** has such loses them if we are killed during a call. */
typedef struct frame {
  uint64_t info[16];		/* Not read by the kernel. */
  uint64_t flags, link;
  uint64_t stack[3];
  uint64_t mask, unused[16];
  uint64_t fault;
  struct user_regs_struct regs;
  uint64_t gap;
  record vectors;
  uint32_t fpsr, fpcr;
  char values[512];
  record end[2];
} frame;

_Static_assert(offsetof(frame, regs.sp) == MP_FRAME_SP &&
	       offsetof(frame, regs.pc) == MP_FRAME_IP &&
	       offsetof(frame, vectors) == MP_FRAME_MARK_AT &&
	       sizeof(frame) % 16 == 0, "as the kernel has it");

/* Flags of an alternate stack that the kernel refuses, and so keeps its own. */
#define NO_STACK 0x7fffffff

bool mp_frame_make(mp_frame *f, const mp_frame_state *s, uint64_t top,
		   uint64_t returns, const uint64_t args[6])
{
  const struct user_fpsimd_struct *fp = s->vectors;
  frame r;
  (void)returns; (void)args;
  memset(&r, 0, sizeof(r));
  r.stack[1] = NO_STACK;
  r.mask = s->mask;
  r.regs = *s->regs;
  r.vectors = (record){ VECTORS, offsetof(frame, end) -
			offsetof(frame, vectors) };
  r.fpsr = fp->fpsr;
  r.fpcr = fp->fpcr;
  memcpy(r.values, fp->vregs, sizeof(r.values));
  f->size = sizeof(r);
  f->at = (top - sizeof(r)) & ~UINT64_C(15);
  memcpy(f->bytes, &r, sizeof(r));
  return true;
}

#else

typedef unsigned long word;

/* Errors of system calls that the kernel makes again. */
#define RESTART_SYSTEM 512
#define RESTART_ALWAYS 513
#define RESTART_NO_HANDLER 514
#define RESTART_BLOCK 516

#define SYSCALL_SIZE 2		/* Bytes of the instruction. */

/* Flags of an alternate stack that the kernel refuses, and so keeps its own. */
#define NO_STACK 0x7fffffff
#define BELOW	512		/* Bytes for the head, with its alignment. */

/* The vectors: legacy registers with a part for software, a header, and the
** features from number 2 on. */
typedef struct software {
  uint32_t magic, whole;
  uint64_t features;
  uint32_t size, padding[7];
} software;

#define SOFTWARE_AT 464
#define IN_USE_AT 512
#define FEATURES_AT 576
#define FEATURES 63
#define DYNAMIC 18		/* The first feature that needs permission. */
#define MAGIC	0x46505853
#define MAGIC_END 0x46505845

/* Bytes of the vectors, as far as a signal frame has them. */
static uint32_t vectors_size(const mp_frame_state *s, uint64_t *features)
{
  uint32_t size = FEATURES_AT, length, offset, c, d, i;
  uint64_t in_use;
  memcpy(features, (const char *)s->vectors + SOFTWARE_AT, sizeof(*features));
  memcpy(&in_use, (const char *)s->vectors + IN_USE_AT, sizeof(in_use));
  *features &= in_use | ((UINT64_C(1) << DYNAMIC) - 1);
  for (i = 2; i < FEATURES; i++) {
    if ((*features >> i & 1) == 0) continue;
    __cpuid_count(0xd, i, length, offset, c, d);
    if (offset + length > size) size = offset + length;
  }
  return size <= s->size ? size : 0;
}

/* The registers to give back: a system call that was interrupted is made again,
** or fails, as it does after a signal. */
static struct user_regs_struct resumed(const struct user_regs_struct *regs)
{
  struct user_regs_struct r = *regs;
  long error = -(long)r.R_RESULT;
  if ((long)r.R_SYSCALL < 0) return r;
  if (error == RESTART_SYSTEM || error == RESTART_ALWAYS ||
      error == RESTART_NO_HANDLER) {
    r.R_RESULT = r.R_SYSCALL;
    r.R_IP -= SYSCALL_SIZE;
  } else if (error == RESTART_BLOCK) {
    r.R_RESULT = -EINTR;
  }
  return r;
}

/* -- The head ------------------------------------------------------------- */

#ifdef __x86_64__

#define GENERAL	23		/* Words for general registers and traps. */
#define FLAGS	7		/* With vectors, and with ss. */
#define LEGACY	0		/* Bytes before the vectors. */

typedef struct head {
  uint64_t returns;		/* Popped by the function. */
  uint64_t flags, link;
  uint64_t stack[3];
  uint64_t general[GENERAL];
  uint64_t vectors, reserved[8];
  uint64_t mask;
} head;

static void fill(head *h, const mp_frame_state *s, const uint64_t args[6])
{
  const struct user_regs_struct r = resumed(s->regs);
  const uint64_t general[] = {
    r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rdi, r.rsi, r.rbp,
    r.rbx, r.rdx, r.rax, r.rcx, r.rsp, r.rip, r.eflags,
    r.cs | r.gs << 16 | r.fs << 32 | r.ss << 48
  };
  (void)args;
  memset(h, 0, sizeof(*h));
  memcpy(h->general, general, sizeof(general));
  h->flags = FLAGS;
  h->stack[1] = NO_STACK;
  h->mask = s->mask;
}

static void fill_legacy(char *to, const char *vectors)
{
  (void)to; (void)vectors;
}

#else

#define FLAGS	1		/* With vectors. */
#define LEGACY	112		/* Bytes before the vectors, for older ones. */

typedef struct head {
  word returns;			/* Popped by the function. */
  word args[3];			/* Not read by the kernel, */
  word info[32];		/* nor is this. */
  word flags, link;
  word stack[3];
  word general[19];
  word vectors, old_mask, fault;
  uint64_t mask;
} __attribute__((packed)) head;

static void fill(head *h, const mp_frame_state *s, const uint64_t args[6])
{
  const struct user_regs_struct r = resumed(s->regs);
  const long general[] = {
    r.xgs, r.xfs, r.xes, r.xds, r.edi, r.esi, r.ebp, r.esp, r.ebx, r.edx, r.ecx,
    r.eax, 0, 0, r.eip, r.xcs, r.eflags, r.esp, r.xss
  };
  int i;
  memset(h, 0, sizeof(*h));
  memcpy(h->general, general, sizeof(general));
  for (i = 0; i < 3; i++) h->args[i] = (word)args[i];
  for (; i < 6; i++) h->info[i - 3] = (word)args[i];
  h->flags = FLAGS;
  h->stack[1] = NO_STACK;
  h->mask = s->mask;
}

/* The registers of the 8087 twice: the kernel takes them from here. */
static void fill_legacy(char *to, const char *vectors)
{
  uint16_t control, status, op;
  word env[7], tags = 0;
  int i;
  memcpy(&control, vectors, 2);
  memcpy(&status, vectors + 2, 2);
  memcpy(&op, vectors + 6, 2);
  for (i = 0; i < 8; i++)
    if (!(vectors[4] >> i & 1)) tags |= 3ul << (2 * i);
  env[0] = 0xffff0000u | control;
  env[1] = 0xffff0000u | status;
  env[2] = 0xffff0000u | tags;
  memcpy(&env[3], vectors + 8, 16);
  env[4] = (env[4] & 0xffff) | (word)op << 16;
  memcpy(to, env, sizeof(env));
  for (i = 0; i < 8; i++)
    memcpy(to + sizeof(env) + i * 10, vectors + 32 + i * 16, 10);
  memcpy(to + 108, &status, 2);
}

#endif

_Static_assert(offsetof(head, mask) + 8 == sizeof(head), "no gap at the end");

/* -- All of it ------------------------------------------------------------ */

bool mp_frame_make(mp_frame *f, const mp_frame_state *s, uint64_t top,
		   uint64_t returns, const uint64_t args[6])
{
  const uint32_t end = MAGIC_END;
  software sw = { .magic = MAGIC };
  uint64_t at;
  char *vectors;
  head h;
  if (s->size < FEATURES_AT) return false;
  sw.size = vectors_size(s, &sw.features);
  sw.whole = sw.size + (uint32_t)sizeof(end);
  if (sw.size == 0 || sw.whole + BELOW > sizeof(f->bytes)) return false;
  fill(&h, s, args);
  at = (top - sw.whole) & ~UINT64_C(63);
  h.vectors = (word)(at - LEGACY);
  h.returns = (word)returns;
  f->at = ((at - LEGACY - sizeof(h)) & ~UINT64_C(15)) - sizeof(word);
  f->size = at + sw.whole - f->at;
  memset(f->bytes, 0, f->size);
  memcpy(f->bytes, &h, sizeof(h));
  vectors = f->bytes + (at - f->at);
  fill_legacy(vectors - LEGACY, s->vectors);
  memcpy(vectors, s->vectors, sw.size);
  sw.whole += LEGACY;
  memcpy(vectors + SOFTWARE_AT, &sw, sizeof(sw));
  memcpy(vectors + sw.size, &end, sizeof(end));
  return true;
}

#endif
