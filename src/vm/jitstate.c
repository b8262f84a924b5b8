/* SPDX-License-Identifier: MIT */
/*
** See vm/jitstate.h.
*/
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "vm/escape.h"
#include "vm/frame.h"
#include "vm/jitstate.h"
#include "vm/own.h"
#include "vm/peek.h"
#include "vm/prove.h"
#include "vm/snap.h"
#include "vm/trace.h"

#include "lauxlib.h"

/* Offsets from the global state; 0: not known. */
static uint32_t penalty_ofs;
static bool traces_known;
static int bytecode_reason, off_reason;
static int op_funcv;		/* The operation FUNCV. */
static bool off_known;		/* PROTO_NOJIT says that jit.off was called. */

#ifdef MP_LAYOUT

static const char *const params[MP_JIT_PARAMS] = {
  "maxtrace", "maxrecord", "maxirconst", "maxside", "maxsnap", "hotloop",
  "hotexit", "tryside", "instunroll", "loopunroll", "callunroll", "recunroll",
  "sizemcode", "maxmcode"
};

static uint32_t param_ofs[MP_JIT_PARAMS];  /* The same. */

_Static_assert(MP_PENALTIES == PENALTIES, "all of them are read");

static const char *const links[] = {
  "none", "root", "loop", "tail-recursion", "up-recursion", "down-recursion",
  "interpreter", "return", "stitch"
};
#define LINKS		(sizeof(links) / sizeof(links[0]))

static uint8_t op_at(const char *pt, uint32_t pos)
{
  return AT(const uint8_t, pt, PT_BC + (size_t)pos * BC_SIZE);
}

/* -- What the private state shows ---------------------------------------- */

typedef struct showing {
  mp_vm vm;
  bool ffi_half_open;
} showing;

/* A loop that is given up each time, and one that is given up. */
static const char never[] =
  "for i = 1, 200 do local f = function() return i end end";
static const char off[] =
  "local f = function(x) return x end\n"
  "jit.off(f)\n"
  "for i = 1, 200 do f(i) end";

/* A loop with an exit that is taken three times, and one with a side trace. */
static const char exits[] =
  "local n = 0\n"
  "for i = 1, 1000 do if i % 300 == 0 then n = n + 1 end end";
static const char side[] =
  "local n = 0\n"
  "for i = 1, 1000 do if i % 3 == 0 then n = n + 1 end end";

/* Loads a program, and leaves it on the stack: its prototype. */
static const char *load(lua_State *L, const char *program)
{
  if (luaL_loadstring(L, program) != 0) lua_error(L);
  return func_proto(lua_topointer(L, -1));
}

static void run(lua_State *L)
{
  lua_pushvalue(L, -1);
  lua_call(L, 0, 0);
}

/* The only counting loop's instruction that becomes hot. */
static bool find_loop(const char *pt, uint32_t *pos)
{
  uint32_t i, n = 0;
  for (i = 0; i < AT(uint32_t, pt, PT_SIZEBC); i++)
    if (op_at(pt, i) == BC_FORL) { *pos = i; n++; }
  return n == 1;
}

#define OFTEN		50000	/* Attempts double it, to 60,000 at most. */

static uint64_t pc_of(const char *pt, uint32_t pos)
{
  return (uint64_t)(uintptr_t)(pt + PT_BC) + (uint64_t)pos * BC_SIZE;
}

static const char *entry(const char *g, uint32_t ofs, uint32_t i)
{
  return g + ofs + (size_t)(i % PENALTIES) * PENALTY_SIZE;
}

/* The entry of that start in a ring which has n entries; n: none. */
static uint32_t find_entry(const char *g, uint32_t ofs, uint32_t n, uint64_t pc)
{
  uint32_t i = 0;
  while (i < n && AT(const gcref, entry(g, ofs, i), PENALTY_PC) != pc) i++;
  return i;
}

/* Whether the first n entries of what may be the ring are in use, and no
** others. */
static bool has_entries(const char *g, uint32_t ofs, uint32_t n)
{
  uint32_t i;
  for (i = 0; i < PENALTIES; i++)
    if ((AT(const gcref, entry(g, ofs, i), PENALTY_PC) != 0) != (i < n))
      return false;
  return true;
}

