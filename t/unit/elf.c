/* SPDX-License-Identifier: MIT */
/* Functions of a file, whole or damaged. */
#include "config.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check_main.h"
#include "data/elf.h"
#include "data/map.h"

#define SIZE	(1 << 14)
#define N	4

/* -- A file, with three functions ---------------------------------------- */

static const char strings[] = "\0first\0second\0inner\0";

typedef struct image {
  ElfW(Ehdr) head;
  ElfW(Phdr) segment;
  ElfW(Shdr) sections[3];
  ElfW(Sym) symbols[5];
  char names[sizeof(strings)];
  char rest[SIZE];
} image;

static ElfW(Sym) symbol(uint32_t name, uint64_t value, uint64_t size, int type)
{
  ElfW(Sym) s;
  memset(&s, 0, sizeof(s));
  s.st_name = name;
  s.st_value = value;
  s.st_size = size;
  s.st_info = (unsigned char)ELF64_ST_INFO(STB_LOCAL, type);
  s.st_shndx = 1;
  return s;
}

static void make(image *m)
{
  memset(m, 0, sizeof(*m));
  memcpy(m->head.e_ident, ELFMAG, SELFMAG);
  m->head.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
  m->head.e_phoff = offsetof(image, segment);
  m->head.e_phentsize = sizeof(m->segment);
  m->head.e_phnum = 1;
  m->head.e_shoff = offsetof(image, sections);
  m->head.e_shentsize = sizeof(m->sections[0]);
  m->head.e_shnum = 3;
  m->segment.p_type = PT_LOAD;
  m->segment.p_vaddr = 0x400000;
  m->segment.p_filesz = sizeof(*m);
  m->sections[1].sh_type = SHT_SYMTAB;
  m->sections[1].sh_offset = offsetof(image, symbols);
  m->sections[1].sh_size = sizeof(m->symbols);
  m->sections[1].sh_entsize = sizeof(m->symbols[0]);
  m->sections[1].sh_link = 2;
  m->sections[2].sh_type = SHT_STRTAB;
  m->sections[2].sh_offset = offsetof(image, names);
  m->sections[2].sh_size = sizeof(m->names);
  m->symbols[1] = symbol(1, 0x401000, 0x80, STT_FUNC);
  m->symbols[2] = symbol(7, 0x401100, 0x40, STT_FUNC);
  m->symbols[3] = symbol(14, 0x401110, 8, STT_FUNC);
  m->symbols[4] = symbol(1, 0x401200, 0x40, STT_OBJECT);
  memcpy(m->names, strings, sizeof(strings));
}

static FILE *file_of(const void *bytes, size_t n)
{
  FILE *f = tmpfile();
  ck_assert_ptr_nonnull(f);
  ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
  ck_assert_int_eq(fflush(f), 0);
  return f;
}

/* -- Questions ----------------------------------------------------------- */

#define BASE	UINT64_C(0x7f0000000000)
#define BIAS	(BASE - 0x400000)

static void ask(mp_function *f, uint64_t address, bool inside)
{
  memset(f, 0x55, sizeof(*f));
  f->address = address;
  f->inside = inside;
  f->name[0] = '\0';
}

START_TEST(functions_have_their_names)
{
  static image m;
  mp_function list[6];
  FILE *f;
  make(&m);
  f = file_of(&m, sizeof(m));
  ask(&list[0], BASE + 0x1000, false);
  ask(&list[1], BASE + 0x1010, false);
  ask(&list[2], BASE + 0x1020, true);
  ask(&list[3], BASE + 0x1090, true);
  ask(&list[4], BASE + 0x1114, true);
  ask(&list[5], BASE + 0x1200, false);
  mp_elf_names(fileno(f), BIAS, list, 6);
  ck_assert_str_eq(list[0].name, "first");
  ck_assert_str_eq(list[1].name, "");  /* Not its first byte. */
  ck_assert_str_eq(list[2].name, "first");
  ck_assert_str_eq(list[3].name, "");  /* Behind it. */
  ck_assert_str_eq(list[4].name, "inner");
  ck_assert_str_eq(list[5].name, "");  /* Data. */
  ask(&list[0], BASE + 0x1100, false);
  strcpy(list[0].name, "known");
  mp_elf_names(fileno(f), BIAS, list, 1);
  ck_assert_str_eq(list[0].name, "known");
  fclose(f);
}
END_TEST

