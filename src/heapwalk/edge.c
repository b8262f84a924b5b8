/* SPDX-License-Identifier: MIT */
/*
** References between objects, and the graph that they make. See
** heapwalk/edge.h.
*/
#include "config.h"

#include "data/mem.h"
#include "heapwalk/edge.h"
#include "heapwalk/size.h"
#include "vm/layout.h"
#include "vm/trace.h"

#ifdef MP_LAYOUT

#define WEAK_KEYS	1
#define WEAK_VALUES	2

/* -- Of objects ---------------------------------------------------------- */

/* The receiver of references. */
typedef struct eye {
  mp_heap *h;
  mp_heap_see *see;
  void *ud;
  bool inner;			/* Strings and cdata may be left out. */
} eye;

static inline void see(const eye *e, const char *to, mp_how how,
		       uint64_t detail)
{
  if (to != NULL) e->see(e->ud, to, how, detail);
}

/* Whether a slot's object is asked for. */
static inline bool wanted(const eye *e, slot v)
{
  return is_object(v) &&
	 !(e->inner && (TAG(v) == TAGSTR || TAG(v) == TAGCDATA));
}

static inline void see_slot(const eye *e, slot v, mp_how how, uint64_t detail)
{
  if (wanted(e, v)) e->see(e->ud, PTR(v), how, detail);
}

static int mode_of(const mp_heap *h, slot v)
{
  const char *s;
  uint32_t i, len;
  int weak = 0;
  if (TAG(v) != TAGSTR) return 0;
  s = mp_heap_text(h, PTR(v));
  len = mp_heap_strlen(h, PTR(v));
  for (i = 0; i < len && s[i] != '\0'; i++) {
    if (s[i] == 'k') weak |= WEAK_KEYS;
    else if (s[i] == 'v') weak |= WEAK_VALUES;
  }
  return weak;
}

/* The references that are weak in a table with that metatable: WEAK_* bits. */
static int weakness(mp_heap *h, const char *meta)
{
  uint32_t cell = (uint32_t)((uintptr_t)meta >> 4) & 63, i, hmask;
  const char *node;
  if (meta == NULL || (AT(uint8_t, meta, TAB_NOMM) & 1u << MM_MODE)) return 0;
  if (h->modes[cell].meta == meta) return h->modes[cell].weak;
  h->modes[cell].meta = meta;
  h->modes[cell].weak = 0;
  hmask = AT(uint32_t, meta, TAB_HMASK);
  node = REF(const char *, meta, TAB_NODE);
  for (i = 0; hmask > 0 && i <= hmask; i++, node += NODE_SIZE) {
    slot key = AT(slot, node, NODE_KEY);
    if (TAG(key) == TAGSTR && PTR(key) == h->modestr)
      h->modes[cell].weak = mode_of(h, AT(slot, node, NODE_VAL));
  }
  return h->modes[cell].weak;
}

/* Strings are values: a weak table does not let them go. */
static inline bool kept(const eye *e, slot v, bool weak)
{
  return wanted(e, v) && (!weak || TAG(v) == TAGSTR);
}

static void see_table(const eye *e, const char *t)
{
  const char *meta = REF(const char *, t, TAB_META);
  const char *node = REF(const char *, t, TAB_NODE);
  const slot *array = REF(const slot *, t, TAB_ARRAY);
  uint32_t i, asize = AT(uint32_t, t, TAB_ASIZE);
  uint32_t hmask = AT(uint32_t, t, TAB_HMASK);
  int weak = weakness(e->h, meta);
  see(e, meta, MP_BY_META, 0);
  for (i = 0; i < asize; i++)
    if (kept(e, array[i], weak & WEAK_VALUES))
      see(e, PTR(array[i]), MP_BY_INDEX, i);
  for (i = 0; hmask > 0 && i <= hmask; i++, node += NODE_SIZE) {
    slot val = AT(slot, node, NODE_VAL), key = AT(slot, node, NODE_KEY);
    if (IS_NIL(val)) continue;  /* The key may be gone. */
    if (kept(e, key, weak & WEAK_KEYS)) see(e, PTR(key), MP_BY_BEING, 0);
    if (kept(e, val, weak & WEAK_VALUES))
      see(e, PTR(val), MP_BY_KEY, (uint64_t)(uintptr_t)(node + NODE_KEY));
  }
}

