/* SPDX-License-Identifier: MIT */
/* mp_machine: the instructions that LuaJIT's compiler makes are known. */
#include "config.h"

#include "check_main.h"

#include "vm/machine.h"

#ifdef MP_LAYOUT

/* Calls to 16 bytes behind and before the call's own begin, or end. */
#ifdef __x86_64__
#define FROM	CALL_SIZE
#define FORWARD	"\xe8\x10\0\0\0"
#define BACK	"\xe8\xf0\xff\xff\xff"
#define JUMP	"\xe9\x10\0\0\0"
#define CHECK	"\x41\xf6\x86\x10\1\0\0\x80\x0f\x85\1\2\3\4"
#define FLAG	"\x41\xf6\x86\x10\1\0\0\x40\x0f\x85\1\2\3\4"  /* another flag */
#define STORE	"\x49\x89\x96\x10\1\0\0"	/* mov [r14+0x110], rdx */
#define OTHER	"\x49\x89\x86\x10\1\0\0"	/* mov [r14+0x110], rax */
#elif defined(__i386__)
#define FROM	CALL_SIZE
#define FORWARD	"\xe8\x10\0\0\0"
#define BACK	"\xe8\xf0\xff\xff\xff"
#define JUMP	"\xe9\x10\0\0\0"
#define CHECK	"\xf6\x05\x10\1\0\0\x80\x0f\x85\1\2\3\4"
#define FLAG	"\xf6\x05\x10\1\0\0\x40\x0f\x85\1\2\3\4"  /* another flag */
#define STORE	"\x89\x15\x10\1\0\0"	/* mov [0x110], edx */
#define OTHER	"\x89\x05\x10\1\0\0"	/* mov [0x110], eax */
#else
#define FROM	0
#define FORWARD	"\4\0\0\x94"
#define BACK	"\xfc\xff\xff\x97"
#define JUMP	"\4\0\0\x14"
#define CHECK	"\xde\x46\x42\x39\xdf\x03\x19\x72\1\1\0\x54"
#define FLAG	"\xde\x46\x42\x39\xdf\x03\x1a\x72\1\1\0\x54"
#define STORE	"\xd3\x8a\0\xf9"		/* str x19, [x22, #0x110] */
#define OTHER	"\xd4\x8a\0\xf9"		/* str x20, [x22, #0x110] */
#endif

static const uint8_t *code(const char *bytes)
{
  return (const uint8_t *)bytes;
}

/* The distance that a call goes to; 0: it is none. */
static long distance(const char *call)
{
  const uint8_t *to = mp_machine_call(code(call));
  return to != NULL ? (long)((uintptr_t)to - (uintptr_t)call) : 0;
}

START_TEST(calls)
{
  ck_assert_int_eq(distance(FORWARD), FROM + 16);
  ck_assert_int_eq(distance(BACK), FROM - 16);
  ck_assert_int_eq(distance(JUMP), 0);
}
END_TEST

START_TEST(checks)
{
  ck_assert(mp_machine_is_check(code(CHECK)));
  ck_assert(!mp_machine_is_check(code(FLAG)));
}
END_TEST

START_TEST(stores)
{
  ck_assert(mp_machine_is_store(code(STORE), 0x110));
  ck_assert(!mp_machine_is_store(code(STORE), 0x118));
  ck_assert(!mp_machine_is_store(code(OTHER), 0x110));
}
END_TEST

#else

START_TEST(calls) {} END_TEST
START_TEST(checks) {} END_TEST
START_TEST(stores) {} END_TEST

#endif

CHECK_MAIN("machine", calls, checks, stores)
