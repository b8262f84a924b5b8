/* SPDX-License-Identifier: MIT */
/*
** Snapshots. See vm/snap.h.
*/
#include "config.h"

#include <stdbool.h>
#include <string.h>

#include "vm/layout.h"
#include "vm/snap.h"

#ifdef MP_LAYOUT

const char *mp_snap_get(const char *T, uint32_t i)
{
  return AT(const char *, T, TR_SNAP) + (size_t)i * SNAP_SIZE;
}

const uint32_t *mp_snap_entries(const char *T, const char *snap)
{
  return AT(const uint32_t *, T, TR_SNAPMAP) + AT(uint32_t, snap, SNAP_MAPOFS);
}

/* The word behind the entries: PC and base. */
static uint64_t pcbase(const char *T, const char *snap)
{
  uint64_t v;
  memcpy(&v, mp_snap_entries(T, snap) + AT(uint8_t, snap, SNAP_NENT),
	 sizeof(v));
  return v;
}

uint64_t mp_snap_pc(const char *T, const char *snap, uint32_t *baseofs)
{
  uint64_t v = pcbase(T, snap);
  *baseofs = SNAP_BASE(v);
  return SNAP_PC(v);
}

/* -- Behind a check ------------------------------------------------------ */

/*
** Where the function changes, or the line, the compiler checks whether the
** profiler wants to run, and makes a snapshot behind the check. It drops that
** snapshot if another one comes and nothing between them can leave the trace,
** above all in the loop, which is a second copy of the instructions. So the
** last snapshot before an address behind the check can be one of the caller, or
** of the line before. The one that comes next is in the right function.
*/

/* Whether there is a check between two offsets into the machine code. */
static bool has_check(const char *T, uint64_t from, uint64_t to)
{
  const uint8_t *code = AT(const uint8_t *, T, TR_MCODE);
  for (; from + CHECK_SIZE <= to; from += CODE_UNIT)
    if (mp_machine_is_check(code + from)) return true;
  return false;
}

/* Whether an instruction has that op: that many before the constant nil's. */
static bool is_op(const char *T, uint32_t ref, int op)
{
  const char *ir = AT(const char *, T, TR_IR);
  return AT(uint8_t, ir, (size_t)ref * IR_SIZE + IR_OP) + op ==
	 AT(uint8_t, ir, (size_t)REF_NIL * IR_SIZE + IR_OP);
}

static uint32_t snap_ref(const char *T, uint32_t i)
{
  return AT(uint16_t, mp_snap_get(T, i), SNAP_REF);
}

/* The number of the snapshot at the beginning of the loop; 0: there is none. */
static uint32_t loop_snap(const char *T)
{
  uint32_t i = AT(uint16_t, T, TR_NSNAP);
  while (i-- > 1)
    if (is_op(T, snap_ref(T, i), OP_LOOP)) return i;
  return 0;
}

/* The next entry of a frame's link from *i on; 0: there is none. */
static uint32_t next_link(const uint32_t *map, uint32_t n, uint32_t *i)
{
  while (*i < n) {
    uint32_t e = map[(*i)++];
    if (e & ENT_FRAME) return e;
  }
  return 0;
}

/* Whether two snapshots are at one place, in the same frames. */
static bool same_place(const char *T, const char *a, const char *b)
{
  const uint32_t *ma = mp_snap_entries(T, a), *mb = mp_snap_entries(T, b);
  uint32_t na = AT(uint8_t, a, SNAP_NENT), nb = AT(uint8_t, b, SNAP_NENT);
  uint32_t i = 0, k = 0, link;
  if (pcbase(T, a) != pcbase(T, b)) return false;
  do {
    link = next_link(ma, na, &i);
    if (link != next_link(mb, nb, &k)) return false;
  } while (link != 0);
  return true;
}

