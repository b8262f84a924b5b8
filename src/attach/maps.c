/* SPDX-License-Identifier: MIT */
/*
** See attach/maps.h.
*/
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "attach/maps.h"
#include "attach/room.h"

/* Adds what a line of /proc/PID/maps says. */
static int add(mp_maps *m, const char *line)
{
  mp_mapping a, *list;
  char flags[5];
  int path = 0;
  if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64 " %n",
	     &a.from, &a.to, flags, &a.inode, &path) < 4)
    return 0;
  a.readable = flags[0] == 'r';
  a.writable = flags[1] == 'w';
  a.executable = flags[2] == 'x';
  a.path = mp_room(strdup(path > 0 ? line + path : ""));
  if (a.path == NULL) return ENOMEM;
  a.path[strcspn(a.path, "\n")] = '\0';
  list = mp_room(realloc(m->list, (size_t)(m->n + 1) * sizeof(*list)));
  if (list == NULL) {
    free(a.path);
    return ENOMEM;
  }
  m->list = list;
  m->list[m->n++] = a;
  return 0;
}

int mp_maps_read(mp_maps *m, pid_t pid)
{
  char name[64], *line = NULL;
  size_t size = 0;
  int err = 0;
  FILE *f;
  *m = (mp_maps){ pid, NULL, 0 };
  snprintf(name, sizeof(name), "/proc/%ld/maps", (long)pid);
  f = mp_room(fopen(name, "re"));
  if (f == NULL) return errno;
  errno = 0;
  while (err == 0 && getline(&line, &size, f) > 0) err = add(m, line);
  if (errno == ENOMEM) mp_room(NULL);
  if (err == 0 && ferror(f)) err = errno;
  free(line);
  fclose(f);
  return err;
}

void mp_maps_free(mp_maps *m)
{
  while (m->n > 0) free(m->list[--m->n].path);
  free(m->list);
  m->list = NULL;
}

void mp_maps_renew(mp_maps *m, pid_t pid)
{
  mp_maps now;
  if (mp_maps_read(&now, pid) == 0 && now.n > 0) {
    mp_maps_free(m);
    *m = now;
  } else {
    mp_maps_free(&now);
  }
}

const mp_mapping *mp_maps_find(const mp_maps *m, uint64_t address)
{
  int low = 0, high = m->n;
  while (low < high) {
    int i = (low + high) / 2;
    if (address < m->list[i].from) high = i;
    else if (address >= m->list[i].to) low = i + 1;
    else return &m->list[i];
  }
  return NULL;
}

bool mp_maps_same(const mp_mapping *a, const mp_mapping *b)
{
  return a != NULL && b != NULL && a->inode != 0 && a->inode == b->inode &&
	 strcmp(a->path, b->path) == 0;
}

bool mp_maps_compiled(const mp_mapping *a)
{
  return a != NULL && a->executable && a->inode == 0 && a->path[0] != '[';
}

/* The numbers are as wide as the kernel reads them. */
bool mp_remote_read(pid_t pid, void *to, uint64_t from, size_t n)
{
  struct iovec here = { to, n }, there = { (void *)(uintptr_t)from, n };
  return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

bool mp_remote_write(pid_t pid, uint64_t to, const void *from, size_t n)
{
  struct iovec here = { (void *)(uintptr_t)from, n };
  struct iovec there = { (void *)(uintptr_t)to, n };
  return process_vm_writev(pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

bool mp_remote_string(pid_t pid, char *to, uint64_t from, size_t n)
{
  size_t i;
  for (i = 0; i < n; i++) {
    if (!mp_remote_read(pid, to + i, from + i, 1)) return false;
    if (to[i] == '\0') return true;
  }
  return false;
}
