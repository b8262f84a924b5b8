/* SPDX-License-Identifier: MIT */
/*
** See report/target.h.
*/
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "data/fd.h"
#include "report/target.h"

#define MAX_LINKS 40		/* As in Linux. */
#define PROC_MAGIC 0x9fa0	/* Its links may lead to files without paths. */

static int open_dir(int dir, const char *name, int flags)
{
  return mp_fd_high(openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC |
			   flags));
}

/* Whether the entry may be a trap that another user has set. */
static bool foreign(int dir, const struct stat *entry)
{
  struct stat st;
  if (entry->st_uid == geteuid() || fstat(dir, &st) != 0) return false;
  return (st.st_mode & S_ISVTX) && (st.st_mode & S_IWOTH) &&
	 entry->st_uid != st.st_uid;
}

static bool in_proc(int dir)
{
  struct statfs fs;
  return fstatfs(dir, &fs) == 0 && fs.f_type == PROC_MAGIC;
}

static void move_to(mp_target *p, int dir)
{
  if (p->dir >= 0) close(p->dir);
  p->dir = dir;
}

/* Takes the first component off the path into the name. */
static int next_name(mp_target *p, char *path)
{
  size_t skip = strspn(path, "/"), n = strcspn(path + skip, "/");
  if (n == 0) return EISDIR;
  if (n > NAME_MAX) return ENAMETOOLONG;
  memcpy(p->name, path + skip, n);
  p->name[n] = '\0';
  memmove(path, path + skip + n, strlen(path + skip + n) + 1);
  return 0;
}

/* Puts the text of the link before the rest of the path. */
static int follow(mp_target *p, char *path, size_t size)
{
  char target[PATH_MAX];
  ssize_t n = readlinkat(p->dir, p->name, target, sizeof(target));
  size_t rest = strlen(path);
  if (n < 0) return errno;
  if ((size_t)n + rest + 2 > size) return ENAMETOOLONG;
  memmove(path + n, path, rest + 1);
  memcpy(path, target, (size_t)n);
  if (target[0] != '/') return 0;
  move_to(p, open_dir(AT_FDCWD, "/", 0));
  return p->dir < 0 ? errno : 0;
}

/* Goes into the directory of that name. */
static int enter(mp_target *p, int flags)
{
  int dir = open_dir(p->dir, p->name, flags);
  if (dir < 0) return errno;
  move_to(p, dir);
  return 0;
}

/* Takes one step. done: the target is found. */
static int step(mp_target *p, char *path, size_t size, int *links, bool *done)
{
  struct stat st;
  int err = next_name(p, path);
  bool last = *path == '\0';
  if (err != 0) return err;
  if (strcmp(p->name, ".") == 0 || strcmp(p->name, "..") == 0)
    return last ? EISDIR : enter(p, 0);
  err = mp_target_stat(p, &st);
  if (err == ENOENT && last) return *done = true, 0;
  if (err != 0) return err;
  if (foreign(p->dir, &st) && !(S_ISDIR(st.st_mode) && !last))
    return MP_FOREIGN;
  *done = last && (!S_ISLNK(st.st_mode) || in_proc(p->dir));
  if (*done) return 0;
  if (!S_ISLNK(st.st_mode)) return enter(p, O_NOFOLLOW);
  if (in_proc(p->dir)) return enter(p, 0);
  return ++*links > MAX_LINKS ? ELOOP : follow(p, path, size);
}

int mp_target_find(mp_target *p, const char *path)
{
  char rest[PATH_MAX];
  bool done = false;
  int err = 0, links = 0;
  p->dir = -1;
  if (strlen(path) >= sizeof(rest)) return ENAMETOOLONG;
  strcpy(rest, path);
  p->dir = open_dir(AT_FDCWD, "/", 0);
  if (p->dir < 0) return errno;
  while (err == 0 && !done)
    err = step(p, rest, sizeof(rest), &links, &done);
  if (err != 0) mp_target_close(p);
  return err;
}

int mp_target_stat(const mp_target *p, struct stat *st)
{
  return fstatat(p->dir, p->name, st, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
}

int mp_target_check(int dir, const char *name, struct stat *st)
{
  if (fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  if (foreign(dir, st)) return MP_FOREIGN;
  return S_ISLNK(st->st_mode) && !in_proc(dir) ? ELOOP : 0;
}

void mp_target_close(mp_target *p)
{
  move_to(p, -1);
}
