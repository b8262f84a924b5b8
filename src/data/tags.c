/* SPDX-License-Identifier: MIT */
/*
** See data/tags.h.
*/
#include "config.h"

#include "data/mem.h"
#include "data/tags.h"

void mp_tags_init(mp_tags *t)
{
  *t = (mp_tags){ .map = MP_MAP_EMPTY };
}

static mp_tagleaf *set_last(mp_tags *t, mp_tagleaf *leaf)
{
  t->last[leaf->number & (MP_TAGS_LAST - 1)] = leaf;
  return leaf;
}

/* NULL: there is none. */
static mp_tagleaf *find(const mp_tags *t, uint64_t number)
{
  uint32_t i = mp_map_get(&t->map, mp_mix(0, number));
  return i != 0 ? t->leaves[i] : NULL;
}

mp_tagleaf *mp_tags_find(mp_tags *t, uint64_t number)
{
  mp_tagleaf *leaf = find(t, number);
  return leaf != NULL ? set_last(t, leaf) : NULL;
}

mp_tagleaf *mp_tags_make(mp_tags *t, uint64_t number)
{
  mp_tagleaf *leaf = mp_tags_find(t, number);
  if (leaf != NULL) return leaf;
  if (!mp_mem_room(&t->leaves, t->nleaves + 1, &t->cap, sizeof(leaf)))
    return NULL;
  if ((leaf = mp_calloc(1, sizeof(*leaf))) == NULL) return NULL;
  if (!mp_map_put(&t->map, mp_mix(0, number), t->nleaves + 1)) {
    mp_free(leaf);
    return NULL;
  }
  leaf->number = number;
  t->leaves[++t->nleaves] = leaf;
  return set_last(t, leaf);
}

mp_tag mp_tags_get(const mp_tags *t, const void *block, size_t size)
{
  mp_tag tag = { 0, 0 };
  mp_tagleaf *leaf = find(t, mp_tags_number(block));
  if (leaf == NULL || (*mp_tags_word(leaf, block) & mp_tags_bit(block)) == 0)
    return tag;
  memcpy(&tag, (const char *)block + size, sizeof(tag));
  return tag;
}

void mp_tags_free(mp_tags *t)
{
  uint32_t i;
  for (i = 1; i <= t->nleaves; i++) mp_free(t->leaves[i]);
  mp_free(t->leaves);
  mp_map_free(&t->map);
  mp_tags_init(t);
}
