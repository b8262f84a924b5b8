/* SPDX-License-Identifier: MIT */
/*
** The profiler in hosts with several states and threads: LuaJIT's profiler
** goes from one to the other, however each of them ends, and nobody's signal
** gets to anybody else.
*/
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>

#include "check_main.h"
#include "check_state.h"

static const char busy[] =
  "local s = 0\n"
  "for i = 1, 300000 do s = s + i % 7 end\n"
  "local t = {}\n"
  "for i = 1, 3000 do t[i % 100 + 1] = { i } end\n";

/* Whether LuaJIT's profiler can be lent to several states. Else the next one
** gets it when the first releases it. */
static bool is_lent(lua_State *L)
{
  bool exact;
  run(L, "exact = require('jit.mp.core').snapshot().info.capture == 'exact'");
  lua_getglobal(L, "exact");
  exact = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return exact;
}

/* -- One thread ----------------------------------------------------------- */

/* Another profiler comes and goes in the state that has the profiler. */
START_TEST(another_profiler_in_the_state_that_owns)
{
  int i;
  for (i = 0; i < 5; i++) {
    lua_State *A = open_state(), *B = open_state();
    start(A, "fi1", "/dev/null");
    run(A, busy);
    run(A, "local p = require('jit.profile')\n"
	   "p.start('i1', function() end)\n"
	   "local t = os.clock() + 0.05 while os.clock() < t do end\n"
	   "p.stop()");
    start(B, "fi1", "/dev/null");
    run(B, busy);
    run(B, "assert(mp.stop())");
    lua_close(B);
    run(A, busy);
    lua_close(A);
  }
}
END_TEST

/* It gets its own samples only. */
START_TEST(another_profiler_counts_its_own_samples)
{
  lua_State *L = open_state();
  start(L, "fi1", "/dev/null");
  run(L, "local p = require('jit.profile')\n"
	 "local n = 0\n"
	 "p.start('i100', function(_, samples) n = n + samples end)\n"
	 "local t = os.clock() + 0.5 while os.clock() < t do end\n"
	 "p.stop()\n"
	 "assert(n < 50, n)\n"
	 "assert(mp.stop())\n");
  lua_close(L);
}
END_TEST

/* A state that is closed without stop leaves the profiler to the next. */
START_TEST(the_owner_is_closed_while_others_run)
{
  enum { N = 6 };
  lua_State *L[N];
  char file[256], *text;
  int i;
  file_name(file, sizeof(file), 0);
  for (i = 0; i < N; i++) {
    L[i] = open_state();
    start(L[i], "fi1", i == N - 1 ? file : "/dev/null");
  }
  for (i = 0; i < N; i++) {
    run(L[i], busy);
    if (i == N - 1)
      run(L[i], "local t = os.clock() + 0.3 while os.clock() < t do end");
    lua_close(L[i]);
  }
  text = take_file(file);
  ck_assert_msg(strstr(text, " 0 samples") == NULL, "%s", text);
}
END_TEST

/* A signal that comes late finds nothing to kill. */
START_TEST(exec_while_profiled)
{
  int i, status;
  for (i = 0; i < 20; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      lua_State *L = open_state();
      start(L, "fi1", "/dev/null");
      run(L, busy);
      execl("/bin/sh", "sh", "-c",
	    "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 7", NULL);
      _exit(99);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 7, "status %x",
		  status);
  }
}
END_TEST

/* -- Several threads ------------------------------------------------------ */

static atomic_bool enough;

static void *burn(void *unused)
{
  volatile unsigned n = 0;
  (void)unused;
  while (!enough) n = n + 1;
  return NULL;
}

/* While the state's thread waits another one uses the processor. */
START_TEST(the_cpu_time_of_other_threads_is_not_counted)
{
  lua_State *L = open_state();
  pthread_t t;
  enough = false;
  ck_assert_int_eq(pthread_create(&t, NULL, burn, NULL), 0);
  run(L, "ffi = require('ffi')\n"
	 "ffi.cdef 'int poll(void *, unsigned long, int);'\n"
	 "ffi.cdef 'int clock_gettime(int, long *);'\n"
	 "core = require('jit.mp.core')\n"
	 "function own_time()\n"
	 "  local t = ffi.new('long[2]')\n"
	 "  ffi.C.clock_gettime(3, t)\n"  /* CLOCK_THREAD_CPUTIME_ID */
	 "  return tonumber(t[0]) + tonumber(t[1]) * 1e-9\n"
	 "end\n"
	 "begun = own_time()\n");
  start(L, "fi1", "/dev/null");
  run(L, "ffi.C.poll(nil, 0, 500)\n"
	 "local s = core.snapshot()\n"
	 "assert(s.info.cpu < own_time() - begun + 0.01, s.info.cpu)\n"
	 "assert(s.cpu.samples <= s.info.cpu * 1100 + 20, s.cpu.samples)\n"
	 "assert(mp.stop())\n");
  enough = true;
  pthread_join(t, NULL);
  lua_close(L);
}
END_TEST

