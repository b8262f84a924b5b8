/* SPDX-License-Identifier: MIT */
/*
** Sizes of objects, and of the VM's own memory. See heapwalk/size.h.
*/
#include "config.h"

#include <string.h>

#include "heapwalk/size.h"
#include "vm/layout.h"

#ifdef MP_LAYOUT

static uint64_t table_size(const char *t)
{
  uint64_t asize = AT(uint32_t, t, TAB_ASIZE);
  uint64_t hmask = AT(uint32_t, t, TAB_HMASK);
  int8_t colo = AT(int8_t, t, TAB_COLO);
  return TAB_SIZE + (uint64_t)(colo & TAB_COLOSIZE) * sizeof(slot) +
	 (colo <= 0 ? asize * sizeof(slot) : 0) +
	 (hmask > 0 ? (hmask + 1) * NODE_SIZE : 0);
}

static uint64_t userdata_size(const char *u)
{
  uint64_t size = UD_DATA + (uint64_t)AT(uint32_t, u, UD_LEN);
  const char *b = u + UD_DATA;
  if (AT(uint8_t, u, UD_TYPE) == UD_BUFFER && size >= UD_DATA + SBUF_SIZE &&
      !(AT(uint32_t, b, SBUF_FLAGS) & (SBUF_COW | SBUF_BORROW)))
    size += (uint64_t)(AT(char *, b, SBUF_E) - AT(char *, b, SBUF_B));
  return size;
}

/* The data of a cdata without a header before it have the size of their
** type. */
static uint64_t cdata_size(const mp_heap *h, const char *cd)
{
  const char *cts = mp_heap_ctstate(h);
  const char *types = AT(const char *, cts, CTS_TAB), *ct;
  uint32_t info;
  if (AT(uint8_t, cd, OBJ_MARKED) & OBJ_CDATAVAR)
    return (uint64_t)AT(uint32_t, cd, CDV_LEN) + AT(uint16_t, cd, CDV_EXTRA);
  ct = types + (size_t)AT(uint16_t, cd, CD_TYPE) * CT_SIZE;
  while (CT_KIND(info = AT(uint32_t, ct, CT_INFO)) == CT_ATTRIB)
    ct = types + (size_t)CT_CHILD(info) * CT_SIZE;
  return CD_SIZE + (CT_KIND(info) <= CT_HASSIZE ?
		    (uint64_t)AT(uint32_t, ct, CT_BYTES) : sizeof(void *));
}

static uint64_t trace_size(const char *t)
{
  return TR_SIZE +
    (uint64_t)(AT(uint32_t, t, TR_NINS) - AT(uint32_t, t, TR_NK)) * IR_SIZE +
    (uint64_t)AT(uint16_t, t, TR_NSNAP) * SNAP_SIZE +
    (uint64_t)AT(uint32_t, t, TR_NSNAPMAP) * SNAPMAP_SIZE;
}

uint64_t mp_heap_size(const mp_heap *h, const char *o)
{
  uint64_t n;
  switch (obj_gct(o)) {
  case GCT_STR:
    return STR_SIZE(h->layout->data, (uint64_t)mp_heap_strlen(h, o),
		    h->layout->round);
  case GCT_UPVAL: return UPVAL_SIZE;
  case GCT_THREAD:  /* The main thread is part of the VM's state. */
    return (o == h->mainl ? 0 : h->layout->thread) +
	   (uint64_t)AT(uint32_t, o, L_STACKSIZE) * sizeof(slot);
  case GCT_PROTO: return AT(uint32_t, o, PT_SIZE);
  case GCT_FUNC:
    n = AT(uint8_t, o, FUNC_NUPVALUES);
    return AT(uint8_t, o, FUNC_FFID) ? FUNC_CUPVALUES + n * sizeof(slot) :
				       FUNC_UPVALUES + n * sizeof(gcref);
  case GCT_TRACE: return trace_size(o);
  case GCT_CDATA: return cdata_size(h, o);
  case GCT_TAB: return table_size(o);
  case GCT_UDATA: return userdata_size(o);
  default: return 0;
  }
}

static void add_part(mp_heapparts *p, int i, const void *block, uint64_t size)
{
  p->block[i] = block;
  p->size[i] = size;
  p->size[0] -= size;
}

void mp_heap_parts(const mp_heap *h, const char *o, mp_heapparts *p)
{
  uint64_t size = mp_heap_size(h, o);
  memset(p, 0, sizeof(*p));
  p->block[0] = o;
  p->size[0] = size;
  switch (obj_gct(o)) {
  case GCT_CDATA:
    if (AT(uint8_t, o, OBJ_MARKED) & OBJ_CDATAVAR)
      p->block[0] = o - AT(uint16_t, o, CDV_OFFSET);
    break;
  case GCT_TAB:
    if (AT(uint32_t, o, TAB_ASIZE) > 0 && AT(int8_t, o, TAB_COLO) <= 0)
      add_part(p, 1, REF(const void *, o, TAB_ARRAY),
	       (uint64_t)AT(uint32_t, o, TAB_ASIZE) * sizeof(slot));
    if (AT(uint32_t, o, TAB_HMASK) > 0)
      add_part(p, 2, REF(const void *, o, TAB_NODE),
	       ((uint64_t)AT(uint32_t, o, TAB_HMASK) + 1) * NODE_SIZE);
    break;
  case GCT_THREAD:
    add_part(p, 1, REF(const void *, o, L_STACK),
	     (uint64_t)AT(uint32_t, o, L_STACKSIZE) * sizeof(slot));
    break;
  case GCT_UDATA:
    size -= UD_DATA + (uint64_t)AT(uint32_t, o, UD_LEN);
    if (size > 0)
      add_part(p, 1, AT(const void *, o, UD_DATA + SBUF_B), size);
    break;
  default: break;
  }
}