START_TEST(a_file_is_what_was_loaded)
{
  static image m, other;
  uint64_t bias = 0;
  FILE *f;
  make(&m);
  f = file_of(&m, sizeof(m));
  ck_assert(mp_elf_is(fileno(f), BASE, (const char *)&m, &bias));
  ck_assert_uint_eq(bias, BIAS);
  other = m;
  other.rest[0] = 1;
  ck_assert(!mp_elf_is(fileno(f), BASE, (const char *)&other, &bias));
  fclose(f);
}
END_TEST

START_TEST(global_functions_are_found)
{
  static const char *const names[] = { "second", "first", "none" };
  uint64_t found[3];
  static image m;
  FILE *f;
  make(&m);
  m.symbols[2].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  m.symbols[4].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  f = file_of(&m, sizeof(m));
  mp_elf_find(fileno(f), names, found, 3);
  ck_assert_uint_eq(found[0], 0x401100);
  ck_assert_uint_eq(found[1], 0);  /* Local, or data. */
  ck_assert_uint_eq(found[2], 0);
  fclose(f);
}
END_TEST

START_TEST(sections_are_read_by_name)
{
  char buf[sizeof(strings)];
  static image m;
  FILE *f;
  make(&m);
  m.head.e_shstrndx = 2;
  m.sections[2].sh_name = 7;
  f = file_of(&m, sizeof(m));
  ck_assert_uint_eq(mp_elf_section(fileno(f), "second", buf, sizeof(buf)),
		    sizeof(buf));
  ck_assert_mem_eq(buf, strings, sizeof(buf));
  ck_assert_uint_eq(mp_elf_section(fileno(f), "second", buf, 3), 3);
  ck_assert_uint_eq(mp_elf_section(fileno(f), "first", buf, 3), 0);
  fclose(f);
}
END_TEST

/* -- Damage -------------------------------------------------------------- */

/* The bytes that are read. */
#define PART	offsetof(image, rest)

static void change(image *m, uint64_t *r)
{
  unsigned char *bytes = (unsigned char *)m;
  size_t at;
  *r = mp_mix(*r, 1);
  at = *r % PART;
  switch (*r >> 32 & 3) {
  case 0: bytes[at] ^= (unsigned char)(1u << (*r >> 40 & 7)); break;
  case 1: bytes[at] = 0xff; break;
  case 2: memset(bytes + at, (int)(*r >> 40 & 0xff), PART - at < 8 ?
		 PART - at : 8); break;
  default: bytes[at] = (unsigned char)(*r >> 48); break;
  }
}

/* All strings end, whatever the file says. */
static void survive(const image *m, size_t n)
{
  static const char *const names[] = { "first" };
  mp_function list[N];
  uint64_t bias, found;
  char id[8];
  FILE *f = file_of(m, n);
  size_t i;
  for (i = 0; i < N; i++) ask(&list[i], BASE + 0x1000 + i * 0x88, i % 2);
  mp_elf_is(fileno(f), BASE, (const char *)m, &bias);
  mp_elf_names(fileno(f), BIAS, list, N);
  mp_elf_find(fileno(f), names, &found, 1);
  ck_assert_uint_le(mp_elf_section(fileno(f), "second", id, sizeof(id)),
		    sizeof(id));
  for (i = 0; i < N; i++)
    ck_assert_ptr_nonnull(memchr(list[i].name, '\0', sizeof(list[i].name)));
  fclose(f);
}

START_TEST(damaged_files_are_read)
{
  static image m;
  uint64_t r = 42;
  int i, k;
  for (i = 0; i < 10000; i++) {
    make(&m);
    r = mp_mix(r, (uint64_t)i);
    for (k = 0; k <= (int)(r >> 60 & 3); k++) change(&m, &r);
    survive(&m, i % 4 == 0 ? (size_t)(r >> 8) % PART : PART);
  }
}
END_TEST

START_TEST(other_files_are_none)
{
  static image m;
  mp_function one;
  int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ask(&one, BASE, false);
  mp_elf_names(fd, BIAS, &one, 1);
  ck_assert_str_eq(one.name, "");
  close(fd);
  mp_elf_names(-1, BIAS, &one, 1);
  ck_assert_str_eq(one.name, "");
  make(&m);
  survive(&m, 0);
  survive(&m, 10);
}
END_TEST

CHECK_MAIN("elf", functions_have_their_names, a_file_is_what_was_loaded,
	   global_functions_are_found, sections_are_read_by_name,
	   damaged_files_are_read, other_files_are_none)
