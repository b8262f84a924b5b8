/* SPDX-License-Identifier: MIT */
/*
** Frames of a Lua stack, and the functions in them.
**
** A frame is known by the slot that holds its link. These functions only read,
** and follow no pointer that they have not checked: they can be used wherever
** the layout is proved (vm/prove.h), inside the allocator too. A PC is the
** address behind the instruction that it stands for, as the VM saves it.
*/
#ifndef MP_FRAME_H
#define MP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/layout.h"

#include "lua.h"

/* Whether a slot's value is a function, and leads to an object that is one. */
bool mp_frame_isfunc(uint64_t v);

/* PC of the top function, in the C frame that runs it; 0: not known. */
static inline uint64_t mp_frame_toppc(const char *cframe)
{
  if (cframe == NULL || AT(gcref, cframe, CF_PC) == AT(gcref, cframe, CF_L))
    return 0;
  return AT(gcref, cframe, CF_PC);
}

/* The C frame below another one, or NULL. */
const char *mp_frame_below(const char *cframe);

/* The C frame that runs the function below the frame `next`. f: the top frame.
** NULL: not known. */
const char *mp_frame_cframe(lua_State *L, const uint64_t *f,
			    const uint64_t *next);

/* PC of the Lua function below the frame `next`, if something other than a Lua
** call left it: the PC is saved in the C frame that was running the function.
** f: the top frame. 0: not known. */
uint64_t mp_frame_cframepc(lua_State *L, const uint64_t *f,
			   const uint64_t *next);

/* PC of the function below the frame `next`, or of the top one (NULL); top:
** the top frame. 0: not known. */
uint64_t mp_frame_pc(lua_State *L, const uint64_t *top, const uint64_t *next);

/* Whether the PC lies in the code of the prototype. */
bool mp_proto_has(const char *proto, uint64_t pc);

/* A function whose link is at f returns: the link of the frame that it leaves
** last, and the PC where the caller goes on in *pc. NULL: no Lua function above
** `lim` called it. */
const uint64_t *mp_frame_left(const uint64_t *f, const uint64_t *lim,
			      uint64_t *pc);

/* Chunk name as given to load (with its @ or =), and its length. */
const char *mp_proto_chunkname(const char *proto, size_t *len);

/* The name of the variable that lives in that slot of a function's frame, from
** 0, when it runs the instruction of that number, from 0; "(for)": of a loop's
** own. NULL: there is none, or it is not known. */
const char *mp_proto_variable(const char *proto, uint32_t at, uint32_t index);

/* First line of a function; < 0: a builtin in bytecode. A function from
** bytecode without debug information has 0, as a main chunk has. */
int mp_proto_firstline(const char *proto);
bool mp_proto_stripped(const char *proto);

#endif
