/*
** What LuaJIT does not tell through its API. See vm/vm.h.
**
** The layout is in vm/layout.h.
*/
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include "vm/layout.h"
#include "data/map.h"
#include "vm/vm.h"

#include "lauxlib.h"
#include "luajit.h"

#ifdef MP_LAYOUT

/* Copies memory that may not be there: the kernel looks for us. It is asked
** without write(), which AddressSanitizer would take for a mistake. */
__attribute__((noinline))
static bool peek(void *to, const void *from, size_t n)
{
  int fd[2], saved = errno;
  bool ok = pipe(fd) == 0;
  if (ok) {
    ok = syscall(SYS_write, fd[1], from, n) == (long)n &&
	 read(fd[0], to, n) == (ssize_t)n;
    close(fd[0]);
    close(fd[1]);
  }
  errno = saved;
  return ok;
}

bool mp_vm_readable(const void *p)
{
  char c;
  return peek(&c, p, 1);
}

/* -- The running thread and the VM state --------------------------------- */

static int32_t vm_state(const mp_vm *vm)
{
  return AT(volatile int32_t, vm->g, vm->vmstate);
}

static int state_letter(const mp_vm *vm)
{
  int32_t st = vm_state(vm);
  return st >= 0 || st == VM_EXIT ? 'N' : st == VM_INTERP ? 'I' : st == VM_C ? 'C' :
	 st == VM_GC ? 'G' : 'J';
}

bool mp_vm_ontrace(const mp_vm *vm)
{
  return AT(void *, vm->g, vm->curl + 8) != NULL;
}

bool mp_vm_collecting(const mp_vm *vm) { return vm_state(vm) == VM_GC; }

static lua_State *running_thread(mp_vm *vm)
{
  char *L = AT(char *, vm->g, vm->curl), *cf;
  if (L == NULL || ((uintptr_t)L & 7) || obj_gct(L) != GCT_THREAD ||
      AT(char *, L, L_GLREF) != vm->g)
    return NULL;
  /* A thread that is not running: C code resumed it and goes on by itself. */
  cf = CF_RAW(AT(void *, L, L_CFRAME));
  if (cf == NULL) return NULL;
  if (L == vm->dead) {  /* Or a new one, in its place, that runs. */
    char *here = __builtin_frame_address(0);
    if (cf < here || cf > here + (8 << 20) || AT(char *, cf, CF_L) != L)
      return NULL;
    vm->dead = NULL;
  }
  return (lua_State *)L;
}

/* The compiler works inside a protected C call: that C frame has no result
** count, but an offset into the stack. While a trace is recorded, the VM state
** says so for what the interpreter executes, too. */
static bool is_compiling(int32_t st, const char *cf)
{
  return (st == VM_INTERP || st < VM_EXIT) && AT(int32_t, cf, CF_NRES) < 0;
}

/* The C frame that the top function runs in. */
static const char *top_cframe(lua_State *L, bool compiling)
{
  const char *cf = CF_RAW(AT(void *, L, L_CFRAME));
  return compiling ? CF_RAW(AT(void *, cf, CF_PREV)) : cf;
}

/* -- Frames -------------------------------------------------------------- */

static bool proto_has(const char *pt, uint64_t pc)
{
  uint64_t ofs = pc - (uint64_t)(uintptr_t)(pt + PT_BC) - 4;
  return ofs < (uint64_t)AT(uint32_t, pt, PT_SIZEBC) * 4 && (ofs & 3) == 0;
}

static bool func_valid(slot v)
{
  const char *fn = PTR(v);
  if (TAG(v) != TAGFUNC || ((uintptr_t)fn & 7) || obj_gct(fn) != GCT_FUNC)
    return false;
  if (AT(uint8_t, fn, FUNC_FFID) != 0) return true;
  return obj_gct(func_proto(fn)) == GCT_PROTO;
}

uint64_t mp_vm_cframe_pc(lua_State *L, slot *f, slot *nextframe)
{
  const char *cf = CF_RAW(AT(void *, L, L_CFRAME));
  slot *stack = AT(slot *, L, L_STACK);
  while (cf != NULL && f > stack + 1) {
    while (AT(int32_t, cf, CF_NRES) < 0) {
      if ((char *)f >= (char *)stack - AT(int32_t, cf, CF_NRES)) break;
      cf = CF_RAW(AT(void *, cf, CF_PREV));
      if (cf == NULL) return 0;
    }
    if (f < nextframe) return AT(uint64_t, cf, CF_PC);
    if (LINK_ISC(*f) || (LINK_ISCONT(*f) && f[-3] == CONT_CALLBACK))
      cf = CF_RAW(AT(void *, cf, CF_PREV));
    f = frame_prev(f);
  }
  return 0;
}

