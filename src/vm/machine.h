/* SPDX-License-Identifier: MIT */
/*
** What depends on the processor: machine code, the registers of compiled code,
** and the VM's C frames.
**
** There is one file for each processor, vm/machine_*.c. Where there is none,
** MP_LAYOUT is not defined, and nothing is known of the VM.
**
** These functions only read, and are async-signal-safe. Machine code need not
** be aligned.
*/
#ifndef MP_MACHINE_H
#define MP_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Builds of LuaJIT for i386 have references of 32 bits. */
#if defined(__i386__) && !defined(MP_REFS32)
#define MP_REFS32	1
#endif

#if defined(__x86_64__) && !defined(__ILP32__)

#define MP_LAYOUT	1	/* The layout is known. */

#define CODE_UNIT	1	/* Instructions begin at multiples of this. */
#define CALL_SAVES	1	/* A call itself saves where it returns to. */
#define CALL_SIZE	5	/* Size of a call of a C function, */
#define CHECK_SIZE	14	/* of a check of the profiler, with the jump */
				/* that follows, */
#define STORE_SIZE	7	/* and of a store of the trace's base. */

/* The C frame of the interpreter. */
#ifdef MP_REFS32
#define CF_NRES		16	/* int32_t */
#define CF_L		24	/* gcref */
#define CF_PC		28	/* gcref */
#else
#define CF_NRES		8
#define CF_L		16
#define CF_PC		24
#endif
#define CF_PREV		32
#define CF_SIZE		80
#define CF_SPILL	16	/* A trace's spill slots lie that far below. */

/* The registers in which the interpreter keeps the base of the running function
** and the place behind its instruction, as the processor numbers them. */
#define VM_BASE		2
#define VM_PC		3

/* The word that holds the return address of a C function which compiled code
** has called; NULL: the function saves that where it likes, as a call does not
** (CALL_SAVES). sp: the code's stack pointer. */
static inline const uintptr_t *mp_machine_return(const char *sp)
{
  return (const uintptr_t *)(const void *)sp - 1;
}

#elif defined(__i386__)

#define MP_LAYOUT	1

#define CODE_UNIT	1
#define CALL_SAVES	1
#define CALL_SIZE	5
#define CHECK_SIZE	13
#define STORE_SIZE	6

#define CF_NRES		56
#define CF_L		48
#define CF_PC		24
#define CF_PREV		52
#define CF_SIZE		64
#define CF_SPILL	0

#define VM_BASE		2
#define VM_PC		6

static inline const uintptr_t *mp_machine_return(const char *sp)
{
  return (const uintptr_t *)(const void *)sp - 1;
}

#elif defined(__aarch64__) && defined(__LP64__) && defined(__AARCH64EL__)

#define MP_LAYOUT	1

#define CODE_UNIT	4
#define CALL_SAVES	0
#define CALL_SIZE	4
#define CHECK_SIZE	12
#define STORE_SIZE	4

#define CF_NRES		40
#define CF_L		16
#define CF_PC		8
#define CF_PREV		0
#define CF_SIZE		208
#define CF_SPILL	16

#define VM_BASE		19
#define VM_PC		21

static inline const uintptr_t *mp_machine_return(const char *sp)
{
  (void)sp;
  return NULL;
}

#else

/* For declarations: nothing is read by them. */
#define CALL_SAVES	1
#define CF_L		16
#define CF_PC		24
#define CF_SIZE		80

#endif

/* The C function that the instruction at p calls; NULL: that is not a call, or
** one through a register. */
const uint8_t *mp_machine_call(const uint8_t *p);

/* Whether a check of whether the profiler wants a safepoint begins at p. */
bool mp_machine_is_check(const uint8_t *p);

/* Whether the instruction at p stores the base of the next trace, in the word
** at that distance from mp_machine_global. */
bool mp_machine_is_store(const uint8_t *p, int32_t distance);

/* The address in the VM's global state that compiled code keeps in a register;
** 0: it keeps none, and has addresses. context: a signal handler's. */
uint64_t mp_machine_global(const void *context);

/* The instruction that comes next, and the stack pointer. */
typedef struct mp_machine_place {
  uint64_t pc, sp;
} mp_machine_place;

mp_machine_place mp_machine_interrupted(const void *context);

/* Whether the instruction that comes next is the first after the system call in
** libc's mprotect: the time until the signal was the kernel's. False where that
** is not known. */
bool mp_machine_protects(const void *context);

/* Whether the interrupted instruction writes half of a value that lies within
** those bytes. Where a constant is stored by two such instructions, there is no
** value between them that could be read. */
bool mp_machine_splits(const void *context, const void *begin, size_t size);

/* The contents of a register in a lua_Alloc: its arguments. */
typedef enum mp_machine_value {
  MP_VALUE_OTHER, MP_VALUE_UD, MP_VALUE_PTR, MP_VALUE_OSIZE, MP_VALUE_NSIZE
} mp_machine_value;

/* The function that a lua_Alloc which only chooses jumps to if ptr is, or is
** not, NULL, and nsize 0. NULL: none, or with others in the registers of its
** first three arguments than ud and these two (MP_VALUE_OTHER: any). */
const void *mp_machine_choice(const uint8_t *code, bool ptr, bool nsize,
			      mp_machine_value second, mp_machine_value third);

#endif
