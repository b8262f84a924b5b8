/* SPDX-License-Identifier: MIT */
/* mp_limits: the limits of memory, from a made-up system's files. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_main.h"
#include "data/limit.h"

static char root[] = "/tmp/check_limit.XXXXXX";

/* Writes a file of the system's, with its directories. */
static void put(const char *name, const char *text)
{
  char path[512], *s;
  FILE *f;
  snprintf(path, sizeof(path), "%s%s", root, name);
  for (s = path + strlen(root) + 1; (s = strchr(s, '/')) != NULL; s++) {
    *s = '\0';
    mkdir(path, 0755);
    *s = '/';
  }
  f = fopen(path, "w");
  ck_assert_ptr_nonnull(f);
  ck_assert_int_ge(fputs(text, f), 0);
  ck_assert_int_eq(fclose(f), 0);
}

static void begin(void)
{
  strcpy(root + sizeof(root) - 7, "XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(root));
}

static void end(void)
{
  char command[64];
  snprintf(command, sizeof(command), "rm -r %s", root);
  ck_assert_int_eq(system(command), 0);
}

START_TEST(the_lowest_cgroup_above_limits)
{
  mp_limits s;
  begin();
  put("/proc/self/cgroup", "0::/pod/app\n");
  put("/sys/fs/cgroup/pod/app/memory.max", "max\n");
  put("/sys/fs/cgroup/pod/memory.max", "536870912\n");
  put("/sys/fs/cgroup/pod/memory.current", "400000000\n");
  put("/sys/fs/cgroup/pod/memory.stat",
      "anon 1\nfile 2\ninactive_file 100000000\nactive_file 3\n");
  put("/proc/self/statm", "1000 200 100 1 0 50 0\n");
  mp_limits_find(&s, root);
  ck_assert_uint_eq(s.most[MP_LIMIT_CGROUP], 536870912);
  mp_limits_look(&s, root);
  ck_assert_uint_eq(s.used[MP_LIMIT_CGROUP], 300000000);
  ck_assert_uint_eq(s.rss, 200 * (uint64_t)sysconf(_SC_PAGESIZE));
  end();
}
END_TEST

START_TEST(older_cgroups_limit_too)
{
  mp_limits s;
  begin();
  put("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/box\n0::/\n");
  put("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "300000000\n");
  put("/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "200000000\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  mp_limits_find(&s, root);
  ck_assert_uint_eq(s.most[MP_LIMIT_CGROUP], 300000000);
  mp_limits_look(&s, root);
  ck_assert_uint_eq(s.used[MP_LIMIT_CGROUP], 200000000);
  end();
}
END_TEST

/* In a container the path may be that of the system outside. */
START_TEST(a_path_that_is_not_there_is_the_mount)
{
  mp_limits s;
  begin();
  put("/proc/self/cgroup", "4:memory:/docker/0123\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "300000000\n");
  mp_limits_find(&s, root);
  ck_assert_uint_eq(s.most[MP_LIMIT_CGROUP], 300000000);
  end();
}
END_TEST

START_TEST(without_files_the_rest_is_known)
{
  const rlim_t most = (rlim_t)1 << (sizeof(void *) == 8 ? 40 : 31);
  struct rlimit as = { most, most };
  mp_limits s;
  begin();
  mp_limits_find(&s, root);
  ck_assert_uint_eq(s.most[MP_LIMIT_CGROUP], 0);
  ck_assert_uint_gt(s.most[MP_LIMIT_MACHINE], 0);
  mp_limits_look(&s, root);
  ck_assert_uint_eq(s.rss, 0);
#ifndef __SANITIZE_ADDRESS__	/* It takes more addresses than that. */
  if (setrlimit(RLIMIT_AS, &as) == 0) {
    mp_limits_find(&s, root);
    ck_assert_uint_eq(s.most[MP_LIMIT_ADDRESSES], most);
  }
#else
  (void)as;
#endif
  end();
}
END_TEST

/* In a larger process only a VM may have such pointers. */
START_TEST(pointers_of_32_bits_limit)
{
  const uint64_t gib = (uint64_t)1 << 30;
  mp_limits s;
  begin();
  put("/proc/self/statm", "1000 200 100 1 0 50 0\n");
  mp_limits_find(&s, root);
  mp_limits_look(&s, root);
  if (sizeof(void *) == 4) {
    ck_assert_uint_ge(s.most[MP_LIMIT_POINTERS], 3 * gib);
    ck_assert_uint_le(s.most[MP_LIMIT_POINTERS], 4 * gib);
    ck_assert_uint_eq(s.used[MP_LIMIT_POINTERS],
		      1000 * (uint64_t)sysconf(_SC_PAGESIZE));
  } else {
    ck_assert_uint_eq(s.most[MP_LIMIT_POINTERS], 0);
    ck_assert_uint_eq(s.used[MP_LIMIT_POINTERS], 0);
  }
  end();
}
END_TEST

/* A system's /proc/self/limits. */
static void put_limits(const char *data, const char *addresses)
{
  char text[512];
  snprintf(text, sizeof(text),
	   "Limit                     Soft Limit           Hard\n"
	   "Max data size             %-20s unlimited\n"
	   "Max stack size            8388608              unlimited\n"
	   "Max address space         %-20s unlimited\n",
	   data, addresses);
  put("/proc/self/limits", text);
}

START_TEST(the_kernel_refuses_where_addresses_are_limited)
{
  begin();
  ck_assert(mp_limits_refuse(root));
  put("/proc/sys/vm/overcommit_memory", "0\n");
  ck_assert(mp_limits_refuse(root));
  put_limits("unlimited", "unlimited");
  ck_assert(!mp_limits_refuse(root));
  put_limits("unlimited", "4294967296");
  ck_assert(mp_limits_refuse(root));
  put_limits("4294967296", "unlimited");
  ck_assert(mp_limits_refuse(root));
  put("/proc/self/limits", "Max data size             unlimited\n");
  ck_assert(mp_limits_refuse(root));
  put_limits("unlimited", "unlimited");
  put("/proc/sys/vm/overcommit_memory", "1\n");
  ck_assert(!mp_limits_refuse(root));
  put("/proc/sys/vm/overcommit_memory", "2\n");
  ck_assert(mp_limits_refuse(root));
  end();
}
END_TEST

START_TEST(this_process_uses_memory)
{
  mp_limits s;
  mp_limits_find(&s, "");
  mp_limits_look(&s, "");
  ck_assert_uint_gt(s.rss, 0);
  ck_assert_uint_ge(s.used[MP_LIMIT_ADDRESSES], s.rss);
}
END_TEST

CHECK_MAIN("limit", the_lowest_cgroup_above_limits, older_cgroups_limit_too,
	   a_path_that_is_not_there_is_the_mount,
	   without_files_the_rest_is_known, pointers_of_32_bits_limit,
	   the_kernel_refuses_where_addresses_are_limited,
	   this_process_uses_memory)
