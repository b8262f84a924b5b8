/* SPDX-License-Identifier: MIT */
/*
** Names for what a heap walk finds. See heapwalk/name.h.
*/
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "data/mem.h"
#include "data/spell.h"
#include "heapwalk/name.h"
#include "vm/frame.h"
#include "vm/layout.h"
#include "vm/variant.h"

#ifdef MP_LAYOUT

#define KEY_SHOWN	40	/* Bytes shown of a string. */

/* -- Texts --------------------------------------------------------------- */

typedef struct text {
  char *p;
  size_t left;			/* Bytes, with that for the zero. */
} text;

__attribute__((format(printf, 2, 3)))
static void put(text *t, const char *fmt, ...)
{
  va_list ap;
  int n;
  va_start(ap, fmt);
  n = vsnprintf(t->p, t->left, fmt, ap);
  va_end(ap);
  if (n <= 0 || t->left == 0) return;
  if ((size_t)n >= t->left) n = (int)t->left - 1;
  t->p += n;
  t->left -= (size_t)n;
}

static void put_bytes(text *t, const char *s, size_t len)
{
  char c[MP_SPELLED];
  size_t shown = 0;
  while (len > 0) {
    size_t taken = mp_spell(s, len, c);
    shown += strlen(c);
    if (shown > KEY_SHOWN) break;
    put(t, "%s", c[0] == '"' ? "'" : c);
    s += taken;
    len -= taken;
  }
  if (len > 0) put(t, "...");
}

static void put_string(text *t, const char *s) { put_bytes(t, s, strlen(s)); }

void mp_heap_keystart(const char *key, size_t len, char *buf, size_t n)
{
  text t = { buf, n };
  buf[0] = '\0';
  put_bytes(&t, key, len);
}

/* In no locale has a name of Lua other letters. */
static bool is_letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(const char *s, size_t len)
{
  size_t i;
  if (len == 0 || len > KEY_SHOWN || !is_letter(s[0])) return false;
  for (i = 1; i < len; i++)
    if (!is_letter(s[i]) && !(s[i] >= '0' && s[i] <= '9')) return false;
  return true;
}

/* "app.lua:12": the file without its directories. */
static void put_place(text *t, const char *pt)
{
  size_t len, i;
  const char *name = mp_proto_chunkname(pt, &len);
  if (len > 0 && (name[0] == '@' || name[0] == '=')) {
    name++;
    len--;
    for (i = len; i > 0; i--)
      if (name[i - 1] == '/') {
	name += i;
	len -= i;
	break;
      }
    put_bytes(t, name, len);
  } else {
    put(t, "[string]");
  }
  if (mp_proto_firstline(pt) > 0) put(t, ":%d", mp_proto_firstline(pt));
}

const char *mp_heap_keytext(uint64_t key, size_t *len)
{
  if (TAG(key) != TAGSTR) return NULL;
  *len = AT(uint32_t, PTR(key), mp_variant_len());
  return PTR(key) + mp_variant_data();
}

static void put_key(text *t, slot key)
{
  size_t len;
  const char *s = mp_heap_keytext(key, &len);
  if (s != NULL && is_name(s, len)) {
    put(t, ".%.*s", (int)len, s);
    return;
  }
  put(t, "[");
  if (s != NULL) {
    put(t, "\"");
    put_bytes(t, s, len);
    put(t, "\"");
  } else if (is_object(key)) {
    char buf[MP_LABEL_MAX];
    mp_heap_describe(PTR(key), buf, sizeof(buf));
    put(t, "%s", buf);
  } else if (key == KEY_HOOK) {
    put(t, "debug.sethook");
  } else if (TAG(key) <= TAGNUM) {
    double n;
    memcpy(&n, &key, sizeof(n));
    put(t, "%.14g", n);
  } else {
    put(t, TAG(key) == ~3 ? "userdata" : TAG(key) == ~2 ? "true" : "false");
  }
  put(t, "]");
}

/* -- Upvalues and locals ------------------------------------------------- */

static void put_upvalue(text *t, const char *fn, uint64_t index)
{
  const char *pt = func_proto(fn), *name = NULL;
  uint64_t i;
  if (pt != NULL && index < AT(uint8_t, pt, PT_SIZEUV))
    name = REF(const char *, pt, PT_UVINFO);
  for (i = 0; name != NULL && i < index; i++) name += strlen(name) + 1;
  if (name != NULL && name[0] != '\0') {
    put(t, " ^");
    put_string(t, name);
  } else {
    put(t, " ^%d", (int)index + 1);
  }
}

