/* SPDX-License-Identifier: MIT */
/*
** Lines of holders. See profile/holders.h.
*/
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "data/map.h"
#include "data/mem.h"
#include "profile/holders.h"
#include "vm/heapname.h"

#define CHAIN		4	/* References named between two holders. */
#define PENDING		UINT32_MAX  /* A node that waits for its line. */

/* Objects of one line's objects, in one way. */
typedef struct mp_entry {
  uint64_t key;			/* Of the way, and the type. */
  uint64_t detail;		/* The first one's. */
  const char *from;		/* Object that refers to the first one. */
  const char *type;
  uint64_t self, bytes;
  uint32_t first, count;	/* Nodes. */
  uint32_t up;			/* Node that refers to them, or PENDING: */
				/* there are several. */
  uint32_t holder, named;	/* Of the first one; and that itself. */
  uint32_t merged;		/* Entries that went into it. */
  uint32_t prefix;		/* Bytes that their keys have in common. */
  uint8_t how;
  bool direct;			/* Its holder refers to it. */
} mp_entry;

static const char *object(const mp_holders *s, uint32_t node)
{
  return node == 0 ? NULL : mp_places_address(&s->h->places, node);
}

/* -- The tree of holders ------------------------------------------------- */

static bool make_tree(mp_holders *s)
{
  const mp_graph *g = s->g;
  uint32_t i, sum = 0, *at;
  s->line = mp_calloc(g->n, sizeof(*s->line));
  s->next = mp_calloc(g->n, sizeof(*s->next));
  s->begin = mp_calloc((size_t)g->n + 2, sizeof(*s->begin));
  s->held = mp_malloc(((size_t)g->n + 1) * sizeof(*s->held));
  if (s->line == NULL || s->next == NULL || s->begin == NULL ||
      s->held == NULL)
    return false;
  at = s->begin + 1;
  for (i = 1; i < g->n; i++)
    if (g->holder[i] != MP_GRAPH_NONE) at[g->holder[i] + 1]++;
  for (i = 0; i <= g->n; i++) {
    uint32_t count = s->begin[i];
    s->begin[i] = sum += count;
  }
  for (i = 1; i < g->n; i++)  /* Moves each beginning to the next one's. */
    if (g->holder[i] != MP_GRAPH_NONE) s->held[at[g->holder[i]]++] = i;
  return true;
}

/* -- References ---------------------------------------------------------- */

typedef struct looking {
  mp_heap *h;
  uint32_t node, found;
  const char *from;
  char *buf;
  size_t n;
} looking;

static void look(void *ud, const char *to, mp_how how, uint64_t detail)
{
  looking *l = ud;
  if (mp_places_find(&l->h->places, to) != l->node) return;
  if (l->found++ == 0)
    mp_heap_label(l->h, l->from, how, detail, l->buf, l->n);
}

uint32_t mp_holders_edge(mp_heap *h, uint32_t up, uint32_t node, char *buf,
			 size_t n)
{
  looking l = { h, node, 0, NULL, buf, n };
  if (up != 0) l.from = mp_places_address(&h->places, up);
  buf[0] = '\0';
  mp_heap_edges(h, l.from, look, &l);
  return l.found;
}

/* -- Entries ------------------------------------------------------------- */

typedef struct scan {
  mp_holders *s;
  mp_map map;			/* Key -> entry + 1. */
  uint32_t holder, up;		/* Nodes. */
  const char *from;		/* Object of `up`. */
} scan;

static const char *key_of(const mp_entry *e, size_t *len)
{
  if (e->how != MP_BY_KEY) return NULL;
  return mp_heap_keytext(*(const uint64_t *)(uintptr_t)e->detail, len);
}

/* Whether its objects stand in an array, or under keys like numbers. */
static bool by_number(const mp_entry *e)
{
  size_t len;
  return e->how == MP_BY_INDEX ||
	 (e->how == MP_BY_KEY && key_of(e, &len) == NULL);
}

/* Ways that differ only in what does not matter to a reader have one key. */
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

static mp_entry *new_entry(mp_holders *s)
{
  void *entries = s->entries;
  if (!mp_mem_room(&entries, s->nentries, &s->capentries,
		   sizeof(*s->entries))) {
    s->failed = true;
    return NULL;
  }
  s->entries = entries;
  return memset(&s->entries[s->nentries++], 0, sizeof(*s->entries));
}

