/* SPDX-License-Identifier: MIT */
/*
** See attach/session.h.
*/
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/frame.h"
#include "attach/look.h"
#include "attach/room.h"
#include "attach/sandbox.h"
#include "attach/session.h"
#include "attach/symbol.h"
#include "data/clock.h"

#define CODE_MAX (64 << 20)	/* Bytes of code that are searched. */
#define PERFORM	5.0		/* Seconds until a request must be done. */
#define STEP	0.002		/* Seconds between two looks. */
#define PASSING	0.2		/* Seconds that a state of ours may take. */

static bool fails(mp_session *s, const char *msg)
{
  snprintf(s->msg, sizeof(s->msg), "%s", msg);
  return false;
}

/* -- The module ---------------------------------------------------------- */

static const mp_kind *const kinds[] = {
#ifndef __i386__
  &mp_kind_gc64,
#endif
#ifndef __aarch64__
  &mp_kind_refs32
#endif
};
#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

/* The absolute name of a file beside the module; NULL: it is not there. */
static char *find_beside(mp_session *s, const char *file)
{
  const char *name = strrchr(s->library, '/') + 1;
  char path[PATH_MAX], *found;
  snprintf(path, sizeof(path), "%.*s%s", (int)(name - s->library), s->library,
	   file);
  if ((found = mp_room(realpath(path, NULL))) == NULL)
    snprintf(s->msg, sizeof(s->msg), "%.500s: %s", path, strerror(errno));
  return found;
}

/* Takes the module for that kind, which lies beside the one that we have. */
static bool use_kind(mp_session *s, const mp_kind *kind)
{
  char *found = find_beside(s, kind->core);
  if (found == NULL) return false;
  free(s->library);
  s->library = found;
  s->kind = kind;
  s->enter = s->block = 0;
  return true;
}

/* The mapping where the file of the module begins; NULL: it is not loaded. */
static const mp_mapping *find_module(const mp_session *s)
{
  int i;
  for (i = 0; i < s->maps.n; i++)
    if (strcmp(s->maps.list[i].path, s->library) == 0)
      return &s->maps.list[i];
  return NULL;
}

/* Takes the module that is loaded, or else the first one. The first one may
** have loaded another, which the VM needed. */
static void use_loaded(mp_session *s)
{
  size_t i;
  for (i = KINDS; i-- > 0;)
    if (use_kind(s, kinds[i]) && find_module(s) != NULL) return;
}

bool mp_session_loaded(mp_session *s)
{
  const mp_mapping *a = find_module(s);
  uint64_t size;
  if (a == NULL) return false;
  s->enter = mp_symbol_find(&s->maps, a, MP_ATTACH_ENTER);
  s->block = mp_symbol_variable(&s->maps, a, MP_ATTACH_ANSWER, &size);
  return s->enter != 0 && s->block != 0;
}

/* -- Objects of the process ---------------------------------------------- */

/* The mapping of the object that exports a function, or NULL. */
static const mp_mapping *object_with(const mp_maps *m, const char *function)
{
  return mp_maps_find(m, mp_symbol_find(m, NULL, function));
}

/* Searches the code of an object for some bytes. 0: they are not there. */
static uint64_t find_bytes(const mp_maps *m, const mp_mapping *object,
			   const char *bytes, size_t n)
{
  uint64_t found = 0;
  int i;
  for (i = 0; i < m->n && found == 0; i++) {
    const mp_mapping *a = &m->list[i];
    size_t size = a->to - a->from;
    char *code, *at;
    if (!a->executable || size > CODE_MAX ||
	(a != object && !mp_maps_same(a, object)))
      continue;
    if ((code = mp_room(malloc(size))) == NULL) return 0;
    if (mp_remote_read(m->pid, code, a->from, size) &&
	(at = memmem(code, size, bytes, n)) != NULL)
      found = a->from + (uint64_t)(at - code);
    free(code);
  }
  return found;
}

