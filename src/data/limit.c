/* SPDX-License-Identifier: MIT */
/*
** See data/limit.h.
*/
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "data/limit.h"

#define TEXT	4096		/* Bytes that are read of a file. */
#define NONE	(UINT64_C(1) << 60)  /* A limit from here on is none. */
#define GIB	(UINT64_C(1) << 30)
#define IS_32_BITS	(sizeof(void *) == 4)

const char *mp_limit_name(mp_limitkind kind)
{
  static const char *const names[] = {
    "the memory cgroup", "RLIMIT_AS", "the machine",
    IS_32_BITS ? "addresses of 32 bits" : "LuaJIT without GC64"
  };
  return names[kind];
}

/* Reads the beginning of a file of the kernel's, whose path consists of these
** parts. False: there is none. */
static bool read_text(char text[TEXT], const char *a, const char *b,
		      const char *c)
{
  char path[2 * MP_LIMIT_PATH];
  size_t n = 0;
  ssize_t got = 1;
  int fd, len = snprintf(path, sizeof(path), "%s%s%s", a, b, c);
  text[0] = '\0';
  if (len < 0 || (size_t)len >= sizeof(path)) return false;
  fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  while (n < TEXT - 1 && (got = read(fd, text + n, TEXT - 1 - n)) > 0)
    n += (size_t)got;
  close(fd);
  text[n] = '\0';
  return got >= 0 && n > 0;
}

/* The number that a file consists of; 0: it has none, or none that limits. */
static uint64_t read_number(const char *directory, const char *name)
{
  char text[TEXT];
  uint64_t n;
  if (!read_text(text, directory, "/", name)) return 0;
  n = strtoull(text, NULL, 10);
  return n < NONE ? n : 0;
}

/* The number behind a word that begins a line; or 0. */
static uint64_t number_of(const char *text, const char *word)
{
  size_t n = strlen(word);
  const char *s = text;
  while (s != NULL) {
    if (strncmp(s, word, n) == 0 && s[n] == ' ')
      return strtoull(s + n, NULL, 10);
    s = strchr(s, '\n');
    if (s != NULL) s++;
  }
  return 0;
}

/* -- The cgroup ---------------------------------------------------------- */

/* Copies the path of the process in a hierarchy: of v2, or of the controller of
** memory. text: /proc/self/cgroup. False: it has none. */
static bool own_path(const char *text, bool unified, char *path, size_t n)
{
  const char *s = text, *end, *at;
  size_t len;
  while (s != NULL && *s != '\0') {
    end = strchr(s, '\n');
    len = end != NULL ? (size_t)(end - s) : strlen(s);
    at = memchr(s, ':', len);
    if (at == NULL) return false;
    if (unified ? strncmp(at, "::", 2) == 0 :
	strncmp(at, ":memory:", 8) == 0) {
      at += unified ? 2 : 8;
      len -= (size_t)(at - s);
      if (len >= n) return false;
      memcpy(path, at, len);
      path[len] = '\0';
      return true;
    }
    s = end != NULL ? end + 1 : NULL;
  }
  return false;
}

/* Takes the smallest limit of the directory and those above it, up to the
** mount, whose path has `mount` bytes. */
static void look_up(mp_limits *s, char *path, size_t mount, bool unified)
{
  const char *name = unified ? "memory.max" : "memory.limit_in_bytes";
  for (;;) {
    uint64_t most = read_number(path, name);
    char *slash;
    if (most > 0 && (s->most[MP_LIMIT_CGROUP] == 0 ||
		     most < s->most[MP_LIMIT_CGROUP])) {
      s->most[MP_LIMIT_CGROUP] = most;
      s->unified = unified;
      strcpy(s->cgroup, path);
    }
    slash = strrchr(path + mount, '/');
    if (slash == NULL) return;
    *slash = '\0';
  }
}

static void find_cgroup(mp_limits *s, const char *root, bool unified)
{
  char text[TEXT], own[MP_LIMIT_PATH], path[MP_LIMIT_PATH];
  const char *mount = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
  int len;
  if (!read_text(text, root, "/proc/self/cgroup", "") ||
      !own_path(text, unified, own, sizeof(own)))
    return;
  if (strcmp(own, "/") == 0) own[0] = '\0';
  len = snprintf(path, sizeof(path), "%s%s%s", root, mount, own);
  if (len < 0 || (size_t)len >= sizeof(path)) return;
  look_up(s, path, strlen(root) + strlen(mount), unified);
}

/* Bytes that the cgroup uses, without the files that were not used lately: the
** kernel drops these before it ends a process. */
static uint64_t cgroup_used(const mp_limits *s)
{
  char text[TEXT];
  uint64_t used, files;
  used = read_number(s->cgroup, s->unified ? "memory.current" :
		     "memory.usage_in_bytes");
  if (!read_text(text, s->cgroup, "/memory.stat", "")) return used;
  files = number_of(text, s->unified ? "inactive_file" :
		    "total_inactive_file");
  return used > files ? used - files : used;
}

/* The end of the process's addresses, which a 32-bit kernel has for itself from
** 3 GiB on: the stack begins below it. */
static uint64_t end_of_addresses(void)
{
  return (getauxval(AT_RANDOM) / GIB + 1) * GIB;
}

/* -- All ----------------------------------------------------------------- */

void mp_limits_find(mp_limits *s, const char *root)
{
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  struct rlimit as;
  memset(s, 0, sizeof(*s));
  find_cgroup(s, root, true);
  find_cgroup(s, root, false);
  if (getrlimit(RLIMIT_AS, &as) == 0 && as.rlim_cur != RLIM_INFINITY)
    s->most[MP_LIMIT_ADDRESSES] = as.rlim_cur;
  if (pages > 0 && page > 0)
    s->most[MP_LIMIT_MACHINE] = (uint64_t)pages * (uint64_t)page;
  if (IS_32_BITS) s->most[MP_LIMIT_POINTERS] = end_of_addresses();
}

bool mp_limits_refuse(const char *root)
{
  static const char *const lines[] = {
    "Max address space ", "Max data size "
  };
  char text[TEXT];
  size_t i;
  if (!read_text(text, root, "/proc/sys/vm/overcommit_memory", "") ||
      text[0] == '2' || !read_text(text, root, "/proc/self/limits", ""))
    return true;
  for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
    const char *line = strstr(text, lines[i]);
    if (line == NULL) return true;
    line += strlen(lines[i]);
    line += strspn(line, " ");
    if (strncmp(line, "unlimited", strlen("unlimited")) != 0) return true;
  }
  return false;
}

void mp_limits_look(mp_limits *s, const char *root)
{
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  char text[TEXT], *end;
  s->rss = s->used[MP_LIMIT_ADDRESSES] = 0;
  if (read_text(text, root, "/proc/self/statm", "")) {
    s->used[MP_LIMIT_ADDRESSES] = strtoull(text, &end, 10) * page;
    s->rss = strtoull(end, NULL, 10) * page;
  }
  s->used[MP_LIMIT_MACHINE] = s->rss;
  if (IS_32_BITS) s->used[MP_LIMIT_POINTERS] = s->used[MP_LIMIT_ADDRESSES];
  if (s->most[MP_LIMIT_CGROUP] > 0) s->used[MP_LIMIT_CGROUP] = cgroup_used(s);
}
