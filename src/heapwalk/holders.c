/* SPDX-License-Identifier: MIT */
/*
** See heapwalk/holders.h.
*/
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "data/map.h"
#include "data/mem.h"
#include "heapwalk/holders.h"
#include "heapwalk/name.h"
#include "heapwalk/size.h"

/* -- Entries -------------------------------------------------------------- */

/*
** The objects that others hold, grouped for a reader.
**
** An entry stands for objects of one type that are held in one way by the
** objects of one line of heapwalk/holders.h: all values of a table that is used
** as an array, say. An object that retains at least `min` bytes, or
** leads to `cmin` of C memory, has an entry of its own; smaller ones share one.
**
** Memory comes from malloc. Made while the program stands still.
*/

/* -- The tree of holders ------------------------------------------------- */

/* Prepares it. From then on the graph's holders are not to be read, only
** whether there is one. False: no memory; entries_trim is to be called
** nevertheless. */
static bool entries_init(mp_entries *s, mp_heap *h, mp_graph *g, uint64_t min)
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

/* The key under which a table has the entry's first object, where that is a
** string; *len: its length. Or NULL. */
static const char *entry_key(const mp_entry *e, size_t *len)
{
  if (e->how != MP_BY_KEY) return NULL;
  return mp_heap_keytext(*(const uint64_t *)(uintptr_t)e->detail, len);
}

