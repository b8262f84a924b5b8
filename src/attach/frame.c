/* SPDX-License-Identifier: MIT */
/*
** See attach/frame.h.
*/
#include "config.h"

#include <cpuid.h>
#include <errno.h>
#include <string.h>

#include "attach/frame.h"

/* Errors of system calls that the kernel makes again. */
#define RESTART_SYSTEM 512
#define RESTART_ALWAYS 513
#define RESTART_NO_HANDLER 514
#define RESTART_BLOCK 516

#define SYSCALL_SIZE 2		/* Bytes of the instruction. */
#define GENERAL	23		/* Words for general registers and traps. */

typedef struct head {
  uint64_t returns;		/* Popped by the function. */
  uint64_t flags, link;
  uint64_t stack[3];
  uint64_t general[GENERAL];
  uint64_t vectors, reserved[8];
  uint64_t mask;
} head;

_Static_assert(offsetof(head, link) == MP_FRAME_RESULT, "the unread word");

#define FLAGS	7		/* With vectors, and with ss. */
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
  memcpy(features, s->vectors + SOFTWARE_AT, sizeof(*features));
  memcpy(&in_use, s->vectors + IN_USE_AT, sizeof(in_use));
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
  int64_t error = -(int64_t)r.rax;
  if ((int64_t)r.orig_rax < 0) return r;
  if (error == RESTART_SYSTEM || error == RESTART_ALWAYS ||
      error == RESTART_NO_HANDLER) {
    r.rax = r.orig_rax;
    r.rip -= SYSCALL_SIZE;
  } else if (error == RESTART_BLOCK) {
    r.rax = (uint64_t)-EINTR;
  }
  return r;
}

static void fill(head *h, const mp_frame_state *s)
{
  const struct user_regs_struct r = resumed(s->regs);
  const uint64_t general[] = {
    r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rdi, r.rsi, r.rbp,
    r.rbx, r.rdx, r.rax, r.rcx, r.rsp, r.rip, r.eflags,
    r.cs | r.gs << 16 | r.fs << 32 | r.ss << 48
  };
  memset(h, 0, sizeof(*h));
  memcpy(h->general, general, sizeof(general));
  h->flags = FLAGS;
  h->stack[1] = NO_STACK;
  h->mask = s->mask;
}

bool mp_frame_make(mp_frame *f, const mp_frame_state *s, uint64_t top,
		   uint64_t returns)
{
  const uint32_t end = MAGIC_END;
  software sw = { .magic = MAGIC };
  char *vectors;
  head h;
  if (s->size < FEATURES_AT) return false;
  sw.size = vectors_size(s, &sw.features);
  sw.whole = sw.size + (uint32_t)sizeof(end);
  if (sw.size == 0 || sw.whole + BELOW > sizeof(f->bytes)) return false;
  fill(&h, s);
  h.vectors = (top - sw.whole) & ~UINT64_C(63);
  h.returns = returns;
  f->at = ((h.vectors - sizeof(h)) & ~UINT64_C(15)) - 8;
  f->size = h.vectors + sw.whole - f->at;
  memset(f->bytes, 0, f->size);
  memcpy(f->bytes, &h, sizeof(h));
  vectors = f->bytes + (h.vectors - f->at);
  memcpy(vectors, s->vectors, sw.size);
  memcpy(vectors + SOFTWARE_AT, &sw, sizeof(sw));
  memcpy(vectors + sw.size, &end, sizeof(end));
  return true;
}
