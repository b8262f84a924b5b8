/* SPDX-License-Identifier: MIT */
/*
** Objects that the compiler sank. See vm/sunk.h.
*/
#include "config.h"

#include <string.h>

#include "vm/call.h"
#include "vm/learn.h"
#include "vm/snap.h"
#include "vm/sunk.h"
#include "vm/trace.h"

#ifdef MP_LAYOUT

#define SEARCH	4096		/* Bytes of the C stack. */
#define PARENTS	100		/* Traces that an object was handed through. */

/* -- Sunk instructions --------------------------------------------------- */

static uint8_t ir_byte(const char *T, uint32_t ref, int field)
{
  return AT(uint8_t, AT(const char *, T, TR_IR),
	    (size_t)ref * IR_SIZE + (size_t)field);
}

static uint16_t ir_ref(const char *T, uint32_t ref, int field)
{
  return AT(uint16_t, AT(const char *, T, TR_IR),
	    (size_t)ref * IR_SIZE + (size_t)field);
}

static int ir_type(const char *T, uint32_t ref)
{
  return ir_byte(T, ref, IR_TYPE) & IRT_TYPES;
}

static bool is_sunk(const char *T, uint32_t ref)
{
  return ref >= TR_INS0 && ref < AT(uint32_t, T, TR_NINS) &&
	 ir_byte(T, ref, IR_REG) == REG_SUNK;
}

/* The first instruction that is not of the head of a side trace, where the
** state of the exit is put together. */
static uint32_t head_end(const char *T)
{
  return AT(uint16_t, mp_snap_get(T, 0), SNAP_REF);
}

/* The trace and the exit that a side trace begins at, or NULL. */
static const char *parent_of(const mp_vm *vm, const char *T, const char **exit)
{
  const char *ir = AT(const char *, T, TR_IR) + TR_INS0 * IR_SIZE, *P;
  uint32_t number = AT(uint16_t, ir, IR_OP2);
  P = AT(uint16_t, ir, IR_OP1) ? mp_trace_get(vm, AT(uint16_t, ir, IR_OP1)) :
      NULL;
  if (P == NULL || number >= AT(uint16_t, P, TR_NSNAP)) return NULL;
  *exit = mp_snap_get(P, number);
  return P;
}

/* The sunk instructions with that op whose objects an exit needs, in the order
** that they are made again. Returns their number. */
static uint32_t sunk_at(const char *T, const char *exit, uint8_t op,
			uint32_t refs[SNAP_ENTRIES])
{
  const uint32_t *map = mp_snap_entries(T, exit);
  uint32_t i, k, n = 0, nent = AT(uint8_t, exit, SNAP_NENT);
  for (i = 0; i < nent; i++) {
    uint32_t ref = ENT_REF(map[i]);
    if (!is_sunk(T, ref) || ir_byte(T, ref, IR_OP) != op) continue;
    for (k = 0; k < n && refs[k] != ref; k++) ;
    if (k == n) refs[n++] = ref;
  }
  return n;
}

/* The rank of an instruction among those with its op in the head of a side
** trace, and the number of these. */
static uint32_t index_in_head(const char *T, uint32_t ref, uint32_t *count)
{
  uint32_t r, n = 0, end = head_end(T);
  uint8_t op = ir_byte(T, ref, IR_OP);
  for (r = TR_INS0 + 1, *count = 0; r < end; r++) {
    if (ir_byte(T, r, IR_OP) != op) continue;
    if (r < ref) n++;
    ++*count;
  }
  return n;
}

/* An instruction in the head of a side trace stands for one of the trace that
** was left, its parent: returns that one, and the parent in *T. 0: it is not
** known. */
static uint32_t in_parent(const mp_vm *vm, const char **T, uint32_t ref)
{
  uint32_t refs[SNAP_ENTRIES], count, n = index_in_head(*T, ref, &count);
  const char *exit, *P = parent_of(vm, *T, &exit);
  if (P == NULL || sunk_at(P, exit, ir_byte(*T, ref, IR_OP), refs) != count)
    return 0;
  *T = P;
  return refs[n];
}

/* The snapshot of a sunk instruction, and in *T the trace that it belongs to.
** NULL: ref is 0, or it is not known. */
static const char *origin(const mp_vm *vm, const char **T, uint32_t ref)
{
  int i;
  for (i = 0; i < PARENTS && ref != 0 && ref < head_end(*T); i++)
    ref = in_parent(vm, T, ref);
  return ref != 0 ? mp_snap_of(*T, ref) : NULL;
}

/* -- New keys ------------------------------------------------------------ */

/* Whether an instruction adds a key to the table that another one makes: its
** second operand is an instruction, too, or a constant. */
static bool adds_key(const char *T, uint32_t ref, uint32_t table)
{
  return ir_type(T, ref) == IRT_P64 && ir_ref(T, ref, IR_OP1) == table &&
	 ir_type(T, table) == IRT_TAB &&
	 ir_ref(T, ref, IR_OP2) >= AT(uint32_t, T, TR_NK);
}

/* The number of the instructions before `ref` that add a key to the table. */
static uint32_t keys_before(const char *T, uint32_t ref, uint32_t table)
{
  uint32_t r, n = 0;
  for (r = table + 1; r < ref; r++) n += adds_key(T, r, table);
  return n;
}

/* The n-th instruction that adds a key to the table; 0: there is none. */
static uint32_t key_of(const char *T, uint32_t table, uint32_t n)
{
  uint32_t r, end = AT(uint32_t, T, TR_NINS);
  for (r = table + 1; r < end; r++)
    if (adds_key(T, r, table) && n-- == 0) return r;
  return 0;
}

