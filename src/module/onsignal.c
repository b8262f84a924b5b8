/* SPDX-License-Identifier: MIT */
/*
** See module/onsignal.h.
**
** The handler asks the VM to call a hook, as the luajit command does at SIGINT.
** A hook of the program is restored before the function is called. While a
** profile runs, its ticks lead compiled code to the interpreter.
*/
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "data/lock.h"
#include "data/process.h"
#include "module/arguments.h"
#include "module/guard.h"
#include "module/onsignal.h"
#include "module/userdata.h"
#include "report/write.h"

#include "lauxlib.h"

/* A state that waits for the signal. The handler reads it in the state's own
** thread, where it was written. Never moved. */
typedef struct waiter {
  lua_State *_Atomic L;		/* A thread of the state; NULL: it is free. */
  _Atomic pid_t tid;		/* Where the state runs. */
  _Atomic pid_t pid;		/* Process for which tid is right. */
  lua_Hook hook;		/* The program's hook. */
  int mask, count;		/* When the program's hook is called. */
} waiter;

#define MAX	64		/* States that can wait. */

static waiter waiters[MAX];
static char guard_key;		/* Of guards, and of the state's in the */
				/* registry. */
static int taken;		/* The signal, or 0. Under the lock. */

/* -- The hook ------------------------------------------------------------ */

/* The guard's environment has the function, and an anchor for the handler: the
** program may empty the registry. */
enum { ANCHOR = 1, FUNCTION };

/* Pushes what the registry has. NULL: it is not a guard, or no waiter has
** it. */
static waiter *push_guard(lua_State *L)
{
  waiter **guard;
  lua_pushlightuserdata(L, &guard_key);
  lua_rawget(L, LUA_REGISTRYINDEX);
  guard = mp_userdata_get(L, -1, &guard_key);
  return guard != NULL ? *guard : NULL;
}

/* Called by the interpreter. */
static void on_hook(lua_State *L, lua_Debug *ar)
{
  waiter *w;
  (void)ar;
  if (!lua_checkstack(L, 4)) return;
  w = push_guard(L);
  if (w == NULL) {  /* Nobody is to be called any more. */
    lua_sethook(L, NULL, 0, 0);
    lua_pop(L, 1);
    return;
  }
  lua_sethook(L, w->hook, w->mask, w->count);
  lua_getfenv(L, -1);
  lua_rawgeti(L, -1, FUNCTION);
  if (lua_pcall(L, 0, 0, 0) != 0) {
    mp_say(lua_isstring(L, -1) ? lua_tostring(L, -1) : "a function called for "
	   "a signal failed");
    lua_pop(L, 1);
  }
  lua_pop(L, 2);
}

/* Async-signal-safe, in the state's thread. */
static void ask(waiter *w, lua_State *L)
{
  mp_ctx *c;
  if (lua_gethook(L) != on_hook || lua_gethookmask(L) == 0) {
    w->hook = lua_gethook(L);
    w->mask = lua_gethookmask(L);
    w->count = lua_gethookcount(L);
    lua_sethook(L, on_hook, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
  }
  for (c = mp_ctx_list(); c != NULL; c = c->next)
    if (!c->final.done && c->profile.cpu.has_timer &&
	c->profile.cpu.tid == w->tid)
      mp_cpu_ask(&c->profile.cpu);
}

/* Each thread that has a state gets the signal. */
static void on_signal(int sig, siginfo_t *info, void *context)
{
  pid_t pid = mp_process_self(), tid = mp_process_thread();
  bool forwarded = info->si_code == SI_TKILL && info->si_pid == pid;
  int i, saved = errno;
  (void)context;
  if (mp_process_borrows()) return;
  for (i = 0; i < MAX; i++) {
    waiter *w = &waiters[i];
    lua_State *L = w->L;
    if (L == NULL) continue;
    if (w->pid != pid) {  /* A fork has left this thread alone. */
      w->pid = pid;
      w->tid = tid;
    }
    if (w->tid == tid) ask(w, L);
    else if (!forwarded) syscall(SYS_tgkill, pid, w->tid, sig);
  }
  errno = saved;
}

/* -- Which signal -------------------------------------------------------- */

/* The number of a signal, as USR2, SIGUSR2, RTMIN+1 or 12; or 0. */
static int signal_number(const char *name)
{
  static const struct { const char *name; int number; } known[] = {
    { "HUP", SIGHUP }, { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 },
    { "CONT", SIGCONT }, { "WINCH", SIGWINCH }, { "IO", SIGIO }
  };
  size_t i;
  char *end;
  long n;
  if (strncmp(name, "SIG", 3) == 0) name += 3;
  for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
    if (strcmp(name, known[i].name) == 0) return known[i].number;
  if (strncmp(name, "RTMIN", 5) == 0) {
    n = name[5] == '\0' ? 0 : name[5] == '+' ? strtol(name + 6, &end, 10) : -1;
    if (n < 0 || (name[5] != '\0' && (end == name + 6 || *end != '\0')))
      return 0;
    n += SIGRTMIN;
  } else {
    n = strtol(name, &end, 10);
    if (end == name || *end != '\0') return 0;
  }
  return n > 0 && n <= SIGRTMAX ? (int)n : 0;
}

/* Whether the system sends that signal for an error of the program, which would
** only come again if it was handled. */
static bool is_fault(int sig)
{
  return sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE ||
	 sig == SIGTRAP || sig == SIGABRT || sig == SIGSYS;
}

/* Takes the signal, or says why not. */
static int take(int sig, char *msg, size_t n)
{
  struct sigaction sa, old;
  if (taken == sig) return 0;
  snprintf(msg, n, "another signal was chosen before: all states share one");
  if (taken != 0) return EBUSY;
  mp_process_note();
  memset(&sa, 0, sizeof(sa));
  sa.sa_sigaction = on_signal;
  sa.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&sa.sa_mask);
  snprintf(msg, n, "signal %d cannot be handled: take USR2", sig);
  if (is_fault(sig)) return EINVAL;
  if (sigaction(sig, NULL, &old) != 0) return errno;
  if ((old.sa_flags & SA_SIGINFO) ||
      (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN)) {
    snprintf(msg, n, "the program uses signal %d itself: take another", sig);
    return EBUSY;
  }
  if (sigaction(sig, &sa, NULL) != 0) return errno;
  taken = sig;
  return 0;
}

