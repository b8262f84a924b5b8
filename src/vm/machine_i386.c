/* SPDX-License-Identifier: MIT */
/*
** i386. See vm/machine.h.
*/
#include "config.h"

#include "vm/machine.h"

#ifdef __i386__

#include <string.h>
#include <ucontext.h>

/* -- Compiled code ------------------------------------------------------- */

#define CALL	0xe8		/* A call to a distance that follows. */
#define TEST	7		/* Size of the test of a check. */

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

/* test byte [n], HOOK_PROFILE; jnz. */
bool mp_machine_is_check(const uint8_t *p)
{
  return p[0] == 0xf6 && p[1] == 0x05 && p[TEST - 1] == 0x80 &&
	 p[TEST] == 0x0f && p[TEST + 1] == 0x85;
}

/* mov [address], edx. */
bool mp_machine_is_store(const uint8_t *p, int32_t address)
{
  return p[0] == 0x89 && p[1] == 0x15 && near(p + 2) == address;
}

/* -- Registers ----------------------------------------------------------- */

/* A register, by the number that instructions have for it. */
static uint32_t reg(const void *context, int number)
{
  static const int at[8] = {
    REG_EAX, REG_ECX, REG_EDX, REG_EBX, REG_ESP, REG_EBP, REG_ESI, REG_EDI
  };
  return (uint32_t)((const ucontext_t *)context)->uc_mcontext.gregs[at[number]];
}

mp_machine_place mp_machine_interrupted(const void *context)
{
  const greg_t *r = ((const ucontext_t *)context)->uc_mcontext.gregs;
  return (mp_machine_place){ (uint32_t)r[REG_EIP], (uint32_t)r[REG_ESP] };
}

/* The kernel returns to the vDSO, whichever system call it was. */
bool mp_machine_protects(const void *context)
{
  (void)context;
  return false;
}

uint64_t mp_machine_global(const void *context)
{
  (void)context;
  return 0;
}

/* -- Values in two halves ------------------------------------------------ */

/* The address in an operand in memory, from its ModRM byte on. */
static uint32_t operand(const void *context, const uint8_t *p)
{
  int mod = *p >> 6, base = *p & 7;
  uint32_t addr = 0;
  bool bare;
  p++;
  if (base == 4) {  /* A SIB byte follows. */
    int index = *p >> 3 & 7;
    if (index != 4) addr = reg(context, index) << (*p >> 6);
    base = *p++ & 7;
  }
  bare = mod == 0 && base == 5;  /* No base, but a displacement. */
  if (!bare) addr += reg(context, base);
  if (mod == 0 && !bare) return addr;
  return addr + (uint32_t)(mod == 1 ? (int8_t)*p : near(p));
}

/* A value and its type are stored apart. */
bool mp_machine_splits(const void *context, const void *begin, size_t size)
{
  const uint8_t *p =
    (const uint8_t *)(uintptr_t)mp_machine_interrupted(context).pc;
  if ((p[0] != 0xc7 && p[0] != 0x89) || p[1] >= 0xc0) return false;
  return operand(context, p + 1) - (uintptr_t)begin < size;
}

/* -- A choice ------------------------------------------------------------ */

/* The arguments are on the stack: that is not read. */
const void *mp_machine_choice(const uint8_t *code, bool ptr, bool nsize,
			      mp_machine_value second, mp_machine_value third)
{
  (void)code; (void)ptr; (void)nsize; (void)second; (void)third;
  return NULL;
}

#endif