/* `n` slots, of which one in `size` bytes has its value at the start. */
static mp_heapslots look_slots(const char *slots, uint64_t n, size_t size)
{
  uint64_t i, used = 0;
  for (i = 0; i < n; i++) used += !IS_NIL(AT(slot, slots, i * size));
  return (mp_heapslots){ n, used, n * size, (n - used) * size };
}

void mp_heap_tableparts(const char *t, mp_heapslots *array, mp_heapslots *hash)
{
  uint32_t asize = AT(uint32_t, t, TAB_ASIZE);
  uint32_t hmask = AT(uint32_t, t, TAB_HMASK);
  const char *slots = REF(const char *, t, TAB_ARRAY);
  if (asize > 0 && IS_NIL(AT(slot, slots, 0))) {  /* That of index 0. */
    slots += sizeof(slot);
    asize--;
  }
  *array = look_slots(slots, asize, sizeof(slot));
  *hash = look_slots(REF(const char *, t, TAB_NODE) + NODE_VAL,
		     hmask > 0 ? (uint64_t)hmask + 1 : 0, NODE_SIZE);
}

void mp_heap_slots(const char *o, mp_heapslots *s)
{
  mp_heapslots array, hash;
  if (obj_gct(o) != GCT_TAB) return;
  mp_heap_tableparts(o, &array, &hash);
  mp_heap_addslots(s, &array);
  mp_heap_addslots(s, &hash);
}

const char *mp_heap_payload(const mp_heap *h, const char *o, uint64_t *len)
{
  switch (obj_gct(o)) {
  case GCT_UDATA:
    *len = AT(uint32_t, o, UD_LEN);
    return o + UD_DATA;
  case GCT_CDATA:
    *len = AT(uint8_t, o, OBJ_MARKED) & OBJ_CDATAVAR ?
	   AT(uint32_t, o, CDV_LEN) : cdata_size(h, o) - CD_SIZE;
    return o + CD_SIZE;
  default: return NULL;
  }
}

bool mp_heap_own(const mp_heap *h, uint64_t objects, mp_heapown *own)
{
  const char *cts = mp_heap_ctstate(h);
  const char *buf = h->g + h->layout->tmpbuf;
  uint32_t n = h->layout->bufword;
  uint64_t known;
  own->total = AT(gcsize, h->g, h->layout->alloc + G_TOTAL);
  own->state = h->layout->state;
  own->strtab = ((uint64_t)AT(uint32_t, mp_heap_strtab(h), STRTAB_MASK) + 1) *
		sizeof(gcref);
  own->ctypes = cts == NULL ? 0 : h->layout->ctstate +
    (uint64_t)AT(uint32_t, cts, CTS_SIZETAB) * CT_SIZE;
  own->buffer = (uint64_t)(BUF_WORD(buf + n, n) - BUF_WORD(buf + 2 * n, n));
  known = objects + own->state + own->strtab + own->ctypes + own->buffer;
  own->rest = own->total >= known ? own->total - known : 0;
  return own->total >= known;
}

#else

uint64_t mp_heap_size(const mp_heap *h, const char *obj)
{
  (void)h; (void)obj;
  return 0;
}

void mp_heap_parts(const mp_heap *h, const char *obj, mp_heapparts *parts)
{
  (void)h; (void)obj;
  memset(parts, 0, sizeof(*parts));
}

void mp_heap_tableparts(const char *tab, mp_heapslots *array,
			mp_heapslots *hash)
{
  (void)tab;
  memset(array, 0, sizeof(*array));
  memset(hash, 0, sizeof(*hash));
}

void mp_heap_slots(const char *obj, mp_heapslots *s)
{
  (void)obj; (void)s;
}

const char *mp_heap_payload(const mp_heap *h, const char *obj, uint64_t *len)
{
  (void)h; (void)obj;
  *len = 0;
  return NULL;
}

bool mp_heap_own(const mp_heap *h, uint64_t objects, mp_heapown *own)
{
  (void)h; (void)objects;
  memset(own, 0, sizeof(*own));
  return false;
}

#endif

void mp_heap_addslots(mp_heapslots *to, const mp_heapslots *s)
{
  to->all += s->all;
  to->used += s->used;
  to->bytes += s->bytes;
  to->empty += s->empty;
}
