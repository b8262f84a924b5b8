/* SPDX-License-Identifier: MIT */
/*
** libluajit-mp-exec.so: intercepts the functions that replace the program, end
** it at once, confine it, or look for signals that wait, see data/execport.h.
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
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
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
  int (*prctl)(int, unsigned long, unsigned long, unsigned long,
	       unsigned long);
  long (*syscall)(long, long, long, long, long, long, long);
} real;

static void find(void *where, const char *name)
{
  void *f = dlsym(RTLD_NEXT, name);
  memcpy(where, &f, sizeof(f));
}

/* Libraries that begin before this one may call these two. */
static void find_calls(void)
{
  if (real.prctl == NULL) find(&real.prctl, "prctl");
  if (real.syscall == NULL) find(&real.syscall, "syscall");
}

__attribute__((constructor)) static void begin(void)
{
  find(&real.execve, "execve");
  find(&real.execvpe, "execvpe");
  find(&real.fexecve, "fexecve");
  find(&real.execveat, "execveat");
  find_calls();
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

/* -- An end without handlers ---------------------------------------------- */

static void leaves(void)
{
  void (*f)(void) = port.leaves;
  if (f != NULL) f();
}

EXPORT void _exit(int status)
{
  void (*f)(int);
  leaves();
  find(&f, "_exit");
  f(status);
  abort();  /* It does not return. */
}

EXPORT void _Exit(int status) { _exit(status); }

/* -- Sandboxes ------------------------------------------------------------ */

static void confine(bool strict, unsigned long filter)
{
  void (*f)(const void *) = port.confined;
  if (f != NULL) f(strict ? NULL : (const void *)filter);
}

static void confine_by_prctl(unsigned long mode, unsigned long filter)
{
  if (mode == SECCOMP_MODE_STRICT || mode == SECCOMP_MODE_FILTER)
    confine(mode == SECCOMP_MODE_STRICT, filter);
}

EXPORT int prctl(int op, ...)
{
  unsigned long a[4];
  va_list ap;
  size_t i;
  va_start(ap, op);
  for (i = 0; i < 4; i++) a[i] = va_arg(ap, unsigned long);
  va_end(ap);
  if (op == PR_SET_SECCOMP) confine_by_prctl(a[0], a[1]);
  if (real.prctl == NULL) find_calls();
  return real.prctl(op, a[0], a[1], a[2], a[3]);
}

EXPORT long syscall(long number, ...)
{
  long a[6];
  va_list ap;
  size_t i;
  va_start(ap, number);
  for (i = 0; i < 6; i++) a[i] = va_arg(ap, long);
  va_end(ap);
  if (number == SYS_seccomp && (a[0] == SECCOMP_SET_MODE_STRICT ||
				a[0] == SECCOMP_SET_MODE_FILTER))
    confine(a[0] == SECCOMP_SET_MODE_STRICT, (unsigned long)a[2]);
  if (number == SYS_exit_group) leaves();
  if (number == SYS_prctl && a[0] == PR_SET_SECCOMP)
    confine_by_prctl((unsigned long)a[1], (unsigned long)a[2]);
  if (real.syscall == NULL) find_calls();
  return real.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* -- Signals that wait ---------------------------------------------------- */

struct pollfd;

/* Of <poll.h>, where it may be a macro or an inline function. */
int ppoll(struct pollfd *, unsigned long, const struct timespec *,
	  const sigset_t *);

static void before_wait(void)
{
  void (*f)(void) = port.awaits;
  if (f != NULL) f();
}

#define WAIT(name, parameters, ...) \
  EXPORT int name parameters \
  { \
    static int (*volatile original) parameters; \
    int (*f) parameters = original; \
    if (f == NULL) { \
      find(&f, #name); \
      original = f; \
    } \
    before_wait(); \
    return f(__VA_ARGS__); \
  }

WAIT(sigpending, (sigset_t *set), set)
WAIT(sigsuspend, (const sigset_t *mask), mask)
WAIT(sigwait, (const sigset_t *set, int *sig), set, sig)
WAIT(sigwaitinfo, (const sigset_t *set, siginfo_t *info), set, info)
WAIT(sigtimedwait, (const sigset_t *set, siginfo_t *info,
		    const struct timespec *time), set, info, time)
WAIT(signalfd, (int fd, const sigset_t *set, int flags), fd, set, flags)
WAIT(ppoll, (struct pollfd *fds, unsigned long n, const struct timespec *time,
	     const sigset_t *mask), fds, n, time, mask)
WAIT(pselect, (int n, fd_set *in, fd_set *out, fd_set *except,
	       const struct timespec *time, const sigset_t *mask),
     n, in, out, except, time, mask)
WAIT(epoll_pwait, (int fd, struct epoll_event *events, int n, int time,
		   const sigset_t *mask), fd, events, n, time, mask)
