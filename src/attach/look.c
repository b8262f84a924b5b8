/* SPDX-License-Identifier: MIT */
/*
** See attach/look.h.
*/
#include "config.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/look.h"
#include "attach/room.h"
#include "data/clock.h"

#ifdef __x86_64__
#define CLASS	ELFCLASS64
#define MACHINE	EM_X86_64
#define OTHER_MACHINE EM_386
#define OWN_NAME "x86-64"
#define OTHER_NAME "i386"
#elif defined(__aarch64__)
#define CLASS	ELFCLASS64
#define MACHINE	EM_AARCH64
#define OTHER_MACHINE EM_ARM
#define OWN_NAME "arm64"
#define OTHER_NAME "32-bit arm"
#else
#define CLASS	ELFCLASS32
#define MACHINE	EM_386
#define OTHER_MACHINE EM_X86_64
#define OWN_NAME "i386"
#define OTHER_NAME "x86-64"
#endif

#define TRACED_MAX 50		/* Looks at a tracer that may go soon. */

/* Reads the process's thread group, who traces it, and its state. */
static bool read_status(pid_t pid, long *tgid, long *tracer, char *state)
{
  char name[64], line[256];
  FILE *f;
  *tgid = *tracer = 0;
  *state = '?';
  snprintf(name, sizeof(name), "/proc/%ld/status", (long)pid);
  f = mp_room(fopen(name, "re"));
  if (f == NULL) return false;
  while (fgets(line, sizeof(line), f) != NULL) {
    sscanf(line, "State: %c", state);
    sscanf(line, "Tgid: %ld", tgid);
    sscanf(line, "TracerPid: %ld", tracer);
  }
  fclose(f);
  return true;
}

mp_confined mp_look_confined(pid_t tid)
{
  mp_confined c = { 0, 0 };
  char name[64], line[256];
  FILE *f;
  snprintf(name, sizeof(name), "/proc/%ld/status", (long)tid);
  if ((f = mp_room(fopen(name, "re"))) == NULL) return c;
  while (fgets(line, sizeof(line), f) != NULL) {
    sscanf(line, "Seccomp: %ld", &c.mode);
    sscanf(line, "Seccomp_filters: %ld", &c.filters);
  }
  fclose(f);
  return c;
}

pid_t mp_look_tracer(pid_t tid)
{
  long tgid, tracer;
  char state;
  read_status(tid, &tgid, &tracer, &state);
  return (pid_t)tracer;
}

/* When a process started, in the kernel's ticks; 0: it has ended. */
static uint64_t start_time(const char *pid)
{
  unsigned long long start = 0;
  char name[64], line[1024] = "", state = '?';
  const char *end;
  FILE *f;
  snprintf(name, sizeof(name), "/proc/%s/stat", pid);
  if ((f = mp_room(fopen(name, "re"))) == NULL) return 0;
  if (fgets(line, sizeof(line), f) == NULL) line[0] = '\0';
  fclose(f);
  end = strrchr(line, ')');  /* The name may have anything in it. */
  if (end == NULL ||
      sscanf(end, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
	     "%*d %*d %*d %*d %*d %llu", &state, &start) != 2 || state == 'Z')
    return 0;
  return start;
}

mp_attach_caller mp_look_caller(void)
{
  mp_attach_caller c = { (uint32_t)getpid(), 0, start_time("self") };
  struct stat st;
  if (stat("/proc/self/ns/pid", &st) == 0) c.space = (uint32_t)st.st_ino;
  return c;
}

bool mp_look_gone(const mp_attach_caller *caller)
{
  mp_attach_caller own = mp_look_caller();
  uint64_t start;
  char pid[16];
  snprintf(pid, sizeof(pid), "%lu", (unsigned long)caller->pid);
  start = start_time(pid);
  return caller->pid != 0 && caller->space == own.space &&
	 start != caller->start && !mp_room_lacks();
}

