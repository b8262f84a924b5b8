/* SPDX-License-Identifier: MIT */
/*
** Dominators, retained sizes, shortest paths. See data/graph.h.
**
** Inside, the nodes that are no leaves go by the number that a depth-first
** search gives them, from 1 on: a parent in the search's tree has a smaller one
** than its children, and so has a dominator than what it dominates.
*/
#include "config.h"

#include <string.h>

#include "data/graph.h"
#include "data/mem.h"

/* -- Memory -------------------------------------------------------------- */

static void *take(mp_graph *g, uint64_t n, size_t size)
{
  void *p = n <= SIZE_MAX / size ? mp_malloc((size_t)n * size + 1) : NULL;
  if (p == NULL) {
    g->failed = true;
    return NULL;
  }
  g->memory += n * size;
  if (g->memory > g->peak) g->peak = g->memory;
  return p;
}

static uint32_t *take_numbers(mp_graph *g, uint64_t n)
{
  uint32_t *p = take(g, n, sizeof(*p));
  if (p != NULL) memset(p, 0, (size_t)n * sizeof(*p));
  return p;
}

/* p may be NULL: there was no memory. */
static void give(mp_graph *g, void *p, uint64_t n, size_t size)
{
  if (p != NULL) g->memory -= n * size;
  mp_free(p);
}

/* A list of numbers that grows. */
typedef struct list {
  uint32_t *a;
  uint64_t n, cap;
} list;

static bool list_room(mp_graph *g, list *l, uint64_t more)
{
  uint64_t cap = l->cap ? l->cap : 1024;
  void *p;
  if (l->n + more <= l->cap) return true;
  while (cap < l->n + more) cap += cap / 2;
  p = cap <= SIZE_MAX / 4 ? mp_realloc(l->a, (size_t)cap * 4) : NULL;
  if (p == NULL) {
    g->failed = true;
    return false;
  }
  g->memory += (cap - l->cap) * 4;
  if (g->memory > g->peak) g->peak = g->memory;
  l->a = p;
  l->cap = cap;
  return true;
}

static void list_free(mp_graph *g, list *l)
{
  give(g, l->a, l->cap, sizeof(*l->a));
  *l = (list){ NULL, 0, 0 };
}

void mp_graph_grow(mp_graph *g)
{
  list l = { g->out, g->nout, g->capout };
  if (g->failed || !list_room(g, &l, 1)) return;
  if (l.cap > UINT32_MAX) g->failed = true;
  g->out = l.a;
  g->capout = l.cap > UINT32_MAX ? UINT32_MAX : (uint32_t)l.cap;
}

bool mp_graph_init(mp_graph *g, uint32_t n, mp_graph_edges *edges, void *ud)
{
  uint64_t words = (uint64_t)n / 64 + 1;
  memset(g, 0, sizeof(*g));
  g->n = n;
  g->edges = edges;
  g->ud = ud;
  g->leaves = take(g, words, sizeof(*g->leaves));
  g->retained = take(g, n, sizeof(*g->retained));
  if (g->failed) {
    mp_graph_free(g);
    return false;
  }
  memset(g->leaves, 0, (size_t)words * sizeof(*g->leaves));
  memset(g->retained, 0, (size_t)n * sizeof(*g->retained));
  return true;
}

void mp_graph_free(mp_graph *g)
{
  mp_free(g->leaves);
  mp_free(g->retained);
  mp_free(g->holder);
  mp_free(g->order);
  mp_free(g->up);
  mp_free(g->out);
  memset(g, 0, sizeof(*g));
}

/* The edges of a node, in g->out. */
static uint32_t ask(mp_graph *g, uint32_t node)
{
  g->nout = 0;
  g->edges(g->ud, node, g);
  return g->nout;
}

/* -- The search ---------------------------------------------------------- */

/* Everything here but `num` goes by numbers of the search, and has room for
** one that is not used, 0. */
typedef struct search {
  uint32_t n;			/* Nodes found: the last number. */
  uint32_t *num;		/* By node: its number; 0: not met yet. */
  list node;			/* Which node it is. */
  list parent;			/* In the tree; then: a linked ancestor. */
  list first;			/* Where its edges begin in `to`; one more. */
  list to;			/* Nodes that edges lead to: no leaves. */
  uint32_t *pfirst;		/* Where its predecessors begin in `pred`. */
  uint32_t *pred;		/* Numbers that edges come from. */
  uint32_t *semi, *label, *bucket, *dom;
  list path;			/* Room for compression. */
} search;

/* Nodes not met yet to which an edge leads go onto the stack; all of them are
** kept. False: no memory. */
static bool search_edges(mp_graph *g, search *s, list *stack, uint32_t num)
{
  uint32_t i, n = ask(g, s->node.a[num]);
  if (g->failed || !list_room(g, stack, (uint64_t)n * 2) ||
      !list_room(g, &s->to, n))
    return false;
  for (i = n; i > 0; i--) {
    uint32_t to = g->out[i - 1];
    if (mp_graph_isleaf(g, to)) continue;
    s->to.a[s->to.n++] = to;
    if (s->num[to] != 0) continue;
    stack->a[stack->n++] = to;
    stack->a[stack->n++] = num;
  }
  return s->to.n < UINT32_MAX || !(g->failed = true);
}

