/* SPDX-License-Identifier: MIT */
/*
** See vm/snap.h.
*/
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "vm/ir.h"
#include "vm/layout.h"
#include "vm/snap.h"
#include "vm/trace.h"

#ifdef MP_LAYOUT

static mp_snap_facts known;

void mp_snap_learned(const mp_snap_facts *facts) { known = *facts; }

const char *mp_snap_get(const char *T, uint32_t i)
{
  return AT(const char *, T, TR_SNAP) + (size_t)i * SNAP_SIZE;
}

const uint32_t *mp_snap_entries(const char *T, const char *snap)
{
  return AT(const uint32_t *, T, TR_SNAPMAP) + AT(uint32_t, snap, SNAP_MAPOFS);
}

const uint32_t *mp_snap_end(const char *T, const char *snap)
{
  const char *last = mp_snap_get(T, AT(uint16_t, T, TR_NSNAP) - 1u);
  return AT(const uint32_t *, T, TR_SNAPMAP) +
    (snap == last ? AT(uint32_t, T, TR_NSNAPMAP) :
		    AT(uint32_t, snap + SNAP_SIZE, SNAP_MAPOFS));
}

/* The words behind a snapshot's entries: the PC and the base; or the PC and the
** links of frames. */
static uint32_t words_behind(const uint32_t *map, uint32_t nent)
{
  uint32_t i, n = sizeof(gcref) == sizeof(slot) ? 2 : 1;
  for (i = 0; sizeof(gcref) < sizeof(slot) && i < nent; i++)
    if ((map[i] & (ENT_FRAME | ENT_CONT)) && ENT_SLOT(map[i]) > 0) n++;
  return n;
}

bool mp_snap_proves(const char *T)
{
  uint32_t n = AT(uint16_t, T, TR_NSNAP), size = AT(uint32_t, T, TR_NSNAPMAP);
  uint32_t i, ref = TR_INS0, at = 0;
  uint64_t ofs = 0;
  if (n == 0 || AT(const char *, T, TR_SNAPMAP) != mp_snap_get(T, n))
    return false;
  for (i = 0; i < n; i++) {
    const char *snap = mp_snap_get(T, i);
    uint32_t nent = AT(uint8_t, snap, SNAP_NENT);
    if (AT(uint32_t, snap, SNAP_MAPOFS) != at || size - at < nent ||
	AT(uint16_t, snap, SNAP_REF) < ref || mp_snap_offset(snap) < ofs)
      return false;
    at += nent + words_behind(mp_snap_entries(T, snap), nent);
    if (at > size) return false;
    ref = AT(uint16_t, snap, SNAP_REF);
    ofs = mp_snap_offset(snap);
  }
  return at == size && ref <= AT(uint32_t, T, TR_NINS) &&
	 ofs <= AT(uint32_t, T, TR_SZMCODE);
}

#ifdef MP_REFS32

/* The words behind the entries are the PC, and the links of frames. */
uint64_t mp_snap_pc(const char *T, const char *snap, uint32_t *baseofs)
{
  const uint32_t *map = mp_snap_entries(T, snap);
  uint32_t i, nent = AT(uint8_t, snap, SNAP_NENT);
  *baseofs = 0;
  for (i = nent; i-- > 0;)
    if (map[i] & ENT_FRAME) {
      *baseofs = ENT_SLOT(map[i]);
      break;
    }
  return map[nent];
}

#else

/* The word behind the entries: PC and base. */
static uint64_t pcbase(const char *T, const char *snap)
{
  uint64_t v;
  memcpy(&v, mp_snap_entries(T, snap) + AT(uint8_t, snap, SNAP_NENT),
	 sizeof(v));
  return v;
}

uint64_t mp_snap_pc(const char *T, const char *snap, uint32_t *baseofs)
{
  uint64_t v = pcbase(T, snap);
  *baseofs = (uint32_t)(v & 0xff);
  return v >> 8;
}

#endif

/* -- Behind a check ------------------------------------------------------ */

/*
** Where the function changes, or the line, the compiler checks whether the
** profiler wants to run, and makes a snapshot behind the check. It drops that
** snapshot if another one comes and nothing between them can leave the trace,
** above all in the loop, which is a second copy of the instructions. So the
** last snapshot before an address behind the check can be one of the caller, or
** of the line before. The one that comes next is in the right function.
*/

