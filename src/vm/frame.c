/* SPDX-License-Identifier: MIT */
/*
** Frames of a Lua stack. See vm/frame.h.
*/
#include "config.h"

#include <string.h>

#include "vm/frame.h"
#include "vm/layout.h"
#include "vm/variant.h"

#ifdef MP_LAYOUT

bool mp_frame_isfunc(slot v)
{
  const char *fn = PTR(v);
  if (TAG(v) != TAGFUNC || ((uintptr_t)fn & 7) || obj_gct(fn) != GCT_FUNC)
    return false;
  if (AT(uint8_t, fn, FUNC_FFID) != 0) return true;
  return obj_gct(func_proto(fn)) == GCT_PROTO;
}

const char *mp_frame_below(const char *cframe)
{
  return CF_RAW(AT(void *, cframe, mp_variant_prev()));
}

const char *mp_frame_cframe(lua_State *L, const slot *f, const slot *next)
{
  const char *cf = CF_RAW(AT(void *, L, L_CFRAME));
  const slot *stack = REF(slot *, L, L_STACK), *bottom = frame_bottom(L);
  if (mp_variant_prev() == 0) return NULL;
  while (cf != NULL && f > bottom) {
    while (AT(int32_t, cf, CF_NRES) < 0) {
      if ((const char *)f >= (const char *)stack - AT(int32_t, cf, CF_NRES))
	break;
      cf = mp_frame_below(cf);
      if (cf == NULL) return NULL;
    }
    if (f < next) return cf;
    if (LINK_ISC(frame_link(f)) ||
	(LINK_ISCONT(frame_link(f)) && frame_cont(f) == CONT_CALLBACK))
      cf = mp_frame_below(cf);
    f = frame_prev(f);
  }
  return NULL;
}

uint64_t mp_frame_cframepc(lua_State *L, const slot *f, const slot *next)
{
  const char *cf = mp_frame_cframe(L, f, next);
  return cf != NULL ? AT(gcref, cf, CF_PC) : 0;
}

uint64_t mp_frame_pc(lua_State *L, const slot *top, const slot *next)
{
  if (next == NULL) return mp_frame_toppc(CF_RAW(AT(void *, L, L_CFRAME)));
  if (LINK_ISLUA(frame_link(next))) return frame_link(next);
  if (LINK_ISCONT(frame_link(next))) return frame_contpc(next);
  return mp_frame_cframepc(L, top, next);
}

const slot *mp_frame_left(const slot *f, const slot *lim, uint64_t *pc)
{
  uint64_t link = 0;
  while (f > lim && (link = frame_link(f),
		     LINK_ISVARG(link) || LINK_ISPCALL(link)))
    f = frame_prev(f);
  if (f <= lim) return NULL;
  *pc = LINK_ISLUA(link) ? link : LINK_ISCONT(link) ? frame_contpc(f) : 0;
  return *pc != 0 ? f : NULL;
}

bool mp_proto_has(const char *pt, uint64_t pc)
{
  uint64_t ofs = pc - (uint64_t)(uintptr_t)(pt + PT_BC) - BC_SIZE;
  return ofs < (uint64_t)AT(uint32_t, pt, PT_SIZEBC) * BC_SIZE &&
	 ofs % BC_SIZE == 0;
}

const char *mp_proto_chunkname(const char *proto, size_t *len)
{
  const char *s = REF(const char *, proto, PT_CHUNKNAME);
  *len = AT(uint32_t, s, mp_variant_len());
  return s + mp_variant_data();
}

static uint32_t read_leb128(const uint8_t **p)
{
  uint32_t v = 0;
  int shift;
  for (shift = 0; shift < 32; shift += 7) {
    uint8_t b = *(*p)++;
    v |= (uint32_t)(b & 0x7f) << shift;
    if (b < 0x80) break;
  }
  return v;
}

const char *mp_proto_variable(const char *proto, uint32_t at, uint32_t index)
{
  const uint8_t *p = REF(const uint8_t *, proto, PT_VARINFO);
  uint32_t from = 0, to;
  while (p != NULL && *p != 0) {
    const char *name = (const char *)p;
    if (*p >= VARNAMES) p += strlen(name);
    p++;
    from += read_leb128(&p);
    if (from > at) break;
    to = from + read_leb128(&p);
    if (at < to && index-- == 0)
      return name[0] < VARNAMES ? "(for)" : name;
  }
  return NULL;
}

int mp_proto_firstline(const char *proto)
{
  return AT(int32_t, proto, PT_FIRSTLINE);
}

bool mp_proto_stripped(const char *proto)
{
  return AT(int32_t, proto, PT_FIRSTLINE) == 0 &&
	 AT(int32_t, proto, PT_NUMLINE) == 0;
}

#endif
