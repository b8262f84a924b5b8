# SPDX-License-Identifier: MIT
# Part of Makefile.am: the core, the libraries for C and what is preloaded.

# -- The core --------------------------------------------------------------

# Plain C without lua.h, which libcheck tests bare.
noinst_LTLIBRARIES = src/libmp.la src/libvm.la src/libheapwalk.la \
	src/libreport.la core.la attach.la
src_libmp_la_SOURCES = \
	src/data/asleep.c src/data/asleep.h \
	src/data/callname.c src/data/callname.h \
	src/data/clock.c src/data/clock.h \
	src/data/counts.c src/data/counts.h \
	src/data/course.c src/data/course.h \
	src/data/events.c src/data/events.h \
	src/data/fd.h \
	src/data/file.c src/data/file.h \
	src/data/filter.h \
	src/data/held.c src/data/held.h \
	src/data/limit.c src/data/limit.h \
	src/data/live.c src/data/live.h \
	src/data/lock.c src/data/lock.h \
	src/data/map.c src/data/map.h \
	src/data/mem.c src/data/mem.h \
	src/data/pace.c src/data/pace.h \
	src/data/pages.c src/data/pages.h \
	src/data/tags.c src/data/tags.h \
	src/data/period.c src/data/period.h \
	src/data/process.c src/data/process.h \
	src/data/elf.c src/data/elf.h \
	src/data/execport.h \
	src/data/pool.c src/data/pool.h \
	src/data/port.c src/data/port.h \
	src/data/probe.c src/data/probe.h \
	src/data/places.c src/data/places.h \
	src/data/samples.c src/data/samples.h \
	src/data/restart.c src/data/restart.h \
	src/data/seccomp.c src/data/seccomp.h \
	src/data/seed.c src/data/seed.h \
	src/data/slots.c src/data/slots.h \
	src/data/smaps.c src/data/smaps.h \
	src/data/sparse.c src/data/sparse.h \
	src/data/spell.c src/data/spell.h \
	src/data/stacks.c src/data/stacks.h \
	src/data/strict.c src/data/strict.h \
	src/data/thread.c src/data/thread.h \
	src/data/timer.c src/data/timer.h \
	src/data/usage.c src/data/usage.h

# Where reports go: plain C without lua.h, too.
src_libreport_la_SOURCES = \
	src/report/push.c src/report/push.h \
	src/report/output.c src/report/output.h \
	src/report/target.c src/report/target.h \
	src/report/write.c src/report/write.h

# The files that know LuaJIT's internals; of LuaJIT they need the API.
src_libvm_la_SOURCES = \
	src/vm/layout.h src/vm/layout_gc64.h src/vm/layout_refs32.h \
	src/vm/allocator.c src/vm/allocator.h \
	src/vm/arena.c src/vm/arena.h \
	src/vm/bug.c src/vm/bug.h \
	src/vm/snap.c src/vm/snap.h src/vm/ir.h \
	src/vm/escape.c src/vm/escape.h \
	src/vm/callee.c src/vm/callee.h \
	src/vm/code.c src/vm/code.h \
	src/vm/cfunction.c src/vm/cfunction.h \
	src/vm/copy.c src/vm/copy.h \
	src/vm/dispatch.c src/vm/dispatch.h \
	src/vm/frame.c src/vm/frame.h \
	src/vm/interrupt.c src/vm/interrupt.h \
	src/vm/jitstate.c src/vm/jitstate.h \
	src/vm/learn.c src/vm/learn.h \
	src/vm/low.c src/vm/low.h \
	src/vm/machine.h \
	src/vm/machine_arm64.c \
	src/vm/machine_i386.c \
	src/vm/machine_x86_64.c \
	src/vm/none.c \
	src/vm/own.c src/vm/own.h \
	src/vm/package.c src/vm/package.h \
	src/vm/parked.c src/vm/parked.h \
	src/vm/peek.c src/vm/peek.h \
	src/vm/profiler.c src/vm/profiler.h \
	src/vm/prove.c src/vm/prove.h \
	src/vm/trace.c src/vm/trace.h \
	src/vm/type.c src/vm/type.h \
	src/vm/variant.c src/vm/variant.h \
	src/vm/unwind.c src/vm/unwind.h \
	src/vm/view.c src/vm/view.h \
	src/vm/vm.c src/vm/vm.h \
	src/vm/walk.c src/vm/walk.h \
	src/vm/where.c src/vm/where.h

