/* SPDX-License-Identifier: MIT */
/* Where a tick has interrupted compiled code: in a C function that the code has
** called, behind one that has returned, and between the halves of a value. */
#include "config.h"

#include <string.h>
#include <ucontext.h>

#include "check_main.h"
#include "check_vm.h"

#include "vm/interrupt.h"

#include "lauxlib.h"

#ifdef MP_LAYOUT

static mp_vm vm;
static mp_walk walk;
static unsigned calls, found, other, stale;

static void set_place(ucontext_t *uc, uint64_t pc, uint64_t sp)
{
#ifdef __x86_64__
  uc->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
  uc->uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
#elif defined(__i386__)
  uc->uc_mcontext.gregs[REG_EIP] = (greg_t)pc;
  uc->uc_mcontext.gregs[REG_ESP] = (greg_t)sp;
#else
  uc->uc_mcontext.pc = pc;
  uc->uc_mcontext.sp = sp;
#endif
}

/* Looks as a tick would that interrupts the first instruction of this function,
** with sp in the stack pointer's register. */
static bool look(mp_where *w, uint64_t sp)
{
  ucontext_t uc;
  int state;
  bool calm = true;
  memset(&uc, 0, sizeof(uc));
  set_place(&uc, (uint64_t)(uintptr_t)&look, sp);
  if (!mp_interrupt_where(&vm, &uc, w, &state, &calm)) return false;
  ck_assert(!calm);
  return true;
}

/* In a function that compiled code has called, and as it will be left: with the
** stack as it was before the code. */
static void compare(void)
{
  mp_where running, at;
  int state;
  const char *cframe;
  if (!mp_vm_ontrace(&vm) || mp_vm_collecting(&vm)) return;
  if (!mp_where_running(&vm, &walk, &running, &state) || running.lost) return;
  calls++;
  if (look(&at, (uint64_t)(uintptr_t)__builtin_frame_address(0))) {
    found++;
    if (at.trace != running.trace || at.L != running.L) other++;
  }
  cframe = mp_where_cframe(&running);
  if (look(&at, (uint64_t)(uintptr_t)cframe)) stale++;
}

static void *hook(void *ud, void *ptr, size_t osize, size_t nsize)
{
  const check_alloc *real = ud;
  if (nsize != 0) compare();
  return real->f(real->ud, ptr, osize, nsize);
}

START_TEST(calls_that_have_ended)
{
  lua_State *L = check_open(&vm, true);
  if (L == NULL) return;
  check_run(L, "local k = {}\n"
	    "for i = 1, 20000 do k[i % 9] = { i } end\n", hook);
  lua_close(L);
  mp_walk_free(&walk);
  ck_assert_uint_gt(calls, 10000);
  ck_assert_uint_eq(found, CALL_SAVES ? calls : 0);
  ck_assert_uint_eq(other, 0);
  ck_assert_uint_eq(stale, 0);
}
END_TEST

#endif

#ifdef __x86_64__

/* Whether an instruction writes half of a value in these 16 bytes. RBX and R13
** point there, RCX and R15 hold 1. */
static bool splits(const char *code)
{
  static char values[16];
  ucontext_t uc;
  greg_t *r = uc.uc_mcontext.gregs;
  memset(&uc, 0, sizeof(uc));
  r[REG_RIP] = (greg_t)(uintptr_t)code;
  r[REG_RBX] = r[REG_R13] = (greg_t)(uintptr_t)values;
  r[REG_RCX] = r[REG_R15] = 1;
  return mp_interrupt_splits(&uc, values, sizeof(values));
}

