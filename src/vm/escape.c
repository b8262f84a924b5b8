/* SPDX-License-Identifier: MIT */
/*
** See vm/escape.h.
*/
#include "config.h"

#include <string.h>

#include "vm/escape.h"
#include "vm/frame.h"
#include "vm/ir.h"
#include "vm/snap.h"
#include "vm/trace.h"

#ifdef MP_LAYOUT

/* Operations from the first one on that stores. */
enum {
  ASTORE, HSTORE, USTORE, FSTORE, XSTORE, SNEW, XSNEW, TNEW, TDUP, CNEW, CNEWI,
  BUFHDR, BUFPUT, BUFSTR, TBAR, OBAR, XBAR, CONV, TOBIT, TOSTR, STRTO,
  CALLN, CALLA, CALLL, CALLS, CALLXS, CARG
};

static int first_store;		/* The number of ASTORE; 0: not known. */

static int op_of(const char *T, uint32_t ref)
{
  return ir_byte(T, ref, IR_OP) - first_store;
}

static bool is_store(int op) { return op >= ASTORE && op <= XSTORE; }
static bool is_new(int op) { return op >= TNEW && op <= CNEWI; }

static uint32_t end_of(const char *T) { return AT(uint32_t, T, TR_NINS); }

/* Where the loop begins; or the end, if there is none. */
static uint32_t loop_of(const char *T)
{
  uint32_t ref = TR_INS0 + 1, end = end_of(T);
  while (ref < end && !ir_is(T, ref, OP_LOOP)) ref++;
  return ref;
}

/* -- What the private state shows ---------------------------------------- */

const char mp_escape_program[] =
  "local u\n"
  "return function()\n"
  "  local a, h, n = { 0 }, { k = 0 }, 0\n"
  "  for i = 1, 200 do\n"
  "    a[1] = { i }\n"
  "    h.k = { i, x = 1 }\n"
  "    u = { i }\n"
  "    n = n + (tostring(i):find('1', 1, true) or 0)\n"
  "  end\n"
  "end";

/* It does this, in order: the stored value comes from the last allocation. */
static const struct { int op; bool stored; } shown[] = {
  { TNEW, false }, { ASTORE, false }, { ASTORE, true },
  { TDUP, false }, { ASTORE, false }, { HSTORE, true },
  { TNEW, false }, { ASTORE, false }, { USTORE, true }
};
#define SHOWN		(sizeof(shown) / sizeof(shown[0]))

/* Whether the part before the loop has these, and the call with its three
** arguments, if ASTORE has that number. */
static bool shows(const char *T)
{
  uint32_t ref, last = 0, end = loop_of(T), args = 0, calls = 0;
  size_t n = 0;
  if (end == end_of(T)) return false;
  for (ref = TR_INS0 + 1; ref < end; ref++) {
    int op = op_of(T, ref);
    if (op > CARG) return false;
    if (op == CARG) args++;
    if (op >= CALLN && op <= CALLXS && ir_ref(T, ref, IR_OP1) > TR_INS0 &&
	op_of(T, ir_ref(T, ref, IR_OP1)) == CARG)
      calls++;
    if (!is_store(op) && !is_new(op)) continue;
    if (n == SHOWN || op != shown[n].op ||
	(shown[n].stored && ir_ref(T, ref, IR_OP2) != last))
      return false;
    if (is_new(op)) last = ref;
    n++;
  }
  return n == SHOWN && args > 0 && calls == 1;
}

void mp_escape_learn(const char *T)
{
  int number, found = 0, n = 0;
  if (T == NULL) return;
  for (number = 1; number <= UINT8_MAX - CARG; number++) {
    first_store = number;
    if (shows(T)) { found = number; n++; }
  }
  first_store = n == 1 ? found : 0;
}

/* -- Places -------------------------------------------------------------- */

static uint32_t snap_ref(const char *T, uint32_t i)
{
  return AT(uint16_t, mp_snap_get(T, i), SNAP_REF);
}

/* The number of the first snapshot behind an instruction, or that of all. */
static uint32_t snap_after(const char *T, uint32_t ref)
{
  uint32_t i = 0, n = AT(uint16_t, T, TR_NSNAP);
  while (i < n && snap_ref(T, i) <= ref) i++;
  return i;
}