/* The frame that the slot belongs to, and the one above it, or NULL. */
static const slot *find_frame(const char *th, const slot *o, const slot **next)
{
  const slot *bottom = frame_bottom(th);
  const slot *f = AT(const slot *, th, L_BASE) - 1;
  *next = NULL;
  while (f > bottom && f - FRAME_SLOTS + 2 > o) {
    *next = f;
    f = frame_lower(f, bottom);
  }
  return f;
}

/* " local x (app.lua:3)" */
static void put_variable(text *t, const char *pt, const char *name)
{
  put(t, name != NULL ? " local " : " a temporary");
  if (name != NULL) put_string(t, name);
  put(t, " (");
  put_place(t, pt);
  put(t, ")");
}

static void put_left(text *t, const mp_heap *h, const slot *o)
{
  const char *pt = func_proto(frame_object(h->left));
  put_variable(t, pt, mp_heap_leftname(h, o));
}

static void put_local(text *t, const mp_heap *h, const char *th, uint64_t index)
{
  const slot *o = REF(const slot *, th, L_STACK) + index, *next;
  const slot *top = AT(const slot *, th, L_BASE) - 1;
  const slot *f = find_frame(th, o, &next);
  const char *pt, *name = NULL;
  uint64_t pc;
  if (th == h->mainl && h->left != NULL && o > h->left) {
    put_left(t, h, o);
    return;
  }
  if (f <= frame_bottom(th) || !mp_frame_isfunc(frame_func(f))) {
    put(t, " its function");
    return;
  }
  pt = func_proto(frame_object(f));
  if (pt == NULL) {
    put(t, " an argument");
    return;
  }
  pc = mp_frame_pc((lua_State *)(uintptr_t)th, top, next);
  if (pc != 0 && mp_proto_has(pt, pc) && o > f)
    name = mp_proto_variable(pt, (uint32_t)((pc - (uint64_t)(uintptr_t)pt -
			     PT_BC) / BC_SIZE) - 1, (uint32_t)(o - f - 1));
  put_variable(t, pt, name);
}

/* -- Objects ------------------------------------------------------------- */

const char *mp_heap_type(const char *o)
{
  static const char *const names[OBJ_TYPES] = {
    [GCT_STR] = "string", [GCT_UPVAL] = "upvalue", [GCT_THREAD] = "thread",
    [GCT_PROTO] = "proto", [GCT_FUNC] = "function", [GCT_TRACE] = "trace",
    [GCT_CDATA] = "cdata", [GCT_TAB] = "table", [GCT_UDATA] = "userdata"
  };
  uint8_t gct = obj_gct(o);
  return gct < OBJ_TYPES && names[gct] ? names[gct] : "object";
}

unsigned mp_heap_typeno(const char *o) { return obj_gct(o) % MP_HEAP_TYPES; }

/* The function that a coroutine runs, at the bottom of its stack. */
static void put_thread(text *t, const char *th)
{
  const slot *stack = REF(const slot *, th, L_STACK), *bottom;
  const slot *f = AT(const slot *, th, L_BASE) - 1;
  const char *pt = NULL;
  bottom = frame_bottom(th);
  for (; stack != NULL && f > bottom; f = frame_lower(f, bottom))
    if (mp_frame_isfunc(frame_func(f)) && is_lua(frame_func(f)))
      pt = func_proto(frame_object(f));
  if (pt == NULL) return;
  put(t, " ");
  put_place(t, pt);
}

void mp_heap_describe(const char *o, char *buf, size_t n)
{
  text t = { buf, n };
  put(&t, "%s", mp_heap_type(o));
  switch (obj_gct(o)) {
  case GCT_STR:
    put(&t, " \"");
    put_bytes(&t, o + mp_variant_data(), AT(uint32_t, o, mp_variant_len()));
    put(&t, "\"");
    break;
  case GCT_PROTO:
    put(&t, " ");
    put_place(&t, o);
    break;
  case GCT_FUNC:
    put(&t, " ");
    if (func_proto(o) != NULL) put_place(&t, func_proto(o));
    else put(&t, AT(uint8_t, o, FUNC_FFID) == 1 ? "in C" : "builtin");
    break;
  case GCT_TRACE:
    put(&t, " #%d ", AT(uint16_t, o, TR_NUMBER));
    put_place(&t, REF(const char *, o, TR_STARTPT));
    break;
  case GCT_THREAD: put_thread(&t, o); break;
  default: break;
  }
}

/* -- C types ------------------------------------------------------------- */

#define NEAR		256	/* C types in which a typedef is looked for. */
#define DECLARED	64	/* Bytes of what stands behind a type's name. */
#define NESTED		32	/* C types that one consists of, at most. */