static uint64_t top_pc(const char *cf)
{
  if (cf == NULL || AT(void *, cf, CF_PC) == AT(void *, cf, CF_L)) return 0;
  return AT(uint64_t, cf, CF_PC);
}

/* PC of the function below the frame `next`, or of the top one (NULL). */
static uint64_t frame_pc(lua_State *L, slot *next)
{
  if (next == NULL) return top_pc(CF_RAW(AT(void *, L, L_CFRAME)));
  if (LINK_ISLUA(*next)) return *next;
  if (LINK_ISCONT(*next)) return next[-2];
  return mp_vm_cframe_pc(L, AT(slot *, L, L_BASE) - 1, next);
}

/* -- Where a thread is --------------------------------------------------- */

static const char *trace_get(const mp_vm *vm, uint32_t n)
{
  const char **traces = AT(const char **, vm->g, vm->traces);
  return n < AT(uint32_t, vm->g, vm->traces + 12) ? traces[n] : NULL;
}

static bool trace_has(const char *T, uint64_t pc)
{
  return pc - AT(uint64_t, T, TR_MCODE) <= AT(uint32_t, T, TR_SZMCODE);
}

/* Where the address is that a C function called by the trace returns to. */
static const uint64_t *trace_ret(lua_State *L, const char *T)
{
  const char *cf = CF_RAW(AT(void *, L, L_CFRAME));
  return &AT(const uint64_t, cf, -16 - (int)AT(uint16_t, T, TR_SPADJUST) - 8);
}

/* Looks for the trace array behind the global state: pointer, first free
** number, size; its entry for the running trace is a trace of that number
** whose machine code is being run. */
static void find_traces(mp_vm *vm, lua_State *L, uint32_t n)
{
  uint32_t ofs;
  for (ofs = vm->curl; ofs < J_SEARCH / 2; ofs += 8) {
    char **traces = AT(char **, vm->g, ofs);
    uint32_t nfree = AT(uint32_t, vm->g, ofs + 8);
    uint32_t size = AT(uint32_t, vm->g, ofs + 12);
    _Alignas(8) char head[TR_MINSIZE];
    const char *T;
    if (traces == NULL || ((uintptr_t)traces & 7) || (uintptr_t)traces >> 47 ||
	size <= n || size > 65536 || nfree > size)
      continue;
    if (!peek(&T, traces + n, sizeof(T)) || !peek(head, T, sizeof(head)))
      continue;
    if (obj_gct(head) == GCT_TRACE && AT(uint16_t, head, TR_NUMBER) == n &&
	trace_has(head, *trace_ret(L, head))) {
      vm->traces = ofs;
      return;
    }
  }
}

/* Unwinding the C stack from here: the innermost return into a trace. */
typedef struct unwound {
  const mp_vm *vm;
  const char *trace;
  uint64_t ret;
} unwound;

static _Unwind_Reason_Code unwind_step(struct _Unwind_Context *context,
				       void *data)
{
  unwound *u = data;
  uint32_t i, size = AT(uint32_t, u->vm->g, u->vm->traces + 12);
  u->ret = _Unwind_GetIP(context);
  for (i = 1; i < size; i++) {
    u->trace = trace_get(u->vm, i);
    if (u->trace != NULL && trace_has(u->trace, u->ret))
      return _URC_END_OF_STACK;
  }
  u->trace = NULL;
  return _URC_NO_REASON;
}

/* The trace whose machine code called the C function that we are in, and the
** address it will return to. While the collector runs, the trace's number is
** not at hand. */
static const char *running_trace(mp_vm *vm, lua_State *L, int32_t n,
				 uint64_t *ret)
{
  unwound u = { vm, NULL, 0 };
  if (n > 0 && vm->traces == 0) find_traces(vm, L, (uint32_t)n);
  if (vm->traces == 0) return NULL;
  if (n > 0) {
    const char *T = trace_get(vm, (uint32_t)n);
    if (T != NULL && trace_has(T, *ret = *trace_ret(L, T))) {
      vm->met = (mp_met_trace){ L, AT(void *, L, L_CFRAME), T, n,
				trace_ret(L, T) };
      return T;
    }
  }
  _Unwind_Backtrace(unwind_step, &u);
  *ret = u.ret;
  return u.trace;
}

