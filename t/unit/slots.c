/* SPDX-License-Identifier: MIT */
/* The functions that loaded objects call. */
#include "config.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check_main.h"

#include "data/slots.h"

#define OURS	(-77)		/* No parent has these numbers. */
#define THEIRS	(-78)

static pid_t ours(void) { return OURS; }

static pid_t theirs(void) { return THEIRS; }

/* getppid, called from the objects that have `within`; NULL: from all. */
static mp_slotcall call(void (*within)(void))
{
  mp_slotcall c = { "getppid", (void (*)(void))ours, NULL, within };
  void *f = dlsym(RTLD_DEFAULT, "getppid");
  memcpy(&c.original, &f, sizeof(f));
  return c;
}

static void set(void (*within)(void))
{
  mp_slotcall c = call(within);
  mp_slots_set(&c, 1);
}

static void reset(void)
{
  mp_slotcall c = call(NULL);
  mp_slots_reset(&c, 1);
}

typedef struct object {
  void *handle;
  pid_t (*called)(void);
  pid_t (*(*taken)(void))(void);
} object;

static object load(void)
{
  const char *dir = getenv("builddir");
  char path[4096];
  object o;
  void *f;
  snprintf(path, sizeof(path), "%s/t/unit/.libs/called.so",
	   dir != NULL ? dir : ".");
  o.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(o.handle != NULL, "%s", dlerror());
  f = dlsym(o.handle, "called");
  memcpy(&o.called, &f, sizeof(f));
  f = dlsym(o.handle, "taken");
  memcpy(&o.taken, &f, sizeof(f));
  return o;
}

/* The protections of the object's memory, in the order of its addresses. */
static void protections(char *buf, size_t size)
{
  FILE *f = fopen("/proc/self/maps", "r");
  char line[512], perms[5];
  size_t n = 0;
  ck_assert(f != NULL);
  buf[0] = '\0';
  while (fgets(line, sizeof(line), f) != NULL)
    if (strstr(line, "/called.so") != NULL &&
	sscanf(line, "%*s %4s", perms) == 1 && n + 6 < size)
      n += (size_t)sprintf(buf + n, "%s ", perms);
  fclose(f);
  ck_assert_uint_gt(n, 0);
}

START_TEST(calls_and_addresses_are_ours)
{
  char before[256], after[256];
  object o = load();
  ck_assert_int_eq(o.called(), getppid());
  protections(before, sizeof(before));
  set(NULL);
  protections(after, sizeof(after));
  ck_assert_int_eq(o.called(), OURS);
  ck_assert(o.taken() == ours);
  ck_assert_str_eq(before, after);
  ck_assert_int_ne(getppid(), OURS);  /* Of the object that has ours. */
  reset();
  protections(after, sizeof(after));
  ck_assert_int_eq(o.called(), getppid());
  ck_assert(o.taken() != ours);
  ck_assert_str_eq(before, after);
}
END_TEST

START_TEST(a_slot_that_others_have_written_stays_theirs)
{
  object o = load();
  mp_slotcall c = call(NULL), other = c;
  other.ours = (void (*)(void))theirs;
  mp_slots_set(&other, 1);
  mp_slots_reset(&c, 1);
  ck_assert_int_eq(o.called(), THEIRS);
}
END_TEST

START_TEST(another_object_keeps_its_calls)
{
  object o = load();
  set((void (*)(void))ours);
  ck_assert_int_eq(o.called(), getppid());
  ck_assert(o.taken() != ours);
}
END_TEST

START_TEST(what_the_process_has_not_is_left_alone)
{
  static const mp_slotcall list = {
    "getppid", (void (*)(void))ours, NULL, NULL
  };
  object o = load();
  mp_slots_set(&list, 1);
  mp_slots_set(NULL, 0);
  ck_assert_int_eq(o.called(), getppid());
}
END_TEST

START_TEST(objects_that_come_later_are_noticed)
{
  object o;
  set(NULL);
  ck_assert(!mp_slots_grown());
  o = load();
  ck_assert(mp_slots_grown());
  ck_assert_int_eq(o.called(), getppid());
  set(NULL);
  ck_assert(!mp_slots_grown());
  ck_assert_int_eq(o.called(), OURS);
  ck_assert_int_eq(dlclose(o.handle), 0);
  set(NULL);
}
END_TEST

static atomic_bool done;

static void *load_again(void *unused)
{
  (void)unused;
  while (!done) {
    object o = load();
    pid_t pid = o.called();
    if (pid != OURS && pid != getppid()) abort();
    dlclose(o.handle);
  }
  return NULL;
}

START_TEST(other_threads_load_and_unload_objects)
{
  pthread_t thread;
  int i;
  ck_assert_int_eq(pthread_create(&thread, NULL, load_again, NULL), 0);
  for (i = 0; i < 1000; i++) {
    set(NULL);
    reset();
  }
  done = true;
  pthread_join(thread, NULL);
}
END_TEST

CHECK_MAIN("slots", calls_and_addresses_are_ours,
	   a_slot_that_others_have_written_stays_theirs,
	   another_object_keeps_its_calls,
	   what_the_process_has_not_is_left_alone,
	   objects_that_come_later_are_noticed,
	   other_threads_load_and_unload_objects)
