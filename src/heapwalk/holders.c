/* SPDX-License-Identifier: MIT */
/*
** Lines of holders. See heapwalk/holders.h.
*/
#include "config.h"

#include <string.h>

#include "data/mem.h"
#include "heapwalk/entryname.h"
#include "heapwalk/holders.h"
#include "heapwalk/name.h"

static uint32_t new_line(mp_holders *s)
{
  void *lines = s->lines;
  if (!mp_mem_room(&lines, s->nlines, &s->caplines, sizeof(*s->lines))) {
    s->entries.failed = true;
    return 0;
  }
  s->lines = lines;
  memset(&s->lines[s->nlines], 0, sizeof(*s->lines));
  return s->nlines++;
}

static void add_line(mp_holders *s, uint32_t parent, const mp_entry *e)
{
  const mp_entries *all = &s->entries;
  uint32_t i = new_line(s), node;
  char what[MP_LABEL_MAX];
  mp_holder *l;
  if (i == 0) return;
  l = &s->lines[i];
  l->parent = parent;
  l->depth = s->lines[parent].depth + 1;
  l->count = e->count;
  l->self = e->self;
  l->bytes = e->bytes;
  l->type = e->type;
  l->first = e->first;
  l->label = mp_entry_name(all, e);
  if (e->count == 1) {
    mp_heap_describe(mp_entries_object(all, e->first), what, sizeof(what));
    l->what = mp_mem_string(what);
  }
  for (node = e->first; node != 0; node = all->next[node])
    all->line[node] = MP_ENTRY_LINE | i;
}

/* Objects without a line of their own get that of their holder. */
static void fill_up(mp_holders *s)
{
  mp_entries *e = &s->entries;
  uint32_t *line = e->line, i, u, next, found;
  for (i = 1; i < e->g->n; i++) {
    for (u = i; u != 0 && !mp_entries_has(e, u); u = line[u]);
    found = u == 0 ? MP_ENTRY_LINE : line[u];
    for (u = i; u != 0 && !mp_entries_has(e, u); u = next) {
      next = line[u];
      line[u] = found;
    }
  }
}

bool mp_holders_make(mp_holders *s, mp_heap *h, mp_graph *g, uint64_t min)
{
  mp_entries *e = &s->entries;
  uint32_t i, k;
  memset(s, 0, sizeof(*s));
  if (!mp_entries_init(e, h, g, min)) return false;
  new_line(s);  /* Number 0. */
  if (e->failed) return false;
  s->lines[0].bytes = mp_graph_retained(g, 0);
  s->lines[0].type = "VM";
  for (i = 0; i < s->nlines && !e->failed; i++) {
    if (s->lines[i].depth >= MP_HOLDERS_DEPTH || s->lines[i].bytes < e->min)
      continue;
    mp_entries_find(e, s->lines[i].first);
    for (k = 0; k < e->n && !e->failed; k++) add_line(s, i, &e->a[k]);
  }
  if (!e->failed) fill_up(s);
  return !e->failed;
}

void mp_holders_trim(mp_holders *s)
{
  mp_entries_trim(&s->entries);
}

void mp_holders_free(mp_holders *s)
{
  uint32_t i;
  for (i = 0; i < s->nlines; i++) {
    mp_free(s->lines[i].label);
    mp_free(s->lines[i].what);
  }
  mp_holders_trim(s);
  mp_free(s->lines);
  memset(s, 0, sizeof(*s));
}
