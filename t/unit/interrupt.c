/* SPDX-License-Identifier: MIT */
/* Where a tick has interrupted compiled code: in a C function that the code has
** called, behind one that has returned, at the profiler's checks, and between
** the halves of a value. */
#include "config.h"

#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "check_main.h"
#include "check_vm.h"

#include "vm/interrupt.h"
#include "vm/trace.h"
#include "vm/view.h"

#include "lauxlib.h"
#include "luajit.h"

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

static bool is_protecting(uint64_t pc)
{
  ucontext_t uc;
  memset(&uc, 0, sizeof(uc));
  set_place(&uc, pc, 0);
  return mp_machine_protects(&uc);
}

/* It is known in one place of mprotect, behind the system call. It is in none
** if that function is another library's; and never on i386. */
START_TEST(in_mprotect)
{
  const uint64_t begin = (uint64_t)(uintptr_t)mprotect;
  uint64_t pc, n = 0;
  for (pc = begin; pc < begin + 64; pc++)
    if (is_protecting(pc)) {
      n++;
      ck_assert(!is_protecting(pc + 1));
      /* Nothing else has a system call that far from the first. */
      ck_assert(!is_protecting(pc - 2));
    }
  ck_assert(n <= 1);
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
  ck_assert_uint_eq(n, 1);
#endif
  ck_assert(!is_protecting(begin - 1));
  ck_assert(!is_protecting((uint64_t)(uintptr_t)&is_protecting));
}
END_TEST

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

/* -- Checks --------------------------------------------------------------- */

enum { INNER = 1, MID = 6, MAIN = 0 };	/* The functions' lines below. */

static const char nested[] =
  "local function inner(i)\n"
  "  local s = 1\n"
  "  for j = 1, 2 do s = s * 3%7 + i end\n"
  "  return s\n"
  "end\n"
  "local function mid(i)\n"
  "  local v = inner(i)\n"
  "  return v + 1\n"
  "end\n"
  "local k, t = {}, 0\n"
  "for i = 1, 20000 do t = t + mid(i) k[i % 9] = { i } end\n";

static mp_view view;
static unsigned checks, moved;
static unsigned left[MID + 1];	/* Checks at the end of these functions. */

/* The first line of the function that a tick at that instruction is for. */
static int function_at(uint64_t pc)
{
  ucontext_t uc;
  mp_where w;
  uint32_t below;
  int state;
  bool calm, cut;
  memset(&uc, 0, sizeof(uc));
  set_place(&uc, pc, 0);
  if (!mp_interrupt_where(&vm, &uc, &w, &state, &calm) ||
      !mp_where_key(&vm, &walk, &w) ||
      mp_view_frames(&view, &vm, &walk, &w, &below, &cut) <= 0)
    return -1;
  return mp_proto_firstline(view.frames[0].proto);
}

/* A check is in the function of the code before it. */
static void look_at_check(uint64_t pc)
{
  int before = function_at(pc - CODE_UNIT), at = function_at(pc);
  ck_assert(before == INNER || before == MID || before == MAIN);
  checks++;
  moved += at != before;
  left[before] += function_at(pc + CHECK_SIZE) != before;
}

static void look_at_checks(void)
{
  mp_where w;
  uint64_t pc, end;
  int state;
  if (checks > 0 || !mp_vm_ontrace(&vm) || mp_vm_collecting(&vm) ||
      !mp_where_running(&vm, &walk, &w, &state) || w.lost)
    return;
  pc = AT(uintptr_t, w.trace, TR_MCODE);
  end = pc + AT(uint32_t, w.trace, TR_SZMCODE) - CHECK_SIZE;
  while ((pc += CODE_UNIT) < end)
    if (mp_machine_is_check((const uint8_t *)(uintptr_t)pc)) look_at_check(pc);
}

static void *check_hook(void *ud, void *ptr, size_t osize, size_t nsize)
{
  const check_alloc *real = ud;
  if (nsize != 0) look_at_checks();
  return real->f(real->ud, ptr, osize, nsize);
}

static void ignore(void *data, lua_State *L, int samples, int state)
{
  (void)data; (void)L; (void)samples; (void)state;
}

START_TEST(checks_at_returns)
{
  lua_State *L = check_open(&vm, true);
  if (L == NULL) return;
  vm.coarse = true;
  luaJIT_profile_start(L, "fi2000000", ignore, NULL);
  check_run(L, nested, check_hook);
  luaJIT_profile_stop(L);
  lua_close(L);
  mp_view_free(&view);
  mp_walk_free(&walk);
  ck_assert_uint_gt(left[INNER], 0);
  ck_assert_uint_gt(left[MID], 0);
  ck_assert_uint_eq(moved, 0);
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

static void no_place(void)
{
  mp_where w;
  mp_vm vm = { 0 };
  int state;
  bool calm;
  ck_assert(!mp_interrupt_where(&vm, NULL, &w, &state, &calm));
}

START_TEST(calls_that_have_ended) { no_place(); } END_TEST
START_TEST(checks_at_returns) { no_place(); } END_TEST
START_TEST(in_mprotect) { no_place(); } END_TEST

#endif

CHECK_MAIN("interrupt", calls_that_have_ended, checks_at_returns,
	   in_mprotect, values_in_two_halves, values_at_once)
