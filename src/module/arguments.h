/* SPDX-License-Identifier: MIT */
/*
** Arguments and results of the functions of jit.mp.core.
*/
#ifndef MP_ARGUMENTS_H
#define MP_ARGUMENTS_H

#include <stdbool.h>

#include "lua.h"

/* Returns from a function that failed: with nil, the message, the error. Wrong
** arguments (MP_WRONG) are the caller's fault: their message is raised. */
int mp_fail(lua_State *L, const char *msg, int err);

/* Checks the arguments of L: an option string, which is "f" by default, names
** of outputs or nils, and perhaps a writer. Raises an error. */
void mp_check_arguments(lua_State *L);

/* Checks that argument, which is the name of an output or nil. */
void mp_check_output(lua_State *L, int i);

/* Whether that is a writer of a host program's (luajit-mp.h), a userdata. */
bool mp_is_writer(lua_State *L, int i);

#endif
