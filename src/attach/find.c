/* SPDX-License-Identifier: MIT */
/*
** See attach/find.h. Layout: vm/layout.h. Words of the VM that are true
** pointers are as wide as ours.
*/
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "attach/find.h"
#include "attach/present.h"
#include "attach/room.h"
#include "vm/layout.h"

#define CHUNK	(1 << 20)	/* Bytes that are read at a time. */
#define STATE_SEARCH 512	/* vmstate lies before this. */
#define VARIANT_HEAD 128	/* So does a variant's allocator before this. */
#define SLOTS_MAX 256		/* Slots of a stack that are looked at, */
#define STACK_MAX (256 << 10)	/* and bytes of a C stack. */

/* -- States -------------------------------------------------------------- */

static bool valid_vmstate(int32_t state)
{
  return state >= VM_LAST - 3 && state < TRACES_MAX;
}

/* Where a global state has what. */
typedef struct places {
  uint32_t alloc, vmstate;	/* Offsets. */
} places;

/* The offset at which the global state refers to its main thread, behind a
** valid vmstate, or 0. The collector's lists may begin with that thread, too:
** the search begins behind them. */
static uint32_t known_vmstate(const char *g, uint64_t mainl)
{
  uint32_t i;
  for (i = G_MMUDATA + sizeof(gcref); i < STATE_SEARCH; i += sizeof(gcref))
    if (AT(const gcref, g, i + VMSTATE_MAINL) == mainl &&
	valid_vmstate(AT(const int32_t, g, i)))
      return i;
  return 0;
}

static bool is_code(const mp_maps *m, uint64_t address)
{
  const mp_mapping *a = mp_maps_find(m, address);
  return a != NULL && a->executable;
}

static bool is_thread(const mp_maps *m, uint64_t L, uint64_t g)
{
  char head[L_GLREF + sizeof(gcref)];
  return (L & 7) == 0 && mp_remote_read(m->pid, head, L, sizeof(head)) &&
	 obj_gct(head) == GCT_THREAD && AT(gcref, head, L_GLREF) == g;
}

/* The vmstate of a variant (vm/variant.h) by what lies behind it: hooks and the
** running thread. */
static bool is_vmstate(const mp_maps *m, const char *p, uint64_t g)
{
  uint64_t curl = AT(const gcref, p, VMSTATE_CURL);
  int i;
  if (!valid_vmstate(AT(const int32_t, p, 0))) return false;
  for (i = 0; i < 3; i++) {
    uint64_t f = AT(const uintptr_t, p, VMSTATE_HOOKS + i * WORD);
    if (f != 0 && !is_code(m, f)) return false;
  }
  return is_thread(m, curl, g);
}

/* A variant has a few words before its allocator, which is the first function
** in it. */
static bool find_variant(const mp_maps *m, const char *global, uint64_t g,
			 places *at)
{
  uint32_t i = 0;
  while (i < VARIANT_HEAD && !is_code(m, AT(const uintptr_t, global, i)))
    i += 8;
  at->alloc = i;
  for (i += G_ROOT; i + VMSTATE_CURL < STATE_SEARCH; i += 8)
    if (is_vmstate(m, global + i, g)) break;
  at->vmstate = i;
  return at->alloc < VARIANT_HEAD && i + VMSTATE_CURL < STATE_SEARCH;
}

static bool find_places(const mp_maps *m, const char *global, uint64_t g,
			uint64_t mainl, places *at)
{
  if (!is_code(m, AT(const uintptr_t, global, G_ALLOCF)))
    return find_variant(m, global, g, at);
  *at = (places){ G_ALLOCF, known_vmstate(global, mainl) };
  return at->vmstate != 0;
}

static bool valid_stack(const mp_maps *m, const char *L)
{
  uint64_t stack = AT(const gcref, L, L_STACK);
  uint64_t base = AT(const uintptr_t, L, L_BASE);
  uint64_t top = AT(const uintptr_t, L, L_TOP);
  uint64_t end = AT(const gcref, L, L_MAXSTACK);
  const mp_mapping *a = mp_maps_find(m, stack);
  return a != NULL && a->writable && end < a->to && stack < base &&
	 base <= end && stack < top && top <= end;
}

/* The text of a string whose length and text are there, or its beginning. */
static bool read_text(pid_t pid, uint64_t str, uint32_t length, uint32_t data,
		      char *to, size_t n)
{
  uint32_t len;
  char end;
  if (!mp_remote_read(pid, &len, str + length, sizeof(len)) ||
      !mp_remote_read(pid, &end, str + data + len, 1) || end != '\0')
    return false;
  if (len >= n) len = (uint32_t)n - 1;
  to[len] = '\0';
  return mp_remote_read(pid, to, str + data, len) && strlen(to) == len;
}

