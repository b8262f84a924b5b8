/* SPDX-License-Identifier: MIT */
/*
** libluajit-mp-exec.so: intercepts the functions that replace the program, see
** data/execport.h.
**
** The C library's own calls, as in system and popen, are not intercepted: they
** are made in children that have no profile. Neither are calls for files that
** cannot be executed: a program may try one directory after another.
*/
#include "config.h"

#include <alloca.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/execport.h"
#include "preload/environment.h"

#define EXPORT	__attribute__((visibility("default")))

EXPORT mp_execport luajit_mp_exec_port = { .version = MP_EXECPORT_VERSION };
#define port	luajit_mp_exec_port

static struct {
  int (*execve)(const char *, char *const *, char *const *);
  int (*execvpe)(const char *, char *const *, char *const *);
  int (*fexecve)(int, char *const *, char *const *);
  int (*execveat)(int, const char *, char *const *, char *const *, int);
} real;

static void find(void *where, const char *name)
{
  void *f = dlsym(RTLD_NEXT, name);
  memcpy(where, &f, sizeof(f));
}

__attribute__((constructor)) static void begin(void)
{
  find(&real.execve, "execve");
  find(&real.execvpe, "execvpe");
  find(&real.fexecve, "fexecve");
  find(&real.execveat, "execveat");
  leave_environment(&real);
}

/* -- Whether it will succeed --------------------------------------------- */

static bool is_program(const char *path)
{
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	 faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

/* Whether a directory of PATH has it. */
static bool is_found(const char *file)
{
  const char *p = getenv("PATH");
  char path[PATH_MAX];
  size_t len, n = strlen(file);
  if (strchr(file, '/') != NULL) return is_program(file);
  for (p = p != NULL ? p : "/bin:/usr/bin"; ; p += len + 1) {
    len = strcspn(p, ":");
    if (len + n + 2 <= sizeof(path)) {
      memcpy(path, p, len);
      path[len] = '/';
      memcpy(path + len + (len > 0), file, n + 1);
      if (is_program(path)) return true;
    }
    if (p[len] == '\0') return false;
  }
}

static void before(bool likely)
{
  void (*f)(void) = port.before;
  if (likely && f != NULL) f();
}

static int failed(int status)
{
  void (*f)(void) = port.failed;
  if (f != NULL) f();
  return status;
}

/* -- The functions ------------------------------------------------------- */

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
  before(is_program(path));
  return failed(real.execve(path, argv, envp));
}

EXPORT int execv(const char *path, char *const argv[])
{
  before(is_program(path));
  return failed(real.execve(path, argv, environ));
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
  before(is_found(file));
  return failed(real.execvpe(file, argv, envp));
}

EXPORT int execvp(const char *file, char *const argv[])
{
  before(is_found(file));
  return failed(real.execvpe(file, argv, environ));
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
  before(true);
  return failed(real.fexecve(fd, argv, envp));
}

/* No program calls this that is older than the function. */
EXPORT int execveat(int fd, const char *path, char *const argv[],
		    char *const envp[], int flags)
{
  before(true);
  return failed(real.execveat(fd, path, argv, envp, flags));
}

/* Sets argv to the arguments from `first` on, and ap to what follows them. */
#define GATHER(argv, ap, first) \
  size_t n = 1, i; \
  va_list count; \
  va_start(ap, first); \
  va_copy(count, ap); \
  while (va_arg(count, char *) != NULL) n++; \
  va_end(count); \
  argv = alloca((n + 1) * sizeof(*argv)); \
  argv[0] = (char *)first; \
  for (i = 1; i <= n; i++) argv[i] = va_arg(ap, char *)

EXPORT int execl(const char *path, const char *arg, ...)
{
  char **argv;
  va_list ap;
  GATHER(argv, ap, arg);
  va_end(ap);
  return execv(path, argv);
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
  char **argv;
  va_list ap;
  GATHER(argv, ap, arg);
  va_end(ap);
  return execvp(file, argv);
}

EXPORT int execle(const char *path, const char *arg, ...)
{
  char **argv;
  char *const *envp;
  va_list ap;
  GATHER(argv, ap, arg);
  envp = va_arg(ap, char *const *);
  va_end(ap);
  return execve(path, argv, envp);
}
