/* SPDX-License-Identifier: MIT */
/*
** Intercepts the functions that replace the program, end it at once, confine
** it, or look for signals that wait, see data/execport.h.
**
** This is compiled twice: as libluajit-mp-exec.so, with MP_PRELOADED, which the
** loader puts before the C library, and as a part of the core, which has the
** program's objects call these functions (process/intercept.h).
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

#ifdef MP_PRELOADED
#include "preload/environment.h"
#define EXPORT	__attribute__((visibility("default")))
#define CALL(name)	name
#define BEHIND	RTLD_NEXT
#else
#include "preload/exec.h"
#define EXPORT	static
#define CALL(name)	call_##name
#define BEHIND	RTLD_DEFAULT
#endif

#define CALLS(X) \
  X(execve) X(execv) X(execvpe) X(execvp) X(fexecve) X(execveat) X(execl) \
  X(execlp) X(execle) X(_exit) X(_Exit) X(prctl) X(syscall) X(sigpending) \
  X(sigsuspend) X(sigwait) X(sigwaitinfo) X(sigtimedwait) X(signalfd) \
  X(ppoll) X(pselect) X(epoll_pwait)

EXPORT mp_execport luajit_mp_exec_port = { .version = MP_EXECPORT_VERSION };
#define port	luajit_mp_exec_port

#define NUMBER(name)	NUMBER_##name,
enum { CALLS(NUMBER) NCALLS };

static void (*originals[NCALLS])(void);

/* dlsym gives no function pointers. */
static void find_originals(void)
{
#define NAME(name)	#name,
  static const char *const names[] = { CALLS(NAME) };
  size_t i;
  for (i = 0; i < NCALLS; i++) {
    void *f = dlsym(BEHIND, names[i]);
    memcpy(&originals[i], &f, sizeof(f));
  }
}

/* Libraries that begin before a preloaded one may call it already. */
static void (*original(size_t i))(void)
{
  if (originals[i] == NULL) find_originals();
  return originals[i];
}

#define REAL(name)	((__typeof__(CALL(name)) *)original(NUMBER_##name))

#ifdef MP_PRELOADED
__attribute__((constructor)) static void begin(void)
{
  find_originals();
  leave_environment(&port);
}
#endif

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

EXPORT int CALL(execve)(const char *path, char *const argv[],
			char *const envp[])
{
  before(is_program(path));
  return failed(REAL(execve)(path, argv, envp));
}

EXPORT int CALL(execv)(const char *path, char *const argv[])
{
  before(is_program(path));
  return failed(REAL(execve)(path, argv, environ));
}

EXPORT int CALL(execvpe)(const char *file, char *const argv[],
			 char *const envp[])
{
  before(is_found(file));
  return failed(REAL(execvpe)(file, argv, envp));
}

EXPORT int CALL(execvp)(const char *file, char *const argv[])
{
  before(is_found(file));
  return failed(REAL(execvpe)(file, argv, environ));
}

EXPORT int CALL(fexecve)(int fd, char *const argv[], char *const envp[])
{
  before(true);
  return failed(REAL(fexecve)(fd, argv, envp));
}

/* A C library that has no such function leaves it to the kernel: a program that
** looks for it finds this one. */
EXPORT int CALL(execveat)(int fd, const char *path, char *const argv[],
			  char *const envp[], int flags)
{
  __typeof__(syscall) *f = (__typeof__(syscall) *)original(NUMBER_syscall);
  before(true);
  return failed(REAL(execveat) != NULL ?
		REAL(execveat)(fd, path, argv, envp, flags) :
		(int)f(SYS_execveat, fd, path, argv, envp, flags));
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

EXPORT int CALL(execl)(const char *path, const char *arg, ...)
{
  char **argv;
  va_list ap;
  GATHER(argv, ap, arg);
  va_end(ap);
  return CALL(execv)(path, argv);
}

EXPORT int CALL(execlp)(const char *file, const char *arg, ...)
{
  char **argv;
  va_list ap;
  GATHER(argv, ap, arg);
  va_end(ap);
  return CALL(execvp)(file, argv);
}

EXPORT int CALL(execle)(const char *path, const char *arg, ...)
{
  char **argv;
  char *const *envp;
  va_list ap;
  GATHER(argv, ap, arg);
  envp = va_arg(ap, char *const *);
  va_end(ap);
  return CALL(execve)(path, argv, envp);
}

/* -- An end without handlers ---------------------------------------------- */

static void leaves(void)
{
  void (*f)(void) = port.leaves;
  if (f != NULL) f();
}

EXPORT void CALL(_exit)(int status)
{
  leaves();
  REAL(_exit)(status);
  abort();  /* It does not return. */
}

EXPORT void CALL(_Exit)(int status) { CALL(_exit)(status); }

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

/* More arguments are read than a caller may have passed: the next words of its
** stack, which go no further than the kernel. */
#define VARIADIC	EXPORT __attribute__((no_sanitize_address))

VARIADIC int CALL(prctl)(int op, ...)
{
  unsigned long a[4];
  va_list ap;
  size_t i;
  va_start(ap, op);
  for (i = 0; i < 4; i++) a[i] = va_arg(ap, unsigned long);
  va_end(ap);
  if (op == PR_SET_SECCOMP) confine_by_prctl(a[0], a[1]);
  return REAL(prctl)(op, a[0], a[1], a[2], a[3]);
}

VARIADIC long CALL(syscall)(long number, ...)
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
  return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
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
  EXPORT int CALL(name) parameters \
  { \
    before_wait(); \
    return REAL(name)(__VA_ARGS__); \
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

#ifndef MP_PRELOADED
/* -- The functions as a list ---------------------------------------------- */

_Static_assert(NCALLS == MP_CALLS, "MP_CALLS is their number");

mp_execport *mp_calls_list(mp_slotcall list[MP_CALLS])
{
#define ENTRY(name) { #name, (void (*)(void))CALL(name), NULL, NULL },
  static const mp_slotcall ours[] = { CALLS(ENTRY) };
  size_t i;
  find_originals();
  for (i = 0; i < MP_CALLS; i++) {
    list[i] = ours[i];
    list[i].original = originals[i];
  }
  return &port;
}
#endif
