/* SPDX-License-Identifier: MIT */
/*
** See attach/leave.h.
*/
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "attach/leave.h"
#include "attach/room.h"
#include "data/clock.h"
#include "vm/layout.h"
#include "vm/machine.h"

/* -- Exits of a trace ----------------------------------------------------- */

typedef struct far_trace {
  uint64_t address;		/* Of the trace; 0: none. */
  uint64_t mcode;		/* The trace's machine code. */
  uint32_t size;		/* Bytes of machine code. */
  uint32_t loop;		/* Offset of the loop in the code, or 0. */
  uint32_t nins, nk;		/* Instructions: one behind the last, and the */
  char *ir;			/* lowest constant, with which `ir` begins. */
  uint32_t nsnap;
  char *snaps;
  uint32_t nmap;
  uint32_t *map;
  uint64_t link;		/* Machine code of the root trace it ends in; */
				/* 0: it does not. */
} far_trace;

/* A value that each round of a loop hands to the next one. */
typedef struct far_value {
  uint8_t from;			/* The value's register when a round ends. */
  uint8_t reg;			/* Its register when the next one has begun. */
  uint8_t spill;		/* Its place in the stack instead, or 0. */
  bool narrow;			/* It has 32 bits. */
} far_value;
#define FAR_VALUES 32
#ifdef __aarch64__
#define REGISTERS 64		/* Their numbers are less than that. */
#else
#define REGISTERS 32
#endif

#define INS_MAX	(1 << 16)	/* Instructions or constants of a trace. */

/* The VM's state is at least this while a trace runs. */
#ifdef __aarch64__
#define LOWEST	0
#else
#define LOWEST	1		/* The trace's number. */
#endif

/* -- Reading ------------------------------------------------------------- */

static void *copy(pid_t pid, uint64_t from, size_t n)
{
  void *p = mp_room(malloc(n + 1));
  if (p != NULL && mp_remote_read(pid, p, from, n)) return p;
  free(p);
  return NULL;
}

/* Whether a trace of that number is at the address, with ip in its code unless
** that is 0. */
static bool is_running(pid_t pid, uint64_t at, int32_t n, uint64_t ip,
		       char *head)
{
  return at != 0 && (at & 7) == 0 && mp_remote_read(pid, head, at, TR_SIZE) &&
	 obj_gct(head) == GCT_TRACE && AT(uint16_t, head, TR_NUMBER) == n &&
	 (ip == 0 ||
	  ip - AT(uintptr_t, head, TR_MCODE) < AT(uint32_t, head, TR_SZMCODE));
}

/* The trace of that array with ip in its code, or 0. */
static uint64_t search(pid_t pid, uint64_t array, uint32_t size, uint64_t ip,
		       char *head)
{
  gcref *list = copy(pid, array, size * sizeof(*list));
  uint64_t found = 0;
  uint32_t i;
  for (i = 1; list != NULL && ip != 0 && i < size && found == 0; i++)
    if (is_running(pid, list[i], (int32_t)i, ip, head)) found = list[i];
  free(list);
  return found;
}

/* Searches the trace array behind the global state, and in it the trace; by its
** code where traces note no number, and n is 0. */
static uint64_t find(pid_t pid, const mp_found *state, int32_t n, uint64_t ip,
		     char *head, uint64_t *array)
{
  char words[J_ARRAY_SEARCH];
  gcref at;
  uint32_t i;
  if (!mp_remote_read(pid, words, state->vmstate, sizeof(words))) return 0;
  for (i = 0; i + TRACES_END <= sizeof(words); i += sizeof(gcref)) {
    uint32_t size = AT(uint32_t, words, i + TRACES_SIZE);
    *array = AT(uintptr_t, words, i);
    if (*array == 0 || (*array & 7) != 0 || size <= (uint32_t)n ||
	size > TRACES_MAX || AT(uint32_t, words, i + TRACES_FREE) > size)
      continue;
    if (n == 0) at = search(pid, *array, size, ip, head);
    if (n == 0 && at != 0) return at;
    if (n > 0 && mp_remote_read(pid, &at, *array + (uint32_t)n * sizeof(at),
				sizeof(at)) &&
	is_running(pid, at, n, ip, head))
      return at;
  }
  return 0;
}

