/* SPDX-License-Identifier: MIT */
/*
** See module/confine.h.
*/
#include "config.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

#include "data/lock.h"
#include "data/process.h"
#include "data/seccomp.h"
#include "module/confine.h"
#include "module/guard.h"
#include "process/inherit.h"
#include "process/intercept.h"
#include "report/write.h"
#include "vm/peek.h"

#include "lauxlib.h"
#include "luajit.h"

/* Whether the kernel would take the filter, and it is one that kills. */
static bool is_deadly(const struct sock_fprog *filter)
{
  struct sock_fprog f;
  if (!mp_peek(&f, filter, sizeof(f)) || f.len == 0 || f.len > BPF_MAXINSNS ||
      !mp_readable(f.filter) || !mp_readable(f.filter + f.len - 1))
    return false;
  return mp_seccomp_deadly(f.filter, f.len) != NULL;
}

/* Whether the run is this process's, or may become so. */
static bool is_ours(mp_ctx *c)
{
  mp_inherit_look(c);
  return c->heir.inherits ||
	 (!c->final.done && c->profile.span.pid == mp_process_self());
}

/* The thread of the run's VM in which this thread is; NULL: it is in another
** VM, or in compiled code. */
static lua_State *running(mp_ctx *c)
{
  mp_vm *vm = mp_alloc_vm(c->profile.heap);
  if (!vm->proved || mp_vm_whereabouts(vm, NULL) != MP_VM_HERE ||
      mp_vm_ontrace(vm))
    return NULL;
  return is_ours(c) && !c->profile.busy ? mp_vm_thread(vm) : NULL;
}

static lua_State *find(mp_ctx **c)
{
  lua_State *L = NULL;
  mp_lock();
  for (*c = mp_ctx_list(); *c != NULL; *c = (*c)->next)
    if ((L = running(*c)) != NULL) break;
  mp_unlock();
  return L;
}

/* The compiler may be recording the call, and end that at the next instruction
** that it sees: code it refers to is removed at the end of a profile. */
static void end_recording(mp_ctx *c, lua_State *L)
{
  mp_alloc_freeze(c->profile.heap);
  luaJIT_setmode(L, 0, LUAJIT_MODE_MASK);
  if (luaL_loadstring(L, "return") != 0 || lua_pcall(L, 0, 0, 0) != 0)
    lua_pop(L, 1);
  mp_alloc_thaw(c->profile.heap);
}

static void before(const void *filter)
{
  lua_State *L;
  mp_ctx *c;
  char msg[512];
  int err;
  if (mp_ctx_list() == NULL || (filter != NULL && !is_deadly(filter))) return;
  while ((L = find(&c)) != NULL && mp_guard_get(L) == c &&
	 lua_checkstack(L, LUA_MINSTACK)) {
    end_recording(c, L);
    mp_notes_add(&c->profile.notes,
		 "the profile ended when the program entered a sandbox, which "
		 "would have killed it for system calls of the profiler");
    err = c->heir.inherits ? mp_guard_end(L, msg, sizeof(msg)) :
	  mp_guard_stop(L, msg, sizeof(msg));
    if (err != 0) mp_say(msg);
  }
}

void mp_confine_install(void)
{
  mp_execport *port = mp_intercept_port();
  if (port == NULL) return;
  port->confined = before;
}
