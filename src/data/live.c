/* SPDX-License-Identifier: MIT */
/*
** Address -> number of a sampled object. See data/live.h.
*/
#include "config.h"

#include <string.h>

#include "data/live.h"

bool mp_live_init(mp_live *l, bool dense)
{
  memset(l, 0, sizeof(*l));
  l->dense = dense;
  if (!dense) return mp_sparse_init(&l->sparse);
  memset(l->hashes, 255, sizeof(l->hashes));
  return mp_pages_init(&l->pages);
}

/* -- The filter ---------------------------------------------------------- */

/* In a dense table the filter always answers "maybe": its counts are full. */
static void filter_add(mp_live *l, const void *addr)
{
  uint8_t *n = &l->hashes[mp_filter_hash(addr)];
  if (*n < 255) ++*n;
}

static void filter_remove(mp_live *l, const void *addr)
{
  uint8_t *n = &l->hashes[mp_filter_hash(addr)];
  if (*n < 255) --*n;
}

/* -- Objects ------------------------------------------------------------- */

uint32_t mp_live_putsparse(mp_live *l, const void *addr, uint32_t id)
{
  uint32_t old = mp_sparse_put(&l->sparse, addr, id);
  if (old == 0) filter_add(l, addr);
  return old;
}

uint32_t mp_live_takesparse(mp_live *l, const void *addr)
{
  uint32_t id = mp_sparse_take(&l->sparse, addr);
  if (id != 0) filter_remove(l, addr);
  return id;
}

uint32_t mp_live_get(const mp_live *l, const void *addr)
{
  if (!mp_live_may(l, addr)) return 0;
  return l->dense ? mp_pages_get(&l->pages, addr) :
	 mp_sparse_get(&l->sparse, addr);
}

void mp_live_each(const mp_live *l, mp_live_see *f, void *data)
{
  if (l->dense) mp_pages_each(&l->pages, f, data);
  else mp_sparse_each(&l->sparse, f, data);
}

size_t mp_live_memory(const mp_live *l)
{
  return l->dense ? mp_pages_memory(&l->pages) : mp_sparse_memory(&l->sparse);
}

void mp_live_free(mp_live *l)
{
  if (l->dense) mp_pages_free(&l->pages);
  else mp_sparse_free(&l->sparse);
  memset(l, 0, sizeof(*l));
}