bool mp_find_text(pid_t pid, uint64_t str, char *to, size_t n)
{
  return read_text(pid, str, STR_LEN, STR_DATA, to, n) ||
	 read_text(pid, str, STR_OLDLEN, STR_OLDDATA, to, n);
}

bool mp_find_chunkname(pid_t pid, uint64_t proto, char *to, size_t n)
{
  gcref name;
  return mp_remote_read(pid, &name, proto + PT_CHUNKNAME, sizeof(name)) &&
	 mp_find_text(pid, name, to, n);
}

/* The chunk name of a function, if it is a Lua function. */
static bool read_chunkname(pid_t pid, uint64_t fn, char *to, size_t n)
{
  char o[FUNC_PC + sizeof(gcref)];
  return mp_remote_read(pid, o, fn, sizeof(o)) && obj_gct(o) == GCT_FUNC &&
	 AT(uint8_t, o, FUNC_FFID) == 0 &&
	 mp_find_chunkname(pid, AT(gcref, o, FUNC_PC) - PT_BC, to, n);
}

/* Whether the slot of that number may be a function, or have one as a frame's
** link does. */
static bool may_be_function(slot v, size_t i)
{
#ifdef MP_REFS32
  uint64_t link = v >> 32;
  if (TAG(v) != TAGFUNC && !LINK_ISLUA(link))
    return LINK_DELTA(link) <= i * sizeof(slot);
#endif
  (void)i;
  return FRAME_SLOTS == 1 || TAG(v) == TAGFUNC;
}

/* Finds the Lua function that lies lowest on the stack of the main thread. */
static void find_chunk(pid_t pid, const char *L, char *to, size_t n)
{
  uint64_t stack = AT(const gcref, L, L_STACK);
  uint64_t top = AT(const uintptr_t, L, L_TOP);
  slot slots[SLOTS_MAX];
  size_t i, count = (top - stack) / sizeof(slot);
  *to = '\0';
  if (count > SLOTS_MAX) count = SLOTS_MAX;
  if (!mp_remote_read(pid, slots, stack, count * sizeof(slot))) return;
  for (i = 0; i < count; i++)
    if (may_be_function(slots[i], i) &&
	read_chunkname(pid, (uint64_t)(uintptr_t)PTR(slots[i]), to, n))
      return;
  *to = '\0';
}

/* Whether a state is at that address: if so, fills it in. */
static bool verify(const mp_maps *m, uint64_t mainl, uint64_t g, mp_found *f)
{
  char L[L_SIZE], global[STATE_SEARCH + 16];
  places at;
  if (!mp_remote_read(m->pid, L, mainl, sizeof(L)) ||
      !mp_remote_read(m->pid, global, g, sizeof(global)) ||
      obj_gct(L) != GCT_THREAD || AT(gcref, L, L_GLREF) != g ||
      !valid_stack(m, L) || !find_places(m, global, g, mainl, &at))
    return false;
  memset(f, 0, sizeof(*f));
  f->mainl = mainl;
  f->g = g;
  f->vmstate = g + at.vmstate;
  f->variant = at.alloc != 0;
  f->allocf = AT(uintptr_t, global, at.alloc + G_ALLOCF);
  f->bytes = AT(gcsize, global, at.alloc + G_TOTAL);
  f->cframe = AT(uintptr_t, L, L_CFRAME) & ~UINT64_C(3);
  if (!is_code(m, f->allocf) || f->bytes >> 47 != 0) return false;
  find_chunk(m->pid, L, f->chunk, sizeof(f->chunk));
  return true;
}

/* Looks for states in memory that was read from that address. */
static int search(const mp_maps *m, uint64_t own, const char *memory,
		  size_t size, uint64_t from, mp_found *list, int n)
{
  size_t i;
  for (i = 0; i + sizeof(gcref) <= size; i += 8) {
    uint64_t mainl = from + i - L_GLREF, g = AT(const gcref, memory, i);
    mp_found f;
    if (g - (mainl + L_SIZE) > L_EXTRA) continue;
    /* Other objects may refer to what lies right behind them, too. */
    if (i >= L_GLREF && obj_gct(memory + i - L_GLREF) != GCT_THREAD) continue;
    if (!verify(m, mainl, g, &f) || f.allocf == own) continue;
    if (n < MP_STATES_MAX) list[n] = f;
    n++;
  }
  return n;
}

/* A search through the memory of a process. */
typedef struct hunt {
  const mp_maps *maps;
  uint64_t own;
  mp_found *list;
  int n;
  char *memory;
  const volatile int *end;
} hunt;

static void search_pages(hunt *h, uint64_t at, uint64_t end)
{
  for (; at < end && !*h->end; at += CHUNK) {
    size_t size = end - at < CHUNK ? end - at : CHUNK;
    if (mp_remote_read(h->maps->pid, h->memory, at, size))
      h->n = search(h->maps, h->own, h->memory, size, at, h->list, h->n);
  }
}