/* Finds the ring that has those two starts; 0: it is not known. */
static uint32_t find_ring(const char *g, uint32_t from, uint64_t first,
			  uint64_t second)
{
  uint32_t ofs, found = 0, count = 0;
  for (ofs = from; ofs + PENALTY_NEXT + 4 < J_SEARCH;
       ofs += (uint32_t)sizeof(gcref)) {
    uint32_t n = AT(const uint32_t, g, ofs + PENALTY_NEXT);
    if (n >= PENALTIES || !has_entries(g, ofs, n) ||
	find_entry(g, ofs, n, first) == n || find_entry(g, ofs, n, second) == n)
      continue;
    found = ofs;
    count++;
  }
  return count == 1 ? found : 0;
}

static int reason_in(const char *g, uint32_t ofs, uint64_t pc)
{
  return AT(const uint16_t, entry(g, ofs, find_entry(g, ofs, PENALTIES, pc)),
	    PENALTY_REASON);
}

/* Whether a loop is given up for good by the next attempt, once its entry says
** that it has been tried often. LuaJIT's own count needs 100,000 turns. */
static bool is_given_up(lua_State *L, const char *g, uint32_t ofs,
			const char *pt, uint32_t pos)
{
  uint32_t i = find_entry(g, ofs, PENALTIES, pc_of(pt, pos));
  AT(uint16_t, entry(g, ofs, i), PENALTY_VALUE) = OFTEN;
  run(L);
  return op_at(pt, pos) == BC_IFORL;
}

static void show_penalties(const mp_vm *vm, lua_State *L)
{
  const char *a, *b, *g = vm->g;
  uint32_t i, j, ofs;
  a = load(L, never);
  b = load(L, off);
  if (!find_loop(a, &i) || !find_loop(b, &j)) return;
  op_funcv = op_at(a, 0);
  run(L);
  lua_insert(L, -2);
  run(L);
  if (op_at(a, i) != BC_FORL || op_at(b, j) != BC_FORL) return;
  ofs = find_ring(g, vm->curl, pc_of(a, i), pc_of(b, j));
  if (ofs == 0 || !is_given_up(L, g, ofs, a, i) || op_at(b, j) != BC_FORL)
    return;
  bytecode_reason = reason_in(g, ofs, pc_of(a, i));
  off_reason = reason_in(g, ofs, pc_of(b, j));
  if (bytecode_reason != off_reason) penalty_ofs = ofs;
}

/* Calls jit.off or jit.on for the function on top. Returns its flags then. */
static uint8_t switch_jit(lua_State *L, const char *what)
{
  lua_getglobal(L, "jit");
  lua_getfield(L, -1, what);
  lua_pushvalue(L, -3);
  lua_call(L, 1, 0);
  lua_pop(L, 1);
  return AT(const uint8_t, func_proto(lua_topointer(L, -1)), PT_FLAGS);
}

static void show_off(lua_State *L)
{
  uint8_t on = AT(const uint8_t, load(L, never), PT_FLAGS);
  bool set = switch_jit(L, "off") == (on | PROTO_NOJIT);
  off_known = !(on & PROTO_NOJIT) && set && switch_jit(L, "on") == on;
}

/* The trace that begins in a prototype's loop; or NULL. */
static const char *trace_in(mp_vm *vm, const char *pt)
{
  uint32_t i;
  if (!mp_trace_known(vm)) return NULL;
  for (i = 1; i < mp_trace_limit(vm); i++) {
    const char *T = mp_trace_get(vm, i);
    if (T != NULL && REF(const char *, T, TR_STARTPT) == pt &&
	AT(uint16_t, T, TR_ROOT) == 0)
      return T;
  }
  return NULL;
}

/* Whether one exit was taken three times, one once, and the others never. */
static bool counts_exits(const char *T)
{
  uint32_t i, n[4] = { 0 };
  if (T == NULL) return false;
  for (i = 0; i < AT(uint16_t, T, TR_NSNAP); i++) {
    uint8_t count = AT(const uint8_t, mp_snap_get(T, i), SNAP_COUNT);
    if (count > 3) return false;
    n[count]++;
  }
  return n[3] == 1 && n[1] == 1 && n[2] == 0;
}

