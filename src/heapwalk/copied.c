/* SPDX-License-Identifier: MIT */
/*
** See heapwalk/copied.h.
*/
#include "config.h"

#include <string.h>

#include "heapwalk/copied.h"
#include "heapwalk/edge.h"
#include "heapwalk/size.h"
#include "vm/peek.h"
#include "vm/variant.h"

const char mp_copied_changing[] =
  "at no look was its heap as LuaJIT leaves one: it was being changed, or is "
  "not of a known layout";

#ifdef MP_LAYOUT

#define ALLOC_MAX	128	/* The allocator is before this. */
#define STRINGS_MIN	64	/* Chains of the table of strings, at least, */
#define STRINGS_MAX	(1u << 26)	/* and at most. */
#define STRTAB_COUNT	(STRTAB_MASK + 4)  /* uint32_t: strings in it. */
#define NODES_MAX	(1u << 20)	/* That are searched for one. */
#define SLACK		(CHUNK_MIN + CHUNK_DATA - 1)
#define LARGE_SLACK	(72u << 10)	/* Of a chunk that is a mapping. */
#define LARGE		1	/* A bit of the word before its head, and: */
#define BEFORE_INUSE	1	/* A bit of a head. */

static const char unknown_roots[] =
  "the layout of the VM's roots is not the known one";
static const char not_own[] =
  "its memory is not from LuaJIT's own allocator, or was being changed at each "
  "look";
static const char unknown_state[] =
  "the layout of the VM's state is not the known one";

/* -- Blocks -------------------------------------------------------------- */

/* The words before a block. */
typedef struct head {
  uintptr_t before, head;
} head;

static uint64_t room_of(head c)
{
  return (c.head & ~CHUNK_BITS) - CHUNK_HEAD;
}

/* Whether it is the head of a block of that size. */
static bool fits(head c, uint64_t size)
{
  bool large = (c.before & LARGE) != 0 && (c.head & BEFORE_INUSE) == 0;
  uint64_t room = room_of(c);
  return (c.head & CHUNK_INUSE) != 0 && (c.head & ~CHUNK_BITS) >= CHUNK_MIN &&
	 size <= room && room - size <= (large ? LARGE_SLACK : SLACK);
}

static bool read_head(const void *p, head *c)
{
  return p != NULL && ((uintptr_t)p & (OBJ_ALIGN - 1)) == 0 &&
	 mp_peek(c, (const char *)p - CHUNK_DATA, sizeof(*c));
}

/* Whether a block of that size is at an address of which nothing is known. */
static bool is_block(const void *p, uint64_t size)
{
  head c;
  return read_head(p, &c) && fits(c, size);
}

/* The size of what is the only thing in a block, which is a multiple of 8; 0:
** there is none. */
static uint32_t block_size(const void *p)
{
  head c;
  if (!read_head(p, &c) || (c.head & CHUNK_INUSE) == 0 ||
      room_of(c) > UINT32_MAX / 2)
    return 0;
  return (uint32_t)room_of(c) & ~UINT32_C(7);
}

/* -- The layout ---------------------------------------------------------- */

/* Whether a string with that text is there. */
static bool has_text(const mp_heaplayout *l, const char *str, const char *text)
{
  char o[STR_DATA + 32];
  uint32_t len = (uint32_t)strlen(text), n = l->data + len + 1;
  return ((uintptr_t)str & (OBJ_ALIGN - 1)) == 0 && n <= sizeof(o) &&
	 mp_peek(o, str, n) && obj_gct(o) == GCT_STR &&
	 AT(uint32_t, o, l->len) == len && memcmp(o + l->data, text, len) == 0;
}

/* Whether the VM's roots begin there. */
static bool are_roots(const mp_heaplayout *l, const gcref *at)
{
  static const char *const names[] = { "__index", "__newindex", "__gc",
				       "__mode" };
  uint32_t i;
  for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    if (!has_text(l, REF(const char *, at + i, 0), names[i])) return false;
  return true;
}

/* Whether a string is there whose text begins like the name of an event. */
static bool is_name(const mp_heaplayout *l, const char *str)
{
  char o[STR_DATA + 2];
  return str != NULL && ((uintptr_t)str & (OBJ_ALIGN - 1)) == 0 &&
	 mp_peek(o, str, sizeof(o)) && obj_gct(o) == GCT_STR &&
	 memcmp(o + l->data, "__", 2) == 0;
}

