/* SPDX-License-Identifier: MIT */
/*
** See data/elf.h.
*/
#include "config.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "data/elf.h"

#define SECTIONS_MAX	4096	/* Headers that are looked at, */
#define SYMBOLS_MAX	(1u << 22) /* symbols, */
#define STEPS_MAX	(1u << 24) /* and pairs of a symbol and an address. */
#define BUFFER		64	/* Symbols that are read at a time. */
#define NAME_SIZE	64	/* Bytes of names that are searched for. */
#define PAGE		4095u

#if UINTPTR_MAX > UINT32_MAX
#define CLASS		ELFCLASS64
#define TYPE(info)	ELF64_ST_TYPE(info)
#define BIND(info)	ELF64_ST_BIND(info)
#else
#define CLASS		ELFCLASS32
#define TYPE(info)	ELF32_ST_TYPE(info)
#define BIND(info)	ELF32_ST_BIND(info)
#endif

typedef struct part {
  uint64_t at, size;		/* In the file. */
} part;

/* Reads up to n bytes. Returns their number, or 0. */
static size_t read_some(int fd, void *buf, size_t n, uint64_t at)
{
  size_t done = 0;
  if (at > INT32_MAX * UINT64_C(64)) return 0;
  while (done < n) {
    ssize_t got = pread(fd, (char *)buf + done, n - done,
			(off_t)(at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += (size_t)got;
  }
  return done;
}

static bool read_all(int fd, void *buf, size_t n, uint64_t at)
{
  return read_some(fd, buf, n, at) == n;
}

static bool read_head(int fd, ElfW(Ehdr) *h)
{
  return read_all(fd, h, sizeof(*h), 0) &&
	 memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 &&
	 h->e_ident[EI_CLASS] == CLASS;
}

/* The first segment that is loaded. */
static bool first_segment(int fd, const ElfW(Ehdr) *h, ElfW(Phdr) *ph)
{
  unsigned i;
  if (h->e_phentsize != sizeof(*ph)) return false;
  for (i = 0; i < h->e_phnum && i < SECTIONS_MAX; i++) {
    if (!read_all(fd, ph, sizeof(*ph), h->e_phoff + i * sizeof(*ph)))
      return false;
    if (ph->p_type == PT_LOAD) return true;
  }
  return false;
}

bool mp_elf_is(int fd, uint64_t address, const char head[MP_ELF_HEAD],
	       uint64_t *bias)
{
  char there[MP_ELF_HEAD];
  ElfW(Ehdr) h;
  ElfW(Phdr) ph;
  size_t n = MP_ELF_HEAD;
  if (!read_head(fd, &h) || !first_segment(fd, &h, &ph) ||
      ph.p_offset != 0 || ph.p_filesz < sizeof(h))
    return false;
  if (ph.p_filesz < n) n = ph.p_filesz;
  if (!read_all(fd, there, n, 0) || memcmp(there, head, n) != 0) return false;
  *bias = address - (ph.p_vaddr & ~(uint64_t)PAGE);
  return true;
}

/* -- Tables -------------------------------------------------------------- */

static bool read_section(int fd, const ElfW(Ehdr) *h, unsigned i,
			 ElfW(Shdr) *sh)
{
  return i < h->e_shnum && i < SECTIONS_MAX &&
	 read_all(fd, sh, sizeof(*sh), h->e_shoff + i * sizeof(*sh));
}

/* Finds the symbols and their names. */
static bool find_tables(int fd, part *symbols, part *names)
{
  ElfW(Ehdr) h;
  ElfW(Shdr) sh, link;
  unsigned i;
  if (!read_head(fd, &h) || h.e_shentsize != sizeof(sh)) return false;
  for (i = 0; read_section(fd, &h, i, &sh); i++) {
    if (sh.sh_type != SHT_SYMTAB || sh.sh_entsize != sizeof(ElfW(Sym)))
      continue;
    if (!read_section(fd, &h, sh.sh_link, &link) || link.sh_type != SHT_STRTAB)
      return false;
    *symbols = (part){ sh.sh_offset, sh.sh_size };
    if (symbols->size > SYMBOLS_MAX * sizeof(ElfW(Sym)))
      symbols->size = SYMBOLS_MAX * sizeof(ElfW(Sym));
    *names = (part){ link.sh_offset, link.sh_size };
    return true;
  }
  return false;
}

/* -- Search -------------------------------------------------------------- */

typedef struct search {
  mp_function *list;
  size_t n;
  uint64_t bias;
  uint32_t steps;		/* That may still be made. */
} search;

static uint64_t address_of(const search *s, size_t i)
{
  return s->list[i].address - s->bias;
}

/* The first function at an address or above it. */
static size_t lower_bound(const search *s, uint64_t address)
{
  size_t from = 0, to = s->n;
  while (from < to) {
    size_t mid = from + (to - from) / 2;
    if (address_of(s, mid) < address) from = mid + 1;
    else to = mid;
  }
  return from;
}

/* Of several symbols around an address the last one counts, and of those there
** the first. */
static void match(search *s, const ElfW(Sym) *sym)
{
  uint64_t start = sym->st_value, size = sym->st_size > 0 ? sym->st_size : 1;
  size_t i;
  if (sym->st_shndx == SHN_UNDEF || TYPE(sym->st_info) != STT_FUNC) return;
  for (i = lower_bound(s, start); i < s->n && s->steps > 0; i++) {
    mp_function *f = &s->list[i];
    if (address_of(s, i) - start >= size) break;
    s->steps--;
    if (f->name[0] != '\0' || (f->found && f->start >= start + s->bias))
      continue;
    f->found = true;
    f->start = start + s->bias;
    f->at = sym->st_name;
  }
}

/* Reads the next symbols, and returns their number. */
static size_t next_symbols(int fd, part *symbols, ElfW(Sym) buf[BUFFER])
{
  uint64_t n = symbols->size / sizeof(*buf);
  if (n > BUFFER) n = BUFFER;
  n = read_some(fd, buf, (size_t)n * sizeof(*buf), symbols->at) / sizeof(*buf);
  symbols->at += n * sizeof(*buf);
  symbols->size -= n * sizeof(*buf);
  return (size_t)n;
}

static void look(search *s, int fd, part *symbols)
{
  ElfW(Sym) buf[BUFFER];
  size_t i, n;
  while ((n = next_symbols(fd, symbols, buf)) > 0)
    for (i = 0; i < n; i++) match(s, &buf[i]);
}

/* Reads the string that begins there, in n bytes with its 0. */
static void read_string(int fd, const part *names, uint32_t at, char *to,
			size_t n)
{
  *to = '\0';
  if (at >= names->size || names->at > UINT64_MAX - names->size) return;
  if (names->size - at < --n) n = (size_t)(names->size - at);
  n = read_some(fd, to, n, names->at + at);
  to[n] = '\0';
}

void mp_elf_names(int fd, uint64_t bias, mp_function *list, size_t n)
{
  search s = { .list = list, .n = n, .bias = bias, .steps = STEPS_MAX };
  part symbols, names;
  size_t i;
  for (i = 0; i < n; i++) list[i].found = false;
  if (!find_tables(fd, &symbols, &names)) return;
  look(&s, fd, &symbols);
  for (i = 0; i < n; i++)
    if (list[i].found && (list[i].inside || list[i].start == list[i].address))
      read_string(fd, &names, list[i].at, list[i].name, sizeof(list[i].name));
}

/* -- By name ------------------------------------------------------------- */

void mp_elf_find(int fd, const char *const *names, uint64_t *list, size_t n)
{
  ElfW(Sym) buf[BUFFER];
  part symbols, strings;
  char name[NAME_SIZE];
  size_t i, j, count;
  memset(list, 0, n * sizeof(*list));
  if (!find_tables(fd, &symbols, &strings)) return;
  while ((count = next_symbols(fd, &symbols, buf)) > 0) {
    for (i = 0; i < count; i++) {
      if (buf[i].st_shndx == SHN_UNDEF || TYPE(buf[i].st_info) != STT_FUNC ||
	  BIND(buf[i].st_info) != STB_GLOBAL)
	continue;
      read_string(fd, &strings, buf[i].st_name, name, sizeof(name));
      for (j = 0; j < n; j++)
	if (strcmp(name, names[j]) == 0) list[j] = buf[i].st_value;
    }
  }
}

size_t mp_elf_section(int fd, const char *name, void *buf, size_t n)
{
  char there[NAME_SIZE];
  ElfW(Shdr) sh, text;
  ElfW(Ehdr) h;
  unsigned i;
  if (!read_head(fd, &h) || h.e_shentsize != sizeof(sh) ||
      !read_section(fd, &h, h.e_shstrndx, &text))
    return 0;
  for (i = 0; read_section(fd, &h, i, &sh); i++) {
    const part names = { text.sh_offset, text.sh_size };
    read_string(fd, &names, sh.sh_name, there, sizeof(there));
    if (sh.sh_type == SHT_NOBITS || strcmp(there, name) != 0) continue;
    return read_some(fd, buf, sh.sh_size < n ? sh.sh_size : n, sh.sh_offset);
  }
  return 0;
}
