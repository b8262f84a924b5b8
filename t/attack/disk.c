/* SPDX-License-Identifier: MIT */
/*
** A slow disk, for t/attack/disk.lua: a process that opens a file waits until
** another file has gone.
**
**   disk FILE PID HOLD READY
**
** Opening FILE lasts, in process PID, until HOLD has gone; others open it at
** once. READY is made as soon as that is so. It ends when PID does, or with
** status 77 if the system does not let us.
*/
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <unistd.h>

#define HELD_MAX 64
#define STEP	5		/* Milliseconds between two looks at HOLD. */

static int held[HELD_MAX], nheld;

static void allow(int fan, int fd)
{
  struct fanotify_response r = { fd, FAN_ALLOW };
  if (write(fan, &r, sizeof(r)) != sizeof(r)) perror("disk");
  close(fd);
}

static void allow_all(int fan)
{
  while (nheld > 0) allow(fan, held[--nheld]);
}

static void take_events(int fan, pid_t pid)
{
  static char buf[4096] __attribute__((aligned(8)));
  const struct fanotify_event_metadata *e = (const void *)buf;
  ssize_t n = read(fan, buf, sizeof(buf));
  for (; n > 0 && FAN_EVENT_OK(e, n); e = FAN_EVENT_NEXT(e, n)) {
    if (e->fd < 0) continue;
    if (e->pid == pid && nheld < HELD_MAX) held[nheld++] = e->fd;
    else allow(fan, e->fd);
  }
}

int main(int argc, char **argv)
{
  int fan = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK,
			  O_RDONLY | O_CLOEXEC);
  pid_t pid;
  if (argc < 5) return 2;
  if (fan < 0 || fanotify_mark(fan, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD,
			       argv[1]) != 0) {
    perror("fanotify");
    return 77;
  }
  pid = (pid_t)atol(argv[2]);
  close(open(argv[4], O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  while (kill(pid, 0) == 0) {
    struct pollfd p = { fan, POLLIN, 0 };
    if (poll(&p, 1, STEP) > 0) take_events(fan, pid);
    if (access(argv[3], F_OK) != 0) allow_all(fan);
  }
  allow_all(fan);
  return 0;
}
