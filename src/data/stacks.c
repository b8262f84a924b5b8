/* SPDX-License-Identifier: MIT */
/*
** Interned frames and stacks. See data/stacks.h.
*/
#include "config.h"

#include <string.h>

#include "data/mem.h"
#include "data/stacks.h"

/* -- Strings ------------------------------------------------------------- */

#define ARENA_BLOCK 8192	/* Bytes of a usual block. */

typedef struct mp_arena {
  struct mp_arena *next;	/* Older block. */
  size_t used, size;		/* Bytes of text. */
  char text[];
} mp_arena;

static uint64_t hash_bytes(uint64_t h, const char *p, size_t n)
{
  uint64_t w;
  h = mp_mix(h, n);
  for (; n >= 8; p += 8, n -= 8) {
    memcpy(&w, p, 8);
    h = mp_mix(h, w);
  }
  w = 0;
  if (n > 0) memcpy(&w, p, n);
  return mp_mix(h, w);
}

/* Room for n bytes in the arena, or NULL: no memory. */
static char *arena_room(mp_stacks *s, size_t n)
{
  mp_arena *a = s->arena;
  if (a == NULL || a->size - a->used < n) {
    size_t size = n > ARENA_BLOCK ? n : ARENA_BLOCK;
    a = mp_malloc(sizeof(*a) + size);
    if (a == NULL) return NULL;
    a->next = s->arena;
    a->used = 0;
    a->size = size;
    s->arena = a;
    s->textbytes += size;
  }
  a->used += n;
  return a->text + a->used - n;
}

/* -- Frames -------------------------------------------------------------- */

/* NULL differs from the empty string. */
static uint64_t hash_string(uint64_t h, const char *p, size_t n)
{
  return p == NULL ? mp_mix(h, UINT64_MAX) : hash_bytes(h, p, n);
}

static uint64_t hash_frame(const mp_frame *f)
{
  uint64_t h = mp_mix((uint64_t)f->kind + 1, (uint32_t)f->line);
  h = mp_mix(mp_mix(h, (uint32_t)f->linedefined), f->builtin);
  h = mp_mix(mp_mix(h, f->code), f->chunk);
  h = hash_string(h, f->name, f->namelen);
  return hash_string(h, f->source, f->sourcelen);
}

static bool same_string(const char *a, size_t alen, const char *b, size_t blen)
{
  if (a == NULL || b == NULL) return a == b;
  return alen == blen && memcmp(a, b, alen) == 0;
}

static bool same_frame(const mp_frame *a, const mp_frame *b)
{
  return a->kind == b->kind && a->line == b->line &&
	 a->linedefined == b->linedefined && a->builtin == b->builtin &&
	 a->code == b->code && a->chunk == b->chunk &&
	 same_string(a->name, a->namelen, b->name, b->namelen) &&
	 same_string(a->source, a->sourcelen, b->source, b->sourcelen);
}

/* A frame that has the same source, or NULL. */
static const mp_frame *same_source(const mp_stacks *s, uint64_t h,
				   const mp_frame *f)
{
  uint32_t id = mp_map_get(&s->stringmap, h);
  const mp_frame *o = id ? &s->frames[id] : NULL;
  return o != NULL && same_string(o->source, o->sourcelen, f->source,
				  f->sourcelen) ? o : NULL;
}

/* Copies the strings of the frame that gets this id into the arena, the source
** of a chunk once. Everything that can fail comes first, so that a failure
** leaves nothing behind. */
static bool own_strings(mp_stacks *s, mp_frame *f, uint32_t id)
{
  uint64_t h = f->source ? hash_bytes(2, f->source, f->sourcelen) : 0;
  const mp_frame *o = f->source ? same_source(s, h, f) : NULL;
  size_t name = f->name ? f->namelen : 0;
  size_t source = f->source && o == NULL ? f->sourcelen : 0;
  char *p;
  if (f->source && o == NULL && !mp_map_reserve(&s->stringmap)) return false;
  if ((p = arena_room(s, name + source)) == NULL) return false;
  if (f->name != NULL) f->name = memcpy(p, f->name, name);
  if (o != NULL) {
    f->source = o->source;
  } else if (f->source != NULL) {
    f->source = memcpy(p + name, f->source, source);
    mp_map_put(&s->stringmap, h, id);
  }
  return true;
}

void mp_stacks_init(mp_stacks *s)
{
  memset(s, 0, sizeof(*s));
}

uint32_t mp_stacks_frame(mp_stacks *s, const mp_frame *f)
{
  uint64_t h = hash_frame(f);
  uint32_t id;
  mp_frame own = *f;
  for (; (id = mp_map_get(&s->framemap, h)) != 0; h = mp_mix(h, 1))
    if (same_frame(&s->frames[id], f)) return id;
  if (s->closed) return MP_NONE;
  id = s->nframes + 1;
  if (!mp_mem_room(&s->frames, id, &s->capframes, sizeof(*f)) ||
      !mp_map_reserve(&s->framemap) || !own_strings(s, &own, id))
    return MP_NONE;
  mp_map_put(&s->framemap, h, id);
  s->frames[id] = own;
  __atomic_store_n(&s->nframes, id, __ATOMIC_RELEASE);
  return id;
}

/* -- Stacks -------------------------------------------------------------- */

uint32_t mp_stacks_push(mp_stacks *s, uint32_t parent, uint32_t frame)
{
  uint64_t h = mp_mix(mp_mix(3, parent), frame);
  uint32_t id;
  for (; (id = mp_map_get(&s->nodemap, h)) != 0; h = mp_mix(h, 1))
    if (s->nodes[id].parent == parent && s->nodes[id].frame == frame)
      return id;
  if (s->closed) return MP_NONE;
  id = s->nnodes + 1;
  if (!mp_mem_room(&s->nodes, id, &s->capnodes, sizeof(*s->nodes)) ||
      !mp_map_put(&s->nodemap, h, id))
    return MP_NONE;
  s->nodes[id].parent = parent;
  s->nodes[id].frame = frame;
  __atomic_store_n(&s->nnodes, id, __ATOMIC_RELEASE);
  return id;
}

size_t mp_stacks_after(const mp_stacks *s, uint32_t more)
{
  return mp_mem_after(s->nframes + more, s->capframes, sizeof(*s->frames)) +
	 mp_mem_after(s->nnodes + more, s->capnodes, sizeof(*s->nodes)) +
	 mp_map_after(&s->framemap, more) + mp_map_after(&s->nodemap, more) +
	 mp_map_after(&s->stringmap, more) + s->textbytes;
}

void mp_stacks_free(mp_stacks *s)
{
  mp_arena *a, *next;
  for (a = s->arena; a != NULL; a = next) {
    next = a->next;
    mp_free(a);
  }
  mp_free(s->frames);
  mp_free(s->nodes);
  mp_map_free(&s->framemap);
  mp_map_free(&s->nodemap);
  mp_map_free(&s->stringmap);
  memset(s, 0, sizeof(*s));
}
