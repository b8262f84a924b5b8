/* SPDX-License-Identifier: MIT */
/*
** See attach/stack.h.
*/
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/room.h"
#include "attach/stack.h"
#include "vm/layout.h"

#define SLOTS_MAX	(1 << 16)	/* Slots that are read of a stack. */
#define ROOTS		3	/* Strings by which the roots are known. */
#define FAR_PAST	64	/* Bytes between them and the running thread. */
#define TEXT_MAX	16

/* -- The running thread ---------------------------------------------------- */

/* Whether the names of metamethods are in that order from there on, as the
** roots have them. */
static bool are_roots(pid_t pid, const gcref *at)
{
  static const char *const names[ROOTS] = { "__index", "__newindex", "__gc" };
  char text[TEXT_MAX];
  int i;
  for (i = 0; i < ROOTS; i++) {
    bool is = mp_remote_string(pid, text, at[i] + STR_DATA, sizeof(text)) &&
	      strcmp(text, names[i]) == 0;
    if (!is && (!mp_remote_string(pid, text, at[i] + STR_OLDDATA,
				  sizeof(text)) || strcmp(text, names[i]) != 0))
      return false;
  }
  return true;
}

static bool is_thread(pid_t pid, uint64_t L, uint64_t g)
{
  char head[L_SIZE];
  return L != 0 && (L & 7) == 0 && mp_remote_read(pid, head, L, L_SIZE) &&
	 obj_gct(head) == GCT_THREAD && AT(gcref, head, L_GLREF) == g;
}

/* The running thread comes before the roots, with a few words between them:
** where there are two threads side by side, it is the first. */
uint64_t mp_stack_running(pid_t pid, const mp_found *state)
{
  gcref words[G_SEARCH / sizeof(gcref)];
  const size_t n = sizeof(words) / sizeof(words[0]);
  size_t i, last = 0;
  if (!mp_remote_read(pid, words, state->g, sizeof(words))) return 0;
  for (i = 0; i + ROOTS <= n && !are_roots(pid, words + i); i++)
    if (is_thread(pid, words[i], state->g)) last = i;
  if (i + ROOTS > n || last == 0 || (i - last) * sizeof(gcref) > FAR_PAST)
    return 0;
  if (is_thread(pid, words[last - 1], state->g)) last--;
  return state->g + last * sizeof(gcref);
}

/* -- Functions ------------------------------------------------------------- */

/* A function that a frame has. */
typedef struct function {
  uint64_t proto;		/* 0: a C function. */
  char pt[PT_BC];		/* The prototype. */
} function;

static bool read_function(pid_t pid, uint64_t at, function *fn,
			  mp_far_frame *f)
{
  char o[FUNC_C + sizeof(uintptr_t)];
  *f = (mp_far_frame){ .line = -1, .linedefined = -1 };
  if (at == 0 || (at & 7) != 0 || !mp_remote_read(pid, o, at, sizeof(o)) ||
      obj_gct(o) != GCT_FUNC)
    return false;
  fn->proto = 0;
  if (AT(uint8_t, o, FUNC_FFID) != 0) {
    f->code = AT(uintptr_t, o, FUNC_C);
    f->object = at;
    return f->code != 0;
  }
  fn->proto = AT(gcref, o, FUNC_PC) - PT_BC;
  return mp_remote_read(pid, fn->pt, fn->proto, sizeof(fn->pt)) &&
	 obj_gct(fn->pt) == GCT_PROTO;
}

/* Whether the place behind an instruction of the function is pc. */
static bool has(const function *fn, uint64_t pc)
{
  uint64_t bc = fn->proto + PT_BC;
  return pc > bc && pc - bc <= (uint64_t)AT(uint32_t, fn->pt, PT_SIZEBC) *
	 BC_SIZE && (pc - bc) % BC_SIZE == 0;
}

/* The line of the instruction before pc, or less than 0. Lines are kept from
** the second instruction on, as distances to the first one's, in as many bytes
** as the last needs. */
static int32_t line_of(pid_t pid, const function *fn, uint64_t pc)
{
  uint64_t info = AT(gcref, fn->pt, PT_LINEINFO);
  uint64_t i = (pc - fn->proto - PT_BC) / BC_SIZE - 1;
  int32_t first = AT(int32_t, fn->pt, PT_FIRSTLINE);
  uint32_t lines = AT(uint32_t, fn->pt, PT_NUMLINE), d = 0;
  size_t size = lines < 256 ? 1 : lines < 65536 ? 2 : 4;
  if (info == 0 || first < 0) return -1;
  if (i == 0) return first;
  if (!mp_remote_read(pid, &d, info + (i - 1) * size, size)) return -1;
  return first + (int32_t)d;
}

