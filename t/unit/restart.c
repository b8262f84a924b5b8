/* SPDX-License-Identifier: MIT */
/* mp_restart_call: waits that our signal interrupts. */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "check_main.h"
#include "data/restart.h"

#define OURS	SIGUSR1
#define OTHERS	SIGUSR2
#define TIME	300		/* Milliseconds that a call waits. */

static const struct timespec step = { 0, 5000000 };
static const struct timespec span = { 0, TIME * 1000000 };

static volatile sig_atomic_t came;	/* Others, while ours was handled. */
static bool others_come;

static void on_ours(int sig, siginfo_t *info, void *context)
{
  (void)info;
  if (others_come) raise(OTHERS);
  mp_restart_call(sig, context);
}

static void on_others(int sig) { (void)sig; came++; }

/* Ours comes meanwhile, and has to wait. */
static void on_blocking(int sig) { (void)sig; raise(OURS); }

static void handle_others(void (*handler)(int), int flags, int blocked)
{
  struct sigaction sa;
  memset(&sa, 0, sizeof(sa));
  sigemptyset(&sa.sa_mask);
  if (blocked != 0) sigaddset(&sa.sa_mask, blocked);
  sa.sa_flags = flags;
  sa.sa_handler = handler;
  ck_assert_int_eq(sigaction(OTHERS, &sa, NULL), 0);
}

/* libcheck's handlers do not count. */
static void begin(void)
{
  struct sigaction sa;
  signal(SIGALRM, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  memset(&sa, 0, sizeof(sa));
  mp_restart_mask(&sa.sa_mask);
  sa.sa_flags = SA_SIGINFO | SA_RESTART;
  sa.sa_sigaction = on_ours;
  ck_assert_int_eq(sigaction(OURS, &sa, NULL), 0);
  handle_others(on_others, SA_RESTART, 0);
  others_come = false;
  came = 0;
}

static int wait_poll(void) { return poll(NULL, 0, TIME); }

static int wait_ppoll(void) { return ppoll(NULL, 0, &span, NULL); }

static int wait_nanosleep(void) { return nanosleep(&span, NULL); }

static int wait_select(void)
{
  struct timeval time = { 0, TIME * 1000 };
  return select(0, NULL, NULL, NULL, &time);
}

static int wait_pselect(void)
{
  return pselect(0, NULL, NULL, NULL, &span, NULL);
}

static int wait_epoll(void)
{
  struct epoll_event event;
  int fd = epoll_create1(0), n = epoll_wait(fd, &event, 1, TIME);
  int err = errno;
  close(fd);
  errno = err;
  return n;
}

/* These end without anything, too: with EAGAIN. */
static int without(int result)
{
  return result < 0 && errno == EAGAIN ? 0 : result;
}

static int wait_signal(void)
{
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  return without(sigtimedwait(&set, NULL, &span));
}

static int wait_receive(void)
{
  struct timeval time = { 0, TIME * 1000 };
  int fd[2], n, err;
  char c;
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
  setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
  n = without((int)recv(fd[0], &c, 1, 0));
  err = errno;
  close(fd[0]);
  close(fd[1]);
  errno = err;
  return n;
}

static int (*const waits[])(void) = {
  wait_poll, wait_ppoll, wait_nanosleep, wait_select, wait_pselect, wait_epoll,
  wait_signal, wait_receive
};

#define NWAITS ((int)(sizeof(waits) / sizeof(waits[0])))

static pthread_t waiter;

/* Sends the signal some times. */
static void *send_some(void *sig)
{
  int i;
  for (i = 0; i < 5; i++) {
    nanosleep(&step, NULL);
    pthread_kill(waiter, *(int *)sig);
  }
  return NULL;
}

/* The call's result while that signal comes. */
static int result_of(int (*wait)(void), int sig)
{
  pthread_t sender;
  int n, err;
  waiter = pthread_self();
  ck_assert_int_eq(pthread_create(&sender, NULL, send_some, &sig), 0);
  n = wait();
  err = errno;
  pthread_join(sender, NULL);
  return n < 0 ? -err : n;
}

/* On x86-64 musl does not have the number of most calls beside them. */
START_TEST(waits_go_on)
{
#if (defined(__x86_64__) && defined(__GLIBC__)) || defined(__aarch64__)
  int i;
#ifdef __x86_64__  /* Valgrind moves arguments. */
  if (getenv("MP_TEST_SLOW") != NULL) return;
#endif
  begin();
  for (i = 0; i < NWAITS; i++)
    ck_assert_msg(result_of(waits[i], OURS) == 0, "wait %d", i);
#endif
}
END_TEST

/* Each wait ends by that signal, if not at once. */
static void all_end_by(int sig)
{
  int i, j, n;
  for (i = 0; i < NWAITS; i++) {
    for (j = n = 0; j < 20 && n == 0; j++) n = result_of(waits[i], sig);
#ifndef __GLIBC__  /* musl's sigtimedwait goes on by itself. */
    if (waits[i] == wait_signal) continue;
#endif
    ck_assert_msg(n == -EINTR, "wait %d", i);
  }
}

/* Else the test above would prove nothing, and a program's own would be
** lost. */
START_TEST(other_signals_end_them)
{
  begin();
  all_end_by(OTHERS);
}
END_TEST

/* The program's handler has ended the wait, and ours comes as it returns. */
START_TEST(ours_comes_after_another)
{
  begin();
  handle_others(on_blocking, SA_RESTART, OURS);
  all_end_by(OTHERS);
}
END_TEST

START_TEST(another_comes_after_ours)
{
  begin();
  others_come = true;
  all_end_by(OURS);
  ck_assert_int_gt(came, 0);
}
END_TEST

/* A program that wants its calls to end has a handler for that. */
START_TEST(handlers_that_end_calls)
{
  begin();
  handle_others(on_others, 0, 0);
  all_end_by(OURS);
}
END_TEST

/* A signal that only the wait lets through: it must end the wait, or be there
** still where the wait was not made again. */
START_TEST(a_signal_is_let_through)
{
  const struct timespec hour = { 3600, 0 };
  sigset_t set, none;
  pthread_t sender;
  int sig = OURS;
  begin();
  others_come = true;
  sigemptyset(&none);
  sigemptyset(&set);
  sigaddset(&set, OTHERS);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  waiter = pthread_self();
  ck_assert_int_eq(pthread_create(&sender, NULL, send_some, &sig), 0);
  ck_assert_int_eq(ppoll(NULL, 0, &hour, &none), -1);
  ck_assert_int_eq(errno, EINTR);
  pthread_join(sender, NULL);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  ck_assert_int_gt(came, 0);
}
END_TEST

/* A signal that comes elsewhere changes nothing. */
START_TEST(other_code_goes_on)
{
  int fd[2];
  char c = 'x';
  begin();
  raise(OURS);
  ck_assert_int_eq(pipe(fd), 0);
  ck_assert_int_eq(write(fd[1], &c, 1), 1);
  ck_assert_int_eq(raise(OURS), 0);
  ck_assert_int_eq(read(fd[0], &c, 1), 1);
  ck_assert_int_eq(close(fd[0]) | close(fd[1]), 0);
}
END_TEST

CHECK_MAIN("restart", waits_go_on, other_signals_end_them,
  ours_comes_after_another, another_comes_after_ours, handlers_that_end_calls,
  a_signal_is_let_through, other_code_goes_on)
