/* SPDX-License-Identifier: MIT */
/*
** All paths to an object. See heapwalk/paths.h; the fields are documented in
** jit.mp(3).
**
** Paths are put together from their ends: a step is an object and the step
** after it. The step that continues first is the one whose path to a root can
** be the shortest, its own length and the object's distance taken together: so
** the paths are completed in the order of their lengths.
*/
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "data/mem.h"
#include "heapwalk/holders.h"
#include "heapwalk/name.h"
#include "heapwalk/paths.h"
#include "heapwalk/why.h"
#include "profile/field.h"

#define STEPS		1000000u	/* At most. */
#define NAMED		40	/* References of a path that are named. */

typedef struct step {
  uint32_t node, next;		/* The step after it; 0: it is the last. */
  uint32_t length;		/* References from it to the end. */
  uint32_t least;		/* References of the whole path, at least. */
} step;

typedef struct finding {
  mp_heappaths *w;
  mp_heap h;
  mp_graph g;
  uint32_t target, most;
  uint32_t *first, *from;	/* By node: its referrers. */
  uint32_t *distance;		/* By node: from the roots; or NONE. */
  bool *on;			/* By node: whether it is on the path */
  uint32_t of;			/* of this step; 0: of none. */
  step *steps;			/* [0] is not used. */
  uint32_t nsteps, capsteps;
  uint32_t *queue;		/* A heap of steps, the least first. */
  uint32_t nqueue, capqueue;
  bool failed;
} finding;

/* -- Referrers and distances --------------------------------------------- */

/* Calls f for each reference between objects that are reached. */
static void each_edge(finding *k, void (*f)(finding *k, uint32_t, uint32_t))
{
  uint32_t v, i;
  for (v = 0; v < k->g.n; v++) {
    uint32_t n;
    if (mp_graph_isleaf(&k->g, v) || !mp_graph_reached(&k->g, v)) continue;
    n = mp_graph_list(&k->g, v);
    for (i = 0; i < n; i++) f(k, v, k->g.out[i]);
  }
}

static void count_edge(finding *k, uint32_t from, uint32_t to)
{
  (void)from;
  k->first[to + 2]++;
}

static void add_edge(finding *k, uint32_t from, uint32_t to)
{
  k->from[k->first[to + 1]++] = from;
}

static bool find_referrers(finding *k)
{
  uint32_t i, n = k->g.n;
  k->first = mp_calloc((size_t)n + 2, sizeof(*k->first));
  if (k->first == NULL) return false;
  each_edge(k, count_edge);
  for (i = 2; i <= n + 1; i++) k->first[i] += k->first[i - 1];
  k->from = mp_malloc(((size_t)k->first[n + 1] + 1) * sizeof(*k->from));
  if (k->from == NULL) return false;
  each_edge(k, add_edge);
  return !k->g.usage.failed;
}

/* An object that only the target holds is on no path. */
static void find_distance(finding *k, uint32_t v)
{
  uint32_t n = 0, up = v;
  while (up != 0 && up != MP_GRAPH_NONE && k->distance[up] == 0) {
    up = k->g.up[up];
    n++;
  }
  if (up != MP_GRAPH_NONE) n += k->distance[up];
  for (up = v; n > 0 && k->distance[up] == 0; up = k->g.up[up])
    k->distance[up] = n--;
}

static bool find_distances(finding *k)
{
  uint32_t v;
  k->distance = mp_calloc(k->g.n, sizeof(*k->distance));
  if (k->distance == NULL) return false;
  for (v = 1; v < k->g.n; v++)
    if (mp_graph_reached(&k->g, v)) find_distance(k, v);
  return true;
}

/* -- Steps --------------------------------------------------------------- */

static bool comes_first(const finding *k, uint32_t a, uint32_t b)
{
  const step *x = &k->steps[a], *y = &k->steps[b];
  return x->least != y->least ? x->least < y->least : a < b;
}

static void sift_up(finding *k, uint32_t at, uint32_t s)
{
  for (; at > 0 && comes_first(k, s, k->queue[(at - 1) / 2]); at = (at - 1) / 2)
    k->queue[at] = k->queue[(at - 1) / 2];
  k->queue[at] = s;
}

static void add_step(finding *k, uint32_t node, uint32_t next)
{
  uint32_t length = next == 0 ? 0 : k->steps[next].length + 1;
  if (!mp_mem_room(&k->steps, k->nsteps, &k->capsteps, sizeof(*k->steps)) ||
      !mp_mem_room(&k->queue, k->nqueue, &k->capqueue, sizeof(*k->queue))) {
    k->failed = true;
    return;
  }
  k->steps[k->nsteps] = (step){ node, next, length,
				length + k->distance[node] };
  sift_up(k, k->nqueue++, k->nsteps++);
}

static uint32_t take_step(finding *k)
{
  uint32_t first = k->queue[0], last = k->queue[--k->nqueue], at = 0, child;
  while ((child = 2 * at + 1) < k->nqueue) {
    if (child + 1 < k->nqueue &&
	comes_first(k, k->queue[child + 1], k->queue[child])) child++;
    if (!comes_first(k, k->queue[child], last)) break;
    k->queue[at] = k->queue[child];
    at = child;
  }
  k->queue[at] = last;
  return first;
}