static void see_function(const eye *e, const char *fn)
{
  uint32_t i, n = AT(uint8_t, fn, FUNC_NUPVALUES);
  see(e, REF(const char *, fn, FUNC_ENV), MP_BY_ENV, 0);
  see(e, func_proto(fn), MP_BY_PROTO, 0);
  for (i = 0; i < n; i++) {
    if (AT(uint8_t, fn, FUNC_FFID) == 0)
      see(e, REF(const char *, fn, FUNC_UPVALUES + i * sizeof(gcref)),
	  MP_BY_UPVALUE, i);
    else
      see_slot(e, AT(slot, fn, FUNC_CUPVALUES + i * sizeof(slot)),
	       MP_BY_UPVALUE, i);
  }
}

static void see_trace_number(const eye *e, uint32_t n)
{
  if (n > 0 && n < e->h->ntraces) see(e, e->h->traces[n], MP_BY_TRACE, n);
}

static void see_proto(const eye *e, const char *pt)
{
  const gcref *k = REF(const gcref *, pt, PT_K);
  uint32_t i, n = AT(uint32_t, pt, PT_SIZEKGC);
  see(e, REF(const char *, pt, PT_CHUNKNAME), MP_BY_CHUNK, 0);
  for (i = 1; i <= n; i++)
    see(e, REF(const char *, k - i, 0), MP_BY_CONST, i);
  see_trace_number(e, AT(uint16_t, pt, PT_TRACE));
}

static void see_trace(const eye *e, const char *t)
{
  uint32_t ref;
  if (AT(uint16_t, t, TR_NUMBER) == 0) return;
  for (ref = AT(uint32_t, t, TR_NK); ref < REF_CONST; ref++) {
    uint64_t v;
    int op = mp_trace_const(t, ref, &v);
    if (op == K_GC) see(e, (const char *)(uintptr_t)v, MP_BY_CONST, ref);
    if (CONST_WIDE(op))
      ref++;  /* The value takes the place of an instruction. */
  }
  see_trace_number(e, AT(uint16_t, t, TR_LINKS));
  see_trace_number(e, AT(uint16_t, t, TR_NEXTROOT));
  see_trace_number(e, AT(uint16_t, t, TR_NEXTSIDE));
  see(e, REF(const char *, t, TR_STARTPT), MP_BY_PROTO, 0);
}

/* The functions of frames that have them in the slot of their link, which does
** not look like an object. */
static void see_frames(const eye *e, const char *th, const slot *stack,
		       const slot *top)
{
  const slot *f = AT(const slot *, th, L_BASE) - 1;
  if (FRAME_FUNC != 0 || stack == NULL) return;
  for (; f > stack; f = frame_lower(f, stack))
    if (f < top)
      see(e, frame_object(f), MP_BY_SLOT, (uint64_t)(f - stack));
}

/* The objects in the variables that the main chunk left. */
static void see_left(const eye *e, const slot *stack)
{
  const slot *f = e->h->left, *o = f + 1;
  const char *pt = func_proto(frame_object(f));
  for (; o <= f + AT(uint8_t, pt, PT_FRAMESIZE); o++)
    if (wanted(e, *o) && mp_heap_leftname(e->h, o) != NULL &&
	mp_places_find(&e->h->places, PTR(*o)) != 0 &&
	TAG(*o) == ~(int64_t)obj_gct(PTR(*o)))
      see(e, PTR(*o), MP_BY_SLOT, (uint64_t)(o - stack));
}

static void see_thread(const eye *e, const char *th)
{
  const slot *stack = REF(const slot *, th, L_STACK), *o;
  const slot *top = AT(const slot *, th, L_TOP);
  if (th == e->h->self && top > e->h->hidden) top = e->h->hidden;
  see(e, REF(const char *, th, L_ENV), MP_BY_ENV, 0);
  see_frames(e, th, stack, top);
  for (o = stack + FRAME_SLOTS; stack != NULL && o < top; o++)
    see_slot(e, *o, MP_BY_SLOT, (uint64_t)(o - stack));
  if (th == e->h->mainl && e->h->left != NULL) see_left(e, stack);
}

