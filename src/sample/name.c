/* SPDX-License-Identifier: MIT */
/*
** Names of functions. See sample/name.h.
*/
#include "config.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sample/name.h"
#include "sample/symbol.h"
#include "vm/code.h"
#include "vm/frame.h"
#include "vm/package.h"

#define DOTS		"..."
#define CHUNK_SHOWN	48	/* Bytes of a string, as in Lua. */
#define BYTECODE	'\033'	/* The first byte of bytecode. */

mp_frame mp_name_none(void)
{
  return (mp_frame){ .linedefined = -1 };
}

void mp_name_set(mp_frame *f, const char *name, size_t len,
		 char buf[MP_NAME_MAX])
{
  if (len > MP_NAME_MAX) {
    len = MP_NAME_MAX - (sizeof(DOTS) - 1);
    while (len > 0 && ((unsigned char)name[len] & 0xc0) == 0x80) len--;
    memcpy(buf, name, len);
    memcpy(buf + len, DOTS, sizeof(DOTS) - 1);
    len += sizeof(DOTS) - 1;
    name = buf;
  }
  f->name = name;
  f->namelen = (uint32_t)len;
}

_Static_assert(MP_ELF_NAME <= MP_NAME_MAX, "a symbol has room");

/* Whether a library at that address is this one. */
static bool is_own(const void *base)
{
  static const char here;
  Dl_info info;
  return dladdr(&here, &info) != 0 && info.dli_fbase == base;
}

void mp_name_cfunction(mp_frame *f, const void *addr, char buf[MP_NAME_MAX])
{
  Dl_info info;
  const char *base, *builtin = mp_package_name(addr);
  if (builtin != NULL) {
    f->kind = MP_BUILTIN;
    mp_name_set(f, builtin, strlen(builtin), buf);
    return;
  }
  f->kind = MP_C;
  if (dladdr(addr, &info) == 0 || info.dli_fname == NULL) return;
  if (is_own(info.dli_fbase)) f->kind = MP_OWN;
  base = strrchr(info.dli_fname, '/');
  f->source = base ? base + 1 : info.dli_fname;
  f->sourcelen = (uint32_t)strlen(f->source);
  f->code = (uintptr_t)addr;
  f->chunk = (uintptr_t)info.dli_fbase;
  if (mp_symbol_name(addr, buf)) {
    f->name = buf;
    f->namelen = (uint32_t)strlen(buf);
    f->symbol = true;
  }
}

/* Names a chunk that came from a string, as Lua's messages do: by the first
** line of the name that load() gave it, or of the string itself. A text that is
** not shown as a whole also serves as an identity, except bytecode, whose name
** has only its first bytes. */
static void name_string(mp_frame *f, const char *s, size_t len,
			char buf[MP_CHUNK_MAX])
{
  size_t n = 0;
  bool whole;
  while (n < len && n < CHUNK_SHOWN && (unsigned char)s[n] >= ' ') n++;
  whole = n == len;
  if (!whole && n > CHUNK_SHOWN - 3) n = CHUNK_SHOWN - 3;
  while (!whole && n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80) n--;
  f->source = buf;
  f->sourcelen = (uint32_t)snprintf(buf, MP_CHUNK_MAX, "[string \"%.*s%s\"]",
				    (int)n, s, whole ? "" : "...");
  if (!whole && *s != BYTECODE) f->chunk = mp_code_text(s, len);
}

void mp_name_chunk(mp_frame *f, const char *s, size_t len,
		   char buf[MP_CHUNK_MAX])
{
  if (len > 0 && (*s == '@' || *s == '=')) {
    f->source = s + 1;
    f->sourcelen = (uint32_t)(len - 1);
  } else {
    name_string(f, s, len, buf);
  }
  if (f->sourcelen > MP_SOURCE_MAX) f->sourcelen = MP_SOURCE_MAX;
}

/* A function of a chunk. line: where it is, or less than 0. */
static void name_lua(mp_frame *f, const mp_vmframe *vf, int line,
		     char buf[MP_CHUNK_MAX])
{
  size_t len;
  const char *s = mp_proto_chunkname(vf->proto, &len);
  if (!mp_proto_stripped(vf->proto)) {
    f->linedefined = mp_proto_firstline(vf->proto);
    if (vf->pc != 0) f->line = line >= 0 ? line : f->linedefined;
  }
  mp_name_chunk(f, s, len, buf);
}

/* LuaJIT names a function by the instruction at which its caller stands, even
** if that did not call it: it failed (an error's handler), or was interrupted
** (a hook, a finalizer, of which only __gc is a name). An upvalue in bytecode
** without debug information has an empty name. */
static bool has_name(const mp_vmframe *vf, const char *name)
{
  return name != NULL && *name != '\0' &&
	 (!vf->from_c || strcmp(name, "__gc") == 0);
}

void mp_name_frame(mp_view *v, const mp_vmframe *vf, mp_frame *f,
		   char buf[MP_NAME_MAX + MP_CHUNK_MAX])
{
  const char *name;
  int line;
  *f = mp_name_none();
  if (vf->builtin != 0) {
    f->kind = MP_BUILTIN;
    f->builtin = vf->builtin;
    return;
  }
  if (vf->proto != NULL && mp_proto_firstline(vf->proto) < 0) {
    size_t len;
    name = mp_proto_chunkname(vf->proto, &len);
    f->kind = MP_BUILTIN;
    mp_name_set(f, name, len, buf);
    return;
  }
  line = mp_view_info(v, vf, &name);
  if (has_name(vf, name)) mp_name_set(f, name, strlen(name), buf);
  if (vf->proto != NULL) name_lua(f, vf, line, buf + MP_NAME_MAX);
  else mp_name_cfunction(f, vf->cfunc, buf);
}