static bool search_all(mp_graph *g, search *s)
{
  list stack = { NULL, 0, 0 };
  bool ok = list_room(g, &stack, 2);
  if (ok) {
    stack.a[0] = stack.a[1] = 0;
    stack.n = 2;
  }
  while (ok && stack.n > 0) {
    uint32_t parent = stack.a[--stack.n], node = stack.a[--stack.n];
    if (s->num[node] != 0) continue;
    ok = list_room(g, &s->node, s->n + 2) &&
	 list_room(g, &s->parent, s->n + 2) &&
	 list_room(g, &s->first, s->n + 3);
    if (!ok) break;
    s->num[node] = ++s->n;
    s->node.n = s->parent.n = s->first.n = s->n + 1;
    s->node.a[s->n] = node;
    s->parent.a[s->n] = parent;
    s->first.a[s->n] = (uint32_t)s->to.n;
    ok = search_edges(g, s, &stack, s->n);
  }
  if (ok) s->first.a[s->n + 1] = (uint32_t)s->to.n;
  list_free(g, &stack);
  return ok;
}

/* Reverses the edges. */
static bool search_reverse(mp_graph *g, search *s)
{
  uint32_t v, i, sum = 0;
  s->pfirst = take_numbers(g, (uint64_t)s->n + 2);
  s->pred = take(g, s->to.n, sizeof(*s->pred));
  if (g->failed) return false;
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
  list_free(g, &s->to);
  list_free(g, &s->first);
  return true;
}

static void search_free(mp_graph *g, search *s)
{
  uint64_t n = (uint64_t)s->n + 2;
  give(g, s->num, g->n, 4);
  list_free(g, &s->node);
  list_free(g, &s->parent);
  list_free(g, &s->first);
  list_free(g, &s->to);
  give(g, s->pfirst, n, 4);
  give(g, s->pred, g->nedges, 4);
  give(g, s->semi, n, 4);
  give(g, s->label, n, 4);
  give(g, s->bucket, n, 4);
  give(g, s->dom, n, 4);
  list_free(g, &s->path);
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
    if (!list_room(g, &s->path, 1)) return v;
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

/* Gives each node that waits for p its dominator, or the node that has the same
** one. */
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
  s->semi = take_numbers(g, (uint64_t)s->n + 2);
  s->label = take_numbers(g, (uint64_t)s->n + 2);
  s->bucket = take_numbers(g, (uint64_t)s->n + 2);
  s->dom = take_numbers(g, (uint64_t)s->n + 2);
  if (g->failed) return false;
  for (w = 1; w <= s->n; w++) s->semi[w] = s->label[w] = w;
  for (w = s->n; w > 1 && !g->failed; w--) {
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
  return !g->failed;
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

/* Depths and jumps take the place of what is not needed any more. */
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
  for (v = 1; v <= s->n && !g->failed; v++) {
    uint32_t n = ask(g, s->node.a[v]);
    for (i = 0; i < n; i++) {
      uint32_t to = g->out[i];
      if (!mp_graph_isleaf(g, to)) continue;
      g->holder[to] = g->holder[to] == MP_GRAPH_NONE ? v :
		      common(s, g->holder[to], v);
    }
  }
  return !g->failed;
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
  s.num = take_numbers(g, g->n);
  ok = s.num != NULL && search_all(g, &s) && search_reverse(g, &s) &&
       find_dominators(g, &s);
  if (ok) {
    g->holder = take(g, g->n, sizeof(*g->holder));
    g->order = take(g, s.n, sizeof(*g->order));
    if (g->holder != NULL) memset(g->holder, 0xff, (size_t)g->n * 4);
    ok = !g->failed && find_leaves(g, &s);
  }
  if (ok) sum_up(g, &s);
  search_free(g, &s);
  return ok;
}

/* -- Shortest paths ------------------------------------------------------ */

bool mp_graph_paths(mp_graph *g)
{
  list queue = { NULL, 0, 0 };
  uint64_t at;
  if (g->up != NULL) return true;
  g->up = take(g, g->n, sizeof(*g->up));
  if (g->up == NULL || !list_room(g, &queue, 1)) return false;
  memset(g->up, 0xff, (size_t)g->n * sizeof(*g->up));
  g->up[0] = 0;
  queue.a[queue.n++] = 0;
  for (at = 0; at < queue.n && !g->failed; at++) {
    uint32_t node = queue.a[at], i, n = ask(g, node);
    if (!list_room(g, &queue, n)) break;
    for (i = 0; i < n; i++) {
      uint32_t to = g->out[i];
      if (g->up[to] != MP_GRAPH_NONE) continue;
      g->up[to] = node;
      if (!mp_graph_isleaf(g, to)) queue.a[queue.n++] = to;
    }
  }
  list_free(g, &queue);
  return !g->failed;
}
