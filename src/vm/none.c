/* SPDX-License-Identifier: MIT */
/*
** The functions of this folder where the layout of LuaJIT is not known: on
** other processors, and without GC64. Nothing is found, and nothing is proved,
** so that captures are made at safepoints.
*/
#include "config.h"

#include <string.h>

#include "vm/allocator.h"
#include "vm/arena.h"
#include "vm/callee.h"
#include "vm/cfunction.h"
#include "vm/code.h"
#include "vm/dispatch.h"
#include "vm/escape.h"
#include "vm/frame.h"
#include "vm/interrupt.h"
#include "vm/jitstate.h"
#include "vm/parked.h"
#include "vm/prove.h"
#include "vm/type.h"
#include "vm/variant.h"
#include "vm/view.h"
#include "vm/vm.h"
#include "vm/walk.h"
#include "vm/where.h"

#ifndef MP_LAYOUT

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* -- vm/allocator --------------------------------------------------------- */

bool mp_allocator_read(const void *code, mp_allocator *a)
{
  memset(a, 0, sizeof(*a));
  return false;
}

/* -- vm/arena ------------------------------------------------------------- */

bool mp_arena_each(lua_Alloc f, void *ud, mp_arena *a, mp_arena_see *see,
		   void *data)
{
  memset(a, 0, sizeof(*a));
  return false;
}

/* -- vm/callee ------------------------------------------------------------ */

bool mp_callee_interrupted(const mp_vm *vm, const void *context, mp_callee *c)
{
  return false;
}

bool mp_callee_find(const mp_callee *c, mp_where *w) { return false; }

/* -- vm/cfunction --------------------------------------------------------- */

bool mp_cfunction_unwrap(void *ours, lua_CFunction f, const void *theirs)
{
  return false;
}

/* -- vm/code -------------------------------------------------------------- */

mp_code mp_codes_get(mp_codes *c, mp_vm *vm, const char *pt)
{
  return (mp_code){ .proto = NULL };
}

/* -- vm/dispatch ---------------------------------------------------------- */

void mp_dispatch_learn(const mp_vm *vm, lua_State *L) { }
void mp_dispatch_renew(const mp_vm *vm) { }
bool mp_dispatch_listens(const mp_vm *vm) { return false; }
bool mp_dispatch_jitoff(const mp_vm *vm) { return false; }
bool mp_dispatch_inevent(const mp_vm *vm) { return false; }

bool mp_dispatch_ask(const mp_vm *vm) { return false; }

bool mp_dispatch_flip(const mp_vm *vm) { return false; }

/* -- vm/frame ------------------------------------------------------------- */

const char *mp_proto_chunkname(const char *proto, size_t *len)
{
  *len = 0;
  return proto;
}

int mp_proto_firstline(const char *proto) { return 0; }
bool mp_proto_stripped(const char *proto) { return false; }

/* -- vm/interrupt --------------------------------------------------------- */

bool mp_interrupt_where(mp_vm *vm, const void *context, mp_where *w,
			int *state, bool *calm)
{
  return false;
}

bool mp_interrupt_splits(const void *context, const void *begin, size_t size)
{
  return false;
}

/* -- vm/jitstate ---------------------------------------------------------- */

void mp_jitstate_learn(void) { }

const char *mp_jitstate_param(const mp_vm *vm, int i, int32_t *value)
{
  return NULL;
}

void mp_jitstate_read(const mp_vm *vm, mp_penalties *p)
{
  memset(p, 0, sizeof(*p));
}

void mp_jitstate_read_alive(const mp_vm *vm, const mp_penalties *p,
			    mp_penalty list[MP_PENALTIES])
{
  memset(list, 0, MP_PENALTIES * sizeof(*list));
}

void mp_jitstate_freed(const mp_vm *vm, mp_penalties *p, const void *block,
		       size_t size)
{
}

bool mp_jitstate_trace(mp_vm *vm, uint32_t number, mp_jittrace *t)
{
  return false;
}

bool mp_jitstate_alive(const char *pt) { return false; }

int mp_jitstate_line(const char *pt, uint32_t pos) { return 0; }

