# SPDX-License-Identifier: MIT
# Part of Makefile.am: the tests.

lua_tests = \
	t/program/nvim.lua \
	t/program/options.lua \
	t/program/effects.lua \
	t/program/views.lua \
	t/program/every-view.lua \
	t/program/builds.lua \
	t/program/functions.lua \
	t/program/estimates.lua \
	t/program/children.lua \
	t/program/chunks.lua \
	t/program/callgraph.lua \
	t/program/frees.lua \
	t/program/handlers.lua \
	t/program/heap.lua \
	t/program/types.lua \
	t/program/leak-verdicts.lua \
	t/program/temporary.lua \
	t/program/terminal.lua \
	t/program/sort.lua t/program/wide.lua \
	t/program/deep.lua \
	t/program/lines.lua \
	t/program/listings.lua \
	t/program/report-json.lua \
	t/program/robust.lua \
	t/program/edges.lua \
	t/program/compiled-functions.lua \
	t/program/compiler.lua \
	t/program/ends.lua \
	t/program/outputs.lua \
	t/program/signals.lua \
	t/program/while-running.lua \
	t/program/forks.lua \
	t/program/keys.lua \
	t/program/live.lua \
	t/program/bounds.lua \
	t/program/exec.lua \
	t/program/c-calls.lua \
	t/program/borrowed.lua \
	t/program/sandbox.lua \
	t/program/environment.lua \
	t/program/advice.lua \
	t/program/api.lua \
	t/program/reentry.lua \
	t/program/reused.lua \
	t/program/refused.lua \
	t/program/own-dumps.lua \
	t/program/vm-bug.lua \
	t/program/c-programs.lua \
	t/program/labels.lua \
	t/program/limits.lua \
	t/program/lowheap.lua \
	t/program/callback.lua \
	t/program/calls.lua \
	t/program/ticks.lua \
	t/program/windows.lua \
	t/program/push.lua \
	t/program/together.lua \
	t/program/html.lua \
	t/program/formats.lua \
	t/program/probes.lua \
	t/program/otlp.lua \
	t/program/command.lua \
	t/program/heapgrowth.lua \
	t/program/heapkinds.lua \
	t/program/heapwalk.lua \
	t/program/memory.lua \
	t/program/native.lua \
	t/program/native-fork.lua \
	t/program/profile-file.lua \
	t/program/names.lua \
	t/program/sources.lua \
	t/program/completion.lua \
	t/program/misc.lua \
	t/program/man.lua \
	t/program/examples.lua \
	t/program/example-cases.lua \
	t/program/example-leaks.lua \
	t/program/bench.lua \
	t/program/samples.lua \
	t/program/site.lua \
	t/program/attach.lua \
	t/program/top.lua \
	t/program/triggers.lua \
	t/program/waits.lua \
	t/program/blocked.lua \
	t/program/attach-hosts.lua \
	t/program/attach-outside.lua \
	t/program/outside-ends.lua \
	t/program/attach-refused.lua

if TESTS_WANTED
check_PROGRAMS = \
	t/unit/allocator \
	t/unit/arena \
	t/unit/asleep \
	t/unit/blocked \
	t/unit/baseline \
	t/unit/callee \
	t/unit/capture \
	t/unit/code \
	t/unit/copied \
	t/unit/coroutines \
	t/unit/counts \
	t/unit/course \
	t/unit/elf \
	t/unit/events \
	t/unit/extent \
	t/unit/ffi \
	t/unit/graph \
	t/unit/handover \
	t/unit/heap \
	t/unit/held \
	t/unit/host \
	t/unit/interface \
	t/unit/interrupt \
	t/unit/jitstate \
	t/unit/label \
	t/unit/limit \
	t/unit/live \
	t/unit/machine \
	t/unit/map \
	t/unit/native \
	t/unit/onsignal \
	t/unit/output \
	t/unit/parked \
	t/unit/peek \
	t/unit/pace \
	t/unit/period \
	t/unit/pool \
	t/unit/places \
	t/unit/profiler \
	t/unit/restart \
	t/unit/retained \
	t/unit/slots \
	t/unit/smaps \
	t/unit/spell \
	t/unit/stacks \
	t/unit/strict \
	t/unit/tags \
	t/unit/threads \
	t/unit/timer \
	t/unit/variant \
	t/unit/view \
	t/unit/walk