# The heap as a graph, and its holders as lines.
src_libheapwalk_la_SOURCES = \
	src/heapwalk/baseline.c src/heapwalk/baseline.h \
	src/heapwalk/blocks.c src/heapwalk/blocks.h \
	src/heapwalk/cmemory.c src/heapwalk/cmemory.h \
	src/heapwalk/copied.c src/heapwalk/copied.h \
	src/heapwalk/dominate.c \
	src/heapwalk/edge.c src/heapwalk/edge.h \
	src/heapwalk/holders.c src/heapwalk/holders.h \
	src/heapwalk/graph.c src/heapwalk/graph.h \
	src/heapwalk/heap.c src/heapwalk/heap.h \
	src/heapwalk/kinds.c src/heapwalk/kinds.h \
	src/heapwalk/name.c src/heapwalk/name.h \
	src/heapwalk/prove.c src/heapwalk/prove.h \
	src/heapwalk/size.c src/heapwalk/size.h

# Never linked with LuaJIT's library: it uses the LuaJIT that loads it. Never
# unloaded: its allocator may still be called.
core_la_SOURCES = \
	src/native/native.c src/native/native.h \
	src/native/rows.c src/native/rows.h \
	src/heapwalk/child.c src/heapwalk/child.h \
	src/heapwalk/dot.c src/heapwalk/dot.h \
	src/heapwalk/file.c src/heapwalk/file.h \
	src/heapwalk/paths.c src/heapwalk/paths.h \
	src/heapwalk/walk.c src/heapwalk/walk.h \
	src/heapwalk/why.c src/heapwalk/why.h \
	src/sample/blocked.c src/sample/blocked.h \
	src/sample/calls.c src/sample/calls.h \
	src/sample/compiler.c src/sample/compiler.h \
	src/sample/capture.c src/sample/capture.h \
	src/sample/coroutines.c src/sample/coroutines.h \
	src/sample/decided.c src/sample/decided.h \
	src/sample/cpu.c src/sample/cpu.h \
	src/sample/alloc.h \
	src/sample/hook.c src/sample/hook.h \
	src/sample/name.c src/sample/name.h \
	src/sample/nativename.c src/sample/nativename.h \
	src/sample/symbol.c src/sample/symbol.h \
	src/sample/objects.c src/sample/objects.h \
	src/sample/sampler.c src/sample/sampler.h \
	src/sample/lend.c src/sample/lend.h \
	src/sample/sigprof.c src/sample/sigprof.h \
	src/sample/ticks.c src/sample/ticks.h \
	src/sample/label.c src/sample/label.h \
	src/sample/listing.c src/sample/listing.h \
	src/sample/tracing.c src/sample/tracing.h \
	src/sample/waits.c src/sample/waits.h \
	src/profile/cnames.c src/profile/cnames.h \
	src/profile/decisions.c src/profile/decisions.h \
	src/profile/snapshot.c src/profile/snapshot.h \
	src/profile/leaks.c src/profile/leaks.h \
	src/profile/notes.c src/profile/notes.h \
	src/profile/origin.c src/profile/origin.h \
	src/profile/point.c src/profile/point.h \
	src/profile/profile.c src/profile/profile.h \
	src/profile/extent.c src/profile/extent.h \
	src/profile/field.h \
	src/profile/memory.c src/profile/memory.h \
	src/profile/moment.c src/profile/moment.h \
	src/profile/survivors.c src/profile/survivors.h \
	src/profile/span.c src/profile/span.h \
	src/report/files.c src/report/files.h \
	src/report/modules.c src/report/modules.h \
	src/report/plan.c src/report/plan.h \
	src/report/report.c src/report/report.h \
	src/report/screen.c src/report/screen.h \
	src/report/sending.c src/report/sending.h \
	src/report/together.c src/report/together.h \
	src/report/state.c src/report/state.h \
	src/preload/exec.c src/preload/exec.h \
	src/process/trigger.c src/process/trigger.h \
	src/process/aside.c src/process/aside.h \
	src/process/background.c src/process/background.h \
	src/process/callback.c src/process/callback.h \
	src/process/ctx.c src/process/ctx.h \
	src/process/seen.c src/process/seen.h \
	src/process/signal.c src/process/signal.h \
	src/process/exec.c src/process/exec.h \
	src/process/ends.c src/process/ends.h \
	src/process/fork.c src/process/fork.h \
	src/process/inherit.c src/process/inherit.h \
	src/process/intercept.c src/process/intercept.h \
	src/process/safepoint.c src/process/safepoint.h \
	src/process/standin.c src/process/standin.h \
	src/module/arguments.c src/module/arguments.h \
	src/module/attach.c src/module/attach.h \
	src/module/confine.c src/module/confine.h \
	src/module/copied.c src/module/copied.h \
	src/module/guard.c src/module/guard.h \
	src/module/heap.c src/module/heap.h \
	src/module/label.c src/module/label.h \
	src/module/lib.c \
	src/module/onsignal.c src/module/onsignal.h \
	src/module/other.c src/module/other.h \
	src/module/start.c src/module/start.h \
	src/module/userdata.c src/module/userdata.h \
	src/module/window.c src/module/window.h
