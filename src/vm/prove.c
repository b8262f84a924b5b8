/* SPDX-License-Identifier: MIT */
/*
** The proof of the layout. See vm/prove.h.
*/
#include "config.h"

#include <string.h>

#include "vm/frame.h"
#include "vm/peek.h"
#include "vm/prove.h"
#include "vm/variant.h"

#include "lauxlib.h"

#ifdef MP_LAYOUT

/* Whether the global state has the allocator and its data there. */
static bool has_allocator(mp_vm *vm, lua_State *L, uint32_t ofs)
{
  void *ud, *head[2];
  lua_Alloc f = lua_getallocf(L, &ud);
  vm->alloc = vm->g + ofs;
  return mp_peek(head, vm->alloc, sizeof(head)) && (void *)f == head[0] &&
	 ud == head[1];
}

/* The global state: it begins with the allocator, or is a variant. */
static bool prove_global(mp_vm *vm, lua_State *L, const mp_variant **v)
{
  *v = NULL;
  vm->g = REF(char *, L, L_GLREF);
  if (vm->g != NULL && has_allocator(vm, L, G_ALLOCF)) return true;
  if (vm->g != NULL && obj_gct(L) == GCT_THREAD &&
      (*v = mp_variant_once()) != NULL && has_allocator(vm, L, (*v)->alloc))
    return true;
  vm->g = NULL;
  return false;
}

/* The reason why there is no global state at the expected place. With
** references of 32 bits, a thread's type is not at its place in GC64 mode. */
static const char *no_global(lua_State *L)
{
  return obj_gct(L) == GCT_THREAD ?
	 "the layout of the global state is not the known one" :
	 "not a GC64 build of LuaJIT";
}

/* The stack: our own frame lies where it should. */
static bool prove_stack(lua_State *L, lua_CFunction self)
{
  slot *base = AT(slot *, L, L_BASE), *stack = REF(slot *, L, L_STACK);
  slot frame[FRAME_SLOTS];
  const char *fn;
  if (obj_gct(L) != GCT_THREAD || stack == NULL || base < lowest_base(L) ||
      base > AT(slot *, L, L_TOP) ||
      AT(slot *, L, L_TOP) > REF(slot *, L, L_MAXSTACK) ||
      AT(slot *, L, L_TOP) - base != lua_gettop(L) ||
      !mp_peek(frame, base - FRAME_SLOTS, sizeof(frame)))
    return false;
  fn = frame_object(frame + FRAME_SLOTS - 1);
  return fn != NULL && mp_readable(fn) && obj_gct(fn) == GCT_FUNC &&
	 AT(uint8_t, fn, FUNC_FFID) == FFID_C &&
	 AT(lua_CFunction, fn, FUNC_C) == self;
}

/* lua_Debug: how it tells a frame from another. */
static bool prove_debug(lua_State *L)
{
  int ofs = (int)(AT(slot *, L, L_BASE) - 1 - REF(slot *, L, L_STACK));
  lua_Debug ar;
  if (lua_getstack(L, 0, &ar) == 0 || ar.i_ci != DEBUG_CI(ofs, 0)) return false;
  if (lua_getstack(L, 1, &ar) == 0) return true;
  ofs -= ar.i_ci >> 16;
  return ofs > 0 && ar.i_ci == DEBUG_CI(ofs, ar.i_ci >> 16);
}

#define WORDS	(G_SEARCH / sizeof(gcref))

/* Notes which words of the global state equal the running thread. A variant
** notes the thread that asked for memory last, too: that is the other one. */
static int note_words(lua_State *L)
{
  uint8_t *seen = lua_touserdata(L, 1);
  lua_State *other = lua_touserdata(L, 2);
  const char *g = REF(const char *, L, L_GLREF);
  uint32_t i;
  lua_pushcfunction(other, note_words);
  lua_pop(other, 1);
  for (i = 0; i < WORDS; i++)
    if (REF(lua_State *, g, (size_t)i * sizeof(gcref)) != L) seen[i] = 0;
  return 0;
}