static mp_entry *get_entry(scan *c, uint64_t key)
{
  mp_holders *s = c->s;
  uint32_t i = mp_map_get(&c->map, key);
  mp_entry *e;
  if (i != 0) return &s->entries[i - 1];
  if ((e = new_entry(s)) == NULL) return NULL;
  e->key = key;
  if (!mp_map_put(&c->map, key, s->nentries)) s->failed = true;
  return e;
}

/* What the holder holds, seen from `up`, which is the holder or held by it. */
static void see(void *ud, const char *to, mp_how how, uint64_t detail)
{
  scan *c = ud;
  mp_holders *s = c->s;
  uint32_t node = mp_places_find(&s->h->places, to);
  const char *type;
  uint64_t key;
  mp_entry *e;
  if (node == 0 || s->line[node] != 0 || s->failed ||
      s->g->holder[node] != c->holder || s->g->up[node] != c->up)
    return;
  type = mp_heap_type(to);
  key = mp_mix(way_of(c, how, detail), (uint64_t)(uintptr_t)type);
  key = mp_mix(key, c->up == c->holder);
  if (s->g->retained[node] >= s->min) key = mp_mix(key, node);
  if ((e = get_entry(c, key)) == NULL) return;
  if (e->count == 0)
    *e = (mp_entry){ key, detail, c->from, type, 0, 0, 0, 0, c->up, c->holder,
		     node, 1, 0, (uint8_t)how, c->up == c->holder };
  s->line[node] = PENDING;
  s->next[node] = e->first;
  e->first = node;
  if (!e->direct && e->up != c->up && e->count > 0 && by_number(e))
    e->up = PENDING;
  e->count++;
  e->self += mp_heap_size(s->h, to);
  e->bytes += s->g->retained[node];
}

static void scan_from(scan *c, uint32_t up)
{
  c->up = up;
  c->from = object(c->s, up);
  mp_heap_edges(c->s->h, c->from, see, c);
}

/* Finds all entries of a line. */
static void scan_line(mp_holders *s, uint32_t line)
{
  scan c = { s, MP_MAP_EMPTY, 0, 0, NULL };
  uint32_t i, node = s->lines[line].first;
  s->nentries = 0;
  do {
    c.holder = node;
    scan_from(&c, node);
    for (i = s->begin[node]; i < s->begin[node + 1] && !s->failed; i++)
      if (s->line[s->held[i]] == 0) scan_from(&c, s->g->up[s->held[i]]);
    node = s->next[node];
  } while (node != 0 && !s->failed);
  mp_map_free(&c.map);
}

/* -- Small ones together ------------------------------------------------- */

static uint32_t common_prefix(const mp_entry *a, const mp_entry *b)
{
  size_t n, m, i;
  const char *s = key_of(a, &n), *t = key_of(b, &m);
  if (s == NULL || t == NULL) return 0;
  for (i = 0; i < n && i < m && s[i] == t[i] && i < 32; i++);
  return (uint32_t)i;
}