core_la_LIBADD = src/libreport.la src/libheapwalk.la src/libvm.la src/libmp.la
core_exports = \
	luaopen_jit_mp_core|mp_attach_(enter|answer|copied)|mp_state_alloc
core_la_LDFLAGS = -module -avoid-version -shared -rpath $(coreexecdir) \
	-Wl,-z,nodelete \
	-export-symbols-regex '^($(core_exports))$$'

# The same for builds of LuaJIT without GC64, opened by the core (module/other).
if X86_64
noinst_LTLIBRARIES += core32.la
core32_la_SOURCES = $(src_libvm_la_SOURCES) $(src_libheapwalk_la_SOURCES) \
	$(core_la_SOURCES)
core32_la_CPPFLAGS = $(AM_CPPFLAGS) -DMP_REFS32
core32_la_LIBADD = src/libreport.la src/libmp.la
core32_la_LDFLAGS = -module -avoid-version -shared -rpath $(coreexecdir) \
	-Wl,-z,nodelete -export-symbols-regex '^($(core_exports))$$'
core32 = .uninstalled/jit/mp/core32.so

$(core32): core32.la
	$(AM_V_at)$(MKDIR_P) .uninstalled/jit/mp
	$(AM_V_at)rm -f $@
	$(AM_V_GEN)cp .libs/core32.so $@
endif

# The command's own: how it attaches to other processes.
attach_la_SOURCES = src/attach/module.c
if ATTACH
attach_la_SOURCES += \
	src/attach/ask.c \
	src/attach/call.c src/attach/call.h \
	src/attach/copy.c src/attach/copy.h \
	src/attach/find.c src/attach/find.h \
	src/attach/frame.c src/attach/frame.h \
	src/attach/heap.c src/attach/heap.h \
	src/attach/hidden.c src/attach/hidden.h src/attach/names.h \
	src/attach/kind.c src/attach/kind.h \
	src/attach/leave.c src/attach/leave.h \
	src/attach/look.c src/attach/look.h \
	src/attach/maps.c src/attach/maps.h \
	src/attach/safe.c src/attach/safe.h \
	src/attach/outside.c src/attach/outside.h \
	src/attach/present.c src/attach/present.h \
	src/attach/receive.c src/attach/receive.h \
	src/attach/registers.h \
	src/attach/room.c src/attach/room.h \
	src/attach/sandbox.c src/attach/sandbox.h \
	src/attach/session.c src/attach/session.h \
	src/attach/stack.c src/attach/stack.h \
	src/attach/stops.c src/attach/stops.h \
	src/attach/symbol.c src/attach/symbol.h \
	src/attach/tracee.c src/attach/tracee.h \
	src/attach/visit.c src/attach/visit.h
endif
if X86_64
noinst_LTLIBRARIES += src/libattach32.la
src_libattach32_la_SOURCES = src/attach/find.c src/attach/leave.c \
	src/attach/stack.c src/attach/kind.c
src_libattach32_la_CPPFLAGS = $(AM_CPPFLAGS) -DMP_REFS32
attach32 = src/libattach32.la
endif
attach_la_LIBADD = $(attach32) src/libmp.la
attach_la_LDFLAGS = -module -avoid-version -shared -rpath $(coreexecdir) \
	-export-symbols-regex '^luaopen_jit_mp_attach$$'

# The names of LuaJIT's functions, for a program that does not export them.
if ATTACH
noinst_LTLIBRARIES += names.la
names_la_SOURCES = src/attach/names.c src/attach/names.h
names_la_LDFLAGS = -module -avoid-version -shared -rpath $(coreexecdir)
names = .uninstalled/jit/mp/names.so

$(names): names.la
	$(AM_V_at)$(MKDIR_P) .uninstalled/jit/mp
	$(AM_V_at)rm -f $@
	$(AM_V_GEN)cp .libs/names.so $@
endif

# -- The interface for C ---------------------------------------------------

