/* SPDX-License-Identifier: MIT */
/*
** See attach/hidden.h.
**
** Only symbols that are global count: a function that the compiler has made
** local to its object may be called in a way of its own.
*/
#include "config.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/hidden.h"
#include "attach/names.h"
#include "attach/room.h"
#include "attach/symbol.h"
#include "data/elf.h"

#define NAME(name) #name,
static const char *const needed[] = {
  MP_NAMES(NAME) MP_NAMES_LOOKED_FOR(NAME)
};
#define ALL	(sizeof(needed) / sizeof(needed[0]))
#define ONE(name) +1
#define NEEDED	(0 MP_NAMES(ONE))
_Static_assert(ALL <= MP_HIDDEN_MAX, "there is room for all");

#define ID_MAX	64		/* Bytes of a build id, with its head, */
#define ID_HEAD	16		/* which has this size. */

/* -- Files --------------------------------------------------------------- */

/* Opens a regular file. */
static int open_file(const char *name)
{
  struct stat st;
  int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
    close(fd);
    fd = -1;
  }
  return fd;
}

/* Opens the file of an object that begins with that mapping; another one may
** have its name now. */
static int open_object(const mp_maps *m, const mp_mapping *a, uint64_t *bias)
{
  char name[PATH_MAX], head[MP_ELF_HEAD];
  int fd, i;
  if (!mp_remote_read(m->pid, head, a->from, sizeof(head)) ||
      memcmp(head, ELFMAG, SELFMAG) != 0)
    return -1;
  for (i = 0; i < 2; i++) {
    int len = i == 0 ?
      snprintf(name, sizeof(name), "/proc/%ld/root%s", (long)m->pid, a->path) :
      snprintf(name, sizeof(name), "/proc/%ld/exe", (long)m->pid);
    if (len >= (int)sizeof(name) || (fd = open_file(name)) < 0) continue;
    if (mp_elf_is(fd, a->from, head, bias)) return fd;
    close(fd);
  }
  return -1;
}

static size_t read_id(int fd, uint8_t id[ID_MAX])
{
  size_t n = mp_elf_section(fd, ".note.gnu.build-id", id, ID_MAX);
  return n > ID_HEAD ? n : 0;
}

/* Opens a debug file, if it has that build id. */
static int open_with_id(const char *name, const uint8_t *id, size_t n)
{
  uint8_t other[ID_MAX];
  int fd = open_file(name);
  if (fd < 0 || (read_id(fd, other) == n && memcmp(id, other, n) == 0))
    return fd;
  close(fd);
  return -1;
}

/* Opens the debug file of an object, which lies where debuggers look for it. */
static int open_debug(int object, const char *path)
{
  static const char *const places[] = { "%.*s%s", "%.*s.debug/%s",
    "/usr/lib/debug%.*s%s" };
  char name[PATH_MAX], link[NAME_MAX + 1];
  int dir = (int)(strrchr(path, '/') + 1 - path), fd, len;
  uint8_t id[ID_MAX];
  size_t n = read_id(object, id), i;
  if (n == 0) return -1;
  len = snprintf(name, sizeof(name), "/usr/lib/debug/.build-id/%02x/",
		 id[ID_HEAD]);
  for (i = ID_HEAD + 1; i < n; i++)
    len += snprintf(name + len, sizeof(name) - (size_t)len, "%02x", id[i]);
  snprintf(name + len, sizeof(name) - (size_t)len, ".debug");
  if ((fd = open_with_id(name, id, n)) >= 0) return fd;
  len = (int)mp_elf_section(object, ".gnu_debuglink", link, sizeof(link) - 1);
  link[len] = '\0';
  for (i = 0; len > 0 && i < sizeof(places) / sizeof(places[0]); i++) {
    len = snprintf(name, sizeof(name), places[i], dir, path, link);
    if (len < (int)sizeof(name) && (fd = open_with_id(name, id, n)) >= 0)
      return fd;
  }
  return -1;
}

/* -- Functions ----------------------------------------------------------- */

/* Whether a LuaJIT is in the object that begins with that mapping: addresses of
** its functions. */
static bool find_in(mp_hidden *h, const mp_maps *m, const mp_mapping *a)
{
  uint64_t bias, first;
  int fd = open_object(m, a, &bias), debug;
  size_t i;
  if (fd < 0) return false;
  mp_elf_find(fd, needed, h->at, ALL);
  if (h->at[0] == 0 && (debug = open_debug(fd, a->path)) >= 0) {
    mp_elf_find(debug, needed, h->at, ALL);
    close(debug);
  }
  close(fd);
  first = h->at[0];
  for (i = 0; i < ALL; i++)
    if (h->at[i] != 0) h->at[i] += bias;
  return first != 0;
}

/* Whether all of them are there, and no other object has one of these names. */
static bool are_usable(const mp_hidden *h, const mp_maps *m,
		       const mp_mapping *object, const char *library,
		       char *buf, size_t n)
{
  size_t i;
  for (i = 0; i < NEEDED; i++) {
    const mp_mapping *a = mp_maps_find(m, h->at[i]), *other;
    uint64_t shown = mp_symbol_find(m, NULL, needed[i]);
    if (a == NULL || !a->executable || !mp_maps_same(a, object)) {
      snprintf(buf, n, "the program has a LuaJIT in it without the function "
	       "%s, which the profiler needs", needed[i]);
      return false;
    }
    other = mp_maps_find(m, shown);
    if (shown != 0 && shown != h->at[i] &&
	(other == NULL || strcmp(other->path, library) != 0)) {
      snprintf(buf, n, "the program has a LuaJIT in it that does not export "
	       "its functions, and another Lua, in %.200s, that does",
	       other != NULL ? other->path : "a file that has gone");
      return false;
    }
  }
  return true;
}

const mp_mapping *mp_hidden_find(mp_hidden *h, const mp_maps *m,
				 const char *library, char *buf, size_t n)
{
  const mp_mapping *last = NULL;
  int i;
  for (i = 0; i < m->n; i++) {
    const mp_mapping *a = &m->list[i];
    if (a->inode == 0 || a->path[0] != '/' || mp_maps_same(a, last) ||
	strcmp(a->path, library) == 0)
      continue;
    last = a;
    if (find_in(h, m, a))
      return are_usable(h, m, a, library, buf, n) ? a : NULL;
  }
  return NULL;
}

/* -- The library ---------------------------------------------------------- */

static bool set(mp_tracee *t, uint64_t symbol, uint64_t value)
{
  unsigned long word = (unsigned long)value;
  return mp_tracee_poke(t, symbol, (const char *)&word, sizeof(word));
}

bool mp_hidden_show(mp_hidden *h, const mp_maps *m, const char *library,
		    mp_tracee *t)
{
  const mp_mapping *a = NULL;
  uint64_t base;
  size_t i;
  int j;
  for (j = 0; j < m->n && a == NULL; j++)
    if (strcmp(m->list[j].path, library) == 0) a = &m->list[j];
  if (a == NULL) return false;
  for (i = 0; i < ALL; i++) {
    h->symbol[i] = mp_symbol_entry(m, a, needed[i], &base);
    if (h->symbol[i] == 0 ||
	!set(t, h->symbol[i], h->at[i] != 0 ? h->at[i] - base : 0))
      return false;
  }
  return true;
}

void mp_hidden_hide(const mp_hidden *h, mp_tracee *t)
{
  size_t i;
  for (i = 0; i < NEEDED; i++) set(t, h->symbol[i], 0);
}
