/*
** A stack to look at. See vm/view.h.
*/
#include "config.h"

#include <string.h>

#include "vm/frame.h"
#include "vm/layout.h"
#include "vm/trace.h"
#include "vm/view.h"

#include "luajit.h"

#ifdef MP_LAYOUT

/* -- The copy ------------------------------------------------------------ */

/* Slots that the frames of a trace may take: baseofs has 8 bits. */
#define VIEW_CLEAR	600

/* A function of that prototype, enough for luaJIT_profile_dumpstack. */
static slot stand_in(mp_view *v, const char *pt)
{
  uint64_t *fn = v->funcs[v->nfuncs];
  if (v->nfuncs >= MP_VIEW_FUNCS) return 0;
  v->nfuncs++;
  memset(fn, 0, sizeof(v->funcs[0]));
  AT(uint8_t, fn, OBJ_GCT) = GCT_FUNC;
  AT(const char *, fn, FUNC_PC) = pt + PT_BC;
  return MKFUNC(fn);
}

/* Whether a constant of that kind is a word as it stands on the stack. */
static bool is_word(int op)
{
  return op == K_PTR || op == K_KPTR || op == K_NUM || op == K_INT64;
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
static void view_thread(mp_view *v, lua_State *L, const char *cf, uint64_t pc)
{
  memcpy(v->thread, L, L_SIZE);
  memcpy(v->cframe, cf, CF_SIZE);
  v->L = (lua_State *)v->thread;
  AT(void *, v->thread, L_CFRAME) = v->cframe;
  if (pc != 0) {
    AT(uint64_t, v->cframe, CF_PC) = pc;
  } else {  /* What the VM itself writes where there is no PC. */
    AT(uint64_t, v->cframe, CF_PC) = AT(uint64_t, v->cframe, CF_L);
  }
}

/* Copies the slots from `low` to below the frame at `base` into the view.
** Returns where slot number 0 of the stack would lie. */
static slot *view_stack(mp_view *v, lua_State *L, slot *low, slot *base)
{
  slot *stack = AT(slot *, L, L_STACK), *vstack;
  if (base - low > MP_VIEW_SLOTS - VIEW_CLEAR) return NULL;
  vstack = (slot *)((uintptr_t)v->stack -
		    (uintptr_t)(low - stack) * sizeof(slot));
  memcpy(v->stack, low, (size_t)((char *)base - (char *)low));
  memset(v->stack + (base - low), 0, VIEW_CLEAR * sizeof(slot));
  AT(slot *, v->thread, L_STACK) = vstack;
  return vstack;
}

/* Lays the snapshot's frames over the view. `frame`: slot 0 of the trace. */
static void view_snapshot(const mp_where *w, slot *frame)
{
  const uint32_t *map = mp_snap_entries(w->trace, w->snap);
  uint32_t i, nent = AT(uint8_t, w->snap, SNAP_NENT);
  slot *real = w->base - FRAME_SLOTS;
  for (i = 0; i < nent; i++) {
    uint32_t e = map[i], s = ENT_SLOT(e);
    uint64_t v;
    int op = ENT_REF(e) < TR_INS0 ?
	     mp_trace_const(w->trace, ENT_REF(e), &v) : 0;
    if (e & ENT_NORESTORE) {
      if (s > 1) frame[s] = real[s];
    } else if (op == K_GC) {
      if (obj_gct((char *)(uintptr_t)v) == GCT_FUNC) frame[s] = MKFUNC(v);
    } else if (is_word(op)) {
      frame[s] = v;
    }
    /* The function below a link that is not listed is on the stack. */
    if ((e & ENT_FRAME) && s > 1 &&
	(i == 0 || ENT_SLOT(map[i - 1]) != s - 1))
      frame[s - 1] = real[s - 1];
  }
}

/* Replaces functions that are not known, above the trace's base, by stand-ins
** of the prototype that contains the PC. False: a frame makes no sense. */
static bool view_functions(mp_view *v, const mp_vm *vm, const mp_where *w,
			   slot *f, slot *lim, uint64_t pc)
{
  while (f >= lim) {
    uint64_t link = *f;
    slot *fn = &f[FRAME_FUNC];
    bool ok = mp_frame_isfunc(*fn);
    const char *pt = ok ? func_proto(PTR(*fn)) : NULL;
    if (f == lim && ok && pc == 0) return true;
    if (!ok || (pt != NULL && pc != 0 && !mp_proto_has(pt, pc))) {
      pt = pc ? mp_trace_proto(vm, w->trace, pc) : NULL;
      if (pt == NULL || (*fn = stand_in(v, pt)) == 0) return false;
    }
    if (f == lim) return true;
    if (LINK_ISVARG(link)) {	/* The same function, once more. */
      slot *below = frame_prev(f);
      if (below < lim || !LINK_ISLUA(*below)) return below == lim;
      below[FRAME_FUNC] = *fn;
      f = below;
      link = *f;
    }
    if (LINK_ISLUA(link)) {
      pc = link;
      if (pc == 0 || mp_trace_proto(vm, w->trace, pc) == NULL) return false;
    } else {
      pc = LINK_ISCONT(link) ? f[FRAME_CONTPC] : 0;
    }
    if (frame_prev(f) >= f) return false;
    f = frame_prev(f);
  }
  return false;
}

/* Prepares the view for a place on a trace. Where the trace's frames cannot be
** had, the view has the frames from the trace's base on. */
static bool view_trace(mp_view *v, const mp_vm *vm, mp_where *w)
{
  slot *stack = AT(slot *, w->L, L_STACK);
  slot *low = lowest_slot(w->L, w->base - 1), *vstack, *frame;
  uint32_t baseofs = 0;
  uint64_t pc = 0;
  bool ok;
  if (w->snap == NULL && w->trace != NULL)
    w->snap = mp_trace_snap(w->trace, w->pc);
  if (w->snap != NULL)
    pc = mp_snap_pc(w->trace, w->snap, &baseofs) + BC_SIZE;
  v->nfuncs = 0;
  view_thread(v, w->L, mp_where_cframe(w), pc);
  vstack = view_stack(v, w->L, low, w->base);
  if (vstack == NULL) return false;
  frame = vstack + (w->base - stack) - FRAME_SLOTS;
  if (w->snap != NULL) view_snapshot(w, frame);
  AT(slot *, v->thread, L_BASE) = frame + FRAME_SLOTS + baseofs;
  AT(slot *, v->thread, L_TOP) = frame + FRAME_SLOTS + baseofs;
  ok = w->snap != NULL &&
       view_functions(v, vm, w, frame + 1 + baseofs, frame + 1, pc);
  if (!ok) {  /* Only what is on the stack for certain. */
    memcpy(frame, w->base - FRAME_SLOTS, FRAME_SLOTS * sizeof(slot));
    AT(slot *, v->thread, L_BASE) = frame + FRAME_SLOTS;
    AT(uint64_t, v->cframe, CF_PC) = AT(uint64_t, v->cframe, CF_L);
  }
  return true;
}

/* Prepares the view. False: the stack cannot be read. */
static bool view_make(mp_view *v, const mp_vm *vm, mp_where *w)
{
  const char *pt;
  slot fn = w->base[-FRAME_SLOTS];
  if (!mp_frame_isfunc(fn)) return false;
  if (w->trace != NULL || w->lost) return view_trace(v, vm, w);
  v->L = w->L;
  pt = func_proto(PTR(fn));
  if (pt != NULL && !mp_proto_has(pt, w->pc) && !mp_trace_tookover(vm, w->pc))
    view_thread(v, w->L, mp_where_cframe(w), 0);
  else if (w->compiling)
    view_thread(v, w->L, mp_where_cframe(w), w->pc);
  return true;
}

/* -- Verified frames ----------------------------------------------------- */

/* Verifies the frame at f and describes it. next: the frame above, or NULL. */
static bool describe(const mp_view *v, const mp_vm *vm, slot *f, slot *next,
		     mp_vmframe *out)
{
  const slot *top = AT(slot *, v->L, L_BASE) - 1;
  const char *fn = PTR(f[FRAME_FUNC]);
  if (!mp_frame_isfunc(f[FRAME_FUNC])) return false;
  out->proto = func_proto(fn);
  out->func = func_id(fn);
  out->pc = out->site = 0;
  out->called = false;
  if (out->proto == NULL) return true;
  out->pc = mp_frame_pc(v->L, top, next);
  if (out->pc != 0 && !mp_proto_has(out->proto, out->pc) &&
      !mp_trace_tookover(vm, out->pc))
    return false;
  return true;
}

int mp_view_frames(mp_view *v, const mp_vm *vm, mp_where *w, mp_vmframe *out,
		   bool *more)
{
  slot *f, *next = NULL, *bot;
  bool varg = false;
  int n = 0;
  *more = false;
  if (!view_make(v, vm, w)) return -1;
  bot = AT(slot *, v->L, L_STACK) + 1;
  for (f = AT(slot *, v->L, L_BASE) - 1; f > bot; f = frame_prev(f)) {
    if (TAG(f[FRAME_FUNC]) == TAGTHREAD) {
      /* A frame of the VM for errors: luaJIT_profile_dumpstack skips it if
      ** it names the thread that it looks at. */
      if (v->L != w->L) f[FRAME_FUNC] = MKTHREAD(v->L);
    } else if (!varg) {
      mp_vmframe fr;
      if (!describe(v, vm, f, next, &fr)) return -1;
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

const char *mp_view_dump(const mp_view *v, const char *fmt, int depth,
			 size_t *len)
{
  return luaJIT_profile_dumpstack(v->L, fmt, depth, len);
}


#else

int mp_view_frames(mp_view *v, const mp_vm *vm, mp_where *w, mp_vmframe *f,
		   bool *more)
{
  (void)v; (void)vm; (void)w; (void)f; (void)more;
  return -1;
}

const char *mp_view_dump(const mp_view *v, const char *fmt, int depth,
			 size_t *len)
{
  return luaJIT_profile_dumpstack(v->L, fmt, depth, len);
}

#endif
