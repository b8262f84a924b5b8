/* SPDX-License-Identifier: MIT */
/* mp_labels: sets of labels in the tree of zones, bounded. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "check_main.h"
#include "data/mem.h"
#include "sample/label.h"

static mp_stacks zones;
static mp_labels labels;

static void open_labels(void)
{
  mp_stacks_init(&zones);
  mp_labels_init(&labels);
}

static void close_labels(void)
{
  mp_labels_free(&labels);
  mp_stacks_free(&zones);
}

static mp_label label(const char *name, const char *value)
{
  mp_label l = { { name, strlen(name) }, { value, value ? strlen(value) : 0 } };
  return l;
}

static uint32_t with(uint32_t set, const char *name, const char *value)
{
  mp_label l = label(name, value);
  return mp_labels_with(&labels, &zones, set, &l, 1);
}

/* The set as a text. */
static const char *text(uint32_t set)
{
  static char buf[4096];
  char before[4096];
  buf[0] = '\0';
  for (; set != 0; set = zones.nodes[set].parent) {
    const mp_frame *f = &zones.frames[zones.nodes[set].frame];
    ck_assert(f->kind == MP_LABEL);
    snprintf(before, sizeof(before), "%s", buf);
    snprintf(buf, sizeof(buf), "%.*s=%.*s %.2000s", (int)f->namelen, f->name,
	     (int)f->sourcelen, f->source, before);
  }
  return buf;
}

START_TEST(sets)
{
  mp_label both[2] = { label("route", "/a"), label("plugin", "jwt") };
  uint32_t a, b;
  open_labels();
  a = mp_labels_with(&labels, &zones, 0, both, 2);
  ck_assert_str_eq(text(a), "plugin=jwt route=/a ");
  b = with(with(0, "plugin", "jwt"), "route", "/a");
  ck_assert_uint_eq(a, b);  /* The order does not matter. */
  ck_assert_str_eq(text(with(a, "route", "/b")), "plugin=jwt route=/b ");
  ck_assert_str_eq(text(with(a, "plugin", NULL)), "route=/a ");
  ck_assert_str_eq(text(with(a, "none", NULL)), "plugin=jwt route=/a ");
  ck_assert_uint_eq(with(with(a, "plugin", NULL), "route", NULL), 0);
  ck_assert_str_eq(text(with(a, "route2", "")), "plugin=jwt route=/a route2= ");
  ck_assert(mp_labels_is(&zones, a) && !mp_labels_is(&zones, 0));
  ck_assert(!labels.full);
  close_labels();
}
END_TEST

/* Names and values may have any length and any bytes. */
START_TEST(texts)
{
  char name[2000], buf[16];
  mp_label l = { { "a\0b", 3 }, { "", 0 } };
  uint32_t set = 0;
  const mp_frame *f;
  int i;
  open_labels();
  memset(name, 'x', sizeof(name) - 1);
  name[sizeof(name) - 1] = '\0';
  set = with(0, name, name);
  f = &zones.frames[zones.nodes[set].frame];
  ck_assert(f->namelen == f->sourcelen && f->namelen <= 512);
  set = mp_labels_with(&labels, &zones, 0, &l, 1);
  f = &zones.frames[zones.nodes[set].frame];
  ck_assert(f->namelen == 3 && memcmp(f->name, "a\0b", 3) == 0);
  ck_assert(f->source != NULL && f->sourcelen == 0);
  ck_assert(!labels.full);
  for (i = 0, set = 0; i < MP_LABELS_MAX + 1; i++) {
    snprintf(buf, sizeof(buf), "l%02d", i);
    set = with(set, buf, "v");
  }
  ck_assert(labels.full);  /* One of them was too much. */
  ck_assert_ptr_nonnull(strstr(text(set), "l15=v "));
  ck_assert_ptr_null(strstr(text(set), "l16"));
  close_labels();
}
END_TEST

/* A value that is too much is "(other)", and what was there stays. */
START_TEST(bounds)
{
  char value[16];
  uint32_t set = 0, i;
  open_labels();
  for (i = 0; i < 4 * MP_LABELSETS; i++) {
    snprintf(value, sizeof(value), "%u", i);
    set = with(with(0, "plugin", "jwt"), "request", value);
  }
  ck_assert_str_eq(text(set), "plugin=jwt request=(other) ");
  ck_assert(labels.full && zones.nnodes <= MP_LABELSETS + 10);
  ck_assert_str_eq(text(with(0, "request", "9")), "request=9 ");
  ck_assert_str_eq(text(with(with(0, "plugin", "jwt"), "request", "9")),
		   "plugin=jwt request=9 ");
  for (i = 0; i < 4 * MP_LABELSETS; i++) {
    snprintf(value, sizeof(value), "name%u", i);
    set = with(0, value, "v");
  }
  ck_assert_str_eq(text(set), "(other)=(other) ");
  ck_assert_uint_le(zones.nnodes, 2 * MP_LABELSETS + 10);
  ck_assert_str_eq(text(with(set, "plugin", "jwt")), "plugin=jwt ");
  close_labels();
}
END_TEST

/* A limit on all memory, and no memory at all. */
START_TEST(no_room)
{
  uint32_t set, i;
  open_labels();
  set = with(0, "route", "/a");
  zones.closed = true;
  ck_assert_str_eq(text(with(set, "route", "/b")), "(other)=(other) ");
  ck_assert_str_eq(text(with(0, "route", "/a")), "route=/a ");
  close_labels();
  for (i = 0; i < 40; i++) {
    open_labels();
    mp_mem_left = (int)i;
    set = with(with(0, "route", "/a"), "plugin", "jwt");
    mp_labels_set(&labels, (lua_State *)&zones, set);
    mp_mem_left = -1;
    ck_assert(set <= zones.nnodes);
    close_labels();
  }
}
END_TEST

/* By coroutine, where the VM's layout is not known. */
START_TEST(coroutines)
{
  static char thread[2000];
  int i;
  open_labels();
  ck_assert_uint_eq(mp_labels_of(&labels, NULL), 0);
  mp_labels_freed(&labels, thread);
  for (i = 1; i < 2000; i++)
    ck_assert(mp_labels_set(&labels, (lua_State *)&thread[i], (uint32_t)i));
  for (i = 1; i < 2000; i += 2) mp_labels_freed(&labels, &thread[i]);
  for (i = 1; i < 2000; i++)
    ck_assert_uint_eq(mp_labels_of(&labels, (lua_State *)&thread[i]),
		      i % 2 ? 0 : (uint32_t)i);
  ck_assert(mp_labels_set(&labels, (lua_State *)&thread[2], 0));
  ck_assert_uint_eq(mp_labels_of(&labels, (lua_State *)&thread[2]), 0);
  close_labels();
}
END_TEST

CHECK_MAIN("labels", sets, texts, bounds, no_room, coroutines)
