/* SPDX-License-Identifier: MIT */
/*
** See heapwalk/baseline.h.
*/
#include "config.h"

#include <string.h>

#include "data/mem.h"
#include "heapwalk/baseline.h"

void mp_baseline_init(mp_baseline *b)
{
  memset(b, 0, sizeof(*b));
  b->at = -1;
}

void mp_baseline_free(mp_baseline *b)
{
  mp_map_free(&b->of);
  mp_free(b->bytes);
  mp_baseline_init(b);
}

static uint64_t mix_text(uint64_t h, const char *s)
{
  for (; s != NULL && *s != '\0'; s++) h = mp_mix(h, (unsigned char)*s);
  return mp_mix(h, 256);
}

void mp_baseline_paths(const mp_holders *s, uint64_t *paths)
{
  uint32_t i;
  paths[0] = 0;
  for (i = 1; i < s->nlines; i++) {
    const mp_holder *l = &s->lines[i];
    paths[i] = mix_text(mix_text(paths[l->parent], l->label), l->type);
  }
}

static bool add(mp_baseline *b, uint64_t path, double bytes)
{
  uint32_t i = mp_map_get(&b->of, path);
  if (i != 0) {
    b->bytes[i - 1] = -1;
    return true;
  }
  if (!mp_mem_room(&b->bytes, b->nbytes, &b->capbytes, sizeof(*b->bytes)))
    return false;
  b->bytes[b->nbytes++] = bytes;
  return mp_map_put(&b->of, path, b->nbytes);
}

void mp_baseline_take(mp_baseline *b, const mp_holders *s, double at,
		      double least)
{
  uint64_t *paths = mp_calloc(s->nlines, sizeof(*paths));
  bool ok = paths != NULL;
  uint32_t i;
  mp_baseline_free(b);
  if (ok) mp_baseline_paths(s, paths);
  for (i = 1; ok && i < s->nlines; i++)
    ok = add(b, paths[i], (double)s->lines[i].bytes);
  mp_free(paths);
  if (!ok) {
    mp_baseline_free(b);
    return;
  }
  b->at = at;
  b->least = least;
}

double mp_baseline_bytes(const mp_baseline *b, uint64_t path)
{
  uint32_t i = mp_map_get(&b->of, path);
  return i != 0 ? b->bytes[i - 1] : -1;
}
