/* SPDX-License-Identifier: MIT */
/* mp_graph: dominators, retained sizes and shortest paths, against what a
** computation finds that takes the definitions literally.
**
** With MP_GRAPH_NODES set, the random graphs have that many nodes. */
#include "config.h"

#include <string.h>

#include "check_brute.h"
#include "check_main.h"
#include "data/mem.h"

static void tell(void *ud, uint32_t node, mp_graph *g)
{
  const given *t = ud;
  uint32_t i;
  ck_assert(!mp_graph_isleaf(g, node));
  for (i = t->first[node]; i < t->first[node + 1]; i++)
    mp_graph_edge(g, t->list[i]);
}

static void tell_sizes(void *ud, mp_graph *g)
{
  const given *t = ud;
  uint32_t i;
  for (i = 0; i < t->n; i++) mp_graph_size(g, i, t->size[i]);
}

/* All edges have been given. */
static void settle(given *t)
{
  uint32_t i;
  finish(t);
  for (i = 0; i < t->n; i++) {
    t->number[i] = i;
    t->size[i] = i == 0 ? 0 : 1 + mp_mix(7, i) % 1000;
  }
}

static bool no_edges(const given *t, uint32_t node)
{
  return t->first[node] == t->first[node + 1];
}

static bool begin(mp_graph *g, given *t)
{
  uint32_t i;
  if (!mp_graph_init(g, t->n, tell, tell_sizes, t)) return false;
  for (i = 1; i < t->n; i++) if (no_edges(t, i)) mp_graph_leaf(g, i);
  return true;
}

static void compute(mp_graph *g, given *t)
{
  ck_assert(begin(g, t));
  ck_assert(mp_graph_dominate(g));
}

/* -- A check ------------------------------------------------------------- */

static bool has_edge(const given *t, uint32_t from, uint32_t to)
{
  uint32_t i;
  for (i = t->first[from]; i < t->first[from + 1]; i++)
    if (t->list[i] == to) return true;
  return false;
}

static void check_paths(const given *t, const mp_graph *g, const int32_t *dist)
{
  uint32_t v;
  for (v = 1; v < t->n; v++) {
    ck_assert_int_eq(dist[v] >= 0, g->up[v] != MP_GRAPH_NONE);
    ck_assert_int_eq(dist[v] >= 0, mp_graph_reached(g, v));
    if (dist[v] < 0) continue;
    ck_assert(has_edge(t, g->up[v], v));
    ck_assert_int_eq(dist[v], dist[g->up[v]] + 1);
  }
}

static void check(given *t)
{
  int32_t *dist;
  mp_graph g;
  settle(t);
  compute(&g, t);
  dist = distances(t);
  check_paths(t, &g, dist);
  check_nodes(t, &g, dist);
  free(dist);
  mp_graph_free(&g);
  drop(t);
}

/* -- Graphs -------------------------------------------------------------- */

/* From nearly a tree to dense, with cycles, loops, edges given twice, and
** nodes that cannot be reached. */
static void make_random(given *t, uint32_t n)
{
  uint32_t i, k, some = 1 + random_below(4), local = random_below(3);
  t->n = n;
  for (i = 1; i < n; i++)
    if (random_below(20) > 0) edge(t, random_below(i), i);
  for (i = 0; i < n * some / 2; i++) {
    uint32_t from = random_below(n), to = random_below(n);
    if (local == 0) to = (from + random_below(5)) % n;
    for (k = random_below(8) == 0 ? 2 : 1; k > 0 && from % 3 > 0; k--)
      edge(t, from, to);
  }
}

START_TEST(random_graphs)
{
  const char *nodes = getenv("MP_GRAPH_NODES");
  given t = { 0 };
  int i, graphs = getenv("MP_TEST_SLOW") ? 50 : 1000;
  for (i = 0; i < graphs; i++) {
    seed = (uint64_t)i + 1;
    make_random(&t, nodes ? (uint32_t)atoi(nodes) : 2 + random_below(70));
    check(&t);
  }
}
END_TEST

START_TEST(a_root_alone)
{
  given t = { 0 };
  t.n = 1;
  check(&t);
  t.n = 2;
  check(&t);  /* And something that nobody holds. */
}
END_TEST

START_TEST(a_shared_leaf_counts_for_the_nearest_common_holder)
{
  given t = { 0 };
  mp_graph g;
  t.n = 6;
  edge(&t, 0, 1);
  edge(&t, 1, 2);
  edge(&t, 1, 3);
  edge(&t, 2, 4);
  edge(&t, 3, 4);
  edge(&t, 3, 5);
  settle(&t);
  compute(&g, &t);
  ck_assert_uint_eq(g.holder[4], 1);
  ck_assert_uint_eq(g.holder[5], 3);
  ck_assert_uint_eq(retained(&t, &g, 2), t.size[2]);
  ck_assert_uint_eq(retained(&t, &g, 3), t.size[3] + t.size[5]);
  mp_graph_free(&g);
  drop(&t);
}
END_TEST

/* Two lists with links back and across, and what hangs on both: where a
** computation that climbs from node to node takes for ever, or recursion
** overflows the stack. */
START_TEST(long_lists)
{
  given t = { 0 };
  mp_graph g;
  uint32_t i, n = getenv("MP_TEST_SLOW") ? 10000 : 200000;
  t.n = 3 * n + 1;
  edge(&t, 0, 1);
  edge(&t, 0, 2);
  for (i = 1; i <= 2 * n; i++) {
    if (i + 2 <= 2 * n) edge(&t, i, i + 2);
    if (i > 2) edge(&t, i, i - 2);
    edge(&t, i, 2 * n + (i + 1) / 2);  /* A leaf of each two. */
  }
  settle(&t);
  compute(&g, &t);
  for (i = 3; i <= 2 * n; i++) ck_assert_uint_eq(g.holder[i], i - 2);
  for (i = 2 * n + 1; i < t.n; i++) ck_assert_uint_eq(g.holder[i], 0);
  ck_assert_uint_eq(g.ninner, 2 * n + 1);
  mp_graph_free(&g);
  drop(&t);
}
END_TEST

START_TEST(no_memory_is_said)
{
  given t = { 0 };
  bool ok = false;
  int left;
  make_random(&t, 3000);
  settle(&t);
  for (left = 0; !ok; left++) {
    mp_graph g;
    mp_mem_left = left;
    ok = begin(&g, &t) && mp_graph_dominate(&g);
    mp_mem_left = -1;
    mp_graph_free(&g);
  }
  ck_assert_int_gt(left, 15);
  drop(&t);
}
END_TEST

START_TEST(memory_is_counted)
{
  given t = { 0 };
  mp_graph g;
  make_random(&t, 3000);
  settle(&t);
  compute(&g, &t);
  ck_assert_uint_eq(g.usage.now, (3000 / 64 + 1) * (8 + 4) + 3000 * (4 + 4) +
		    g.ninner * 8);
  ck_assert_uint_gt(g.usage.peak, g.usage.now);
  mp_graph_free(&g);
  drop(&t);
}
END_TEST

CHECK_MAIN("graph", random_graphs, a_root_alone,
	   a_shared_leaf_counts_for_the_nearest_common_holder, long_lists,
	   no_memory_is_said, memory_is_counted)
