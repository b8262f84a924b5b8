/* SPDX-License-Identifier: MIT */
/*
** See data/samples.h.
*/
#include "config.h"

#include <string.h>

#include "data/mem.h"
#include "data/samples.h"

uint32_t mp_samples_new(mp_samples *s)
{
  uint32_t id = s->unused;
  if (id != 0) {
    s->unused = s->list[id].next;
    return id;
  }
  id = s->count + 1;
  if (!mp_mem_room(&s->list, id, &s->cap, sizeof(*s->list))) return 0;
  return s->count = id;
}

void mp_samples_release(mp_samples *s, uint32_t id)
{
  s->list[id].size = 0;
  s->list[id].next = s->unused;
  s->unused = id;
}

void mp_samples_free(mp_samples *s)
{
  mp_free(s->list);
  memset(s, 0, sizeof(*s));
}