/* Machine code of the root trace with that number, or 0. */
static uint64_t root_code(pid_t pid, uint64_t array, uint32_t n)
{
  char head[TR_SIZE];
  gcref at;
  if (n == 0 ||
      !mp_remote_read(pid, &at, array + n * sizeof(at), sizeof(at)) ||
      at == 0 || !mp_remote_read(pid, head, at, sizeof(head)) ||
      obj_gct(head) != GCT_TRACE || AT(uint16_t, head, TR_NUMBER) != n ||
      AT(uint16_t, head, TR_ROOT) != 0)
    return 0;
  return AT(uintptr_t, head, TR_MCODE);
}

/* Reads the trace that runs in a state and whose machine code contains ip, if
** ip is not 0. False: there is none, or it cannot be read. The trace must be
** freed even after a failure. */
static bool far_trace_read(far_trace *t, const mp_maps *m,
		       const mp_found *state, uint64_t ip)
{
  char head[TR_SIZE];
  uint64_t array;
  int32_t n;
  memset(t, 0, sizeof(*t));
  if (!mp_remote_read(m->pid, &n, state->vmstate, sizeof(n)) ||
      n < LOWEST)
    return false;
  t->address = find(m->pid, state, n, ip, head, &array);
  if (t->address == 0) return false;
  t->mcode = AT(uintptr_t, head, TR_MCODE);
  t->size = AT(uint32_t, head, TR_SZMCODE);
  t->loop = AT(uint32_t, head, TR_MCLOOP);
  t->nins = AT(uint32_t, head, TR_NINS);
  t->nk = AT(uint32_t, head, TR_NK);
  t->nsnap = AT(uint16_t, head, TR_NSNAP);
  t->nmap = AT(uint32_t, head, TR_NSNAPMAP);
  if (t->nk > TR_INS0 || t->nins < TR_INS0 || t->nins - t->nk > INS_MAX ||
      t->nsnap == 0 || t->nmap > INS_MAX)
    return false;
  t->ir = copy(m->pid, AT(uintptr_t, head, TR_IR) + t->nk * IR_SIZE,
	       (t->nins - t->nk) * IR_SIZE);
  t->snaps = copy(m->pid, AT(uintptr_t, head, TR_SNAP), t->nsnap * SNAP_SIZE);
  t->map = copy(m->pid, AT(uintptr_t, head, TR_SNAPMAP),
		t->nmap * SNAPMAP_SIZE);
  t->link = root_code(m->pid, array, AT(uint16_t, head, TR_LINKS));
  return t->ir != NULL && t->snaps != NULL && t->map != NULL;
}

static void far_trace_free(far_trace *t)
{
  free(t->ir);
  free(t->snaps);
  free(t->map);
  memset(t, 0, sizeof(*t));
}

/* -- Instructions -------------------------------------------------------- */

static const char *ins(const far_trace *t, uint32_t ref)
{
  static const char none[IR_SIZE];
  return ref >= t->nk && ref < t->nins ? t->ir + (ref - t->nk) * IR_SIZE : none;
}

static uint8_t op(const far_trace *t, uint32_t ref)
{
  return AT(const uint8_t, ins(t, ref), IR_OP);
}

/* The op of the constant nil; others are known by their distance to it. */
static uint8_t base_op(const far_trace *t) { return op(t, REF_NIL); }

static uint32_t snap_ref(const far_trace *t, uint32_t s)
{
  return s < t->nsnap ? AT(uint16_t, t->snaps, s * SNAP_SIZE + SNAP_REF) :
	 t->nins;
}

/* The slots that a snapshot lists; none, where it is out of bounds. */
static const uint32_t *entries(const far_trace *t, uint32_t s, uint32_t *n)
{
  uint32_t from = AT(uint32_t, t->snaps, s * SNAP_SIZE + SNAP_MAPOFS);
  *n = AT(uint8_t, t->snaps, s * SNAP_SIZE + SNAP_NENT);
  if (from + *n <= t->nmap) return t->map + from;
  *n = 0;
  return NULL;
}

