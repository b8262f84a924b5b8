/* SPDX-License-Identifier: MIT */
/*
** See heapwalk/cmemory.h.
*/
#include "config.h"

#include <string.h>

#include "data/mem.h"
#include "heapwalk/blocks.h"
#include "heapwalk/cmemory.h"
#include "heapwalk/size.h"
#include "vm/peek.h"

#define STEP		4096u	/* Bytes read at a time. */
#define SCAN		((uint64_t)1 << 20)  /* Bytes searched of a block, */
#define SCANS		((uint64_t)256 << 20)  /* and of all. */
#define BLOCKS		1000000u  /* Blocks that are led to, at most. */
#define START		64u	/* Words into so many bytes of a block mean */
				/* its start. */
#define NOT_YET		UINT32_MAX

/* -- Holders ------------------------------------------------------------- */

static uint64_t key_of(uint64_t n) { return mp_mix(1, n); }

static uint32_t find_entry(const mp_cmemory *m, uint32_t node)
{
  return mp_map_get(&m->places, key_of(node));
}

/* Makes room for that many more entries. */
static bool make_room(mp_cmemory *m, uint32_t more)
{
  return mp_mem_room(&m->tree, m->n + more - 1, &m->cap, sizeof(*m->tree));
}

/* Fills in an entry whose holder has one already. A way up by jumps takes
** logarithmic time. */
static bool put_entry(mp_cmemory *m, uint32_t i, uint32_t node, uint32_t holder)
{
  const mp_leading *h = &m->tree[holder], *j = &m->tree[h->jump];
  uint32_t jump = h->depth - j->depth == j->depth - m->tree[j->jump].depth ?
		  j->jump : holder;
  m->tree[i] = (mp_leading){ 0, node, holder, h->depth + 1, jump };
  return mp_map_put(&m->places, key_of(node), i + 1);
}

/* The entry of a node, which gets one with all of its holders. NOT_YET: no
** memory. */
static uint32_t entry(mp_cmemory *m, const mp_graph *g, uint32_t node)
{
  uint32_t more = 0, u = node, i, holder;
  for (; (i = find_entry(m, u)) == 0; u = g->holder[u]) more++;
  if (more == 0) return i - 1;
  if (!make_room(m, more)) return NOT_YET;
  for (u = node, i = m->n + more; i > m->n; u = g->holder[u])
    m->tree[--i].node = u;
  holder = find_entry(m, u) - 1;
  for (m->n += more; i < m->n; holder = i++)
    if (!put_entry(m, i, m->tree[i].node, holder)) return NOT_YET;
  return m->n - 1;
}

/* The nearest that holds both. */
static uint32_t common(const mp_cmemory *m, uint32_t a, uint32_t b)
{
  const mp_leading *t = m->tree;
  if (t[a].depth < t[b].depth) { uint32_t c = a; a = b; b = c; }
  while (t[a].depth > t[b].depth)
    a = t[t[a].jump].depth >= t[b].depth ? t[a].jump : t[a].holder;
  while (a != b) {
    if (t[a].jump != t[b].jump) { a = t[a].jump; b = t[b].jump; }
    else { a = t[a].holder; b = t[b].holder; }
  }
  return a;
}

double mp_cmemory_retained(const mp_cmemory *m, uint32_t node)
{
  uint32_t i = find_entry(m, node);
  return i > 0 ? m->tree[i - 1].bytes : 0;
}

/* -- Blocks -------------------------------------------------------------- */

/* A block that is led to. */
typedef struct led {
  mp_cblock block;
  uint32_t owner;		/* Entry of the object that it counts for. */
  uint32_t steps;		/* From that. */
} led;

typedef struct search {
  mp_cmemory *m;
  mp_heap *h;
  const mp_graph *g;
  const mp_profile *p;
  mp_blocks blocks;
  led *a;			/* In the order of their steps; those found */
				/* by words into their middle come last. */
  bool inside;			/* Such words count. */
  uint32_t first;		/* The first of those. */
  uint32_t n, cap;
  mp_map seen;			/* Address of a block -> its place there + 1. */
  uint64_t left;		/* Bytes that may be searched. */
  bool failed;			/* There was no memory. */
} search;

/* Where words are read: in an object, or in a block that is led to. */
typedef struct source {
  uint32_t node, owner, steps;
} source;

static void add_block(search *s, const mp_cblock *b, const source *from)
{
  if (s->n >= BLOCKS) {
    s->m->partly = true;
    return;
  }
  if (!mp_mem_room(&s->a, s->n, &s->cap, sizeof(*s->a))) {
    s->failed = true;
    return;
  }
  s->a[s->n++] = (led){ *b, from->owner, from->steps + 1 };
  if (!mp_map_put(&s->seen, key_of(b->not), s->n)) s->failed = true;
}

/* Part of the Lua heap, which may be malloc's. */
static bool is_lua_memory(search *s, const char *p)
{
  return mp_places_find(&s->h->places, p) != 0 ||
	 (p >= s->h->mainl && p < s->h->mainl + s->h->layout->state);
}

static bool has(const mp_cblock *b, const void *p)
{
  return (uintptr_t)p - ~b->not < b->size;
}

/* Memory of the profile itself, whose tables know all blocks. */
static bool is_own(const search *s, const mp_cblock *b)
{
  return has(b, s->p) || has(b, s->p->heap);
}