/* Whether the trace that was met last is running still, or again, and in the
** same C frame. */
static inline bool same_trace(const mp_vm *vm, mp_where *w)
{
  const mp_met_trace *m = &vm->met;
  slot *jbase = AT(slot *, vm->g, vm->curl + 8);
  if (m->L == NULL || AT(lua_State *, vm->g, vm->curl) != m->L ||
      jbase == NULL || vm_state(vm) != m->number ||
      trace_get(vm, (uint32_t)m->number) != m->trace ||
      AT(void *, m->L, L_CFRAME) != m->cframe || !trace_has(m->trace, *m->ret))
    return false;
  w->L = m->L;
  w->trace = m->trace;
  w->snap = NULL;
  w->base = jbase;
  w->pc = *m->ret;
  w->lost = w->compiling = false;
  return jbase > AT(slot *, m->L, L_STACK) + 2;
}

void mp_vm_forget(mp_vm *vm)
{
  vm->met.L = NULL;
  mp_walk_forget(vm->walk);
}

static const char *trace_snap(const char *T, uint32_t i)
{
  return AT(const char *, T, TR_SNAP) + (size_t)i * SNAP_SIZE;
}

/* Last snapshot at or before an offset into the machine code. */
static const char *find_snap(const char *T, uint64_t ret)
{
  uint64_t ofs = ret - AT(uint64_t, T, TR_MCODE);
  uint32_t i = AT(uint16_t, T, TR_NSNAP);
  while (i-- > 0) {
    const char *snap = trace_snap(T, i);
    if (AT(uint16_t, snap, SNAP_MCOFS) <= ofs) return snap;
  }
  return NULL;
}

static const uint32_t *snap_entries(const char *T, const char *snap)
{
  return AT(const uint32_t *, T, TR_SNAPMAP) + AT(uint32_t, snap, SNAP_MAPOFS);
}

/* PC of a snapshot, and the offset of its base from the trace's. */
static uint64_t snap_pc(const char *T, const char *snap, uint32_t *baseofs)
{
  uint64_t pcbase;
  memcpy(&pcbase, snap_entries(T, snap) + AT(uint8_t, snap, SNAP_NENT), 8);
  *baseofs = (uint32_t)(pcbase & 0xff);
  return pcbase >> 8;
}

/* A trace is being left: its number and the exit's are two neighbouring
** words behind the trace array; the snapshot of that exit holds the PC that
** the VM has just saved. Objects that the compiler sank are allocated now. */
static __attribute__((noinline))
bool exit_snap(const mp_vm *vm, mp_where *w, uint64_t pc)
{
  uint32_t ofs;
  if (vm->traces == 0) return false;
  for (ofs = vm->traces + 16; ofs < J_SEARCH; ofs += 4) {
    uint32_t n = AT(uint32_t, vm->g, ofs), e = AT(uint32_t, vm->g, ofs + 4);
    const char *T;
    uint32_t baseofs;
    if (n == 0 || n > 65535 || (T = trace_get(vm, n)) == NULL) continue;
    if (e >= AT(uint16_t, T, TR_NSNAP)) continue;
    w->snap = trace_snap(T, e);
    if (pc - snap_pc(T, w->snap, &baseofs) <= 4) {
      w->trace = T;
      return true;
    }
  }
  w->snap = NULL;
  return false;
}

static bool where(mp_vm *vm, lua_State *L, mp_where *w)
{
  slot *jbase = AT(slot *, vm->g, vm->curl + 8);
  int32_t st = vm_state(vm);
  const char *cf = CF_RAW(AT(void *, L, L_CFRAME));
  w->L = L;
  w->trace = w->snap = NULL;
  w->lost = w->compiling = false;
  if (cf == NULL) return false;
  if (jbase != NULL) {
    w->base = jbase;
    w->trace = running_trace(vm, L, st, &w->pc);
    w->lost = w->trace == NULL;
  } else {
    w->base = AT(slot *, L, L_BASE);
    w->compiling = is_compiling(st, cf);
    w->pc = top_pc(top_cframe(L, w->compiling));
    if (st == VM_EXIT) w->lost = !exit_snap(vm, w, w->pc);
  }
  return w->base > AT(slot *, L, L_STACK) + 2;
}

/* The key of all that a stack depends on. */
static inline uint64_t key_of(const mp_vm *vm, const mp_where *w)
{
  slot *top = w->base - 1;
  uint64_t key = mp_walk_key(vm->walk, w->L, top);
  if (TAG(top[-1]) == TAGFUNC) key = mp_mix(key, func_id(PTR(top[-1])));
  return mp_mix(key, (w->pc + w->lost) ^ (uint64_t)(uintptr_t)w->trace << 16);
}

