/* SPDX-License-Identifier: MIT */
/*
** Identities of code. See vm/code.h.
*/
#include "config.h"

#include <string.h>

#include "data/mem.h"
#include "vm/code.h"
#include "vm/layout.h"
#include "vm/trace.h"
#include "vm/variant.h"

#define BITS	53		/* A double has them all. */
#define NESTED	40		/* Functions within functions, at most. */

static uint64_t hash_text(uint64_t h, const char *s, size_t len)
{
  uint64_t w;
  h = mp_mix(h, len);
  for (; len >= sizeof(w); s += sizeof(w), len -= sizeof(w)) {
    memcpy(&w, s, sizeof(w));
    h = mp_mix(h, w);
  }
  w = 0;
  memcpy(&w, s, len);
  return mp_mix(h, w);
}

static uint64_t identity(uint64_t h)
{
  h = mp_mix(h, 1) >> (64 - BITS);
  return h ? h : 1;
}

uint64_t mp_code_text(const char *s, size_t len)
{
  return identity(hash_text(2, s, len));
}

void mp_codes_free(mp_codes *c)
{
  mp_map_free(&c->map);
  mp_free(c->list);
  memset(c, 0, sizeof(*c));
}

static uint64_t address_key(const void *block)
{
  return mp_mix(1, (uint64_t)(uintptr_t)block);
}

void mp_codes_freed(mp_codes *c, const void *block)
{
  uint32_t i = mp_map_get(&c->map, address_key(block));
  if (i != 0) c->list[i] = (mp_code){ .proto = NULL };
}

#ifdef MP_LAYOUT

/* -- Constants ----------------------------------------------------------- */

static uint64_t hash_string(uint64_t h, const char *s)
{
  return hash_text(h, s + mp_variant_data(), AT(uint32_t, s, mp_variant_len()));
}

static uint64_t hash_slot(slot v)
{
  if (TAG(v) == TAGSTR) return hash_string(1, PTR(v));
  /* Nil and booleans may have anything in the lower half. */
  if (is_object(v) || (TAG(v) < 0 && TAG(v) > TAGSTR + 1))
    return mp_mix(1, (uint64_t)TAG(v));
  return mp_mix(1, v);
}

/* One entry of a constructor's table. The order does not matter: the table
** may be of another size after the compiler has seen it. */
static uint64_t hash_entry(uint64_t key, slot value)
{
  return IS_NIL(value) || TAG(value) == TAGTAB ? 0 :
	 mp_mix(key, hash_slot(value));
}

static uint64_t hash_table(const char *t)
{
  const slot *array = REF(const slot *, t, TAB_ARRAY);
  const char *node = REF(const char *, t, TAB_NODE);
  uint32_t i, asize = AT(uint32_t, t, TAB_ASIZE);
  uint32_t hmask = AT(uint32_t, t, TAB_HMASK);
  uint64_t sum = 0;
  for (i = 0; i < asize; i++) {
    double key = i;
    slot k;
    memcpy(&k, &key, sizeof(k));
    sum += hash_entry(hash_slot(k), array[i]);
  }
  for (i = 0; hmask > 0 && i <= hmask; i++, node += NODE_SIZE)
    sum += hash_entry(hash_slot(AT(slot, node, NODE_KEY)),
		      AT(slot, node, NODE_VAL));
  return sum;
}

/* -- Functions ----------------------------------------------------------- */

/* The first of a prototype's n objects; NULL: it has none, or they do not lie
** within its own memory, as they do in every prototype that LuaJIT makes. */
static const gcref *objects(const char *pt, uint32_t *n)
{
  const char *k = REF(const char *, pt, PT_K);
  const char *low = pt + PT_BC + (size_t)AT(uint32_t, pt, PT_SIZEBC) * BC_SIZE;
  const char *end = pt + AT(uint32_t, pt, PT_SIZE);
  *n = AT(uint32_t, pt, PT_SIZEKGC);
  if (k < low || k > end || *n > (size_t)(k - low) / sizeof(gcref)) *n = 0;
  return *n == 0 ? NULL : (const gcref *)(const void *)k - *n;
}

/* An instruction as it was before anything was compiled. A trace that begins
** at a loop or a return replaces that, with an operand A of its own, and keeps
** the original. */
static uint32_t original(mp_vm *vm, uint32_t bc)
{
  const char *T;
  if ((bc & 0xff) != BC_JLOOP) return bc;
  T = mp_trace_known(vm) ? mp_trace_get(vm, bc >> 16) : NULL;
  return T != NULL ? AT(uint32_t, T, TR_STARTINS) : bc;
}