/* Finds the prototype of the instruction before a snapshot's, or at it. False:
** it is not known. */
static bool place_of(const mp_vm *vm, const char *T, uint32_t i, bool before,
		     const char **proto, uint32_t *pos)
{
  uint32_t base;
  uint64_t pc = mp_snap_pc(T, mp_snap_get(T, i), &base);
  if (before) pc -= BC_SIZE;
  *proto = mp_trace_proto(vm, T, pc);
  if (*proto == NULL) return false;
  *pos = (uint32_t)((pc - (uint64_t)(uintptr_t)(*proto + PT_BC)) / BC_SIZE);
  return true;
}

/* Whether an instruction of the program stores or calls. */
static bool may_store(const char *proto, uint32_t pos)
{
  uint8_t op = AT(const uint8_t, proto, PT_BC + (size_t)pos * BC_SIZE);
  return (op >= BC_USETV && op <= BC_USETP) ||
	 (op >= BC_TSETV && op <= BC_TSETR) ||
	 (op >= BC_CALLM && op <= BC_CALLT);
}

/* The place of a store or a call: behind the last one before a snapshot the
** compiler wants that snapshot, whose instruction is the next one. */
static void set_store(const mp_vm *vm, const char *T, uint32_t ref,
		      mp_escape *e)
{
  uint32_t i = snap_after(T, ref), r;
  if (i == AT(uint16_t, T, TR_NSNAP)) return;
  for (r = ref + 1; r < snap_ref(T, i); r++)
    if (is_store(op_of(T, r)) || op_of(T, r) == CALLS || op_of(T, r) == CALLXS)
      return;
  if (!place_of(vm, T, i, true, &e->proto_at, &e->pos_at) ||
      !may_store(e->proto_at, e->pos_at))
    e->proto_at = NULL;
}

/* -- Escapes ------------------------------------------------------------- */

#define DEPTH		8	/* Instructions from an object to one that */
				/* needs it. */
#define WORK		100000	/* Instructions that are looked at for one. */

typedef struct search {
  const char *T;
  uint32_t object, end;
  bool reads;			/* Reads and comparisons are looked for. */
  uint32_t work;
  uint32_t at;			/* Found: the instruction, */
  mp_escapes how;		/* and what it does. */
} search;

/* Whether a store goes to an object that the trace makes. */
static bool into_new(const char *T, uint32_t ref)
{
  uint32_t to = ir_ref(T, ref, IR_OP1), i;
  for (i = 0; i < DEPTH && to > TR_INS0; i++) {
    if (is_new(op_of(T, to))) return true;
    to = ir_ref(T, to, IR_OP1);
  }
  return false;
}

/* Whether an instruction only leads to what its first operand refers to, or
** passes its operands on to a call. */
static bool leads_on(const search *s, uint32_t i, uint32_t r)
{
  int type = ir_byte(s->T, i, IR_TYPE) & IRT_TYPES;
  if (op_of(s->T, i) == CARG) return true;
  return (type == IRT_PART || type == IRT_ADDRESS) &&
	 (ir_ref(s->T, i, IR_OP1) == r || r == s->object);
}

/* The way a store lets the object escape, to which r leads. */
static mp_escapes by_store(const search *s, uint32_t i, uint32_t r)
{
  const char *T = s->T;
  int op = op_of(T, i);
  if (ir_ref(T, i, IR_OP2) == s->object)
    return op == USTORE ? MP_ESCAPES_UPVALUE :
	   into_new(T, i) ? MP_ESCAPES_NEW :
	   op == XSTORE ? MP_ESCAPES_MEMORY : MP_ESCAPES_TABLE;
  if (r == s->object || ir_ref(T, i, IR_OP1) != r || op > HSTORE)
    return MP_ESCAPES;
  if (ir_ref(T, r, IR_OP2) == s->object)  /* It is the key. */
    return MP_ESCAPES_TABLE;
  return ir_ref(T, r, IR_OP2) > TR_INS0 ? MP_ESCAPES_KEY : MP_ESCAPES;
}

/* The way the object escapes by an instruction that uses r; MP_ESCAPES: not by
** that. */
static mp_escapes escapes_by(const search *s, uint32_t i, uint32_t r)
{
  int op = op_of(s->T, i);
  if (s->reads)
    return !is_store(op) && (ir_byte(s->T, i, IR_TYPE) & IRT_GUARD) ?
	   MP_ESCAPES_READ : MP_ESCAPES;
  if (op == CALLS || op == CALLXS) return MP_ESCAPES_CALL;
  return is_store(op) ? by_store(s, i, r) : MP_ESCAPES;
}