static void *go_on(void *arg)
{
  run(arg, "local core = require('jit.mp.core')\n"
	   "local before = core.snapshot().cpu.samples\n"
	   "local t = {}\n"
	   "local stop = os.clock() + 0.5\n"
	   "while os.clock() < stop do t[#t % 100 + 1] = { #t } end\n"
	   "assert(core.snapshot().cpu.samples > before + 10)\n");
  return NULL;
}

/* The samples follow it. */
START_TEST(a_state_goes_on_in_another_thread)
{
  lua_State *L = open_state();
  pthread_t t;
  start(L, "fi1", "/dev/null");
  run(L, busy);
  ck_assert_int_eq(pthread_create(&t, NULL, go_on, L), 0);
  pthread_join(t, NULL);
  run(L, busy);
  run(L, "assert(mp.stop())");
  lua_close(L);
}
END_TEST

#define BUSY	4		/* Threads. */

static pthread_barrier_t all_run;

/* Has samples until all threads have some. Nothing is allocated: compiled code
** runs in the first half, the interpreter in the other one. */
static void *have_samples(void *number)
{
  lua_State *L = open_state();
  start(L, "fi1", "/dev/null");
  pthread_barrier_wait(&all_run);
  if (*(int *)number % 2) run(L, "jit.off()");
  run(L, "local core = require('jit.mp.core')\n"
	 "local function work(s)\n"
	 "  for i = 1, 100000 do s = s + i % 7 end\n"
	 "  return s\n"
	 "end\n"
	 "local stop, s = os.clock() + 60, 0\n"
	 "repeat for i = 1, 100 do s = work(s) end\n"
	 "until core.snapshot().cpu.samples > 50 or os.clock() > stop\n"
	 "local p = core.snapshot()\n"
	 "assert(p.cpu.samples > 50, p.cpu.samples)\n"
	 "assert(#p.info.notes == 0 or p.info.capture ~= 'exact',\n"
	 "  p.info.notes[1])\n"
	 "local n, most = 0, 0\n"
	 "for _, r in ipairs(p.rows) do most = math.max(most, r.cpu or 0) end\n"
	 "assert(most > p.cpu.samples / 2, most)\n");
  if (is_lent(L)) pthread_barrier_wait(&all_run);
  run(L, "assert(mp.stop())");
  lua_close(L);
  return NULL;
}

START_TEST(each_thread_has_samples)
{
  pthread_t t[BUSY];
  int i, numbers[BUSY];
  ck_assert_int_eq(pthread_barrier_init(&all_run, NULL, BUSY), 0);
  for (i = 0; i < BUSY; i++) {
    numbers[i] = i;
    ck_assert_int_eq(pthread_create(&t[i], NULL, have_samples, &numbers[i]), 0);
  }
  for (i = 0; i < BUSY; i++) pthread_join(t[i], NULL);
}
END_TEST

static void *run_for_ever(void *number)
{
  char file[256];
  lua_State *L = open_state();
  file_name(file, sizeof(file), *(int *)number);
  start(L, "fi1w1", file);
  pthread_barrier_wait(&all_run);
  run(L, "local t = {} while true do t[#t % 100 + 1] = { #t } end");
  return NULL;
}

static void die_of_a_signal(void)
{
  pthread_t t;
  int i, numbers[BUSY];
  signal(SIGTERM, SIG_DFL);  /* Not libcheck's handler. */
  pthread_barrier_init(&all_run, NULL, BUSY + 1);
  for (i = 0; i < BUSY; i++) {
    numbers[i] = i;
    if (pthread_create(&t, NULL, run_for_ever, &numbers[i]) != 0) _exit(99);
  }
  pthread_barrier_wait(&all_run);
  kill(getpid(), SIGTERM);
  for (;;) pause();
}