bool mp_vm_where(mp_vm *vm, lua_State *L, mp_where *w)
{
  if (!where(vm, L, w)) return false;
  mp_walk_collected(vm->walk);  /* Without a hook nobody tells. */
  w->key = key_of(vm, w);
  return true;
}

bool mp_vm_running(mp_vm *vm, mp_where *w, int *state)
{
  *state = 'N';
  if (!same_trace(vm, w)) {
    lua_State *L = running_thread(vm);
    *state = state_letter(vm);
    w->L = L;
    if (L == NULL || !where(vm, L, w)) return false;
  }
  w->key = key_of(vm, w);
  return true;
}

/* -- A stack to look at -------------------------------------------------- */

/* On a trace the frames above the trace's base are not on the Lua stack: the
** snapshot tells what they would be. They are laid out in a copy of the
** lower frames, under a thread and a C frame made up for the purpose: the
** program's own are never written to. One for the process: the caller holds
** a lock. */
#define VIEW_SLOTS	40000
#define VIEW_FUNCS	64

static struct {
  lua_State *L;			/* What to look at: a real thread, or `thread`. */
  uint64_t thread[L_SIZE / 8 + 4];
  _Alignas(16) uint64_t cframe[CF_SIZE / 8];
  uint64_t funcs[VIEW_FUNCS][6];  /* Stand-ins for functions not known. */
  int nfuncs;
  slot stack[VIEW_SLOTS];
} view;

/* A function of that prototype, enough for luaJIT_profile_dumpstack. */
static slot stand_in(const char *pt)
{
  uint64_t *fn = view.funcs[view.nfuncs];
  if (view.nfuncs >= VIEW_FUNCS) return 0;
  view.nfuncs++;
  memset(fn, 0, sizeof(view.funcs[0]));
  AT(uint8_t, fn, OBJ_GCT) = GCT_FUNC;
  AT(const char *, fn, FUNC_PC) = pt + PT_BC;
  return MKFUNC(fn);
}

/* Ops of constants, counted from IR_KPRI, the op of the constant nil. */
enum { K_GC = 2, K_PTR = 3, K_KPTR = 4, K_NUM = 6, K_INT64 = 7 };

/* Kind of a constant, as above; *v: its value if it is one of 64 bits. */
static int trace_const(const char *T, uint32_t ref, uint64_t *v)
{
  const char *ir = AT(const char *, T, TR_IR);
  int op = AT(uint8_t, ir, (size_t)ref * 8 + 5) -
	   AT(uint8_t, ir, (size_t)REF_NIL * 8 + 5);
  *v = AT(uint64_t, ir, (size_t)(ref + 1) * 8);
  return op;
}

/* The prototype among a trace's constants whose code contains pc. */
static const char *trace_proto(const char *T, uint64_t pc)
{
  const char *pt = AT(const char *, T, TR_STARTPT);
  uint32_t ref;
  if (pt != NULL && proto_has(pt, pc)) return pt;
  for (ref = AT(uint32_t, T, TR_NK); ref < REF_NIL - 2; ref++) {
    uint64_t v;
    int op = trace_const(T, ref, &v);
    if (op == K_GC) {
      const char *o = (const char *)(uintptr_t)v;
      pt = obj_gct(o) == GCT_PROTO ? o :
	   obj_gct(o) == GCT_FUNC ? func_proto(o) : NULL;
      if (pt != NULL && proto_has(pt, pc)) return pt;
    }
    if (op == K_GC || op == K_PTR || op == K_KPTR || op == K_NUM ||
	op == K_INT64)
      ref++;  /* The value takes the place of an instruction. */
  }
  return NULL;
}

/* The prototype whose code contains pc, if any trace knows it. */
static const char *find_proto(const mp_vm *vm, const char *T, uint64_t pc)
{
  const char *pt = trace_proto(T, pc);
  uint32_t i, size = AT(uint32_t, vm->g, vm->traces + 12);
  for (i = 1; pt == NULL && i < size; i++)
    if ((T = trace_get(vm, i)) != NULL) pt = trace_proto(T, pc);
  return pt;
}

/* Lowest slot that a walk of MP_DEPTH frames from here meets, and a little
** more: the walk looks at the frame below the last. */
static slot *lowest_slot(lua_State *L, slot *frame)
{
  slot *stack = AT(slot *, L, L_STACK);
  int n;
  for (n = 0; n < MP_DEPTH * 2 + 4 && frame > stack + 1; n++)
    frame = frame_prev(frame);
  return frame - 4 > stack ? frame - 4 : stack;
}

