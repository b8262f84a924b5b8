/* SPDX-License-Identifier: MIT */
/*
** arm64. See vm/machine.h.
*/
#include "config.h"

#include "vm/machine.h"

#if defined(__aarch64__) && defined(MP_LAYOUT)

#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

/* Registers of compiled code: */
#define BASE	19		/* the trace's base, */
#define GLOBAL	22		/* the global state, */
#define TMP	30		/* and one for a moment. */

/* Instructions: an operation and its operands. */
#define BL		0x94000000u
#define BL_MASK		0xfc000000u
#define LDRB		0x39400000u  /* ldrb Wt, [Xn, #offset] */
#define STR		0xf9000000u  /* str Xt, [Xn, #offset] */
#define OFFSET_MASK	0x003ffc00u
#define TST_PROFILE	0x7219001fu  /* tst Wn, #HOOK_PROFILE */
#define BNE		0x54000001u
#define BNE_MASK	0xff00001fu
#define RT(r)		((uint32_t)(r))
#define RN(r)		((uint32_t)(r) << 5)

static uint32_t instruction(const uint8_t *p)
{
  uint32_t n;
  memcpy(&n, p, sizeof(n));
  return n;
}

const uint8_t *mp_machine_call(const uint8_t *p)
{
  uint32_t ins = instruction(p);
  int32_t words = (int32_t)(ins << 6) >> 6;  /* A signed number of 26 bits. */
  return (ins & BL_MASK) == BL ? p + (int64_t)words * CODE_UNIT : NULL;
}

/* ldrb tmp, [global, #hookmask]; tst tmp, #HOOK_PROFILE; b.ne. */
bool mp_machine_is_check(const uint8_t *p)
{
  return (instruction(p) & ~OFFSET_MASK) == (LDRB | RN(GLOBAL) | RT(TMP)) &&
	 instruction(p + 4) == (TST_PROFILE | RN(TMP)) &&
	 (instruction(p + 8) & BNE_MASK) == BNE;
}

/* str base, [global, #distance]. */
bool mp_machine_is_store(const uint8_t *p, int32_t distance)
{
  uint32_t ins = instruction(p);
  return (ins & ~OFFSET_MASK) == (STR | RN(GLOBAL) | RT(BASE)) &&
	 (int32_t)((ins & OFFSET_MASK) >> 10) * 8 == distance;
}

uint64_t mp_machine_global(const void *context)
{
  return ((const ucontext_t *)context)->uc_mcontext.regs[GLOBAL];
}

mp_machine_place mp_machine_interrupted(const void *context)
{
  const mcontext_t *m = &((const ucontext_t *)context)->uc_mcontext;
  return (mp_machine_place){ m->pc, m->sp };
}

#define WRAPPER	64		/* The most that comes before it in libc. */
#define SVC	0xd4000001	/* svc #0. */

bool mp_machine_protects(const void *context)
{
  const uint64_t pc = mp_machine_interrupted(context).pc;
  return pc - (uintptr_t)mprotect - 4 < WRAPPER &&
	 ((const uint32_t *)(uintptr_t)pc)[-1] == SVC;
}

/* Constants are stored from a register. */
bool mp_machine_splits(const void *context, const void *begin, size_t size)
{
  (void)context; (void)begin; (void)size;
  return false;
}

/* Not known: the lua_Alloc itself is called. */
const void *mp_machine_choice(const uint8_t *code, bool ptr, bool nsize,
			      mp_machine_value second, mp_machine_value third)
{
  (void)code; (void)ptr; (void)nsize; (void)second; (void)third;
  return NULL;
}

#endif