/* Finds the roots, which tell where a string has what. Builds from June 2020 on
** have these elsewhere, and round the sizes of strings. */
static bool find_roots(const char *g, mp_heaplayout *l)
{
  static const struct { uint32_t len, data, round; } all[] = {
    { STR_LEN, STR_DATA, STR_ROUND }, { STR_OLDLEN, STR_OLDDATA, 1 }
  };
  const gcref *words = (const gcref *)(const void *)g;
  uint32_t i, k, n = 0, first = l->jitbase / sizeof(gcref);
  for (k = 0; k < sizeof(all) / sizeof(all[0]) && n == 0; k++) {
    l->len = all[k].len;
    l->data = all[k].data;
    l->round = all[k].round;
    for (i = first; i < G_SEARCH / sizeof(gcref); i++)
      if (are_roots(l, words + i)) { l->roots = i * sizeof(gcref); n++; }
  }
  if (n != 1) return false;
  words += l->roots / sizeof(gcref);
  while (l->names < ROOTS_NAMES && is_name(l, REF(const char *, words, 0))) {
    words++;
    l->names++;
  }
  return l->names > MM_MODE && l->names < ROOTS_NAMES;
}

/* Whether these are chains of strings, as far as the first are. */
static bool are_chains(const char *chains, uint32_t n)
{
  char o[OBJ_GCT + 1];
  gcref first;
  uint32_t i;
  for (i = 0; i < STRINGS_MIN && i < n; i++) {
    const char *str;
    if (!mp_peek(&first, chains + i * sizeof(first), sizeof(first)))
      return false;
    str = (const char *)(uintptr_t)(first & ~STRTAB_CHAIN);
    if (str != NULL && (!mp_peek(o, str, sizeof(o)) || obj_gct(o) != GCT_STR))
      return false;
  }
  return true;
}

static bool find_strtab(const char *g, mp_heaplayout *l)
{
  uint32_t i, n = 0;
  for (i = 0; i + STRTAB_COUNT < l->curl; i += WORD) {
    const char *chains = AT(const char *, g, i);
    uint32_t size = AT(uint32_t, g, i + STRTAB_MASK) + 1;
    if (size < STRINGS_MIN || size > STRINGS_MAX || (size & (size - 1)) != 0 ||
	!is_block(chains, size * sizeof(gcref)) || !are_chains(chains, size))
      continue;
    l->strtab = i;
    n++;
  }
  return n == 1;
}

/* Whether a buffer for strings is there, with words of n bytes. */
static bool is_buffer(const char *p, uint32_t n)
{
  const char *start = BUF_WORD(p + 2 * n, n), *end = BUF_WORD(p + n, n);
  if (end == NULL && start == NULL) return n == (uint32_t)WORD;
  return end > start && is_block(start, (uint64_t)(end - start));
}

static bool find_buffer(const mp_copied *c, const char *g, mp_heaplayout *l)
{
  uint32_t from = (uint32_t)(c->vmstate - c->g) + VMSTATE_TMPBUF, to = from;
  uint32_t n, i, found = 0;
  if (c->variant) {
    from = l->alloc + G_ROOT;
    to = l->curl;
  }
  for (n = WORD; found == 0; n = sizeof(gcref)) {
    for (i = from; i <= to; i += sizeof(gcref)) {
      if (!is_buffer(g + i, n) ||
	  (c->variant && BUF_WORD(g + i + 2 * n, n) == NULL))
	continue;
      l->tmpbuf = i;
      l->bufword = n;
      found++;
    }
    if (n == sizeof(gcref)) break;
  }
  return found == 1;
}

/* Whether it is a table that has the loaded modules in it. *left: more nodes
** that are looked at. */
static bool is_registry(const mp_heaplayout *l, const char *t, uint32_t *left)
{
  char o[TAB_SIZE], node[NODE_SIZE];
  uint32_t i;
  if (((uintptr_t)t & (OBJ_ALIGN - 1)) != 0 || !mp_peek(o, t, sizeof(o)) ||
      obj_gct(o) != GCT_TAB)
    return false;
  for (i = 0; *left > 0 && i <= AT(uint32_t, o, TAB_HMASK); i++, --*left) {
    slot key;
    if (!mp_peek(node, REF(const char *, o, TAB_NODE) + (size_t)i * NODE_SIZE,
		 sizeof(node)))
      return false;
    key = AT(slot, node, NODE_KEY);
    if (TAG(key) == TAGSTR && TAG(AT(slot, node, NODE_VAL)) == TAGTAB &&
	has_text(l, PTR(key), "_LOADED"))
      return true;
  }
  return false;
}