/* Number 0 is no C type, and neither is a number that is too large. */
static const char *ctype_of(const mp_heap *h, uint32_t id)
{
  const char *cts = mp_heap_ctstate(h);
  if (id >= AT(uint32_t, cts, CTS_TOP)) id = 0;
  return AT(const char *, cts, CTS_TAB) + (size_t)id * CT_SIZE;
}

/* The name of a C type, a string object, or NULL. */
static const char *ctype_name(mp_heap *h, const char *ct)
{
  const char *name = REF(const char *, ct, CT_NAME);
  if (name == NULL || mp_places_find(&h->places, name) == 0 ||
      obj_gct(name) != GCT_STR)
    return NULL;
  return name;
}

/* The C type without attributes and typedefs. */
static const char *ctype_raw(const mp_heap *h, uint32_t id)
{
  const char *ct = ctype_of(h, id);
  int i;
  for (i = 0; i < NESTED; i++) {
    uint32_t info = AT(uint32_t, ct, CT_INFO);
    if (CT_KIND(info) != CT_ATTRIB && CT_KIND(info) != CT_TYPEDEF) break;
    ct = ctype_of(h, CT_CHILD(info));
  }
  return ct;
}

static void put_number(text *t, uint32_t info, uint32_t size)
{
  bool is_unsigned = (info & CTF_UNSIGNED) != 0;
  if (info & CTF_BOOL)
    put(t, "bool");
  else if (info & CTF_FP)
    put(t, size == 4 ? "float" : size == 8 ? "double" : "long double");
  else if (size == 1)
    put(t, is_unsigned == ((char)-1 > 0) ? "char" :
	is_unsigned ? "unsigned char" : "signed char");
  else if (size == 2 || size == 4)
    put(t, "%s%s", is_unsigned ? "unsigned " : "", size == 2 ? "short" : "int");
  else
    put(t, "%sint%u_t", is_unsigned ? "u" : "", (unsigned)size * 8);
}

/* The typedef that follows a C type without a name, with what it consists of;
** or NULL. */
static const char *alias_of(mp_heap *h, uint32_t id)
{
  uint32_t top = AT(uint32_t, mp_heap_ctstate(h), CTS_TOP), i;
  for (i = id + 1; i < top && i < id + NEAR; i++) {
    const char *ct = ctype_of(h, i);
    uint32_t info = AT(uint32_t, ct, CT_INFO);
    if (CT_KIND(info) == CT_TYPEDEF && CT_CHILD(info) == id)
      return ctype_name(h, ct);
  }
  return NULL;
}

static void put_tagged(text *t, mp_heap *h, uint32_t id, const char *word)
{
  const char *name = ctype_name(h, ctype_of(h, id));
  const char *alias = name == NULL ? alias_of(h, id) : NULL;
  if (alias == NULL) put(t, "%s", word);
  if (name != NULL) put(t, " ");
  if (name == NULL) name = alias;
  if (name != NULL)
    put_bytes(t, mp_heap_text(h, name), mp_heap_strlen(h, name));
}

/* The type that a declaration begins with. */
static void put_base(text *t, mp_heap *h, uint32_t id)
{
  const char *ct = ctype_of(h, id);
  uint32_t info = AT(uint32_t, ct, CT_INFO);
  if (info & CTF_CONST) put(t, "const ");
  switch (CT_KIND(info)) {
  case CT_NUM: put_number(t, info, AT(uint32_t, ct, CT_BYTES)); break;
  case CT_STRUCT:
    put_tagged(t, h, id, info & CTF_UNION ? "union" : "struct");
    break;
  case CT_ENUM:  /* One without constants is that of ffi.typeof. */
    put_tagged(t, h, id, AT(uint16_t, ct, CT_SIB) == 0 ? "ctype" : "enum");
    break;
  case CT_VOID: put(t, "void"); break;
  case CT_ARRAY:  /* A complex number. */
    put(t, "complex");
    if (AT(uint32_t, ct, CT_BYTES) == 8) put(t, " float");
    break;
  default: put(t, "?"); break;
  }
}

/* Puts a text around the declaration. */
static void declare(char *decl, const char *before, const char *behind)
{
  char inner[DECLARED];
  memcpy(inner, decl, DECLARED);
  snprintf(decl, DECLARED, "%s%.*s%s", before,
	   DECLARED - 16 - (int)strlen(before), inner, behind);
}

