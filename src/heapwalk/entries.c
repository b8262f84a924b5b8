/* SPDX-License-Identifier: MIT */
/*
** See heapwalk/entries.h.
*/
#include "config.h"

#include <string.h>

#include "data/map.h"
#include "data/mem.h"
#include "heapwalk/entries.h"
#include "heapwalk/name.h"
#include "heapwalk/size.h"

/* -- The tree of holders ------------------------------------------------- */

bool mp_entries_init(mp_entries *s, mp_heap *h, mp_graph *g, uint64_t min)
{
  uint32_t i;
  memset(s, 0, sizeof(*s));
  s->h = h;
  s->g = g;
  s->min = min > 0 ? min : 1;
  s->line = g->holder;
  s->next = mp_usage_numbers(&g->usage, g->n);
  s->first = mp_usage_numbers(&g->usage, g->ninner);
  if (s->next == NULL || s->first == NULL) return false;
  for (i = g->n - 1; i > 0; i--)
    if (mp_graph_reached(g, i)) {
      uint32_t *first = &s->first[mp_graph_number(g, g->holder[i])];
      s->next[i] = *first;
      *first = i;
    }
  return true;
}

/* -- Entries ------------------------------------------------------------- */

typedef struct scan {
  mp_entries *s;
  mp_map map;			/* Key -> entry + 1. */
  uint32_t holder, up;		/* Nodes. */
  const char *from;		/* Object of `up`. */
} scan;

const char *mp_entry_key(const mp_entry *e, size_t *len)
{
  if (e->how != MP_BY_KEY) return NULL;
  return mp_heap_keytext(*(const uint64_t *)(uintptr_t)e->detail, len);
}

bool mp_entry_numbered(const mp_entry *e)
{
  size_t len;
  return e->how == MP_BY_INDEX ||
	 (e->how == MP_BY_KEY && mp_entry_key(e, &len) == NULL);
}

/* The key of a way to hold an object: equal for ways that a reader need not
** tell apart. */
static uint64_t way_of(const scan *c, mp_how how, uint64_t detail)
{
  char name[MP_LABEL_MAX];
  uint64_t key = how;
  size_t len, i;
  switch (how) {
  case MP_BY_ROOT: return mp_mix(key, detail);
  case MP_BY_KEY:
    detail = *(const uint64_t *)(uintptr_t)detail;
    return mp_heap_keytext(detail, &len) ? mp_mix(key, detail) : key;
  case MP_BY_UPVALUE: case MP_BY_SLOT:
    mp_heap_label(c->s->h, c->from, how, detail, name, sizeof(name));
    for (i = 0; name[i] != '\0'; i++)
      key = mp_mix(key, (unsigned char)name[i]);
    return key;
  default: return key;
  }
}

static mp_entry *new_entry(mp_entries *s)
{
  void *entries = s->a;
  if (!mp_mem_room(&entries, s->n, &s->cap, sizeof(*s->a))) {
    s->failed = true;
    return NULL;
  }
  s->a = entries;
  return memset(&s->a[s->n++], 0, sizeof(*s->a));
}

static mp_entry *get_entry(scan *c, uint64_t key)
{
  mp_entries *s = c->s;
  uint32_t i = mp_map_get(&c->map, key);
  mp_entry *e;
  if (i != 0) return &s->a[i - 1];
  if ((e = new_entry(s)) == NULL) return NULL;
  e->key = key;
  if (!mp_map_put(&c->map, key, s->n)) s->failed = true;
  return e;
}

/* Adds an object that the holder holds to its entry. The reference comes from
** `up`, which is the holder or held by it. */
static void see(void *ud, const char *to, mp_how how, uint64_t detail)
{
  scan *c = ud;
  mp_entries *s = c->s;
  uint32_t node = mp_places_find(&s->h->places, to);
  uint64_t key, self, bytes;
  const char *type;
  mp_entry *e;
  if (node == 0 || s->line[node] != c->holder || s->failed ||
      s->g->up[node] != c->up)
    return;
  self = mp_heap_size(s->h, to);
  bytes = mp_graph_isleaf(s->g, node) ? self : mp_graph_retained(s->g, node);
  type = mp_heap_type(to);
  key = mp_mix(way_of(c, how, detail), (uint64_t)(uintptr_t)type);
  key = mp_mix(key, c->up == c->holder);
  if (bytes >= s->min) key = mp_mix(key, node);
  if ((e = get_entry(c, key)) == NULL) return;
  if (e->count == 0)
    *e = (mp_entry){ key, detail, c->from, type, 0, 0, 0, 0, c->up, c->holder,
		     node, 1, 0, (uint8_t)how, c->up == c->holder };
  s->line[node] = MP_ENTRY_LINE | MP_ENTRY_ANY;
  s->next[node] = e->first;
  e->first = node;
  if (!e->direct && e->up != c->up && e->count > 0 && mp_entry_numbered(e))
    e->up = MP_ENTRY_MANY;
  e->count++;
  e->self += self;
  e->bytes += bytes;
}

