/* SPDX-License-Identifier: MIT */
/*
** The reasons why an object is alive. See heapwalk/why.h; the fields are
** documented in jit.mp(3).
*/
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "data/mem.h"
#include "heapwalk/holders.h"
#include "heapwalk/name.h"
#include "heapwalk/prove.h"
#include "heapwalk/size.h"
#include "heapwalk/why.h"
#include "profile/field.h"

#define PATH_MAX_SHOWN	40	/* References of a path that are named. */

typedef struct asking {
  mp_heapwhy *w;
  mp_heap h;
  mp_graph g;
  uint32_t target, node;	/* The node whose references are looked at. */
  uint32_t count;		/* References from it to the target. */
  bool failed;
} asking;

static const char *object(const asking *k, uint32_t node)
{
  return mp_places_address(&k->h.places, node);
}

/* -- Paths --------------------------------------------------------------- */

/* The names of a path, put together; cut: its beginning is left out. NULL: no
** memory. */
static char *join_names(asking *k, const uint32_t *nodes, uint32_t n, bool cut)
{
  size_t at = cut ? 3 : 0;
  char *path = malloc((size_t)(n + 1) * MP_LABEL_MAX);
  if (path == NULL) return NULL;
  strcpy(path, cut ? "..." : "");
  while (n-- > 0) {
    uint32_t up = n > 0 || nodes[n] != k->target ? k->g.up[nodes[n]] : k->node;
    mp_edge_name(&k->h, up, nodes[n], path + at, MP_LABEL_MAX);
    at += strlen(path + at);
  }
  return path;
}

/* Makes the path to the node, and on to the target, if that is another one.
** Returns the number of its references, or 0: it leads through the target. */
static uint32_t make_path(asking *k, uint32_t node, bool on, char **path)
{
  uint32_t nodes[PATH_MAX_SHOWN + 1], n = 0, all = 0, up = node;
  if (on) nodes[n++] = k->target;
  for (; up != 0; up = k->g.up[up], all++) {
    if (on && up == k->target) return 0;
    if (n <= PATH_MAX_SHOWN) nodes[n++] = up;
  }
  *path = join_names(k, nodes, n, all + on > n);
  if (*path == NULL) k->failed = true;
  return all + on;
}

/* -- References ---------------------------------------------------------- */

static void count_edge(void *ud, const char *to, mp_how how, uint64_t detail)
{
  asking *k = ud;
  (void)how; (void)detail;
  if (to == object(k, k->target)) k->count++;
}

static void add_reference(asking *k)
{
  mp_heapwhy *w = k->w;
  char what[MP_LABEL_MAX];
  mp_reference *r;
  if (!mp_mem_room(&w->list, w->nlist, &w->caplist, sizeof(*w->list))) {
    k->failed = true;
    return;
  }
  r = &w->list[w->nlist++];
  *r = (mp_reference){ NULL, NULL, 0, k->count };
  r->distance = make_path(k, k->node, true, &r->path);
  if (k->node == 0) return;
  mp_heap_describe(object(k, k->node), what, sizeof(what));
  r->from = strdup(what);
}

static int by_distance(const void *a, const void *b)
{
  uint32_t x = ((const mp_reference *)a)->distance;
  uint32_t y = ((const mp_reference *)b)->distance;
  if (x == 0 || y == 0) return (x == 0) - (y == 0);
  return x < y ? -1 : x > y;
}

static void find_references(asking *k)
{
  for (k->node = 0; k->node < k->g.n && !k->failed; k->node++) {
    if (mp_graph_isleaf(&k->g, k->node) || !mp_graph_reached(&k->g, k->node))
      continue;
    k->count = 0;
    mp_heap_edges(&k->h, k->node == 0 ? NULL : object(k, k->node), count_edge,
		  k);
    if (k->count > 0 && k->node != k->target) add_reference(k);
  }
  if (k->w->nlist > 1)
    qsort(k->w->list, k->w->nlist, sizeof(*k->w->list), by_distance);
}

/* -- The question -------------------------------------------------------- */

static const char no_memory[] = "there is no memory for it";

const char *mp_heapwhy_look(mp_heap *h, mp_graph *g, lua_State *L, int index,
			    uint32_t *number)
{
  const char *o;
  if (!mp_heap_open(h, L))
    return h->layout->proved ? no_memory : h->layout->why;
  o = mp_heap_argument(h, L, index);
  *number = o == NULL ? 0 : mp_places_find(&h->places, o);
  if (*number == 0) return "only objects of the heap are held: strings, "
    "tables, functions, coroutines, userdata and cdata";
  return mp_heap_graph(h, g) && mp_graph_dominate(g) ? NULL : no_memory;
}

static const char *answer(asking *k, lua_State *L, int index)
{
  char what[MP_LABEL_MAX];
  mp_heapwhy *w = k->w;
  const char *why = mp_heapwhy_look(&k->h, &k->g, L, index, &k->target), *o;
  uint32_t holder;
  if (why != NULL) return why;
  o = object(k, k->target);
  mp_heap_describe(o, what, sizeof(what));
  w->what = strdup(what);
  w->self = mp_heap_size(&k->h, o);
  w->bytes = mp_graph_isleaf(&k->g, k->target) ? w->self :
	     mp_graph_retained(&k->g, k->target);
  w->held = mp_graph_reached(&k->g, k->target);
  holder = k->g.holder[k->target];
  if (w->held && holder != 0) make_path(k, holder, false, &w->holder);
  find_references(k);
  return k->failed ? no_memory : NULL;
}

mp_heapwhy *mp_heapwhy_ask(lua_State *L, int index)
{
  asking k;
  memset(&k, 0, sizeof(k));
  k.w = calloc(1, sizeof(*k.w));
  if (k.w == NULL) return NULL;
  k.w->why = answer(&k, L, index);
  mp_graph_free(&k.g);
  mp_heap_close(&k.h);
  return k.w;
}

void mp_heapwhy_free(mp_heapwhy *w)
{
  uint32_t i;
  for (i = 0; i < w->nlist; i++) {
    free(w->list[i].path);
    free(w->list[i].from);
  }
  mp_free(w->list);
  free(w->what);
  free(w->holder);
  free(w);
}

static void push_references(lua_State *L, const mp_heapwhy *w, uint32_t most)
{
  uint32_t i;
  lua_newtable(L);
  for (i = 0; i < w->nlist && i < most; i++) {
    const mp_reference *r = &w->list[i];
    lua_createtable(L, 0, 3);
    mp_field(L, "count", r->count);
    mp_field_string(L, "path", r->path);
    mp_field_string(L, "from", r->from);
    lua_rawseti(L, -2, (int)i + 1);
  }
}

void mp_heapwhy_push(lua_State *L, const mp_heapwhy *w, uint32_t most)
{
  uint64_t count = 0;
  uint32_t i;
  for (i = 0; i < w->nlist; i++) count += w->list[i].count;
  lua_createtable(L, 0, 8);
  mp_field_string(L, "what", w->what);
  mp_field_string(L, "holder", w->holder);
  mp_field_bool(L, "held", w->held);
  mp_field(L, "self", (double)w->self);
  mp_field(L, "bytes", (double)w->bytes);
  mp_field(L, "references", (double)count);
  mp_field(L, "referrers", w->nlist);
  push_references(L, w, most);
  lua_setfield(L, -2, "list");
}