/* Makes the view a copy of a thread, with its C frame, and with that PC. */
static void view_thread(lua_State *L, const char *cf, uint64_t pc)
{
  memcpy(view.thread, L, L_SIZE);
  memcpy(view.cframe, cf, CF_SIZE);
  view.L = (lua_State *)view.thread;
  AT(void *, view.thread, L_CFRAME) = view.cframe;
  if (pc != 0) {
    AT(uint64_t, view.cframe, CF_PC) = pc;
  } else {  /* What the VM itself writes where there is no PC. */
    AT(uint64_t, view.cframe, CF_PC) = AT(uint64_t, view.cframe, CF_L);
  }
}

/* Copies the slots from `low` to below the frame at `base` into the view.
** Returns where slot number 0 of the stack would lie. */
static slot *view_stack(lua_State *L, slot *low, slot *base)
{
  slot *stack = AT(slot *, L, L_STACK), *vstack;
  if (base - low > VIEW_SLOTS - 600) return NULL;
  vstack = (slot *)((uintptr_t)view.stack - (uintptr_t)((low - stack) * 8));
  memcpy(view.stack, low, (size_t)((char *)base - (char *)low));
  memset(view.stack + (base - low), 0, 300 * sizeof(slot));
  AT(slot *, view.thread, L_STACK) = vstack;
  return vstack;
}

/* Lays the snapshot's frames over the view. `frame`: slot 0 of the trace. */
static void view_snapshot(const mp_where *w, slot *frame)
{
  const uint32_t *map = snap_entries(w->trace, w->snap);
  uint32_t i, nent = AT(uint8_t, w->snap, SNAP_NENT);
  slot *real = w->base - 2;
  for (i = 0; i < nent; i++) {
    uint32_t e = map[i], s = e >> 24;
    uint64_t v;
    int op = (e & 0xffff) < 0x8000 ? trace_const(w->trace, e & 0xffff, &v) : 0;
    if (e & ENT_NORESTORE) {
      if (s > 1) frame[s] = real[s];
    } else if (op == K_GC) {
      if (obj_gct((char *)(uintptr_t)v) == GCT_FUNC) frame[s] = MKFUNC(v);
    } else if (op == K_PTR || op == K_KPTR || op == K_NUM || op == K_INT64) {
      frame[s] = v;
    }
    /* The function below a link that is not listed is on the stack. */
    if ((e & ENT_FRAME) && s > 1 &&
	(i == 0 || map[i - 1] >> 24 != s - 1))
      frame[s - 1] = real[s - 1];
  }
}

/* Replaces functions that are not known, above the trace's base, by stand-ins
** of the prototype that contains the PC. False: a frame makes no sense. */
static bool view_functions(const mp_vm *vm, const mp_where *w, slot *f,
			   slot *lim, uint64_t pc)
{
  int n;
  for (n = 0; f >= lim && n < 256; n++) {
    uint64_t link = *f;
    bool ok = func_valid(f[-1]);
    const char *pt = ok ? func_proto(PTR(f[-1])) : NULL;
    if (f == lim && ok && pc == 0) return true;
    if (!ok || (pt != NULL && pc != 0 && !proto_has(pt, pc))) {
      pt = pc ? find_proto(vm, w->trace, pc) : NULL;
      if (pt == NULL || (f[-1] = stand_in(pt)) == 0) return false;
    }
    if (f == lim) return true;
    if (LINK_ISVARG(link)) {	/* The same function, once more. */
      slot *below = frame_prev(f);
      if (below < lim || !LINK_ISLUA(*below)) return below == lim;
      below[-1] = f[-1];
      f = below;
      link = *f;
    }
    if (LINK_ISLUA(link)) {
      pc = link;
      if (pc == 0 || find_proto(vm, w->trace, pc) == NULL) return false;
    } else {
      pc = LINK_ISCONT(link) ? f[-2] : 0;
    }
    f = frame_prev(f);
  }
  return false;
}