/* cur_L: the one word that equals a coroutine inside of it, another one
** inside of that, and this thread outside of both. */
static bool find_thread(mp_vm *vm, lua_State *L)
{
  uint8_t seen[WORDS];
  uint32_t i, n = 0;
  int round, top = lua_gettop(L);
  memset(seen, 1, sizeof(seen));
  for (round = 0; round < 2; round++) {
    lua_State *co = lua_newthread(L);
    lua_pushcfunction(co, note_words);
    lua_pushlightuserdata(co, seen);
    lua_pushlightuserdata(co, L);
    if (lua_resume(co, 2) != 0) {
      lua_settop(L, top);
      return false;
    }
    lua_pushcfunction(L, note_words);
    lua_pushlightuserdata(L, seen);
    lua_pushlightuserdata(L, co);
    lua_call(L, 2, 0);
  }
  lua_settop(L, top);
  for (i = 0; i < WORDS; i++)
    if (seen[i]) { vm->curl = i * (uint32_t)sizeof(gcref); n++; }
  return n == 1;
}

#define TRIES	50

/* note_words makes a function in the other thread, where the collector may run
** a finalizer: the VM then takes that thread for the running one until the C
** function returns, and no word is right. A try allocates about as much as the
** collector waits for between two steps, so that few tries meet one there. */
static bool prove_thread(mp_vm *vm, lua_State *L)
{
  int i;
  for (i = 0; i < TRIES; i++)
    if (find_thread(vm, L)) return true;
  return false;
}

/* The main thread lies just before the global state; OpenResty's has two more
** words at its end. */
static const char *main_thread(const mp_vm *vm)
{
  const char *L;
  for (L = vm->g - L_SIZE; L >= vm->g - L_SIZE - L_EXTRA; L -= 8)
    if (obj_gct(L) == GCT_THREAD && REF(char *, L, L_GLREF) == vm->g) return L;
  return NULL;
}

/* vmstate: the int before the link to the main thread. It says "C" in
** a C function. */
static bool find_state(mp_vm *vm)
{
  const char *mainl = vm->mainl;
  uint32_t i, n = 0;
  for (i = G_ROOT; i + VMSTATE_MAINL < vm->curl; i += sizeof(gcref))
    if (REF(const char *, vm->g, i + VMSTATE_MAINL) == mainl &&
	AT(int32_t, vm->g, i) == VM_C) { vm->vmstate = i; n++; }
  return n == 1;
}

static bool prove_state(mp_vm *vm, const mp_variant *v)
{
  vm->mainl = main_thread(vm);
  if (vm->mainl == NULL) return false;
  if (v != NULL) {
    vm->vmstate = v->vmstate;
    vm->states = v->states;
    vm->jitbase = v->jitbase;
    vm->strtab = v->strtab;
    vm->tmpbuf = v->tmpbuf;
  } else {
    if (!find_state(vm)) return false;
    vm->jitbase = vm->curl + CURL_JITBASE;
    vm->strtab = vm->vmstate - VMSTATE_STRTAB;
    vm->tmpbuf = vm->vmstate + VMSTATE_TMPBUF;
  }
  return mp_vm_state(vm) == VM_C && mp_vm_jitbase(vm) == NULL;
}

/* The collector: its count of bytes and its current white. A new thread may
** make it do a step, which changes both: they are read afterwards. */
static bool prove_collector(mp_vm *vm, lua_State *L)
{
  lua_State *co = lua_newthread(L);
  size_t total = (size_t)lua_gc(L, LUA_GCCOUNT, 0) * 1024 +
		 (size_t)lua_gc(L, LUA_GCCOUNTB, 0);
  uint8_t white = mp_vm_white(vm);
  bool ok = (white == 1 || white == 2) &&
	    (AT(uint8_t, co, OBJ_MARKED) & OBJ_WHITES) == white &&
	    REF(lua_State *, vm->alloc, G_ROOT) == co &&
	    *mp_vm_total(vm) == total;
  lua_pop(L, 1);
  return ok;
}

/* Tables: the size of the array part, slot 0 included. */
static bool prove_table(lua_State *L)
{
  bool ok;
  lua_createtable(L, 11, 0);
  lua_createtable(L, 0, 4);
  ok = AT(uint32_t, lua_topointer(L, -2), TAB_ASIZE) == 12 &&
       AT(uint32_t, lua_topointer(L, -1), TAB_ASIZE) == 0;
  lua_pop(L, 2);
  return ok;
}

