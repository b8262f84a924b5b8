/* SPDX-License-Identifier: MIT */
/*
** luajit-mp: CPU and memory profiler for LuaJIT. The interface for programs
** in C that have Lua states; luajit-mp(3) describes it.
**
** Functions are called by the thread that runs L, outside of signal handlers
** and allocators. They raise no Lua errors and leave the stack of L as it was.
** They return 0 if they succeed. Otherwise luajit_mp_error says what is wrong,
** and the number is that of the system's error, or -1 if there is none.
*/
#ifndef LUAJIT_MP_H
#define LUAJIT_MP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lua_State;

/* Takes reports in place of files. The writer is copied; ctx belongs to the
** program, and must remain valid until on_stop is called. Neither function may
** use the Lua state. */
typedef struct luajit_mp_writer {
  /* Takes the report that would be the contents of the file of that name.
  ** Returns 0, or an errno value if it fails. */
  int (*write)(void *ctx, const char *name, const void *data, size_t size);
  /* Called once, after the last report of a profile that was started; err is 0
  ** or what the function that ends it returns. May be NULL. */
  void (*on_stop)(void *ctx, int err);
  void *ctx;			/* For both of them. */
} luajit_mp_writer;

/* Starts a profile of the state. what: options and outputs, as the luajit
** command takes them after -jm=, such as "fl,report.txt,page.html". w: takes
** the reports; NULL: the files are written. */
int luajit_mp_start(struct lua_State *L, const char *what,
		    const luajit_mp_writer *w);

/* Writes a report of the profile so far; the profile continues. */
int luajit_mp_write(struct lua_State *L, const char *what,
		    const luajit_mp_writer *w);

/* Writes a report of the time since the last window, by the options of the
** start. outputs: names with commas between them. */
int luajit_mp_window(struct lua_State *L, const char *outputs,
		     const luajit_mp_writer *w);

/* Ends the profile and writes the reports that the start asked for. */
int luajit_mp_stop(struct lua_State *L);

/* The message of the call that failed last in this thread. */
const char *luajit_mp_error(void);

#ifdef __cplusplus
}
#endif

#endif