/* Prepares the view for a place on a trace. Where the trace's frames cannot be
** had, the view has the frames from the trace's base on. */
static bool view_trace(const mp_vm *vm, mp_where *w)
{
  slot *stack = AT(slot *, w->L, L_STACK);
  slot *low = lowest_slot(w->L, w->base - 1), *vstack, *frame;
  uint32_t baseofs = 0;
  uint64_t pc = 0;
  bool ok;
  if (w->snap == NULL && w->trace != NULL) w->snap = find_snap(w->trace, w->pc);
  if (w->snap != NULL) pc = snap_pc(w->trace, w->snap, &baseofs) + 4;
  view.nfuncs = 0;
  view_thread(w->L, top_cframe(w->L, false), pc);
  vstack = view_stack(w->L, low, w->base);
  if (vstack == NULL) return false;
  frame = vstack + (w->base - stack) - 2;
  if (w->snap != NULL) view_snapshot(w, frame);
  AT(slot *, view.thread, L_BASE) = frame + 2 + baseofs;
  AT(slot *, view.thread, L_TOP) = frame + 2 + baseofs;
  ok = w->snap != NULL &&
       view_functions(vm, w, frame + 1 + baseofs, frame + 1, pc);
  if (!ok) {  /* Only what is on the stack for certain. */
    memcpy(frame, w->base - 2, 2 * sizeof(slot));
    AT(slot *, view.thread, L_BASE) = frame + 2;
    AT(uint64_t, view.cframe, CF_PC) = AT(uint64_t, view.cframe, CF_L);
  }
  return true;
}

/* An instruction that the VM took over into a trace: patched loops. */
static bool pc_in_trace(const mp_vm *vm, uint64_t pc)
{
  uint32_t i, size;
  if (vm->traces == 0) return false;
  size = AT(uint32_t, vm->g, vm->traces + 12);
  for (i = 1; i < size; i++) {
    const char *T = trace_get(vm, i);
    if (T != NULL && (uint64_t)(uintptr_t)(T + TR_STARTINS) == pc - 4)
      return true;
  }
  return false;
}

/* Prepares the view. False: the stack cannot be read. */
static bool view_make(const mp_vm *vm, mp_where *w)
{
  const char *pt;
  slot fn = w->base[-2];
  if (!func_valid(fn)) return false;
  if (w->trace != NULL || w->lost) return view_trace(vm, w);
  view.L = w->L;
  pt = func_proto(PTR(fn));
  if (pt != NULL && !proto_has(pt, w->pc) && !pc_in_trace(vm, w->pc))
    view_thread(w->L, top_cframe(w->L, w->compiling), 0);
  else if (w->compiling)
    view_thread(w->L, top_cframe(w->L, true), w->pc);
  return true;
}

/* -- Verified frames ----------------------------------------------------- */

/* Verifies the frame at f and describes it. next: the frame above, or NULL. */
static bool frame_describe(const mp_vm *vm, slot *f, slot *next,
			   mp_vmframe *out)
{
  const char *fn = PTR(f[-1]);
  if (!func_valid(f[-1])) return false;
  out->proto = func_proto(fn);
  out->func = func_id(fn);
  out->pc = out->site = 0;
  out->called = false;
  if (out->proto == NULL) return true;
  out->pc = frame_pc(view.L, next);
  if (out->pc != 0 && !proto_has(out->proto, out->pc) &&
      !pc_in_trace(vm, out->pc))
    return false;
  return true;
}

int mp_vm_frames(const mp_vm *vm, mp_where *w, mp_vmframe *out, bool *more)
{
  slot *f, *next = NULL, *bot;
  bool varg = false;
  int n = 0;
  *more = false;
  if (!view_make(vm, w)) return -1;
  bot = AT(slot *, view.L, L_STACK) + 1;
  for (f = AT(slot *, view.L, L_BASE) - 1; f > bot; f = frame_prev(f)) {
    if (TAG(f[-1]) == TAGTHREAD) {
      /* A frame of the VM for errors: luaJIT_profile_dumpstack skips it if
      ** it names the thread that it looks at. */
      if (view.L != w->L) f[-1] = MKTHREAD(view.L);
    } else if (!varg) {
      mp_vmframe fr;
      if (!frame_describe(vm, f, next, &fr)) return -1;
      if (n > 0) {
	out[n - 1].site = fr.pc ^ (*next & 7) << 56;
	out[n - 1].called = LINK_ISLUA(*next);
      }
      if (n == MP_DEPTH) {
	*more = true;
	break;
      }
      out[n++] = fr;
    }
    varg = LINK_ISVARG(*f);
    next = f;
  }
  return n;
}

const char *mp_vm_dump(const mp_vm *vm, const mp_where *w, const char *fmt,
		       int depth, size_t *len)
{
  (void)vm; (void)w;
  return luaJIT_profile_dumpstack(view.L, fmt, depth, len);
}