if ATTACH
check_PROGRAMS += t/unit/copy
endif
LDADD = src/libmp.la $(CHECK_LIBS)
TESTS = $(check_PROGRAMS) $(lua_tests)
else
check-local:
	@echo 'There are no tests: this was configured with --disable-tests.'
	@exit 1
endif

noinst_HEADERS = t/unit/check_blocks.h t/unit/check_brute.h \
	t/unit/check_fiber.h t/unit/check_main.h t/unit/check_state.h \
	t/unit/check_vm.h
# Programs with a LuaJIT of their own.
t_unit_arena_LDADD = src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_allocator_LDADD = src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_blocked_SOURCES = t/unit/blocked.c src/sample/blocked.c \
	src/sample/coroutines.c
t_unit_blocked_CFLAGS = $(AM_CFLAGS)
t_unit_blocked_LDADD = src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_capture_SOURCES = t/unit/capture.c src/sample/capture.c \
	src/sample/coroutines.c src/sample/label.c src/sample/name.c \
	src/sample/symbol.c
t_unit_capture_CFLAGS = $(AM_CFLAGS)
t_unit_capture_LDADD = src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_coroutines_SOURCES = t/unit/coroutines.c src/sample/coroutines.c
t_unit_coroutines_CFLAGS = $(AM_CFLAGS)
t_unit_coroutines_LDADD = src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_label_SOURCES = t/unit/label.c src/sample/label.c src/sample/name.c \
	src/sample/symbol.c
