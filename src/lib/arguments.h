/* SPDX-License-Identifier: MIT */
/*
** What functions of jit.mp.core take and return.
*/
#ifndef MP_ARGUMENTS_H
#define MP_ARGUMENTS_H

#include <stdbool.h>

#include "lua.h"

/* What a function returns that failed: nil, the message, the error. Wrong
** arguments (MP_WRONG) are the caller's error, and raised. */
int mp_fail(lua_State *L, const char *msg, int err);

/* Checks the arguments of L: an option string, which is "f" by default, names of
** outputs or nils, and perhaps a writer. Raises an error. */
void mp_check_arguments(lua_State *L);

/* Whether that is a writer of a host program's (luajit-mp.h), a userdata. */
bool mp_is_writer(lua_State *L, int i);

#endif