/* Whether jit.util says the same about a trace. Its function is on the
** stack. */
static bool agrees(lua_State *L, const char *T)
{
  uint8_t type = AT(const uint8_t, T, TR_LINKTYPE);
  bool same;
  lua_pushvalue(L, -1);
  lua_pushinteger(L, AT(const uint16_t, T, TR_NUMBER));
  lua_call(L, 1, 1);
  if (!lua_istable(L, -1) || type >= LINKS) return false;
  lua_getfield(L, -1, "linktype");
  lua_getfield(L, -2, "link");
  lua_getfield(L, -3, "nexit");
  same = lua_isstring(L, -3) && strcmp(lua_tostring(L, -3), links[type]) == 0 &&
	 lua_tointeger(L, -2) == AT(const uint16_t, T, TR_LINK) &&
	 lua_tointeger(L, -1) == AT(const uint16_t, T, TR_NSNAP);
  lua_pop(L, 4);
  return same;
}

/* Whether some trace is a side trace of that one, and its exit says so. */
static bool has_side(const mp_vm *vm, const char *R)
{
  uint32_t i, n = R != NULL ? AT(const uint16_t, R, TR_NUMBER) : 0;
  for (i = 1; n != 0 && i < mp_trace_limit(vm); i++) {
    const char *T = mp_trace_get(vm, i), *ir;
    uint32_t exit;
    if (T == NULL || AT(const uint16_t, T, TR_ROOT) != n) continue;
    ir = AT(const char *, T, TR_IR) + (size_t)TR_INS0 * IR_SIZE;
    exit = AT(const uint16_t, ir, IR_OP2);
    return AT(const uint16_t, ir, IR_OP1) == n &&
	   exit < AT(const uint16_t, R, TR_NSNAP) &&
	   AT(const uint8_t, mp_snap_get(R, exit), SNAP_COUNT) == SNAP_LINKED;
  }
  return false;
}

static void show_traces(mp_vm *vm, lua_State *L)
{
  const char *a = load(L, exits), *b = load(L, side);
  uint32_t i;
  run(L);
  lua_insert(L, -2);
  run(L);
  if (!counts_exits(trace_in(vm, a)) || !has_side(vm, trace_in(vm, b))) return;
  lua_getglobal(L, "require");
  lua_pushliteral(L, "jit.util");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "traceinfo");
  for (i = 1; i < mp_trace_limit(vm); i++) {
    const char *T = mp_trace_get(vm, i);
    if (T != NULL && !agrees(L, T)) return;
  }
  traces_known = true;
}

/* Shows the operations of the compiler's instructions. */
static void show_escapes(mp_vm *vm, lua_State *L)
{
  load(L, mp_escape_program);
  lua_call(L, 0, 1);
  run(L);
  mp_escape_learn(trace_in(vm, func_proto(lua_topointer(L, -1))));
}

/* A value that nothing else has, and that is not rounded: sizes of areas become
** multiples of a page's. */
#define UNLIKELY(i)	(7040 + 64 * (i))

static uint32_t find_value(const char *g, uint32_t from, int32_t value)
{
  uint32_t ofs, found = 0, n = 0;
  for (ofs = from; ofs < J_SEARCH; ofs += 4)
    if (AT(const int32_t, g, ofs) == value) { found = ofs; n++; }
  return n == 1 ? found : 0;
}

static void show_params(const mp_vm *vm, lua_State *L)
{
  char text[32];
  int i;
  lua_getglobal(L, "jit");
  lua_getfield(L, -1, "opt");
  lua_getfield(L, -1, "start");
  for (i = 0; i < MP_JIT_PARAMS; i++) {
    lua_pushvalue(L, -1);
    snprintf(text, sizeof(text), "%s=%d", params[i], UNLIKELY(i));
    lua_pushstring(L, text);
    if (lua_pcall(L, 1, 0, 0) == 0)
      param_ofs[i] = find_value(vm->g, vm->curl, UNLIKELY(i));
    else
      lua_pop(L, 1);
  }
}

static int prove(lua_State *L)
{
  mp_vm_prove(lua_touserdata(L, 1), L, prove);
  return 0;
}

