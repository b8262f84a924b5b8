/* SPDX-License-Identifier: MIT */
/*
** Files for the modules in Lua that make reports.
*/
#ifndef MP_FILES_H
#define MP_FILES_H

#include "lua.h"

/* Pushes a table with
**
**   read(path, max, below)	the text of a regular file of at most max bytes;
**				below: a directory that it must lie in, or nil
**	directory()		the current directory
**	width()			columns of the terminal that is standard output
**	cannot_run(script)	whether luajit will refuse to run a script
**
** The first three return nil and a message where they fail. */
void mp_files_push(lua_State *L);

#endif