static void declare_array(mp_heap *h, char *decl, const char *ct)
{
  uint32_t size = AT(uint32_t, ct, CT_BYTES);
  uint32_t of = AT(uint32_t, ctype_raw(h, CT_CHILD(AT(uint32_t, ct, CT_INFO))),
		   CT_BYTES);
  char n[16] = "[?]";
  if (size != CT_UNSIZED && of != 0 && of != CT_UNSIZED)
    snprintf(n, sizeof(n), "[%u]", (unsigned)(size / of));
  if (decl[0] == '*' || decl[0] == '&') declare(decl, "(", ")");
  declare(decl, "", n);
}

static void put_ctype(text *t, mp_heap *h, uint32_t id)
{
  char decl[DECLARED] = "";
  int i;
  for (i = 0; i < NESTED; i++) {
    const char *ct = ctype_of(h, id);
    uint32_t info = AT(uint32_t, ct, CT_INFO), kind = CT_KIND(info);
    if (kind == CT_PTR)
      declare(decl, info & CTF_REF ? "&" : "*", "");
    else if (kind == CT_FUNC)
      declare(decl, decl[0] == '*' ? "(" : "", decl[0] == '*' ? ")()" : "()");
    else if (kind == CT_ARRAY && !(info & CTF_COMPLEX))
      declare_array(h, decl, ct);
    else if (kind != CT_ATTRIB && kind != CT_TYPEDEF)
      break;
    id = CT_CHILD(info);
  }
  put_base(t, h, id);
  if (decl[0] != '\0') put(t, " %s", decl);
}

/* -- Classes of userdata -------------------------------------------------- */

/* A metatable has the first of its keys in the registry, by their bytes. */
static bool add_class(mp_heap *h, const char *key, const char *meta)
{
  uint64_t at = mp_mix(1, (uint64_t)(uintptr_t)meta);
  uint32_t i = mp_map_get(&h->classes, at);
  if (i != 0) {
    if (strcmp(mp_heap_text(h, key), mp_heap_text(h, h->keys[i - 1])) < 0)
      h->keys[i - 1] = key;
    return true;
  }
  if (!mp_mem_room(&h->keys, h->nkeys, &h->capkeys, sizeof(*h->keys)))
    return false;
  h->keys[h->nkeys++] = key;
  return mp_map_put(&h->classes, at, h->nkeys);
}

static void find_classes(mp_heap *h)
{
  const char *t = PTR(AT(slot, h->g, h->layout->registry));
  const char *node = REF(const char *, t, TAB_NODE);
  uint32_t i, hmask = AT(uint32_t, t, TAB_HMASK);
  h->has_classes = true;
  for (i = 0; hmask > 0 && i <= hmask; i++, node += NODE_SIZE) {
    slot key = AT(slot, node, NODE_KEY), val = AT(slot, node, NODE_VAL);
    if (TAG(key) == TAGSTR && TAG(val) == TAGTAB &&
	!add_class(h, PTR(key), PTR(val)))
      return;
  }
}

/* The string that a metatable has as __name, or NULL. */
static const char *own_name(const mp_heap *h, const char *meta)
{
  static const char name[] = "__name";
  const char *node = REF(const char *, meta, TAB_NODE);
  uint32_t i, hmask = AT(uint32_t, meta, TAB_HMASK);
  for (i = 0; hmask > 0 && i <= hmask; i++, node += NODE_SIZE) {
    slot key = AT(slot, node, NODE_KEY), val = AT(slot, node, NODE_VAL);
    if (TAG(key) == TAGSTR && TAG(val) == TAGSTR &&
	mp_heap_strlen(h, PTR(key)) == sizeof(name) - 1 &&
	memcmp(mp_heap_text(h, PTR(key)), name, sizeof(name)) == 0)
      return PTR(val);
  }
  return NULL;
}

static const char *class_name(mp_heap *h, const char *meta)
{
  const char *name = own_name(h, meta);
  uint32_t i;
  if (name != NULL) return name;
  if (!h->has_classes) find_classes(h);
  i = mp_map_get(&h->classes, mp_mix(1, (uint64_t)(uintptr_t)meta));
  return i != 0 ? h->keys[i - 1] : NULL;
}

static void put_class(text *t, mp_heap *h, const char *u)
{
  const char *meta = REF(const char *, u, UD_META);
  const char *name = meta != NULL ? class_name(h, meta) : NULL;
  if (name != NULL)
    put_bytes(t, mp_heap_text(h, name), mp_heap_strlen(h, name));
  else if (AT(uint8_t, u, UD_TYPE) == UD_CLIB) put(t, "ffi.load");
  else if (AT(uint8_t, u, UD_TYPE) == UD_BUFFER) put(t, "string.buffer");
}

