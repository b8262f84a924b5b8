/* SPDX-License-Identifier: MIT */
/*
** See sample/symbol.h.
*/
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sample/symbol.h"
#include "vm/peek.h"

/* -- C++ ----------------------------------------------------------------- */

typedef char *(*demangler)(const char *, char *, size_t *, int *);

/* Of a library that the process has already. */
static demangler find_demangler(void)
{
  static const char *const libraries[] = { "libstdc++.so.6", "libc++abi.so.1" };
  void *f = dlsym(RTLD_DEFAULT, "__cxa_demangle");
  size_t i;
  for (i = 0; f == NULL && i < sizeof(libraries) / sizeof(libraries[0]); i++) {
    void *handle = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL) continue;
    f = dlsym(handle, "__cxa_demangle");
    dlclose(handle);
  }
  return (demangler)(uintptr_t)f;
}

/* Cuts a list of parameters off, which begins with the parenthesis that the
** last one closes. */
static void cut_parameters(char *name)
{
  char *p = strrchr(name, ')');
  int depth = 0;
  for (; p != NULL && p > name; p--) {
    if (*p == ')') depth++;
    else if (*p == '(' && --depth == 0) {
      *p = '\0';
      return;
    }
  }
}

static void demangle(demangler f, char name[MP_ELF_NAME])
{
  int status = -1;
  char *s = f(name, NULL, NULL, &status);
  if (s != NULL && status == 0) {
    cut_parameters(s);
    snprintf(name, MP_ELF_NAME, "%s", s);
  }
  free(s);
}

static void demangle_all(mp_function *list, size_t n)
{
  demangler f = NULL;
  size_t i;
  for (i = 0; i < n; i++) {
    if (strncmp(list[i].name, "_Z", 2) != 0) continue;
    if (f == NULL && (f = find_demangler()) == NULL) return;
    demangle(f, list[i].name);
  }
}

/* -- Files --------------------------------------------------------------- */

static bool is_program(const Dl_info *library)
{
  Dl_info info;
  const void *headers = (const void *)(uintptr_t)getauxval(AT_PHDR);
  return headers != NULL && dladdr(headers, &info) != 0 &&
	 info.dli_fbase == library->dli_fbase;
}

static int open_file(const char *path)
{
  struct stat st;
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
    close(fd);
    fd = -1;
  }
  return fd;
}

/* By the file of their library, if it is still the one that was loaded. */
static void name_by_file(const Dl_info *library, mp_function *list, size_t n)
{
  char head[MP_ELF_HEAD];
  uint64_t base = (uintptr_t)library->dli_fbase, bias;
  int fd = open_file(is_program(library) ? "/proc/self/exe" :
		     library->dli_fname);
  if (fd < 0) return;
  if (mp_peek(head, library->dli_fbase, sizeof(head)) &&
      mp_elf_is(fd, base, head, &bias))
    mp_elf_names(fd, bias, list, n);
  close(fd);
}

/* -- All of it ----------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
  const mp_function *x = a, *y = b;
  if (x->address != y->address) return x->address < y->address ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

static bool is_whole(const mp_function *f, uint64_t start)
{
  return f->inside || start == f->address;
}

/* Names functions of one library. What it exports comes first. */
static void name_in(const Dl_info *library, mp_function *list, size_t n)
{
  bool all = true;
  size_t i;
  for (i = 0; i < n; i++) {
    Dl_info info;
    mp_function *f = &list[i];
    bool known = f->name[0] != '\0';
    if (known) continue;
    known = dladdr((const void *)(uintptr_t)f->address, &info) != 0 &&
      info.dli_sname != NULL && is_whole(f, (uintptr_t)info.dli_saddr);
    snprintf(f->name, sizeof(f->name), "%s", known ? info.dli_sname : "");
    all = all && known;
  }
  if (!all) name_by_file(library, list, n);
}

bool mp_symbol_name(const void *addr, char name[MP_ELF_NAME])
{
  Dl_info info;
  mp_function f = { .address = (uintptr_t)addr };
  int before = errno;  /* The program's: it only allocates. */
  if (dladdr(addr, &info) != 0 && info.dli_fname != NULL)
    name_in(&info, &f, 1);
  errno = before;
  memcpy(name, f.name, sizeof(f.name));
  return name[0] != '\0';
}

void mp_symbol_names(mp_function *list, size_t n)
{
  size_t from, to;
  qsort(list, n, sizeof(list[0]), ascending);
  for (from = 0; from < n; from = to) {
    Dl_info info, next;
    to = from + 1;
    if (dladdr((const void *)(uintptr_t)list[from].address, &info) == 0 ||
	info.dli_fname == NULL)
      continue;
    while (to < n && dladdr((const void *)(uintptr_t)list[to].address,
			    &next) != 0 && next.dli_fbase == info.dli_fbase)
      to++;
    name_in(&info, list + from, to - from);
  }
  demangle_all(list, n);
}