/* Whether there is a check between two offsets into the machine code. */
static bool has_check(const char *T, uint64_t from, uint64_t to)
{
  const uint8_t *code = AT(const uint8_t *, T, TR_MCODE);
  for (; from + CHECK_SIZE <= to; from += CODE_UNIT)
    if (mp_machine_is_check(code + from)) return true;
  return false;
}

static uint32_t snap_ref(const char *T, uint32_t i)
{
  return AT(uint16_t, mp_snap_get(T, i), SNAP_REF);
}

/* Whether a snapshot is that of a check. */
static bool is_check(const char *T, const char *snap)
{
  return ir_is(T, AT(uint16_t, snap, SNAP_REF) - 1u, OP_PROF);
}

/* The number of the snapshot at the beginning of the loop; 0: there is none. */
static uint32_t loop_snap(const char *T)
{
  uint32_t i = AT(uint16_t, T, TR_NSNAP);
  while (i-- > 1)
    if (ir_is(T, snap_ref(T, i), OP_LOOP)) return i;
  return 0;
}

/* The next entry of a frame's link from *i on; 0: there is none. */
static uint32_t next_link(const uint32_t *map, uint32_t n, uint32_t *i)
{
  while (*i < n) {
    uint32_t e = map[(*i)++];
    if (e & ENT_FRAME) return e;
  }
  return 0;
}

/* Whether two snapshots are at one place, in the same frames. */
static bool same_place(const char *T, const char *a, const char *b)
{
  const uint32_t *ma = mp_snap_entries(T, a), *mb = mp_snap_entries(T, b);
  uint32_t na = AT(uint8_t, a, SNAP_NENT), nb = AT(uint8_t, b, SNAP_NENT);
  const uint32_t *ea = mp_snap_end(T, a), *eb = mp_snap_end(T, b);
  uint32_t i = 0, k = 0, link;
  size_t n = (size_t)(ea - ma) - na;
  if (n != (size_t)(eb - mb) - nb || memcmp(ma + na, mb + nb, n * 4) != 0)
    return false;
  do {
    link = next_link(ma, na, &i);
    if (link != next_link(mb, nb, &k)) return false;
  } while (link != 0);
  return true;
}

/* The snapshot before the loop that one in the loop is a copy of. The one at
** the end of the loop may have been dropped. 0: not found. */
static uint32_t original(const char *T, uint32_t copy, uint32_t loop)
{
  uint32_t i = loop;
  if (copy == AT(uint16_t, T, TR_NSNAP)) return loop;
  while (--i > 0)
    if (!is_check(T, mp_snap_get(T, i)) &&
	same_place(T, mp_snap_get(T, i), mp_snap_get(T, copy)))
      break;
  return i;
}

/* The snapshot behind the last check before another one; NULL: it was dropped,
** too. */
static const char *behind_check(const char *T, uint32_t i)
{
  uint32_t ref = snap_ref(T, i) - 1;
  while (ref > TR_INS0 && !ir_is(T, ref, OP_PROF)) ref--;
  while (i > 0 && snap_ref(T, i) > ref + 1) i--;
  return i > 0 && snap_ref(T, i) == ref + 1 ? mp_snap_get(T, i) : NULL;
}

/* The original of a snapshot that was dropped, or else the one that came next,
** which has that number. */
static mp_snap dropped(const char *T, uint32_t next)
{
  uint32_t loop = loop_snap(T);
  uint32_t i = loop != 0 && next > loop ? original(T, next, loop) : 0;
  const char *snap = i > 0 ? behind_check(T, i) : NULL;
  if (snap != NULL) return (mp_snap){ T, snap, false };
  if (next == AT(uint16_t, T, TR_NSNAP)) next = loop != 0 ? loop : next - 1;
  return (mp_snap){ T, mp_snap_get(T, next), true };
}

/* -- The snapshot of a place --------------------------------------------- */

uint64_t mp_snap_offset(const char *snap)
{
  return (uint64_t)AT(uint16_t, snap, SNAP_MCOFS) * CODE_UNIT;
}

bool mp_snap_checks(const char *T, const char *snap)
{
  const char *last = mp_snap_get(T, AT(uint16_t, T, TR_NSNAP) - 1u);
  return !is_check(T, snap) &&
	 has_check(T, mp_snap_offset(snap), snap != last ?
		   mp_snap_offset(snap + SNAP_SIZE) :
		   AT(uint32_t, T, TR_SZMCODE));
}

