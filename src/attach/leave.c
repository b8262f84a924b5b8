/* SPDX-License-Identifier: MIT */
/*
** See attach/leave.h.
**
** A trace can be left where a guard may fail: there is code for that, one stub
** for each exit, and all that it needs is in its place. As if the guard failed,
** the thread is sent to the stub. Three kinds of places are right for that: the
** guards of an instruction that the interpreter can just execute again; the
** beginning of a root trace that another trace ends in; and that of a loop.
*/
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "attach/leave.h"
#include "attach/trace.h"

#define STEPS	3000		/* Instructions, at most. */
#define HEAD_STEPS 2		/* Until a trace has noted its number. */

#define PUSH_BYTE 0x6a
#define JUMP_SHORT 0xeb
#define JUMP_NEAR 0xe9
#define NEAR_PREFIX 0x0f
#define NEAR_SIZE 5		/* Of a near jump; a conditional one has 6. */
#define STUB_SIZE 4

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
  uint8_t *code = malloc(size);
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

/* Where the thread may be sent from ip; 0: nowhere. */
static uint64_t way_out(const mp_code *c, const mp_far_trace *t, uint64_t ip)
{
  uint64_t stub = guard_stub(c, ip);
  uint32_t exit;
  if (stub != 0 && mp_far_trace_repeats(t, (uint32_t)stub_number(c, stub)))
    return stub;
  if (t->loop != 0 && ip == t->mcode + t->loop &&
      (exit = mp_far_trace_loops(t)) != 0)
    return find_stub(c, exit);
  return 0;
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

/* Goes on to a way out of this trace. *another: it has come to another one. */
static bool leave_trace(const mp_code *c, const mp_found *state, mp_tracee *t,
			const mp_far_trace *trace, int *steps, bool *another)
{
  *another = false;
  while (--*steps > 0) {
    uint64_t ip = mp_tracee_registers(t).ip, to;
    if (ip == trace->link)
      return leave_root(c, state, t);
    if (ip - trace->mcode >= trace->size) {
      *another = mp_maps_compiled(mp_maps_find(c->maps, ip));
      return false;
    }
    to = way_out(c, trace, ip);
    if (to != 0) {
      mp_tracee_jump(t, to);
      return true;
    }
    if (!mp_tracee_step(t)) return false;
  }
  return false;
}

bool mp_leave(const mp_code *c, const mp_found *state, mp_tracee *t)
{
  int steps = STEPS;
  bool left = false, again = true;
  while (again && !left) {
    mp_far_trace trace;
    uint64_t ip = mp_tracee_registers(t).ip;
    again = mp_maps_compiled(mp_maps_find(c->maps, ip)) &&
	    mp_far_trace_read(&trace, c->maps, state, ip);
    if (!again) break;
    left = leave_trace(c, state, t, &trace, &steps, &again);
    mp_far_trace_free(&trace);
  }
  return left;
}
