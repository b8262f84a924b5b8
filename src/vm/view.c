/* SPDX-License-Identifier: MIT */
/*
** A stack to look at. See vm/view.h.
*/
#include "config.h"

#include "data/mem.h"
#include "vm/copy.h"
#include "vm/frame.h"
#include "vm/layout.h"
#include "vm/trace.h"
#include "vm/view.h"

#ifdef MP_LAYOUT

/* -- The view ------------------------------------------------------------ */

/* Prepares the view. False: the stack cannot be read. */
static bool view_make(mp_view *v, mp_vm *vm, mp_where *w)
{
  const char *pt;
  slot fn = frame_func(w->base - 1);
  bool error = TAG(fn) == TAGTHREAD;  /* The VM makes an error's message. */
  bool above = w->base > REF(slot *, w->L, L_MAXSTACK);  /* The stack grows. */
  v->copy.L = v->copy.real = w->L;
  v->copy.base = w->base;
  v->copy.vbase = NULL;
  if (w->called != NULL && mp_copy_called(&v->copy, w)) return true;
  if (!error && !mp_frame_isfunc(fn)) return false;
  if (!error && (w->trace != NULL || w->lost))
    return mp_copy_trace(&v->copy, vm, w);
  pt = error ? NULL : func_proto(PTR(fn));
  if (pt != NULL && !mp_proto_has(pt, w->pc) && !mp_trace_tookover(vm, w->pc))
    mp_copy_thread(&v->copy, w->L, mp_where_cframe(w), 0);
  else if (w->compiling || above || w->returned || w->called != NULL)
    mp_copy_thread(&v->copy, w->L, mp_where_cframe(w), w->pc);
  return true;
}

/* -- Verified frames ----------------------------------------------------- */

/* A frame on the way down. */
typedef struct cursor {
  const slot *f, *next;		/* Its link; the one above, NULL: the top. */
  bool copied;			/* It lies in the copy. */
  bool varg;			/* The one above is the same function's. */
  int level;			/* Its level in the walk, if that has f. */
} cursor;

static void cursor_down(const mp_view *v, cursor *c)
{
  c->varg = LINK_ISVARG(frame_link(c->f));
  c->next = c->f;
  c->f = frame_prev(c->f);
  if (!c->copied || c->f >= v->copy.vbase - 1) return;
  /* From here on down the real stack has all frames. */
  c->next = v->copy.base + (c->next - v->copy.vbase);
  c->f = v->copy.base + (c->f - v->copy.vbase);
  c->copied = false;
  mp_copy_show_stack((mp_copy *)&v->copy);
}

/* The level of the frame in the walk, or -1. */
static int cursor_level(const mp_view *v, const mp_walk *k, cursor *c)
{
  const slot *f = c->f;
  if (c->copied) {
    if (f != v->copy.vbase - 1) return -1;
    f = v->copy.base - 1;
  }
  while (c->level >= 0 && mp_walk_frame(k, c->level) > f) c->level--;
  return c->level >= 0 && mp_walk_frame(k, c->level) == f ? c->level : -1;
}

/* Verifies the frame and describes it. */
static bool describe(const mp_view *v, mp_vm *vm, const cursor *c,
		     mp_vmframe *out)
{
  const slot *top = AT(slot *, v->copy.L, L_BASE) - 1;
  slot func = frame_func(c->f);
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
  out->pc = mp_frame_pc(v->copy.L, top, c->next);
  return out->pc == 0 || mp_proto_has(out->proto, out->pc) ||
	 mp_trace_tookover(vm, out->pc);
}

/* Adds a frame. False: there is no room for it. */
static bool add_frame(mp_view *v, int n, const mp_vmframe *fr)
{
  if (n >= MP_DEPTH || !mp_mem_room(&v->frames, (uint32_t)n,
				    &v->capframes, sizeof(*v->frames)))
    return false;
  v->frames[n] = *fr;
  return true;
}

int mp_view_frames(mp_view *v, mp_vm *vm, const mp_walk *walk,
		   mp_where *w, uint32_t *below, bool *cut)
{
  const slot *bottom = frame_bottom(w->L);
  cursor c = { .level = walk->n - 1 };
  int n = 0;
  *below = 0;
  *cut = false;
  if (!view_make(v, vm, w)) return -1;
  c.copied = v->copy.vbase != NULL;
  c.f = (c.copied ? v->copy.vtop : w->base) - 1;
  if (c.copied) mp_copy_show_copy(&v->copy);
  for (; c.copied || c.f > bottom; cursor_down(v, &c)) {
    mp_vmframe fr;
    /* A frame of the VM for errors is not a function's. */
    if (c.varg || TAG(frame_func(c.f)) == TAGTHREAD) continue;
    if (!describe(v, vm, &c, &fr)) return -1;
    if (n > 0) {
      uint64_t link = frame_link(c.next);
      v->frames[n - 1].site = fr.pc ^ (link & LINK_KIND) << 56;
      v->frames[n - 1].called = LINK_ISLUA(link);
      v->frames[n - 1].from_c = LINK_ISC(link);
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
  if (f->copied) mp_copy_show_copy(&v->copy);
  else mp_copy_show_stack(&v->copy);
  ofs = f->at - REF(slot *, v->copy.L, L_STACK);
  *name = NULL;
  if (ofs > DEBUG_MAX || size > DEBUG_MAX) return -1;
  ar.i_ci = DEBUG_CI((int)ofs, (int)size);
  ar.name = NULL;
  if (lua_getinfo(v->copy.L, "nl", &ar) == 0) return -1;
  *name = ar.name;
  return ar.currentline;
}

#endif

void mp_view_free(mp_view *v)
{
  mp_free(v->frames);
  v->frames = NULL;
  v->capframes = 0;
}