/* Fills in what is known of a Lua function, at pc if that is not 0. */
static bool describe(pid_t pid, const function *fn, uint64_t pc,
		     mp_far_frame *f)
{
  if (AT(gcref, fn->pt, PT_LINEINFO) != 0)
    f->linedefined = AT(int32_t, fn->pt, PT_FIRSTLINE);
  if (pc != 0) f->line = line_of(pid, fn, pc);
  return mp_find_chunkname(pid, fn->proto, f->source, sizeof(f->source));
}

/* -- Names of C functions -------------------------------------------------- */

#define NODES_MAX	(1 << 16)	/* Nodes of a table that are read. */
#define LOADED	"package.loaded"

/* Kinds of tables, by what they have in them. */
enum { GLOBALS, GLOBAL, MODULES, MODULE };

/* A list of functions that is being made. */
typedef struct listing {
  pid_t pid;
  mp_far_function *list;
  int n;
} listing;

static void list_table(listing *l, uint64_t table, const char *before,
		       int what);

static void list_function(listing *l, uint64_t at, const char *name)
{
  char head[FUNC_FFID + 1];
  mp_far_function *f = &l->list[l->n];  /* A longer name may be cut. */
  if (l->n == MP_FUNCTIONS || strlen(name) + 1 >= sizeof(f->name) ||
      !mp_remote_read(l->pid, head, at, sizeof(head)) ||
      obj_gct(head) != GCT_FUNC || AT(uint8_t, head, FUNC_FFID) == 0)
    return;
  f->object = at;
  f->builtin = AT(uint8_t, head, FUNC_FFID) > FFID_C;
  strcpy(f->name, name);
  l->n++;
}

static void list_value(listing *l, slot val, const char *name, int what)
{
  uint64_t at = (uintptr_t)PTR(val);
  char before[sizeof(l->list->name) + 1];
  if (TAG(val) == TAGFUNC) list_function(l, at, name);
  if (TAG(val) != TAGTAB) return;
  if (what == GLOBALS || what == MODULES) {
    snprintf(before, sizeof(before), "%s.", name);
    list_table(l, at, before, what + 1);
  } else if (what == GLOBAL && strcmp(name, LOADED) == 0) {
    list_table(l, at, "", MODULES);
  }
}

/* before: what comes before the names. */
static void list_table(listing *l, uint64_t table, const char *before, int what)
{
  char t[TAB_SIZE], *nodes;
  size_t i, n;
  if (!mp_remote_read(l->pid, t, table, sizeof(t)) || obj_gct(t) != GCT_TAB ||
      (n = (size_t)AT(uint32_t, t, TAB_HMASK) + 1) > NODES_MAX ||
      (nodes = mp_room(malloc(n * NODE_SIZE))) == NULL)
    return;
  if (!mp_remote_read(l->pid, nodes, AT(gcref, t, TAB_NODE), n * NODE_SIZE))
    n = 0;
  for (i = 0; i < n; i++) {
    slot key = AT(slot, nodes, i * NODE_SIZE + NODE_KEY);
    slot val = AT(slot, nodes, i * NODE_SIZE + NODE_VAL);
    char name[sizeof(l->list->name)];
    size_t size = (size_t)snprintf(name, sizeof(name), "%s", before);
    if (TAG(key) == TAGSTR && size < sizeof(name) &&
	mp_find_text(l->pid, (uintptr_t)PTR(key), name + size,
		     sizeof(name) - size))
      list_value(l, val, name, what);
  }
  free(nodes);
}

int mp_stack_functions(pid_t pid, const mp_found *state,
		       mp_far_function list[MP_FUNCTIONS])
{
  listing l = { pid, list, 0 };
  gcref globals;
  if (mp_remote_read(pid, &globals, state->mainl + L_ENV, sizeof(globals)))
    list_table(&l, globals, "", GLOBALS);
  return l.n;
}

/* -- Frames ---------------------------------------------------------------- */

/* A part of the Lua stack that was read, up to a base. */
typedef struct slots {
  slot *list;			/* The first slot is number `from`. */
  size_t from, n;		/* n: of the stack, up to that base. */
} slots;

/* A frame, by the number of the slot that has its link. */
static slot word(const slots *s, size_t i)
{
  return i >= s->from && i < s->n ? s->list[i - s->from] : 0;
}

#ifdef MP_REFS32

static uint64_t link_at(const slots *s, size_t i) { return word(s, i) >> 32; }