# Not linked with LuaJIT's library either: a program has its own.
noinst_LTLIBRARIES += libluajit-mp.la
include_HEADERS = src/luajit-mp.h
libluajit_mp_la_SOURCES = \
	src/host/interface.c src/host/interface.h
libluajit_mp_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DMP_LUADIR='"$(luadir)"' -DMP_CMODDIR='"$(cmodexecdir)"'
libluajit_mp_la_LDFLAGS = -version-info 0:0:0 -rpath '$(libdir)'

# For LD_PRELOAD, which has no LuaJIT to be linked with.
noinst_LTLIBRARIES += libluajit-mp-preload.la
libluajit_mp_preload_la_SOURCES = \
	src/host/preload.c \
	src/process/seen.c src/process/seen.h
libluajit_mp_preload_la_CPPFLAGS = $(libluajit_mp_la_CPPFLAGS)
libluajit_mp_preload_la_LDFLAGS = -module -avoid-version -shared \
	-rpath '$(libdir)' -export-symbols-regex '^(luaL_openlibs|fclose)$$'

# Installed without libtool, which cannot write below a directory with a space
# in its name. The links are made by install-exec-hook.
clib = libluajit-mp.so.0.0.0
clib_links = libluajit-mp.so.0 libluajit-mp.so
clibexecdir = $(libdir)
clibexec_DATA = .libs/$(clib) .libs/libluajit-mp-preload.so
.libs/$(clib): libluajit-mp.la
.libs/libluajit-mp-preload.so: libluajit-mp-preload.la

pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = luajit-mp.pc

# -- C memory ---------------------------------------------------------------

# Preloaded: it calls nothing of the core's, which finds it by its symbol.
noinst_LTLIBRARIES += libluajit-mp-native.la
libluajit_mp_native_la_SOURCES = src/preload/native.c \
	src/preload/environment.h
libluajit_mp_native_la_CFLAGS = $(AM_CFLAGS) -fno-builtin
libluajit_mp_native_la_LDFLAGS = -module -avoid-version -shared \
	-rpath $(coreexecdir) -Wl,-z,nodelete
native_lib = .uninstalled/jit/mp/libluajit-mp-native.so

$(native_lib): libluajit-mp-native.la
	$(AM_V_at)$(MKDIR_P) .uninstalled/jit/mp
	$(AM_V_at)rm -f $@
	$(AM_V_GEN)cp .libs/libluajit-mp-native.so $@

# -- exec --------------------------------------------------------------------

# Preloaded, too.
noinst_LTLIBRARIES += libluajit-mp-exec.la
libluajit_mp_exec_la_SOURCES = src/preload/exec.c src/preload/environment.h
libluajit_mp_exec_la_CPPFLAGS = $(AM_CPPFLAGS) -DMP_PRELOADED
libluajit_mp_exec_la_LDFLAGS = -module -avoid-version -shared \
	-rpath $(coreexecdir)
exec_lib = .uninstalled/jit/mp/libluajit-mp-exec.so

$(exec_lib): libluajit-mp-exec.la
	$(AM_V_at)$(MKDIR_P) .uninstalled/jit/mp
	$(AM_V_at)rm -f $@
	$(AM_V_GEN)cp .libs/libluajit-mp-exec.so $@

# The command finds it there, and LD_PRELOAD by its name alone in libdir.
preload_lib = .uninstalled/jit/mp/libluajit-mp-preload.so

$(preload_lib): libluajit-mp-preload.la
	$(AM_V_at)$(MKDIR_P) .uninstalled/jit/mp
	$(AM_V_at)rm -f $@
	$(AM_V_GEN)cp .libs/libluajit-mp-preload.so $@

# -- The core, installed ---------------------------------------------------

# Copied to where ./run has LuaJIT look for it, and installed from there: a
# module needs neither libtool's archive nor its words about library paths.
coreexecdir = $(cmodexecdir)/jit/mp
coreexec_DATA = .uninstalled/jit/mp/core.so .uninstalled/jit/mp/attach.so \
	$(core32) $(names) $(native_lib) $(exec_lib) $(preload_lib)

# A new file: a program may be running with the old one.
.uninstalled/jit/mp/core.so: core.la
	$(AM_V_at)$(MKDIR_P) .uninstalled/jit/mp
	$(AM_V_at)rm -f $@
	$(AM_V_GEN)cp .libs/core.so $@

.uninstalled/jit/mp/attach.so: attach.la
	$(AM_V_at)$(MKDIR_P) .uninstalled/jit/mp
	$(AM_V_at)rm -f $@
	$(AM_V_GEN)cp .libs/attach.so $@