static void follow(search *s, uint64_t word, source *from)
{
  mp_cblock b = mp_blocks_find(&s->blocks, (uintptr_t)word);
  uint32_t i;
  if (b.size == 0 || (!s->inside && word - ~b.not > START)) return;
  if (b.sampled == 0 &&
      (is_own(s, &b) || is_lua_memory(s, (const char *)~b.not)))
    return;
  if (from->owner == NOT_YET) from->owner = entry(s->m, s->g, from->node);
  if (from->owner == NOT_YET) s->failed = true;
  if (s->failed) return;
  i = mp_map_get(&s->seen, key_of(b.not));
  if (i == 0) add_block(s, &b, from);
  else if (i > s->first && s->a[i - 1].steps == from->steps + 1)
    s->a[i - 1].owner = common(s->m, s->a[i - 1].owner, from->owner);
}

static void search_words(search *s, const char *p, uint64_t size, source *from)
{
  uint64_t word;
  for (; size >= sizeof(word) && !s->failed; size -= sizeof(word)) {
    memcpy(&word, p, sizeof(word));
    p += sizeof(word);
    if (word != 0) follow(s, word, from);
  }
}

/* The bytes to be searched of so many. */
static uint64_t portion(search *s, uint64_t size)
{
  if (size > SCAN) size = SCAN;
  if (size > s->left) {
    size = s->left;
    s->m->partly = true;
  }
  s->left -= size;
  return size;
}

static void search_object(void *ud, uint32_t number, const void *o)
{
  search *s = ud;
  source from = { number, NOT_YET, 0 };
  uint64_t size;
  const char *p;
  if (s->failed || !mp_graph_reached(s->g, number)) return;
  p = mp_heap_payload(s->h, o, &size);
  if (p != NULL && p != s->p->own)
    search_words(s, p, portion(s, size), &from);
}

static void search_block(search *s, uint32_t i)
{
  source from = { 0, s->a[i].owner, s->a[i].steps };
  const mp_cblock b = s->a[i].block;
  uint64_t size = portion(s, b.size), at, n;
  char buf[STEP];
  for (at = 0; at < size; at += n) {
    n = size - at < STEP ? size - at : STEP;
    if (!mp_peek(buf, (const void *)(uintptr_t)(~b.not + at), n)) return;
    search_words(s, buf, n, &from);
  }
}

/* -- All ----------------------------------------------------------------- */

static void note_owners(search *s)
{
  mp_cmemory *m = s->m;
  uint32_t i;
  for (i = 0; i < s->n; i++) {
    const led *l = &s->a[i];
    if (l->block.sampled == 0) continue;
    m->owner[l->block.sampled - 1] = m->tree[l->owner].node;
    m->tree[l->owner].bytes +=
      mp_cmemory_bytes(&m->blocks[l->block.sampled - 1]);
  }
  for (i = m->n - 1; i > 0; i--)
    m->tree[m->tree[i].holder].bytes += m->tree[i].bytes;
}

static void search_once(search *s)
{
  uint32_t i;
  mp_places_each(&s->h->places, search_object, s);
  for (i = 0; i < s->n && !s->failed; i++) search_block(s, i);
}

/* A word that was left in memory points to the start of a block now and then,
** but more often into one: such words come second. */
static bool search_all(search *s)
{
  mp_blocks_look(&s->blocks, false);
  search_once(s);
  if (s->blocks.left == 0) s->m->partly = true;
  s->first = s->n;
  s->inside = true;
  mp_blocks_look(&s->blocks, true);
  search_once(s);
  if (s->blocks.left == 0) s->m->partly = true;
  if (!s->failed) note_owners(s);
  return !s->failed;
}

/* The lists that the results need. */
static bool prepare(mp_cmemory *m)
{
  uint32_t i;
  m->owner = mp_malloc(((size_t)m->nblocks + 1) * sizeof(*m->owner));
  if (m->owner == NULL || !make_room(m, 1)) return false;
  m->tree[m->n++] = (mp_leading){ 0, 0, 0, 0, 0 };
  for (i = 0; i < m->nblocks; i++) {
    m->owner[i] = MP_GRAPH_NONE;
    m->all += mp_cmemory_bytes(&m->blocks[i]);
  }
  return mp_map_put(&m->places, key_of(0), 1);
}

bool mp_cmemory_find(mp_cmemory *m, mp_native_block *blocks, uint32_t n,
		     mp_heap *h, const mp_graph *g, const mp_profile *p)
{
  search *s;
  bool ok;
  memset(m, 0, sizeof(*m));
  m->blocks = blocks;
  m->nblocks = n;
  s = mp_calloc(1, sizeof(*s));
  if (s == NULL || !prepare(m)) {
    mp_free(s);
    return false;
  }
  s->m = m;
  s->h = h;
  s->g = g;
  s->p = p;
  s->left = SCANS;
  ok = mp_blocks_init(&s->blocks, blocks, n) && search_all(s);
  mp_blocks_free(&s->blocks);
  mp_map_free(&s->seen);
  mp_free(s->a);
  mp_free(s);
  return ok;
}

void mp_cmemory_free(mp_cmemory *m)
{
  mp_free(m->blocks);
  mp_free(m->owner);
  mp_free(m->tree);
  mp_map_free(&m->places);
  memset(m, 0, sizeof(*m));
}
