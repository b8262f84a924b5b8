/*
** Interned frames and stacks. See mp_stacks.h.
*/
#include "config.h"

#include <string.h>

#include "mp_mem.h"
#include "mp_stacks.h"

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

/* A copy of n bytes in the arena, or NULL: no memory. */
static char *arena_copy(mp_stacks *s, const char *p, size_t n)
{
  mp_arena *a = s->arena;
  char *q;
  if (a == NULL || a->size - a->used < n) {
    size_t size = n > ARENA_BLOCK ? n : ARENA_BLOCK;
    a = mp_malloc(sizeof(*a) + size);
    if (a == NULL) return NULL;
    a->next = s->arena;
    a->used = 0;
    a->size = size;
    s->arena = a;
  }
  q = a->text + a->used;
  memcpy(q, p, n);
  a->used += n;
  return q;
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
	 same_string(a->name, a->namelen, b->name, b->namelen) &&
	 same_string(a->source, a->sourcelen, b->source, b->sourcelen);
}

/* Makes room for one more element after the last, *n. */
static bool room(void **array, uint32_t n, uint32_t *cap, size_t size)
{
  uint32_t newcap = *cap ? *cap * 2 : 64;
  void *p;
  if (n + 1 < *cap) return true;
  if (newcap <= *cap) return false;
  p = mp_realloc(*array, newcap * size);
  if (p == NULL) return false;
  *array = p;
  *cap = newcap;
  return true;
}

/* Copies the frame's strings into the arena: the source of a chunk once. */
static bool own_strings(mp_stacks *s, mp_frame *f)
{
  if (f->name != NULL &&
      (f->name = arena_copy(s, f->name, f->namelen)) == NULL)
    return false;
  if (f->source != NULL) {
    uint64_t h = hash_bytes(2, f->source, f->sourcelen);
    uint32_t id = mp_map_get(&s->stringmap, h);
    const mp_frame *o = id ? &s->frames[id] : NULL;
    if (o != NULL && same_string(o->source, o->sourcelen, f->source,
				 f->sourcelen)) {
      f->source = o->source;
      return true;
    }
    f->source = arena_copy(s, f->source, f->sourcelen);
    if (f->source == NULL ||
	!mp_map_put(&s->stringmap, h, s->nframes + 1))
      return false;
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
  if (!room((void **)&s->frames, s->nframes, &s->capframes, sizeof(*f)))
    return MP_NONE;
  id = s->nframes + 1;
  s->frames[id].source = NULL;	/* In case that stringmap names it already. */
  if (!own_strings(s, &own) || !mp_map_put(&s->framemap, h, id))
    return MP_NONE;
  s->frames[id] = own;
  s->nframes = id;
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
  id = s->nnodes + 1;
  if (!room((void **)&s->nodes, s->nnodes, &s->capnodes, sizeof(*s->nodes)) ||
      !mp_map_put(&s->nodemap, h, id))
    return MP_NONE;
  s->nodes[id].parent = parent;
  s->nodes[id].frame = frame;
  s->nnodes = id;
  return id;
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
