/* SPDX-License-Identifier: MIT */
/*
** See vm/parked.h.
*/
#include "config.h"

#include <string.h>

#include "vm/frame.h"
#include "vm/layout.h"
#include "vm/parked.h"
#include "vm/peek.h"
#include "vm/trace.h"

#ifdef MP_LAYOUT

#define WINDOW	512		/* Slots that are read at once. */
#define WINDOWS	8		/* Of one stack, at most. */

typedef struct reading {
  _Alignas(8) char thread[L_SIZE];  /* The coroutine. */
  slot words[WINDOW];		/* Slots of its stack: */
  const slot *low, *high;	/* those from here to before there. */
  int windows;
} reading;

/* -- Reading -------------------------------------------------------------- */

/* Garbage may refer to code that was freed before it. */
static bool is_garbage(const mp_vm *vm, const void *thread)
{
  uint8_t marked = AT(uint8_t, thread, OBJ_MARKED) & OBJ_WHITES, white;
  return !mp_peek(&white, vm->alloc + G_WHITE, 1) ||
	 (marked & ~(unsigned)white & OBJ_WHITES) != 0;
}

/* The coroutine that runs, or has run last. */
static const lua_State *running(const mp_vm *vm)
{
  gcref r = AT(volatile gcref, vm->g, vm->curl);
  return (const lua_State *)(uintptr_t)r;
}

static bool read_thread(const mp_vm *vm, const void *L, char *thread)
{
  return L != NULL && mp_peek(thread, L, L_SIZE) &&
	 obj_gct(thread) == GCT_THREAD &&
	 REF(char *, thread, L_GLREF) == vm->g;
}

/* Whether one of its functions has been called from C, and has not returned. */
static bool is_entered(const char *thread)
{
  return AT(void *, thread, L_CFRAME) != NULL;
}

static bool has_yielded(const char *thread)
{
  return AT(uint8_t, thread, L_STATUS) == LUA_YIELD && !is_entered(thread);
}

#define C_STACK	((size_t)8 << 20)	/* Bytes, at most. */

/* Whether two places are on one C stack: nothing between them is guarded, or is
** not there. */
static bool is_one_stack(uintptr_t a, uintptr_t b)
{
  uintptr_t low = a < b ? a : b, n = a < b ? b - a : a - b;
  return n < C_STACK && mp_readable_all((const void *)low, n + 1);
}

/* Whether the C code that this coroutine has called has gone on on another C
** stack: not that of the coroutine that runs, or if none does, that of the
** thread that sleeps. One that has resumed another is on the same. */
static bool has_left(const mp_vm *vm, const void *L, const char *thread,
		     uintptr_t sp)
{
  char now[L_SIZE];
  const lua_State *other = running(vm);
  uintptr_t cf = (uintptr_t)CF_RAW(AT(void *, thread, L_CFRAME));
  if (AT(uint8_t, thread, L_STATUS) != 0 || cf == 0 || L == other) return false;
  if (read_thread(vm, other, now) && is_entered(now))
    sp = (uintptr_t)CF_RAW(AT(void *, now, L_CFRAME));
  return sp != 0 && !is_one_stack(sp, cf) && L != running(vm);
}

/* Reads the slots up to that one. */
static bool move_window(reading *r, const slot *p)
{
  const slot *stack = REF(const slot *, r->thread, L_STACK);
  size_t n = (size_t)(p - stack) + 1;
  if (n > WINDOW) n = WINDOW;
  if (r->windows++ == WINDOWS || !mp_peek(r->words, p + 1 - n, n * 8))
    return false;
  r->low = p + 1 - n;
  r->high = p + 1;
  return true;
}

static bool get(reading *r, const slot *p, slot *v)
{
  if (p < REF(const slot *, r->thread, L_STACK)) return false;
  if ((p < r->low || p >= r->high) && !move_window(r, p)) return false;
  *v = r->words[p - r->low];
  return true;
}

/* The function of a frame. */
static bool read_function(const char *object, mp_parkedframe *fr)
{
  uint64_t fn[FUNC_CUPVALUES / 8];
  if (!mp_peek(fn, object, sizeof(fn)) || obj_gct(fn) != GCT_FUNC)
    return false;
  fr->ffid = AT(uint8_t, fn, FUNC_FFID);
  fr->code = fr->ffid != 0 ? AT(const void *, fn, FUNC_C) :
	     REF(const char *, fn, FUNC_PC) - PT_BC;
  return true;
}

/* The distance to the frame below. */
static bool read_distance(mp_parkedframe *fr)
{
  uint8_t a;
  if (LINK_ISLUA(fr->link)) {
    const char *pc = (const char *)(uintptr_t)fr->link;
    if (!mp_peek(&a, pc - BC_SIZE + BC_A, 1)) return false;
    fr->below = FRAME_SLOTS + a;
    return true;
  }
  if (LINK_DELTA(fr->link) > UINT32_MAX) return false;
  fr->below = (uint32_t)(LINK_DELTA(fr->link) / sizeof(slot));
  return fr->below >= FRAME_SLOTS;
}