static void scan_from(scan *c, uint32_t up)
{
  c->up = up;
  c->from = mp_entries_object(c->s, up);
  mp_heap_edges(c->s->h, c->from, see, c);
}

/* Lists what a node holds without referring to it. */
static void list_shared(mp_entries *s, uint32_t node)
{
  uint32_t i = s->first[mp_graph_number(s->g, node)];
  s->shared.n = 0;
  for (; i != 0; i = s->next[i]) {
    if (s->g->up[i] == node) continue;
    if (!mp_list_room(&s->g->usage, &s->shared, 1)) s->failed = true;
    if (s->failed) return;
    s->shared.a[s->shared.n++] = i;
  }
}

/* Adds what a node holds. */
static void scan_node(scan *c, uint32_t node)
{
  mp_entries *s = c->s;
  uint64_t i;
  if (mp_graph_isleaf(s->g, node)) return;
  list_shared(s, node);
  c->holder = node;
  scan_from(c, node);
  for (i = 0; i < s->shared.n && !s->failed; i++)
    if (!mp_entries_has(s, s->shared.a[i]))
      scan_from(c, s->g->up[s->shared.a[i]]);
}

/* Finds all entries of a line that begins with the node. */
static void scan_line(mp_entries *s, uint32_t node)
{
  scan c = { s, MP_MAP_EMPTY, 0, 0, NULL };
  s->n = 0;
  do {
    scan_node(&c, node);
    node = s->next[node];
  } while (node != 0 && !s->failed);
  mp_map_free(&c.map);
}

/* -- Small ones together ------------------------------------------------- */

static uint32_t common_prefix(const mp_entry *a, const mp_entry *b)
{
  size_t n, m, i;
  const char *s = mp_entry_key(a, &n), *t = mp_entry_key(b, &m);
  if (s == NULL || t == NULL) return 0;
  for (i = 0; i < n && i < m && s[i] == t[i] && i < 32; i++);
  return (uint32_t)i;
}

static void append(mp_entries *s, mp_entry *to, const mp_entry *e)
{
  uint32_t node = e->first, prefix = common_prefix(to, e);
  to->prefix = to->merged == 1 || prefix < to->prefix ? prefix : to->prefix;
  if (!to->direct && to->up != e->up) to->up = MP_ENTRY_MANY;
  while (s->next[node] != 0) node = s->next[node];
  s->next[node] = to->first;
  to->first = e->first;
  to->count += e->count;
  to->merged += e->merged;
  to->self += e->self;
  to->bytes += e->bytes;
}

#define KINDS	64		/* Kinds of entries, by type and way. */

/* Entries of less than `min` bytes go into the first of their kind. */
static void merge_small(mp_entries *s)
{
  uint32_t kinds[KINDS], nkinds = 0, i, k, n = 0;
  for (i = 0; i < s->n; i++) {
    mp_entry e = s->a[i];
    if (e.bytes >= s->min) {
      s->a[n++] = e;
      continue;
    }
    for (k = 0; k < nkinds; k++) {
      const mp_entry *to = &s->a[kinds[k]];
      if (to->type == e.type && to->how == e.how && to->direct == e.direct)
	break;
    }
    if (k < nkinds) {
      append(s, &s->a[kinds[k]], &e);
    } else {
      if (nkinds < KINDS) kinds[nkinds++] = n;
      s->a[n++] = e;
    }
  }
  s->n = n;
}

void mp_entries_find(mp_entries *s, uint32_t node)
{
  scan_line(s, node);
  if (!s->failed) merge_small(s);
}

void mp_entries_trim(mp_entries *s)
{
  mp_free(s->next);
  mp_free(s->first);
  mp_free(s->shared.a);
  mp_free(s->a);
  s->shared = (mp_list){ NULL, 0, 0 };
  s->next = s->first = NULL;
  s->a = NULL;
  s->n = s->cap = 0;
}