void mp_heap_class(mp_heap *h, const char *o, char *buf, size_t n)
{
  text t = { buf, n };
  buf[0] = '\0';
  if (obj_gct(o) == GCT_CDATA) put_ctype(&t, h, AT(uint16_t, o, CD_TYPE));
  else if (obj_gct(o) == GCT_UDATA) put_class(&t, h, o);
}

bool mp_heap_hasclass(const char *o)
{
  return obj_gct(o) == GCT_UDATA || obj_gct(o) == GCT_CDATA;
}

uint64_t mp_heap_classkey(const char *o)
{
  if (obj_gct(o) == GCT_CDATA) return mp_mix(1, AT(uint16_t, o, CD_TYPE));
  return mp_mix(mp_mix(2, AT(uint8_t, o, UD_TYPE)),
		AT(gcref, o, UD_META));
}

/* -- References ---------------------------------------------------------- */

static void put_root(text *t, uint64_t detail)
{
  static const char *const names[] = {
    [MP_ROOT_GLOBALS] = "_G", [MP_ROOT_REGISTRY] = "registry",
    [MP_ROOT_MAIN] = "main thread", [MP_ROOT_RUNNING] = "running coroutine",
    [MP_ROOT_FFI] = "ffi", [MP_ROOT_BASEMT] = "metatable of ",
    [MP_ROOT_IO] = "default file", [MP_ROOT_FINALIZERS] = "ffi.gc",
    [MP_ROOT_FINQUEUE] = "waiting for its finalizer",
    [MP_ROOT_VMTHREAD] = "the VM's coroutine",
    [MP_ROOT_NAMES] = "name of an event", [MP_ROOT_FIXED] = "the VM"
  };
  static const char *const types[] = {
    "nil", "booleans", "booleans", "light userdata", "strings", "upvalues",
    "threads", "protos", "functions", "traces", "cdata", "tables", "userdata",
    "numbers"
  };
  uint64_t type = detail >> 8;
  put(t, "%s", names[detail & 0xff]);
  if ((detail & 0xff) == MP_ROOT_BASEMT)
    put(t, "%s", type < sizeof(types) / sizeof(types[0]) ? types[type] : "?");
}

void mp_heap_label(const mp_heap *h, const char *from, mp_how how,
		   uint64_t detail, char *buf, size_t n)
{
  text t = { buf, n };
  buf[0] = '\0';
  switch (how) {
  case MP_BY_ROOT: put_root(&t, detail); break;
  case MP_BY_KEY:
    put_key(&t, AT(const slot, (uintptr_t)detail, 0));
    break;
  case MP_BY_INDEX: put(&t, "[%u]", (unsigned)detail); break;
  case MP_BY_BEING: put(&t, " a key"); break;
  case MP_BY_META: put(&t, " metatable"); break;
  case MP_BY_ENV: put(&t, " environment"); break;
  case MP_BY_UPVALUE: put_upvalue(&t, from, detail); break;
  case MP_BY_VALUE: break;  /* The upvalue is named already. */
  case MP_BY_PROTO: put(&t, " code"); break;
  case MP_BY_CONST: put(&t, " constant"); break;
  case MP_BY_CHUNK: put(&t, " chunk name"); break;
  case MP_BY_SLOT: put_local(&t, h, from, detail); break;
  case MP_BY_TRACE: put(&t, " trace #%u", (unsigned)detail); break;
  case MP_BY_BUFFER: put(&t, " buffer"); break;
  }
}

#else

void mp_heap_label(const mp_heap *h, const char *from, mp_how how,
		   uint64_t detail, char *buf, size_t n)
{
  (void)h; (void)from; (void)how; (void)detail; (void)n;
  buf[0] = '\0';
}

void mp_heap_describe(const char *obj, char *buf, size_t n)
{
  (void)obj; (void)n;
  buf[0] = '\0';
}

const char *mp_heap_type(const char *obj) { (void)obj; return "object"; }

unsigned mp_heap_typeno(const char *obj) { (void)obj; return 0; }

const char *mp_heap_keytext(uint64_t key, size_t *len)
{
  (void)key;
  *len = 0;
  return NULL;
}

void mp_heap_keystart(const char *key, size_t len, char *buf, size_t n)
{
  (void)key; (void)len; (void)n;
  buf[0] = '\0';
}

void mp_heap_class(mp_heap *h, const char *obj, char *buf, size_t n)
{
  (void)h; (void)obj; (void)n;
  buf[0] = '\0';
}

bool mp_heap_hasclass(const char *obj)
{
  (void)obj;
  return false;
}

uint64_t mp_heap_classkey(const char *obj)
{
  (void)obj;
  return 0;
}

#endif