/* Safepoints of several threads see it at once. */
START_TEST(a_signal_ends_busy_threads)
{
  char file[256];
  int i, k, status;
  for (k = 0; k < 5; k++) {
    pid_t pid = fork();
    if (pid == 0) die_of_a_signal();
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM,
		  "status %x", status);
    for (i = 0; i < BUSY; i++) {
      snprintf(file, sizeof(file), "%s/mp-host-%ld-%d.tmp",
	       getenv("builddir"), (long)pid, i);
      ck_assert_ptr_nonnull(strstr(take_file(file), "luajit-mp"));
    }
  }
}
END_TEST

/* Its thread's states take turns: whichever allocates. */
START_TEST(the_states_of_a_thread_take_turns)
{
  enum { N = 3 };
  lua_State *L[N];
  bool lent;
  int i, k;
  for (i = 0; i < N; i++) {
    L[i] = open_state();
    start(L[i], "fi1", "/dev/null");
    run(L[i], "core = require('jit.mp.core')\n"
	      "function allocate(n)\n"
	      "  local keep, stop = {}, os.clock() + 60\n"
	      "  repeat for i = 1, 1000 do keep[i] = { i } end\n"
	      "  until core.snapshot().cpu.samples >= n or os.clock() > stop\n"
	      "  assert(core.snapshot().cpu.samples >= n)\n"
	      "end\n");
  }
  lent = is_lent(L[0]);
  for (k = 1; k <= (lent ? 3 : 1); k++)
    for (i = 0; i < N; i++) {
      lua_pushinteger(L[i], k * 10);
      lua_setglobal(L[i], "n");
      run(L[i], "allocate(n)");
      if (!lent) run(L[i], "assert(mp.stop())");
    }
  for (i = 0; i < N; i++) {
    if (i == 1 && lent) run(L[i], "assert(mp.stop())");
    lua_close(L[i]);
  }
}
END_TEST

/* The ends of a worker's states: closed as they are, stopped before, or
** either. */
typedef enum end { CLOSED, STOPPED, EITHER } end;

typedef struct worker {
  pthread_t thread;
  end how;
  int rounds, number;
} worker;

static void *work_in_states(void *arg)
{
  static const char *const opts[] = { "fli1", "fb1i1", "ei1", "Li1", "zi1",
				      "Ji1" };
  worker *w = arg;
  int i;
  for (i = 0; i < w->rounds; i++) {
    lua_State *L = open_state();
    int k, starts = 1 + (i + w->number) % 3;
    for (k = 0; k < starts; k++) {
      if (k > 0) run(L, "mp.stop()");
      start(L, opts[(i + k + w->number) % 6], "/dev/null");
      run(L, busy);
    }
    if (w->how == STOPPED || (w->how == EITHER && i % 2))
      run(L, "mp.stop()");
    lua_close(L);
  }
  return NULL;
}

static void run_workers(int n, int rounds, end how)
{
  worker w[64];
  int i;
  for (i = 0; i < n; i++) {
    w[i] = (worker){ .how = how, .rounds = rounds, .number = i };
    ck_assert_int_eq(pthread_create(&w[i].thread, NULL, work_in_states, &w[i]),
		     0);
  }
  for (i = 0; i < n; i++) pthread_join(w[i].thread, NULL);
}

/* The number of repetitions: MP_HOST_ROUNDS, for long runs. */
static int rounds(int n)
{
  const char *s = getenv("MP_HOST_ROUNDS");
  return s != NULL ? n * atoi(s) : n;
}

START_TEST(states_are_closed_while_profiled)
{
  run_workers(2, rounds(8), CLOSED);
  run_workers(8, rounds(3), CLOSED);
}
END_TEST

START_TEST(states_are_stopped_and_closed)
{
  run_workers(4, rounds(4), STOPPED);
}
END_TEST

START_TEST(states_end_in_either_way)
{
  run_workers(4, rounds(4), EITHER);
  run_workers(32, rounds(1), EITHER);
}
END_TEST

/* A worker's state that another thread closes: meanwhile the worker's thread
** uses the processor, and its timer ticks. */
typedef struct handed {
  pthread_t thread;
  lua_State *L;
  atomic_int step;		/* 1: it may be closed, 2: it was. */
} handed;

static void wait_for_step(handed *h, int step)
{
  volatile unsigned n = 0;
  while (h->step < step) n = n + 1;
}

static void *hand_over(void *arg)
{
  handed *h = arg;
  h->L = open_state();
  start(h->L, "fi1", "/dev/null");
  run(h->L, busy);
  h->step = 1;
  wait_for_step(h, 2);
  return NULL;
}

