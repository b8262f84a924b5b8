-- SPDX-License-Identifier: MIT
-- In an unpacked archive of luajit-mp, or in a checkout, which needs autoconf,
-- automake and libtool:
--   luarocks make
rockspec_format = "3.0"
package = "luajit-mp"
version = "0.1.0-1"
source = { url = "file://luajit-mp-0.1.0.tar.gz" }
description = {
  summary = "CPU and memory profiler for LuaJIT",
  detailed = [[
    One run, one table of CPU time, bytes allocated and bytes in use, by
    function and line, with the JIT compiler on, on LuaJIT as distributed.]],
  license = "MIT"
}
supported_platforms = { "linux" }
dependencies = { "lua == 5.1" }
-- LuaRocks moves modules after they were installed, five levels up; the
-- command must know where to. It runs itself, by luajit. The library for C
-- stays where it is: a copy of a link would lead nowhere.
build = {
  type = "command",
  build_command = [[
    { test -e configure || autoreconf -fi; } &&
    tree=`realpath -m $(PREFIX)/../../../../..` &&
    ./configure -q --disable-tests --prefix=$(PREFIX) --bindir=$(BINDIR) \
      --libdir=$(PREFIX)/c \
      --mandir=$(PREFIX)/man --docdir=$(PREFIX)/doc \
      --with-lua-dir=$tree/share/lua/5.1 --with-lua-cdir=$tree/lib/lua/5.1 &&
    make -s]],
  install_command = "make -s install LUAJIT= luadir=$(LUADIR)"..
    " cmodexecdir=$(LIBDIR)"
}
deploy = { wrap_bin_scripts = false }