static bool is_kept(uint32_t entry)
{
  return (entry & ENT_NORESTORE) != 0 || ENT_REF(entry) < TR_INS0;
}

/* Whether the Lua stack has everything that is needed to leave the trace by its
** first exit, before its code has done anything. */
static bool far_trace_begins(const far_trace *t)
{
  uint32_t i, n;
  const uint32_t *e = entries(t, 0, &n);
  for (i = 0; i < n; i++)
    if (!is_kept(e[i])) return false;
  return e != NULL;
}

/* -- Loops --------------------------------------------------------------- */

/* The register of a value from a snapshot on, which may have moved until
** then. */
static uint8_t reg_at(const far_trace *t, uint32_t ref, uint32_t snap)
{
  uint8_t reg = AT(const uint8_t, ins(t, ref), IR_REG);
  uint32_t r;
  for (r = t->nins - 1; r > TR_INS0 && op(t, r) + OP_RENAME == base_op(t); r--)
    if (AT(const uint16_t, ins(t, r), IR_OP1) == ref &&
	AT(const uint16_t, ins(t, r), IR_OP2) <= snap)
      reg = AT(const uint8_t, ins(t, r), IR_REG);
  return reg;
}

/* Whether a value is handed from round to round, in registers: where. */
static bool handed_on(const far_trace *t, uint32_t ref, uint32_t snap,
		      far_value *v)
{
  uint32_t r;
  for (r = t->nins - 1; r > TR_INS0; r--) {
    const char *phi = ins(t, r);
    if (op(t, r) + OP_PHI != base_op(t) ||
	AT(const uint16_t, phi, IR_OP1) != ref)
      continue;
    v->from = AT(const uint8_t, phi, IR_REG);
    v->reg = reg_at(t, ref, snap);
    v->spill = AT(const uint8_t, ins(t, ref), IR_SPILL);
    v->narrow = !IRT_WIDE(AT(const uint8_t, ins(t, ref), IR_TYPE) & IRT_TYPES);
    return v->from < REGISTERS && AT(const uint8_t, phi, IR_SPILL) == 0 &&
	   (v->spill != 0 || v->reg < REGISTERS);
  }
  return false;
}

/* The exit by which the trace can be left at the beginning of its loop, once
** these values are in their places; 0: by none. */
static uint32_t far_trace_loops(const far_trace *t,
			    far_value list[FAR_VALUES], int *n)
{
  uint32_t loop, s = 0, i, count;
  const uint32_t *e;
  *n = 0;
  for (loop = TR_INS0 + 1; loop < t->nins; loop++)
    if (op(t, loop) + OP_LOOP == base_op(t)) break;
  if (t->loop == 0 || loop == t->nins) return 0;
  while (s + 1 < t->nsnap && snap_ref(t, s + 1) <= loop) s++;
  e = entries(t, s, &count);
  for (i = 0; i < count; i++)
    if (!is_kept(e[i]) &&
	(*n == FAR_VALUES || !handed_on(t, ENT_REF(e[i]), s, &list[(*n)++])))
      return 0;
  return e != NULL ? s : 0;
}

/* Whether the exit leads back to the instruction that its guards belong to. It
** does not where a guard compares: its exit is the other way. */
static bool far_trace_repeats(const far_trace *t, uint32_t exit)
{
  uint32_t ref;
  if (exit >= t->nsnap || exit == 0) return false;
  for (ref = snap_ref(t, exit); ref < snap_ref(t, exit + 1); ref++)
    if (op(t, ref) < OP_COMPARES || op(t, ref) == OP_RETF) return false;
  return true;
}

/* -- The way out ---------------------------------------------------------- */

#define CODE_MAX (64 << 20)	/* Bytes of code that are searched. */
#define MOVES	24		/* Moves at the beginning of a loop, at most. */
#define HEAD_STEPS 2		/* Until a trace has noted its number. */
#define SPILL_SIZE 4