/* Whether an instruction's result depends on its operands alone. */
static bool has_result(const char *T, uint32_t ref)
{
  int op = op_of(T, ref);
  return !is_store(op) && !is_new(op) && op != CALLS && op != CALLXS &&
	 !ir_is(T, ref, OP_PHI);
}

/* Whether some instruction lets it escape, by r. */
static bool look(search *s, uint32_t r, int depth)
{
  uint32_t i;
  for (i = r + 1; i < s->end && s->work > 0; i++) {
    s->work--;
    if (ir_ref(s->T, i, IR_OP1) != r && ir_ref(s->T, i, IR_OP2) != r) continue;
    s->how = escapes_by(s, i, r);
    s->at = i;
    if (s->how != MP_ESCAPES) return true;
    if (depth < DEPTH && has_result(s->T, i) &&
	(s->reads || leads_on(s, i, r)) && look(s, i, depth + 1))
      return true;
  }
  return false;
}

/* Whether the last snapshot needs an object. */
static bool at_end(const char *T, uint32_t object)
{
  const char *snap = mp_snap_get(T, AT(uint16_t, T, TR_NSNAP) - 1u);
  const uint32_t *map = mp_snap_entries(T, snap);
  uint32_t i, n = AT(uint8_t, snap, SNAP_NENT);
  for (i = 0; i < n; i++)
    if (ENT_REF(map[i]) == object) return true;
  return false;
}

/* Whether it is that of the turn before, where something else comes first. */
static bool is_carried(const char *T, uint32_t object)
{
  uint32_t i;
  for (i = end_of(T); ir_is(T, --i, OP_PHI) || ir_is(T, i, OP_RENAME);) {
    uint32_t a = ir_ref(T, i, IR_OP1), b = ir_ref(T, i, IR_OP2);
    if (ir_is(T, i, OP_PHI) && (a == object || b == object) &&
	op_of(T, a) != op_of(T, b))
      return true;
  }
  return false;
}

/* Looks for an escape up to an instruction. */
static bool find(search *s, uint32_t end)
{
  s->end = end;
  s->work = WORK;
  return look(s, s->object, 0);
}

static void explain(const mp_vm *vm, const char *T, uint32_t object,
		    uint32_t loop, mp_escape *e)
{
  search s = { .T = T, .object = object };
  uint32_t end = end_of(T);
  e->how = MP_ESCAPES_UNKNOWN;
  e->proto_at = NULL;
  if (find(&s, loop)) {
    e->how = s.how;
    set_store(vm, T, s.at, e);
  } else if (find(&s, end)) {  /* In the next turn. */
    e->how = s.how;
  } else if (loop == end && at_end(T, object)) {
    e->how = MP_ESCAPES_END;
    if (!place_of(vm, T, AT(uint16_t, T, TR_NSNAP) - 1u, false, &e->proto_at,
		  &e->pos_at))
      e->proto_at = NULL;
  } else if (loop != end && is_carried(T, object)) {
    e->how = MP_ESCAPES_TURN;
  } else {
    s.reads = true;
    if (find(&s, end)) e->how = MP_ESCAPES_READ;
  }
}

/* Whether an instruction makes an object there, and not where the trace is
** left. */
static bool makes(const char *T, uint32_t ref)
{
  return is_new(op_of(T, ref)) && ir_byte(T, ref, IR_REG) < REG_NONE;
}

uint32_t mp_escape_find(mp_vm *vm, uint32_t number, mp_escape *list)
{
  const char *T;
  uint32_t ref, loop, end, n = 0;
  bool any = false;
  if (first_store == 0 || !mp_trace_known(vm)) return 0;
  T = mp_trace_get(vm, number);
  if (T == NULL) return 0;
  loop = loop_of(T);
  end = end_of(T);
  for (ref = loop + 1; ref < end && !any; ref++) any = makes(T, ref);
  if (loop != end && !any) return 0;
  /* Before the loop there are all snapshots (vm/snap.h). */
  for (ref = snap_ref(T, 0); ref < loop && n < MP_ESCAPES_MAX; ref++) {
    mp_escape *e = &list[n];
    if (!makes(T, ref) ||
	!place_of(vm, T, snap_after(T, ref) - 1, false, &e->proto, &e->pos))
      continue;
    explain(vm, T, ref, loop, e);
    n++;
  }
  return n;
}

#endif