/* -- Waiting ------------------------------------------------------------- */

static int leave(lua_State *L)
{
  waiter **w = mp_userdata_get(L, 1, &guard_key);
  if (w == NULL) return 0;  /* The program calls. */
  if (*w != NULL) (*w)->L = NULL;
  *w = NULL;
  return 0;
}

/* Pushes a guard, which leaves when the state is closed. The function is at
** index 2. */
static waiter **make_guard(lua_State *L, lua_State **anchor)
{
  waiter **guard = mp_userdata_new(L, sizeof(*guard), &guard_key, leave);
  lua_createtable(L, FUNCTION, 0);
  *anchor = lua_newthread(L);
  lua_rawseti(L, -2, ANCHOR);
  lua_pushvalue(L, 2);
  lua_rawseti(L, -2, FUNCTION);
  lua_setfenv(L, -2);
  return guard;
}

/* Puts the value on top of the stack into the registry. */
static void put(lua_State *L)
{
  lua_pushlightuserdata(L, &guard_key);
  lua_insert(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

static bool waits(lua_State *L)
{
  bool found = push_guard(L) != NULL;
  lua_pop(L, 1);
  return found;
}

static waiter *free_waiter(void)
{
  int i;
  for (i = 0; i < MAX; i++)
    if (waiters[i].L == NULL) return &waiters[i];
  return NULL;
}

/* Under the lock: no error of Lua's may leave it. */
static int wait_for_signal(int sig, lua_State *anchor, waiter **guard,
			   char *msg, size_t n)
{
  waiter *w;
  int err = take(sig, msg, n);
  if (err != 0) return err;
  w = free_waiter();
  snprintf(msg, n, "%d states wait for the signal already, which is the "
	   "maximum", MAX);
  if (w == NULL) return EAGAIN;
  *w = (waiter){ .L = NULL, .tid = mp_process_thread(),
		 .pid = mp_process_self() };
  *guard = w;
  w->L = anchor;
  return 0;
}

int mp_on_signal(lua_State *L)
{
  const char *name = luaL_checkstring(L, 1);
  int sig = signal_number(name), err;
  lua_State *anchor;
  waiter **guard;
  char msg[128];
  luaL_checktype(L, 2, LUA_TFUNCTION);
  if (sig == 0)
    return luaL_error(L, "jit.mp: unknown signal '%s': give a name or a "
		      "number, such as USR2, RTMIN+1 or 12", name);
  guard = make_guard(L, &anchor);
  if (waits(L))
    return mp_fail(L, "this Lua state waits for a signal already", EALREADY);
  put(L);
  mp_lock();
  err = wait_for_signal(sig, anchor, guard, msg, sizeof(msg));
  mp_unlock();
  if (err != 0) return mp_fail(L, msg, err);
  lua_pushboolean(L, 1);
  return 1;
}