bool mp_look_ended(pid_t pid)
{
  long tgid, tracer;
  char state;
  return !read_status(pid, &tgid, &tracer, &state) || state == 'Z' ||
	 state == 'X';
}

static int ptrace_scope(void)
{
  FILE *f = mp_room(fopen("/proc/sys/kernel/yama/ptrace_scope", "re"));
  int scope = 0;
  if (f == NULL) return 0;
  if (fscanf(f, "%d", &scope) != 1) scope = 0;
  fclose(f);
  return scope;
}

static uid_t owner(pid_t pid)
{
  char name[64];
  struct stat st;
  snprintf(name, sizeof(name), "/proc/%ld", (long)pid);
  return stat(name, &st) == 0 ? st.st_uid : (uid_t)-1;
}

void mp_look_forbidden(pid_t pid, char *buf, size_t n)
{
  static const char capability[] = "with the capability CAP_SYS_PTRACE (docker "
				   "run --cap-add SYS_PTRACE)";
  const char *how = geteuid() == 0 ? capability : "as root";
  int scope = ptrace_scope();
  if (owner(pid) != geteuid())
    snprintf(buf, n, "not permitted: process %ld belongs to another user, or "
	     "has changed its user; run luajit-mp %s", (long)pid, how);
  else if (scope >= 3)
    snprintf(buf, n, "not permitted: kernel.yama.ptrace_scope is %d, so that "
	     "no process may be traced until the next boot", scope);
  else if (scope >= 1)
    snprintf(buf, n, "not permitted: kernel.yama.ptrace_scope is %d; run "
	     "luajit-mp %s, or set it to 0: sysctl "
	     "kernel.yama.ptrace_scope=0", scope, how);
  else
    snprintf(buf, n, "not permitted: the system does not let process %ld be "
	     "traced; run luajit-mp %s", (long)pid,
	     geteuid() == 0 ? capability : "as root or with the capability "
	     "CAP_SYS_PTRACE");
}

void mp_look_traced(pid_t pid, pid_t tracer, char *buf, size_t n)
{
  char name[64], who[32] = "?";
  FILE *f;
  size_t i;
  snprintf(name, sizeof(name), "/proc/%ld/comm", (long)tracer);
  if ((f = mp_room(fopen(name, "re"))) != NULL) {
    if (fgets(who, sizeof(who), f) == NULL) who[0] = '\0';
    fclose(f);
  }
  for (i = 0; who[i] != '\0' && who[i] != '\n'; i++)
    if (who[i] < ' ' || who[i] > '~') who[i] = '?';
  who[i] = '\0';
  snprintf(buf, n, "process %ld is being traced already, by process %ld (%s)",
	   (long)pid, (long)tracer, who);
}

/* Whether the program is for this processor. */
static bool same_machine(pid_t pid, char *buf, size_t n)
{
  char name[64];
  Elf32_Ehdr eh;
  int fd;
  ssize_t got;
  snprintf(name, sizeof(name), "/proc/%ld/exe", (long)pid);
  fd = open(name, O_RDONLY | O_CLOEXEC);
  if (fd < 0 && (errno == EACCES || errno == EPERM)) {
    mp_look_forbidden(pid, buf, n);
    return false;
  } else if (fd < 0) {
    snprintf(buf, n, "process %ld runs no program", (long)pid);
    return false;
  }
  got = read(fd, &eh, sizeof(eh));
  close(fd);
  if (got == (ssize_t)sizeof(eh) && memcmp(eh.e_ident, ELFMAG, SELFMAG) == 0 &&
      eh.e_ident[EI_CLASS] == CLASS && eh.e_machine == MACHINE)
    return true;
  if (eh.e_machine == OTHER_MACHINE)
    snprintf(buf, n, "process %ld is for " OTHER_NAME ", and this luajit-mp "
	     "for " OWN_NAME ": run one that was built for " OTHER_NAME,
	     (long)pid);
  else
    snprintf(buf, n, "process %ld is for another processor, and this "
	     "luajit-mp for " OWN_NAME, (long)pid);
  return false;
}