#ifdef __aarch64__

/* Instructions. */
#define NOP	0xd503201fu
#define BL	0x94000000u
#define B	0x14000000u
#define B_MASK	0xfc000000u
#define SAVE	0xf90003feu	/* str x30, [sp] */
#define MOVZ	0x52800000u	/* mov w0, #number */
#define MOVZ_MASK 0xffe0001fu
#define BLR	0xd63f03c0u	/* blr x30 */
#define BLR_MASK 0xfefff3e0u	/* It may check the address. */
#define HEAD	3		/* Instructions before a trace's exits: these */
				/* two, with a call of the VM in between, */
				/* which may have two. */

/* Instructions that are away by the signed number of that many bits. */
static uint64_t distance(uint32_t i, int low, int bits)
{
  int32_t n = (int32_t)(i << (32 - low - bits)) >> (32 - bits);
  return (uint64_t)(int64_t)n * CODE_UNIT;
}

static bool is_conditional(uint32_t i)
{
  return (i & 0xff000010u) == 0x54000000u ||  /* b.cond; cbz, cbnz; */
	 (i & 0x7c000000u) == 0x34000000u;  /* tbz, tbnz. */
}

/* Where the conditional branch at that address goes to. */
static uint64_t destination(uint64_t at, uint32_t i)
{
  return at + ((i & 0x7e000000u) == 0x36000000u ? distance(i, 5, 14) :
	       distance(i, 5, 19));
}

/* The exit's number if the code there is the stub of one: it calls the code
** before all exits of the trace. Less than 0: it is none, or leads to another
** trace now. */
static int stub_number(const mp_code *c, uint64_t at)
{
  uint32_t i, head[HEAD + 1];
  uint64_t to;
  int size = HEAD;
  if (!mp_maps_compiled(mp_maps_find(c->maps, at)) ||
      !mp_remote_read(c->maps->pid, &i, at, sizeof(i)) || (i & B_MASK) != BL)
    return -1;
  to = at + distance(i, 0, 26);
  if (to >= at || !mp_remote_read(c->maps->pid, head, to, sizeof(head)))
    return -1;
  if ((head[1] & B_MASK) != BL && (head[2] & BLR_MASK) == (BLR & BLR_MASK))
    size++;
  if (head[0] != SAVE || (head[size-1] & MOVZ_MASK) != MOVZ) return -1;
  return (int)((at - to) / CODE_UNIT) - size;
}

/* The stub of a trace's exit, which is behind its code. 0: it is not there. */
static uint64_t find_stub(const mp_code *c, const far_trace *t, uint32_t n)
{
  uint64_t at = t->mcode + t->size;
  uint32_t i;
  int size;
  while (mp_remote_read(c->maps->pid, &i, at, sizeof(i)) && i == NOP)
    at += CODE_UNIT;
  for (size = HEAD; size <= HEAD + 1; size++) {
    uint64_t stub = at + ((uint64_t)size + n) * CODE_UNIT;
    if (stub_number(c, stub) == (int)n) return stub;
  }
  return 0;
}

/* The stub that the conditional branch at ip is a guard of, taken or not; 0: it
** is none. */
static uint64_t guard_stub(const mp_code *c, uint64_t ip)
{
  uint32_t i[2];
  uint64_t to;
  if (!mp_remote_read(c->maps->pid, i, ip, sizeof(i)) || !is_conditional(i[0]))
    return 0;
  to = destination(ip, i[0]);
  if (stub_number(c, to) >= 0) return to;
  to = ip + CODE_UNIT + distance(i[1], 0, 26);
  return (i[1] & B_MASK) == B && stub_number(c, to) >= 0 ? to : 0;
}

