# SPDX-License-Identifier: MIT
# Part of Makefile.am: the modules in Lua and the command.

jitdir = $(luadir)/jit
dist_jit_DATA = \
	lib/jit/m.lua \
	lib/jit/mp.lua

mpdir = $(luadir)/jit/mp
dist_mp_DATA = \
	lib/jit/mp/effects.lua \
	lib/jit/mp/env.lua \
	lib/jit/mp/livekeys.lua \
	lib/jit/mp/misc.lua \
	lib/jit/mp/nginx.lua \
	lib/jit/mp/optionlist.lua \
	lib/jit/mp/options.lua \
	lib/jit/mp/plan.lua \
	lib/jit/mp/render.lua \
	lib/jit/mp/settings.lua \
	lib/jit/mp/together.lua

mpmodeldir = $(luadir)/jit/mp/model
dist_mpmodel_DATA = \
	lib/jit/mp/model/advice.lua \
	lib/jit/mp/model/builtins.lua \
	lib/jit/mp/model/chunks.lua \
	lib/jit/mp/model/cnames.lua \
	lib/jit/mp/model/cumulative.lua \
	lib/jit/mp/model/decisions.lua \
	lib/jit/mp/model/definitions.lua \
	lib/jit/mp/model/empty.lua \
	lib/jit/mp/model/fields.lua \
	lib/jit/mp/model/estimates.lua \
	lib/jit/mp/model/facts.lua \
	lib/jit/mp/model/functions.lua \
	lib/jit/mp/model/keys.lua \
	lib/jit/mp/model/larger.lua \
	lib/jit/mp/model/loops.lua \
	lib/jit/mp/model/leaks.lua \
	lib/jit/mp/model/listing.lua \
	lib/jit/mp/model/merge.lua \
	lib/jit/mp/model/names.lua \
	lib/jit/mp/model/numbers.lua \
	lib/jit/mp/model/pairing.lua \
	lib/jit/mp/model/places.lua \
	lib/jit/mp/model/profile.lua \
	lib/jit/mp/model/reasons.lua \
	lib/jit/mp/model/recent.lua \
	lib/jit/mp/model/remedies.lua \
	lib/jit/mp/model/sorting.lua \
	lib/jit/mp/model/sources.lua \
	lib/jit/mp/model/spellings.lua \
	lib/jit/mp/model/terms.lua \
	lib/jit/mp/model/verdicts.lua \
	lib/jit/mp/model/views.lua \
	lib/jit/mp/model/wall.lua

mptextdir = $(luadir)/jit/mp/text
dist_mptext_DATA = \
	lib/jit/mp/text/annotate.lua \
	lib/jit/mp/text/callflat.lua \
	lib/jit/mp/text/callgraph.lua \
	lib/jit/mp/text/calls.lua \
	lib/jit/mp/text/callreport.lua \
	lib/jit/mp/text/compiler.lua \
	lib/jit/mp/text/cells.lua lib/jit/mp/text/width.lua \
	lib/jit/mp/text/curve.lua \
	lib/jit/mp/text/diff.lua \
	lib/jit/mp/text/events.lua \
	lib/jit/mp/text/header.lua \
	lib/jit/mp/text/leaks.lua \
	lib/jit/mp/text/memory.lua \
	lib/jit/mp/text/quickfix.lua \
	lib/jit/mp/text/style.lua \
	lib/jit/mp/text/waits.lua \
	lib/jit/mp/text/table.lua

mpformatdir = $(luadir)/jit/mp/format
dist_mpformat_DATA = \
	lib/jit/mp/format/cpuprofile.lua \
	lib/jit/mp/format/columns.lua \
	lib/jit/mp/format/crc32.lua \
	lib/jit/mp/format/dhat.lua \
	lib/jit/mp/format/export.lua \
	lib/jit/mp/format/file.lua \
	lib/jit/mp/format/file_read.lua \
	lib/jit/mp/format/file_tables.lua \
	lib/jit/mp/format/file_write.lua \
	lib/jit/mp/format/firefox.lua \
	lib/jit/mp/format/firefox_tables.lua \
	lib/jit/mp/format/folded.lua \
	lib/jit/mp/format/folded_walk.lua \
	lib/jit/mp/format/formats.lua \
	lib/jit/mp/format/gzip.lua \
	lib/jit/mp/format/heapprofile.lua \
	lib/jit/mp/format/heapsnapshot.lua \
	lib/jit/mp/format/html.lua \
	lib/jit/mp/format/json.lua \
	lib/jit/mp/format/measures.lua \
	lib/jit/mp/format/memprof.lua \
	lib/jit/mp/format/metrics.lua \
	lib/jit/mp/format/otlp.lua \
	lib/jit/mp/format/pprof.lua \
	lib/jit/mp/format/protobuf.lua \
	lib/jit/mp/format/report.lua \
	lib/jit/mp/format/report_compiler.lua \
	lib/jit/mp/format/server.lua \
	lib/jit/mp/format/speedscope.lua \
	lib/jit/mp/format/zlib.lua

mpheapdir = $(luadir)/jit/mp/heap
dist_mpheap_DATA = \
	lib/jit/mp/heap/growth.lua \
	lib/jit/mp/heap/held.lua \
	lib/jit/mp/heap/kinds.lua \
	lib/jit/mp/heap/paths.lua \
	lib/jit/mp/heap/report.lua \
	lib/jit/mp/heap/stored.lua \
	lib/jit/mp/heap/trigger.lua \
	lib/jit/mp/heap/walk.lua

