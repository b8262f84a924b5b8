/* SPDX-License-Identifier: MIT */
/*
** See attach/leave.h.
**
** A trace can be left where a guard may fail: each exit has a stub of code, and
** at the guard everything that the stub needs is in its place. The thread is
** sent to the stub as if the guard had failed. Three kinds of places are
** suitable: the guards of an instruction that the interpreter can simply
** execute again; the beginning of a root trace that another trace ends in; and
** the beginning of a loop.
*/
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "attach/leave.h"
#include "attach/trace.h"
#include "data/clock.h"

#define TIME	0.02		/* Seconds, at most. */
#define CODE_MAX (64 << 20)	/* Bytes of code that are searched. */
#define MOVES	24		/* Moves at the beginning of a loop, at most. */
#define HEAD_STEPS 2		/* Until a trace has noted its number. */

#define PUSH_BYTE 0x6a
#define JUMP_SHORT 0xeb
#define JUMP_NEAR 0xe9
#define NEAR_PREFIX 0x0f
#define NEAR_SIZE 5		/* Of a near jump; a conditional one has 6. */
#define STUB_SIZE 4
#define SPILL_SIZE 4

static uint64_t destination(uint64_t end, const uint8_t *distance)
{
  int32_t d;
  memcpy(&d, distance, sizeof(d));
  return end + (uint64_t)(int64_t)d;
}

/* The exit's number if the code there is the stub of one: it pushes the number,
** byte by byte, and jumps to the VM. Less than 0: it is none. */
static int stub_number(const mp_code *c, uint64_t at)
{
  const mp_mapping *a = mp_maps_find(c->maps, at);
  uint8_t b[2 + NEAR_SIZE], low;
  if (!mp_maps_compiled(a) ||
      !mp_remote_read(c->maps->pid, b, at, STUB_SIZE) || b[0] != PUSH_BYTE)
    return -1;
  low = b[1];
  at += b[2] == JUMP_SHORT ? (uint64_t)STUB_SIZE + b[3] : 2u;
  if (!mp_remote_read(c->maps->pid, b, at, sizeof(b)) || b[0] != PUSH_BYTE ||
      b[2] != JUMP_NEAR)
    return -1;
  a = mp_maps_find(c->maps, destination(at + sizeof(b), b + 3));
  if (a == NULL || !a->executable || !mp_maps_same(a, c->vm)) return -1;
  return low | b[1] << 8;
}

/* Searches a mapping of compiled code for the stub of an exit. */
static uint64_t find_stub_in(const mp_code *c, const mp_mapping *a, uint32_t n)
{
  size_t size = a->to - a->from, i;
  uint8_t *code = size <= CODE_MAX ? malloc(size) : NULL;
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
static uint64_t find_stub(const mp_code *c, uint32_t n)
{
  uint64_t found = 0;
  int i;
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
  if ((*p & 0xf0) == 0x40) p++;
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

/* Whether the value is in its place. */
static bool in_place(const mp_code *c, const mp_tracee *t,
		     const mp_far_value *v, uint64_t value)
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
static bool settle(const mp_code *c, mp_tracee *t, const mp_far_value *list,
		   int n)
{
  uint64_t values[MP_FAR_VALUES];
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

static bool leave_loop(const mp_code *c, mp_tracee *t, const mp_far_trace *tr)
{
  mp_far_value list[MP_FAR_VALUES];
  int n;
  uint32_t exit = mp_far_trace_loops(tr, list, &n);
  uint64_t stub = exit != 0 ? find_stub(c, exit) : 0;
  if (stub == 0 || !settle(c, t, list, n)) return false;
  mp_tracee_jump(t, stub);
  return true;
}

static bool leave_guard(const mp_code *c, mp_tracee *t, const mp_far_trace *tr)
{
  uint64_t stub = guard_stub(c, mp_tracee_registers(t).ip);
  if (stub == 0 ||
      !mp_far_trace_repeats(tr, (uint32_t)stub_number(c, stub)))
    return false;
  mp_tracee_jump(t, stub);
  return true;
}

/* At the beginning of a root trace. One of its first instructions notes its
** number. */
static bool leave_root(const mp_code *c, const mp_found *state, mp_tracee *t)
{
  uint64_t begin = mp_tracee_registers(t).ip, stub = 0;
  int i;
  for (i = 0; i < HEAD_STEPS && stub == 0; i++) {
    mp_far_trace root;
    if (!mp_tracee_step(t)) return false;
    if (mp_far_trace_read(&root, c->maps, state, mp_tracee_registers(t).ip) &&
	root.mcode == begin && mp_far_trace_begins(&root))
      stub = find_stub(c, 0);
    mp_far_trace_free(&root);
  }
  if (stub != 0) mp_tracee_jump(t, stub);
  return stub != 0;
}

/* Lets a function return that compiled code has just called. */
static bool step_out(const mp_code *c, mp_tracee *t, double until)
{
  uint64_t ret;
  return mp_remote_read(c->maps->pid, &ret, mp_tracee_registers(t).sp, 8) &&
	 mp_maps_compiled(mp_maps_find(c->maps, ret)) &&
	 mp_tracee_run_to(t, ret, until);
}

typedef enum way { LEFT, STUCK, ANOTHER } way;

/* Steps to a way out of this trace, or to another trace. */
static way leave_trace(const mp_code *c, const mp_found *state, mp_tracee *t,
		       const mp_far_trace *tr, double until)
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
** loop, or the trace that it ends in. */
static bool to_trace(const mp_code *c, const mp_found *state, mp_tracee *t,
		     double until)
{
  mp_far_trace tr;
  bool there = false;
  if (mp_far_trace_read(&tr, c->maps, state, 0))
    there = mp_tracee_run_to(t, tr.loop != 0 ? tr.mcode + tr.loop : tr.link,
			     until);
  mp_far_trace_free(&tr);
  return there;
}

static way leave(const mp_code *c, const mp_found *state, mp_tracee *t)
{
  double until = mp_clock_wall() + TIME;
  way w = ANOTHER;
  if (!mp_maps_compiled(mp_maps_find(c->maps, mp_tracee_registers(t).ip)) &&
      !to_trace(c, state, t, until))
    return STUCK;
  while (w == ANOTHER) {
    mp_far_trace tr;
    w = STUCK;
    if (mp_far_trace_read(&tr, c->maps, state, mp_tracee_registers(t).ip))
      w = leave_trace(c, state, t, &tr, until);
    mp_far_trace_free(&tr);
  }
  return w;
}

bool mp_leave(const mp_code *c, const mp_found *state, mp_tracee *t)
{
  bool left;
  mp_tracee_begin_steps(t);
  left = leave(c, state, t) == LEFT;
  mp_tracee_end_steps(t);
  return left;
}