/* The object that defines malloc: where there are two, not the C library. */
static const mp_mapping *find_malloc(const mp_maps *m, const mp_mapping *libc)
{
  const mp_mapping *last = NULL;
  int i;
  for (i = 0; i < m->n; i++) {
    const mp_mapping *a = &m->list[i];
    if (a->inode == 0 || mp_maps_same(a, last)) continue;
    last = a;
    if (!mp_maps_same(a, libc) && mp_symbol_find(m, a, "malloc") != 0) return a;
  }
  return libc;
}

/* A copy of the mapping of an object; NULL: there is none. */
static const mp_mapping *keep(mp_mapping *copy, const mp_mapping *a)
{
  if (a == NULL) return NULL;
  *copy = *a;
  copy->path = mp_room(strdup(a->path));
  return copy->path != NULL ? copy : NULL;
}

/* The object that signal handlers return to: on i386 and arm64 the kernel's
** own. */
static const mp_mapping *find_returns(const mp_maps *m, const mp_mapping *libc)
{
#ifndef __x86_64__
  int i;
  for (i = 0; i < m->n; i++)
    if (strcmp(m->list[i].path, "[vdso]") == 0) return &m->list[i];
#else
  (void)m;
#endif
  return libc;
}

static bool find_code(mp_session *s)
{
  const mp_mapping *libc = object_with(&s->maps, "__libc_start_main"), *a;
  mp_code *c = &s->code;
  c->maps = &s->maps;
  if (libc == NULL) return false;
  c->vm = keep(&s->objects[0], object_with(&s->maps, "luaJIT_profile_start"));
  c->libc = keep(&s->objects[1], libc);
  c->loader = keep(&s->objects[2], object_with(&s->maps, "__tls_get_addr"));
  c->linker = mp_symbol_variable(&s->maps, c->loader, "_rtld_global",
				 &c->linker_size);
  c->memory = keep(&s->objects[3], find_malloc(&s->maps, libc));
  a = find_returns(&s->maps, libc);
  c->restorer = find_bytes(&s->maps, a, MP_RETURN_CODE,
			   sizeof(MP_RETURN_CODE) - 1);
#ifdef MP_OLDFRAME_CODE
  c->oldrestorer = find_bytes(&s->maps, a, MP_OLDFRAME_CODE,
			      sizeof(MP_OLDFRAME_CODE) - 1);
#endif
  s->place.returns = c->restorer;
  s->map = mp_symbol_find(&s->maps, libc, "mmap");
  s->unmap = mp_symbol_find(&s->maps, libc, "munmap");
  s->open = mp_symbol_find(&s->maps, NULL, "dlopen");
  if (s->open == 0)
    s->open = mp_symbol_find(&s->maps, NULL, "__libc_dlopen_mode");
  s->error = mp_symbol_find(&s->maps, NULL, "dlerror");
  return s->open != 0 && s->map != 0 && s->unmap != 0 && c->libc != NULL &&
	 c->restorer != 0;
}

