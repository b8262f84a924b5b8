/* SPDX-License-Identifier: MIT */
/*
** See heapwalk/kinds.h.
*/
#include "config.h"

#include <string.h>

#include "data/map.h"
#include "data/mem.h"
#include "heapwalk/kinds.h"
#include "heapwalk/name.h"

#define CAPACITIES	33	/* Powers of two. */
#define LONG		1024	/* Bytes of a text that is long. */
#define CLASSES		8192	/* Of userdata and of cdata, at most. */
#define PLACES		8192	/* A power of two. */
#define DIGITS		128	/* Bytes of a text whose numbers are seen. */
#define VOTERS		65536	/* Strings that vote, more or less. */
#define FEW		8	/* Fewer alike strings are not told. */
#define TOLD		32	/* Names that are told of each kind. */

const char *mp_heapkind_word(mp_heapkindof of)
{
  static const char *const words[] = {
    [MP_KIND_ARRAY] = "array", [MP_KIND_HASH] = "hash",
    [MP_KIND_LONG] = "long", [MP_KIND_DIGITS] = "numbered",
    [MP_KIND_USERDATA] = "userdata", [MP_KIND_CDATA] = "cdata",
    [MP_KIND_CODE] = "code"
  };
  return words[of];
}

void mp_heapkinds_free(mp_heapkinds *list)
{
  uint32_t i;
  for (i = 0; i < list->n; i++) mp_free(list->a[i].name);
  mp_free(list->a);
  *list = (mp_heapkinds){ NULL, 0, 0 };
}

#ifdef MP_LAYOUT

typedef struct sum {
  uint64_t count, bytes;
} sum;

/* Userdata with one metatable, or cdata of one C type. */
typedef struct class {
  mp_heapkindof of;
  const char *first;		/* One of them. */
  sum sum;
} class;

/* Strings that may differ in numbers only. */
typedef struct place {
  uint64_t hash;		/* Of the text that most of them have. */
  const char *str;		/* A string with that text, or NULL. */
  uint32_t votes;
  sum sum;			/* Of all such strings. */
} place;

typedef struct counting {
  mp_heap *h;
  mp_graph *g;
  mp_heapkinds *list;
  uint32_t voters;		/* Numbers up to this one vote, when mixed. */
  struct {
    uint64_t count;
    mp_heapslots slots;
  } parts[2][CAPACITIES];	/* Of arrays and of hash parts. */
  sum texts[CAPACITIES];	/* Long ones. */
  sum others[2];		/* Classes beyond the bound. */
  sum code;
  mp_map of;			/* A class's key -> its number + 1. */
  class *classes;
  uint32_t nclasses, capclasses;
  place *places;
  bool failed;
} counting;

static void add(sum *s, uint64_t bytes)
{
  s->count++;
  s->bytes += bytes;
}

/* The least power of two that is not less; n > 0. */
static unsigned capacity(uint64_t n)
{
  unsigned k = 0;
  while (k < CAPACITIES - 1 && n > UINT64_C(1) << k) k++;
  return k;
}

/* -- Tables --------------------------------------------------------------- */

static void count_part(counting *c, int of, const mp_heapslots *s)
{
  unsigned k;
  if (s->all == 0) return;
  k = capacity(s->all);
  c->parts[of][k].count++;
  mp_heap_addslots(&c->parts[of][k].slots, s);
}

static void count_table(counting *c, const char *t)
{
  mp_heapslots array, hash;
  mp_heap_tableparts(t, &array, &hash);
  count_part(c, 0, &array);
  count_part(c, 1, &hash);
}

/* -- Strings -------------------------------------------------------------- */

static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

#define EACH(byte)	((byte) * UINT64_C(0x0101010101010101))

/* The next n bytes of a string's text, 8 at most, and zeros. It is the object
** itself that lies before the text. */
static uint64_t bytes_at(const char *s, uint32_t n)
{
  uint64_t x;
  memcpy(&x, s + n - sizeof(x), sizeof(x));
  return x >> (64 - 8 * n);
}