/* The number of the last snapshot at or before an offset into the machine code,
** where the first one is. */
static uint32_t last_before(const char *T, uint64_t ofs)
{
  uint32_t i = AT(uint16_t, T, TR_NSNAP);
  while (i-- > 1)
    if (mp_snap_offset(mp_snap_get(T, i)) <= ofs) return i;
  return 0;
}

/* The snapshot of an address in the machine code: the last one at or before it,
** unless the program has gone on in another function or line since. */
static mp_snap snap_at(const char *T, uint64_t addr)
{
  uint64_t ofs = addr - AT(uintptr_t, T, TR_MCODE);
  uint32_t i = last_before(T, ofs);
  const char *snap = mp_snap_get(T, i);
  return has_check(T, mp_snap_offset(snap), ofs) ?
	 dropped(T, i + 1) : (mp_snap){ T, snap, false };
}

/* Whether code between two offsets has changed the base. What follows up to
** the next snapshot only loads constants. */
static bool has_store(const char *T, uint64_t from, uint64_t to, int32_t base)
{
  const uint8_t *code = AT(const uint8_t *, T, TR_MCODE);
  for (; from + STORE_SIZE <= to; from += CODE_UNIT)
    if (mp_machine_is_store(code + from, base)) return true;
  return false;
}

mp_snap mp_snap_interrupted(const mp_vm *vm, const char *T, uint64_t addr,
			    int32_t base)
{
  uint64_t ofs = addr - AT(uintptr_t, T, TR_MCODE);
  uint32_t i = last_before(T, ofs);
  if (!has_store(T, mp_snap_offset(mp_snap_get(T, i)), ofs, base))
    return snap_at(T, addr);
  if (++i == AT(uint16_t, T, TR_NSNAP)) {
    T = mp_trace_get(vm, AT(uint16_t, T, TR_LINK));
    if (T == NULL) return (mp_snap){ NULL, NULL, false };
    i = 0;
  }
  return (mp_snap){ T, mp_snap_get(T, i), false };
}

/* The last snapshot at or before an instruction; the first if there is none. */
static const char *snap_of(const char *T, uint32_t ref)
{
  uint32_t i = AT(uint16_t, T, TR_NSNAP);
  while (i-- > 1) {
    const char *snap = mp_snap_get(T, i);
    if (AT(uint16_t, snap, SNAP_REF) <= ref) return snap;
  }
  return mp_snap_get(T, 0);
}

/* -- Calls of C functions ------------------------------------------------ */

#define CALL_NONE UINT32_MAX

typedef const uint8_t *code;

/* The call that returns to that address, or NULL. */
static code call_at(const char *T, uint64_t addr)
{
  return mp_trace_calls(T, addr) != NULL ?
	 (code)(uintptr_t)addr - CALL_SIZE : NULL;
}

/* The next call of the same function from p on, before `end`, or NULL. */
static code next_call(code call, code p, code end)
{
  code function = mp_machine_call(call);
  for (; p + CALL_SIZE <= end; p += CODE_UNIT)
    if (mp_machine_call(p) == function) return p;
  return NULL;
}

static uint32_t count_calls(code call, code p, code end)
{
  uint32_t n = 0;
  for (; (p = next_call(call, p, end)) != NULL; p += CALL_SIZE) n++;
  return n;
}

/* The number of calls in the machine code that come before the one that returns
** to `addr` and call the same function. CALL_NONE: that is not a call, or
** the call is ambiguous. */
static uint32_t call_index(const char *T, uint64_t addr)
{
  code call = call_at(T, addr);
  return call ? count_calls(call, AT(code, T, TR_MCODE), call) : CALL_NONE;
}

/* The snapshot of a call that returns to `addr`. One that is there itself comes
** after the call, whose result nobody needs: it can be the caller's. */
static mp_snap snap_before(const char *T, uint64_t addr)
{
  return snap_at(T, addr - 1);
}

static mp_snap snap_of_call(const char *T, code call)
{
  return snap_before(T, (uint64_t)(uintptr_t)call + CALL_SIZE);
}

/* The instruction of a snapshot, or 0. */
static uint64_t pc_of(const char *T, mp_snap s)
{
  uint32_t base;
  return s.snap != NULL ? mp_snap_pc(T, s.snap, &base) : 0;
}

