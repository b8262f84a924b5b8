/* SPDX-License-Identifier: MIT */
/*
** See sample/label.h.
*/
#include "config.h"

#include <string.h>

#include "data/seed.h"
#include "sample/label.h"
#include "sample/name.h"

#define OTHER	"(other)"

/* The labels of a set, by their names. */
typedef struct sorted {
  mp_label list[MP_LABELS_MAX];
  int n;
} sorted;

/* Texts that were cut lie here. */
typedef struct texts {
  char name[MP_NAME_MAX], value[MP_NAME_MAX];
} texts;

static const mp_text other = { OTHER, sizeof(OTHER) - 1 };

void mp_labels_init(mp_labels *l)
{
  memset(l, 0, sizeof(*l));
  l->run = (uint32_t)mp_seed();
}

void mp_labels_free(mp_labels *l)
{
  mp_sparse_free(&l->of);
}

static int compare(mp_text a, mp_text b)
{
  size_t n = a.len < b.len ? a.len : b.len;
  int c = memcmp(a.s, b.s, n);
  return c != 0 ? c : (a.len > b.len) - (a.len < b.len);
}

/* Where a name is in the list, or belongs. */
static int place(const sorted *s, mp_text name)
{
  int i = 0;
  while (i < s->n && compare(s->list[i].name, name) < 0) i++;
  return i;
}

/* Puts a label into the set, or takes it away. False: there is no room. */
static bool put(sorted *s, const mp_label *label)
{
  int i = place(s, label->name);
  bool there = i < s->n && compare(s->list[i].name, label->name) == 0;
  mp_label *at = &s->list[i];
  size_t behind = (size_t)(s->n - i) * sizeof(*at);
  if (there && label->value.s != NULL) {
    *at = *label;
  } else if (there) {
    memmove(at, at + 1, behind - sizeof(*at));
    s->n--;
  } else if (label->value.s != NULL) {
    if (s->n == MP_LABELS_MAX) return false;
    memmove(at + 1, at, behind);
    *at = *label;
    s->n++;
  }
  return true;
}

/* The label that only says that there were others goes with the next one. */
static void read_set(const mp_stacks *zones, uint32_t node, sorted *s)
{
  s->n = 0;
  for (; node != 0; node = zones->nodes[node].parent) {
    const mp_frame *f = &zones->frames[zones->nodes[node].frame];
    const mp_label label = { { f->name, f->namelen },
			     { f->source, f->sourcelen } };
    if (compare(label.name, other) != 0) put(s, &label);
  }
}

/* A label as the tree has it: texts that are too long are cut. */
static mp_frame frame_of(const mp_label *label, texts *buf)
{
  mp_frame value = mp_name_none(), f = value;
  mp_name_set(&f, label->name.s, label->name.len, buf->name);
  mp_name_set(&value, label->value.s, label->value.len, buf->value);
  f.kind = MP_LABEL;
  f.source = value.name;
  f.sourcelen = value.namelen;
  return f;
}

/* Whether there is room for more: twice as much for what stands for others. */
static bool has_room(const mp_labels *l, int times)
{
  return l->made < (uint32_t)times * MP_LABELSETS &&
	 l->bytes < (size_t)times * MP_LABELBYTES;
}

/* The node of a set with one label more. MP_NONE: there is no room for it. */
static uint32_t push(mp_labels *l, mp_stacks *zones, uint32_t parent,
		     const mp_label *label, int times)
{
  bool closed = zones->closed;
  uint32_t frames = zones->nframes, nodes = zones->nnodes, id, node;
  texts buf;
  mp_frame f = frame_of(label, &buf);
  if (!has_room(l, times)) zones->closed = true;
  id = mp_stacks_frame(zones, &f);
  node = id == MP_NONE ? MP_NONE : mp_stacks_push(zones, parent, id);
  if (zones->nframes > frames) l->bytes += f.namelen + f.sourcelen;
  l->made += zones->nnodes - nodes;
  zones->closed = closed;
  return node;
}

static uint32_t push_all(mp_labels *l, mp_stacks *zones, const sorted *s,
			 int times)
{
  uint32_t node = 0;
  int i;
  for (i = 0; i < s->n && node != MP_NONE; i++)
    node = push(l, zones, node, &s->list[i], times);
  return node;
}

/* Whether the tree has that label in some set. */
static bool is_known(mp_stacks *zones, const mp_label *label)
{
  bool closed = zones->closed, known;
  texts buf;
  mp_frame f = frame_of(label, &buf);
  zones->closed = true;
  known = mp_stacks_frame(zones, &f) != MP_NONE;
  zones->closed = closed;
  return known;
}

/* Makes the values of labels "(other)": those for which there is no room, or
** all of the list. */
static void put_other(mp_stacks *zones, sorted *s, const mp_label *list, int n,
		      bool all)
{
  int i;
  for (i = 0; i < n; i++) {
    mp_label label = { list[i].name, other };
    if (list[i].value.s != NULL && (all || !is_known(zones, &list[i])))
      put(s, &label);
  }
}

uint32_t mp_labels_with(mp_labels *l, mp_stacks *zones, uint32_t now,
			const mp_label *list, int n)
{
  uint32_t node, last = push(l, zones, 0, &(mp_label){ other, other }, 1);
  sorted s;
  int i;
  read_set(zones, now, &s);
  for (i = 0; i < n; i++)
    if (!put(&s, &list[i])) l->full = true;
  node = push_all(l, zones, &s, 1);
  if (node != MP_NONE) return node;
  l->full = true;
  put_other(zones, &s, list, n, false);
  node = push_all(l, zones, &s, 2);
  if (node != MP_NONE) return node;
  put_other(zones, &s, list, n, true);
  node = push_all(l, zones, &s, 2);
  return node != MP_NONE ? node : last != MP_NONE ? last : 0;
}

bool mp_labels_set(mp_labels *l, const lua_State *L, uint32_t set)
{
  if (set == 0) {
    mp_labels_freed(l, L);
    return true;
  }
  return (l->of.slots != NULL || mp_sparse_init(&l->of)) &&
	 mp_sparse_put(&l->of, L, set) != MP_SPARSE_NOMEM;
}
