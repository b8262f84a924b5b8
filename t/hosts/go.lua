-- SPDX-License-Identifier: MIT
-- A host in Go: its runtime has a handler for every signal, interrupts its
-- threads by SIGURG, and moves goroutines, and so the Lua state, from thread to
-- thread; their stacks are too small for the profiler's handlers.

local tap = require("tap")
local hosts = require("hosts")

if tap.sh("command -v go").status ~= 0 then
  if os.getenv("MP_HOSTS_REQUIRED") then
    tap.ok(false, "Go is there")
    tap.done()
  end
  tap.skip("no Go")
end

local dir = tap.tmpdir()
tap.write(dir.."/go.mod", "module host\n")
tap.write(dir.."/main.go", [[
package main

/*
#cgo pkg-config: luajit
#include <stdlib.h>
#include <lauxlib.h>
#include <lualib.h>

static lua_State *open(void)
{
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  return L;
}

static int run(lua_State *L, const char *code)
{
  int failed = luaL_loadstring(L, code) || lua_pcall(L, 0, 1, 0);
  return failed ? -1 : (int)lua_tointeger(L, -1);
}
*/
import "C"

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const code = `
local function hot(n)
  local t = {}
  for i = 1, n do t[i % 100 + 1] = { i, tostring(i) } end
  return #t
end
local sum = 0
for i = 1, 10 do sum = sum + hot(1000) end
return sum`

// Needs a stack that grows.
func deep(n int) int {
	var a [40]int
	a[n%40] = n
	if n == 0 {
		return a[0]
	}
	return deep(n-1) + a[n%40]
}

// Other goroutines get the processor by a signal.
func spin(n int) int {
	x := 1
	for i := 0; i < n; i++ {
		x = x*31 + i
	}
	return x
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// Usage: host TIMES [FILE]: so often, and then until the file exists.
func main() {
	times, _ := strconv.Atoi(os.Args[1])
	goes := func(i int) bool { return i < times }
	if len(os.Args) > 2 {
		goes = func(i int) bool {
			_, err := os.Stat(os.Args[2])
			return i < times || err != nil
		}
	}
	states := make([]*C.lua_State, 2)
	locks := make([]sync.Mutex, len(states))
	for i := range states {
		states[i] = C.open()
	}
	text := C.CString(code)
	defer C.free(unsafe.Pointer(text))
	urgent := make(chan os.Signal, 100)
	signal.Notify(urgent, syscall.SIGUSR1)
	me := os.Getpid()
	var all sync.WaitGroup
	var lock sync.Mutex
	total, calls := 0, 0
	go func() {
		for {
			runtime.GC()
		}
	}()
	for g := 0; g < 6; g++ {
		all.Add(1)
		go func(g int) {
			defer all.Done()
			for i := 0; goes(i); i++ {
				k := (g + i) % len(states)
				locks[k].Lock()
				n := int(C.run(states[k], text))
				C.lua_settop(states[k], 0)
				locks[k].Unlock()
				x := spin(100000)
				lock.Lock()
				total += n
				calls++
				if deep(50+x%7) < 0 {
					total = 0
				}
				lock.Unlock()
				if i%8 == 0 {
					time.Sleep(time.Millisecond)
					syscall.Kill(me, syscall.SIGUSR1)
				}
			}
		}(g)
	}
	// Go's own profiler, for a while.
	pprof.StartCPUProfile(nowhere{})
	time.Sleep(100 * time.Millisecond)
	pprof.StopCPUProfile()
	all.Wait()
	<-urgent
	if len(os.Args) > 2 {
		fmt.Println("right", total == 1000*calls)
	} else {
		fmt.Println("total", total)
	}
	for _, L := range states {
		C.lua_close(L)
	}
}
]])
local env = hosts.env("", { GOCACHE = dir.."/cache", GOFLAGS = "-mod=mod",
  HOME = dir })
env.LD_LIBRARY_PATH = nil
local r = tap.sh("go build -o host .", { dir = dir, env = env })
tap.is(r.status, 0, "the host is built", r.err)
if r.status ~= 0 then tap.done() end

local function share(text, row)
  return tonumber(text:match("(%d+)%% [^\n]*   "..row.."\n") or 0)
end

local times = 20
local plain = tap.sh("exec ./host "..times, { dir = dir, env = env })
tap.is(plain.out, "total "..6 * times * 1000 .."\n", "it runs")
for _, opts in ipairs { "fi1", "fLi1", "Ji1", "e", "fWi1" } do
  r = tap.sh(("exec %s run -o r.txt -O %s -- ./host %d"):format(tap.mp, opts,
    times), { dir = dir, env = env })
  tap.is(r.status..r.out..r.err, "0"..plain.out, opts..": its result")
  local text = tap.read(dir.."/r.txt") or ""
  tap.unlike(text, "another profiler", opts..": the timer is ours")
  if opts == "fi1" then
    tap.ok(share(text, "hot") >= 60, "the CPU is that of its function", text)
  end
end

local script = ([[
./host %d stop >out & host=$!
n=0
until %s attach --state=1 -t 0.5 -O fi1 -o r.txt $host 2>err; do
  n=$((n+1))
  [ $n -lt 20 ] || break
  sleep 0.2
done
grep -v "waiting for process" err
touch stop
wait $host
echo $?
cat out]]):format(times, tap.mp)
r = tap.sh(script, { dir = dir, env = env })
tap.is(r.out, "0\nright true\n", "it is attached to")
tap.like(tap.read(dir.."/r.txt") or "", "%%[^\n]*   hot\n",
  "with its function")
os.execute("chmod -R u+w "..dir)
tap.done()