/* The upper bit of each byte that is a digit. */
static uint64_t digits_of(uint64_t x)
{
  uint64_t y = x ^ EACH(0x30);
  uint64_t other = (y & EACH(0xf0)) |
		   (((y & EACH(0x0f)) + EACH(6)) & EACH(0x10));
  return ~(((other & EACH(0x7f)) + EACH(0x7f)) | other) & EACH(0x80);
}

/* The hash of a text in which each number is one sign; 0: it has none, or is
** too long. */
static uint64_t hash_text(const char *s, uint32_t len)
{
  uint64_t hash = 1, x, found;
  uint32_t i = 0, n;
  bool any = false;
  if (len > DIGITS) return 0;
  while (i < len) {
    n = len - i < sizeof(x) ? len - i : (uint32_t)sizeof(x);
    x = bytes_at(s + i, n);
    found = digits_of(x);
    if (found != 0) {
      n = (uint32_t)__builtin_ctzll(found) / 8;
      x &= (UINT64_C(1) << 8 * n) - 1;
    }
    hash = mp_mix(hash + n, x);
    i += n;
    if (found == 0) continue;
    any = true;
    hash = mp_mix(hash, 256);
    while (i < len && is_digit(s[i])) i++;
  }
  return any ? hash : 0;
}

/* A string votes for its text in its place: what most of them have wins. */
static void vote(counting *c, const char *str, uint32_t len)
{
  uint64_t hash = hash_text(mp_heap_text(c->h, str), len);
  place *p = &c->places[hash & (PLACES - 1)];
  if (hash == 0) return;
  if (p->votes == 0) {
    p->hash = hash;
    p->str = str;
  }
  if (p->hash == hash) p->votes++;
  else p->votes--;
}

static void count_string(counting *c, uint32_t number, const char *str,
			 uint64_t size)
{
  uint32_t len = mp_heap_strlen(c->h, str);
  if (len >= LONG) add(&c->texts[capacity(len)], size);
  else if (number * UINT32_C(0x9e3779b1) <= c->voters) vote(c, str, len);
}

/* The second pass: only now it is known which texts are to be counted. */
static void count_alike(void *ud, uint32_t number, const void *o)
{
  counting *c = ud;
  uint64_t hash;
  place *p;
  if (obj_gct(o) != GCT_STR || !mp_graph_reached(c->g, number)) return;
  hash = hash_text(mp_heap_text(c->h, o), mp_heap_strlen(c->h, o));
  p = &c->places[hash & (PLACES - 1)];
  if (hash != 0 && p->hash == hash) add(&p->sum, mp_heap_size(c->h, o));
}

/* -- Userdata and cdata --------------------------------------------------- */

static void count_class(counting *c, mp_heapkindof of, const char *o,
			uint64_t size)
{
  uint64_t key = mp_heap_classkey(o);
  uint32_t i = mp_map_get(&c->of, key);
  if (i != 0) {
    add(&c->classes[i - 1].sum, size);
    return;
  }
  if (c->nclasses == CLASSES) {
    add(&c->others[of == MP_KIND_CDATA], size);
    return;
  }
  if (!mp_mem_room(&c->classes, c->nclasses, &c->capclasses,
		   sizeof(*c->classes)) ||
      !mp_map_put(&c->of, key, c->nclasses + 1)) {
    c->failed = true;
    return;
  }
  c->classes[c->nclasses++] = (class){ of, o, { 1, size } };
}

/* -- Objects -------------------------------------------------------------- */