/* Has the file of the module in memory before the process wants it. */
static void warm(const char *library)
{
  char buf[1 << 16];
  int fd = open(library, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  while (read(fd, buf, sizeof(buf)) > 0) ;
  close(fd);
}

/* The list may be readable where the memory itself is not. */
static bool is_readable(const mp_session *s)
{
  char c;
  return s->maps.n > 0 &&
	 mp_remote_read(s->pid, &c, s->maps.list[0].from, 1);
}

/* Whether the dynamic linker is there: a program without a C library that has
** one is about to load it. */
static bool is_starting(const mp_maps *m)
{
  int i;
  for (i = 0; i < m->n; i++) {
    const char *name = strrchr(m->list[i].path, '/');
    if (name != NULL && strncmp(name, "/ld-", 4) == 0) return true;
  }
  return false;
}

/* Another C library than the one that we were built with: its programs cannot
** load our module. */
#ifdef __GLIBC__
#define IS_GLIBC true
#define OTHER	"musl", "glibc", "musl"
#else
#define IS_GLIBC false
#define OTHER	"glibc", "musl", "glibc"
#endif

static bool is_other(const mp_maps *m)
{
  const mp_mapping *libc = object_with(m, "__libc_start_main");
  return libc != NULL &&
	 (mp_symbol_find(m, libc, "gnu_get_libc_version") != 0) != IS_GLIBC;
}

/* The reason why there is no C library to call. */
static bool no_library(mp_session *s)
{
  if (is_starting(&s->maps))
    return fails(s, "the program has not loaded a C library: if it is only "
		 "starting, try again");
  return fails(s, "the program has no C library that could load the "
	       "profiler: it is linked statically; " MP_OUTSIDE_SHOWS);
}

/* While the module does a request, of a command that was killed, it has states
** of its own that do not show whose they are. */
static bool is_at_rest(mp_session *s, mp_attach_block *b)
{
  return s->block == 0 || !mp_remote_read(s->pid, b, s->block, sizeof(*b)) ||
	 !(b->performing || b->preparing);
}

/* A process has states of one kind. */
const mp_kind *mp_session_search(const mp_maps *m, uint64_t own, mp_found *list,
				 int *n, const volatile int *end)
{
  size_t i;
  for (i = 0; i < KINDS; i++)
    if ((*n = kinds[i]->states(m, own, list, end)) > 0) return kinds[i];
  return NULL;
}

static void search(mp_session *s, uint64_t own)
{
  const mp_kind *kind = mp_session_search(&s->maps, own, s->states,
					  &s->nstates, s->place.end);
  if (kind != NULL) s->kind = kind;
}

/* A state of the profiler's that is being made or closed may look like another
** one for a moment: of several states those count that stay. */
static void leave_passing(mp_session *s, uint64_t own)
{
  int n;
  do {
    n = s->nstates;
    if (n < 2 || !mp_session_wait(s, PASSING, s->place.end)) return;
    search(s, own);
  } while (s->nstates < n);
}

static void find_states(mp_session *s)
{
  uint64_t own = mp_symbol_find(&s->maps, find_module(s), "mp_state_alloc");
  double until = mp_clock_wall() + PERFORM;
  mp_attach_block before = { 0 }, after = { 0 };
  do {
    while (!is_at_rest(s, &before) && mp_clock_wall() < until)
      if (!mp_session_wait(s, STEP, s->place.end)) return;
    search(s, own);
  } while ((!is_at_rest(s, &after) || after.phase != before.phase ||
	    after.open != before.open) && mp_clock_wall() < until &&
	   !*s->place.end);
  leave_passing(s, own);
}

/* Finds the functions that the VM does not export. */
static bool find_hidden(mp_session *s)
{
  s->names = find_beside(s, MP_HIDDEN_LIBRARY);
  if (s->names == NULL) return false;
  fails(s, "the program has a LuaJIT in it whose functions are neither "
	"exported nor in a symbol table; link the program with -Wl,-E, or do "
	"not strip it, or install its debug file; " MP_OUTSIDE_SHOWS);
  s->code.vm = keep(&s->objects[0], mp_hidden_find(&s->hidden, &s->maps,
		    s->names, s->msg, sizeof(s->msg)));
  return s->code.vm != NULL;
}

static bool read_process(mp_session *s)
{
  int err = mp_maps_read(&s->maps, s->pid);
  if (err == EACCES || err == EPERM ||
      (err == 0 && s->maps.n > 0 && !is_readable(s))) {
    mp_look_forbidden(s->pid, s->msg, sizeof(s->msg));
    return false;
  }
  if (err != 0) return fails(s, strerror(err));
  if (is_other(&s->maps)) {
    snprintf(s->msg, sizeof(s->msg), "the program's C library is %s, and this "
	     "luajit-mp was built with %s: build it with %s, and run that one; "
	     MP_OUTSIDE_SHOWS, OTHER);
    return false;
  }
  if (!find_code(s)) return no_library(s);
  use_loaded(s);
  mp_session_loaded(s);
  find_states(s);
  if (*s->place.end) return fails(s, "interrupted");
  if (s->code.vm == NULL && s->nstates == 0)
    return fails(s, "the program has no LuaJIT in it");
  if (s->code.vm == NULL && !find_hidden(s)) return false;
  if (s->nstates == 0)
    return fails(s, "the program has a LuaJIT in it, but no Lua state that "
		 "luajit-mp can read");
  if (!use_kind(s, s->kind)) return false;
  mp_session_loaded(s);
  if (s->enter == 0) warm(s->library);
  return mp_sandbox_permits(s->pid, s->msg, sizeof(s->msg));
}

/* Whether it has, or is about to: then it has no memory any more. */
static bool has_ended(const mp_session *s)
{
  mp_maps m;
  bool none = mp_maps_read(&m, s->pid) == 0 && m.n == 0;
  mp_maps_free(&m);
  return none || mp_look_ended(s->pid);
}

bool mp_session_poor(mp_session *s)
{
  if (mp_room_lacks())
    fails(s, "luajit-mp has not enough memory to look at the process");
  return mp_room_lacks();
}

static bool open_session(mp_session *s, pid_t pid, const char *library,
			 const volatile int *end)
{
  memset(s, 0, sizeof(*s));
  mp_room_forget();
  s->place.end = end;
  s->caller = mp_look_caller();
  s->pid = s->tid = pid;
  s->pidfd = s->fd = -1;
  s->library = realpath(library, NULL);
  if (s->library == NULL) return fails(s, strerror(errno));
  if (!mp_look_process(pid, s->library, s->msg, sizeof(s->msg)))
    return false;
#ifdef SYS_pidfd_open
  s->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
#endif
  if (read_process(s)) return true;
  if (has_ended(s)) fails(s, "the process has ended");
  return false;
}

bool mp_session_open(mp_session *s, pid_t pid, const char *library,
		     const volatile int *end)
{
  bool there = open_session(s, pid, library, end);
  return !mp_session_poor(s) && there;
}

/* Whether a profile is there whose command has ended: it may end, too. */
static bool is_orphan(const mp_session *s)
{
  mp_attach_block b;
  return s->block != 0 && mp_remote_read(s->pid, &b, s->block, sizeof(b)) &&
	 b.version == MP_ATTACH_VERSION && b.phase == MP_ATTACH_RUNNING &&
	 mp_look_gone(&b.caller);
}

bool mp_session_profiled(const mp_session *s, int state)
{
  const mp_mapping *a = mp_maps_find(&s->maps, s->states[state].allocf);
  char name[32];
  size_t len = (size_t)snprintf(name, sizeof(name), "/jit/mp/%s",
				s->kind->core);
  size_t n = a != NULL ? strlen(a->path) : 0;
  return n >= len && strcmp(a->path + n - len, name) == 0 && !is_orphan(s);
}

void mp_session_close(mp_session *s)
{
  size_t i;
  for (i = 0; i < sizeof(s->objects) / sizeof(s->objects[0]); i++)
    free(s->objects[i].path);
  if (s->fd >= 0) close(s->fd);
  if (s->pidfd >= 0) close(s->pidfd);
  mp_maps_free(&s->maps);
  free(s->names);
  free(s->library);
  memset(s, 0, sizeof(*s));
  s->fd = s->pidfd = -1;
}

#define LOOK	0.01		/* Seconds until a thread is looked after. */

bool mp_session_wait(mp_session *s, double seconds, const volatile int *end)
{
  double until = mp_clock_wall() + seconds, left;
  while (!*end && (left = until - mp_clock_wall()) > 0) {
    struct pollfd p = { s->pidfd, POLLIN, 0 };
    uint32_t beat = (uint32_t)mp_clock_wall();
    if (s->asked)
      mp_remote_write(s->pid, s->block + offsetof(mp_attach_block, beat), &beat,
		      sizeof(beat));
    if (!mp_tracee_all_gone_on() && left > LOOK) left = LOOK;
    if (poll(&p, 1, left < 1 ? (int)(left * 1000) + 1 : 1000) > 0) return false;
    if (s->pidfd < 0 && kill(s->pid, 0) != 0) return false;
  }
  return true;
}