/* Functions and prototypes: one of known lines and name. */
static bool prove_proto(lua_State *L)
{
  static const char code[] = "\nreturn function()\n\nend";
  const char *pt, *name;
  size_t len;
  bool ok;
  slot v;
  if (luaL_loadbuffer(L, code, sizeof(code) - 1, "=mp") != 0) return false;
  lua_call(L, 0, 1);
  v = AT(slot *, L, L_TOP)[-1];
  ok = TAG(v) == TAGFUNC && mp_frame_isfunc(v);
  if (ok) {
    pt = func_proto(PTR(v));
    name = mp_proto_chunkname(pt, &len);
    ok = mp_proto_firstline(pt) == 2 && AT(int32_t, pt, PT_NUMLINE) == 2 &&
	 len == 3 && memcmp(name, "=mp", 3) == 0 &&
	 AT(uint32_t, pt, PT_SIZE) >=
	   PT_BC + BC_SIZE * AT(uint32_t, pt, PT_SIZEBC) &&
	 AT(uint8_t, pt, PT_BC + BC_SIZE * (AT(uint32_t, pt, PT_SIZEBC) - 1)) ==
	   BC_RET0;
  }
  lua_pop(L, 1);
  return ok;
}

void mp_vm_prove(mp_vm *vm, lua_State *L, lua_CFunction self)
{
  const mp_variant *v;
  memset(vm, 0, sizeof(*vm));
  if (!prove_global(vm, L, &v))
    vm->why = no_global(L);
  else if (!prove_stack(L, self) || !prove_debug(L))
    vm->why = "the layout of stacks is not the known one";
  else if (!prove_thread(vm, L) || !prove_state(vm, v))
    vm->why = "the running thread could not be found";
  else if (!prove_collector(vm, L))
    vm->why = "the layout of the collector's state is not the known one";
  else if (!prove_table(L))
    vm->why = "the layout of tables is not the known one";
  else if (!prove_proto(L))
    vm->why = "the layout of functions is not the known one";
  else
    vm->proved = true;
}

/* The global state holds the empty string, and the mask just behind it. */
bool mp_vm_inevent(const mp_vm *vm, lua_State *L)
{
  const char *text;
  if (vm->g == NULL) return false;
  lua_pushliteral(L, "");
  text = lua_tostring(L, -1);
  lua_pop(L, 1);
  if (text < vm->g || text >= vm->g + G_SEARCH) return false;
  return (AT(const uint8_t, text, EMPTY_HOOKMASK) & HOOK_VMEVENT) != 0;
}

#endif

/* -- Without the layout -------------------------------------------------- */

static void unset_hook(lua_State *L, lua_Debug *ar)
{
  (void)ar;
  lua_sethook(L, NULL, 0, 0);
}

static int do_nothing(lua_State *L)
{
  (void)L;
  return 0;
}

/* Whether the VM calls hooks: it does not in handlers of jit.attach, in hooks
** and in finalizers. */
static bool calls_hooks(lua_State *L)
{
  lua_Hook hook = lua_gethook(L);
  int mask = lua_gethookmask(L), count = lua_gethookcount(L);
  bool called;
  lua_pushcfunction(L, do_nothing);
  lua_sethook(L, unset_hook, LUA_MASKCALL, 0);
  lua_call(L, 0, 0);
  called = lua_gethook(L) == NULL;
  lua_sethook(L, hook, mask, count);
  return called;
}

/* jit.attach keeps its handlers in a table of the registry. */
/* Whether there may be handlers of jit.attach: newer versions have one of their
** own. */
static bool has_handlers(lua_State *L)
{
  bool has;
  lua_getfield(L, LUA_REGISTRYINDEX, "_VMEVENTS");
  has = lua_istable(L, -1);
  lua_pop(L, 1);
  return has;
}

bool mp_vm_perhaps_inevent(const mp_vm *vm, lua_State *L)
{
  return !vm->proved && has_handlers(L) && !calls_hooks(L);
}