static void search_mappings(hunt *h, mp_where where)
{
  mp_present p;
  int i;
  mp_present_open(&p, h->maps->pid, where);
  for (i = 0; i < h->maps->n; i++) {
    const mp_mapping *a = &h->maps->list[i];
    uint64_t at = a->from, end;
    if (!a->readable || !a->writable || a->inode != 0 ||
	(gcref)(a->to - 1) != a->to - 1)  /* No reference leads there. */
      continue;
    while (!*h->end && (end = mp_present_next(&p, &at, a->to)) != 0) {
      search_pages(h, at, end);
      at = end;
    }
  }
  mp_present_close(&p);
}

int mp_find_states(const mp_maps *m, uint64_t own, mp_found *list,
		   const volatile int *end)
{
  hunt h = { m, own, list, 0, mp_room(malloc(CHUNK)), end };
  if (h.memory == NULL) return 0;
  search_mappings(&h, MP_IN_MEMORY);
  if (h.n == 0) search_mappings(&h, MP_SWAPPED);
  free(h.memory);
  return h.n;
}

/* -- Rest ---------------------------------------------------------------- */

/* Whether any of these words is an address in the code of that object. */
static bool any_in(const mp_maps *m, const mp_mapping *vm,
		   const uintptr_t *words, size_t count)
{
  size_t i;
  for (i = 0; i < count; i++) {
    const mp_mapping *a = mp_maps_find(m, words[i]);
    if (a != NULL && a->executable && mp_maps_same(a, vm)) return true;
  }
  return false;
}

/* Threads that the global state refers to, with a C frame in the stack that was
** read from sp on: of these the one with the innermost. */
static uint64_t innermost(pid_t pid, const mp_found *state, uint64_t sp,
			  size_t size, uint64_t *frame)
{
  gcref refs[G_SEARCH / sizeof(gcref)], owner;
  uint64_t found = 0;
  char L[L_SIZE];
  size_t i;
  *frame = sp + size;
  if (!mp_remote_read(pid, refs, state->g, sizeof(refs))) return 0;
  for (i = 0; i < G_SEARCH / sizeof(gcref); i++) {
    uint64_t cf;
    if ((refs[i] & 7) != 0 || refs[i] == 0 ||
	!mp_remote_read(pid, L, refs[i], sizeof(L)) ||
	obj_gct(L) != GCT_THREAD || AT(gcref, L, L_GLREF) != state->g)
      continue;
    cf = AT(uintptr_t, L, L_CFRAME) & ~UINT64_C(3);
    if (cf <= sp || cf >= *frame ||
	!mp_remote_read(pid, &owner, cf + CF_L, sizeof(owner)) ||
	owner != refs[i])
      continue;
    *frame = cf;
    found = refs[i];
  }
  return found;
}

uint64_t mp_find_cframe(pid_t pid, const mp_found *state)
{
  uintptr_t cf = 0;
  mp_remote_read(pid, &cf, state->mainl + L_CFRAME, sizeof(cf));
  return cf & ~UINT64_C(3);
}

/* Whether the VM has called a function whose frames these words are, and none
** of them is the VM's own. */
static bool called_by(const mp_maps *m, const mp_mapping *vm,
		      const uintptr_t *words, size_t n)
{
#ifdef __aarch64__  /* It has saved where it returns to somewhere. */
  size_t i, seen = 0;
  for (i = 0; i < n; i++) seen += any_in(m, vm, words + i, 1);
  return seen == 1;
#else
  return n > 0 && !any_in(m, vm, words, n - 1) &&
	 mp_maps_same(mp_maps_find(m, words[n-1]), vm);
#endif
}

uint64_t mp_find_resting(const mp_maps *m, const mp_found *state,
			 const mp_mapping *vm, uint64_t sp, uint64_t link,
			 bool *idle)
{
  const mp_mapping *a = mp_maps_find(m, sp);
  const uintptr_t back = (uintptr_t)link;
  uint64_t frame, L, found = 0;
  uintptr_t *words;
  size_t n;
  *idle = false;
  if (a == NULL || any_in(m, vm, &back, 1) ||
      mp_find_compiled(m->pid, state) ||
      (words = mp_room(malloc(STACK_MAX))) == NULL)
    return 0;
  n = a->to - sp < STACK_MAX ? a->to - sp : STACK_MAX;
  L = innermost(m->pid, state, sp, n, &frame);
  if (L != 0) n = frame - sp;
  if (mp_remote_read(m->pid, words, sp, n)) {
    n /= sizeof(*words);
    *idle = L == 0 && mp_find_cframe(m->pid, state) == 0 &&
	    !any_in(m, vm, words, n);
    if (*idle) found = state->mainl;
    if (L != 0 && called_by(m, vm, words, n)) found = L;
  }
  free(words);
  return found;
}
