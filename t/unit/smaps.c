/* SPDX-License-Identifier: MIT */
/* mp_smaps: mappings of a process by kind, from the kernel's text. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check_main.h"
#include "data/smaps.h"

static const char text[] =
  "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/a name\n"
  "Size:                328 kB\n"
  "Rss:                 100 kB\n"
  "00e03000-00e24000 rw-p 00000000 00:00 0           [heap]\n"
  "Size:                132 kB\n"
  "Rss:                  20 kB\n"
  "7f0000000000-7f0000010000 rw-p 00000000 00:00 0 \n"
  "Rss:                  40 kB\n"
  "Anonymous:            40 kB\n"
  "7f0000020000-7f0000030000 r-xp 00000000 00:00 0 \n"
  "Rss:                   8 kB\n"
  "7f0000040000-7f0000050000 rw-p 00000000 00:00 0 \n"
  "Rss:                   4 kB\n"
  "7f0000060000-7f0000070000 r-xp 00000000 08:02 9   /lib/own.so\n"
  "Rss:                  16 kB\n"
  "7f0000080000-7f0000090000 rw-p 00000000 00:00 0   [anon:name]\n"
  "Rss:                   2 kB\n"
  "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0   [stack]\n"
  "Rss:                  12 kB\n"
  "7ffc00100000-7ffc00102000 r-xp 00000000 00:00 0   [vdso]\n"
  "Rss:                   1 kB";

static bool parse(mp_smaps *m, const char *s)
{
  FILE *f = tmpfile();
  bool ok;
  ck_assert_ptr_nonnull(f);
  ck_assert_int_ge(fputs(s, f), 0);
  ck_assert_int_eq(fflush(f), 0);
  ck_assert_int_eq(lseek(fileno(f), 0, SEEK_SET), 0);
  ok = mp_smaps_parse(m, fileno(f), "/lib/own.so");
  fclose(f);
  return ok;
}

START_TEST(mappings_are_told_apart)
{
  mp_smaps m = { .sp = { 0x7f0000048000 }, .nsp = 1 };
  char whole[sizeof(text) + 1];
  snprintf(whole, sizeof(whole), "%s\n", text);
  ck_assert(parse(&m, whole));
  ck_assert_uint_eq(m.files, 101 * 1024);
  ck_assert_uint_eq(m.heap, 20 * 1024);
  ck_assert_uint_eq(m.heap_size, 132 * 1024);
  ck_assert_uint_eq(m.anonymous, 42 * 1024);
  ck_assert_uint_eq(m.code, 8 * 1024);
  ck_assert_uint_eq(m.stacks, 16 * 1024);
  ck_assert_uint_eq(m.own, 16 * 1024);
  ck_assert_uint_eq(m.rss, 203 * 1024);
}
END_TEST

START_TEST(what_is_no_such_file_is_refused)
{
  mp_smaps m = { 0 };
  ck_assert(!parse(&m, ""));
  ck_assert(!parse(&m, "Rss: 12 kB\nabc\ndef-\n"));
  ck_assert_uint_eq(m.rss, 0);
}
END_TEST

START_TEST(this_process_has_pages_where_it_wrote)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 3000 * page;
  mp_smaps before, after;
  char *p;
  ck_assert(mp_smaps_read(&before, NULL));
  p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert(p != MAP_FAILED);
  ck_assert_uint_eq(mp_smaps_resident(p, n), 0);
  memset(p, 1, n / 2);
  p[n - 1] = 1;
  madvise(p, n, MADV_NOHUGEPAGE);
  ck_assert_uint_ge(mp_smaps_resident(p, n), n / 2 + page);
  ck_assert(mp_smaps_read(&after, NULL));
  ck_assert_uint_ge(after.anonymous, before.anonymous + n / 2);
  ck_assert_uint_eq(after.rss, after.files + after.own + after.code +
		    after.stacks + after.heap + after.anonymous);
  munmap(p, n);
}
END_TEST

CHECK_MAIN("smaps", mappings_are_told_apart, what_is_no_such_file_is_refused,
	   this_process_has_pages_where_it_wrote)