static bool read_frame(reading *r, const slot *f, mp_parkedframe *fr)
{
  slot words[1 - FRAME_CONT], *w = words - FRAME_CONT;
  int i;
  memset(fr, 0, sizeof(*fr));
  memset(words, 0, sizeof(words));
  for (i = 0; i > -FRAME_SLOTS; i--)
    if (!get(r, f + i, &w[i])) return false;
  fr->link = frame_link(w);
  if (LINK_ISCONT(fr->link)) {
    for (; i >= FRAME_CONT; i--)
      if (!get(r, f + i, &w[i])) return false;
    fr->contpc = frame_contpc(w);
    fr->cont = frame_cont(w);
  }
  return read_function(frame_object(w), fr) && read_distance(fr);
}

static bool read_frames(reading *r, mp_parked *p)
{
  const slot *bottom = frame_bottom(r->thread);
  const slot *f = AT(const slot *, r->thread, L_BASE) - 1;
  uint32_t slots = 2 * FRAME_SLOTS;
  p->n = 0;
  p->cut = false;
  while (f > bottom) {
    mp_parkedframe fr;
    if (!read_frame(r, f, &fr)) return false;
    slots += fr.below;
    p->cut = p->n == MP_PARKED_FRAMES || slots > MP_PARKED_SLOTS;
    if (p->cut) return p->n > 0;
    p->frames[p->n++] = fr;
    if (fr.below > (size_t)(f - bottom)) return false;
    f -= fr.below;
  }
  return p->n > 0 && f == bottom;
}

/* Whether the coroutine and the part of its stack that was read last are as
** they were. */
static bool is_same(const mp_vm *vm, const void *L, reading *r)
{
  char again[L_SIZE];
  slot words[WINDOW];
  size_t n = (size_t)(r->high - r->low);
  if (!read_thread(vm, L, again) || is_garbage(vm, again)) return false;
  return AT(uint8_t, again, L_STATUS) == AT(uint8_t, r->thread, L_STATUS) &&
	 AT(void *, again, L_CFRAME) == AT(void *, r->thread, L_CFRAME) &&
	 memcmp(again + L_GLREF, r->thread + L_GLREF,
		L_OPENUPVAL - L_GLREF) == 0 &&
	 mp_peek(words, r->low, n * sizeof(slot)) &&
	 memcmp(words, r->words, n * sizeof(slot)) == 0;
}

bool mp_parked_inc(const mp_parked *p)
{
  return p->n > 0 && p->frames[0].ffid == FFID_C;
}

bool mp_parked_read(const mp_vm *vm, const lua_State *L, uintptr_t sp,
		    mp_parked *p)
{
  reading r;
  bool yielded;
  r.low = r.high = NULL;
  r.windows = 0;
  p->at = (mp_parkedat){ 0 };
  if (!read_thread(vm, L, r.thread) || is_garbage(vm, r.thread)) return false;
  yielded = has_yielded(r.thread);
  if (!yielded && !has_left(vm, L, r.thread, sp)) return false;
  return read_frames(&r, p) && (yielded || mp_parked_inc(p)) &&
	 is_same(vm, L, &r);
}

/* -- One that runs -------------------------------------------------------- */

static const lua_State *read_running(const mp_vm *vm, char *thread)
{
  const lua_State *L = running(vm);
  return read_thread(vm, L, thread) && is_entered(thread) ? L : NULL;
}

bool mp_parked_ison(const lua_State *L, uintptr_t sp)
{
  char thread[L_SIZE];
  return mp_peek(thread, L, L_SIZE) &&
	 is_one_stack(sp, (uintptr_t)CF_RAW(AT(void *, thread, L_CFRAME)));
}

/* The address to which the trace's call of a C function returns; 0: not
** known. */
static uint64_t read_return(mp_vm *vm, const char *thread, uint32_t number)
{
  const char *T;
  const uintptr_t *ret;
  _Alignas(8) char head[TR_MINSIZE];
  uintptr_t pc = 0;
  if (!mp_trace_peek(vm, number, &T) || !mp_peek(head, T, sizeof(head)) ||
      obj_gct(head) != GCT_TRACE)
    return 0;
  ret = mp_trace_return((lua_State *)(size_t)thread, head);
  return ret != NULL && mp_peek(&pc, ret, sizeof(pc)) &&
	 mp_trace_has(head, pc) ? pc : 0;
}

static uint64_t read_pc(const char *thread)
{
  char cframe[CF_SIZE];
  const char *cf = CF_RAW(AT(void *, thread, L_CFRAME));
  return mp_peek(cframe, cf, sizeof(cframe)) ? mp_frame_toppc(cframe) : 0;
}

const lua_State *mp_parked_running(mp_vm *vm, mp_parked *p)
{
  reading r;
  const lua_State *L = read_running(vm, r.thread);
  slot *base = mp_vm_jitbase(vm);
  int32_t st = mp_vm_state(vm);
  r.low = r.high = NULL;
  r.windows = 0;
  p->n = 0;
  p->at = (mp_parkedat){ .compiled = base != NULL };
  if (L == NULL) return NULL;
  if (base != NULL) {
    AT(slot *, r.thread, L_BASE) = base;
    p->at.trace = st > 0 ? (uint32_t)st : 0;
    if (st > 0) p->at.pc = read_return(vm, r.thread, p->at.trace);
  } else {
    p->at.pc = read_pc(r.thread);
  }
  if (!read_frames(&r, p)) p->n = 0;
  return L;
}