/* Whether its objects stand in an array, or under keys that are no strings. */
static bool entry_numbered(const mp_entry *e)
{
  size_t len;
  return e->how == MP_BY_INDEX ||
	 (e->how == MP_BY_KEY && entry_key(e, &len) == NULL);
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
  if (!mp_mem_room(&s->a, s->n, &s->cap, sizeof(*s->a))) {
    s->failed = true;
    return NULL;
  }
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

/* Whether what holds that much has an entry of its own. */
static bool is_large(const mp_entries *s, uint64_t bytes, double c)
{
  return bytes >= s->min || (s->c != NULL && c >= s->cmin);
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
  double cbytes;
  if (node == 0 || s->line[node] != c->holder || s->failed ||
      s->g->up[node] != c->up)
    return;
  self = mp_heap_size(s->h, to);
  bytes = mp_graph_isleaf(s->g, node) ? self : mp_graph_retained(s->g, node);
  type = mp_heap_type(to);
  key = mp_mix(way_of(c, how, detail), (uint64_t)(uintptr_t)type);
  key = mp_mix(key, c->up == c->holder);
  cbytes = s->c != NULL ? mp_cmemory_retained(s->c, node) : 0;
  if (is_large(s, bytes, cbytes)) key = mp_mix(key, node);
  if ((e = get_entry(c, key)) == NULL) return;
  if (e->count == 0)
    *e = (mp_entry){ .key = key, .detail = detail, .from = c->from,
		     .type = type, .up = c->up, .holder = c->holder,
		     .named = node, .merged = 1, .how = (uint8_t)how,
		     .direct = c->up == c->holder };
  s->line[node] = MP_ENTRY_LINE | MP_ENTRY_ANY;
  s->next[node] = e->first;
  e->first = node;
  if (!e->direct && e->up != c->up && e->count > 0) {
    if (entry_numbered(e)) e->up = MP_ENTRY_MANY;
    else e->several = true;
  }
  if (e->count > 0 && e->holder != c->holder) e->spread = true;
  e->count++;
  e->self += self;
  e->bytes += bytes;
  e->c += cbytes;
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
  const char *s = entry_key(a, &n), *t = entry_key(b, &m);
  if (s == NULL || t == NULL) return 0;
  for (i = 0; i < n && i < m && s[i] == t[i] && i < 32; i++);
  return (uint32_t)i;
}

static void append(mp_entries *s, mp_entry *to, const mp_entry *e)
{
  uint32_t node = e->first, prefix = common_prefix(to, e);
  to->prefix = to->merged == 1 || prefix < to->prefix ? prefix : to->prefix;
  to->several = to->several || e->several;
  to->spread = to->spread || e->spread || to->holder != e->holder;
  if (!to->direct && to->up != e->up) to->up = MP_ENTRY_MANY;
  while (s->next[node] != 0) node = s->next[node];
  s->next[node] = to->first;
  to->first = e->first;
  to->count += e->count;
  to->merged += e->merged;
  to->self += e->self;
  to->bytes += e->bytes;
  to->c += e->c;
}

#define KINDS	64		/* Kinds of entries, by type and way. */

/* Entries that are not large go into the first of their kind. */
static void merge_small(mp_entries *s)
{
  uint32_t kinds[KINDS], nkinds = 0, i, k, n = 0;
  for (i = 0; i < s->n; i++) {
    mp_entry e = s->a[i];
    if (is_large(s, e.bytes, e.c)) {
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

/* Finds the entries of a line: of the node and those that `next` leads to. The
** caller gives each entry's nodes their line. */
static void entries_find(mp_entries *s, uint32_t node)
{
  scan_line(s, node);
  if (!s->failed) merge_small(s);
}

/* Gives back its memory. */
static void entries_trim(mp_entries *s)
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

/* -- Names of entries ----------------------------------------------------- */

#define CHAIN		6	/* References named between two holders. */

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

uint32_t mp_edge_name(mp_heap *h, uint32_t up, uint32_t node, char *buf,
		      size_t n)
{
  looking l = { h, node, 0, NULL, buf, n };
  if (up != 0) l.from = mp_places_address(&h->places, up);
  buf[0] = '\0';
  mp_heap_edges(h, l.from, look, &l);
  return l.found;
}

/* -- Entries ------------------------------------------------------------- */

static bool is_trace(const mp_heap *h, uint32_t node)
{
  const char *o = node != 0 ? mp_places_address(&h->places, node) : NULL;
  return o != NULL && obj_gct(o) == GCT_TRACE;
}

/* References from the holder down to the node, as names one after the other.
** A trace that another one leads to tells nothing of its own. */
static void name_chain(const mp_entries *s, uint32_t holder, uint32_t node,
		       char *buf, size_t n)
{
  uint32_t chain[CHAIN], k = 0;
  size_t at = 0;
  buf[0] = '\0';
  for (; k < CHAIN && node != holder; node = s->g->up[node]) {
    if (k > 0 && is_trace(s->h, node) && is_trace(s->h, s->g->up[node]))
      continue;
    chain[k++] = node;
  }
  if (node != holder)
    at += (size_t)snprintf(buf, n, " ...");
  while (k-- > 0 && at + 1 < n) {
    node = chain[k];
    mp_edge_name(s->h, s->g->up[node], node, buf + at, n - at);
    at += strlen(buf + at);
  }
}

#define ROOM		(MP_LABEL_MAX * (CHAIN + 2))

/* The beginning of the keys. None of its characters is cut in two. */
static void name_prefix(const mp_entry *e, const char *key, char *buf, size_t n)
{
  char start[MP_LABEL_MAX];
  size_t len = e->prefix;
  while (len > 0 && ((unsigned char)key[len] & 0xc0) == 0x80) len--;
  mp_heap_keystart(key, len, start, sizeof(start));
  snprintf(buf, n, len > 0 ? "[\"%s*\"]" : ".*", start);
}

/* Where several share a line, by a pattern. */
static void name_pattern(const mp_entry *e, char *buf, size_t n)
{
  size_t len;
  const char *key = entry_key(e, &len);
  if (e->how == MP_BY_INDEX || (e->how == MP_BY_KEY && key == NULL))
    snprintf(buf, n, "[*]");
  else if (e->how == MP_BY_KEY)
    name_prefix(e, key, buf, n);
  else
    snprintf(buf, n, " *");
}

#define EACH	1		/* Refers to objects of an entry; */
#define ELEMENT	2		/* the holder has it as an element. */

typedef struct counting {
  const mp_entries *s;
  mp_map ups;			/* By node: EACH or ELEMENT. */
  uint32_t elements;
} counting;

static void count_element(void *ud, const char *to, mp_how how, uint64_t detail)
{
  counting *c = ud;
  const mp_entry e = { .how = (uint8_t)how, .detail = detail };
  uint64_t node = mp_places_find(&c->s->h->places, to);
  if (node != 0 && entry_numbered(&e) &&
      mp_map_get(&c->ups, mp_mix(0, node)) == EACH &&
      mp_map_put(&c->ups, mp_mix(0, node), ELEMENT))
    c->elements++;
}

/* Whether all that refer to the entry's objects are elements of its holder. */
static bool elements_refer(const mp_entries *s, const mp_entry *e)
{
  counting c = { s, MP_MAP_EMPTY, 0 };
  uint32_t node;
  bool all;
  for (node = e->first; node != 0; node = s->next[node])
    if (!mp_map_put(&c.ups, mp_mix(0, s->g->up[node]), EACH)) break;
  if (node == 0)
    mp_heap_edges(s->h, mp_entries_object(s, e->holder), count_element, &c);
  all = node == 0 && c.elements == c.ups.count;
  mp_map_free(&c.ups);
  return all;
}

/* The names from the holder to one of the nodes: with several that refer to the
** entry's objects, the way is that of none of them. */
static void name_way(const mp_entries *s, const mp_entry *e, uint32_t node,
		     char *buf, size_t n)
{
  size_t at;
  if (!e->several || e->spread) {
    name_chain(s, e->holder, node, buf, n);
    return;
  }
  at = (size_t)snprintf(buf, n, elements_refer(s, e) ? "[*]" : " ...");
  if (node == e->named)
    mp_edge_name(s->h, s->g->up[node], node, buf + at, n - at);
}

/* The name of an entry, to be appended to that of its holder. From malloc, or
** NULL: no memory. */
static char *entry_name(const mp_entries *s, const mp_entry *e)
{
  char buf[ROOM];
  size_t at;
  if (e->up == MP_ENTRY_MANY) return mp_mem_string(" shared objects");
  if (e->merged == 1 && !(e->count > 1 && entry_numbered(e))) {
    name_way(s, e, e->named, buf, sizeof(buf));
    return mp_mem_string(buf);
  }
  name_way(s, e, e->up, buf, sizeof(buf));
  at = strlen(buf);
  name_pattern(e, buf + at, sizeof(buf) - at);
  return mp_mem_string(buf);
}

/* -- Holders -------------------------------------------------------------- */

static uint32_t new_line(mp_holders *s)
{
  if (!mp_mem_room(&s->lines, s->nlines, &s->caplines, sizeof(*s->lines))) {
    s->entries.failed = true;
    return 0;
  }
  memset(&s->lines[s->nlines], 0, sizeof(*s->lines));
  return s->nlines++;
}

/* A name for the objects of an entry: of several, the class that all have. From
** malloc; NULL: there is none, or no memory. */
static char *describe(const mp_entries *all, const mp_entry *e)
{
  const char *first = mp_entries_object(all, e->first);
  char what[MP_LABEL_MAX], class[MP_LABEL_MAX];
  uint32_t node = e->first;
  if (!mp_heap_hasclass(first)) {
    if (e->count > 1) return NULL;
    mp_heap_describe(first, what, sizeof(what));
    return mp_mem_string(what);
  }
  while ((node = all->next[node]) != 0)
    if (mp_heap_classkey(mp_entries_object(all, node)) !=
	mp_heap_classkey(first))
      return NULL;
  mp_heap_class(all->h, first, class, sizeof(class));
  snprintf(what, sizeof(what), "%s%s%.*s", e->type,
	   class[0] != '\0' ? " " : "", MP_LABEL_MAX - 16, class);
  return mp_mem_string(what);
}

static void add_line(mp_holders *s, uint32_t parent, const mp_entry *e)
{
  const mp_entries *all = &s->entries;
  uint32_t i = new_line(s), node;
  mp_holder *l;
  if (i == 0) return;
  l = &s->lines[i];
  l->parent = parent;
  l->depth = s->lines[parent].depth + 1;
  l->count = e->count;
  l->self = e->self;
  l->bytes = e->bytes;
  l->c = e->c;
  l->type = e->type;
  l->first = e->first;
  l->label = entry_name(all, e);
  l->what = describe(all, e);
  for (node = e->first; node != 0; node = all->next[node]) {
    mp_heap_slots(mp_entries_object(all, node), &l->slots);
    all->line[node] = MP_ENTRY_LINE | i;
  }
}

/* Objects without a line of their own get that of their holder. */
static void fill_up(mp_holders *s)
{
  mp_entries *e = &s->entries;
  uint32_t *line = e->line, i, u, next, found;
  for (i = 1; i < e->g->n; i++) {
    for (u = i; u != 0 && !mp_entries_has(e, u); u = line[u]);
    found = u == 0 ? MP_ENTRY_LINE : line[u];
    for (u = i; u != 0 && !mp_entries_has(e, u); u = next) {
      next = line[u];
      line[u] = found;
    }
  }
}

bool mp_holders_make(mp_holders *s, mp_heap *h, mp_graph *g, double share,
		     const mp_cmemory *c)
{
  mp_entries *e = &s->entries;
  double all = (double)mp_graph_retained(g, 0);
  uint32_t i, k;
  memset(s, 0, sizeof(*s));
  if (!entries_init(e, h, g, (uint64_t)(share * all))) return false;
  new_line(s);  /* Number 0. */
  if (e->failed) return false;
  s->lines[0].bytes = mp_graph_retained(g, 0);
  s->lines[0].type = "VM";
  if (c != NULL) {
    e->c = c;
    e->cmin = share * c->all > 1 ? share * c->all : 1;
    s->lines[0].c = mp_cmemory_retained(c, 0);
  }
  for (i = 0; i < s->nlines && !e->failed; i++) {
    const mp_holder *l = &s->lines[i];
    if (l->depth >= MP_HOLDERS_DEPTH || !is_large(e, l->bytes, l->c))
      continue;
    entries_find(e, s->lines[i].first);
    for (k = 0; k < e->n && !e->failed; k++) add_line(s, i, &e->a[k]);
  }
  if (!e->failed) fill_up(s);
  return !e->failed;
}

void mp_holders_trim(mp_holders *s)
{
  entries_trim(&s->entries);
}

void mp_holders_free(mp_holders *s)
{
  uint32_t i;
  for (i = 0; i < s->nlines; i++) {
    mp_free(s->lines[i].label);
    mp_free(s->lines[i].what);
  }
  mp_holders_trim(s);
  mp_free(s->lines);
  memset(s, 0, sizeof(*s));
}
