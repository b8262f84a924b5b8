/* SPDX-License-Identifier: MIT */
/*
** See heapwalk/entryname.h.
*/
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "data/mem.h"
#include "heapwalk/entryname.h"
#include "heapwalk/name.h"

#define CHAIN		4	/* References named between two holders. */

/* -- References ---------------------------------------------------------- */

typedef struct looking {
  mp_heap *h;
  uint32_t node, found;
  const char *from;
  char *buf;
  size_t n;
} looking;

static void look(void *ud, const char *to, mp_how how, uint64_t detail)
{
  looking *l = ud;
  if (mp_places_find(&l->h->places, to) != l->node) return;
  if (l->found++ == 0)
    mp_heap_label(l->h, l->from, how, detail, l->buf, l->n);
}

uint32_t mp_edge_name(mp_heap *h, uint32_t up, uint32_t node, char *buf,
		      size_t n)
{
  looking l = { h, node, 0, NULL, buf, n };
  if (up != 0) l.from = mp_places_address(&h->places, up);
  buf[0] = '\0';
  mp_heap_edges(h, l.from, look, &l);
  return l.found;
}

/* -- Entries ------------------------------------------------------------- */

/* References from the holder down to the node, as names one after the other. */
static void name_chain(const mp_entries *s, uint32_t holder, uint32_t node,
		       char *buf, size_t n)
{
  uint32_t chain[CHAIN], k = 0;
  size_t at = 0;
  buf[0] = '\0';
  for (; k < CHAIN && node != holder; node = s->g->up[node])
    chain[k++] = node;
  if (node != holder)
    at += (size_t)snprintf(buf, n, " ...");
  while (k-- > 0 && at + 1 < n) {
    node = chain[k];
    mp_edge_name(s->h, s->g->up[node], node, buf + at, n - at);
    at += strlen(buf + at);
  }
}

#define ROOM		(MP_LABEL_MAX * (CHAIN + 2))

/* The beginning of the keys. None of its characters is cut in two. */
static void name_prefix(const mp_entry *e, const char *key, char *buf, size_t n)
{
  char start[MP_LABEL_MAX];
  size_t len = e->prefix;
  while (len > 0 && ((unsigned char)key[len] & 0xc0) == 0x80) len--;
  mp_heap_keystart(key, len, start, sizeof(start));
  snprintf(buf, n, len > 0 ? "[\"%s*\"]" : ".*", start);
}

/* Where several share a line, by a pattern. */
static void name_pattern(const mp_entry *e, char *buf, size_t n)
{
  size_t len;
  const char *key = mp_entry_key(e, &len);
  if (e->how == MP_BY_INDEX || (e->how == MP_BY_KEY && key == NULL))
    snprintf(buf, n, "[*]");
  else if (e->how == MP_BY_KEY)
    name_prefix(e, key, buf, n);
  else
    snprintf(buf, n, " *");
}

char *mp_entry_name(const mp_entries *s, const mp_entry *e)
{
  char buf[ROOM];
  size_t at;
  if (e->up == MP_ENTRY_MANY) return mp_mem_string(" shared objects");
  if (e->merged == 1 && !(e->count > 1 && mp_entry_numbered(e))) {
    name_chain(s, e->holder, e->named, buf, sizeof(buf));
    return mp_mem_string(buf);
  }
  name_chain(s, e->holder, e->up, buf, sizeof(buf));
  at = strlen(buf);
  name_pattern(e, buf + at, sizeof(buf) - at);
  return mp_mem_string(buf);
}