/* Whether an instruction only loads, or moves values between registers and the
** C stack. */
static bool is_move(const mp_code *c, uint64_t ip)
{
  uint32_t i;
  if (!mp_remote_read(c->maps->pid, &i, ip, sizeof(i))) return false;
  return i == NOP ||
	 (i & 0x7fe0ffe0u) == 0x2a0003e0u ||  /* mov of a register, */
	 (i & 0x1f800000u) == 0x12800000u ||  /* of a constant, */
	 (i & 0xffbffc00u) == 0x1e204000u ||  /* fmov in between, */
	 (i & 0x7fbefc00u) == 0x1e260000u ||  /* from or to the others; */
	 (i & 0xbbc00000u) == 0xb9400000u ||  /* ldr; str to [sp, #x]. */
	 (i & 0xbbc003e0u) == 0xb90003e0u;
}

/* Where the function returns to that the thread has just entered. */
static bool read_return(const mp_code *c, const mp_tracee *t, uint64_t *to)
{
  (void)c;
  *to = mp_tracee_registers(t).link;
  return true;
}

#else

#define PUSH_BYTE 0x6a
#define JUMP_SHORT 0xeb
#define JUMP_NEAR 0xe9
#define NEAR_PREFIX 0x0f
#define NEAR_SIZE 5		/* Of a near jump; a conditional one has 6. */
#ifdef MP_REFS32
#define NOTE_SIZE 8		/* Of an instruction before the jump: */
#define NOTE	"\xc7\x44\x24"	/* mov [sp+x], constant. */
#else
#define NOTE_SIZE 0
#define NOTE	""
#endif
#define STUB_SIZE 4

static uint64_t destination(uint64_t end, const uint8_t *distance)
{
  int32_t d;
  memcpy(&d, distance, sizeof(d));
  return end + (uint64_t)(int64_t)d;
}

/* The exit's number if the code there is the stub of one: it pushes the number,
** byte by byte, and jumps to the VM; without GC64 it notes the VM's address
** before. Less than 0: it is none. */
static int stub_number(const mp_code *c, uint64_t at)
{
  const mp_mapping *a = mp_maps_find(c->maps, at);
  uint8_t b[2 + NOTE_SIZE + NEAR_SIZE], low;
  if (!mp_maps_compiled(a) ||
      !mp_remote_read(c->maps->pid, b, at, STUB_SIZE) || b[0] != PUSH_BYTE)
    return -1;
  low = b[1];
  at += b[2] == JUMP_SHORT ? (uint64_t)STUB_SIZE + b[3] : 2u;
  if (!mp_remote_read(c->maps->pid, b, at, sizeof(b)) || b[0] != PUSH_BYTE ||
      memcmp(b + 2, NOTE, sizeof(NOTE) - 1) != 0 ||
      b[2 + NOTE_SIZE] != JUMP_NEAR)
    return -1;
  a = mp_maps_find(c->maps, destination(at + sizeof(b), b + 3 + NOTE_SIZE));
  if (a == NULL || !a->executable || !mp_maps_same(a, c->vm)) return -1;
  return low | b[1] << 8;
}

/* Searches a mapping of compiled code for the stub of an exit. */
static uint64_t find_stub_in(const mp_code *c, const mp_mapping *a, uint32_t n)
{
  size_t size = a->to - a->from, i;
  uint8_t *code = size <= CODE_MAX ? mp_room(malloc(size)) : NULL;
  uint64_t found = 0;
  if (code != NULL && mp_remote_read(c->maps->pid, code, a->from, size))
    for (i = 0; i + STUB_SIZE < size && found == 0; i++)
      if (code[i] == PUSH_BYTE && code[i+1] == (n & 0xff) &&
	  (code[i+2] == JUMP_SHORT || code[i+2] == PUSH_BYTE) &&
	  stub_number(c, a->from + i) == (int)n)
	found = a->from + i;
  free(code);
  return found;
}

/* The stub of an exit: all traces share them. 0: it is not there. */
static uint64_t find_stub(const mp_code *c, const far_trace *t, uint32_t n)
{
  uint64_t found = 0;
  int i;
  (void)t;
  for (i = 0; i < c->maps->n && found == 0; i++)
    if (mp_maps_compiled(&c->maps->list[i]))
      found = find_stub_in(c, &c->maps->list[i], n);
  return found;
}