const char *mp_vm_chunkname(const char *proto, size_t *len)
{
  const char *s = AT(const char *, proto, PT_CHUNKNAME);
  *len = AT(uint32_t, s, STR_LEN);
  return s + STR_DATA;
}

int mp_vm_firstline(const char *proto)
{
  return AT(int32_t, proto, PT_FIRSTLINE);
}

bool mp_vm_iscode(const void *block, size_t size)
{
  if (size < PT_BC) return false;
  switch (obj_gct(block)) {
  case GCT_PROTO:
    return AT(uint32_t, block, PT_SIZE) == size;
  case GCT_TRACE:
    return size >= TR_MINSIZE && AT(uint32_t, block, TR_NINS) >= 0x8000 &&
	   AT(uint32_t, block, TR_NK) <= 0x8000;
  default:
    return false;
  }
}

/* -- Proof --------------------------------------------------------------- */

/* The global state: it begins with the allocator and its data. */
static bool prove_global(mp_vm *vm, lua_State *L)
{
  void *ud, *head[2];
  lua_Alloc f = lua_getallocf(L, &ud);
  memcpy(&vm->g, (char *)L + L_GLREF, sizeof(vm->g));
  if (vm->g == NULL || !peek(head, vm->g, sizeof(head))) return false;
  return (void *)f == head[0] && ud == head[1];
}

/* The stack: our own frame lies where it should. */
static bool prove_stack(lua_State *L, lua_CFunction self)
{
  slot *base = AT(slot *, L, L_BASE), *stack = AT(slot *, L, L_STACK);
  slot fn;
  if (obj_gct(L) != GCT_THREAD || stack == NULL || base <= stack + 1 ||
      base > AT(slot *, L, L_TOP) ||
      AT(slot *, L, L_TOP) > AT(slot *, L, L_MAXSTACK) ||
      AT(slot *, L, L_TOP) - base != lua_gettop(L) ||
      !peek(&fn, base - 2, sizeof(fn)))
    return false;
  return TAG(fn) == TAGFUNC && obj_gct(PTR(fn)) == GCT_FUNC &&
	 AT(uint8_t, PTR(fn), FUNC_FFID) == 1 &&
	 AT(lua_CFunction, PTR(fn), FUNC_C) == self;
}

/* Notes which words of the global state equal the running thread. */
static int note_words(lua_State *L)
{
  uint8_t *seen = lua_touserdata(L, 1);
  const char *g = AT(const char *, L, L_GLREF);
  uint32_t i;
  for (i = 0; i < G_SEARCH / 8; i++)
    if (AT(lua_State *, g, (size_t)i * 8) != L) seen[i] = 0;
  return 0;
}

/* cur_L: the one word that equals a coroutine inside of it, another one
** inside of that, and this thread outside of both. */
static bool prove_thread(mp_vm *vm, lua_State *L)
{
  uint8_t seen[G_SEARCH / 8];
  uint32_t i, n = 0;
  int round;
  memset(seen, 1, sizeof(seen));
  for (round = 0; round < 2; round++) {
    lua_State *co = lua_newthread(L);
    lua_pushcfunction(co, note_words);
    lua_pushlightuserdata(co, seen);
    if (lua_resume(co, 1) != 0) return false;
    lua_pushcfunction(L, note_words);
    lua_pushlightuserdata(L, seen);
    lua_call(L, 1, 0);
  }
  lua_pop(L, 2);
  for (i = 0; i < G_SEARCH / 8; i++)
    if (seen[i]) { vm->curl = i * 8; n++; }
  return n == 1 && AT(void *, vm->g, vm->curl + 8) == NULL;
}

/* The main thread lies just before the global state; OpenResty's has two more
** words at its end. */
static const char *main_thread(const mp_vm *vm)
{
  const char *L;
  for (L = vm->g - L_SIZE; L >= vm->g - L_SIZE - 64; L -= 8)
    if (obj_gct(L) == GCT_THREAD && AT(char *, L, L_GLREF) == vm->g) return L;
  return NULL;
}

/* vmstate: the int 8 bytes before the link to the main thread. It says "C" in
** a C function. */
static bool prove_state(mp_vm *vm)
{
  const char *mainl = vm->mainl = main_thread(vm);
  uint32_t i, n = 0;
  if (mainl == NULL) return false;
  for (i = 48; i < vm->curl; i += 8)
    if (AT(const char *, vm->g, i) == mainl &&
	AT(int32_t, vm->g, i - 8) == VM_C) { vm->vmstate = i - 8; n++; }
  return n == 1;
}