static void see_userdata(const eye *e, const char *u)
{
  const char *b = u + UD_DATA;
  see(e, REF(const char *, u, UD_META), MP_BY_META, 0);
  see(e, REF(const char *, u, UD_ENV), MP_BY_ENV, 0);
  if (AT(uint8_t, u, UD_TYPE) != UD_BUFFER ||
      AT(uint32_t, u, UD_LEN) < SBUF_SIZE)
    return;
  if (AT(uint32_t, b, SBUF_FLAGS) & SBUF_COW)
    see(e, REF(const char *, b, SBUF_COWREF), MP_BY_BUFFER, 0);
  see(e, REF(const char *, b, SBUF_DICTS), MP_BY_BUFFER, 0);
  see(e, REF(const char *, b, SBUF_DICTS + sizeof(gcref)), MP_BY_BUFFER, 0);
}

/* -- Roots --------------------------------------------------------------- */

static void see_root(const eye *e, const char *o, mp_root root)
{
  see(e, o, MP_BY_ROOT, root);
}

/* The same of a word that need not be an object of that kind. On versions
** without the VM's coroutine a value that was used last is in its place. */
static void see_perhaps(const eye *e, const char *o, unsigned gct,
			mp_root root)
{
  if (mp_places_find(&e->h->places, o) != 0 && obj_gct(o) == gct)
    see_root(e, o, root);
}

static void see_ffi(const eye *e)
{
  const char *cts = mp_heap_ctstate(e->h);
  int i;
  for (i = 0; cts != NULL && i < 2; i++)
    see_perhaps(e, AT(const char *, cts, CTS_MAPS + i * WORD), GCT_TAB,
		MP_ROOT_FFI);
}

/* The VM's array of the objects that it needs itself. */
static void see_array(const eye *e)
{
  uint32_t names = e->h->layout->names, i, n;
  const gcref *roots = (const gcref *)(const void *)
    (e->h->g + e->h->layout->roots);
  n = names + ROOTS_BASEMT;
  for (i = names; i < n; i++)
    see(e, REF(const char *, roots + i, 0), MP_BY_ROOT,
	MP_ROOT_BASEMT | (uint64_t)(i - names) << 8);
  for (; i < n + ROOTS_IO; i++)
    see_root(e, REF(const char *, roots + i, 0), MP_ROOT_IO);
  see_perhaps(e, REF(const char *, roots + i, 0), GCT_TAB, MP_ROOT_FINALIZERS);
  for (i = 0; i < names; i++)
    see_root(e, REF(const char *, roots + i, 0), MP_ROOT_NAMES);
}

static void see_queue(const eye *e)
{
  const char *last = REF(const char *, e->h->g,
			 e->h->layout->alloc + G_MMUDATA);
  const char *o = last;
  while (o != NULL) {
    o = REF(const char *, o, OBJ_NEXT);
    see_root(e, o, MP_ROOT_FINQUEUE);
    if (o == last) break;
  }
}

static void see_roots(const eye *e)
{
  const mp_heap *h = e->h;
  uint32_t i;
  see_root(e, REF(const char *, h->mainl, L_ENV), MP_ROOT_GLOBALS);
  see_slot(e, AT(slot, h->g, h->layout->registry), MP_BY_ROOT,
	   MP_ROOT_REGISTRY);
  see_root(e, h->mainl, MP_ROOT_MAIN);
  see_root(e, REF(const char *, h->g, h->layout->curl), MP_ROOT_RUNNING);
  see_ffi(e);
  see_array(e);
  see_queue(e);
  see_perhaps(e, REF(const char *, h->g, h->layout->registry + sizeof(slot)),
	      GCT_THREAD, MP_ROOT_VMTHREAD);
  for (i = 0; i < h->nfixed; i++) see_root(e, h->fixed[i], MP_ROOT_FIXED);
}