static void count_object(void *ud, uint32_t number, const void *ptr)
{
  counting *c = ud;
  const char *o = ptr;
  if (!mp_graph_reached(c->g, number)) return;
  switch (obj_gct(o)) {
  case GCT_TAB: count_table(c, o); break;
  case GCT_STR: count_string(c, number, o, mp_heap_size(c->h, o)); break;
  case GCT_UDATA:
    count_class(c, MP_KIND_USERDATA, o, mp_heap_size(c->h, o));
    break;
  case GCT_CDATA:
    count_class(c, MP_KIND_CDATA, o, mp_heap_size(c->h, o));
    break;
  case GCT_TRACE:
    if (AT(uint16_t, o, TR_NUMBER) != 0)
      add(&c->code, AT(uint32_t, o, TR_SZMCODE));
    break;
  default: break;
  }
}

/* -- The list ------------------------------------------------------------- */

/* A new entry, or NULL: no memory. */
static mp_heapkind *new_kind(counting *c, mp_heapkindof of, const sum *s)
{
  mp_heapkinds *l = c->list;
  if (!mp_mem_room(&l->a, l->n, &l->cap, sizeof(*l->a))) {
    c->failed = true;
    return NULL;
  }
  l->a[l->n] = (mp_heapkind){ .of = of, .count = s->count, .bytes = s->bytes };
  return &l->a[l->n++];
}

static void list_parts(counting *c, mp_heapslots *all)
{
  int of, k;
  for (of = 0; of < 2; of++)
    for (k = 0; k < CAPACITIES; k++) {
      const mp_heapslots *s = &c->parts[of][k].slots;
      const sum n = { c->parts[of][k].count, s->bytes };
      mp_heapkind *to;
      if (n.count == 0) continue;
      mp_heap_addslots(all, s);
      to = new_kind(c, of == 0 ? MP_KIND_ARRAY : MP_KIND_HASH, &n);
      if (to == NULL) return;
      to->size = UINT64_C(1) << k;
      to->slots = s->all;
      to->used = s->used;
    }
}

static void list_texts(counting *c)
{
  int k;
  for (k = 0; k < CAPACITIES; k++) {
    mp_heapkind *to;
    if (c->texts[k].count == 0) continue;
    to = new_kind(c, MP_KIND_LONG, &c->texts[k]);
    if (to != NULL) to->size = UINT64_C(1) << k;
  }
}

/* Adds a sum under a name; NULL: no name. The entries from `first` on have
** different names. */
static void list_named(counting *c, mp_map *names, mp_heapkindof of,
		       const char *name, const sum *s)
{
  uint64_t key = 1;
  const char *p;
  uint32_t i;
  mp_heapkind *to;
  for (p = name; p != NULL && *p != '\0'; p++)
    key = mp_mix(key, (unsigned char)*p);
  i = mp_map_get(names, key);
  if (i != 0) {
    c->list->a[i - 1].count += s->count;
    c->list->a[i - 1].bytes += s->bytes;
    return;
  }
  if ((to = new_kind(c, of, s)) == NULL) return;
  if (name != NULL && name[0] != '\0' &&
      (to->name = mp_mem_string(name)) == NULL)
    c->failed = true;
  if (!mp_map_put(names, key, c->list->n)) c->failed = true;
}

/* Puts the largest of the entries from `from` on to the front of them. None
** sorts with qsort in a child, which may take memory from malloc. */
static void put_largest_first(mp_heapkinds *l, uint32_t from)
{
  uint32_t i, best = from;
  mp_heapkind k;
  for (i = from + 1; i < l->n; i++)
    if (l->a[i].bytes > l->a[best].bytes) best = i;
  k = l->a[best];
  l->a[best] = l->a[from];
  l->a[from] = k;
}

/* Keeps the largest of the entries from `first` on, in order; the others become
** one. */
static void keep_largest(counting *c, uint32_t first, mp_heapkindof of,
			 sum others)
{
  mp_heapkinds *l = c->list;
  mp_heapkind *to;
  uint32_t i;
  for (i = first; i < l->n && i < first + TOLD; i++) put_largest_first(l, i);
  while (l->n > first + TOLD) {
    mp_heapkind *k = &l->a[--l->n];
    others.count += k->count;
    others.bytes += k->bytes;
    mp_free(k->name);
  }
  if (others.count == 0 || (to = new_kind(c, of, &others)) == NULL) return;
  if ((to->name = mp_mem_string("(others)")) == NULL) c->failed = true;
}

