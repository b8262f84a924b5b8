/* SPDX-License-Identifier: MIT */
/*
** x86-64. See vm/machine.h.
*/
#include "config.h"

#include "vm/machine.h"

#if defined(__x86_64__) && !defined(__ILP32__)

#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

/* -- Compiled code ------------------------------------------------------- */

#define CALL	0xe8		/* A call to a distance that follows. */

static int32_t near(const uint8_t *p)
{
  int32_t n;
  memcpy(&n, p, sizeof(n));
  return n;
}

const uint8_t *mp_machine_call(const uint8_t *p)
{
  return *p == CALL ? p + CALL_SIZE + near(p + 1) : NULL;
}

#define TEST	8		/* Size of the test of a check. */

#ifdef MP_REFS32

/* test byte [n], HOOK_PROFILE; jnz. */
bool mp_machine_is_check(const uint8_t *p)
{
  return p[0] == 0xf6 && p[1] == 0x04 && p[2] == 0x25 && p[TEST - 1] == 0x80 &&
	 p[TEST] == 0x0f && p[TEST + 1] == 0x85;
}

/* mov [address], edx. */
bool mp_machine_is_store(const uint8_t *p, int32_t address)
{
  return p[0] == 0x89 && p[1] == 0x14 && p[2] == 0x25 && near(p + 3) == address;
}

#else

/* test byte [r14+n], HOOK_PROFILE; jnz. */
bool mp_machine_is_check(const uint8_t *p)
{
  return p[0] == 0x41 && p[1] == 0xf6 && p[2] == 0x86 &&
	 p[TEST - 1] == 0x80 && p[TEST] == 0x0f && p[TEST + 1] == 0x85;
}

/* mov [r14+distance], rdx. */
bool mp_machine_is_store(const uint8_t *p, int32_t distance)
{
  return p[0] == 0x49 && p[1] == 0x89 && p[2] == 0x96 &&
	 near(p + 3) == distance;
}

#endif

/* -- Registers ----------------------------------------------------------- */

mp_machine_place mp_machine_interrupted(const void *context)
{
  const greg_t *r = ((const ucontext_t *)context)->uc_mcontext.gregs;
  return (mp_machine_place){ (uint64_t)r[REG_RIP], (uint64_t)r[REG_RSP] };
}

#define WRAPPER	64		/* The most that comes before it in libc. */

bool mp_machine_protects(const void *context)
{
  const uint64_t pc = mp_machine_interrupted(context).pc;
  const uint8_t *p = (const uint8_t *)(uintptr_t)pc;
  return pc - (uintptr_t)mprotect - 2 < WRAPPER &&
	 p[-2] == 0x0f && p[-1] == 0x05;  /* syscall. */
}

/* A register, by the number that instructions have for it. */
static uint64_t reg(const void *context, int number)
{
  static const int at[16] = {
    REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
    REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15
  };
  return (uint64_t)((const ucontext_t *)context)->uc_mcontext.gregs[at[number]];
}

uint64_t mp_machine_global(const void *context)
{
#ifdef MP_REFS32
  (void)context;
  return 0;
#else
  return reg(context, 14);
#endif
}

/* -- Values in two halves ------------------------------------------------ */

static uint64_t displacement(const uint8_t *p, int size)
{
  int32_t n = (int8_t)*p;
  if (size == 4) memcpy(&n, p, sizeof(n));
  return (uint64_t)(int64_t)n;
}

/* The address in an operand in memory, from its ModRM byte on. 0: it is
** relative to the instruction, where no value lies. */
static uint64_t operand(const void *context, uint8_t rex, const uint8_t *p)
{
  int mod = *p >> 6, base = *p & 7;
  uint64_t addr = 0;
  bool bare;
  p++;
  if (mod == 0 && base == 5) return 0;
  if (base == 4) {  /* A SIB byte follows. */
    int index = (*p >> 3 & 7) + (rex & 2 ? 8 : 0);
    if (index != 4) addr = reg(context, index) << (*p >> 6);
    base = *p++ & 7;
  }
  bare = mod == 0 && base == 5;  /* No base, but a displacement. */
  if (!bare) addr += reg(context, base + (rex & 1 ? 8 : 0));
  if (mod == 0 && !bare) return addr;
  return addr + displacement(p, mod == 1 ? 1 : 4);
}