static uint64_t hash_instructions(mp_vm *vm, uint64_t h, const char *pt)
{
  uint32_t i, n = AT(uint32_t, pt, PT_SIZEBC);
  for (i = 0; i < n; i++) {
    size_t at = PT_BC + (size_t)i * BC_SIZE;
    uint32_t bc = original(vm, AT(const uint32_t, pt, at));
    uint8_t op = bc & 0xff;
    h = mp_mix(h, op == BC_TNEW || op >= BC_CALLM ? bc & 0xff00 : bc);
  }
  return h;
}

/* Numbers, lines and names. */
static uint64_t hash_data(uint64_t h, const char *pt)
{
  const char *k = REF(const char *, pt, PT_K);
  const char *info = REF(const char *, pt, PT_LINEINFO);
  const char *end = pt + AT(uint32_t, pt, PT_SIZE);
  size_t n = (size_t)AT(uint32_t, pt, PT_SIZEKN) * sizeof(slot);
  if (k > pt && k < end && n <= (size_t)(end - k)) h = hash_text(h, k, n);
  if (info > pt && info < end) h = hash_text(h, info, (size_t)(end - info));
  return h;
}

static uint64_t code_of(mp_codes *c, mp_vm *vm, const char *pt, int depth);

static uint64_t hash_objects(mp_codes *c, mp_vm *vm, uint64_t h,
			     const char *pt, int depth)
{
  uint32_t i, n;
  const gcref *objs = objects(pt, &n);
  for (i = 0; i < n; i++) {
    const char *o = (const char *)(uintptr_t)objs[i];
    int gct = obj_gct(o);
    h = mp_mix(h, (uint64_t)gct);
    if (gct == GCT_STR) h = hash_string(h, o);
    else if (gct == GCT_TAB) h = mp_mix(h, hash_table(o));
    else if (gct == GCT_PROTO && depth < NESTED)
      h = mp_mix(h, code_of(c, vm, o, depth + 1));
  }
  return h;
}

/* The identity of a prototype's code, which is kept if there is memory. */
static uint64_t code_of(mp_codes *c, mp_vm *vm, const char *pt, int depth)
{
  uint64_t key = address_key(pt), h;
  uint32_t i = mp_map_get(&c->map, key);
  if (i != 0 && c->list[i].code != 0) return c->list[i].code;
  h = mp_mix(AT(uint8_t, pt, PT_PARAMS), AT(uint32_t, pt, PT_FIRSTLINE));
  h = mp_mix(h, AT(uint32_t, pt, PT_NUMLINE));
  h = hash_data(hash_instructions(vm, h, pt), pt);
  h = identity(hash_objects(c, vm, h, pt, depth));
  if (i == 0) {
    i = c->count + 1;
    if (!mp_mem_room(&c->list, i, &c->cap, sizeof(*c->list)) ||
	!mp_map_put(&c->map, key, i))
      return h;
    c->count = i;
  }
  c->list[i] = (mp_code){ h, h, false, pt, AT(uint32_t, pt, PT_SIZE) };
  return h;
}

/* All functions within this one belong to that chunk. */
static void adopt(mp_codes *c, const char *pt, uint64_t chunk, int depth)
{
  uint32_t i, n;
  const gcref *objs = objects(pt, &n);
  for (i = 0; i < n; i++) {
    const char *o = (const char *)(uintptr_t)objs[i];
    uint32_t id;
    if (obj_gct(o) != GCT_PROTO) continue;
    if ((id = mp_map_get(&c->map, address_key(o))) != 0)
      c->list[id].chunk = chunk;
    if (depth < NESTED) adopt(c, o, chunk, depth + 1);
  }
}

mp_code mp_codes_get(mp_codes *c, mp_vm *vm, const char *pt)
{
  mp_code *e;
  uint32_t i;
  code_of(c, vm, pt, 0);
  i = mp_map_get(&c->map, address_key(pt));
  if (i == 0) return (mp_code){ .proto = NULL };
  e = &c->list[i];
  if (!e->named && e->chunk == e->code) adopt(c, pt, e->code, 0);
  e->named = true;
  return *e;
}

#endif