static void append(mp_holders *s, mp_entry *to, const mp_entry *e)
{
  uint32_t node = e->first, prefix = common_prefix(to, e);
  to->prefix = to->merged == 1 || prefix < to->prefix ? prefix : to->prefix;
  if (!to->direct && to->up != e->up) to->up = PENDING;
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
static void merge_small(mp_holders *s)
{
  uint32_t kinds[KINDS], nkinds = 0, i, k, n = 0;
  for (i = 0; i < s->nentries; i++) {
    mp_entry e = s->entries[i];
    if (e.bytes >= s->min) {
      s->entries[n++] = e;
      continue;
    }
    for (k = 0; k < nkinds; k++) {
      const mp_entry *to = &s->entries[kinds[k]];
      if (to->type == e.type && to->how == e.how && to->direct == e.direct)
	break;
    }
    if (k < nkinds) {
      append(s, &s->entries[kinds[k]], &e);
    } else {
      if (nkinds < KINDS) kinds[nkinds++] = n;
      s->entries[n++] = e;
    }
  }
  s->nentries = n;
}

/* -- Lines --------------------------------------------------------------- */

/* References from the holder down to the node, as names one after the other. */
static void name_chain(mp_holders *s, uint32_t holder, uint32_t node,
		       char *buf, size_t n)
{
  uint32_t chain[CHAIN], k = 0;
  size_t at = 0;
  buf[0] = '\0';
  for (; k < CHAIN && node != holder; node = s->g->up[node])
    chain[k++] = node;
  if (node != holder)
    at += (size_t)snprintf(buf, n, " ...");
  while (k-- > 0 && at + 1 < n) {
    node = chain[k];
    mp_holders_edge(s->h, s->g->up[node], node, buf + at, n - at);
    at += strlen(buf + at);
  }
}

#define ROOM		(MP_LABEL_MAX * (CHAIN + 2))

/* Where several share a line, by a pattern. */
static void name_pattern(const mp_entry *e, char *buf, size_t n)
{
  size_t len;
  const char *key = key_of(e, &len);
  if (e->how == MP_BY_INDEX || (e->how == MP_BY_KEY && key == NULL))
    snprintf(buf, n, "[*]");
  else if (e->how == MP_BY_KEY && e->prefix == 0)
    snprintf(buf, n, ".*");
  else if (e->how == MP_BY_KEY)
    snprintf(buf, n, "[\"%.*s*\"]", (int)e->prefix, key);
  else
    snprintf(buf, n, " *");
}

static char *name_entry(mp_holders *s, const mp_entry *e)
{
  char buf[ROOM];
  size_t at;
  if (e->up == PENDING) return strdup(" shared objects");
  if (e->merged == 1 && !(e->count > 1 && by_number(e))) {
    name_chain(s, e->holder, e->named, buf, sizeof(buf));
    return strdup(buf);
  }
  name_chain(s, e->holder, e->up, buf, sizeof(buf));
  at = strlen(buf);
  name_pattern(e, buf + at, sizeof(buf) - at);
  return strdup(buf);
}

static uint32_t new_line(mp_holders *s)
{
  void *lines = s->lines;
  if (!mp_mem_room(&lines, s->nlines, &s->caplines, sizeof(*s->lines))) {
    s->failed = true;
    return 0;
  }
  s->lines = lines;
  memset(&s->lines[s->nlines], 0, sizeof(*s->lines));
  return s->nlines++;
}

static void add_line(mp_holders *s, uint32_t parent, const mp_entry *e)
{
  uint32_t i = new_line(s), node;
  char what[MP_LABEL_MAX];
  mp_holder *l;
  if (i == 0) return;
  l = &s->lines[i];
  l->parent = parent;
  l->depth = s->lines[parent].depth + 1;
  l->count = e->count;
  l->self = e->self;
  l->bytes = e->bytes;
  l->type = e->type;
  l->first = e->first;
  l->label = name_entry(s, e);
  if (e->count == 1) {
    mp_heap_describe(object(s, e->first), what, sizeof(what));
    l->what = strdup(what);
  }
  for (node = e->first; node != 0; node = s->next[node]) s->line[node] = i;
}

/* What has no line has that of its holder. */
static void fill_up(mp_holders *s)
{
  const mp_graph *g = s->g;
  uint32_t i;
  for (i = 1; i < g->nordered; i++)
    if (s->line[g->order[i]] == 0)
      s->line[g->order[i]] = s->line[g->holder[g->order[i]]];
  for (i = 1; i < g->n; i++)
    if (s->line[i] == 0 && g->holder[i] != MP_GRAPH_NONE)
      s->line[i] = s->line[g->holder[i]];
}

bool mp_holders_make(mp_holders *s, mp_heap *h, mp_graph *g, uint64_t min)
{
  uint32_t i, k;
  memset(s, 0, sizeof(*s));
  s->h = h;
  s->g = g;
  s->min = min > 0 ? min : 1;
  if (!make_tree(s)) return false;
  new_line(s);  /* Number 0. */
  if (s->failed) return false;
  s->lines[0].bytes = g->retained[0];
  s->lines[0].type = "VM";
  for (i = 0; i < s->nlines && !s->failed; i++) {
    if (s->lines[i].depth >= MP_HOLDERS_DEPTH || s->lines[i].bytes < s->min)
      continue;
    scan_line(s, i);
    if (!s->failed) merge_small(s);
    for (k = 0; k < s->nentries && !s->failed; k++)
      add_line(s, i, &s->entries[k]);
  }
  if (!s->failed) fill_up(s);
  return !s->failed;
}

void mp_holders_trim(mp_holders *s)
{
  mp_free(s->next);
  mp_free(s->begin);
  mp_free(s->held);
  mp_free(s->entries);
  s->next = s->begin = s->held = NULL;
  s->entries = NULL;
  s->capentries = 0;
}

void mp_holders_free(mp_holders *s)
{
  uint32_t i;
  for (i = 0; i < s->nlines; i++) {
    free(s->lines[i].label);
    free(s->lines[i].what);
  }
  mp_holders_trim(s);
  mp_free(s->lines);
  mp_free(s->line);
  memset(s, 0, sizeof(*s));
}
