/* SPDX-License-Identifier: MIT */
/*
** See attach/symbol.h.
**
** An object's own tables say where its symbols begin, and not how many there
** are. The names follow them, by the habit of all linkers.
*/
#include "config.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "attach/room.h"
#include "attach/symbol.h"

#define CLASS	(sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)
#define HEADERS_MAX	64	/* Program headers of an object, */
#define DYNAMIC_MAX	256	/* entries of its dynamic section, */
#define TABLE_MAX	(16 << 20) /* and bytes of a table, at most. */

typedef struct tables {
  uint64_t base;		/* What addresses are relative to. */
  uint64_t symbols, names;	/* Addresses. */
  uint64_t nsize;		/* Bytes of the names. */
} tables;

/* Finds the dynamic section of the object whose file is mapped there. */
static bool find_dynamic(pid_t pid, uint64_t at, tables *t, uint64_t *dynamic)
{
  ElfW(Phdr) ph[HEADERS_MAX];
  ElfW(Ehdr) eh;
  bool first = true;
  int i;
  *dynamic = 0;
  if (!mp_remote_read(pid, &eh, at, sizeof(eh)) ||
      memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
      eh.e_ident[EI_CLASS] != CLASS || eh.e_phnum > HEADERS_MAX ||
      !mp_remote_read(pid, ph, at + eh.e_phoff, eh.e_phnum * sizeof(ph[0])))
    return false;
  for (i = 0; i < eh.e_phnum; i++) {
    if (ph[i].p_type == PT_LOAD && first) {
      t->base = at - (ph[i].p_vaddr & ~(ElfW(Addr))4095);
      first = false;
    }
    if (ph[i].p_type == PT_DYNAMIC) *dynamic = ph[i].p_vaddr;
  }
  if (*dynamic == 0 || first) return false;
  *dynamic += t->base;
  return true;
}

/* The loader has made most of these addresses absolute. */
static uint64_t absolute(const tables *t, uint64_t address)
{
  return address < t->base ? address + t->base : address;
}

static bool find_tables(pid_t pid, uint64_t at, tables *t)
{
  uint64_t dynamic;
  ElfW(Dyn) d;
  int i;
  memset(t, 0, sizeof(*t));
  if (!find_dynamic(pid, at, t, &dynamic)) return false;
  for (i = 0; i < DYNAMIC_MAX; i++) {
    if (!mp_remote_read(pid, &d, dynamic + (unsigned)i * sizeof(d), sizeof(d)))
      return false;
    if (d.d_tag == DT_NULL) break;
    if (d.d_tag == DT_SYMTAB) t->symbols = absolute(t, d.d_un.d_ptr);
    if (d.d_tag == DT_STRTAB) t->names = absolute(t, d.d_un.d_ptr);
    if (d.d_tag == DT_STRSZ) t->nsize = d.d_un.d_val;
  }
  return t->symbols != 0 && t->names > t->symbols &&
	 t->names - t->symbols < TABLE_MAX && t->nsize > 0 &&
	 t->nsize < TABLE_MAX;
}

/* A symbol that is searched for. */
typedef struct wanted {
  const char *name;
  unsigned type;
  uint64_t size;		/* Found out, */
  uint64_t base, entry;		/* as are these. */
} wanted;

/* A symbol without a value is none, as for the dynamic linker. */
static uint64_t find_among(const tables *t, const ElfW(Sym) *symbols,
			   const char *names, wanted *w)
{
  size_t i, n = (t->names - t->symbols) / sizeof(*symbols);
  size_t len = strlen(w->name) + 1;
  for (i = 1; i < n; i++) {
    const ElfW(Sym) *s = &symbols[i];
    if (s->st_shndx == SHN_UNDEF || ELF32_ST_TYPE(s->st_info) != w->type ||
	s->st_name >= t->nsize || t->nsize - s->st_name < len ||
	memcmp(names + s->st_name, w->name, len) != 0)
      continue;
    w->size = s->st_size;
    w->base = t->base;
    w->entry = t->symbols + i * sizeof(*s) + offsetof(ElfW(Sym), st_value);
    return s->st_value != 0 ? t->base + s->st_value : 0;
  }
  return 0;
}

static uint64_t find_in(pid_t pid, uint64_t at, wanted *w)
{
  uint64_t found = 0;
  ElfW(Sym) *symbols;
  char *names;
  tables t;
  if (!find_tables(pid, at, &t)) return 0;
  symbols = mp_room(malloc(t.names - t.symbols));
  names = mp_room(malloc(t.nsize));
  if (symbols != NULL && names != NULL &&
      mp_remote_read(pid, symbols, t.symbols, t.names - t.symbols) &&
      mp_remote_read(pid, names, t.names, t.nsize))
    found = find_among(&t, symbols, names, w);
  free(symbols);
  free(names);
  return found;
}

static uint64_t find(const mp_maps *m, const mp_mapping *object, wanted *w)
{
  const mp_mapping *last = NULL;
  uint64_t found = 0;
  int i;
  for (i = 0; i < m->n && found == 0; i++) {
    const mp_mapping *a = &m->list[i];
    if (a->inode == 0 || mp_maps_same(a, last)) continue;
    last = a;
    if (object == NULL || mp_maps_same(a, object))
      found = find_in(m->pid, a->from, w);
  }
  return found;
}

uint64_t mp_symbol_find(const mp_maps *m, const mp_mapping *object,
			const char *name)
{
  wanted w = { .name = name, .type = STT_FUNC };
  return find(m, object, &w);
}

uint64_t mp_symbol_entry(const mp_maps *m, const mp_mapping *object,
			 const char *name, uint64_t *base)
{
  wanted w = { .name = name, .type = STT_FUNC };
  find(m, object, &w);
  *base = w.base;
  return w.entry;
}

uint64_t mp_symbol_variable(const mp_maps *m, const mp_mapping *object,
			    const char *name, uint64_t *size)
{
  wanted w = { .name = name, .type = STT_OBJECT };
  uint64_t found = find(m, object, &w);
  *size = w.size;
  return found;
}