/* The call in the loop corresponds to one of those before the loop, but it is
** not known to which. Returns the snapshot in the loop if it is at the same
** instruction as one of theirs, or their snapshot if all of these are at one
** instruction. */
static mp_snap common_snap(const char *T, code call, mp_snap in_loop, code p,
			   code loop)
{
  mp_snap snap = { T, NULL, false };
  uint64_t here = pc_of(T, in_loop);
  bool several = false;
  for (; (p = next_call(call, p, loop)) != NULL; p += CALL_SIZE) {
    mp_snap s = snap_of_call(T, p);
    uint64_t other = pc_of(T, s);
    if (other == here) return in_loop;
    several |= snap.snap != NULL && other != pc_of(T, snap);
    snap = s;
  }
  if (several) snap.snap = NULL;
  return several || snap.snap != NULL ? snap : in_loop;
}

/* The place of a call by its function's calls alone. */
static mp_snap called_at(const char *T, uint64_t addr)
{
  mp_snap snap = snap_before(T, addr);
  code start = AT(code, T, TR_MCODE), call = call_at(T, addr);
  code loop = start + AT(uint32_t, T, TR_MCLOOP), p;
  uint32_t n;
  if (loop == start || call == NULL || call < loop) return snap;
  n = count_calls(call, loop, call);
  if (count_calls(call, start, loop) !=
      count_calls(call, loop, start + AT(uint32_t, T, TR_SZMCODE)))
    return common_snap(T, call, snap, start, loop);
  for (p = next_call(call, start, loop); n > 0; n--)
    p = next_call(call, p + CALL_SIZE, loop);
  return snap_of_call(T, p);
}

/* -- Sunk instructions --------------------------------------------------- */

#define SEARCH	4096		/* Bytes of the C stack. */
#define PARENTS	100		/* Traces that an object was handed through. */

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

/* The place of an instruction; ref is 0: not known. */
static mp_snap place_of(const char *T, uint32_t ref)
{
  return (mp_snap){ T, ref != 0 ? snap_of(T, ref) : NULL, false };
}

/* The place of a sunk instruction. NULL: ref is 0, or it is not known. */
static mp_snap origin(const mp_vm *vm, const char *T, uint32_t ref)
{
  int i;
  for (i = 0; i < PARENTS && ref != 0 && ref < head_end(T); i++)
    ref = in_parent(vm, &T, ref);
  return place_of(T, ref);
}

/* -- New keys ------------------------------------------------------------ */