/* Classes with one name are one. */
static void list_classes(counting *c, mp_heapkindof of)
{
  mp_map names = MP_MAP_EMPTY;
  char name[MP_LABEL_MAX];
  uint32_t i, first = c->list->n;
  for (i = 0; i < c->nclasses && !c->failed; i++) {
    const class *k = &c->classes[i];
    if (k->of != of) continue;
    mp_heap_class(c->h, k->first, name, sizeof(name));
    list_named(c, &names, of, name, &k->sum);
  }
  mp_map_free(&names);
  keep_largest(c, first, of, c->others[of == MP_KIND_CDATA]);
}

/* The text with one sign for each number. */
static void name_digits(counting *c, const char *str, char *buf, size_t n)
{
  char text[DIGITS];
  uint32_t len = mp_heap_strlen(c->h, str), i;
  size_t at = 0;
  for (i = 0; i < len; i++) {
    const char *s = mp_heap_text(c->h, str) + i;
    if (!is_digit(*s)) text[at++] = *s;
    else if (i == 0 || !is_digit(s[-1])) text[at++] = '#';
  }
  mp_heap_keystart(text, at, buf, n);
}

static void list_digits(counting *c)
{
  char name[MP_LABEL_MAX];
  uint32_t told, i;
  for (told = 0; told < TOLD && !c->failed; told++) {
    place *best = NULL;
    mp_heapkind *to;
    for (i = 0; i < PLACES; i++) {
      place *p = &c->places[i];
      if (p->sum.count >= FEW && (!best || p->sum.bytes > best->sum.bytes))
	best = p;
    }
    if (best == NULL) return;
    to = new_kind(c, MP_KIND_DIGITS, &best->sum);
    name_digits(c, best->str, name, sizeof(name));
    if (to != NULL && (to->name = mp_mem_string(name)) == NULL)
      c->failed = true;
    best->sum.count = 0;
  }
}

static void list_all(counting *c, mp_heapslots *slots)
{
  list_parts(c, slots);
  list_texts(c);
  list_digits(c);
  list_classes(c, MP_KIND_USERDATA);
  list_classes(c, MP_KIND_CDATA);
  if (c->code.count > 0) new_kind(c, MP_KIND_CODE, &c->code);
}

/* Whether there are strings that are worth the second pass. */
static bool has_alike(const counting *c)
{
  uint32_t i;
  for (i = 0; i < PLACES; i++) if (c->places[i].votes > 1) return true;
  return false;
}

bool mp_heapkinds_find(mp_heapkinds *list, mp_heap *h, mp_graph *g,
		   mp_heapslots *slots)
{
  counting c;
  memset(&c, 0, sizeof(c));
  *list = (mp_heapkinds){ NULL, 0, 0 };
  c.h = h;
  c.g = g;
  c.list = list;
  c.voters = UINT32_MAX / (h->places.count / VOTERS + 1);
  c.places = mp_calloc(PLACES, sizeof(*c.places));
  c.failed = c.places == NULL;
  if (!c.failed) mp_places_each(&h->places, count_object, &c);
  if (!c.failed && has_alike(&c)) mp_places_each(&h->places, count_alike, &c);
  if (!c.failed) list_all(&c, slots);
  mp_free(c.places);
  mp_free(c.classes);
  mp_map_free(&c.of);
  return !c.failed;
}

#else

bool mp_heapkinds_find(mp_heapkinds *list, mp_heap *h, mp_graph *g,
		   mp_heapslots *slots)
{
  (void)h; (void)g; (void)slots;
  *list = (mp_heapkinds){ NULL, 0, 0 };
  return true;
}

#endif
