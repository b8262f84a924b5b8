/* SPDX-License-Identifier: MIT */
/*
** Dominators, the sizes that they retain, and shortest paths. See
** heapwalk/graph.h.
**
** Internally, nodes that are no leaves are known by the numbers that a
** depth-first search gives them, from 1 on: in the search's tree a parent has a
** smaller number than its children, and so a dominator has a smaller number
** than the nodes that it dominates.
** Semidominators are found as Lengauer and Tarjan do, with path compression;
** the dominator of a node is the nearest one above its parent, among the
** dominators of that, whose number is not larger than its semidominator's.
**
** Arrays take over from each other: each says by what name it goes when.
*/
#include "config.h"

#include <string.h>

#include "heapwalk/graph.h"

/* Everything here except `num` is indexed by numbers of the search, of which 0
** is not used. */
typedef struct search {
  mp_graph *g;
  uint32_t n;			/* Nodes found: the last number. */
  uint32_t *num;		/* By node: its number; 0: not seen yet. Of a */
				/* leaf: its holder's. This is g->holder. */
  uint32_t *parent;		/* In the tree; then: the dominator. */
  uint32_t *in;			/* First of its entries in `from`; then: the */
				/* semidominator; a queue; its node. */
  uint32_t *label;		/* Where its edges begin; then: least semi- */
				/* dominator above; the dominator's depth. */
  uint32_t *above;		/* A linked node; then: one far above. */
  mp_list from;			/* Pairs: number that an edge comes from, */
				/* and the next entry. */
} search;

/* -- The search ---------------------------------------------------------- */

/* Gives a node its number; its edges go onto the stack, g->out. */
static void visit(search *s, uint32_t node, uint32_t parent)
{
  uint32_t v = ++s->n;
  s->num[node] = v;
  s->parent[v] = parent;
  s->in[v] = 0;
  s->label[v] = s->g->nout;
  s->g->edges(s->g->ud, node, s->g);
}

/* Notes an edge that is not the tree's. */
static bool note_edge(search *s, uint32_t from, uint32_t to)
{
  uint32_t first = s->in[to];
  if (from == to || to == 1 || from == s->parent[to] ||
      (first != 0 && s->from.a[first] == from))
    return true;
  if (!mp_list_room(&s->g->usage, &s->from, 4)) return false;
  if (s->from.n == 0) s->from.n = 2;  /* 0 is not an entry. */
  if (s->from.n > UINT32_MAX - 2) return !(s->g->usage.failed = true);
  s->in[to] = (uint32_t)s->from.n;
  s->from.a[s->from.n++] = from;
  s->from.a[s->from.n++] = first;
  return true;
}

static bool search_all(search *s)
{
  mp_graph *g = s->g;
  uint32_t v = 1;
  g->inner = true;
  g->nout = 0;
  visit(s, 0, 0);
  while (v != 0 && !g->usage.failed) {
    uint32_t to;
    if (g->nout == s->label[v]) {
      v = s->parent[v];
      continue;
    }
    to = g->out[--g->nout];
    if (mp_graph_isleaf(g, to)) continue;
    g->nedges++;
    if (s->num[to] == 0) {
      visit(s, to, v);
      v = s->n;
    } else if (!note_edge(s, v, s->num[to])) {
      break;
    }
  }
  g->inner = false;
  return !g->usage.failed;
}

/* -- Dominators ---------------------------------------------------------- */

/* The least semidominator on the way from v up to the root of its tree in the
** forest; nodes from `linked` on have an ancestor there. The way up is turned
** round for the way back, on which it is made short. */
static uint32_t eval(search *s, uint32_t v, uint32_t linked)
{
  uint32_t *above = s->above, *label = s->label;
  uint32_t back = 0, u = v, least, root, next;
  if (v < linked) return v;
  while ((next = above[u]) >= linked) {
    above[u] = back;
    back = u;
    u = next;
  }
  root = above[u];
  least = label[u];
  while (back != 0) {
    u = back;
    back = above[u];
    if (label[u] > least) label[u] = least;
    least = label[u];
    above[u] = root;
  }
  return least;
}

static void find_semidominators(search *s)
{
  uint32_t w, i;
  for (w = s->n; w > 1; w--) {
    uint32_t semi = s->parent[w];
    for (i = s->in[w]; i != 0; i = s->from.a[i + 1]) {
      uint32_t u = eval(s, s->from.a[i], w + 1);
      if (u < semi) semi = u;
    }
    s->in[w] = s->label[w] = semi;
    s->above[w] = s->parent[w];
  }
}

/* Every node knows its depth in the tree of dominators, and a node far above:
** a way up takes logarithmic time. */
static void find_dominators(search *s)
{
  uint32_t *depth = s->label, *jump = s->above, *dom = s->parent, w;
  depth[1] = 0;
  jump[1] = dom[1] = 1;
  for (w = 2; w <= s->n; w++) {
    uint32_t d = dom[w], semi = s->in[w], j;
    while (d > semi) d = jump[d] > semi ? jump[d] : dom[d];
    j = jump[d];
    dom[w] = d;
    depth[w] = depth[d] + 1;
    jump[w] = depth[d] - depth[j] == depth[j] - depth[jump[j]] ? jump[j] : d;
  }
}