/* With the displacement or the scale that leads just behind the values, too. */
START_TEST(values_in_two_halves)
{
  ck_assert(splits("\xc7\x03\1\2\3\4"));		 /* [rbx] */
  ck_assert(splits("\xc7\x43\x0c\1\2\3\4"));	 /* [rbx+12] */
  ck_assert(!splits("\xc7\x43\x10\1\2\3\4"));
  ck_assert(!splits("\xc7\x43\xfc\1\2\3\4"));	 /* [rbx-4] */
  ck_assert(splits("\xc7\x83\x0c\0\0\0\1\2\3\4"));
  ck_assert(!splits("\xc7\x83\0\1\0\0\1\2\3\4"));
  ck_assert(splits("\xc7\x04\xcb\1\2\3\4"));	 /* [rbx+rcx*8] */
  ck_assert(splits("\xc7\x44\xcb\4\1\2\3\4"));	 /* [rbx+rcx*8+4] */
  ck_assert(!splits("\xc7\x44\xcb\x08\1\2\3\4"));
  ck_assert(splits("\xc7\x04\x23\1\2\3\4"));	 /* [rbx], by a SIB */
  ck_assert(splits("\x41\xc7\x45\0\1\2\3\4"));	 /* [r13] */
  ck_assert(splits("\x43\xc7\x44\xfd\4\1\2\3\4"));	/* [r13+r15*8+4] */
  ck_assert(!splits("\x43\xc7\x44\xfd\x0c\1\2\3\4"));
  ck_assert(!splits("\xc7\x04\x25\1\2\3\4\1\2\3\4")); /* an address */
  ck_assert(!splits("\xc7\x05\1\2\3\4\1\2\3\4"));	 /* [rip+n] */
}
END_TEST

START_TEST(values_at_once)
{
  ck_assert(!splits("\x48\xc7\x03\1\2\3\4"));	/* 64 bits */
  ck_assert(!splits("\x48\x89\x0b"));		/* mov [rbx], rcx */
  ck_assert(!splits("\xc7\xc3\1\2\3\4"));	/* mov ebx, n */
}
END_TEST

#elif defined(__i386__)

/* The same. EBX points there, ECX holds 1. */
static bool splits(const char *code)
{
  static char values[16];
  ucontext_t uc;
  greg_t *r = uc.uc_mcontext.gregs;
  memset(&uc, 0, sizeof(uc));
  r[REG_EIP] = (greg_t)(uintptr_t)code;
  r[REG_EBX] = (greg_t)(uintptr_t)values;
  r[REG_ECX] = 1;
  return mp_interrupt_splits(&uc, values, sizeof(values));
}

START_TEST(values_in_two_halves)
{
  ck_assert(splits("\xc7\x03\1\2\3\4"));		 /* [ebx] */
  ck_assert(splits("\xc7\x43\x0c\1\2\3\4"));	 /* [ebx+12] */
  ck_assert(!splits("\xc7\x43\x10\1\2\3\4"));
  ck_assert(!splits("\xc7\x43\xfc\1\2\3\4"));	 /* [ebx-4] */
  ck_assert(splits("\xc7\x83\x0c\0\0\0\1\2\3\4"));
  ck_assert(splits("\xc7\x44\xcb\4\1\2\3\4"));	 /* [ebx+ecx*8+4] */
  ck_assert(!splits("\xc7\x44\xcb\x08\1\2\3\4"));
  ck_assert(splits("\xc7\x04\x23\1\2\3\4"));	 /* [ebx], by a SIB */
  ck_assert(splits("\x89\x4b\4"));		 /* mov [ebx+4], ecx */
  ck_assert(!splits("\x89\x4b\x10"));
  ck_assert(!splits("\xc7\x05\1\2\3\4\1\2\3\4"));	 /* an address */
}
END_TEST

START_TEST(values_at_once)
{
  ck_assert(!splits("\xf2\x0f\x11\x03"));	/* movsd [ebx], xmm0 */
  ck_assert(!splits("\xc7\xc3\1\2\3\4"));	/* mov ebx, n */
}
END_TEST

#else

START_TEST(values_in_two_halves)
{
  ck_assert(!mp_interrupt_splits(NULL, NULL, 0));
}
END_TEST

START_TEST(values_at_once)
{
  ck_assert(!mp_interrupt_splits(NULL, NULL, 8));
}
END_TEST

#endif

#ifndef MP_LAYOUT

START_TEST(calls_that_have_ended)
{
  mp_where w;
  mp_vm vm = { 0 };
  int state;
  bool calm;
  ck_assert(!mp_interrupt_where(&vm, NULL, &w, &state, &calm));
}
END_TEST

#endif

CHECK_MAIN("interrupt", calls_that_have_ended, values_in_two_halves,
	   values_at_once)
