/* SPDX-License-Identifier: MIT */
/*
** Holders in a graph of objects: dominators, retained sizes, shortest paths.
**
** Nodes are numbered from 0, which is the root. A node dominates another one
** if every path from the root to that one leads through it: if it goes, the
** other one goes too. The nearest of them is the immediate dominator, here
** called the holder. The retained size of a node is the size of all nodes that
** it dominates, and of itself. A node shared by several others counts for the
** nearest node that dominates all of these.
**
** The user's callback lists the edges of a node, and may be called several
** times for a node. It is never called for a leaf, which has no edges: half of
** a heap is strings, and they only take part in the last step of the
** computation.
**
** A heap has millions of objects: the computation takes up to 24 bytes for a
** node that is not a leaf, 8 for a leaf, and 8 for an edge beyond the first
** that leads to a node. It takes O(edges * log nodes) steps for every graph,
** and no recursion. Memory comes from malloc. One thread at a time.
*/
#ifndef MP_GRAPH_H
#define MP_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "data/usage.h"

#define MP_GRAPH_NONE	UINT32_MAX
#define MP_GRAPH_MAX	(UINT32_MAX / 2)  /* Nodes. */

typedef struct mp_graph mp_graph;

/* Calls mp_graph_edge for every edge that leaves the node. */
typedef void mp_graph_edges(void *ud, uint32_t node, mp_graph *g);

/* Calls mp_graph_size for every node. */
typedef void mp_graph_sizes(void *ud, mp_graph *g);

struct mp_graph {
  /* -- The user's -- */
  uint32_t n;			/* Nodes. */
  mp_graph_edges *edges;
  mp_graph_sizes *sizes;
  void *ud;
  bool inner;			/* Edges to leaves need not be listed. */
  uint64_t *leaves;		/* A bit for each node. */

  /* -- Results -- */
  uint32_t *holder;		/* By node; MP_GRAPH_NONE: the root, and */
				/* nodes that it does not lead to. */
  uint32_t *up;			/* By node: the one before on the path. */
  uint32_t ninner;		/* Nodes that are no leaves. */
  uint64_t nedges;		/* Edges between them. */
  mp_usage usage;		/* Its memory. */

  /* -- Private -- */
  uint32_t *before;		/* By word of `leaves`: inner nodes before. */
  uint64_t *sum;		/* By number of inner nodes: retained. */
  uint32_t *out;		/* The edges reported last. */
  uint32_t nout, capout;
};

/* A graph without edges. False: no memory, or too many nodes. */
bool mp_graph_init(mp_graph *g, uint32_t n, mp_graph_edges *edges,
		   mp_graph_sizes *sizes, void *ud);

static inline void mp_graph_leaf(mp_graph *g, uint32_t node)
{
  g->leaves[node >> 6] |= UINT64_C(1) << (node & 63);
}

static inline bool mp_graph_isleaf(const mp_graph *g, uint32_t node)
{
  return g->leaves[node >> 6] >> (node & 63) & 1;
}

/* For mp_graph_edge when `out` is full. */
void mp_graph_grow(mp_graph *g);

/* For the callback: reports an edge to that node. */
static inline void mp_graph_edge(mp_graph *g, uint32_t to)
{
  if (g->nout == g->capout) mp_graph_grow(g);
  if (g->nout < g->capout) g->out[g->nout++] = to;
}

/* For the callback: the node's own size. */
void mp_graph_size(mp_graph *g, uint32_t node, uint64_t size);

/* Frees `out`. */
void mp_graph_nolist(mp_graph *g);

/* The edges of a node, in g->out; returns their number. */
static inline uint32_t mp_graph_list(mp_graph *g, uint32_t node)
{
  g->nout = 0;
  g->edges(g->ud, node, g);
  return g->nout;
}

/* Finds holders, retained sizes and paths. Among paths of equal length, the one
** whose edges were reported first is chosen. False: no memory. */
bool mp_graph_dominate(mp_graph *g);

/* Whether there is a path from the root to it; after mp_graph_dominate. */
static inline bool mp_graph_reached(const mp_graph *g, uint32_t node)
{
  return node == 0 || g->holder[node] != MP_GRAPH_NONE;
}

/* The number of an inner node among these; after mp_graph_dominate. */
uint32_t mp_graph_number(const mp_graph *g, uint32_t node);

/* The retained size of an inner node; a leaf retains itself. */
static inline uint64_t mp_graph_retained(const mp_graph *g, uint32_t node)
{
  return g->sum[mp_graph_number(g, node)];
}

/* Gives the memory back. */
void mp_graph_free(mp_graph *g);

#endif