/* The snapshot before the loop that one in the loop is a copy of. The one at
** the end of the loop may have been dropped. 0: not found. */
static uint32_t original(const char *T, uint32_t copy, uint32_t loop)
{
  uint32_t i = loop;
  if (copy == AT(uint16_t, T, TR_NSNAP)) return loop;
  while (--i > 0)
    if (!is_op(T, snap_ref(T, i) - 1, OP_PROF) &&
	same_place(T, mp_snap_get(T, i), mp_snap_get(T, copy)))
      break;
  return i;
}

/* The snapshot behind the last check before another one; NULL: it was dropped,
** too. */
static const char *behind_check(const char *T, uint32_t i)
{
  uint32_t ref = snap_ref(T, i) - 1;
  while (ref > TR_INS0 && !is_op(T, ref, OP_PROF)) ref--;
  while (i > 0 && snap_ref(T, i) > ref + 1) i--;
  return i > 0 && snap_ref(T, i) == ref + 1 ? mp_snap_get(T, i) : NULL;
}

/* The original of a snapshot that was dropped, or else the one that came next,
** which has that number. */
static mp_snap dropped(const char *T, uint32_t next)
{
  uint32_t loop = loop_snap(T);
  uint32_t i = loop != 0 && next > loop ? original(T, next, loop) : 0;
  const char *snap = i > 0 ? behind_check(T, i) : NULL;
  if (snap != NULL) return (mp_snap){ snap, false };
  if (next == AT(uint16_t, T, TR_NSNAP)) next = loop != 0 ? loop : next - 1;
  return (mp_snap){ mp_snap_get(T, next), true };
}

/* -- The snapshot of a place --------------------------------------------- */

uint64_t mp_snap_offset(const char *snap)
{
  return (uint64_t)AT(uint16_t, snap, SNAP_MCOFS) * CODE_UNIT;
}

/* The number of the last snapshot at or before an offset into the machine code,
** where the first one is. */
static uint32_t last_before(const char *T, uint64_t ofs)
{
  uint32_t i = AT(uint16_t, T, TR_NSNAP);
  while (i-- > 1)
    if (mp_snap_offset(mp_snap_get(T, i)) <= ofs) return i;
  return 0;
}

mp_snap mp_snap_at(const char *T, uint64_t addr)
{
  uint64_t ofs = addr - AT(uint64_t, T, TR_MCODE);
  uint32_t i = last_before(T, ofs);
  const char *snap = mp_snap_get(T, i);
  return has_check(T, mp_snap_offset(snap), ofs) ?
	 dropped(T, i + 1) : (mp_snap){ snap, false };
}

/* Whether code between two offsets has changed the base. What follows up to
** the next snapshot only loads constants. */
static bool has_store(const char *T, uint64_t from, uint64_t to, int32_t base)
{
  const uint8_t *code = AT(const uint8_t *, T, TR_MCODE);
  for (; from + STORE_SIZE <= to; from += CODE_UNIT)
    if (mp_machine_is_store(code + from, base)) return true;
  return false;
}

mp_snap mp_snap_interrupted(const char *T, uint64_t addr, int32_t base)
{
  uint64_t ofs = addr - AT(uint64_t, T, TR_MCODE);
  uint32_t i = last_before(T, ofs);
  const char *snap = mp_snap_get(T, i);
  if (!has_store(T, mp_snap_offset(snap), ofs, base))
    return mp_snap_at(T, addr);
  return (mp_snap){ i + 1 < AT(uint16_t, T, TR_NSNAP) ?
		    mp_snap_get(T, i + 1) : NULL, false };
}

const char *mp_snap_of(const char *T, uint32_t ref)
{
  uint32_t i = AT(uint16_t, T, TR_NSNAP);
  while (i-- > 1) {
    const char *snap = mp_snap_get(T, i);
    if (AT(uint16_t, snap, SNAP_REF) <= ref) return snap;
  }
  return mp_snap_get(T, 0);
}

#endif
