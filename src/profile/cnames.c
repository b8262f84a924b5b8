/* SPDX-License-Identifier: MIT */
/*
** See profile/cnames.h.
*/
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "profile/cnames.h"
#include "profile/field.h"
#include "sample/nativename.h"
#include "sample/symbol.h"

/* Whether a frame is code that asked for C memory, or a C function that has its
** symbol for a name. */
static bool is_function(const mp_frame *f, mp_function *out)
{
  const void *inside;
  bool named = f->kind == MP_C && f->symbol && f->namelen < MP_ELF_NAME;
  out->inside = f->kind == MP_C && mp_nativename_code(f, &inside);
  out->address = out->inside ? (uintptr_t)inside : f->code;
  out->name[0] = '\0';
  if (named) {
    memcpy(out->name, f->name, f->namelen);
    out->name[f->namelen] = '\0';
  }
  return named || out->inside;
}

/* Lists the functions; returns their number. list: NULL, or with room. */
static size_t collect(const mp_stacks *s, const mp_extent *e, size_t room,
		      mp_function *list)
{
  mp_function one;
  uint32_t i;
  size_t n = 0;
  for (i = 1; i <= e->frames; i++) {
    const mp_frame f = s->frames[i];  /* The array may move. */
    mp_function *to = list != NULL ? &list[n] : &one;
    if (list != NULL && n == room) break;
    to->id = mp_extent_new(e->frame_of, i);
    if (to->id != 0 && is_function(&f, to)) n++;
  }
  return n;
}

void mp_cnames(lua_State *L, const mp_stacks *s, const mp_extent *e)
{
  size_t i, n = collect(s, e, 0, NULL);
  mp_function *list;
  if (n == 0) return;
  list = lua_newuserdata(L, n * sizeof(*list));
  n = collect(s, e, n, list);
  mp_symbol_names(list, n);
  for (i = 0; i < n; i++) {
    const mp_function *f = &list[i];
    if (f->name[0] == '\0') continue;
    lua_rawgeti(L, -2, (int)f->id);
    mp_field_string(L, f->inside ? "name" : "definition", f->name);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}