/* The stub that the conditional jump at ip is a guard of, taken or not; 0: it
** is none. */
static uint64_t guard_stub(const mp_code *c, uint64_t ip)
{
  uint8_t b[6 + NEAR_SIZE];
  uint64_t to;
  size_t next;
  if (!mp_remote_read(c->maps->pid, b, ip, sizeof(b))) return 0;
  if (b[0] == NEAR_PREFIX && (b[1] & 0xf0) == 0x80) {
    to = destination(ip + 6, b + 2);
    if (stub_number(c, to) >= 0) return to;
    next = 6;
  } else if ((b[0] & 0xf0) == 0x70) {
    next = 2;
  } else {
    return 0;
  }
  if (b[next] != JUMP_NEAR) return 0;
  to = destination(ip + next + NEAR_SIZE, b + next + 1);
  return stub_number(c, to) >= 0 ? to : 0;
}

/* Whether an instruction only loads, or moves values between registers and the
** C stack: a loop begins with such instructions, for values that are handed
** from round to round and for values that do not change. */
static bool is_move(const mp_code *c, uint64_t ip)
{
  uint8_t b[8], *p = b, modrm;
  bool wide;
  if (!mp_remote_read(c->maps->pid, b, ip, sizeof(b))) return false;
  if (*p == 0xf2 || *p == 0xf3 || *p == 0x66) p++;
#ifdef __x86_64__
  if ((*p & 0xf0) == 0x40) p++;
#endif
  wide = *p == NEAR_PREFIX;
  if (wide) p++;
  modrm = p[1];
  switch (*p) {
  case 0x10: case 0x28: case 0x57: return wide;  /* movsd, movaps, xorps. */
  case 0x8b: case 0x8d: return !wide;  /* mov and lea into a register. */
  case 0x11: case 0x29: case 0x89:  /* Out of one, to [rsp+x] or another. */
    return (*p == 0x89) == !wide &&
	   (modrm >> 6 == 3 || ((modrm & 7) == 4 && p[2] == 0x24));
  default: return !wide && (*p & 0xf8) == 0xb8;  /* mov of a constant. */
  }
}

static bool read_return(const mp_code *c, const mp_tracee *t, uint64_t *to)
{
  uintptr_t word;
  if (!mp_remote_read(c->maps->pid, &word, mp_tracee_registers(t).sp,
		      sizeof(word)))
    return false;
  *to = word;
  return true;
}

#endif

/* Whether the value is in its place. */
static bool in_place(const mp_code *c, const mp_tracee *t,
		     const far_value *v, uint64_t value)
{
  uint64_t now = 0;
  if (v->spill == 0)
    now = mp_tracee_value(t, v->reg);
  else if (!mp_remote_read(c->maps->pid, &now, mp_tracee_registers(t).sp +
			   v->spill * SPILL_SIZE, v->narrow ? 4 : 8))
    return false;
  return v->narrow ? (uint32_t)now == (uint32_t)value : now == value;
}

/* At the beginning of a loop's round: steps until all values are where the exit
** expects them. */
static bool settle(const mp_code *c, mp_tracee *t, const far_value *list,
		   int n)
{
  uint64_t values[FAR_VALUES];
  int i, steps;
  for (i = 0; i < n; i++) values[i] = mp_tracee_value(t, list[i].from);
  for (steps = 0; steps < MOVES; steps++) {
    for (i = 0; i < n && in_place(c, t, &list[i], values[i]); i++) ;
    if (i == n) return true;
    if (!is_move(c, mp_tracee_registers(t).ip) || !mp_tracee_step(t))
      return false;
  }
  return false;
}

static bool leave_loop(const mp_code *c, mp_tracee *t, const far_trace *tr)
{
  far_value list[FAR_VALUES];
  int n;
  uint32_t exit = far_trace_loops(tr, list, &n);
  uint64_t stub = exit != 0 ? find_stub(c, tr, exit) : 0;
  if (stub == 0 || !settle(c, t, list, n)) return false;
  mp_tracee_jump(t, stub);
  return true;
}

