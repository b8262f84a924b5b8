/* SPDX-License-Identifier: MIT */
/*
** Programs that the profiled one runs are not profiled, so they do not load the
** preloaded libraries: each takes itself off LD_PRELOAD. In a program without
** LuaJIT they stay there: it may be a script that starts luajit.
*/
#ifndef MP_ENVIRONMENT_H
#define MP_ENVIRONMENT_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the functions of a LuaJIT are there for all objects. */
static inline bool has_luajit(void)
{
  return dlsym(RTLD_DEFAULT, "luaJIT_setmode") != NULL;
}

/* Takes the words that are that path off the list, in place. */
static inline void leave_list(char *list, const char *path)
{
  size_t n = strlen(path);
  char *p = list;
  while (*p != '\0') {
    size_t len = strcspn(p, ": ");
    size_t all = len + (p[len] != '\0');
    if (len == n && memcmp(p, path, n) == 0) memmove(p, p + all,
						     strlen(p + all) + 1);
    else p += all;
  }
  if (p > list && (p[-1] == ':' || p[-1] == ' ')) p[-1] = '\0';
}

/* The loader takes no path with a colon or a space: luajit-mp run opens such a
** library, and names the descriptor, which is not needed any more. */
static inline void close_own(const char *path)
{
  int fd;
  char end;
  if (sscanf(path, "/proc/self/fd/%d%c", &fd, &end) == 1) close(fd);
}

/* For a constructor. here: any object of the library. */
static inline void leave_environment(const void *here)
{
  char *list = getenv("LD_PRELOAD");
  Dl_info info;
  if (list == NULL || dladdr(here, &info) == 0 || !has_luajit()) return;
  leave_list(list, info.dli_fname);
  close_own(info.dli_fname);
  if (*list == '\0') unsetenv("LD_PRELOAD");
}

#endif