static int show(lua_State *L)
{
  showing *s = lua_touserdata(L, 1);
  mp_own_open(L, &s->ffi_half_open);
  lua_pushcfunction(L, prove);
  lua_pushlightuserdata(L, &s->vm);
  lua_call(L, 1, 0);
  if (!s->vm.proved) return 0;
  show_penalties(&s->vm, L);
  show_off(L);
  show_traces(&s->vm, L);
  if (traces_known) show_escapes(&s->vm, L);
  show_params(&s->vm, L);
  return 0;
}

static void learn(void)
{
  lua_State *L = luaL_newstate();
  showing s;
  if (L == NULL) return;
  memset(&s, 0, sizeof(s));
  lua_cpcall(L, show, &s);
  mp_own_close(L, s.ffi_half_open);
}

void mp_jitstate_learn(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, learn);
}

/* -- Reading ------------------------------------------------------------- */

const char *mp_jitstate_param(const mp_vm *vm, int i, int32_t *value)
{
  if (param_ofs[i] == 0) return NULL;
  *value = AT(int32_t, vm->g, param_ofs[i]);
  return params[i];
}

static void read_table(const mp_vm *vm, mp_penalty list[MP_PENALTIES])
{
  uint32_t i;
  memset(list, 0, MP_PENALTIES * sizeof(*list));
  for (i = 0; penalty_ofs != 0 && i < PENALTIES; i++) {
    const char *e = entry(vm->g, penalty_ofs, i);
    list[i].pc = AT(const gcref, e, PENALTY_PC);
    list[i].value = AT(const uint16_t, e, PENALTY_VALUE);
    list[i].reason = AT(const uint16_t, e, PENALTY_REASON);
  }
}

static bool is_dead(const mp_penalties *p, const mp_penalty *e)
{
  uint32_t i;
  for (i = 0; i < MP_PENALTIES; i++)
    if (p->dead[i].pc == e->pc && p->dead[i].value == e->value &&
	p->dead[i].reason == e->reason)
      return true;
  return false;
}

void mp_jitstate_read(const mp_vm *vm, mp_penalties *p)
{
  uint32_t i;
  read_table(vm, p->list);
  p->low = UINT64_MAX;
  p->high = 0;
  for (i = 0; i < MP_PENALTIES; i++) {
    uint64_t pc = p->list[i].pc;
    if (pc != 0 && pc < p->low) p->low = pc;
    if (pc > p->high) p->high = pc;
  }
}

void mp_jitstate_read_alive(const mp_vm *vm, const mp_penalties *p,
			    mp_penalty list[MP_PENALTIES])
{
  uint32_t i;
  read_table(vm, list);
  for (i = 0; i < MP_PENALTIES; i++)
    if (list[i].pc != 0 && is_dead(p, &list[i])) list[i].pc = 0;
}

static bool lies_in(uint64_t pc, const void *block, size_t size)
{
  return pc - (uint64_t)(uintptr_t)block < size;
}

void mp_jitstate_freed(const mp_vm *vm, mp_penalties *p, const void *block,
		       size_t size)
{
  mp_penalty now[MP_PENALTIES];
  uint64_t from = (uint64_t)(uintptr_t)block;
  uint32_t i;
  if (from <= p->high && from + size > p->low)  /* Seldom. */
    for (i = 0; i < MP_PENALTIES; i++)
      if (lies_in(p->list[i].pc, block, size)) p->list[i].pc = 0;
  if (!p->live) return;
  read_table(vm, now);
  for (i = 0; i < MP_PENALTIES; i++)
    if (now[i].pc != 0 && lies_in(now[i].pc, block, size))
      p->dead[p->ndead++ % MP_PENALTIES] = now[i];
}

/* The exits without a side trace. */
static void read_exits(const char *T, mp_jittrace *t)
{
  uint32_t i;
  for (i = 0; i < t->exits; i++) {
    uint8_t n = AT(const uint8_t, mp_snap_get(T, i), SNAP_COUNT);
    if (n == SNAP_LINKED) continue;
    t->taken += n;
    if (n <= t->times) continue;
    t->worst = i;
    t->times = n;
  }
}

