/* SPDX-License-Identifier: MIT */
/*
** The kind of object that a block of the Lua heap is. See vm/type.h.
*/
#include "config.h"

#include <link.h>
#include <string.h>

#include "vm/layout.h"
#include "vm/peek.h"
#include "vm/type.h"
#include "vm/unwind.h"
#include "vm/variant.h"

#include "lua.h"

const char *mp_type_name(unsigned type)
{
  static const char *const names[MP_NTYPES] = {
    NULL, "string", "table", "table array", "table hash", "function",
    "upvalue", "thread", "thread stack", "userdata", "cdata", "proto",
    "trace", "buffer", "string table", "JIT recorder", "other"
  };
  return type < MP_NTYPES ? names[type] : NULL;
}

#ifdef MP_LAYOUT

#define LOOKS		12	/* Times that one block is looked at, */
#define TRIES		12	/* and blocks from a place, until it is */
				/* "other". */
#define WALK		50000	/* Objects looked at for a reference. */
#define FRAME_WORDS	64	/* Words of a frame searched. */
#define STACK_BYTES	2048	/* Bytes of the C stack searched. */

/* -- Places -------------------------------------------------------------- */

/* The executable segment that an address lies in. */
static int find_code(struct dl_phdr_info *info, size_t size, void *data)
{
  mp_types *t = data;
  int i;
  (void)size;
  for (i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
    const char *from = (const char *)info->dlpi_addr + ph->p_vaddr;
    if (ph->p_type == PT_LOAD && (ph->p_flags & PF_X) && t->code >= from &&
	t->code < from + ph->p_memsz) {
      t->code = from;
      t->codeend = from + ph->p_memsz;
      return 1;
    }
  }
  return 0;
}

static bool in_code(const mp_types *t, const void *p)
{
  return (const char *)p >= t->code && (const char *)p < t->codeend;
}

void mp_type_init(mp_types *t, const mp_vm *vm)
{
  memset(t, 0, sizeof(*t));
  t->code = (const char *)(uintptr_t)lua_gc;
  t->enabled = vm->proved && dl_iterate_phdr(find_code, t) != 0;
}

/* Unwinding the C stack from here, to the function above the one that returns
** to `ret`, and no further: there may be compiled code. */
typedef struct unwound {
  const void *ret, *ip;
  bool found;
} unwound;

