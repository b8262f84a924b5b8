/* SPDX-License-Identifier: MIT */
/*
** A drawing of a value. See heapwalk/dot.h.
*/
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/map.h"
#include "data/mem.h"
#include "heapwalk/dot.h"
#include "heapwalk/name.h"
#include "heapwalk/prove.h"
#include "heapwalk/size.h"

typedef struct drawing {
  mp_heap h;
  FILE *f;
  const char *list[MP_DOT_NODES];  /* Objects in the order they are found. */
  uint32_t n, at;		/* Their number; the one that is looked at. */
  mp_map numbers;		/* Number in the heap -> index in list + 1. */
  bool grow;			/* New objects are added. */
  bool cut;			/* There were more objects. */
} drawing;

/* A label in quotes. */
static void put_label(FILE *f, const char *s)
{
  putc('"', f);
  for (; *s != '\0'; s++) {
    if (*s == '"' || *s == '\\') putc('\\', f);
    putc(*s, f);
  }
  putc('"', f);
}

/* The object's place in the list + 1, or 0: it has none. */
static uint32_t meet(drawing *d, const char *o)
{
  uint32_t number = mp_places_find(&d->h.places, o), i;
  if (number == 0) return 0;
  i = mp_map_get(&d->numbers, mp_mix(0, number));
  if (i != 0) return i;
  if (!d->grow || d->n == MP_DOT_NODES ||
      !mp_map_put(&d->numbers, mp_mix(0, number), d->n + 1)) {
    d->cut = true;
    return 0;
  }
  d->list[d->n++] = o;
  return d->n;
}

static void see(void *ud, const char *to, mp_how how, uint64_t detail)
{
  drawing *d = ud;
  char label[MP_LABEL_MAX];
  const char *s = label;
  uint32_t i;
  if (mp_places_find(&d->h.places, to) == 0 || (i = meet(d, to)) == 0) return;
  mp_heap_label(&d->h, d->list[d->at], how, detail, label, sizeof(label));
  while (*s == ' ') s++;
  fprintf(d->f, "  n%u -> n%u [label=", d->at, i - 1);
  put_label(d->f, s);
  fputs("]\n", d->f);
}

static void draw(drawing *d, unsigned depth)
{
  char label[MP_LABEL_MAX];
  uint32_t end;
  fputs("digraph value {\n  node [shape=box, fontname=monospace]\n", d->f);
  for (; d->at < d->n; depth -= depth > 0) {
    for (d->grow = depth > 0, end = d->n; d->at < end; d->at++) {
      const char *o = d->list[d->at];
      mp_heap_describe(o, label, sizeof(label));
      fprintf(d->f, "  n%u [label=", d->at);
      put_label(d->f, label);
      fprintf(d->f, ", tooltip=\"%llu bytes\"]\n",
	      (unsigned long long)mp_heap_size(&d->h, o));
      mp_heap_edges(&d->h, o, see, d);
    }
  }
  if (d->cut) fputs("  more [label=\"and more\", style=dashed]\n", d->f);
  fputs("}\n", d->f);
}

static const char *begin(drawing *d, lua_State *L, int index)
{
  const char *o;
  if (!mp_heap_open(&d->h, L))
    return d->h.layout->proved ? "there is no memory for it" :
	   d->h.layout->why;
  o = mp_heap_argument(&d->h, L, index);
  d->grow = true;
  if (o == NULL || meet(d, o) == 0)
    return "only objects of the heap are drawn: strings, tables, functions, "
	   "coroutines, userdata and cdata";
  return NULL;
}

char *mp_heapdot_make(lua_State *L, int index, unsigned depth, size_t *len,
		      const char **why)
{
  drawing *d = calloc(1, sizeof(*d));
  char *text = NULL;
  *why = "there is no memory for it";
  if (d == NULL) return NULL;
  *why = begin(d, L, index);
  d->f = *why == NULL ? open_memstream(&text, len) : NULL;
  if (d->f != NULL) {
    draw(d, depth);
    if (fclose(d->f) != 0) *why = "there is no memory for it";
  } else if (*why == NULL) {
    *why = "there is no memory for it";
  }
  mp_map_free(&d->numbers);
  mp_heap_close(&d->h);
  free(d);
  if (*why == NULL) return text;
  free(text);
  return NULL;
}
