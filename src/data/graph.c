/* SPDX-License-Identifier: MIT */
/*
** A graph of objects, and shortest paths in it. See data/graph.h.
*/
#include "config.h"

#include <string.h>

#include "data/graph.h"
#include "data/mem.h"

void mp_graph_grow(mp_graph *g)
{
  mp_list l = { g->out, g->nout, g->capout };
  if (g->usage.failed || !mp_list_room(&g->usage, &l, 1)) return;
  if (l.cap > UINT32_MAX) g->usage.failed = true;
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
  g->leaves = mp_usage_take(&g->usage, words, sizeof(*g->leaves));
  g->retained = mp_usage_take(&g->usage, n, sizeof(*g->retained));
  if (g->usage.failed) {
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

/* -- Shortest paths ------------------------------------------------------ */

bool mp_graph_paths(mp_graph *g)
{
  mp_list queue = { NULL, 0, 0 };
  uint64_t at;
  if (g->up != NULL) return true;
  g->up = mp_usage_take(&g->usage, g->n, sizeof(*g->up));
  if (g->up == NULL || !mp_list_room(&g->usage, &queue, 1)) return false;
  memset(g->up, 0xff, (size_t)g->n * sizeof(*g->up));
  g->up[0] = 0;
  queue.a[queue.n++] = 0;
  for (at = 0; at < queue.n && !g->usage.failed; at++) {
    uint32_t node = queue.a[at], i, n = mp_graph_list(g, node);
    if (!mp_list_room(&g->usage, &queue, n)) break;
    for (i = 0; i < n; i++) {
      uint32_t to = g->out[i];
      if (g->up[to] != MP_GRAPH_NONE) continue;
      g->up[to] = node;
      if (!mp_graph_isleaf(g, to)) queue.a[queue.n++] = to;
    }
  }
  mp_list_free(&g->usage, &queue);
  return !g->usage.failed;
}
