/* SPDX-License-Identifier: MIT */
/*
** See attach/trace.h. Layout: vm/layout.h.
*/
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "attach/trace.h"
#include "vm/layout.h"

#define INS_MAX	(1 << 16)	/* Instructions or constants of a trace. */

/* -- Reading ------------------------------------------------------------- */

static void *copy(pid_t pid, uint64_t from, size_t n)
{
  void *p = malloc(n + 1);
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
	  ip - AT(uint64_t, head, TR_MCODE) < AT(uint32_t, head, TR_SZMCODE));
}

/* Searches the trace array behind the global state, and in it the trace. */
static uint64_t find(pid_t pid, const mp_found *state, int32_t n, uint64_t ip,
		     char *head, uint64_t *array)
{
  char words[J_ARRAY_SEARCH];
  uint64_t at;
  uint32_t i;
  if (!mp_remote_read(pid, words, state->vmstate, sizeof(words))) return 0;
  for (i = 0; i + TRACES_END <= sizeof(words); i += 8) {
    uint32_t size = AT(uint32_t, words, i + TRACES_SIZE);
    *array = AT(uint64_t, words, i);
    if (*array == 0 || (*array & 7) != 0 || size <= (uint32_t)n ||
	size > TRACES_MAX || AT(uint32_t, words, i + TRACES_FREE) > size)
      continue;
    if (mp_remote_read(pid, &at, *array + (uint32_t)n * 8, 8) &&
	is_running(pid, at, n, ip, head))
      return at;
  }
  return 0;
}

/* Machine code of the root trace with that number, or 0. */
static uint64_t root_code(pid_t pid, uint64_t array, uint32_t n)
{
  char head[TR_SIZE];
  uint64_t at;
  if (n == 0 || !mp_remote_read(pid, &at, array + n * 8, 8) || at == 0 ||
      !mp_remote_read(pid, head, at, sizeof(head)) ||
      obj_gct(head) != GCT_TRACE || AT(uint16_t, head, TR_NUMBER) != n ||
      AT(uint16_t, head, TR_ROOT) != 0)
    return 0;
  return AT(uint64_t, head, TR_MCODE);
}

bool mp_far_trace_read(mp_far_trace *t, const mp_maps *m,
		       const mp_found *state, uint64_t ip)
{
  char head[TR_SIZE];
  uint64_t array;
  int32_t n;
  memset(t, 0, sizeof(*t));
  if (!mp_remote_read(m->pid, &n, state->vmstate, sizeof(n)) || n <= 0)
    return false;
  t->address = find(m->pid, state, n, ip, head, &array);
  if (t->address == 0) return false;
  t->mcode = AT(uint64_t, head, TR_MCODE);
  t->size = AT(uint32_t, head, TR_SZMCODE);
  t->loop = AT(uint32_t, head, TR_MCLOOP);
  t->nins = AT(uint32_t, head, TR_NINS);
  t->nk = AT(uint32_t, head, TR_NK);
  t->nsnap = AT(uint16_t, head, TR_NSNAP);
  t->nmap = AT(uint32_t, head, TR_NSNAPMAP);
  if (t->nk > TR_INS0 || t->nins < TR_INS0 || t->nins - t->nk > INS_MAX ||
      t->nsnap == 0 || t->nmap > INS_MAX)
    return false;
  t->ir = copy(m->pid, AT(uint64_t, head, TR_IR) + t->nk * IR_SIZE,
	       (t->nins - t->nk) * IR_SIZE);
  t->snaps = copy(m->pid, AT(uint64_t, head, TR_SNAP), t->nsnap * SNAP_SIZE);
  t->map = copy(m->pid, AT(uint64_t, head, TR_SNAPMAP),
		t->nmap * SNAPMAP_SIZE);
  t->link = root_code(m->pid, array, AT(uint16_t, head, TR_LINKS));
  return t->ir != NULL && t->snaps != NULL && t->map != NULL;
}

void mp_far_trace_free(mp_far_trace *t)
{
  free(t->ir);
  free(t->snaps);
  free(t->map);
  memset(t, 0, sizeof(*t));
}

/* -- Instructions -------------------------------------------------------- */

static const char *ins(const mp_far_trace *t, uint32_t ref)
{
  static const char none[IR_SIZE];
  return ref >= t->nk && ref < t->nins ? t->ir + (ref - t->nk) * IR_SIZE : none;
}

static uint8_t op(const mp_far_trace *t, uint32_t ref)
{
  return AT(const uint8_t, ins(t, ref), IR_OP);
}

/* The op of the constant nil; others are known by their distance to it. */
static uint8_t base_op(const mp_far_trace *t) { return op(t, REF_NIL); }

static uint32_t snap_ref(const mp_far_trace *t, uint32_t s)
{
  return s < t->nsnap ? AT(uint16_t, t->snaps, s * SNAP_SIZE + SNAP_REF) :
	 t->nins;
}

/* The slots that a snapshot lists; none, where it is out of bounds. */
static const uint32_t *entries(const mp_far_trace *t, uint32_t s, uint32_t *n)
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

bool mp_far_trace_begins(const mp_far_trace *t)
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
static uint8_t reg_at(const mp_far_trace *t, uint32_t ref, uint32_t snap)
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
static bool handed_on(const mp_far_trace *t, uint32_t ref, uint32_t snap,
		      mp_far_value *v)
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
    v->narrow = (AT(const uint8_t, ins(t, ref), IR_TYPE) & IRT_TYPES) ==
		IRT_INT;
    return v->from < REG_NONE && AT(const uint8_t, phi, IR_SPILL) == 0 &&
	   (v->spill != 0 || v->reg < REG_NONE);
  }
  return false;
}

uint32_t mp_far_trace_loops(const mp_far_trace *t,
			    mp_far_value list[MP_FAR_VALUES], int *n)
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
	(*n == MP_FAR_VALUES || !handed_on(t, ENT_REF(e[i]), s, &list[(*n)++])))
      return 0;
  return e != NULL ? s : 0;
}

bool mp_far_trace_repeats(const mp_far_trace *t, uint32_t exit)
{
  uint32_t ref;
  if (exit >= t->nsnap || exit == 0) return false;
  for (ref = snap_ref(t, exit); ref < snap_ref(t, exit + 1); ref++)
    if (op(t, ref) < OP_COMPARES || op(t, ref) == OP_RETF) return false;
  return true;
}
