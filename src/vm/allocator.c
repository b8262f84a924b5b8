/* SPDX-License-Identifier: MIT */
/*
** See vm/allocator.h.
*/
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "vm/allocator.h"

static lua_Alloc builtin;
static mp_allocator functions;

#if defined(__x86_64__) && defined(__LP64__)

/* -- The machine code ----------------------------------------------------- */

/* The contents of a register. */
typedef enum value { OTHER, UD, PTR, OSIZE, NSIZE } value;

enum { RCX = 1, RDX = 2, RSI = 6, RDI = 7 };

typedef struct walk {
  const uint8_t *begin, *at;
  value regs[16];
  bool ptr, nsize;		/* These arguments are not 0. */
  bool zero, compared;		/* The processor's flag, if it is known. */
} walk;

#define CODE_MAX	128	/* Bytes of a lua_Alloc that only chooses, */
#define STEPS_MAX	16	/* and instructions on a way through it. */

static int32_t near(const uint8_t *p)
{
  int32_t n;
  memcpy(&n, p, sizeof(n));
  return n;
}

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
  if (v == NSIZE) w->zero = !w->nsize;
  else if (v == PTR && w->nsize) w->zero = !w->ptr;
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

/* One instruction that is no jump to another function. False: it is none of
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

/* The function that is jumped to with these arguments; NULL: none, or with
** others in registers than the first, second and third. */
static const void *choice(const uint8_t *code, bool ptr, bool nsize,
			  value second, value third)
{
  walk w = { code, code, { OTHER }, ptr, nsize, false, false };
  int i;
  w.regs[RDI] = UD;
  w.regs[RSI] = PTR;
  w.regs[RDX] = OSIZE;
  w.regs[RCX] = NSIZE;
  for (i = 0; i < STEPS_MAX && inside(&w); i++) {
    if (*w.at == 0xeb) jump(&w, 2, (int8_t)w.at[1]);
    else if (*w.at == 0xe9) jump(&w, 5, near(w.at + 1));
    else if (!step(&w)) return NULL;
  }
  if (inside(&w) || w.regs[RDI] != UD || w.regs[RSI] != second ||
      (third != OTHER && w.regs[RDX] != third))
    return NULL;
  return w.at;
}

bool mp_allocator_read(const void *code, mp_allocator *a)
{
  const void *make = choice(code, false, true, NSIZE, OTHER);
  const void *again = choice(code, true, true, PTR, NSIZE);
  const void *release = choice(code, true, false, PTR, OTHER);
  memset(a, 0, sizeof(*a));
  if (make == NULL || again == NULL || release == NULL || make == release ||
      make == again || again == release)
    return false;
  memcpy(&a->make, &make, sizeof(make));
  memcpy(&a->again, &again, sizeof(again));
  memcpy(&a->release, &release, sizeof(release));
  return true;
}

#else

bool mp_allocator_read(const void *code, mp_allocator *a)
{
  (void)code;
  memset(a, 0, sizeof(*a));
  return false;
}

#endif

/* -- The allocator --------------------------------------------------------- */

/* Whether the functions do what the lua_Alloc does. */
static bool work(const mp_allocator *a, lua_Alloc f, void *ud)
{
  static const char text[] = "a block";
  char *p = a->make(ud, sizeof(text)), *q;
  if (p == NULL) return false;
  memcpy(p, text, sizeof(text));
  if ((q = a->again(ud, p, 5000)) != NULL) p = q;
  if (q != NULL && (q = f(ud, p, 5000, 100)) != NULL) p = q;
  return memcmp(p, text, sizeof(text)) == 0 && a->release(ud, p) == NULL &&
	 q != NULL;
}

void mp_allocator_learn(lua_Alloc f, void *ud)
{
  mp_allocator a;
  builtin = f;
  memset(&functions, 0, sizeof(functions));
  if (mp_allocator_read((const void *)(uintptr_t)f, &a) && work(&a, f, ud))
    functions = a;
}

bool mp_allocator_builtin(lua_Alloc f)
{
  return builtin != NULL && f == builtin;
}

mp_allocator mp_allocator_of(lua_Alloc f)
{
  static const mp_allocator none;
  return mp_allocator_builtin(f) ? functions : none;
}
