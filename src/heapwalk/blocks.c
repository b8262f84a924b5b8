/* SPDX-License-Identifier: MIT */
/*
** See heapwalk/blocks.h.
*/
#include "config.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heapwalk/blocks.h"
#include "vm/peek.h"

#define LEAST		((uintptr_t)65536)  /* No memory is below that, */
#define MOST		((uint64_t)1 << 48)  /* or from there on. */
#define REGION		26	/* Bits of an address in a region: glibc's */
				/* arenas of threads are that large. */
#define SEARCHES	200000u	/* With a head near the address, */
#define FAR		50000u	/* and far from it. */

/* The head of a chunk of glibc's malloc: its size, which is a multiple of 16,
** and flags. It is before the block, of which the head of the next chunk is the
** end. */
#define HEAD		sizeof(uint64_t)
#define IN_USE		1u	/* The chunk before this one is. */
#define MAPPED		2u	/* The chunk is a mapping, */
#define OF_THREAD	4u	/* or not in the memory from sbrk. */
#define FLAGS		7u
#define UNIT		16u
#define LEAST_CHUNK	32u
#define PAGE		MP_BLOCKS_PAGE
#define NEAR_BACK	64	/* Bytes before an address in which a chunk's */
#define FAR_BACK	4096	/* head is looked for. */

static enum { NOT_KNOWN, GLIBC, OTHER } allocator;
static uintptr_t program_end;	/* Memory from sbrk is above the program. */

/* -- Whose malloc -------------------------------------------------------- */

/* Whether a block of that size has the head that glibc would give it; a rest
** that is too small for another chunk is part of it. */
static bool has_head(size_t size)
{
  uint64_t want = (size + HEAD + UNIT - 1) & ~(uint64_t)(UNIT - 1), head;
  char *p = malloc(size);
  uintptr_t at = (uintptr_t)p - HEAD;
  bool ok = p != NULL && mp_peek(&head, (const void *)at, HEAD);
  free(p);
  if (!ok || (head & MAPPED) != 0) return false;
  head &= ~(uint64_t)FLAGS;
  return head == want || head == want + UNIT;
}

/* The program comes first. */
static int find_end(struct dl_phdr_info *info, size_t size, void *data)
{
  int i;
  (void)size; (void)data;
  for (i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &info->dlpi_phdr[i];
    uintptr_t end = info->dlpi_addr + h->p_vaddr + h->p_memsz;
    if (h->p_type == PT_LOAD && end > program_end) program_end = end;
  }
  return 1;
}

void mp_blocks_prove(void)
{
  if (allocator != NOT_KNOWN) return;
  dl_iterate_phdr(find_end, NULL);
  allocator = sizeof(void *) == 8 && has_head(24) && has_head(100) &&
	      has_head(1000) && has_head(5000) ? GLIBC : OTHER;
}

/* -- Where blocks can be ------------------------------------------------- */

static bool add_region(mp_blocks *b, uintptr_t at)
{
  return mp_map_put(&b->regions, mp_mix(1, (uint64_t)at >> REGION), 1);
}

bool mp_blocks_init(mp_blocks *b, const mp_native_block *list, uint32_t n)
{
  void *end = sbrk(0);
  uint32_t i;
  memset(b, 0, sizeof(*b));
  b->list = list;
  b->n = n;
  if (end != (void *)-1) b->high = (uintptr_t)end;
  b->low = program_end;
  for (i = 0; i < n; i++)
    if (!add_region(b, mp_native_at(&list[i]))) return false;
  return true;
}

void mp_blocks_look(mp_blocks *b, bool far)
{
  b->back = far ? FAR_BACK : NEAR_BACK;
  b->left = far ? FAR : SEARCHES;
  memset(b->cache, 0, sizeof(b->cache));
}

void mp_blocks_free(mp_blocks *b)
{
  mp_map_free(&b->regions);
}

