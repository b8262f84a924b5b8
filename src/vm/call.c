/* SPDX-License-Identifier: MIT */
/*
** Calls in machine code. See vm/call.h.
*/
#include "config.h"

#include "vm/call.h"
#include "vm/layout.h"
#include "vm/snap.h"
#include "vm/trace.h"

#ifdef MP_LAYOUT

typedef const uint8_t *code;

/* The call that returns to that address, or NULL. */
static code call_at(const char *T, uint64_t addr)
{
  code p = (code)(uintptr_t)addr - CALL_SIZE;
  return p >= AT(code, T, TR_MCODE) && mp_machine_call(p) != NULL ? p :
	 NULL;
}

const void *mp_call_target(const char *T, uint64_t addr)
{
  code call = call_at(T, addr);
  return call ? mp_machine_call(call) : NULL;
}

bool mp_call_returns(const char *T, uint64_t addr)
{
  return call_at(T, addr) != NULL;
}

/* The next call of the same function from p on, before `end`, or NULL. */
static code next_call(code call, code p, code end)
{
  code function = mp_machine_call(call);
  for (; p + CALL_SIZE <= end; p += CODE_UNIT)
    if (mp_machine_call(p) == function) return p;
  return NULL;
}

static uint32_t count_calls(code call, code p, code end)
{
  uint32_t n = 0;
  for (; (p = next_call(call, p, end)) != NULL; p += CALL_SIZE) n++;
  return n;
}

uint32_t mp_call_index(const char *T, uint64_t addr)
{
  code call = call_at(T, addr);
  return call ? count_calls(call, AT(code, T, TR_MCODE), call) : MP_CALL_NONE;
}

static mp_snap snap_of_call(const char *T, code call)
{
  return mp_snap_at(T, (uint64_t)(uintptr_t)call + CALL_SIZE);
}

/* The instruction of a snapshot, or 0. */
static uint64_t pc_of(const char *T, mp_snap s)
{
  uint32_t base;
  return s.snap != NULL ? mp_snap_pc(T, s.snap, &base) : 0;
}

/* The call in the loop corresponds to one of those before the loop, but it is
** not known to which. Returns the snapshot in the loop if it is at the same
** instruction as one of theirs, or their snapshot if all of these are at one
** instruction. */
static mp_snap common_snap(const char *T, code call, mp_snap in_loop, code p,
			   code loop)
{
  mp_snap snap = { NULL, false };
  uint64_t here = pc_of(T, in_loop);
  bool several = false;
  for (; (p = next_call(call, p, loop)) != NULL; p += CALL_SIZE) {
    mp_snap s = snap_of_call(T, p);
    uint64_t other = pc_of(T, s);
    if (other == here) return in_loop;
    several |= snap.snap != NULL && other != pc_of(T, snap);
    snap = s;
  }
  return several ? (mp_snap){ NULL, false } : snap.snap ? snap : in_loop;
}

mp_snap mp_call_snap(const char *T, uint64_t addr)
{
  mp_snap snap = mp_snap_at(T, addr);
  code start = AT(code, T, TR_MCODE), call = call_at(T, addr);
  code loop = start + AT(uint32_t, T, TR_MCLOOP), p;
  uint32_t n;
  if (loop == start || call == NULL || call < loop) return snap;
  n = count_calls(call, loop, call);
  if (count_calls(call, start, loop) !=
      count_calls(call, loop, start + AT(uint32_t, T, TR_SZMCODE)))
    return common_snap(T, call, snap, start, loop);
  for (p = next_call(call, start, loop); n > 0; n--)
    p = next_call(call, p + CALL_SIZE, loop);
  return snap_of_call(T, p);
}

#endif