/* Whether an instruction adds a key to the table that another one makes: its
** second operand is an instruction, too, or a constant. */
static bool adds_key(const char *T, uint32_t ref, uint32_t table)
{
  return ir_type(T, ref) == IRT_PART && ir_ref(T, ref, IR_OP1) == table &&
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
static mp_snap key_origin(const mp_vm *vm, const char *T, uint32_t ref)
{
  int i;
  for (i = 0; i < PARENTS && ref != 0 && ref < head_end(T); i++) {
    uint32_t table = ir_ref(T, ref, IR_OP1);
    uint32_t n = keys_before(T, ref, table);
    table = in_parent(vm, &T, table);
    ref = table != 0 ? key_of(T, table, n) : 0;
  }
  return place_of(T, ref);
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
static mp_snap sunk_at_exit(const mp_vm *vm, mp_snap exit, const char *cframe)
{
  const char *T = exit.trace;
  const char *lowest = __builtin_frame_address(0), *p = lowest + SEARCH;
  uint64_t ir = AT(uintptr_t, T, TR_IR) + (uint64_t)TR_INS0 * IR_SIZE;
  uint64_t size = (uint64_t)(AT(uint32_t, T, TR_NINS) - TR_INS0) * IR_SIZE;
  if (cframe > lowest && cframe < p) p = cframe;
  while ((p -= WORD) >= lowest) {
    uint64_t ofs = AT(const uintptr_t, p, 0) - ir;
    uint32_t ref = TR_INS0 + (uint32_t)(ofs / IR_SIZE);
    if (ofs < size && ofs % IR_SIZE == 0 && needs(T, exit.snap, ref)) {
      mp_snap from = origin(vm, T, ref);
      return from.snap != NULL ? from : exit;
    }
  }
  return exit;
}

__attribute__((noinline))
mp_snap mp_snap_exited(mp_vm *vm, uint32_t ofs, uint64_t pc)
{
  const mp_snap none = { NULL, NULL, false };
  uint32_t n, e, baseofs;
  const char *T;
  if (ofs == 0 || !mp_trace_known(vm)) return none;
  n = AT(uint32_t, vm->g, vm->traces + ofs);
  e = AT(uint32_t, vm->g, vm->traces + ofs + EXIT_NUMBER);
  T = mp_trace_get(vm, n);
  if (T == NULL || e >= AT(uint16_t, T, TR_NSNAP) ||
      pc - mp_snap_pc(T, mp_snap_get(T, e), &baseofs) > BC_SIZE)
    return none;
  return (mp_snap){ T, mp_snap_get(T, e), false };
}

#ifdef MP_REFS32

/* Whether the frames of a snapshot's entries up to that one are on the stack,
** with the trace's slot 0 there. */
static bool has_frames(mp_snap s, uint32_t last, const slot *frame)
{
  const uint32_t *map = mp_snap_entries(s.trace, s.snap);
  const uint32_t *link = mp_snap_end(s.trace, s.snap);
  uint32_t i;
  for (i = 0; i <= last; i++)
    if ((map[i] & (ENT_FRAME | ENT_CONT)) && ENT_SLOT(map[i]) > 0 &&
	frame_link(frame + ENT_SLOT(map[i])) != *--link)
      return false;
  return true;
}

/* The VM puts an exit's frames back one by one, and moves the thread's base
** with each. Returns the trace's base, by the most frames that fit: others look
** the same in a recursion only. */
static slot *exit_base(mp_snap exit, slot *base, const slot *bottom)
{
  const uint32_t *map = mp_snap_entries(exit.trace, exit.snap);
  uint32_t i, n = AT(uint8_t, exit.snap, SNAP_NENT);
  slot *found = base;
  for (i = 0; i < n; i++) {
    uint32_t s = ENT_SLOT(map[i]);
    if (!(map[i] & ENT_FRAME) || s == 0) continue;
    if ((size_t)(base - bottom) < s) break;
    if (has_frames(exit, i, base - s - FRAME_SLOTS)) found = base - s;
  }
  return found;
}

#else

static slot *exit_base(mp_snap exit, slot *base, const slot *bottom)
{
  (void)exit; (void)bottom;
  return base;
}

#endif

mp_snap mp_snap_exit(mp_vm *vm, lua_State *L, uint64_t pc, const char *cframe,
		     slot **base)
{
  mp_snap exit = mp_snap_exited(vm, known.exit, pc);
  if (exit.trace == NULL) return exit;
  *base = exit_base(exit, *base, lowest_base(L));
  return sunk_at_exit(vm, exit, cframe);
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

/* The kind of object that a function of LuaJIT makes. */
static mp_maker maker_by(const void *function)
{
  bool all = function != NULL;
  int i;
  for (i = 0; i < MP_MAKER_OTHER; i++) {
    if (function != NULL && known.makers[i] == function) return (mp_maker)i;
    all = all && known.makers[i] != NULL;
  }
  return all ? MP_MAKER_OTHER : MP_MAKER_UNKNOWN;
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

/* The place of the sunk instruction whose object a side trace makes by the call
** that returns to `addr`. NULL: it makes none. */
static mp_snap sunk_in_side(const mp_vm *vm, const char *side, uint64_t addr)
{
  const char *exit, *P = parent_of(vm, side, &exit);
  mp_maker maker = maker_by(mp_trace_calls(side, addr));
  uint32_t n = call_index(side, addr);
  bool ops[256];
  if (P == NULL || maker == MP_MAKER_UNKNOWN) return place_of(side, 0);
  find_ops(ops, P, exit);
  /* In the head of a side trace only a new key needs another function. */
  return maker == MP_MAKER_OTHER ?
	 key_origin(vm, side, added_again(side, n)) :
	 origin(vm, side, made_again(ops, side, maker, n));
}

/* -- The place of a call -------------------------------------------------- */

mp_snap mp_snap_call(const mp_vm *vm, const char *T, uint64_t addr)
{
  mp_snap snap = called_at(T, addr), sunk;
  if (snap.snap != mp_snap_get(T, 0)) return snap;
  sunk = sunk_in_side(vm, T, addr);
  return sunk.snap != NULL ? sunk : snap;
}

#endif