bool mp_jitstate_pos(const char *pt, uint64_t pc, uint32_t *pos)
{
  return false;
}

bool mp_jitstate_starts(const char *pt, uint32_t pos) { return false; }

bool mp_jitstate_blacklisted(const char *pt, uint32_t *pos, bool *loop)
{
  return false;
}

/* -- vm/escape ------------------------------------------------------------ */

uint32_t mp_escape_find(mp_vm *vm, uint32_t number, mp_escape *list)
{
  return 0;
}

/* -- vm/parked ------------------------------------------------------------ */

bool mp_parked_prove(const mp_vm *vm, lua_State *L) { return false; }

bool mp_parked_read(const mp_vm *vm, const lua_State *L, uintptr_t sp,
		    mp_parked *p)
{
  return false;
}

bool mp_parked_inc(const mp_parked *p) { return false; }
bool mp_parked_ison(const lua_State *L, uintptr_t sp) { return true; }

const lua_State *mp_parked_running(mp_vm *vm, mp_parked *p)
{
  return NULL;
}

bool mp_parked_zone(const void *zonetable) { return false; }

void mp_parked_show(mp_parkedview *v, mp_vm *vm, const mp_parkedframe *f,
		    uint32_t n, const mp_parkedat *at, mp_where *w)
{
}

/* -- vm/prove ------------------------------------------------------------- */

bool mp_vm_inevent(const mp_vm *vm, lua_State *L) { return false; }

void mp_vm_prove(mp_vm *vm, lua_State *L, lua_CFunction self)
{
  memset(vm, 0, sizeof(*vm));
  vm->why = "this processor's layout is not known";
}

/* -- vm/type -------------------------------------------------------------- */

void mp_type_init(mp_types *t, const mp_vm *vm) { memset(t, 0, sizeof(*t)); }

mp_site *mp_type_find(mp_types *t, const void *ret, const char *frame)
{
  return NULL;
}

void mp_type_ask(mp_types *t, mp_site *s, void *block, size_t size,
		 uint32_t id)
{
}

bool mp_type_look(mp_types *t, mp_vm *vm, mp_type *type)
{
  *type = MP_TYPE_UNKNOWN;
  return true;
}

mp_type mp_type_look_last(mp_types *t, mp_vm *vm) { return MP_TYPE_UNKNOWN; }

/* -- vm/variant ----------------------------------------------------------- */

bool mp_variant_find(mp_variant *v) { return false; }

const mp_variant *mp_variant_once(void) { return NULL; }
uint32_t mp_variant_prev(void) { return 0; }
uint32_t mp_variant_len(void) { return 0; }
uint32_t mp_variant_data(void) { return 0; }
uint32_t mp_variant_bufword(void) { return 0; }

/* -- vm/view -------------------------------------------------------------- */

int mp_view_frames(mp_view *v, mp_vm *vm, const mp_walk *walk,
		   mp_where *w, uint32_t *below, bool *cut)
{
  return -1;
}

int mp_view_info(mp_view *v, const mp_vmframe *f, const char **name)
{
  *name = NULL;
  return -1;
}

/* -- vm/vm ---------------------------------------------------------------- */

lua_State *mp_vm_find_thread(mp_vm *vm) { return NULL; }

void mp_vm_refused(mp_vm *vm) { }

mp_vm_place mp_vm_whereabouts(const mp_vm *vm, const void *context)
{
  return MP_VM_IDLE;
}

bool mp_vm_iscode(const void *block, size_t size) { return false; }

/* -- vm/walk -------------------------------------------------------------- */

uint32_t mp_walk_deep(mp_walk *k, uint32_t n) { return 0; }

uint64_t mp_walk_changed(mp_walk *k, lua_State *L, uint64_t *top, uint32_t same)
{
  return 0;
}

/* -- vm/where ------------------------------------------------------------- */

bool mp_where_key(const mp_vm *vm, mp_walk *walk, mp_where *w) { return false; }

bool mp_where_safepoint(mp_vm *vm, mp_walk *walk, lua_State *L, bool compiled,
			mp_where *w)
{
  return false;
}

bool mp_where_running(mp_vm *vm, mp_walk *walk, mp_where *w, int *state)
{
  return false;
}

#endif
