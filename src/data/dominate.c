/* SPDX-License-Identifier: MIT */
/*
** Dominators, and the sizes that they retain. See data/graph.h.
**
** Internally, nodes that are no leaves are known by the numbers that a
** depth-first search gives them, from 1 on: in the search's tree a parent has a
** smaller number than its children, and so a dominator has a smaller number
** than the nodes that it dominates.
*/
#include "config.h"

#include <string.h>

#include "data/graph.h"

/* -- The search ---------------------------------------------------------- */

/* Everything here except `num` is indexed by numbers of the search, of which 0
** is not used. */
typedef struct search {
  uint32_t n;			/* Nodes found: the last number. */
  uint32_t *num;		/* By node: its number; 0: not met yet. */
  mp_list node;			/* By number: the node. */
  mp_list parent;		/* In the tree; then: a linked one. */
  mp_list first;		/* Index of its first edge in `to`. */
  mp_list to;			/* Nodes that edges lead to: no leaves. */
  uint32_t *pfirst;		/* Where its predecessors begin in `pred`. */
  uint32_t *pred;		/* Numbers that edges come from. */
  uint32_t *semi, *label, *bucket, *dom;
  mp_list path;		/* Room for compression. */
} search;

/* Keeps all edges of a node; the nodes to which they lead go onto the stack if
** they were not met before. False: no memory. */
static bool search_edges(mp_graph *g, search *s, mp_list *stack, uint32_t num)
{
  uint32_t i, n = mp_graph_list(g, s->node.a[num]);
  if (g->usage.failed || !mp_list_room(&g->usage, stack, (uint64_t)n * 2) ||
      !mp_list_room(&g->usage, &s->to, n))
    return false;
  for (i = n; i > 0; i--) {
    uint32_t to = g->out[i - 1];
    if (mp_graph_isleaf(g, to)) continue;
    s->to.a[s->to.n++] = to;
    if (s->num[to] != 0) continue;
    stack->a[stack->n++] = to;
    stack->a[stack->n++] = num;
  }
  return s->to.n < UINT32_MAX || !(g->usage.failed = true);
}

static bool search_all(mp_graph *g, search *s)
{
  mp_list stack = { NULL, 0, 0 };
  bool ok = mp_list_room(&g->usage, &stack, 2);
  if (ok) {
    stack.a[0] = stack.a[1] = 0;
    stack.n = 2;
  }
  while (ok && stack.n > 0) {
    uint32_t parent = stack.a[--stack.n], node = stack.a[--stack.n];
    if (s->num[node] != 0) continue;
    ok = mp_list_room(&g->usage, &s->node, s->n + 2) &&
	 mp_list_room(&g->usage, &s->parent, s->n + 2) &&
	 mp_list_room(&g->usage, &s->first, s->n + 3);
    if (!ok) break;
    s->num[node] = ++s->n;
    s->node.n = s->parent.n = s->first.n = s->n + 1;
    s->node.a[s->n] = node;
    s->parent.a[s->n] = parent;
    s->first.a[s->n] = (uint32_t)s->to.n;
    ok = search_edges(g, s, &stack, s->n);
  }
  if (ok) s->first.a[s->n + 1] = (uint32_t)s->to.n;
  mp_list_free(&g->usage, &stack);
  return ok;
}

/* Reverses the edges. */
static bool search_reverse(mp_graph *g, search *s)
{
  uint32_t v, i, sum = 0;
  s->pfirst = mp_usage_numbers(&g->usage, (uint64_t)s->n + 2);
  s->pred = mp_usage_take(&g->usage, s->to.n, sizeof(*s->pred));
  if (g->usage.failed) return false;
  for (i = 0; i < s->to.n; i++) s->pfirst[s->num[s->to.a[i]]]++;
  for (v = 1; v <= s->n + 1; v++) {
    uint32_t count = v <= s->n ? s->pfirst[v] : 0;
    s->pfirst[v] = sum;
    sum += count;
  }
  for (v = 1; v <= s->n; v++)  /* Moves each beginning to its end. */
    for (i = s->first.a[v]; i < s->first.a[v + 1]; i++)
      s->pred[s->pfirst[s->num[s->to.a[i]]]++] = v;
  g->nedges = s->to.n;
  mp_list_free(&g->usage, &s->to);
  mp_list_free(&g->usage, &s->first);
  return true;
}

static void search_free(mp_graph *g, search *s)
{
  uint64_t n = (uint64_t)s->n + 2;
  mp_usage_give(&g->usage, s->num, g->n, 4);
  mp_list_free(&g->usage, &s->node);
  mp_list_free(&g->usage, &s->parent);
  mp_list_free(&g->usage, &s->first);
  mp_list_free(&g->usage, &s->to);
  mp_usage_give(&g->usage, s->pfirst, n, 4);
  mp_usage_give(&g->usage, s->pred, g->nedges, 4);
  mp_usage_give(&g->usage, s->semi, n, 4);
  mp_usage_give(&g->usage, s->label, n, 4);
  mp_usage_give(&g->usage, s->bucket, n, 4);
  mp_usage_give(&g->usage, s->dom, n, 4);
  mp_list_free(&g->usage, &s->path);
}

/* -- Dominators ---------------------------------------------------------- */