static _Unwind_Reason_Code unwind_step(struct _Unwind_Context *context,
				       void *data)
{
  unwound *u = data;
  bool above = u->ip == u->ret;
  u->ip = (const void *)_Unwind_GetIP(context);
  u->found = above;
  return above ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* The distance from the allocator's frame to its caller's return address. -1:
** not found. */
__attribute__((noinline, no_sanitize_address))
static int32_t find_offset(const void *ret, const char *frame)
{
  unwound u = { ret, NULL, false };
  int32_t i;
  if (!mp_unwind(unwind_step, &u)) return -1;
  for (i = 0; u.found && i < FRAME_WORDS * WORD; i += WORD)
    if (AT(const void *, frame, i) == u.ip) return i;
  return -1;
}

static mp_caller *find_caller(mp_types *t, const void *ret, const char *frame)
{
  uint32_t i = (uint32_t)((uintptr_t)ret >> 2) & (MP_CALLERS - 1);
  while (t->callers[i].ret != NULL) {
    if (t->callers[i].ret == ret) return &t->callers[i];
    i = (i + 1) & (MP_CALLERS - 1);
  }
  if (t->ncallers >= MP_CALLERS / 2) return NULL;
  t->ncallers++;
  t->callers[i] = (mp_caller){ ret, find_offset(ret, frame) };
  return &t->callers[i];
}

/* The place of these two addresses, made if it is new. NULL: no room. */
static mp_site *get_site(mp_types *t, const void *ret, const void *ret2)
{
  mp_site *s;
  uint32_t i;
  if (!in_code(t, ret2)) ret2 = NULL;  /* Compiled code: one place for all. */
  i = (uint32_t)(((uintptr_t)ret * 31 + (uintptr_t)ret2) >> 2);
  for (i &= MP_SITES - 1; ; i = (i + 1) & (MP_SITES - 1)) {
    s = &t->sites[i];
    if (s->ret == ret && s->ret2 == ret2) return s;
    if (s->ret == NULL) break;
  }
  if (t->nsites >= MP_SITES * 3 / 4) return NULL;
  t->nsites++;
  s->ret = ret;
  s->ret2 = ret2;
  if (ret2 != NULL) s->function = mp_unwind_function(ret2);
  return s;
}

mp_site *mp_type_find(mp_types *t, const void *ret, const char *frame)
{
  const mp_caller *c;
  const void *ret2;
  mp_site *s;
  /* Somebody else's allocator over ours, or a library that asks for itself. */
  if (!t->enabled || !in_code(t, ret)) return NULL;
  if ((c = find_caller(t, ret, frame)) == NULL) return NULL;
  ret2 = c->ofs < 0 ? NULL : AT(const void *, frame, c->ofs);
  s = get_site(t, ret, ret2);
  *mp_type_cached(t, ret2) = (mp_cached_type){ ret, ret2, s };
  return s;
}

/* -- Blocks -------------------------------------------------------------- */

static bool refers_to_slot(const lua_State *L, const char *upval)
{
  const char *v = REF(const char *, upval, UPVAL_V);
  return v == upval + UPVAL_TV ||
	 (L != NULL && v >= REF(const char *, L, L_STACK) &&
	  v <= REF(const char *, L, L_MAXSTACK));
}

/* Whether a block of that size has a string's length. */
static bool is_string(const char *p, size_t size)
{
  size_t len = AT(uint32_t, p, mp_variant_len()), end;
  end = mp_variant_data() + len;
  return size >= end + 1 && size <= end + STR_SLACK && p[end] == '\0';
}

/* The type of an object that is linked into the list of all objects, or whose
** size is what its own fields say. */
__attribute__((noinline))
static mp_type object_type(mp_vm *vm, const char *p, size_t size)
{
  static const uint8_t types[] = {
    [GCT_UPVAL] = MP_UPVALUE, [GCT_THREAD] = MP_THREAD,
    [GCT_PROTO] = MP_PROTO, [GCT_FUNC] = MP_FUNCTION,
    [GCT_TRACE] = MP_TRACE, [GCT_CDATA] = MP_CDATA, [GCT_TAB] = MP_TABLE
  };
  const char *root = REF(const char *, vm->alloc, G_ROOT);
  if (root >= p && root < p + size) {  /* Aligned cdata begin a little later. */
    uint8_t gct = obj_gct(root);
    if (root == p || gct == GCT_CDATA)
      return gct < sizeof(types) ? types[gct] : MP_TYPE_UNKNOWN;
  }
  if (size < STR_OLDDATA) return MP_TYPE_UNKNOWN;
  switch (obj_gct(p)) {
  case GCT_STR:
    if (is_string(p, size)) return MP_STRING;
    break;
  case GCT_UPVAL:  /* Refers to a slot of the running thread, or to its own. */
    if (size == UPVAL_SIZE && refers_to_slot(mp_vm_thread(vm), p))
      return MP_UPVALUE;
    break;
  case GCT_UDATA:
    if (REF(const char *, vm->mainl, OBJ_NEXT) == p) return MP_USERDATA;
    break;
  case GCT_TRACE:
    if (may_be_trace(p, size)) return MP_TRACE;
    break;
  default:
    break;
  }
  return MP_TYPE_UNKNOWN;
}

/* Whether these words, of n bytes each, are a buffer's: write position, end,
** start. */
__attribute__((no_sanitize_address))
static bool is_buffer(const char *start, uint32_t n, const char *p, size_t size)
{
  return BUF_WORD(start, n) == p && BUF_WORD(start - n, n) == p + size &&
	 (size_t)(BUF_WORD(start - 2 * n, n) - p) <= size;
}

/* The type of a block that the VM's own state refers to. */
__attribute__((noinline))
static mp_type vm_type(mp_vm *vm, const char *p, size_t size)
{
  const lua_State *L = mp_vm_thread(vm);
  uint32_t i, n = mp_variant_bufword();
  if (L != NULL && REF(const char *, L, L_STACK) == p) return MP_STACK;
  for (i = 0; i < J_ARRAY_SEARCH; i += n) {
    const char *w = vm->g + i;
    /* An empty buffer's write position is its start, too. */
    if (is_buffer(w, n, p, size) || is_buffer(w + 2 * n, n, p, size))
      return MP_BUFFER;
    if (i % WORD != 0 || AT(const char *, w, 0) != p) continue;
    if (((size_t)AT(uint32_t, w, STRTAB_MASK) + 1) * sizeof(gcref) == size)
      return MP_STRTAB;
    return i > vm->curl ? MP_RECORDER : MP_TYPE_UNKNOWN;
  }
  return MP_TYPE_UNKNOWN;
}

/* Whether these words are a vector's of the parser: start, number of elements,
** which have 8, 12 or 16 bytes. */
__attribute__((no_sanitize_address))
static bool is_vector(const char *start, const char *p, size_t size)
{
  uint32_t n = AT(uint32_t, start, VEC_N);
  return AT(const char *, start, 0) == p && n != 0 &&
	 (size == (size_t)n * 8 || size == (size_t)n * 12 ||
	  size == (size_t)n * 16);
}

/* The C function that asked for it may have the buffer on its stack. */
__attribute__((noinline, no_sanitize_address))
static mp_type stack_type(const char *p, size_t size)
{
  const char *here = __builtin_frame_address(0);
  uint32_t i, n = STACK_BYTES, word = mp_variant_bufword();
  /* To the end of this page. */
  uint32_t page = (uint32_t)(-(uintptr_t)here & 4095);
  /* The stack may be a small one, and end before. */
  if (page < n && !mp_readable(here + page)) n = page;
  for (i = 2 * word; i + VEC_N + WORD <= n; i += word)
    if (is_buffer(here + i, word, p, size) ||
	(i % WORD == 0 && is_vector(here + i, p, size)))
      return MP_BUFFER;
  return MP_TYPE_UNKNOWN;
}

/* The type of a block that one of the youngest objects refers to. */
static mp_type referred_type(const mp_vm *vm, const char *p)
{
  const char *o = REF(const char *, vm->alloc, G_ROOT);
  int n;
  for (n = 0; o != NULL && n < WALK; n++, o = REF(const char *, o, OBJ_NEXT)) {
    if (obj_gct(o) == GCT_TAB) {
      if (REF(const char *, o, TAB_ARRAY) == p) return MP_ARRAY;
      if (REF(const char *, o, TAB_NODE) == p) return MP_HASH;
    } else if (obj_gct(o) == GCT_THREAD) {
      if (REF(const char *, o, L_STACK) == p) return MP_STACK;
    }
  }
  return MP_TYPE_UNKNOWN;
}

void mp_type_ask(mp_types *t, mp_site *s, void *block, size_t size,
		 uint32_t id)
{
  if (size > s->largest) s->largest = size;
  t->unknown = (mp_unknown){ block, size, s, id, 0 };
}

/* Learns the type of a place from one of its blocks. It is believed the second
** time: a block that the VM has not filled in yet may still look like the
** object that was there before. */
static void learn(mp_site *s, mp_type type)
{
  if (type == MP_TYPE_UNKNOWN) {
    if (s->tries < TRIES && ++s->tries == TRIES) s->type = MP_OTHER;
  } else if (s->guess == type) {
    s->type = (uint8_t)type;
  } else {
    s->guess = (uint8_t)type;
  }
}

static bool look(mp_types *t, mp_vm *vm, mp_type *type)
{
  mp_unknown *u = &t->unknown;
  *type = vm_type(vm, u->block, u->size);
  if (*type == MP_TYPE_UNKNOWN) *type = object_type(vm, u->block, u->size);
  if (*type == MP_TYPE_UNKNOWN) *type = stack_type(u->block, u->size);
  if (*type == MP_TYPE_UNKNOWN && (u->looks == 1 || u->looks == LOOKS))
    *type = referred_type(vm, u->block);
  if (*type == MP_TYPE_UNKNOWN && u->looks < LOOKS) return false;
  learn(u->site, *type);
  u->block = NULL;
  return true;
}

bool mp_type_look(mp_types *t, mp_vm *vm, mp_type *type)
{
  t->unknown.looks++;
  return look(t, vm, type);
}

mp_type mp_type_look_last(mp_types *t, mp_vm *vm)
{
  mp_type type;
  t->unknown.looks = LOOKS;
  look(t, vm, &type);
  return type;
}

#endif