/* -- Leaves and paths ---------------------------------------------------- */

/* The nearest common dominator of two nodes. */
static uint32_t common(const search *s, uint32_t a, uint32_t b)
{
  const uint32_t *depth = s->label, *jump = s->above, *dom = s->parent;
  if (depth[a] < depth[b]) { uint32_t t = a; a = b; b = t; }
  while (depth[a] > depth[b])
    a = depth[jump[a]] >= depth[b] ? jump[a] : dom[a];
  while (a != b) {
    if (jump[a] != jump[b]) { a = jump[a]; b = jump[b]; }
    else { a = dom[a]; b = dom[b]; }
  }
  return a;
}

/* Finds the shortest paths, in the order of their lengths, and on the way the
** holders of leaves. */
static bool find_paths(search *s)
{
  mp_graph *g = s->g;
  uint32_t *queue = s->in, at, end = 0, i;
  g->up = mp_usage_take(&g->usage, g->n, sizeof(*g->up));
  if (g->up == NULL) return false;
  memset(g->up, 0xff, (size_t)g->n * sizeof(*g->up));
  g->up[0] = 0;
  queue[end++] = 0;
  for (at = 0; at < end; at++) {
    uint32_t node = queue[at], v = s->num[node], n = mp_graph_list(g, node);
    if (g->usage.failed) return false;
    for (i = 0; i < n; i++) {
      uint32_t to = g->out[i];
      bool seen = g->up[to] != MP_GRAPH_NONE, leaf = mp_graph_isleaf(g, to);
      if (!seen) g->up[to] = node;
      if (leaf) s->num[to] = seen ? common(s, s->num[to], v) : v;
      else if (!seen) queue[end++] = to;
    }
  }
  return true;
}

/* -- The result ---------------------------------------------------------- */

void mp_graph_size(mp_graph *g, uint32_t node, uint64_t size)
{
  uint32_t holder = node;
  if (mp_graph_isleaf(g, node)) holder = g->holder[node];
  if (holder != MP_GRAPH_NONE) g->sum[mp_graph_number(g, holder)] += size;
}

/* Puts nodes in the place of numbers. */
static void name_holders(search *s)
{
  mp_graph *g = s->g;
  uint32_t *node = s->in, i;
  for (i = 0; i < g->n; i++)
    if (!mp_graph_isleaf(g, i) && s->num[i] != 0) node[s->num[i]] = i;
  for (i = 0; i < g->n; i++) {
    uint32_t v = s->num[i];
    if (v > 0 && !mp_graph_isleaf(g, i)) v = s->parent[v];
    g->holder[i] = v > 0 && i > 0 ? node[v] : MP_GRAPH_NONE;
  }
}

static bool sum_up(search *s)
{
  mp_graph *g = s->g;
  const uint32_t *node = s->in;
  uint32_t v;
  g->sum = mp_usage_take(&g->usage, g->ninner, sizeof(*g->sum));
  if (g->sum == NULL) return false;
  memset(g->sum, 0, (size_t)g->ninner * sizeof(*g->sum));
  g->sizes(g->ud, g);
  for (v = s->n; v > 1; v--)
    g->sum[mp_graph_number(g, node[s->parent[v]])] +=
      mp_graph_retained(g, node[v]);
  return true;
}

/* -- All of it ----------------------------------------------------------- */

/* Numbers the nodes that are no leaves. False: no memory. */
static bool number_inner(mp_graph *g)
{
  uint32_t i;
  g->before = mp_usage_take(&g->usage, (uint64_t)g->n / 64 + 1,
			    sizeof(*g->before));
  if (g->before == NULL) return false;
  for (i = 0, g->ninner = 0; i < g->n; i++) {
    if ((i & 63) == 0) g->before[i >> 6] = g->ninner;
    g->ninner += !mp_graph_isleaf(g, i);
  }
  return true;
}

static uint32_t *take(search *s)
{
  return mp_usage_take(&s->g->usage, (uint64_t)s->g->ninner + 1, 4);
}

static void give(search *s, uint32_t **a)
{
  mp_usage_give(&s->g->usage, *a, (uint64_t)s->g->ninner + 1, 4);
  *a = NULL;
}

static bool find_all(search *s)
{
  mp_graph *g = s->g;
  if (!search_all(s)) return false;
  s->above = take(s);
  if (s->above == NULL) return false;
  find_semidominators(s);
  mp_list_free(&g->usage, &s->from);
  find_dominators(s);
  if (!find_paths(s)) return false;
  give(s, &s->above);
  give(s, &s->label);
  mp_graph_nolist(g);
  name_holders(s);
  return sum_up(s);
}

bool mp_graph_dominate(mp_graph *g)
{
  search s;
  bool ok;
  memset(&s, 0, sizeof(s));
  s.g = g;
  if (!number_inner(g)) return false;
  s.num = g->holder = mp_usage_numbers(&g->usage, g->n);
  s.parent = take(&s);
  s.in = take(&s);
  s.label = take(&s);
  ok = !g->usage.failed && find_all(&s);
  mp_list_free(&g->usage, &s.from);
  give(&s, &s.above);
  give(&s, &s.label);
  give(&s, &s.in);
  give(&s, &s.parent);
  return ok;
}