static bool leave_guard(const mp_code *c, mp_tracee *t, const far_trace *tr)
{
  uint64_t stub = guard_stub(c, mp_tracee_registers(t).ip);
  if (stub == 0 ||
      !far_trace_repeats(tr, (uint32_t)stub_number(c, stub)))
    return false;
  mp_tracee_jump(t, stub);
  return true;
}

/* At the beginning of a root trace. One of its first instructions notes its
** number, where traces do. */
static bool leave_root(const mp_code *c, const mp_found *state, mp_tracee *t)
{
  uint64_t begin = mp_tracee_registers(t).ip, stub = 0;
  int i;
  for (i = 0; i <= HEAD_STEPS && stub == 0; i++) {
    far_trace root;
    if (i > 0 && !mp_tracee_step(t)) return false;
    if (far_trace_read(&root, c->maps, state, mp_tracee_registers(t).ip) &&
	root.mcode == begin && far_trace_begins(&root))
      stub = find_stub(c, &root, 0);
    far_trace_free(&root);
  }
  if (stub != 0) mp_tracee_jump(t, stub);
  return stub != 0;
}

/* Lets a function return that compiled code has just called. */
static bool step_out(const mp_code *c, mp_tracee *t, double until)
{
  uint64_t ret;
  return read_return(c, t, &ret) &&
	 mp_maps_compiled(mp_maps_find(c->maps, ret)) &&
	 mp_tracee_run_to(t, ret, until);
}

typedef enum way { LEFT, STUCK, ANOTHER } way;

/* Steps to a way out of this trace, or to another trace. */
static way leave_trace(const mp_code *c, const mp_found *state, mp_tracee *t,
		       const far_trace *tr, double until)
{
  uint64_t loop = tr->loop != 0 ? tr->mcode + tr->loop : 0;
  while (mp_clock_wall() < until) {
    uint64_t ip = mp_tracee_registers(t).ip;
    bool left = false;
    if (ip == tr->link) return leave_root(c, state, t) ? LEFT : STUCK;
    if (ip - tr->mcode >= tr->size) {
      if (mp_maps_compiled(mp_maps_find(c->maps, ip))) return ANOTHER;
      if (!step_out(c, t, until)) return STUCK;
      continue;
    }
    left = ip == loop ? leave_loop(c, t, tr) : leave_guard(c, t, tr);
    if (left) return LEFT;
    if (!mp_tracee_step(t)) return STUCK;
  }
  return STUCK;
}

/* The place that a trace which called a function reaches sooner or later: its
** loop, or the trace that it ends in; or where that function returns to, if it
** has not saved that yet and the trace is not known. */
static bool to_trace(const mp_code *c, const mp_found *state, mp_tracee *t,
		     double until)
{
  far_trace tr;
  bool there = false;
  if (far_trace_read(&tr, c->maps, state, 0))
    there = mp_tracee_run_to(t, tr.loop != 0 ? tr.mcode + tr.loop : tr.link,
			     until);
  else if (LOWEST == 0)
    there = step_out(c, t, until);
  far_trace_free(&tr);
  return there;
}

static way leave(const mp_code *c, const mp_found *state, mp_tracee *t,
		 double until)
{
  way w = ANOTHER;
  if (!mp_maps_compiled(mp_maps_find(c->maps, mp_tracee_registers(t).ip)) &&
      !to_trace(c, state, t, until))
    return STUCK;
  while (w == ANOTHER) {
    far_trace tr;
    w = STUCK;
    if (far_trace_read(&tr, c->maps, state, mp_tracee_registers(t).ip))
      w = leave_trace(c, state, t, &tr, until);
    far_trace_free(&tr);
  }
  return w;
}

bool mp_leave(const mp_code *c, const mp_found *state, mp_tracee *t,
	      double seconds)
{
  bool left;
  mp_tracee_begin_steps(t);
  left = leave(c, state, t, mp_clock_wall() + seconds) == LEFT;
  mp_tracee_end_steps(t);
  return left;
}