bool mp_machine_splits(const void *context, const void *begin, size_t size)
{
  const uint8_t *p =
    (const uint8_t *)(uintptr_t)mp_machine_interrupted(context).pc;
  uint8_t rex = (*p & 0xf0) == 0x40 ? *p++ : 0;
  /* mov dword [...], constant, or else a register; with this bit in REX, qword.
  ** Without GC64 a value and its type are stored apart. */
#ifdef MP_REFS32
  bool stores = p[0] == 0xc7 || p[0] == 0x89;
#else
  bool stores = p[0] == 0xc7;
#endif
  if ((rex & 8) || !stores || p[1] >= 0xc0) return false;
  return operand(context, rex, p + 1) - (uintptr_t)begin < size;
}

/* -- A choice ------------------------------------------------------------ */

typedef mp_machine_value value;

enum { RCX = 1, RDX = 2, RSI = 6, RDI = 7 };

typedef struct walk {
  const uint8_t *begin, *at;
  value regs[16];
  bool ptr, nsize;		/* These arguments are not 0. */
  bool zero, compared;		/* The processor's flag, if it is known. */
} walk;

#define CODE_MAX	128	/* Bytes of a lua_Alloc that only chooses, */
#define STEPS_MAX	16	/* and instructions on a way through it. */

static void jump(walk *w, int length, int32_t by) { w->at += length + by; }

/* A jump that is made if the flag is what the instruction's lowest bit asks
** for. False: the flag is not known. */
static bool jump_if(walk *w, uint8_t opcode, int length, int32_t by)
{
  if (!w->compared) return false;
  jump(w, length, w->zero != (opcode & 1) ? by : 0);
  return true;
}

/* `test` of a register with itself. */
static bool test(walk *w, value v)
{
  if (v == MP_VALUE_NSIZE) w->zero = !w->nsize;
  else if (v == MP_VALUE_PTR && w->nsize) w->zero = !w->ptr;
  else return false;
  w->compared = true;
  return true;
}

/* An instruction of three bytes on two registers of 64 bits. */
static bool operate(walk *w, uint8_t rex, uint8_t opcode, uint8_t modrm)
{
  value *reg = &w->regs[(modrm >> 3 & 7) + (rex & 4 ? 8 : 0)];
  value *rm = &w->regs[(modrm & 7) + (rex & 1 ? 8 : 0)];
  if (modrm < 0xc0) return false;  /* One is in memory. */
  w->at += 3;
  switch (opcode) {
  case 0x85: return reg == rm && test(w, *reg);
  case 0x89: *rm = *reg; return true;
  case 0x8b: *reg = *rm; return true;
  default: return false;
  }
}

/* One instruction that is not a jump to another function. False: it is none of
** those that a choice consists of. */
static bool step(walk *w)
{
  static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
  const uint8_t *p = w->at;
  if (memcmp(p, endbr64, sizeof(endbr64)) == 0) {
    w->at += sizeof(endbr64);
    return true;
  }
  if ((p[0] & 0xf8) == 0x48) return operate(w, p[0], p[1], p[2]);
  if (p[0] == 0x74 || p[0] == 0x75)
    return jump_if(w, p[0], 2, (int8_t)p[1]);
  if (p[0] == 0x0f && (p[1] == 0x84 || p[1] == 0x85))
    return jump_if(w, p[1], 6, near(p + 2));
  return false;
}

static bool inside(const walk *w)
{
  return w->at >= w->begin && w->at < w->begin + CODE_MAX;
}

const void *mp_machine_choice(const uint8_t *code, bool ptr, bool nsize,
			      value second, value third)
{
  walk w = { code, code, { MP_VALUE_OTHER }, ptr, nsize, false, false };
  int i;
  w.regs[RDI] = MP_VALUE_UD;
  w.regs[RSI] = MP_VALUE_PTR;
  w.regs[RDX] = MP_VALUE_OSIZE;
  w.regs[RCX] = MP_VALUE_NSIZE;
  for (i = 0; i < STEPS_MAX && inside(&w); i++) {
    if (*w.at == 0xeb) jump(&w, 2, (int8_t)w.at[1]);
    else if (*w.at == 0xe9) jump(&w, 5, near(w.at + 1));
    else if (!step(&w)) return NULL;
  }
  if (inside(&w) || w.regs[RDI] != MP_VALUE_UD || w.regs[RSI] != second ||
      (third != MP_VALUE_OTHER && w.regs[RDX] != third))
    return NULL;
  return w.at;
}

#endif
