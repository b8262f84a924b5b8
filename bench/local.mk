# SPDX-License-Identifier: MIT
# Part of Makefile.am: the benchmarks.

EXTRA_DIST += \
	bench/bursts.lua \
	bench/cost.lua \
	bench/estimates.lua \
	bench/instructions.lua \
	bench/instructions.txt \
	bench/nginx.lua \
	bench/page.mjs \
	bench/pauses.lua \
	bench/run.lua \
	bench/programs/binarytrees.lua \
	bench/programs/buffers.lua \
	bench/programs/cdata.lua \
	bench/programs/closures.lua \
	bench/programs/combinators.lua \
	bench/programs/compiler.lua \
	bench/programs/coroutines.lua \
	bench/programs/hashes.lua \
	bench/programs/json.lua \
	bench/programs/loading.lua \
	bench/programs/malloc.lua \
	bench/programs/matrix.lua \
	bench/programs/nbody.lua \
	bench/programs/numeric.lua \
	bench/programs/objects.lua \
	bench/programs/recursion.lua \
	bench/programs/strings.lua \
	bench/programs/tablechurn.lua

# The table of live objects and the walk of the heap by themselves; the
# programs.
EXTRA_PROGRAMS += bench/live bench/walk
bench_live_SOURCES = bench/live.c
bench_live_LDADD = src/libmp.la
bench_walk_SOURCES = bench/walk.c
bench_walk_CFLAGS = $(AM_CFLAGS)
bench_walk_LDADD = src/libheapwalk.la \
	src/libvm.la src/libmp.la $(LUAJIT_LIBS)

bench: all bench/live$(EXEEXT) bench/walk$(EXEEXT)
	./bench/live$(EXEEXT)
	./bench/walk$(EXEEXT)
	builddir='$(abs_builddir)' $(srcdir)/run \
	  $(LUAJIT) $(srcdir)/bench/run.lua -o results.txt

# The same, and the manual's table of it.
cost: bench
	$(LUAJIT) $(srcdir)/bench/cost.lua results.txt \
	  '$(srcdir)/man/luajit-mp-sampling.7'

# The price of a profile for an nginx worker.
bench-nginx: all
	$(AM_TESTS_ENVIRONMENT) \
	$(SHELL) '$(srcdir)/t/lua-test' '$(srcdir)/bench/nginx.lua' \
	  '$(ROUNDS)' '$(PATHS)'

# The steps of a large page in the browser.
bench-page: all
	LUAJIT='$(LUAJIT)' srcdir='$(abs_srcdir)' builddir='$(abs_builddir)' \
	  PARTS=page bash '$(srcdir)/t/browser/run'

# The time that a program stands still for reports that are made while it runs.
bench-pauses: all
	builddir='$(abs_builddir)' LUAJIT='$(LUAJIT)' $(srcdir)/run \
	  $(LUAJIT) '$(srcdir)/bench/pauses.lua' $(PAUSES)

CLEANFILES += results.txt bench/live$(EXEEXT) bench/walk$(EXEEXT)
.PHONY: bench bench-nginx bench-page bench-pauses cost
