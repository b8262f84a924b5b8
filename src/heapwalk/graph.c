/* SPDX-License-Identifier: MIT */
/*
** A graph of objects. See heapwalk/graph.h.
*/
#include "config.h"

#include <string.h>

#include "data/mem.h"
#include "data/places.h"
#include "heapwalk/graph.h"

void mp_graph_grow(mp_graph *g)
{
  mp_list l = { g->out, g->nout, g->capout };
  if (g->usage.failed || !mp_list_room(&g->usage, &l, 1)) return;
  if (l.cap > UINT32_MAX) g->usage.failed = true;
  g->out = l.a;
  g->capout = l.cap > UINT32_MAX ? UINT32_MAX : (uint32_t)l.cap;
}

void mp_graph_nolist(mp_graph *g)
{
  mp_usage_give(&g->usage, g->out, g->capout, sizeof(*g->out));
  g->out = NULL;
  g->nout = g->capout = 0;
}

bool mp_graph_init(mp_graph *g, uint32_t n, mp_graph_edges *edges,
		   mp_graph_sizes *sizes, void *ud)
{
  uint64_t words = (uint64_t)n / 64 + 1;
  memset(g, 0, sizeof(*g));
  g->n = n;
  g->edges = edges;
  g->sizes = sizes;
  g->ud = ud;
  if (n < MP_GRAPH_MAX)
    g->leaves = mp_usage_take(&g->usage, words, sizeof(*g->leaves));
  if (g->leaves == NULL) return false;
  memset(g->leaves, 0, (size_t)words * sizeof(*g->leaves));
  return true;
}

uint32_t mp_graph_number(const mp_graph *g, uint32_t node)
{
  uint64_t below = (UINT64_C(1) << (node & 63)) - 1;
  return g->before[node >> 6] +
	 mp_places_bits(~g->leaves[node >> 6] & below);
}

void mp_graph_free(mp_graph *g)
{
  mp_free(g->leaves);
  mp_free(g->holder);
  mp_free(g->up);
  mp_free(g->before);
  mp_free(g->sum);
  mp_free(g->out);
  memset(g, 0, sizeof(*g));
}
