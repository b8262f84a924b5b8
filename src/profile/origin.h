/* SPDX-License-Identifier: MIT */
/*
** The origin of a profile: the command, the directory, the VM.
**
** All strings are owned; any of them may be NULL.
*/
#ifndef MP_ORIGIN_H
#define MP_ORIGIN_H

#include "lua.h"

typedef struct mp_origin {
  char *options;		/* Option string. */
  char *cwd, *script;		/* When the profile began; the script of a */
				/* host is its executable's name. */
  char **command;		/* The luajit command's words, without */
				/* passwords in addresses; NULL ends it. */
  char *luajit, *os, *arch;	/* What is running, as the jit library says. */
  unsigned state;		/* Number of the Lua state in the process. */
} mp_origin;

/* Notes the directory ("/" if there is none any more), and the words of the
** luajit command from L's table arg. */
void mp_origin_set(mp_origin *o, lua_State *L);

/* Notes what R's jit library says. Raises Lua errors. */
void mp_origin_set_vm(mp_origin *o, lua_State *R);

/* Gives all memory back. */
void mp_origin_free(mp_origin *o);

#endif