mppushdir = $(luadir)/jit/mp/push
dist_mppush_DATA = \
	lib/jit/mp/push/address.lua \
	lib/jit/mp/push/curl.lua \
	lib/jit/mp/push/requests.lua \
	lib/jit/mp/push/send.lua

mppagedir = $(luadir)/jit/mp/page
dist_mppage_DATA = \
	lib/jit/mp/page/ascii.lua \
	lib/jit/mp/page/columns.lua \
	lib/jit/mp/page/encode.lua \
	lib/jit/mp/page/facts.lua \
	lib/jit/mp/page/heap.lua \
	lib/jit/mp/page/jit.lua \
	lib/jit/mp/page/leaks.lua \
	lib/jit/mp/page/order.lua \
	lib/jit/mp/page/parts.lua \
	lib/jit/mp/page/source.lua \
	lib/jit/mp/page/viewer.html

mpviewerdir = $(luadir)/jit/mp/page/viewer
dist_mpviewer_DATA = \
	lib/jit/mp/page/viewer/address.js \
	lib/jit/mp/page/viewer/base.css \
	lib/jit/mp/page/viewer/calls.js \
	lib/jit/mp/page/viewer/colors.js \
	lib/jit/mp/page/viewer/columns.js \
	lib/jit/mp/page/viewer/controls.css \
	lib/jit/mp/page/viewer/controls.js \
	lib/jit/mp/page/viewer/counts.js \
	lib/jit/mp/page/viewer/course.js \
	lib/jit/mp/page/viewer/dom.js \
	lib/jit/mp/page/viewer/flame.js \
	lib/jit/mp/page/viewer/graph.css \
	lib/jit/mp/page/viewer/graph.js \
	lib/jit/mp/page/viewer/heap.js \
	lib/jit/mp/page/viewer/heat.js \
	lib/jit/mp/page/viewer/heaptree.js \
	lib/jit/mp/page/viewer/help.js \
	lib/jit/mp/page/viewer/items.js \
	lib/jit/mp/page/viewer/jit.js \
	lib/jit/mp/page/viewer/layout.js \
	lib/jit/mp/page/viewer/leaks.js \
	lib/jit/mp/page/viewer/main.js \
	lib/jit/mp/page/viewer/matches.js \
	lib/jit/mp/page/viewer/media.css \
	lib/jit/mp/page/viewer/numbers.js \
	lib/jit/mp/page/viewer/profile.js \
	lib/jit/mp/page/viewer/range.js \
	lib/jit/mp/page/viewer/save.js \
	lib/jit/mp/page/viewer/search.js \
	lib/jit/mp/page/viewer/source.js \
	lib/jit/mp/page/viewer/state.js \
	lib/jit/mp/page/viewer/steps.js \
	lib/jit/mp/page/viewer/sums.js \
	lib/jit/mp/page/viewer/table.js \
	lib/jit/mp/page/viewer/tables.css \
	lib/jit/mp/page/viewer/timeline.js \
	lib/jit/mp/page/viewer/tree.js \
	lib/jit/mp/page/viewer/widgets.js \
	lib/jit/mp/page/viewer/words.js

mptestdir = $(luadir)/jit/mp/test
dist_mptest_DATA = \
	lib/jit/mp/test/busted.lua \
	lib/jit/mp/test/luaunit.lua \
	lib/jit/mp/test/measure.lua

mpclidir = $(luadir)/jit/mp/cli
dist_mpcli_DATA = \
	lib/jit/mp/cli/args.lua \
	lib/jit/mp/cli/attach.lua \
	lib/jit/mp/cli/target.lua \
	lib/jit/mp/cli/terminal.lua \
	lib/jit/mp/cli/top.lua \
	lib/jit/mp/cli/words.lua \
	lib/jit/mp/cli/command.lua \
	lib/jit/mp/cli/convert.lua \
	lib/jit/mp/cli/diff.lua \
	lib/jit/mp/cli/files.lua \
	lib/jit/mp/cli/merge.lua \
	lib/jit/mp/cli/open.lua \
	lib/jit/mp/cli/outside.lua \
	lib/jit/mp/cli/program.lua \
	lib/jit/mp/cli/push.lua \
	lib/jit/mp/cli/report.lua \
	lib/jit/mp/cli/run.lua \
	lib/jit/mp/cli/serve.lua \
	lib/jit/mp/cli/spec.lua \
	lib/jit/mp/cli/stop.lua

lua_modules = $(dist_jit_DATA) $(dist_mp_DATA) $(dist_mpmodel_DATA) \
	$(dist_mptext_DATA) $(dist_mpformat_DATA) $(dist_mppage_DATA) \
	$(dist_mpviewer_DATA) $(dist_mpheap_DATA) \
	$(dist_mptest_DATA) $(dist_mpcli_DATA)

# The command knows where the modules are.
bin_SCRIPTS = luajit-mp
luajit-mp: lib/luajit-mp.in Makefile
	$(AM_V_GEN)sed -e 's|[@]luadir[@]|$(luadir)|' \
	  -e 's|[@]cmodexecdir[@]|$(cmodexecdir)|' \
	  -e 's|[@]VERSION[@]|$(VERSION)|' \
	  $(srcdir)/lib/luajit-mp.in >$@.tmp
	$(AM_V_at)chmod +x $@.tmp && mv $@.tmp $@

EXTRA_DIST += lib/luajit-mp.in