/* The collector: its count of bytes and its current white. */
static bool prove_collector(mp_vm *vm, lua_State *L)
{
  size_t total = (size_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024 +
		 (size_t)lua_gc(L, LUA_GCCOUNTB, 0);
  uint8_t white = mp_vm_white(vm);
  lua_State *co = lua_newthread(L);
  bool ok = (white == 1 || white == 2) &&
	    (AT(uint8_t, co, OBJ_MARKED) & 3) == white &&
	    AT(lua_State *, vm->g, G_ROOT) == co;
  lua_pop(L, 1);
  return ok && *mp_vm_total(vm) >= total && *mp_vm_total(vm) - total < 4096;
}

/* Tables: the size of the array part, slot 0 included. */
static bool prove_table(lua_State *L)
{
  bool ok;
  lua_createtable(L, 11, 0);
  lua_createtable(L, 0, 4);
  ok = AT(uint32_t, lua_topointer(L, -2), TAB_ASIZE) == 12 &&
       AT(uint32_t, lua_topointer(L, -1), TAB_ASIZE) == 0;
  lua_pop(L, 2);
  return ok;
}

/* Functions and prototypes: one of known lines and name. */
static bool prove_proto(lua_State *L)
{
  static const char code[] = "\nreturn function()\n\nend";
  const char *pt, *name;
  size_t len;
  bool ok;
  slot v;
  if (luaL_loadbuffer(L, code, sizeof(code) - 1, "=mp") != 0) return false;
  lua_call(L, 0, 1);
  v = AT(slot *, L, L_TOP)[-1];
  ok = TAG(v) == TAGFUNC && func_valid(v);
  if (ok) {
    pt = func_proto(PTR(v));
    name = mp_vm_chunkname(pt, &len);
    ok = mp_vm_firstline(pt) == 2 && AT(int32_t, pt, PT_NUMLINE) == 2 &&
	 len == 3 && memcmp(name, "=mp", 3) == 0 &&
	 AT(uint32_t, pt, PT_SIZE) >=
	   PT_BC + 4 * AT(uint32_t, pt, PT_SIZEBC);
  }
  lua_pop(L, 1);
  return ok;
}

void mp_vm_prove(mp_vm *vm, lua_State *L, lua_CFunction self)
{
  memset(vm, 0, sizeof(*vm));
  if (!prove_global(vm, L))
    vm->why = "not a GC64 build of LuaJIT";
  else if (!prove_stack(L, self))
    vm->why = "the layout of stacks is not the known one";
  else if (!prove_thread(vm, L) || !prove_state(vm))
    vm->why = "the running thread could not be found";
  else if (!prove_collector(vm, L))
    vm->why = "the layout of the collector's state is not the known one";
  else if (!prove_table(L))
    vm->why = "the layout of tables is not the known one";
  else if (!prove_proto(L))
    vm->why = "the layout of functions is not the known one";
  else
    vm->proved = true;
}

#else

/* -- Other processors ---------------------------------------------------- */

void mp_vm_prove(mp_vm *vm, lua_State *L, lua_CFunction self)
{
  (void)L; (void)self;
  memset(vm, 0, sizeof(*vm));
  vm->why = "this processor's layout is not known";
}

bool mp_vm_where(mp_vm *vm, lua_State *L, mp_where *w)
{
  (void)vm; (void)L; (void)w;
  return false;
}

bool mp_vm_running(mp_vm *vm, mp_where *w, int *state)
{
  (void)vm; (void)w; (void)state;
  return false;
}

void mp_vm_forget(mp_vm *vm) { mp_walk_forget(vm->walk); }

bool mp_vm_ontrace(const mp_vm *vm) { (void)vm; return false; }

bool mp_vm_collecting(const mp_vm *vm) { (void)vm; return false; }

int mp_vm_frames(const mp_vm *vm, mp_where *w, mp_vmframe *f, bool *more)
{
  (void)vm; (void)w; (void)f; (void)more;
  return -1;
}

bool mp_vm_readable(const void *p) { (void)p; return false; }

const char *mp_vm_dump(const mp_vm *vm, const mp_where *w, const char *fmt,
		       int depth, size_t *len)
{
  (void)vm;
  return luaJIT_profile_dumpstack(w->L, fmt, depth, len);
}

const char *mp_vm_chunkname(const char *proto, size_t *len)
{
  *len = 0;
  return proto;
}

int mp_vm_firstline(const char *proto) { (void)proto; return 0; }

bool mp_vm_iscode(const void *block, size_t size)
{
  (void)block; (void)size;
  return false;
}

#endif
