/* SPDX-License-Identifier: MIT */
/*
** See sample/listing.h.
*/
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "data/mem.h"
#include "sample/listing.h"
#include "vm/frame.h"
#include "vm/ir.h"
#include "vm/jitstate.h"
#include "vm/snap.h"
#include "vm/trace.h"
#include "vm/variant.h"

#define LENGTH_MAX	(128u * 1024)	/* Of one listing. */
#define SHOWN		40u		/* Bytes of a string that are shown. */
#define NAME_SHOWN	200u		/* And of a chunk's name. */

void mp_listing_begin(mp_listing *l)
{
  l->length = 0;
  l->cut = false;
  l->proto = NULL;
}

void mp_listing_free(mp_listing *l)
{
  mp_free(l->text);
  memset(l, 0, sizeof(*l));
}

#ifdef MP_LAYOUT

/* Makes room for n more bytes, and the end of the text. */
static bool has_room(mp_listing *l, size_t n)
{
  if (!l->cut && (l->length + n >= LENGTH_MAX ||
		  !mp_mem_room(&l->text, l->length + (uint32_t)n, &l->cap, 1)))
    l->cut = true;
  return !l->cut;
}

__attribute__((format(printf, 2, 3)))
static void add(mp_listing *l, const char *format, ...)
{
  char buf[128];
  va_list ap;
  int n;
  va_start(ap, format);
  n = vsnprintf(buf, sizeof(buf), format, ap);
  va_end(ap);
  if (n < 0 || (size_t)n >= sizeof(buf) || !has_room(l, (size_t)n)) return;
  memcpy(l->text + l->length, buf, (size_t)n + 1);
  l->length += (uint32_t)n;
}

/* Adds a text without line ends. */
static void add_text(mp_listing *l, const char *s, size_t len, size_t most)
{
  size_t i, n = len < most ? len : most;
  for (i = 0; i < n; i++) {
    unsigned char c = (unsigned char)s[i];
    add(l, c < ' ' || c == '\\' || c == 0x7f ? "\\%03u" : "%c", c);
  }
  if (n < len) add(l, "...");
}

/* Adds a function's chunk, and the line where it is defined. */
static void add_proto(mp_listing *l, const char *proto)
{
  size_t len;
  const char *s = mp_proto_chunkname(proto, &len);
  add(l, "%d ", mp_proto_firstline(proto));
  add_text(l, s, len, NAME_SHOWN);
}

/* Adds an object by its type, and what tells it from others. */
static void add_object(mp_listing *l, const char *o)
{
  uint8_t type = obj_gct(o);
  add(l, " o%u ", type);
  if (type == GCT_STR)
    add_text(l, o + mp_variant_data(), AT(uint32_t, o, mp_variant_len()),
	     SHOWN);
  else if (type == GCT_PROTO || (type == GCT_FUNC && func_proto(o) != NULL))
    add_proto(l, type == GCT_PROTO ? o : func_proto(o));
  else if (type == GCT_FUNC)
    add(l, "%u", AT(uint8_t, o, FUNC_FFID));
}

/* -- Bytecode -------------------------------------------------------------- */

/* The operand that is the number of a constant: none, a string's or that of a
** number, in the wide operand or in the third one. */
typedef enum operand { NO_CONST, WIDE_STR, WIDE_NUM, THIRD_STR, THIRD_NUM }
  operand;

static operand constant_of(uint8_t op)
{
  switch (op) {
  case BC_ISEQS: case BC_ISNES: case BC_KSTR: case BC_USETS: case BC_GGET:
  case BC_GSET:
    return WIDE_STR;
  case BC_ISEQN: case BC_ISNEN: case BC_KNUM: case BC_USETN:
    return WIDE_NUM;
  case BC_TGETS: case BC_TSETS:
    return THIRD_STR;
  default:
    return op >= BC_ADDVN && op <= BC_MODNV ? THIRD_NUM : NO_CONST;
  }
}