/* Lua counts from 1. */
bool mp_parked_zone(const void *zonetable)
{
  _Alignas(8) char table[TAB_ASIZE + sizeof(uint32_t)];
  slot first[2];
  size_t size;
  const slot *array;
  if (zonetable == NULL || !mp_peek(table, zonetable, sizeof(table)))
    return false;
  array = mp_vm_array(table, &size);
  return size >= sizeof(first) && mp_peek(first, array, sizeof(first)) &&
	 !IS_NIL(first[1]);
}

/* -- Showing -------------------------------------------------------------- */

static slot made_up(uint64_t *fn, const mp_parkedframe *fr)
{
  memset(fn, 0, 6 * sizeof(*fn));
  AT(uint8_t, fn, OBJ_GCT) = GCT_FUNC;
  AT(uint8_t, fn, FUNC_FFID) = (uint8_t)fr->ffid;
  if (fr->ffid != 0) AT(const void *, fn, FUNC_C) = fr->code;
  else SET_REF(fn, FUNC_PC, (const char *)fr->code + PT_BC);
  return MKFUNC(fn);
}

/* Where the top function is. */
static void show_place(mp_parkedview *v, mp_vm *vm, const mp_parkedat *at,
		       mp_where *w)
{
  SET_REF(v->cframe, CF_L, v->thread);
  AT(gcref, v->cframe, CF_PC) = (gcref)at->pc;
  w->pc = at->pc;
  if (at->pc == 0 || at->compiled)
    SET_REF(v->cframe, CF_PC, v->thread);  /* As the VM says "none". */
  if (!at->compiled) return;
  if (at->pc != 0 && mp_trace_known(vm))
    w->trace = mp_trace_get(vm, at->trace);
  if (w->trace != NULL && !mp_trace_has(w->trace, at->pc)) w->trace = NULL;
  w->lost = w->trace == NULL;
}

void mp_parked_show(mp_parkedview *v, mp_vm *vm, const mp_parkedframe *f,
		    uint32_t n, const mp_parkedat *place, mp_where *w)
{
  slot *at = v->stack + FRAME_SLOTS - 1;
  uint32_t i;
  memset(v, 0, sizeof(*v));
  AT(uint8_t, v->thread, OBJ_GCT) = GCT_THREAD;
  AT(uint8_t, v->thread, FUNC_FFID) = FFID_C;
  SET_REF(v->thread, L_GLREF, vm->g);
  AT(void *, v->thread, L_CFRAME) = v->cframe;
  SET_REF(v->thread, L_STACK, v->stack);
  SET_REF(v->thread, L_MAXSTACK, v->stack + MP_PARKED_SLOTS);
  v->stack[0] = MKTAG(TAGTHREAD, v->thread);
  for (i = n; i-- > 0;) {
    at += f[i].below;
    set_link(at, f[i].link);
    set_func(at, made_up(v->funcs[i], &f[i]));
    if (LINK_ISCONT(f[i].link)) set_cont(at, f[i].cont, f[i].contpc);
  }
  AT(slot *, v->thread, L_BASE) = AT(slot *, v->thread, L_TOP) = at + 1;
  *w = (mp_where){ .L = (lua_State *)v->thread, .base = at + 1 };
  show_place(v, vm, place, w);
}

/* -- The proof ------------------------------------------------------------ */

/* Pushes the builtin, if the program has not replaced it. A C function that
** yields, or an error, would end a hook that is under way: this does not. */
static bool push_yield(lua_State *L)
{
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  if (lua_istable(L, -1)) {
    lua_pushliteral(L, "coroutine");
    lua_rawget(L, -2);
    lua_replace(L, 1);
  }
  if (lua_istable(L, -1)) {
    lua_pushliteral(L, "yield");
    lua_rawget(L, -2);
    lua_replace(L, 1);
  }
  lua_settop(L, 1);
  return lua_iscfunction(L, 1) &&
	 AT(const uint8_t, lua_topointer(L, 1), FUNC_FFID) > FFID_C;
}

bool mp_parked_prove(const mp_vm *vm, lua_State *L)
{
  lua_State *co = lua_newthread(L);
  mp_parked p;
  bool ok = AT(uint8_t, co, FUNC_FFID) == FFID_C &&
	    AT(uint8_t, co, L_STATUS) == 0 && !mp_parked_read(vm, co, 0, &p);
  if (ok && push_yield(co))
    ok = lua_resume(co, 0) == LUA_YIELD && mp_parked_read(vm, co, 0, &p) &&
	 p.n == 1 && !p.cut && p.frames[0].ffid > FFID_C &&
	 lua_resume(co, 0) == 0 && !mp_parked_read(vm, co, 0, &p);
  lua_pop(L, 1);
  return ok;
}

#endif
