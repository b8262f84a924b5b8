/* SPDX-License-Identifier: MIT */
/*
** See vm/profiler.h.
*/
#include "config.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/profiler.h"

/* The beginning of LuaJIT's own record. */
typedef struct record {
  void *g;			/* The VM that has the profiler, or NULL. */
  luaJIT_profile_callback cb;
  const void *data;
  uintptr_t next;		/* Where the buffer for dumps of stacks goes on;
				** or, where references have 32 bits, that and
				** its end. 0: there is none. */
} record;

/* LuaJIT's record is smaller. It ends with the signal's earlier action, of
** which the kernel fills in only a part; the rest comes from the stack, where
** the same callback and data may have been. */
#define RECORD_MAX 512

static record *place;

typedef struct search {
  luaJIT_profile_callback cb;
  const void *data;
  const record *found;
  int n;			/* Places found. */
} search;

static bool holds(const struct dl_phdr_info *info, const void *p)
{
  int i;
  for (i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &info->dlpi_phdr[i];
    if (h->p_type == PT_LOAD &&
	(uintptr_t)p - (info->dlpi_addr + h->p_vaddr) < h->p_memsz)
      return true;
  }
  return false;
}

/* Reads the gaps between variables, too. */
__attribute__((noinline, no_sanitize_address))
static void search_words(search *s, const char *from, size_t size)
{
  const char *end = from + size - sizeof(record);
  from = (const char *)(((uintptr_t)from + sizeof(void *) - 1) &
			~(uintptr_t)(sizeof(void *) - 1));
  for (; from <= end; from += sizeof(void *)) {
    const record *r = (const record *)(const void *)from;
    if (r->cb != s->cb || r->data != s->data || r->g == NULL) continue;
    if (s->n > 0 && from < (const char *)s->found + RECORD_MAX) continue;
    s->found = r;
    s->n++;
  }
}

/* Searches the variables of the object that LuaJIT is part of. */
static int search_object(struct dl_phdr_info *info, size_t size, void *ud)
{
  int i;
  (void)size;
  if (!holds(info, (const void *)(uintptr_t)luaJIT_profile_start)) return 0;
  for (i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &info->dlpi_phdr[i];
    if (h->p_type == PT_LOAD && (h->p_flags & PF_W) &&
	h->p_memsz > sizeof(record))
      search_words(ud, (const char *)(info->dlpi_addr + h->p_vaddr),
		   h->p_memsz);
  }
  return 1;
}

bool mp_profiler_find(luaJIT_profile_callback cb, const void *data)
{
  search s = { cb, data, NULL, 0 };
  if (place != NULL) return true;
  dl_iterate_phdr(search_object, &s);
  if (s.n == 1) place = (record *)(uintptr_t)s.found;
  return place != NULL;
}

bool mp_profiler_known(void) { return place != NULL; }

/* LuaJIT writes these words without a lock. */
#define READ(p)	__atomic_load_n(&place->p, __ATOMIC_SEQ_CST)

bool mp_profiler_last(luaJIT_profile_callback cb, const void *data)
{
  return READ(cb) == cb && READ(data) == data;
}

bool mp_profiler_runs(luaJIT_profile_callback cb, const void *data)
{
  return READ(g) != NULL && mp_profiler_last(cb, data);
}

bool mp_profiler_taken(void) { return READ(g) != NULL; }

bool mp_profiler_dumped(void) { return READ(next) != 0; }

bool mp_profiler_pass(void *from, void *to)
{
  return __atomic_compare_exchange_n(&place->g, &from, to, false,
				     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void mp_profiler_reset(void *to)
{
  __atomic_store_n(&place->g, to, __ATOMIC_SEQ_CST);
}

void mp_profiler_set_data(const void *data)
{
  __atomic_store_n(&place->data, data, __ATOMIC_SEQ_CST);
}
