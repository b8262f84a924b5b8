/* SPDX-License-Identifier: MIT */
/*
** See report/together.h.
*/
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "data/process.h"
#include "report/together.h"

typedef struct contents {
  size_t len;
  char text[];
} contents;

typedef struct sum {
  struct sum *next;
  pid_t pid;			/* The process that has it. */
  char *name;
  contents *now;		/* Complete at any moment: a fork copies it. */
} sum;

static sum *sums;

static sum *find(const char *name)
{
  sum *s = sums;
  while (s != NULL && (s->pid != mp_process() || strcmp(s->name, name) != 0))
    s = s->next;
  return s;
}

const char *mp_together_get(const char *name, size_t *len)
{
  const sum *s = find(name);
  if (s == NULL || s->now == NULL) return NULL;
  *len = s->now->len;
  return s->now->text;
}

static sum *add(const char *name)
{
  sum *s = calloc(1, sizeof(*s));
  if (s == NULL) return NULL;
  s->name = strdup(name);
  s->pid = mp_process();
  s->next = sums;
  if (s->name == NULL) {
    free(s);
    return NULL;
  }
  sums = s;
  return s;
}

bool mp_together_set(const char *name, const char *text, size_t len)
{
  sum *s = find(name);
  contents *old, *c = malloc(sizeof(*c) + len);
  if (s == NULL && c != NULL) s = add(name);
  if (s == NULL || c == NULL) {
    free(c);
    return false;
  }
  c->len = len;
  memcpy(c->text, text, len);
  old = s->now;
  s->now = c;
  free(old);
  return true;
}