/* The same as origin, for an instruction that adds a key. */
static const char *key_origin(const mp_vm *vm, const char **T, uint32_t ref)
{
  int i;
  for (i = 0; i < PARENTS && ref != 0 && ref < head_end(*T); i++) {
    uint32_t table = ir_ref(*T, ref, IR_OP1);
    uint32_t n = keys_before(*T, ref, table);
    table = in_parent(vm, T, table);
    ref = table != 0 ? key_of(*T, table, n) : 0;
  }
  return ref != 0 ? mp_snap_of(*T, ref) : NULL;
}

/* -- At an exit ---------------------------------------------------------- */

/* Whether an exit needs the object of that instruction. */
static bool needs(const char *T, const char *exit, uint32_t ref)
{
  const uint32_t *map = mp_snap_entries(T, exit);
  uint32_t i, n = AT(uint8_t, exit, SNAP_NENT);
  for (i = 0; i < n; i++)
    if (ENT_REF(map[i]) == ref) return is_sunk(T, ref);
  return false;
}

/* The C function that restores the state keeps a pointer to the instruction
** whose object is made: in its frame, or in a register that the functions it
** calls have to save. In their frames, the lower ones, there may be pointers
** left from objects that were made before. */
__attribute__((noinline, no_sanitize_address))
const char *mp_sunk_at_exit(const mp_vm *vm, const char **trace,
			    const char *exit, const char *cframe)
{
  const char *T = *trace, *lowest = __builtin_frame_address(0);
  const char *p = lowest + SEARCH;
  uint64_t ir = AT(uint64_t, T, TR_IR) + (uint64_t)TR_INS0 * IR_SIZE;
  uint64_t size = (uint64_t)(AT(uint32_t, T, TR_NINS) - TR_INS0) * IR_SIZE;
  if (cframe > lowest && cframe < p) p = cframe;
  while ((p -= sizeof(uint64_t)) >= lowest) {
    uint64_t ofs = AT(const uint64_t, p, 0) - ir;
    uint32_t ref = TR_INS0 + (uint32_t)(ofs / IR_SIZE);
    if (ofs < size && ofs % IR_SIZE == 0 && needs(T, exit, ref)) {
      const char *from = T, *snap = origin(vm, &from, ref);
      if (snap == NULL) return exit;
      *trace = from;
      return snap;
    }
  }
  return exit;
}

/* -- In a side trace ----------------------------------------------------- */

/* Whether the operand of an instruction is a constant table, and not a size. */
static bool is_table(const char *T, uint32_t ref)
{
  uint64_t v;
  return ref >= AT(uint32_t, T, TR_NK) && ref < REF_CONST &&
	 mp_trace_const(T, ref, &v) == K_GC &&
	 obj_gct((const char *)(uintptr_t)v) == GCT_TAB;
}

/* The kind of function that makes the object of an instruction that allocates
** one. */
static mp_maker maker_of(const char *T, uint32_t ref)
{
  uint32_t op1 = ir_ref(T, ref, IR_OP1);
  if (ir_type(T, ref) == IRT_CDATA) return MP_MAKER_CDATA;
  return is_table(T, op1) ? MP_MAKER_COPY : MP_MAKER_TABLE;
}

/* The ops of the sunk instructions whose objects an exit needs. */
static void find_ops(bool ops[256], const char *T, const char *exit)
{
  const uint32_t *map = mp_snap_entries(T, exit);
  uint32_t i, nent = AT(uint8_t, exit, SNAP_NENT);
  memset(ops, 0, 256 * sizeof(*ops));
  for (i = 0; i < nent; i++)
    if (is_sunk(T, ENT_REF(map[i])))
      ops[ir_byte(T, ENT_REF(map[i]), IR_OP)] = true;
}

/* The instruction in the head of a side trace whose object is the n-th of those
** that the function makes; 0: there is none. */
static uint32_t made_again(const bool ops[256], const char *side,
			   mp_maker maker, uint32_t n)
{
  uint32_t ref, end = head_end(side);
  for (ref = TR_INS0 + 1; ref < end; ref++)
    if (!is_sunk(side, ref) && ops[ir_byte(side, ref, IR_OP)] &&
	maker_of(side, ref) == maker && n-- == 0)
      return ref;
  return 0;
}

/* The instruction in that head which is the n-th to add a key to a table made
** there; 0: there is none. */
static uint32_t added_again(const char *side, uint32_t n)
{
  uint32_t ref, end = head_end(side);
  for (ref = TR_INS0 + 1; ref < end; ref++) {
    uint32_t table = ir_ref(side, ref, IR_OP1);
    if (table > TR_INS0 && table < ref && adds_key(side, ref, table) &&
	!is_sunk(side, ref) && n-- == 0)
      return ref;
  }
  return 0;
}

const char *mp_sunk_in_side(const mp_vm *vm, const char **trace,
			    uint64_t addr)
{
  const char *side = *trace, *from = side, *exit, *snap;
  const char *P = parent_of(vm, side, &exit);
  mp_maker maker = mp_learn_maker(mp_call_target(side, addr));
  uint32_t n = mp_call_index(side, addr);
  bool ops[256];
  if (P == NULL || maker == MP_MAKER_UNKNOWN) return NULL;
  find_ops(ops, P, exit);
  /* Of what is in a head, nothing but a new key needs another function. */
  snap = maker == MP_MAKER_OTHER ?
	 key_origin(vm, &from, added_again(side, n)) :
	 origin(vm, &from, made_again(ops, side, maker, n));
  if (snap != NULL) *trace = from;
  return snap;
}

#else

const char *mp_sunk_at_exit(const mp_vm *vm, const char **trace,
			    const char *exit, const char *cframe)
{
  (void)vm; (void)trace; (void)cframe;
  return exit;
}

#endif