static void see_all(const eye *e, const char *o)
{
  if (o == NULL) {
    see_roots(e);
    return;
  }
  switch (obj_gct(o)) {
  case GCT_UPVAL: see_slot(e, *REF(slot *, o, UPVAL_V), MP_BY_VALUE, 0); break;
  case GCT_THREAD: see_thread(e, o); break;
  case GCT_PROTO: see_proto(e, o); break;
  case GCT_FUNC: see_function(e, o); break;
  case GCT_TRACE: see_trace(e, o); break;
  case GCT_TAB: see_table(e, o); break;
  case GCT_UDATA: see_userdata(e, o); break;
  default: break;
  }
}

void mp_heap_edges(mp_heap *h, const char *o, mp_heap_see *f, void *ud)
{
  const eye e = { h, f, ud, false };
  see_all(&e, o);
}

/* -- What lasts ---------------------------------------------------------- */

typedef struct reaching {
  mp_heap *h;
  const char **list;		/* Objects to be looked at. */
  uint32_t n, cap;
  bool failed;
} reaching;

static bool lasts(const mp_heap *h, uint32_t number)
{
  return h->lasting[number >> 6] >> (number & 63) & 1;
}

static void reach(void *ud, const char *to, mp_how how, uint64_t detail)
{
  reaching *r = ud;
  uint32_t number;
  (void)detail;
  if (how == MP_BY_SLOT) return;
  number = mp_places_find(&r->h->places, to);
  if (number == 0 || lasts(r->h, number) || r->failed) return;
  r->h->lasting[number >> 6] |= UINT64_C(1) << (number & 63);
  r->failed = !mp_mem_room(&r->list, r->n, &r->cap, sizeof(*r->list));
  if (!r->failed) r->list[r->n++] = to;
}

bool mp_heap_lasting(mp_heap *h)
{
  reaching r = { h, NULL, 0, 0, false };
  const eye e = { h, reach, &r, true };
  h->lasting = mp_calloc((size_t)h->places.count / 64 + 1,
			 sizeof(*h->lasting));
  if (h->lasting == NULL) return false;
  see_roots(&e);
  while (r.n > 0 && !r.failed) see_all(&e, r.list[--r.n]);
  mp_free(r.list);
  return !r.failed;
}

/* -- The graph ----------------------------------------------------------- */

typedef struct making {
  mp_heap *h;
  mp_graph *g;
} making;

static void add_leaf(void *ud, uint32_t number, const void *o)
{
  const making *m = ud;
  uint8_t gct = obj_gct(o);
  if (gct == GCT_STR || gct == GCT_CDATA) mp_graph_leaf(m->g, number);
}

static void add_size(void *ud, uint32_t number, const void *o)
{
  const making *m = ud;
  mp_graph_size(m->g, number, mp_heap_size(m->h, o));
}

static void add_edge(void *ud, const char *to, mp_how how, uint64_t detail)
{
  const making *m = ud;
  uint32_t number = mp_places_find(&m->h->places, to);
  (void)detail;
  if (how == MP_BY_SLOT && m->h->lasting != NULL && lasts(m->h, number)) return;
  if (number != 0) mp_graph_edge(m->g, number);
}

static void tell_edges(void *ud, uint32_t node, mp_graph *g)
{
  making m = { ud, g };
  const eye e = { m.h, add_edge, &m, g->inner };
  see_all(&e, node == 0 ? NULL : mp_places_address(&m.h->places, node));
}

static void tell_sizes(void *ud, mp_graph *g)
{
  making m = { ud, g };
  mp_places_each(&m.h->places, add_size, &m);
}

bool mp_heap_graph(mp_heap *h, mp_graph *g)
{
  making m = { h, g };
  if (!mp_graph_init(g, h->places.count + 1, tell_edges, tell_sizes, h))
    return false;
  mp_places_each(&h->places, add_leaf, &m);
  return true;
}

#else

void mp_heap_edges(mp_heap *h, const char *obj, mp_heap_see *see, void *ud)
{
  (void)h; (void)obj; (void)see; (void)ud;
}

bool mp_heap_lasting(mp_heap *h)
{
  (void)h;
  return false;
}

bool mp_heap_graph(mp_heap *h, mp_graph *g)
{
  (void)h; (void)g;
  return false;
}

#endif
