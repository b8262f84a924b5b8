/* SPDX-License-Identifier: MIT */
/*
** The instructions of a trace, in the compiler's intermediate representation.
** An instruction is known by its number; those of constants are less than
** TR_INS0.
*/
#ifndef MP_IR_H
#define MP_IR_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/layout.h"

static inline uint8_t ir_byte(const char *T, uint32_t ref, int field)
{
  return AT(uint8_t, AT(const char *, T, TR_IR),
	    (size_t)ref * IR_SIZE + (size_t)field);
}

static inline uint16_t ir_ref(const char *T, uint32_t ref, int field)
{
  return AT(uint16_t, AT(const char *, T, TR_IR),
	    (size_t)ref * IR_SIZE + (size_t)field);
}

/* Whether an instruction has that op: that many before the constant nil's. */
static inline bool ir_is(const char *T, uint32_t ref, int op)
{
  return ir_byte(T, ref, IR_OP) + op == ir_byte(T, REF_NIL, IR_OP);
}

#endif