static bool find_registry(const char *g, mp_heaplayout *l)
{
  uint32_t i, n = 0, left = NODES_MAX;
  for (i = 0; i < l->curl; i += sizeof(slot)) {
    slot v = AT(slot, g, i);
    if (TAG(v) != TAGTAB || !is_registry(l, PTR(v), &left)) continue;
    l->registry = i;
    n++;
  }
  return n == 1;
}

static bool find_allocator(const mp_copied *c, const char *g, mp_heaplayout *l)
{
  while (l->alloc < ALLOC_MAX &&
	 AT(const uintptr_t, g, l->alloc) != (uintptr_t)c->allocf)
    l->alloc += WORD;
  return l->alloc < ALLOC_MAX;
}

static bool is_thread(const char *L, const char *g)
{
  char o[L_SIZE];
  return L != NULL && ((uintptr_t)L & (OBJ_ALIGN - 1)) == 0 &&
	 mp_peek(o, L, sizeof(o)) && obj_gct(o) == GCT_THREAD &&
	 REF(const char *, o, L_GLREF) == g;
}

/* The base of the running trace follows the running thread; variants may have
** another thread between them. */
static void find_jitbase(const char *g, mp_heaplayout *l)
{
  l->jitbase = l->curl + CURL_JITBASE;
  if (is_thread(REF(const char *, g, l->jitbase), g))
    l->jitbase += sizeof(gcref);
}

/* The FFI's state, if there is one, is all of its block. */
static bool find_ctstate(const char *g, mp_heaplayout *l)
{
  const char *cts = REF(const char *, g, l->jitbase + JITBASE_CTSTATE);
  if (cts == NULL) return true;
  l->ctstate = block_size(cts);
  return l->ctstate >= CTS_MAPS + 2 * WORD &&
	 is_block(AT(const char *, cts, CTS_TAB),
		  (uint64_t)AT(uint32_t, cts, CTS_SIZETAB) * CT_SIZE);
}

/* Writes the place that the thread had in registers to where the VM has it
** while C code runs. */
static bool put_registers(const mp_copied *c, char *L)
{
  slot *base = (slot *)(uintptr_t)c->base;
  char *cf = CF_RAW(AT(void *, L, L_CFRAME));
  if (base == NULL) return true;
  if (base < lowest_base(L) || base > REF(slot *, L, L_MAXSTACK) || cf == NULL)
    return false;
  AT(slot *, L, L_BASE) = base;
  if (c->slots != 0) AT(slot *, L, L_TOP) = base + c->slots;
  if (AT(slot *, L, L_TOP) > REF(slot *, L, L_MAXSTACK)) return false;
  AT(gcref, cf, CF_PC) = (gcref)c->pc;
  return true;
}

const char *mp_copied_open(const mp_copied *c, mp_heaplayout *l, mp_arena *a)
{
  const char *g = (const char *)(uintptr_t)c->g;
  const char *mainl = (const char *)(uintptr_t)c->mainl;
  char *L;
  memset(l, 0, sizeof(*l));
  l->curl = (uint32_t)(c->running - c->g);
  if (!mp_readable(g)) return not_own;  /* No such memory is copied. */
  L = REF(char *, g, l->curl);
  if (!is_thread(mainl, g) || !is_thread(L, g)) return mp_copied_changing;
  if (!find_allocator(c, g, l)) return unknown_state;
  if (!mp_arena_copied(AT(const void *, g, l->alloc + G_ALLOCD),
		       c->bytes / CHUNK_MIN, a))
    return not_own;
  find_jitbase(g, l);
  l->mainl = l->thread = (uint32_t)(g - mainl);
  l->state = block_size(mainl);
  if (!find_roots(g, l)) return unknown_roots;
  if (l->state <= l->mainl || !find_strtab(g, l) || !find_buffer(c, g, l) ||
      !find_ctstate(g, l))
    return unknown_state;
  if (!find_registry(g, l)) return unknown_roots;
  mp_variant_assume(c->variant ? 0 : mp_variant_prev(), l->len, l->data,
		    l->bufword);
  if (!put_registers(c, L)) return mp_copied_changing;
  l->proved = true;
  return NULL;
}