/* The node of the least semidominator on the way from v up to the root of its
** tree in the forest; nodes from `linked` on have an ancestor there. */
static uint32_t eval(mp_graph *g, search *s, uint32_t v, uint32_t linked)
{
  uint32_t *anc = s->parent.a, *label = s->label, *semi = s->semi, u;
  if (v < linked) return v;
  s->path.n = 0;
  for (u = v; anc[u] >= linked; u = anc[u]) {
    if (!mp_list_room(&g->usage, &s->path, 1)) return v;
    s->path.a[s->path.n++] = u;
  }
  while (s->path.n > 0) {
    uint32_t a;
    u = s->path.a[--s->path.n];
    a = anc[u];
    if (semi[label[a]] < semi[label[u]]) label[u] = label[a];
    anc[u] = anc[a];
  }
  return label[v];
}

/* Gives each node that waits for p its dominator, or a node that has the same
** dominator. */
static void empty_bucket(mp_graph *g, search *s, uint32_t p, uint32_t linked)
{
  uint32_t v, next;
  for (v = s->bucket[p]; v != 0; v = next) {
    uint32_t u = eval(g, s, v, linked);
    next = s->dom[v];  /* The chain of a bucket. */
    s->dom[v] = s->semi[u] < s->semi[v] ? u : p;
  }
  s->bucket[p] = 0;
}

static bool find_dominators(mp_graph *g, search *s)
{
  uint32_t w, i;
  s->semi = mp_usage_numbers(&g->usage, (uint64_t)s->n + 2);
  s->label = mp_usage_numbers(&g->usage, (uint64_t)s->n + 2);
  s->bucket = mp_usage_numbers(&g->usage, (uint64_t)s->n + 2);
  s->dom = mp_usage_numbers(&g->usage, (uint64_t)s->n + 2);
  if (g->usage.failed) return false;
  for (w = 1; w <= s->n; w++) s->semi[w] = s->label[w] = w;
  for (w = s->n; w > 1 && !g->usage.failed; w--) {
    uint32_t p = s->parent.a[w];
    for (i = s->pfirst[w - 1]; i < s->pfirst[w]; i++) {
      uint32_t u = eval(g, s, s->pred[i], w + 1);
      if (s->semi[u] < s->semi[w]) s->semi[w] = s->semi[u];
    }
    s->dom[w] = s->bucket[s->semi[w]];
    s->bucket[s->semi[w]] = w;
    empty_bucket(g, s, p, w);
  }
  for (w = 2; w <= s->n; w++)
    if (s->dom[w] != s->semi[w]) s->dom[w] = s->dom[s->dom[w]];
  return !g->usage.failed;
}

/* -- Leaves -------------------------------------------------------------- */

/* The nearest common dominator of two nodes, in logarithmic time: every node
** knows its depth, and a node far above. */
static uint32_t common(const search *s, uint32_t a, uint32_t b)
{
  const uint32_t *depth = s->semi, *jump = s->label, *dom = s->dom;
  if (depth[a] < depth[b]) { uint32_t t = a; a = b; b = t; }
  while (depth[a] > depth[b])
    a = depth[jump[a]] >= depth[b] ? jump[a] : dom[a];
  while (a != b) {
    if (jump[a] != jump[b]) { a = jump[a]; b = jump[b]; }
    else { a = dom[a]; b = dom[b]; }
  }
  return a;
}

/* Depths and jumps take the place of arrays that are not needed any more. */
static void prepare_common(search *s)
{
  uint32_t *depth = s->semi, *jump = s->label, *dom = s->dom, w;
  depth[1] = 0;
  jump[1] = dom[1] = 1;
  for (w = 2; w <= s->n; w++) {
    uint32_t d = dom[w], j = jump[d];
    depth[w] = depth[d] + 1;
    jump[w] = depth[d] - depth[j] == depth[j] - depth[jump[j]] ? jump[j] : d;
  }
}

/* Holders of leaves: by numbers of the search at first. */
static bool find_leaves(mp_graph *g, search *s)
{
  uint32_t v, i;
  prepare_common(s);
  for (v = 1; v <= s->n && !g->usage.failed; v++) {
    uint32_t n = mp_graph_list(g, s->node.a[v]);
    for (i = 0; i < n; i++) {
      uint32_t to = g->out[i];
      if (!mp_graph_isleaf(g, to)) continue;
      g->holder[to] = g->holder[to] == MP_GRAPH_NONE ? v :
		      common(s, g->holder[to], v);
    }
  }
  return !g->usage.failed;
}

/* -- The result ---------------------------------------------------------- */

static void sum_up(mp_graph *g, const search *s)
{
  uint32_t i, w;
  for (i = 0; i < g->n; i++) {
    if (!mp_graph_isleaf(g, i) || g->holder[i] == MP_GRAPH_NONE) continue;
    g->holder[i] = s->node.a[g->holder[i]];
    g->retained[g->holder[i]] += g->retained[i];
  }
  for (w = s->n; w > 1; w--) {
    uint32_t node = s->node.a[w], above = s->node.a[s->dom[w]];
    g->holder[node] = above;
    g->retained[above] += g->retained[node];
  }
  for (w = 1; w <= s->n; w++) g->order[w - 1] = s->node.a[w];
  g->nordered = s->n;
}

bool mp_graph_dominate(mp_graph *g)
{
  search s;
  bool ok;
  memset(&s, 0, sizeof(s));
  s.num = mp_usage_numbers(&g->usage, g->n);
  ok = s.num != NULL && search_all(g, &s) && search_reverse(g, &s) &&
       find_dominators(g, &s);
  if (ok) {
    g->holder = mp_usage_take(&g->usage, g->n, sizeof(*g->holder));
    g->order = mp_usage_take(&g->usage, s.n, sizeof(*g->order));
    if (g->holder != NULL) memset(g->holder, 0xff, (size_t)g->n * 4);
    ok = !g->usage.failed && find_leaves(g, &s);
  }
  if (ok) sum_up(g, &s);
  search_free(g, &s);
  return ok;
}
