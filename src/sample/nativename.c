/* SPDX-License-Identifier: MIT */
/*
** See sample/nativename.h.
*/
#include "config.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sample/nativename.h"

#include "lauxlib.h"

#define NATIVE	"@native "	/* Function and address follow. */

mp_frame mp_nativename_frame(const void *ret, const char *what,
			     char buf[MP_NATIVE_NAME])
{
  mp_frame f = { .kind = MP_C, .linedefined = -1, .name = buf };
  f.namelen = (uint32_t)snprintf(buf, MP_NATIVE_NAME, NATIVE "%s %lx", what,
				 (unsigned long)(uintptr_t)ret);
  return f;
}

/* Whether an address is in the program or library that LuaJIT is part of. */
static bool is_luajit(const void *base)
{
  Dl_info info;
  return dladdr((const void *)(size_t)luaL_newstate, &info) != 0 &&
	 info.dli_fbase == base;
}

/* Where the code is, and what it called. */
static bool parse(const mp_frame *f, const char **code, char what[32])
{
  unsigned long addr;
  char name[96];
  if (f->kind != MP_C || f->name == NULL || f->namelen >= sizeof(name))
    return false;
  memcpy(name, f->name, f->namelen);  /* It need not end in 0. */
  name[f->namelen] = '\0';
  if (sscanf(name, NATIVE "%31s %lx", what, &addr) != 2) return false;
  *code = (const char *)addr - 1;
  return true;
}

bool mp_nativename_code(const mp_frame *f, const void **code)
{
  Dl_info info;
  const char *at;
  char what[32];
  if (!parse(f, &at, what) || dladdr(at, &info) == 0 ||
      is_luajit(info.dli_fbase))
    return false;
  *code = at;
  return true;
}

bool mp_nativename_get(const mp_frame *f, char buf[MP_NATIVE_NAME],
		       const char **library)
{
  const char *code;
  char what[32];
  Dl_info info;
  bool found;
  if (!parse(f, &code, what)) return false;
  found = dladdr(code, &info) != 0 && info.dli_fname != NULL;
  *library = NULL;
  if (found) {
    const char *base = strrchr(info.dli_fname, '/');
    *library = base ? base + 1 : info.dli_fname;
  }
  if (found && info.dli_sname != NULL)
    snprintf(buf, MP_NATIVE_NAME, "%s", info.dli_sname);
  else if (found && !is_luajit(info.dli_fbase))
    snprintf(buf, MP_NATIVE_NAME, "(%.200s)", *library);
  else {  /* ffi.C.malloc, interpreted or compiled. */
    snprintf(buf, MP_NATIVE_NAME, "%s", what);
    *library = NULL;
  }
  return true;
}