/* -- The objects --------------------------------------------------------- */

typedef struct sizing {
  mp_heap *h;
  uint64_t left;		/* More bytes of memory that is gone through. */
  bool bad;
} sizing;

/* Whether that many bytes lie in a block of an object, up to `end`. */
static bool is_within(const mp_heapparts *p, int part, const char *end,
		      uint64_t bytes)
{
  uint64_t before = (uintptr_t)end - (uintptr_t)p->block[part];
  return before <= p->size[part] && bytes <= before;
}

/* Whether what is gone through lies in the object's blocks. */
static bool is_whole(const char *o, const mp_heapparts *p)
{
  switch (obj_gct(o)) {
  case GCT_THREAD: return is_within(p, 1, AT(const char *, o, L_TOP), 0);
  case GCT_PROTO:
    return is_within(p, 0, REF(const char *, o, PT_K),
		     (uint64_t)AT(uint32_t, o, PT_SIZEKGC) * sizeof(gcref));
  default: return true;
  }
}

/* All blocks of a heap that are gone through have been written to: there cannot
** be more of them than there is memory. Nobody may have touched the data of
** others. */
static void size_object(void *ud, uint32_t number, const void *o)
{
  sizing *s = ud;
  uint8_t gct = obj_gct(o);
  mp_heapparts p;
  int i;
  (void)number;
  if (gct < GCT_STR || gct > GCT_UDATA) s->bad = true;
  if (s->bad) return;
  mp_heap_parts(s->h, o, &p);
  for (i = 0; i < MP_HEAP_PARTS && !s->bad; i++) {
    head w;
    if (p.size[i] == 0) continue;
    memcpy(&w, (const char *)p.block[i] - CHUNK_DATA, sizeof(w));
    if (!fits(w, p.size[i])) s->bad = true;
    if (gct == GCT_STR || gct == GCT_CDATA || gct == GCT_UDATA) continue;
    if (p.size[i] > s->left) s->bad = true;
    s->left -= p.size[i];
  }
  if (!s->bad && !is_whole(o, &p)) s->bad = true;
}

const char *mp_copied_find(mp_heap *h, const mp_copied *c,
			   const mp_heaplayout *l)
{
  sizing s = { h, c->bytes, false };
  if (!mp_heap_find(h, l, (lua_State *)(uintptr_t)c->mainl,
		    c->bytes / CHUNK_MIN))
    return h->endless ? mp_copied_changing : "there is no memory for it";
  mp_places_each(&h->places, size_object, &s);
  return s.bad ? mp_copied_changing : NULL;
}

/* -- The proof ----------------------------------------------------------- */

typedef struct checking {
  mp_heap *h;
  const mp_graph *g;
  uint32_t strings;
  bool bad;
} checking;

/* The empty string is part of the VM's state. */
static bool is_object_there(mp_heap *h, const char *o)
{
  return mp_places_find(&h->places, o) != 0 ||
	 (o >= h->mainl && o < h->mainl + h->layout->state);
}

static void check_reference(void *ud, const char *to, mp_how how,
			    uint64_t detail)
{
  checking *c = ud;
  (void)detail;
  if (how != MP_BY_SLOT && !is_object_there(c->h, to)) c->bad = true;
}

static void check_object(void *ud, uint32_t number, const void *o)
{
  checking *c = ud;
  if (c->bad) return;
  c->strings += obj_gct(o) == GCT_STR;
  if (mp_graph_reached(c->g, number))
    mp_heap_edges(c->h, o, check_reference, c);
}

const char *mp_copied_check(mp_heap *h, const mp_graph *g)
{
  checking c = { h, g, 0, false };
  mp_places_each(&h->places, check_object, &c);
  if (c.strings != AT(const uint32_t, mp_heap_strtab(h), STRTAB_COUNT))
    c.bad = true;
  return c.bad ? mp_copied_changing : NULL;
}

#else

const char *mp_copied_open(const mp_copied *c, mp_heaplayout *l, mp_arena *a)
{
  (void)c; (void)l; (void)a;
  return "this processor's layout is not known";
}

const char *mp_copied_find(mp_heap *h, const mp_copied *c,
			   const mp_heaplayout *l)
{
  (void)h; (void)c; (void)l;
  return NULL;
}

const char *mp_copied_check(mp_heap *h, const mp_graph *g)
{
  (void)h; (void)g;
  return NULL;
}

#endif