static uint64_t object_at(const slots *s, size_t i)
{
  return (uint32_t)word(s, i);
}

static uint64_t contpc_at(const slots *s, size_t i)
{
  return word(s, i - 1) >> 32;
}

#else

static uint64_t link_at(const slots *s, size_t i) { return word(s, i); }

static uint64_t object_at(const slots *s, size_t i)
{
  slot v = word(s, i - 1);
  return TAG(v) == TAGFUNC || TAG(v) == TAGTHREAD ? (uintptr_t)PTR(v) : 0;
}

static uint64_t contpc_at(const slots *s, size_t i) { return word(s, i - 2); }

#endif

#define NO_FRAME SIZE_MAX

/* The frame below, or NO_FRAME. */
static size_t below(pid_t pid, const slots *s, size_t i)
{
  uint64_t link = link_at(s, i), size = LINK_DELTA(link) / sizeof(slot);
  uint8_t a;
  if (LINK_ISLUA(link)) {
    if (!mp_remote_read(pid, &a, link - BC_SIZE + BC_A, 1)) return NO_FRAME;
    size = FRAME_SLOTS + (uint64_t)a;
  }
  return size > 0 && size <= i ? i - size : NO_FRAME;
}

/* Where the function below a frame goes on; 0: not known. */
static uint64_t pc_below(const slots *s, size_t i)
{
  uint64_t link = link_at(s, i);
  if (LINK_ISLUA(link)) return link;
  if (LINK_ISCONT(link)) return contpc_at(s, i);
  return 0;
}

static bool is_thread_at(pid_t pid, const slots *s, size_t i)
{
  char head[OBJ_GCT + 1];
  return mp_remote_read(pid, head, object_at(s, i), sizeof(head)) &&
	 obj_gct(head) == GCT_THREAD;
}

/* Reads the frames from the one whose function is at pc, if that is not 0, down
** to the last. compiled: the top function need not be at pc. False: this is no
** stack. */
static bool read_frames(pid_t pid, const slots *s, uint64_t pc, bool compiled,
			mp_far_stack *to)
{
  size_t i = s->n - 1, last = i;
  bool varg = false;
  function fn;
  to->n = 0;
  to->slots = 0;
  to->cut = false;
  for (; i != NO_FRAME && i > FRAME_SLOTS - 1; i = below(pid, s, i)) {
    mp_far_frame *f = &to->frames[to->n];
    if (i < s->from + 4 && s->from > 0) to->cut = true;
    if (to->n == MP_STACK_DEPTH) to->cut = true;
    if (to->cut) return true;
    if (i != last) pc = pc_below(s, last);
    last = i;
    if (!varg && !is_thread_at(pid, s, i)) {
      if (!read_function(pid, object_at(s, i), &fn, f)) return false;
      if (fn.proto != 0 && pc != 0 && !has(&fn, pc)) return false;
      if (fn.proto != 0 && pc == 0 && to->n == 0 && !compiled) return false;
      if (fn.proto != 0 && !describe(pid, &fn, pc, f)) return false;
      if (i == s->n - 1 && fn.proto != 0)
	to->slots = AT(uint8_t, fn.pt, PT_FRAMESIZE);
      to->n++;
    }
    varg = LINK_ISVARG(link_at(s, i));
  }
  return i == FRAME_SLOTS - 1 && to->n > 0;
}

/* Reads the slots of a stack up to a base. */
static bool read_slots(pid_t pid, const char *L, uint64_t base, slots *s)
{
  uint64_t stack = AT(gcref, L, L_STACK), size = base - stack;
  if (base <= stack + FRAME_SLOTS * sizeof(slot) || (size & 7) != 0 ||
      base > AT(gcref, L, L_MAXSTACK))
    return false;
  s->n = size / sizeof(slot);
  s->from = s->n > SLOTS_MAX ? s->n - SLOTS_MAX : 0;
  s->list = mp_room(malloc((s->n - s->from) * sizeof(slot)));
  if (s->list == NULL) return false;
  if (mp_remote_read(pid, s->list, stack + s->from * sizeof(slot),
		     (s->n - s->from) * sizeof(slot)))
    return true;
  free(s->list);
  return false;
}

static bool read_from(pid_t pid, const char *L, uint64_t base, uint64_t pc,
		      bool compiled, mp_far_stack *to)
{
  slots s;
  bool ok;
  if (!read_slots(pid, L, base, &s)) return false;
  to->base = base;
  to->pc = pc;
  ok = read_frames(pid, &s, pc, compiled, to);
  free(s.list);
  return ok;
}