/* The value of a field of the process's status, in line, to its end; NULL: it
** has none. */
static const char *status_field(pid_t pid, const char *field, char line[256])
{
  size_t len = strlen(field);
  char name[64];
  bool found = false;
  FILE *f;
  snprintf(name, sizeof(name), "/proc/%ld/status", (long)pid);
  if ((f = mp_room(fopen(name, "re"))) == NULL) return NULL;
  while (!found && fgets(line, 256, f) != NULL)
    found = strncmp(line, field, len) == 0;
  fclose(f);
  return found ? line + len : NULL;
}

static bool has_threads(pid_t pid)
{
  char line[256];
  const char *threads = status_field(pid, "Threads:", line);
  return threads != NULL && atol(threads) > 1;
}

/* Whether calls are checked by a shadow stack, which has none of ours. */
static bool has_shadow_stack(pid_t pid)
{
  char line[256];
  const char *features = status_field(pid, "x86_Thread_features:", line);
  return features != NULL && strstr(features, "shstk") != NULL;
}

/* The number that the process has in its own namespace. */
static long inner_number(pid_t pid)
{
  char line[256];
  const char *numbers = status_field(pid, "NSpid:", line);
  const char *last = numbers != NULL ? strrchr(numbers, '\t') : NULL;
  return numbers == NULL ? pid : atol(last != NULL ? last : "");
}

/* Whether the process finds our module. */
static bool same_files(pid_t pid, const char *library, char *buf, size_t n)
{
  char name[PATH_MAX];
  struct stat ours, theirs;
  snprintf(name, sizeof(name), "/proc/%ld/root%s", (long)pid, library);
  if (stat(library, &ours) == 0 && stat(name, &theirs) == 0 &&
      ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino)
    return true;
  snprintf(buf, n, "process %ld does not see %s: it runs in a container or "
	   "below another root; install luajit-mp there, and run it there "
	   "(docker exec, or nsenter -t %ld -m -p), for process %ld; "
	   MP_OUTSIDE_SHOWS ", from here", (long)pid, library, (long)pid,
	   inner_number(pid));
  return false;
}

/* A moment for another command, which stops the thread only briefly. */
static pid_t lasting_tracer(pid_t pid)
{
  pid_t tracer = mp_look_tracer(pid);
  int i;
  for (i = 0; tracer != 0 && i < TRACED_MAX; i++) {
    mp_clock_pause(20);
    tracer = mp_look_tracer(pid);
  }
  return tracer;
}

bool mp_look_process(pid_t pid, const char *library, char *buf, size_t n)
{
  long tgid, tracer;
  char state;
  if (lasting_tracer(pid) != 0) {
    mp_look_traced(pid, mp_look_tracer(pid), buf, n);
    return false;
  }
  if ((kill(pid, 0) != 0 && errno == ESRCH) ||
      !read_status(pid, &tgid, &tracer, &state))
    snprintf(buf, n, "there is no process %ld", (long)pid);
  else if (state == 'Z' && has_threads(pid))
    snprintf(buf, n, "the main thread of process %ld has ended, and luajit-mp "
	     "needs it", (long)pid);
  else if (state == 'Z')
    snprintf(buf, n, "process %ld has ended", (long)pid);
  else if (tgid != pid)
    snprintf(buf, n, "%ld is a thread of process %ld: give that number",
	     (long)pid, tgid);
  else if (pid == getpid())
    snprintf(buf, n, "process %ld is luajit-mp itself", (long)pid);
  else if (state == 'T')
    snprintf(buf, n, "process %ld is stopped; continue it first: kill -CONT "
	     "%ld", (long)pid, (long)pid);
  else if (library != NULL && has_shadow_stack(pid))
    snprintf(buf, n, "process %ld has a shadow stack: no function can be "
	     "called there; " MP_OUTSIDE_SHOWS, (long)pid);
  else
    return same_machine(pid, buf, n) &&
	   (library == NULL || same_files(pid, library, buf, n));
  return false;
}
