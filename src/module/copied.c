/* SPDX-License-Identifier: MIT */
/*
** See module/copied.h.
*/
#include "config.h"

#include <stdlib.h>

#include "heapwalk/child.h"
#include "module/copied.h"

typedef struct copied {
  mp_heapchild child;
  mp_heapwalk *walk;		/* Once the child has ended. */
} copied;

static void *open_walk(size_t more)
{
  copied *c = calloc(1, sizeof(*c));
  if (c != NULL && mp_heapchild_share(&c->child, more)) return c;
  free(c);
  return NULL;
}

static void make_walk(void *walk, pid_t parent, const mp_copied *from,
		      const mp_attach_copied_walk *request)
{
  copied *c = walk;
  mp_heaprequest r = { .share = request->share, .file = request->file,
		       .lasting = true };
  mp_heapchild_copied(&c->child, parent, from, &r);
}

static const char *why_none(void *walk, double seconds)
{
  copied *c = walk;
  c->child.seconds = seconds;
  c->walk = mp_heapchild_taken(&c->child);
  return c->walk->why;
}

static void push_walk(lua_State *L, void *walk)
{
  copied *c = walk;
  mp_heapwalk_push(L, c->walk, NULL);
}

static void release_walk(void *walk)
{
  copied *c = walk;
  mp_heapwalk_free(c->walk != NULL ? c->walk : mp_heapchild_taken(&c->child));
  free(c);
}

__attribute__((visibility("default")))
const mp_attach_copied_calls mp_attach_copied = {
  open_walk, make_walk, why_none, push_walk, release_walk
};