START_TEST(states_are_closed_by_other_threads)
{
  lua_State *L = open_state();
  handed h[BUSY];
  int i, k;
  start(L, "fi1", "/dev/null");
  for (k = 0; k < rounds(4); k++) {
    for (i = 0; i < BUSY; i++) {
      h[i].step = 0;
      pthread_create(&h[i].thread, NULL, hand_over, &h[i]);
    }
    for (i = 0; i < BUSY; i++) {
      wait_for_step(&h[i], 1);
      lua_close(h[i].L);
      h[i].step = 2;
      pthread_join(h[i].thread, NULL);
    }
  }
  run(L, "assert(mp.stop())");
  lua_close(L);
}
END_TEST

/* -- Forks ---------------------------------------------------------------- */

static void *endless_starts(void *unused)
{
  (void)unused;
  while (!enough) {
    lua_State *L = open_state();
    start(L, "f", "/dev/null");
    run(L, "local t = {} for i = 1, 1000 do t[i] = { i } end");
    run(L, "mp.stop()");
    lua_close(L);
  }
  return NULL;
}

/* The child of a thread that forks can profile a state of its own, whatever
** other threads were doing. Its memory comes from malloc, which renews its
** locks after a fork; libgcc does not, so nothing may be compiled: LuaJIT tells
** it of each area of machine code. */
static int profile_in_child(void)
{
  lua_State *L;
  alarm(30);
  L = open_state();
  run(L, "jit.off()");
  start(L, "f", "/dev/null");
  run(L, busy);
  run(L, "assert(mp.stop())");
  lua_close(L);
  return 0;
}

/* The sanitizers have locks of their own that a fork does not renew. */
START_TEST(forks_while_others_start_and_stop)
{
  pthread_t t[2];
  int i, status;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return;
#endif
  /* A fork while another thread loads a library leaves the loader unusable. */
  lua_close(open_state());
  enough = false;
  for (i = 0; i < 2; i++)
    ck_assert_int_eq(pthread_create(&t[i], NULL, endless_starts, NULL), 0);
  for (i = 0; i < rounds(10); i++) {
    pid_t pid = fork();
    if (pid == 0) _exit(profile_in_child());
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(status == 0, "status %x", status);
  }
  enough = true;
  for (i = 0; i < 2; i++) pthread_join(t[i], NULL);
}
END_TEST

/* The report of this process, whose name has its number. */
static bool has_note(void)
{
  char file[256];
  snprintf(file, sizeof(file), "%s/mp-notes-%ld.tmp", getenv("builddir"),
	   (long)getpid());
  return strstr(take_file(file), "another Lua state") != NULL;
}

/* The child has the profiler to itself. */
START_TEST(a_child_has_no_notes_of_its_parent)
{
  char file[256];
  int status;
  pid_t pid;
  lua_State *A = open_state(), *B = open_state();
  snprintf(file, sizeof(file), "%s/mp-notes-%%p.tmp", getenv("builddir"));
  start(A, "fi1", "/dev/null");
  start(B, "fi1", file);
  run(A, "assert(mp.stop())");
  run(B, busy);
  pid = fork();
  run(B, busy);
  run(B, "assert(mp.stop())");
  if (pid == 0) _exit(has_note() ? 1 : 7);
  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 7, "status %x",
		status);
  ck_assert(has_note());
  lua_close(A);
  lua_close(B);
}
END_TEST

/* -- Coroutines that are looked at ----------------------------------------- */

/* Coroutines with labels wait at various depths, and are dropped; code is
** collected; the thread sleeps. */
static const char crowd[] =
  "local ffi = require('ffi')\n"
  "ffi.cdef 'int poll(void *, unsigned long, int);'\n"
  "local kept = {}\n"
  "local function wait(n)\n"
  "  if n > 0 then wait(n - 1) end\n"
  "  coroutine.yield()\n"
  "  return n\n"
  "end\n"
  "for i = 1, 2000 do\n"
  "  local f = i % 10 == 0 and loadstring('coroutine.yield() return '..i) or\n"
  "    wait\n"
  "  local co = coroutine.create(f)\n"
  "  if i % 3 == 0 then mp.label('route', '/'..i % 9) end\n"
  "  mp.with({ plugin = 'p'..i % 5 }, coroutine.resume, co, i % 20)\n"
  "  kept[i % 300] = co\n"
  "  if i % 500 == 0 then ffi.C.poll(nil, 0, 5) collectgarbage() end\n"
  "end\n";

