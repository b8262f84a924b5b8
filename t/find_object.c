/* SPDX-License-Identifier: MIT */
/* _dl_find_object by dl_iterate_phdr. Debian's libgcc has an unwinder for
** glibc, which has that function; musl has not, and on systems of its own the
** unwinder does without it. */

#define _GNU_SOURCE
#include <link.h>
#include <stddef.h>
#include <stdint.h>

/* As glibc has it. */
struct dl_find_object {
  unsigned long long flags;
  void *start, *end;
  struct link_map *map;
  void *eh_frame;
  unsigned long long reserved[7];
};

struct search { uintptr_t pc; struct dl_find_object *found; };

static int look(struct dl_phdr_info *info, size_t size, void *ud)
{
  struct search *s = ud;
  const ElfW(Phdr) *eh = NULL, *in = NULL;
  int i;
  (void)size;
  for (i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &info->dlpi_phdr[i];
    if (h->p_type == PT_GNU_EH_FRAME) eh = h;
    if (h->p_type == PT_LOAD &&
	s->pc - (info->dlpi_addr + h->p_vaddr) < h->p_memsz)
      in = h;
  }
  if (in == NULL || eh == NULL) return 0;
  s->found->flags = 0;
  s->found->start = (void *)(info->dlpi_addr + in->p_vaddr);
  s->found->end = (char *)s->found->start + in->p_memsz;
  s->found->map = NULL;
  s->found->eh_frame = (void *)(info->dlpi_addr + eh->p_vaddr);
  return 1;
}

__attribute__((visibility("hidden")))
int _dl_find_object(void *pc, struct dl_find_object *found)
{
  struct search s = { (uintptr_t)pc, found };
  return dl_iterate_phdr(look, &s) ? 0 : -1;
}
