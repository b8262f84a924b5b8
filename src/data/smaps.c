/* SPDX-License-Identifier: MIT */
/*
** See data/smaps.h.
*/
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/smaps.h"

#define LINE	512		/* Longer lines are cut: paths. */

typedef struct reader {
  mp_smaps *m;
  const char *own;
  uint64_t *to;			/* Where the mapping's RSS counts. */
  char line[LINE];
  size_t len;
  int mappings;
} reader;

static bool has_stack(const mp_smaps *m, uint64_t from, uint64_t to)
{
  int i;
  for (i = 0; i < m->nsp; i++)
    if (m->sp[i] >= from && m->sp[i] < to) return true;
  return false;
}

/* The first line of a mapping: "from-to perms offset device inode path". */
static bool read_mapping(reader *r)
{
  mp_smaps *m = r->m;
  unsigned long long from, to, inode;
  char perms[5];
  int at = 0;
  const char *path;
  if (sscanf(r->line, "%llx-%llx %4s %*s %*s %llu %n", &from, &to, perms,
	     &inode, &at) != 4)
    return false;
  path = r->line + at;
  if (strcmp(path, "[heap]") == 0) {
    r->to = &m->heap;
    m->heap_size += to - from;
  } else if (strncmp(path, "[stack", 6) == 0) {
    r->to = &m->stacks;
  } else if (inode != 0 || (path[0] == '[' && strncmp(path, "[anon", 5) != 0)) {
    r->to = r->own && strcmp(path, r->own) == 0 ? &m->own : &m->files;
  } else if (has_stack(m, from, to)) {
    r->to = &m->stacks;
  } else {
    r->to = perms[2] == 'x' ? &m->code : &m->anonymous;
  }
  r->mappings++;
  return true;
}

static void read_line(reader *r)
{
  uint64_t bytes;
  r->line[r->len] = '\0';
  if (strncmp(r->line, "Rss:", 4) == 0 && r->to != NULL) {
    bytes = strtoull(r->line + 4, NULL, 10) * 1024;
    *r->to += bytes;
    r->m->rss += bytes;
  } else if (r->len > 0 && strchr("0123456789abcdef", r->line[0]) != NULL) {
    read_mapping(r);
  }
  r->len = 0;
}

bool mp_smaps_parse(mp_smaps *m, int fd, const char *own)
{
  reader r = { .m = m, .own = own };
  char buf[4096];
  ssize_t n, i;
  while ((n = read(fd, buf, sizeof(buf))) > 0)
    for (i = 0; i < n; i++) {
      if (buf[i] == '\n') read_line(&r);
      else if (r.len < LINE - 1) r.line[r.len++] = buf[i];
    }
  return n == 0 && r.mappings > 0 && m->rss > 0;
}

/* A thread that waits in the kernel: the word before the last one there is its
** stack pointer. Of the others the kernel says nothing. */
static void read_thread(mp_smaps *m, const char *id)
{
  char path[64], buf[256], *word = buf, *last = NULL, *sp = NULL;
  ssize_t n;
  int fd;
  snprintf(path, sizeof(path), "/proc/self/task/%.20s/syscall", id);
  fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  n = read(fd, buf, sizeof(buf) - 1);
  close(fd);
  if (n <= 0) return;
  for (buf[n] = '\0'; (word = strchr(word, ' ')) != NULL; word++) {
    sp = last;
    last = word;
  }
  if (sp != NULL) m->sp[m->nsp++] = strtoull(sp, NULL, 16);
}

static void read_threads(mp_smaps *m)
{
  DIR *dir = opendir("/proc/self/task");
  struct dirent *e;
  if (dir == NULL) return;
  while (m->nsp < MP_SMAPS_STACKS && (e = readdir(dir)) != NULL)
    if (e->d_name[0] != '.') read_thread(m, e->d_name);
  closedir(dir);
}

bool mp_smaps_read(mp_smaps *m, const char *own)
{
  bool ok;
  int fd;
  memset(m, 0, sizeof(*m));
  read_threads(m);
  fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ok = mp_smaps_parse(m, fd, own);
  close(fd);
  return ok;
}

uint64_t mp_smaps_resident(const void *base, uint64_t size)
{
  unsigned char there[1024];
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), sum = 0, at, n, i;
  uint64_t step = page * sizeof(there);
  for (at = 0; at < size; at += step) {
    n = size - at < step ? size - at : step;
    if (mincore((char *)(size_t)base + at, n, there) != 0) return size;
    for (i = 0; i * page < n; i++) sum += (there[i] & 1) ? page : 0;
  }
  return sum;
}
