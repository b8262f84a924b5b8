/* SPDX-License-Identifier: MIT */
/*
** See vm/allocator.h.
*/
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "vm/allocator.h"
#include "vm/machine.h"

static lua_Alloc builtin;
static mp_allocator functions;

#ifdef MP_LAYOUT

bool mp_allocator_read(const void *code, mp_allocator *a)
{
  const void *make =
    mp_machine_choice(code, false, true, MP_VALUE_NSIZE, MP_VALUE_OTHER);
  const void *again =
    mp_machine_choice(code, true, true, MP_VALUE_PTR, MP_VALUE_NSIZE);
  const void *release =
    mp_machine_choice(code, true, false, MP_VALUE_PTR, MP_VALUE_OTHER);
  memset(a, 0, sizeof(*a));
  if (make == NULL || again == NULL || release == NULL || make == release ||
      make == again || again == release)
    return false;
  memcpy(&a->make, &make, sizeof(make));
  memcpy(&a->again, &again, sizeof(again));
  memcpy(&a->release, &release, sizeof(release));
  return true;
}

#endif

/* -- The allocator --------------------------------------------------------- */

/* Whether the functions do what the lua_Alloc does. */
static bool work(const mp_allocator *a, lua_Alloc f, void *ud)
{
  static const char text[] = "a block";
  char *p = a->make(ud, sizeof(text)), *q;
  if (p == NULL) return false;
  memcpy(p, text, sizeof(text));
  if ((q = a->again(ud, p, 5000)) != NULL) p = q;
  if (q != NULL && (q = f(ud, p, 5000, 100)) != NULL) p = q;
  return memcmp(p, text, sizeof(text)) == 0 && a->release(ud, p) == NULL &&
	 q != NULL;
}

void mp_allocator_learn(lua_Alloc f, void *ud)
{
  mp_allocator a;
  builtin = f;
  memset(&functions, 0, sizeof(functions));
  if (mp_allocator_read((const void *)(uintptr_t)f, &a) && work(&a, f, ud))
    functions = a;
}

bool mp_allocator_builtin(lua_Alloc f)
{
  return builtin != NULL && f == builtin;
}

mp_allocator mp_allocator_of(lua_Alloc f)
{
  static const mp_allocator none;
  return mp_allocator_builtin(f) ? functions : none;
}