static bool may_be_block(const mp_blocks *b, uintptr_t word)
{
  uint64_t n = word;
  if (n < LEAST || n >= MOST) return false;
  return (word >= b->low && word < b->high) ||
	 mp_map_get(&b->regions, mp_mix(1, (uint64_t)word >> REGION)) != 0;
}

/* -- Blocks -------------------------------------------------------------- */

/* The sampled block with that address. */
static bool find_sampled(const mp_blocks *b, uintptr_t word, mp_cblock *found)
{
  uint32_t low = 0, high = b->n;
  while (low < high) {
    uint32_t mid = low + (high - low) / 2;
    if (mp_native_at(&b->list[mid]) <= word) low = mid + 1;
    else high = mid;
  }
  if (low == 0) return false;
  *found = (mp_cblock){ ~mp_native_at(&b->list[low - 1]),
			b->list[low - 1].size, low };
  return word - ~found->not < found->size;
  return true;
}

/* Reads a word, with others nearby for the next call. */
static bool read_word(mp_blocks *b, uintptr_t at, uint64_t *word)
{
  uintptr_t page = at & ~(uintptr_t)(PAGE - 1);
  uint32_t i = (uint32_t)(mp_mix(1, page) & (MP_BLOCKS_PAGES - 1));
  if (b->pages[i].at != page) {
    b->pages[i].at = page;
    b->pages[i].readable = mp_peek(b->pages[i].bytes, (const void *)page, PAGE);
  }
  if (!b->pages[i].readable) return false;
  memcpy(word, b->pages[i].bytes + (at - page), sizeof(*word));
  return true;
}

/* Whether a chunk that is a mapping, with a block there, looks like one. */
static bool is_mapped(mp_blocks *b, uintptr_t at, uint64_t size)
{
  uint64_t before;
  return read_word(b, at - UNIT, &before) && before == 0 &&
	 mp_readable((const void *)(uintptr_t)(at - UNIT + size - 1));
}

/* Whether a chunk with that head, whose block begins at `at`, has the
** address. */
static bool covers(mp_blocks *b, uint64_t head, uintptr_t at, uintptr_t word,
		   mp_cblock *found)
{
  uint64_t size = head & ~(uint64_t)FLAGS, next;
  if (size % UNIT != 0 || size < LEAST_CHUNK || size >= MOST ||
      word - at >= size - HEAD)
    return false;
  if (head & MAPPED) {
    *found = (mp_cblock){ ~at, size - UNIT, 0 };
    return (at - UNIT) % PAGE == 0 && size % PAGE == 0 &&
	   word - at < size - UNIT && is_mapped(b, at, size);
  }
  if (!(head & OF_THREAD) != (at >= b->low && at < b->high)) return false;
  if (!read_word(b, (uintptr_t)(at + size - HEAD), &next) ||
      !(next & IN_USE) || next % UNIT > FLAGS || next < UNIT || next >= MOST)
    return false;
  *found = (mp_cblock){ ~at, size - HEAD, 0 };
  return true;
}

/* Looks for the head before the address; most point to a block's start. */
static bool find_chunk(mp_blocks *b, uintptr_t word, mp_cblock *found)
{
  uintptr_t at = word & ~(uintptr_t)(UNIT - 1);
  uint64_t head;
  for (; word - at < b->back; at -= UNIT)
    if (!read_word(b, at - HEAD, &head)) return false;
    else if (covers(b, head, at, word, found)) return true;
  return false;
}

mp_cblock mp_blocks_find(mp_blocks *b, uintptr_t word)
{
  uint32_t i = (uint32_t)(mp_mix(1, word) & (MP_BLOCKS_CACHE - 1));
  mp_cblock found = { 0, 0, 0 };
  if (!may_be_block(b, word) || find_sampled(b, word, &found)) return found;
  found.size = 0;
  if (allocator != GLIBC || b->left == 0) return found;
  if (b->cache[i].not == ~word) return b->cache[i].block;
  b->left--;
  if (!find_chunk(b, word, &found)) found.size = 0;
  b->cache[i].not = ~word;
  b->cache[i].block = found;
  return found;
}