static void mark(finding *k, uint32_t s, bool on)
{
  for (; s != 0; s = k->steps[s].next) k->on[k->steps[s].node] = on;
}

/* Marks the objects on the path of the step: mostly it is one more than on the
** path before. */
static void mark_path(finding *k, uint32_t s)
{
  if (k->steps[s].next == k->of) {
    k->on[k->steps[s].node] = true;
  } else {
    mark(k, k->of, false);
    mark(k, s, true);
  }
  k->of = s;
}

/* -- Paths --------------------------------------------------------------- */

/* The names of its references, one after the other; of a long path, some in
** the middle are left out. */
static void name_path(finding *k, uint32_t s, char *name)
{
  uint32_t length = k->steps[s].length, n, next;
  name[0] = '\0';
  for (n = 1; (next = k->steps[s].next) != 0; n++, s = next) {
    if (n < NAMED - 1 || n == length)
      mp_edge_name(&k->h, k->steps[s].node, k->steps[next].node, name,
		   MP_LABEL_MAX);
    else if (n == NAMED - 1)
      strcpy(name, " ...");
    name += strlen(name);
  }
}

static void add_path(finding *k, uint32_t s)
{
  mp_heappaths *w = k->w;
  char *name = mp_malloc(NAMED * MP_LABEL_MAX), *shorter;
  if (name == NULL ||
      !mp_mem_room(&w->list, w->nlist, &w->caplist, sizeof(*w->list))) {
    mp_free(name);
    k->failed = true;
    return;
  }
  name_path(k, s, name);
  shorter = mp_realloc(name, strlen(name) + 1);
  w->list[w->nlist++] = (mp_heappath){ shorter != NULL ? shorter : name,
				       k->steps[s].length };
}

/* Each object that refers to that of the step begins a step before it. Several
** references from one object count once. Every function leads to the globals,
** so a path leads through no object that the VM itself holds. */
static void go_on(finding *k, uint32_t s)
{
  uint32_t node = k->steps[s].node, i, last = MP_GRAPH_NONE;
  if (k->distance[node] == 1 && k->steps[s].next != 0) {
    add_step(k, 0, s);
    return;
  }
  mark_path(k, s);
  for (i = k->first[node]; i < k->first[node + 1] && !k->failed; i++) {
    uint32_t from = k->from[i];
    if (from != last && k->nsteps < STEPS && !k->on[from])
      add_step(k, from, s);
    last = from;
  }
}

static void find_paths(finding *k)
{
  mp_heappaths *w = k->w;
  k->nsteps = 1;
  if (mp_graph_reached(&k->g, k->target)) add_step(k, k->target, 0);
  while (k->nqueue > 0 && w->nlist < k->most && k->nsteps < STEPS &&
	 !k->failed) {
    uint32_t s = take_step(k);
    if (k->steps[s].node == 0) add_path(k, s);
    else go_on(k, s);
  }
  w->complete = k->nqueue == 0;
}

/* -- The question -------------------------------------------------------- */

static const char *answer(finding *k, lua_State *L, int index)
{
  static const char *const no_memory = "there is no memory for it";
  char what[MP_LABEL_MAX];
  const char *why = mp_heapwhy_look(&k->h, &k->g, L, index, &k->target);
  if (why != NULL) return why;
  k->on = mp_calloc(k->g.n, sizeof(*k->on));
  if (k->on == NULL || !find_referrers(k) || !find_distances(k))
    return no_memory;
  mp_heap_describe(mp_places_address(&k->h.places, k->target), what,
		   sizeof(what));
  k->w->what = strdup(what);
  find_paths(k);
  return k->failed ? no_memory : NULL;
}

mp_heappaths *mp_heappaths_find(lua_State *L, int index, uint32_t most)
{
  finding k;
  memset(&k, 0, sizeof(k));
  k.most = most;
  k.w = calloc(1, sizeof(*k.w));
  if (k.w == NULL) return NULL;
  k.w->why = answer(&k, L, index);
  mp_free(k.first);
  mp_free(k.from);
  mp_free(k.distance);
  mp_free(k.on);
  mp_free(k.steps);
  mp_free(k.queue);
  mp_graph_free(&k.g);
  mp_heap_close(&k.h);
  return k.w;
}

void mp_heappaths_free(mp_heappaths *w)
{
  uint32_t i;
  for (i = 0; i < w->nlist; i++) mp_free(w->list[i].name);
  mp_free(w->list);
  free(w->what);
  free(w);
}

void mp_heappaths_push(lua_State *L, const mp_heappaths *w)
{
  uint32_t i;
  lua_createtable(L, 0, 3);
  mp_field_string(L, "what", w->what);
  mp_field_bool(L, "complete", w->complete);
  lua_createtable(L, (int)w->nlist, 0);
  for (i = 0; i < w->nlist; i++) {
    lua_createtable(L, 0, 2);
    mp_field_string(L, "path", w->list[i].name);
    mp_field(L, "length", w->list[i].length);
    lua_rawseti(L, -2, (int)i + 1);
  }
  lua_setfield(L, -2, "list");
}