t_unit_label_CFLAGS = $(AM_CFLAGS)
t_unit_label_LDADD = src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_jitstate_LDADD = src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_code_LDADD = src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_copied_LDADD = src/libheapwalk.la src/libvm.la src/libmp.la \
	$(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_copy_SOURCES = t/unit/copy.c src/attach/copy.c src/attach/maps.c \
	src/attach/present.c src/attach/room.c
t_unit_copy_CFLAGS = $(AM_CFLAGS)
t_unit_extent_SOURCES = t/unit/extent.c src/profile/extent.c
t_unit_extent_CFLAGS = $(AM_CFLAGS)
t_unit_baseline_LDADD = src/libheapwalk.la src/libvm.la src/libmp.la \
	$(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_graph_LDADD = src/libheapwalk.la src/libvm.la src/libmp.la \
	$(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_extent_LDADD = src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_ffi_SOURCES = t/unit/ffi.c src/report/state.c
t_unit_ffi_CFLAGS = $(AM_CFLAGS)
t_unit_ffi_LDADD = src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_handover_LDADD = $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_handover_LDFLAGS = -export-dynamic
t_unit_heap_LDADD = src/libheapwalk.la \
	src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_machine_LDADD = src/libvm.la $(CHECK_LIBS)
t_unit_callee_LDADD = src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_interrupt_LDADD = src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_native_SOURCES = t/unit/native.c src/native/native.c \
	src/sample/capture.c src/sample/coroutines.c src/sample/label.c \
	src/sample/objects.c src/sample/sampler.c src/sample/name.c \
	src/sample/nativename.c src/sample/symbol.c
t_unit_native_CFLAGS = $(AM_CFLAGS)
t_unit_native_LDADD = src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_onsignal_LDADD = $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_onsignal_LDFLAGS = -export-dynamic
t_unit_output_LDADD = src/libreport.la src/libmp.la $(CHECK_LIBS)
t_unit_parked_LDADD = src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_peek_LDADD = src/libvm.la src/libmp.la $(CHECK_LIBS)
t_unit_profiler_LDADD = src/libvm.la $(CHECK_LIBS)
t_unit_retained_LDADD = src/libheapwalk.la \
	src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_slots_LDADD = src/libmp.la $(CHECK_LIBS) -ldl -lpthread
EXTRA_t_unit_slots_DEPENDENCIES = t/unit/called.la
check_LTLIBRARIES = t/unit/called.la
t_unit_called_la_SOURCES = t/unit/called.c
t_unit_called_la_LDFLAGS = -module -avoid-version -shared -rpath /nonexistent \
	-Wl,-z,relro,-z,now
t_unit_threads_LDADD = $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_host_LDADD = $(CHECK_LIBS) $(LUAJIT_LIBS)
# With the library's sources: MP_RUN takes no script of libtool's.
t_unit_interface_SOURCES = t/unit/interface.c src/host/interface.c
t_unit_interface_CPPFLAGS = $(libluajit_mp_la_CPPFLAGS)
t_unit_interface_LDADD = $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_variant_LDADD = src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_view_LDADD = src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)
t_unit_walk_LDADD = src/libvm.la src/libmp.la $(CHECK_LIBS) $(LUAJIT_LIBS)

# Another LuaJIT: make check LUAJIT=COMMAND. MP_RUN runs libcheck's programs.
TEST_EXTENSIONS = .lua
TAP_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(srcdir)/build-aux/tap-driver.sh
LOG_DRIVER = $(TAP_DRIVER)
LOG_COMPILER = $(MP_RUN)
LUA_LOG_DRIVER = $(TAP_DRIVER)
LUA_LOG_COMPILER = $(SHELL) $(srcdir)/t/lua-test
AM_TESTS_ENVIRONMENT = \
	LUAJIT='$(LUAJIT)' LIBASAN='$(LIBASAN)' \
	srcdir='$(abs_srcdir)' builddir='$(abs_builddir)'; \
	export LUAJIT LIBASAN srcdir builddir;

# The units, and tests that reach deep into the core: for builds of other
# compilers and of other LuaJITs.
DEEP_TESTS = $(check_PROGRAMS) \
	t/program/api.lua \
	t/program/builds.lua \
	t/program/edges.lua \
	t/program/forks.lua \
	t/program/heap.lua \
	t/program/heapkinds.lua \
	t/program/heapwalk.lua \
	t/program/lines.lua \
	t/program/listings.lua \
	t/program/lowheap.lua \
	t/program/misc.lua \
	t/program/own-dumps.lua \
	t/program/reentry.lua \
	t/program/reused.lua \
	t/program/robust.lua \
	t/program/signals.lua \
	t/program/types.lua
check-deep: all
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(DEEP_TESTS)'

# For an emulator: a few tests of all that depends on the processor.
PROCESSOR_TESTS = t/unit/machine t/unit/interrupt t/program/lines.lua \
	t/program/builds.lua
check-processor: all
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(PROCESSOR_TESTS)'

# For builds of LuaJIT: every view of a small program.
check-views: all
	$(MAKE) $(AM_MAKEFLAGS) check \
	  TESTS='t/program/every-view.lua t/program/builds.lua'

# Some of them under valgrind, where they do less. CHECK=recheck runs again
# those that failed.
VALGRIND_TESTS = $(check_PROGRAMS) \
	t/program/heap.lua \
	t/program/robust.lua \
	t/program/api.lua \
	t/program/heapwalk.lua
CHECK = check
check-valgrind: all
	@valgrind --version >/dev/null || \
	  { echo 'valgrind is missing; on Debian: apt-get install valgrind'; \
	    exit 1; }
	$(MAKE) $(AM_MAKEFLAGS) $(CHECK) \
	  LUAJIT='"$(abs_srcdir)/t/valgrind" $(LUAJIT)' \
	  MP_RUN='"$(abs_srcdir)/t/valgrind"' MP_TEST_SLOW=1 \
	  TESTS='$(VALGRIND_TESTS)'

# Lines, stacks, CPU times, amounts in use and leaks beside what is true, TAP on
# standard output. Estimates are tried RUNS times.
RUNS = 3
TRUTH = lines functions cpu builtins compiler 'inuse $(RUNS)' 'waits $(RUNS)' \
	'blocked $(RUNS)' 'leaks $(RUNS)'
check-truth: all
	@failed=; for t in $(TRUTH); do \
	  set -- $$t; name=$$1; shift; echo "# $$name"; \
	  ($(AM_TESTS_ENVIRONMENT) $(SHELL) '$(srcdir)/t/lua-test' \
	    "$(srcdir)/t/truth/$$name.lua" "$$@") || failed="$$failed $$name"; \
	done; test -z "$$failed" || { echo "not true:$$failed"; exit 1; }

# Holders in 1,000 random graphs of 10,000 nodes, and in as many random heaps.
check-long: t/unit/graph t/unit/retained
	MP_GRAPH_NODES=10000 ./t/unit/graph
	MP_GRAPHS=1000 MP_GRAPH_NODES=10000 $(MP_RUN) ./t/unit/retained

# Other tools read the formats that they know; the page is used in a browser.
check-readers: all
	LUAJIT='$(LUAJIT)' srcdir='$(abs_srcdir)' builddir='$(abs_builddir)' \
	  bash '$(srcdir)/t/readers/test'

check-browser: all
	LUAJIT='$(LUAJIT)' srcdir='$(abs_srcdir)' builddir='$(abs_builddir)' \
	  bash '$(srcdir)/t/browser/run'

# The packages, built from the files of the archive, and used as by a user.
check-rock check-deb:
	rm -rf package-tmp
	$(MAKE) $(AM_MAKEFLAGS) distdir distdir=package-tmp
	target=$@; sh '$(srcdir)/packaging/test-'$${target#check-} package-tmp
	rm -rf package-tmp

# The pictures in the README: the page, and luajit-mp top.
picture: all
	PICTURE='$(abs_srcdir)/examples/page.png' MP_BROWSER_REQUIRED=1 \
	  srcdir='$(abs_srcdir)' builddir='$(abs_builddir)' \
	  bash '$(srcdir)/t/browser/run'
	LUAJIT='$(LUAJIT)' srcdir='$(abs_srcdir)' builddir='$(abs_builddir)' \
	  sh '$(srcdir)/t/lua-test' '$(srcdir)/t/toppicture.lua' \
	  '$(abs_srcdir)/examples/top.svg'

# A site of static pages: the manual, and a profile to try.
site: all
	srcdir='$(srcdir)' builddir='$(builddir)' LUAJIT='$(LUAJIT)' \
	  $(SHELL) '$(srcdir)/packaging/site' site

# Other people's test suites, found below a directory: SUITES=DIR.
check-suites: all
	$(AM_TESTS_ENVIRONMENT) \
	$(SHELL) '$(srcdir)/t/lua-test' '$(srcdir)/t/suites/run.lua' \
	  '$(SUITES)' '$(ONLY)'

# Programs with LuaJIT in them, unpacked from Debian's packages: HOSTS=NAME...
HOSTS = nginx labels neovim love server tarantool busted attach owners limits go

check-hosts: all
	@status=0; for t in $(HOSTS); do \
	  echo "# $$t"; \
	  ( $(AM_TESTS_ENVIRONMENT) \
	    exec $(SHELL) '$(srcdir)/t/lua-test' \
	      "$(srcdir)/t/hosts/$$t.lua" ) || \
	    { echo "not ok - $$t fails"; status=1; }; \
	done; exit $$status

# One thing tried very often, at random: TRIALS=NAME... COUNT=N SEED=N.
# `starved` runs only if it is named: one of some hundred programs has a second
# state afterwards, and the next command asks which one is meant.
attacks = directory options cycles ends signals profiles host memory threads \
	programs random soak attach disk blackbox
attack_files = \
	t/attack/attach.lua \
	t/attack/blackbox.lua \
	t/attack/cycles.lua \
	t/attack/directory.lua \
	t/attack/disk.lua \
	t/attack/ends.lua \
	t/attack/generate.lua \
	t/attack/generate.txt \
	t/attack/host.lua \
	t/attack/memory.lua \
	t/attack/options.lua \
	t/attack/profiles.lua \
	t/attack/programs.lua \
	t/attack/random.lua \
	t/attack/signals.lua \
	t/attack/soak.lua \
	t/attack/starved.lua \
	t/attack/threads.lua \
	t/attack/trial.lua \
	t/attack/waiting.lua
TRIALS = $(attacks)

# A library to preload, which refuses memory, and a host that does; a slow disk,
# and a host for it.
EXTRA_LTLIBRARIES = t/attack/fail.la
t_attack_fail_la_SOURCES = t/attack/fail.c
t_attack_fail_la_CFLAGS = -O1 -Wall -Wextra
t_attack_fail_la_LDFLAGS = -module -avoid-version -shared -rpath /nonexistent
t_attack_fail_la_LIBADD = -ldl
attack_programs = t/attack/disk t/attack/opener t/attack/poor
EXTRA_PROGRAMS += $(attack_programs)
t_attack_opener_LDADD = $(LUAJIT_LIBS) -lpthread -ldl
t_attack_poor_LDADD = $(LUAJIT_LIBS)

check-attacks: all t/attack/fail.la $(attack_programs) t/unit/host \
		t/unit/threads
	@status=0; for t in $(TRIALS); do \
	  echo "# $$t"; \
	  ( $(AM_TESTS_ENVIRONMENT) \
	    exec $(SHELL) '$(srcdir)/t/lua-test' "$(srcdir)/t/attack/$$t.lua" \
	      '$(COUNT)' '$(SEED)' ) || \
	    { echo "not ok - $$t fails"; status=1; }; \
	done; exit $$status

# -- What the archive has beside them ----------------------------------------

EXTRA_DIST += \
	t/attach/alloc.lua \
	t/attach/collecting.lua \
	t/attach/confine.c \
	t/attach/coroutines.lua \
	t/attach/host.c \
	t/attach/hostile.c \
	t/attach/idle.c \
	t/attach/loader.c \
	t/attach/loop.lua \
	t/attach/process.lua \
	t/attach/sleep.lua \
	t/attach/stitched.lua \
	t/attach/waits.lua \
	t/attach/witness.lua \
	t/browser/access.mjs \
	t/browser/harness.mjs \
	t/browser/heap.mjs \
	t/browser/jit.mjs \
	t/browser/keys.mjs \
	t/browser/leaks.mjs \
	t/browser/many.mjs \
	t/browser/more.mjs \
	t/browser/others.mjs \
	t/browser/package.json \
	t/browser/pages.lua \
	t/browser/picture.mjs \
	t/browser/profiles.lua \
	t/browser/pure.mjs \
	t/browser/report.mjs \
	t/browser/run \
	t/browser/sizes.mjs \
	t/browser/tables.mjs \
	t/browser/test.mjs \
	t/browser/time.mjs \
	t/browser/usual.mjs \
	t/census.lua \
	t/clock.lua \
	t/find_object.c \
	t/golden/callgraph.txt \
	t/golden/heap.txt \
	t/golden/views.txt \
	t/hosts/attach.lua \
	t/hosts/busted.lua \
	t/hosts/go.lua \
	t/hosts/hosts.lua \
	t/hosts/labels.lua \
	t/hosts/limits.lua \
	t/hosts/love.lua \
	t/hosts/neovim.lua \
	t/hosts/nginx.lua \
	t/hosts/owners.lua \
	t/hosts/server.lua \
	t/hosts/tarantool.lua \
	t/hosts/unpack \
	t/hosts/webserver.lua \
	t/lint \
	t/lint-includes \
	t/lint-state \
	t/limit.lua \
	t/lint.lua \
	t/lua-test \
	t/readers/devtools.mjs \
	t/readers/dhat.mjs \
	t/readers/firefox.mjs \
	t/readers/heapsnapshot.mjs \
	t/readers/package.json \
	t/readers/profiler-cli.mjs \
	t/readers/profiles.lua \
	t/readers/protobuf.lua \
	t/readers/speedscope.mjs \
	t/readers/test \
	t/readers/walk.lua \
	t/samples/peak.lua \
	t/samples/server.lua \
	t/samples/shop.lua \
	t/reasons.lua \
	t/screens.lua \
	t/server.lua \
	t/snapshots.lua \
	t/suites/known.lua \
	t/suites/run.lua \
	t/tap.lua \
	t/toppicture.lua \
	t/truth/blocked.lua \
	t/truth/builtins.lua \
	t/truth/bytes.lua \
	t/truth/compiler.lua \
	t/truth/cpu.lua \
	t/truth/functions.lua \
	t/truth/inuse.lua \
	t/truth/leak-programs.lua \
	t/truth/leaking.lua \
	t/truth/leaks.lua \
	t/truth/lines.lua \
	t/truth/places.lua \
	t/truth/programs/cdata.lua \
	t/truth/programs/closures.lua \
	t/truth/programs/coroutines.lua \
	t/truth/programs/library.lua \
	t/truth/programs/life.lua \
	t/truth/programs/lzw.lua \
	t/truth/programs/objects.lua \
	t/truth/programs/parser.lua \
	t/truth/programs/paths.lua \
	t/truth/programs/queens.lua \
	t/truth/programs/rays.lua \
	t/truth/programs/recursion.lua \
	t/truth/programs/scheduler.lua \
	t/truth/programs/sieve.lua \
	t/truth/programs/strings.lua \
	t/truth/programs/template.lua \
	t/truth/quiet.lua \
	t/truth/sound.lua \
	t/truth/stacks.lua \
	t/truth/entries.lua \
	t/truth/sunken.lua \
	t/truth/waits.lua \
	t/truth/work.lua \
	t/tsan.supp \
	t/units \
	t/unjson.lua \
	t/valgrind \
	t/valgrind.supp \
	$(attack_files) $(lua_tests)

CLEANFILES += t/attack/fail.la $(attack_programs)
.PHONY: check-attacks check-browser check-deb check-deep check-long \
	check-processor check-readers check-rock check-suites check-truth \
	check-valgrind check-views
