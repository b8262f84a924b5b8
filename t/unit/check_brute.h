/* SPDX-License-Identifier: MIT */
/*
** For the tests of holders: a graph as lists of edges, and what a computation
** finds there that takes the definitions literally. Node 0 is the root.
*/
#ifndef CHECK_BRUTE_H
#define CHECK_BRUTE_H

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "heapwalk/graph.h"
#include "data/map.h"

/* -- A graph as lists ---------------------------------------------------- */

typedef struct given {
  uint32_t n, nedges, cap;
  uint32_t *from, *to;
  uint64_t *size;		/* By node. */
  uint32_t *number;		/* By node: that in the mp_graph. */
  uint32_t *first, *list;	/* By node, once it is finished. */
} given;

static void edge(given *t, uint32_t from, uint32_t to)
{
  if (t->nedges == t->cap) {
    t->cap = t->cap * 2 + 16;
    t->from = realloc(t->from, t->cap * sizeof(*t->from));
    t->to = realloc(t->to, t->cap * sizeof(*t->to));
  }
  t->from[t->nedges] = from;
  t->to[t->nedges++] = to;
}

/* The caller fills in `size` and `number`. */
static void finish(given *t)
{
  uint32_t i;
  t->size = calloc(t->n, sizeof(*t->size));
  t->number = calloc(t->n, sizeof(*t->number));
  t->first = calloc(t->n + 2, sizeof(*t->first));
  t->list = calloc(t->nedges + 1, sizeof(*t->list));
  for (i = 0; i < t->nedges; i++) t->first[t->from[i] + 2]++;
  for (i = 2; i <= t->n + 1; i++) t->first[i] += t->first[i - 1];
  for (i = 0; i < t->nedges; i++)
    t->list[t->first[t->from[i] + 1]++] = t->to[i];
}

static void drop(given *t)
{
  free(t->from);
  free(t->to);
  free(t->size);
  free(t->number);
  free(t->first);
  free(t->list);
  memset(t, 0, sizeof(*t));
}

static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
  seed = mp_mix(seed, 0x5bd1e995);
  return (uint32_t)((seed >> 20) % n);
}

/* -- The definitions, taken literally ------------------------------------ */

/* Distances from the root, to be freed; -1: there is no path. */
static int32_t *distances(const given *t)
{
  int32_t *dist = malloc(t->n * sizeof(*dist));
  uint32_t *queue = malloc(t->n * sizeof(*queue)), head = 0, tail = 0, i;
  memset(dist, 0xff, t->n * sizeof(*dist));
  dist[0] = 0;
  queue[tail++] = 0;
  while (head < tail) {
    uint32_t v = queue[head++];
    for (i = t->first[v]; i < t->first[v + 1]; i++) {
      uint32_t w = t->list[i];
      if (dist[w] >= 0) continue;
      dist[w] = dist[v] + 1;
      queue[tail++] = w;
    }
  }
  free(queue);
  return dist;
}

/* 64 graphs at a time: in each of them one node is missing, beginning with
** `first`. */
typedef struct without {
  uint32_t first;
  uint64_t *reached;		/* By node: a bit for each graph. */
  uint32_t *queue, head, tail;	/* A ring of nodes that have new bits. */
  bool *queued;
} without;

static void add_reached(const given *t, without *x, uint32_t v, uint64_t bits)
{
  if (v - x->first < 64) bits &= ~(UINT64_C(1) << (v - x->first));
  if ((bits & ~x->reached[v]) == 0) return;
  x->reached[v] |= bits;
  if (x->queued[v]) return;
  x->queued[v] = true;
  x->queue[x->tail++ % t->n] = v;
}

static void find_reached(const given *t, without *x, uint32_t first)
{
  uint32_t i;
  x->first = first;
  x->head = x->tail = 0;
  memset(x->reached, 0, t->n * sizeof(*x->reached));
  memset(x->queued, 0, t->n * sizeof(*x->queued));
  add_reached(t, x, 0, UINT64_MAX);
  while (x->head != x->tail) {
    uint32_t v = x->queue[x->head++ % t->n];
    x->queued[v] = false;
    for (i = t->first[v]; i < t->first[v + 1]; i++)
      add_reached(t, x, t->list[i], x->reached[v]);
  }
}

static uint64_t retained(const given *t, const mp_graph *g, uint32_t node)
{
  return mp_graph_isleaf(g, t->number[node]) ? t->size[node] :
	 mp_graph_retained(g, t->number[node]);
}

/* Whether `by` is among the holders of a node, or is that node. */
static bool holds(const given *t, const mp_graph *g, uint32_t by, uint32_t node)
{
  uint32_t h = t->number[node];
  while (h != t->number[by] && h != MP_GRAPH_NONE) h = g->holder[h];
  return h != MP_GRAPH_NONE;
}

/* A node goes with each of its holders, one after the other, and with no
** other node: its last holder is the one that is farthest from the root. */
static void check_missing(const given *t, const mp_graph *g, const without *x,
			  const int32_t *dist)
{
  uint64_t size[64] = { 0 };
  uint32_t v, w;
  for (w = 0; w < t->n; w++) {
    uint64_t gone = dist[w] >= 0 ? ~x->reached[w] : 0;
    for (; gone != 0; gone &= gone - 1) {
      v = (uint32_t)__builtin_ctzll(gone);
      size[v] += t->size[w];
      ck_assert(holds(t, g, x->first + v, w));
    }
  }
  for (v = x->first; v - x->first < 64 && v < t->n; v++)
    ck_assert_uint_eq(retained(t, g, v),
		      dist[v] >= 0 ? size[v - x->first] : t->size[v]);
}

/* Checks every node. */
static void check_nodes(const given *t, const mp_graph *g, const int32_t *dist)
{
  without x = { .reached = malloc(t->n * sizeof(*x.reached)) };
  uint32_t v;
  x.queue = malloc(t->n * sizeof(*x.queue));
  x.queued = malloc(t->n * sizeof(*x.queued));
  for (v = 0; v < t->n; v += 64) {
    find_reached(t, &x, v);
    check_missing(t, g, &x, dist);
  }
  free(x.reached);
  free(x.queue);
  free(x.queued);
}

#endif
