/* SPDX-License-Identifier: MIT */
/* mp_output: where a report goes, and what may stand in its way. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <dirent.h>
#include <unistd.h>

#include "check_main.h"
#include "report/output.h"

#define NOBODY	65534

static char dir[64];		/* Each test has a directory of its own. */

static void begin(void)
{
  strcpy(dir, "/tmp/check_output.XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(dir));
  ck_assert_int_eq(chdir(dir), 0);
}

static void end(void)
{
  char command[128];
  ck_assert_int_eq(chdir("/"), 0);
  snprintf(command, sizeof(command), "rm -rf %s", dir);
  ck_assert_int_eq(system(command), 0);
}

/* A report in one go. */
static int report(const char *name, const char *text)
{
  mp_output o;
  int err = mp_output_open(&o, name, dir);
  if (err == 0) err = mp_output_write(&o, text, strlen(text));
  mp_output_close(&o);
  return err;
}

static const char *contents(const char *name)
{
  static char buf[4096];
  FILE *fp = fopen(name, "r");
  size_t n;
  if (fp == NULL) return NULL;
  n = fread(buf, 1, sizeof(buf) - 1, fp);
  fclose(fp);
  buf[n] = '\0';
  return buf;
}

static void put(const char *name, const char *text)
{
  FILE *fp = fopen(name, "w");
  ck_assert_ptr_nonnull(fp);
  fputs(text, fp);
  fclose(fp);
}

static int entries(const char *name)
{
  DIR *d = opendir(name);
  int n = 0;
  while (readdir(d) != NULL) n++;
  closedir(d);
  return n - 2;
}

START_TEST(a_file_is_made_and_replaced)
{
  struct stat st;
  begin();
  umask(022);
  ck_assert_int_eq(report("a.txt", "one"), 0);
  ck_assert_str_eq(contents("a.txt"), "one");
  ck_assert_int_eq(chmod("a.txt", 0600), 0);
  ck_assert_int_eq(report("a.txt", "two"), 0);
  ck_assert_str_eq(contents("a.txt"), "two");
  ck_assert_int_eq(stat("a.txt", &st), 0);
  ck_assert_int_eq(st.st_mode & 07777, 0600);
  ck_assert_int_eq(entries("."), 1);  /* Nothing is left beside. */
  end();
}
END_TEST

START_TEST(links_are_followed)
{
  struct stat st;
  begin();
  ck_assert_int_eq(mkdir("far", 0755), 0);
  put("far/kept.txt", "old");
  ck_assert_int_eq(symlink("far", "near"), 0);
  ck_assert_int_eq(symlink("near/kept.txt", "link"), 0);
  ck_assert_int_eq(report("link", "new"), 0);
  ck_assert_str_eq(contents("far/kept.txt"), "new");
  ck_assert_int_eq(symlink("far/../near/./made.txt", "dangling"), 0);
  ck_assert_int_eq(report("dangling", "made"), 0);
  ck_assert_str_eq(contents("far/made.txt"), "made");
  ck_assert_int_eq(lstat("dangling", &st), 0);
  ck_assert(S_ISLNK(st.st_mode));
  ck_assert_int_eq(symlink("loop", "loop"), 0);
  ck_assert_int_eq(report("loop", "x"), ELOOP);
  end();
}
END_TEST

START_TEST(what_cannot_be_written_is_known_at_the_start)
{
  mp_output o;
  begin();
  ck_assert_int_eq(mp_output_open(&o, ".", dir), EISDIR);
  mp_output_close(&o);
  ck_assert_int_eq(mp_output_open(&o, "none/", dir), ENOENT);
  mp_output_close(&o);
  ck_assert_int_eq(mp_output_open(&o, "none/a.txt", dir), ENOENT);
  mp_output_close(&o);
  ck_assert_int_eq(mkdir("sub", 0755), 0);
  ck_assert_int_eq(mp_output_open(&o, "sub/", dir), EISDIR);
  mp_output_close(&o);
  put("file", "");
  ck_assert_int_eq(mp_output_open(&o, "file/a.txt", dir), ENOTDIR);
  mp_output_close(&o);
  end();
}
END_TEST

START_TEST(long_names)
{
  char name[300];
  begin();
  memset(name, 'n', sizeof(name));
  name[255] = '\0';
  ck_assert_int_eq(report(name, "long"), 0);
  ck_assert_str_eq(contents(name), "long");
  name[255] = 'n';
  name[256] = '\0';
  ck_assert_int_eq(report(name, "long"), ENAMETOOLONG);
  end();
}
END_TEST

START_TEST(the_directory_is_kept)
{
  mp_output o;
  int other;
  begin();
  ck_assert_int_eq(mkdir("out", 0755), 0);
  ck_assert_int_eq(mp_output_open(&o, "out/a.txt", dir), 0);
  ck_assert_int_eq(chdir("/"), 0);
  ck_assert_int_eq(mp_output_write(&o, "1", 1), 0);
  ck_assert_int_eq(chdir(dir), 0);
  ck_assert_str_eq(contents("out/a.txt"), "1");
  /* Removed and made again it is the same to the user. */
  ck_assert_int_eq(unlink("out/a.txt"), 0);
  ck_assert_int_eq(rmdir("out"), 0);
  ck_assert_int_eq(mp_output_write(&o, "2", 1), ENOENT);
  ck_assert_int_eq(mkdir("out", 0755), 0);
  ck_assert_int_eq(mp_output_write(&o, "2", 1), 0);
  ck_assert_str_eq(contents("out/a.txt"), "2");
  /* A descriptor that is another file by now is not taken for it. */
  ck_assert_int_eq(mkdir("other", 0755), 0);
  other = open("other", O_RDONLY | O_DIRECTORY);
  ck_assert_int_eq(dup2(other, o.dir.fd), o.dir.fd);
  close(other);
  ck_assert_int_eq(mp_output_write(&o, "3", 1), 0);
  ck_assert_str_eq(contents("out/a.txt"), "3");
  ck_assert_int_eq(entries("other"), 0);
  mp_output_close(&o);
  end();
}
END_TEST

START_TEST(each_process_has_its_name)
{
  char name[64];
  mp_output o;
  pid_t pid;
  int status;
  begin();
  ck_assert_int_eq(mp_output_open(&o, "%p.txt", dir), 0);
  ck_assert(mp_output_perpid(&o));
  pid = fork();
  if (pid == 0) {
    mp_output_forked(&o);
    _exit(mp_output_write(&o, "child", 5));
  }
  waitpid(pid, &status, 0);
  ck_assert_int_eq(status, 0);
  ck_assert_int_eq(mp_output_write(&o, "parent", 6), 0);
  snprintf(name, sizeof(name), "%ld.txt", (long)pid);
  ck_assert_str_eq(contents(name), "child");
  snprintf(name, sizeof(name), "%ld.txt", (long)getpid());
  ck_assert_str_eq(contents(name), "parent");
  mp_output_close(&o);
  /* A name that is put is taken as it is. */
  ck_assert_int_eq(mp_output_put("%p", "as it is", 8), 0);
  ck_assert_str_eq(contents("%p"), "as it is");
  end();
}
END_TEST

/* Several processes at once: each file is one of theirs, whole. */
START_TEST(parallel_writers_do_not_collide)
{
  char text[3000];
  int i, k, status, bad = 0;
  begin();
  for (i = 0; i < 8; i++)
    if (fork() == 0) {
      memset(text, 'a' + i, sizeof(text));
      for (k = 0; k < 50; k++)
	if (mp_output_put("same.txt", text, sizeof(text)) != 0) _exit(1);
      _exit(0);
    }
  while (wait(&status) > 0) bad += status != 0;
  ck_assert_int_eq(bad, 0);
  ck_assert_uint_eq(strlen(contents("same.txt")), sizeof(text));
  ck_assert_uint_eq(strspn(contents("same.txt"), (char[]){
    contents("same.txt")[0], '\0' }), sizeof(text));
  ck_assert_int_eq(entries("."), 1);
  end();
}
END_TEST

static void nothing(int sig) { (void)sig; }

START_TEST(a_fifo_while_signals_come)
{
  struct sigaction sa = { .sa_handler = nothing };
  struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { 0 };
  int status;
  begin();
  ck_assert_int_eq(mkfifo("ff", 0600), 0);
  if (fork() == 0) {
    usleep(100000);
    ck_assert_str_eq(contents("ff"), "through it");
    _exit(0);
  }
  sigaction(SIGALRM, &sa, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  ck_assert_int_eq(report("ff", "through it"), 0);
  setitimer(ITIMER_REAL, &never, NULL);
  wait(&status);
  ck_assert_int_eq(status, 0);
  end();
}
END_TEST

START_TEST(devices_and_descriptors)
{
  char name[64];
  int fd;
  begin();
  ck_assert_int_eq(report("/dev/null", "x"), 0);
  ck_assert_int_eq(report("/dev/full", "x"), ENOSPC);
  fd = open("log", O_WRONLY | O_CREAT, 0600);
  ck_assert_int_eq(write(fd, "before ", 7), 7);
  snprintf(name, sizeof(name), "/dev/fd/%d", fd);
  ck_assert_int_eq(report(name, "report"), 0);
  ck_assert_str_eq(contents("log"), "before report");
  close(fd);
  end();
}
END_TEST

/* The default actions of these signals would end this program. */
START_TEST(no_signal_comes_of_a_write)
{
  struct rlimit all, little;
  static char text[5000];
  char name[64];
  mp_output o;
  int fds[2];
  begin();
  memset(text, 'x', sizeof(text));
  ck_assert_int_eq(pipe(fds), 0);
  snprintf(name, sizeof(name), "/proc/self/fd/%d", fds[1]);
  ck_assert_int_eq(mp_output_open(&o, name, dir), 0);
  close(fds[0]);
  close(fds[1]);
  ck_assert_int_eq(mp_output_write(&o, "x", 1), EPIPE);
  mp_output_close(&o);
  getrlimit(RLIMIT_FSIZE, &all);
  little = all;
  little.rlim_cur = 1000;
  setrlimit(RLIMIT_FSIZE, &little);
  ck_assert_int_eq(mp_output_put("big", text, sizeof(text)), EFBIG);
  setrlimit(RLIMIT_FSIZE, &all);
  ck_assert_int_eq(entries("."), 0);
  end();
}
END_TEST

/* In a directory like /tmp, as root and as the user nobody. */
static bool interrupts;

/* In place of the C library's. */
int unlinkat(int at, const char *name, int flags)
{
  if (interrupts) kill(getpid(), SIGTERM);
  return (int)syscall(SYS_unlinkat, at, name, flags);
}

START_TEST(a_signal_at_the_start_leaves_no_file)
{
  int status, n = 0;
  pid_t child;
  DIR *d;
  begin();
  child = fork();
  if (child == 0) {
    mp_output o;
    signal(SIGTERM, SIG_DFL);
    interrupts = true;
    _exit(mp_output_open(&o, "report.txt", dir));
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  d = opendir(".");
  while (readdir(d) != NULL) n++;
  closedir(d);
  ck_assert_int_eq(n, 2);
  end();
}
END_TEST

START_TEST(the_traps_of_others_are_refused)
{
  struct stat st;
  if (geteuid() != 0) return;
  begin();
  ck_assert_int_eq(chmod(dir, 01777), 0);
  put("victim", "safe");
  ck_assert_int_eq(symlink("victim", "trap"), 0);
  ck_assert_int_eq(lchown("trap", NOBODY, NOBODY), 0);
  ck_assert_int_eq(report("trap", "x"), MP_FOREIGN);
  ck_assert_int_eq(symlink("/", "root"), 0);
  ck_assert_int_eq(lchown("root", NOBODY, NOBODY), 0);
  ck_assert_int_eq(report("root/tmp/x", "x"), MP_FOREIGN);
  put("theirs", "");
  ck_assert_int_eq(lchown("theirs", NOBODY, NOBODY), 0);
  ck_assert_int_eq(report("theirs", "x"), MP_FOREIGN);
  ck_assert_int_eq(symlink("victim", "mine"), 0);
  ck_assert_int_eq(report("mine", "new"), 0);
  ck_assert_str_eq(contents("victim"), "new");
  /* The directory's owner may have links there. */
  ck_assert_int_eq(chown(dir, NOBODY, NOBODY), 0);
  ck_assert_int_eq(report("trap", "by its owner"), 0);
  ck_assert_str_eq(contents("victim"), "by its owner");
  /* A file of somebody's stays theirs. */
  ck_assert_int_eq(report("theirs", "x"), 0);
  ck_assert_int_eq(stat("theirs", &st), 0);
  ck_assert_uint_eq(st.st_uid, NOBODY);
  end();
}
END_TEST

/* A file that they put there after the start is not replaced: it is theirs. */
START_TEST(a_trap_that_is_set_later_is_refused)
{
  mp_output o;
  if (geteuid() != 0) return;
  begin();
  ck_assert_int_eq(chmod(dir, 01777), 0);
  ck_assert_int_eq(mp_output_open(&o, "later", dir), 0);
  put("later", "");
  ck_assert_int_eq(lchown("later", NOBODY, NOBODY), 0);
  ck_assert_int_eq(mp_output_write(&o, "x", 1), MP_FOREIGN);
  ck_assert_str_eq(contents("later"), "");
  ck_assert_int_eq(entries("."), 1);
  /* A link of our own is replaced: it was not there at the start. */
  ck_assert_int_eq(unlink("later"), 0);
  ck_assert_int_eq(symlink("elsewhere", "later"), 0);
  ck_assert_int_eq(mp_output_write(&o, "x", 1), 0);
  ck_assert_str_eq(contents("later"), "x");
  mp_output_close(&o);
  end();
}
END_TEST

CHECK_MAIN("output", a_file_is_made_and_replaced, links_are_followed,
	   what_cannot_be_written_is_known_at_the_start, long_names,
	   the_directory_is_kept, each_process_has_its_name,
	   parallel_writers_do_not_collide, a_fifo_while_signals_come,
	   devices_and_descriptors, no_signal_comes_of_a_write,
	   a_signal_at_the_start_leaves_no_file,
	   the_traps_of_others_are_refused,
	   a_trap_that_is_set_later_is_refused)
