/*
** A stack to look at. See vm/view.h.
*/
#include "config.h"

#include <string.h>

#include "data/mem.h"
#include "vm/call.h"
#include "vm/frame.h"
#include "vm/layout.h"
#include "vm/sunk.h"
#include "vm/trace.h"
#include "vm/view.h"

#ifdef MP_LAYOUT

/* -- The copy ------------------------------------------------------------ */

/* Slots that the frames of a trace may take: their numbers have 8 bits. */
#define VIEW_CLEAR	600

#define COPY_FRAMES	4	/* Frames copied from below the trace's. */

/* A function of that prototype, enough for lua_getinfo. */
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

/* Lowest slot that must be copied, so that the names of the frames of a trace
** can be found: they are in the function that called its lowest frame, which
** may lie under a frame of varargs. */
static slot *lowest_slot(lua_State *L, slot *frame)
{
  slot *stack = AT(slot *, L, L_STACK);
  int n;
  for (n = 0; n < COPY_FRAMES && frame > stack + 1; n++)
    frame = frame_prev(frame);
  return frame + FRAME_CONT > stack ? frame + FRAME_CONT : stack;
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

/* Copies the slots from `low` to below the frame at `base` into the view, and
** clears those above. Returns the place of `base` there; NULL: no room. */
static slot *copy_stack(mp_view *v, const slot *low, const slot *base)
{
  size_t n = (size_t)(base - low);
  if (n > MP_VIEW_SLOTS - VIEW_CLEAR) return NULL;
  memcpy(v->stack, low, n * sizeof(slot));
  memset(v->stack + n, 0, VIEW_CLEAR * sizeof(slot));
  return v->stack + n;
}

/* The made-up thread gets the copied stack, or the real one. */
static void look_at(mp_view *v, bool copied)
{
  uintptr_t moved;
  if (v->vbase == NULL) return;
  moved = copied ? (uintptr_t)v->vbase - (uintptr_t)v->base : 0;
  AT(uintptr_t, v->thread, L_STACK) = AT(uintptr_t, v->real, L_STACK) + moved;
  AT(uintptr_t, v->thread, L_MAXSTACK) =
    AT(uintptr_t, v->real, L_MAXSTACK) + moved;
  AT(slot *, v->thread, L_BASE) = copied ? v->vtop : v->base;
  AT(slot *, v->thread, L_TOP) = copied ? v->vtop : v->base;
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

/* Looks for the snapshot of a place on a trace; that may be another trace's
** (vm/sunk.h). */
static void find_snapshot(const mp_vm *vm, mp_where *w)
{
  if (w->snap != NULL || w->trace == NULL) return;
  w->snap = mp_call_snap(w->trace, w->pc);
  if (w->snap == mp_snap_get(w->trace, 0)) {
    const char *sunk = mp_sunk_in_side(vm, &w->trace, w->pc);
    if (sunk != NULL) w->snap = sunk;
  }
}

/* Prepares the view for a place on a trace. Where the trace's frames cannot be
** had, the view has the frames from the trace's base on. */
static bool view_trace(mp_view *v, const mp_vm *vm, const mp_where *w)
{
  mp_where at = *w;
  uint32_t baseofs = 0;
  uint64_t pc = 0;
  slot *frame;
  bool ok;
  find_snapshot(vm, &at);
  if (at.snap != NULL)
    pc = mp_snap_pc(at.trace, at.snap, &baseofs) + BC_SIZE;
  v->nfuncs = 0;
  view_thread(v, w->L, mp_where_cframe(w), pc);
  v->vbase = copy_stack(v, lowest_slot(w->L, w->base - 1), w->base);
  if (v->vbase == NULL) return false;
  frame = v->vbase - FRAME_SLOTS;
  if (at.snap != NULL) view_snapshot(&at, frame);
  v->vtop = v->vbase + baseofs;
  ok = at.snap != NULL && v->vbase[-1] == w->base[-1] &&
       view_functions(v, vm, &at, v->vtop - 1, v->vbase - 1, pc);
  if (!ok) {  /* Only what is on the stack for certain. */
    memcpy(frame, w->base - FRAME_SLOTS, FRAME_SLOTS * sizeof(slot));
    v->vtop = v->vbase;
    AT(uint64_t, v->cframe, CF_PC) = AT(uint64_t, v->cframe, CF_L);
  }
  return true;
}

/* Prepares the view. False: the stack cannot be read. */
static bool view_make(mp_view *v, mp_vm *vm, mp_where *w)
{
  const char *pt;
  slot fn = w->base[-FRAME_SLOTS];
  v->L = v->real = w->L;
  v->base = w->base;
  v->vbase = NULL;
  if (TAG(fn) == TAGTHREAD) return true;  /* The VM makes an error's message. */
  if (!mp_frame_isfunc(fn)) return false;
  if (w->trace != NULL || w->lost) return view_trace(v, vm, w);
  pt = func_proto(PTR(fn));
  if (pt != NULL && !mp_proto_has(pt, w->pc) && !mp_trace_tookover(vm, w->pc))
    view_thread(v, w->L, mp_where_cframe(w), 0);
  else if (w->compiling)
    view_thread(v, w->L, mp_where_cframe(w), w->pc);
  return true;
}

/* -- Verified frames ----------------------------------------------------- */

/* A frame on the way down. */
typedef struct cursor {
  const slot *f, *next;		/* It, and the one above; NULL: it is the top. */
  bool copied;			/* It lies in the copy. */
  bool varg;			/* The one above is the same function's. */
  int level;			/* Its level in the walk, if that has f. */
} cursor;

static void cursor_down(const mp_view *v, cursor *c)
{
  c->varg = LINK_ISVARG(*c->f);
  c->next = c->f;
  c->f = frame_prev(c->f);
  if (!c->copied || c->f >= v->vbase - 1) return;
  /* From here on the real stack has all there is. */
  c->next = v->base + (c->next - v->vbase);
  c->f = v->base + (c->f - v->vbase);
  c->copied = false;
  look_at((mp_view *)v, false);
}

/* The level of the frame in the walk, or -1. */
static int cursor_level(const mp_view *v, const mp_walk *k, cursor *c)
{
  const slot *f = c->f;
  if (c->copied) {
    if (f != v->vbase - 1) return -1;
    f = v->base - 1;
  }
  while (c->level >= 0 && mp_walk_frame(k, c->level) > f) c->level--;
  return c->level >= 0 && mp_walk_frame(k, c->level) == f ? c->level : -1;
}

/* Verifies the frame and describes it. */
static bool describe(const mp_view *v, mp_vm *vm, const cursor *c,
		     mp_vmframe *out)
{
  const slot *top = AT(slot *, v->L, L_BASE) - 1;
  slot func = c->f[FRAME_FUNC];
  const char *fn = PTR(func);
  if (!mp_frame_isfunc(func)) return false;
  *out = (mp_vmframe){ .proto = func_proto(fn), .func = func_id(fn),
    .copied = c->copied, .level = -1, .at = c->f, .next = c->next };
  if (out->proto == NULL) {
    uint8_t ffid = AT(uint8_t, fn, FUNC_FFID);
    out->builtin = ffid == FFID_C ? 0 : ffid;
    out->cfunc = AT(const void *, fn, FUNC_C);
    return true;
  }
  out->pc = mp_frame_pc(v->L, top, c->next);
  return out->pc == 0 || mp_proto_has(out->proto, out->pc) ||
	 mp_trace_tookover(vm, out->pc);
}

/* Adds a frame. False: it is one too many. */
static bool add_frame(mp_view *v, int n, const mp_vmframe *fr)
{
  if (n >= MP_DEPTH || !mp_mem_room((void **)&v->frames, (uint32_t)n,
				    &v->capframes, sizeof(*v->frames)))
    return false;
  v->frames[n] = *fr;
  return true;
}

int mp_view_frames(mp_view *v, mp_vm *vm, const mp_walk *walk,
		   mp_where *w, uint32_t *below, bool *cut)
{
  const slot *bottom = AT(slot *, w->L, L_STACK) + 1;
  cursor c = { .level = walk->n - 1 };
  int n = 0;
  *below = 0;
  *cut = false;
  if (!view_make(v, vm, w)) return -1;
  c.copied = v->vbase != NULL;
  c.f = (c.copied ? v->vtop : w->base) - 1;
  look_at(v, c.copied);
  for (; c.copied || c.f > bottom; cursor_down(v, &c)) {
    mp_vmframe fr;
    /* A frame of the VM for errors is no function's. */
    if (c.varg || TAG(c.f[FRAME_FUNC]) == TAGTHREAD) continue;
    if (!describe(v, vm, &c, &fr)) return -1;
    if (n > 0) {
      v->frames[n - 1].site = fr.pc ^ (*c.next & LINK_KIND) << 56;
      v->frames[n - 1].called = LINK_ISLUA(*c.next);
    }
    if (*below != 0) break;
    fr.level = cursor_level(v, walk, &c);
    if (fr.level >= 0) *below = walk->levels[fr.level].stack;
    *cut = !add_frame(v, n, &fr);
    if (*cut) break;
    n++;
  }
  return n;
}

int mp_view_info(mp_view *v, const mp_vmframe *f, const char **name)
{
  lua_Debug ar;
  ptrdiff_t ofs, size = f->next ? f->next - f->at : 0;
  look_at(v, f->copied);
  ofs = f->at - AT(slot *, v->L, L_STACK);
  *name = NULL;
  if (ofs > DEBUG_MAX || size > DEBUG_MAX) return -1;
  ar.i_ci = DEBUG_CI((int)ofs, (int)size);
  ar.name = NULL;
  if (lua_getinfo(v->L, "nl", &ar) == 0) return -1;
  *name = ar.name;
  return ar.currentline;
}

#else

int mp_view_frames(mp_view *v, mp_vm *vm, const mp_walk *walk,
		   mp_where *w, uint32_t *below, bool *cut)
{
  (void)v; (void)vm; (void)walk; (void)w; (void)below; (void)cut;
  return -1;
}

int mp_view_info(mp_view *v, const mp_vmframe *f, const char **name)
{
  (void)v; (void)f;
  *name = NULL;
  return -1;
}

#endif

void mp_view_free(mp_view *v)
{
  mp_free(v->frames);
  v->frames = NULL;
  v->capframes = 0;
}