/* -- The thread ------------------------------------------------------------ */

/* Variants tell three kinds of functions apart where others have two. */
static char letter(int32_t vmstate, bool variant)
{
  int n = -1 - vmstate;
  if (n < 0) return 'N';
  if (n == 0) return 'I';
  if (variant && n <= 2) return n == 1 ? 'I' : 'C';
  if (variant) n -= 2;
  return n == 1 ? 'C' : n == 2 ? 'G' : n == 3 ? 'N' : 'J';
}

#define BEFORE_CALL 64		/* Bytes of code that are looked at. */

/* Whether the interpreter has written the base of the running function to the
** memory before it called the C function that runs now, as it does but for
** short ones. The call is the word below the C frame. */
static bool has_written_base(pid_t pid, uint64_t cframe)
{
#ifdef __aarch64__
  (void)pid; (void)cframe;
  return false;
#else
  uint8_t code[BEFORE_CALL];
  uintptr_t back;
  size_t i;
  if (!mp_remote_read(pid, &back, cframe - WORD, sizeof(back)) ||
      !mp_remote_read(pid, code, back - sizeof(code), sizeof(code)))
    return false;
  for (i = 0; i + 3 <= sizeof(code); i++)  /* mov [register+L_BASE], VM_BASE */
    if (code[i] == 0x89 && (code[i+1] & 0xf8) == (0x40 | VM_BASE << 3) &&
	code[i+2] == L_BASE)
      return true;
  return false;
#endif
}

/* Whether the C frame lies on the stack that the thread has now. */
static bool is_on(const mp_maps *m, uint64_t frame, uint64_t sp)
{
  const mp_mapping *a = mp_maps_find(m, sp);
  return a != NULL && frame >= sp && frame < a->to;
}

/* The base of the running trace, or 0: the next word but for one that variants
** have. */
static uint64_t trace_base(pid_t pid, const mp_found *state, uint64_t running)
{
  gcref words[2];
  if (!mp_remote_read(pid, words, running + sizeof(gcref), sizeof(words)))
    return 0;
  return is_thread(pid, words[0], state->g) ? words[1] : words[0];
}

/* Reads the stack by what the interpreter has in memory while C code runs. */
static bool read_from_memory(pid_t pid, const char *L, uint64_t cframe,
			     mp_far_stack *s)
{
  gcref pc;
  return (s->state == 'C' || has_written_base(pid, cframe)) &&
	 mp_remote_read(pid, &pc, cframe + CF_PC, sizeof(pc)) &&
	 read_from(pid, L, AT(uintptr_t, L, L_BASE), pc, false, s);
}

/* Reads the stack by the registers. They have it in the interpreter itself, and
** in the short functions of machine code that it calls; elsewhere they lead to
** nothing that is a stack. */
static bool read_from_registers(pid_t pid, const char *L, const mp_tracee *t,
				mp_far_stack *s)
{
  return read_from(pid, L, (uintptr_t)mp_tracee_value(t, VM_BASE),
		   (uintptr_t)mp_tracee_value(t, VM_PC), false, s);
}

mp_far_place mp_stack_read(const mp_maps *m, const mp_found *state,
			   uint64_t running, mp_tracee *t, mp_far_stack *s)
{
  const uint64_t sp = mp_tracee_registers(t).sp;
  uint64_t cframe, trace;
  int32_t vmstate;
  char L[L_SIZE];
  gcref at;
  bool ok;
  if (!mp_remote_read(m->pid, &at, running, sizeof(at)) ||
      !mp_remote_read(m->pid, L, at, sizeof(L)) || obj_gct(L) != GCT_THREAD ||
      !mp_remote_read(m->pid, &vmstate, state->vmstate, sizeof(vmstate)))
    return MP_FAR_LOST;
  cframe = AT(uintptr_t, L, L_CFRAME) & ~UINT64_C(3);
  if (cframe == 0) return MP_FAR_IDLE;
  if (!is_on(m, cframe, sp)) return MP_FAR_ELSEWHERE;
  s->state = letter(vmstate, state->variant);
  trace = trace_base(m->pid, state, running);
  if (trace != 0)
    ok = read_from(m->pid, L, trace, 0, true, s);
  else
    ok = read_from_registers(m->pid, L, t, s) ||
	 (sp != cframe && read_from_memory(m->pid, L, cframe, s));
  s->rests = trace == 0 && s->state == 'C' &&
	     s->base == AT(uintptr_t, L, L_BASE);
  return ok ? MP_FAR_FOUND : MP_FAR_LOST;
}