bool mp_jitstate_trace(mp_vm *vm, uint32_t number, mp_jittrace *t)
{
  const char *T, *ir, *pt;
  uint8_t type;
  memset(t, 0, sizeof(*t));
  if (!traces_known || !mp_trace_known(vm)) return false;
  T = mp_trace_get(vm, number);
  if (T == NULL || AT(uint16_t, T, TR_NUMBER) != number) return false;
  pt = REF(const char *, T, TR_STARTPT);
  if (pt == NULL || obj_gct(pt) != GCT_PROTO) return false;
  type = AT(uint8_t, T, TR_LINKTYPE);
  ir = AT(const char *, T, TR_IR) + (size_t)TR_INS0 * IR_SIZE;
  t->number = number;
  t->root = AT(uint16_t, T, TR_ROOT);
  if (t->root != 0) {
    t->parent = AT(const uint16_t, ir, IR_OP1);
    t->exit = AT(const uint16_t, ir, IR_OP2);
  }
  t->link = AT(uint16_t, T, TR_LINK);
  t->ends = type < LINKS ? links[type] : NULL;
  t->proto = pt;
  if (!mp_jitstate_pos(pt, AT(gcref, T, TR_STARTPC), &t->pos)) t->pos = 0;
  t->instructions = AT(uint32_t, T, TR_NINS) - TR_INS0;
  t->bytes = AT(uint32_t, T, TR_SZMCODE);
  t->exits = AT(uint16_t, T, TR_NSNAP);
  read_exits(T, t);
  return true;
}

bool mp_jitstate_alive(const char *pt)
{
  _Alignas(8) char head[PT_BC];
  uint64_t size;
  if (!mp_peek(head, pt, sizeof(head)) || obj_gct(head) != GCT_PROTO)
    return false;
  size = AT(uint32_t, head, PT_SIZE);
  return (uint64_t)AT(uint32_t, head, PT_SIZEBC) * BC_SIZE + PT_BC <= size &&
	 mp_readable(pt + size - 1) &&
	 mp_readable(REF(const char *, head, PT_CHUNKNAME));
}

int mp_jitstate_line(const char *pt, uint32_t pos)
{
  const char *info = REF(const char *, pt, PT_LINEINFO);
  uint32_t first = AT(uint32_t, pt, PT_FIRSTLINE);
  uint32_t lines = AT(uint32_t, pt, PT_NUMLINE);
  if (info == NULL || pos >= AT(uint32_t, pt, PT_SIZEBC)) return 0;
  if (pos-- == 0) return (int)first;
  if (lines < 256) return (int)(first + ((const uint8_t *)info)[pos]);
  if (lines < 65536)
    return (int)(first + AT(const uint16_t, info, (size_t)pos * 2));
  return (int)(first + AT(const uint32_t, info, (size_t)pos * 4));
}

bool mp_jitstate_pos(const char *pt, uint64_t pc, uint32_t *pos)
{
  uint64_t ofs = pc - pc_of(pt, 0);
  if (ofs % BC_SIZE != 0 ||
      ofs / BC_SIZE >= (uint64_t)AT(uint32_t, pt, PT_SIZEBC))
    return false;
  *pos = (uint32_t)(ofs / BC_SIZE);
  return true;
}

bool mp_jitstate_starts(const char *pt, uint32_t pos)
{
  uint8_t op = op_at(pt, pos);
  return op == BC_ITERC || op == BC_ITERN ||
	 (op >= BC_FORL && op <= BC_JLOOP) ||
	 (op >= op_funcv + FUNCF_V && op <= op_funcv + JFUNCV_V);
}

bool mp_jitstate_off(const char *pt)
{
  return off_known && (AT(const uint8_t, pt, PT_FLAGS) & PROTO_NOJIT);
}

bool mp_jitstate_blacklisted(const char *pt, uint32_t *pos, bool *loop)
{
  if (penalty_ofs == 0) return false;
  for (; *pos < AT(uint32_t, pt, PT_SIZEBC); ++*pos) {
    uint8_t op = op_at(pt, *pos);
    *loop = op == BC_IFORL || op == BC_IITERL || op == BC_ILOOP;
    if (*loop || op == op_funcv + IFUNCF_V || op == op_funcv + IFUNCV_V)
      return true;
  }
  return false;
}

#endif

bool mp_jitstate_penalties(void) { return penalty_ofs != 0; }
bool mp_jitstate_traces(void) { return traces_known; }

void mp_jitstate_reasons(int *bytecode, int *off_for)
{
  *bytecode = bytecode_reason;
  *off_for = off_reason;
}