/* Option I needs to know the layout. */
static bool has_waits(void)
{
  lua_State *L = open_state();
  bool has;
  start(L, "f", "/dev/null");
  has = is_lent(L);
  run(L, "assert(mp.stop())");
  lua_close(L);
  return has;
}

static void *have_crowds(void *arg)
{
  static const char *const opts[] = { "I", "Iyb1", "Ii1", "Ib512" };
  const worker *w = arg;
  int i;
  for (i = 0; i < w->rounds; i++) {
    lua_State *L = open_state();
    start(L, opts[(i + w->number) % 4], "/dev/null");
    run(L, crowd);
    if (i % 2) run(L, "mp.stop()");
    lua_close(L);
  }
  return NULL;
}

START_TEST(coroutines_of_several_threads_are_looked_at)
{
  worker w[3];
  int i;
  if (!has_waits()) return;
  for (i = 0; i < 3; i++) {
    w[i] = (worker){ .rounds = rounds(3), .number = i };
    ck_assert_int_eq(pthread_create(&w[i].thread, NULL, have_crowds, &w[i]), 0);
  }
  for (i = 0; i < 3; i++) pthread_join(w[i].thread, NULL);
}
END_TEST

/* Nobody looks in the child, which goes on. */
START_TEST(forks_while_coroutines_are_looked_at)
{
  lua_State *L;
  int i, status;
  if (!has_waits()) return;
  L = open_state();
  start(L, "Iyb1", "/dev/null");
  for (i = 0; i < rounds(6); i++) {
    pid_t pid;
    run(L, crowd);
    pid = fork();
    run(L, crowd);
    if (pid == 0) _exit(7);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 7, "status %x",
		  status);
  }
  run(L, "assert(mp.stop())");
  lua_close(L);
}
END_TEST

/* -- Events ---------------------------------------------------------------- */

static const char grow[] =
  "local t, n = {}, 0\n"
  "file = name:gsub('%%e', 'memory')\n"
  "local function there()\n"
  "  local f = io.open(file)\n"
  "  return f and f:close()\n"
  "end\n"
  "while not there() and n < 1e7 do\n"
  "  n = n + 1\n"
  "  if n <= 200 then t[n] = ('x'):rep(200000)..n else t[n % 9] = { n } end\n"
  "end\n";

static void *grow_there(void *L)
{
  run(L, grow);
  return NULL;
}

/* The profile has begun in this thread. Under valgrind the process has more
** memory than that from the start. */
START_TEST(memory_grows_in_another_thread)
{
  lua_State *L = open_state();
  char name[256], *text;
  pthread_t t;
  snprintf(name, sizeof(name), "%s/mp-event-%ld-%%e.tmp", getenv("builddir"),
	   (long)getpid());
  lua_pushstring(L, name);
  lua_setglobal(L, "name");
  start(L, "fB20m", name);
  if (is_lent(L) && getenv("MP_TEST_SLOW") == NULL) {
    ck_assert_int_eq(pthread_create(&t, NULL, grow_there, L), 0);
    pthread_join(t, NULL);
    lua_getglobal(L, "file");
    ck_assert(lua_isstring(L, -1));
    text = take_file(lua_tostring(L, -1));
    ck_assert_msg(strncmp(text, "in use ", 7) == 0 &&
		  strstr(text, " held at main thread local t ") != NULL,
		  "%s", text);
  }
  run(L, "assert(mp.stop())\n"
	 "os.remove((name:gsub('%%e', 'memory-last')))\n"
	 "os.remove((name:gsub('%%e', 'end')))");
  lua_close(L);
}
END_TEST

CHECK_MAIN("threads", another_profiler_in_the_state_that_owns,
	   another_profiler_counts_its_own_samples,
	   the_owner_is_closed_while_others_run, exec_while_profiled,
	   the_cpu_time_of_other_threads_is_not_counted,
	   a_state_goes_on_in_another_thread, each_thread_has_samples,
	   a_signal_ends_busy_threads, the_states_of_a_thread_take_turns,
	   states_are_closed_while_profiled,
	   states_are_stopped_and_closed, states_end_in_either_way,
	   states_are_closed_by_other_threads, memory_grows_in_another_thread,
	   coroutines_of_several_threads_are_looked_at,
	   forks_while_coroutines_are_looked_at,
	   forks_while_others_start_and_stop,
	   a_child_has_no_notes_of_its_parent)
