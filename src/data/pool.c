/* SPDX-License-Identifier: MIT */
/*
** See data/pool.h.
*/
#include "config.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "data/pool.h"

#define ALIGN	((size_t)16)
#define LARGE	((size_t)65536)	/* Blocks from here on are mappings. */
#define CHUNK	((size_t)1 << 20)  /* Bytes for small ones. */

/* Before each block. */
typedef struct head {
  _Alignas(16) size_t size;	/* Of the block, */
  size_t mapped;		/* Bytes of the block's mapping, or 0. */
} head;

bool mp_pool_begun;
static size_t left;		/* Bytes that may still be taken. */
static char *next, *end;	/* Of the chunk under way. */

void mp_pool_begin(size_t limit)
{
  left = limit;
  next = end = NULL;
  mp_pool_begun = true;
}

static void *map(size_t n)
{
  void *p;
  if (n > left) return NULL;
  p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return NULL;
  left -= n;
  return p;
}

static void *alloc_large(size_t n)
{
  head *h = map(n + sizeof(head));
  if (h == NULL) return NULL;
  *h = (head){ n, n + sizeof(head) };
  return h + 1;
}

void *mp_pool_alloc(size_t n)
{
  head *h;
  if (n > SIZE_MAX / 2) return NULL;
  n = (n + ALIGN - 1) & ~(ALIGN - 1);
  if (n >= LARGE) return alloc_large(n);
  if ((size_t)(end - next) < n + sizeof(head)) {
    char *chunk = map(CHUNK);
    if (chunk == NULL) return NULL;
    next = chunk;
    end = chunk + CHUNK;
  }
  h = (head *)(void *)next;
  *h = (head){ n, 0 };
  next += n + sizeof(head);
  return h + 1;
}

void mp_pool_free(void *p)
{
  head *h;
  if (p == NULL) return;
  h = (head *)p - 1;
  if (h->mapped > 0) {
    left += h->mapped;
    munmap(h, h->mapped);
  } else if ((char *)p + h->size == next) {
    next = (char *)h;
  }
}

/* A mapping grows where it is, or moves without a copy. */
static void *grow_mapping(head *h, size_t n)
{
  size_t before = h->mapped, mapped = n + sizeof(head);
  if (mapped > before && mapped - before > left) return NULL;
  h = mremap(h, before, mapped, MREMAP_MAYMOVE);
  if (h == MAP_FAILED) return NULL;
  left += before - mapped;
  *h = (head){ n, mapped };
  return h + 1;
}

void *mp_pool_realloc(void *p, size_t n)
{
  head *h;
  void *q;
  if (p == NULL) return mp_pool_alloc(n);
  h = (head *)p - 1;
  if (n > SIZE_MAX / 2) return NULL;
  if (n <= h->size) return p;
  if (h->mapped > 0) return grow_mapping(h, n);
  q = mp_pool_alloc(n);
  if (q == NULL) return NULL;
  memcpy(q, p, h->size);
  mp_pool_free(p);
  return q;
}
