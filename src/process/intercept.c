/* SPDX-License-Identifier: MIT */
/*
** See process/intercept.h.
*/
#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "data/slots.h"
#include "preload/exec.h"
#include "process/ctx.h"
#include "process/intercept.h"

#include "luajit.h"

/* The last one is dlsym, for LuaJIT alone. */
static mp_slotcall calls[MP_CALLS + 1];

static mp_execport *port;

static void set(void) { mp_slots_set(calls, MP_CALLS + 1); }

static void *data(void (*f)(void))
{
  void *p;
  memcpy(&p, &f, sizeof(p));
  return p;
}

/* Ours in the place of a function that has this address, or this name. */
static void *replace(const void *f, const char *name)
{
  size_t i;
  for (i = 0; i < MP_CALLS; i++) {
    const mp_slotcall *c = &calls[i];
    if (c->original != NULL && (name != NULL ? strcmp(c->name, name) == 0 :
				data(c->original) == f))
      return data(c->ours);
  }
  return NULL;
}

/* A program in a sandbox that kills it has no profile any more: no system call
** is made for it. What is found may depend on the object that calls dlsym: the
** call is the last thing here, for the compiler to make it a jump. */
static void *look_up(void *handle, const char *name)
{
  void *f, *ours;
  if (mp_ctx_list() != NULL && mp_slots_grown()) set();
  if (handle != RTLD_DEFAULT && handle != RTLD_NEXT) {
    f = dlsym(handle, name);
    ours = f != NULL ? replace(f, NULL) : NULL;
    return ours != NULL ? ours : f;
  }
  ours = handle == RTLD_DEFAULT && name != NULL ? replace(NULL, name) : NULL;
  if (ours != NULL) return ours;
  return dlsym(handle, name);
}

static void set_up(void)
{
  mp_slotcall *last = &calls[MP_CALLS];
  void *preloaded = dlsym(RTLD_DEFAULT, MP_EXECPORT_SYMBOL), *f;
  if (preloaded != NULL) {
    port = preloaded;
    if (port->version != MP_EXECPORT_VERSION) port = NULL;
    return;
  }
  port = mp_calls_list(calls);
  f = dlsym(RTLD_DEFAULT, "dlsym");
  last->name = "dlsym";
  last->ours = (void (*)(void))look_up;
  last->within = (void (*)(void))luaJIT_setmode;
  memcpy(&last->original, &f, sizeof(f));
}

mp_execport *mp_intercept_port(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, set_up);
  return port;
}

/* Whether there is no preloaded library, but our own functions. */
static bool is_ours(void) { return calls[0].ours != NULL; }

void mp_intercept_begin(void)
{
  if (is_ours() && (mp_ctx_list() == NULL || mp_slots_grown())) set();
}

void mp_intercept_end(void)
{
  if (is_ours()) mp_slots_reset(calls, MP_CALLS + 1);
}