static void add_constant(mp_listing *l, const char *proto, uint32_t ins)
{
  operand what = constant_of(ins & 0xff);
  uint32_t i = what == THIRD_STR || what == THIRD_NUM ? ins >> 16 & 0xff :
	       ins >> 16;
  const char *k = REF(const char *, proto, PT_K);
  if (what == WIDE_STR || what == THIRD_STR) {
    if (i < AT(uint32_t, proto, PT_SIZEKGC))
      add_object(l, (const char *)(uintptr_t)((const gcref *)k)[-1 - (int)i]);
  } else if (what != NO_CONST && i < AT(uint32_t, proto, PT_SIZEKN)) {
    add(l, " n%016" PRIx64, AT(uint64_t, k, (size_t)i * 8));
  }
}

static void add_bytecode(mp_listing *l, const char *proto, uint32_t pos,
			 uint32_t depth, uint32_t ins)
{
  add(l, "B %u %u %u %d", depth, pos, ins, mp_jitstate_line(proto, pos));
  add_constant(l, proto, ins);
  add(l, "\n");
}

#define COMPARISONS	16u	/* The first operations: a jump follows each. */

void mp_listing_bytecode(mp_listing *l, const char *proto, uint32_t pos,
			 uint32_t depth)
{
  const uint32_t *bc = &AT(const uint32_t, proto, PT_BC);
  uint32_t n = AT(uint32_t, proto, PT_SIZEBC);
  if (pos >= n) return;
  if (proto != l->proto) {
    add(l, "F ");
    add_proto(l, proto);
    add(l, "\n");
  }
  l->proto = proto;
  add_bytecode(l, proto, pos, depth, bc[pos]);
  if ((bc[pos] & 0xff) < COMPARISONS && pos + 1 < n)
    add_bytecode(l, proto, pos + 1, depth, bc[pos + 1]);
}

void mp_listing_builtin(mp_listing *l, uint32_t ffid, uint32_t depth)
{
  add(l, "C %u %u\n", depth, ffid);
}

/* -- The compiler's instructions ------------------------------------------- */

static void add_constants(mp_listing *l, const char *T)
{
  uint32_t ref;
  for (ref = AT(uint32_t, T, TR_NK); ref < REF_CONST; ref++) {
    uint64_t v;
    int op = mp_trace_const(T, ref, &v);
    add(l, "K %u %u %u", ref, ir_byte(T, ref, IR_OP),
	ir_byte(T, ref, IR_TYPE) & IRT_TYPES);
    if (op == K_GC) add_object(l, (const char *)(uintptr_t)v);
    else add(l, " n%016" PRIx64, v);
    add(l, "\n");
    if (CONST_WIDE(op)) ref++;  /* The value takes an instruction's place. */
  }
}

static void add_instructions(mp_listing *l, const char *T)
{
  uint32_t ref, i = 0, n = AT(uint16_t, T, TR_NSNAP);
  for (ref = TR_INS0 + 1; ref < AT(uint32_t, T, TR_NINS); ref++) {
    while (i < n && AT(uint16_t, mp_snap_get(T, i), SNAP_REF) <= ref)
      add(l, "S %u\n", i++);
    add(l, "I %u %u %u %u %u\n", ref, ir_byte(T, ref, IR_OP),
	ir_byte(T, ref, IR_TYPE), ir_ref(T, ref, IR_OP1),
	ir_ref(T, ref, IR_OP2));
  }
}

char *mp_listing_end(mp_listing *l, const char *T)
{
  add_constants(l, T);
  add_instructions(l, T);
  add(l, "Z\n");
  return l->text != NULL ? mp_mem_string(l->text) : NULL;
}

#else

void mp_listing_bytecode(mp_listing *l, const char *proto, uint32_t pos,
			 uint32_t depth)
{
  (void)l; (void)proto; (void)pos; (void)depth;
}

void mp_listing_builtin(mp_listing *l, uint32_t ffid, uint32_t depth)
{
  (void)l; (void)ffid; (void)depth;
}

char *mp_listing_end(mp_listing *l, const char *trace)
{
  (void)l; (void)trace;
  return NULL;
}

#endif
