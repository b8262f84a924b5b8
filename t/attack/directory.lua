-- SPDX-License-Identifier: MIT
-- Two users in a sticky directory: while root writes reports there, another
-- user puts links, FIFOs, directories and files of his own in the way. No file
-- of root's changes, and he reads no report that is not meant for him.

local ffi = require("ffi")
local tap = require("tap")
local trial = require("attack.trial")

local count = trial.count(500)
ffi.cdef [[
int geteuid(void), umask(int), fork(void), kill(int, int);
int setresuid(int, int, int), setresgid(int, int, int);
int setgroups(size_t, const int *), symlink(const char *, const char *);
int link(const char *, const char *), mkfifo(const char *, int);
int mkdir(const char *, int), unlink(const char *), rmdir(const char *);
int creat(const char *, int), close(int), open(const char *, int, ...);
int waitpid(int, int *, int), usleep(unsigned), prctl(int, ...);
long read(int, void *, size_t);
void _exit(int);
unsigned alarm(unsigned);
]]
local C = ffi.C
if C.geteuid() ~= 0 then tap.skip("needs two users: only root has them") end

local dir = tap.tmpdir()
os.execute("chmod 711 "..dir)
os.execute(("mkdir -m 700 %s/private; mkdir -m 1777 %s/shared; mkdir -m 755 "..
  "%s/open"):format(dir, dir, dir))
local shared, open = dir.."/shared/", dir.."/open/"
local names = { "a.txt", "b.html", "c.folded" }
local other = 54321		-- A user whom the system need not know.
local stranger_has = shared.."mine.txt"

-- -- The other user ----------------------------------------------------------

local buf = ffi.new("char[64]")

-- Whether he can read a report there.
local function reads_report(name)
  local fd = C.open(name, 2048) -- O_RDONLY | O_NONBLOCK
  if fd < 0 then return false end
  local n = tonumber(C.read(fd, buf, 64))
  C.close(fd)
  return n > 0 and ffi.string(buf, n):find("luajit") ~= nil
end

local traps = {
  function(name) C.symlink(open.."victim", name) end,
  function(name) C.symlink(dir.."/private/new", name) end,
  function(name) C.symlink(open.."victim-fifo", name) end,
  function(name) C.symlink(stranger_has, name) end,
  function(name) C.link(open.."victim", name) end,
  function(name) C.mkfifo(name, 438) end, -- 0666
  function(name) C.mkdir(name, 511) end,
  function(name) C.close(C.creat(name, 438)) end,
}

-- Sets traps until it is killed. Leaves with 1 where it has read a report.
local function stranger()
  C.prctl(1, ffi.cast("unsigned long", 9)) -- Not longer than its parent.
  C.setgroups(0, nil)
  C.umask(0)
  assert(C.setresgid(other, other, other) == 0)
  assert(C.setresuid(other, other, other) == 0)
  C.close(C.creat(stranger_has, 438))
  while true do
    local name = shared..trial.pick(names)
    trial.pick(traps)(name)
    if math.random(3) == 1 then C.usleep(math.random(300)) end
    if reads_report(name) or reads_report(stranger_has) then C._exit(1) end
    C.unlink(name)
    C.rmdir(name)
    if math.random(3) == 1 then C.usleep(math.random(2000)) end
  end
end

local function spawn()
  local pid = C.fork()
  if pid == 0 then stranger() end
  return pid
end

-- -- Root --------------------------------------------------------------------

C.umask(18) -- 022
tap.write(open.."victim", "a file of root's\n")
assert(C.mkfifo(open.."victim-fifo", 384) == 0)
C.umask(63) -- 077
local state = ("cd %s && { stat -c '%%n %%i %%s %%a %%u' victim; cat victim; "..
  "ls ../private; }"):format(open)
local before = tap.sh(state).out

local thief = spawn()
local mp = require("jit.mp")
local keep = {}
for i = 1, 20000 do keep[i % 100 + 1] = { i } end

-- One report by a profile that is under way, or a whole profile, whose file is
-- looked for at the start and written at the end.
local function write(name)
  if math.random(2) == 1 then return mp.report("f", name) end
  mp.stop()
  local ok, msg = mp.start("f", name)
  C.usleep(math.random(500))
  return ok, msg
end

local written, refused = 0, 0
local status = ffi.new("int[1]")
local stolen = false
for i = 1, count do
  local name = shared..trial.pick(names)
  C.alarm(60) -- Nobody may make root wait.
  local ok, msg = write(name)
  if ok then written = written + 1 else refused = refused + 1 end
  local said = ok or tostring(msg):find("^cannot") or
    tostring(msg):find("not running")
  trial.check(said, "a report is written, or why not is said", tostring(msg))
  C.unlink(name)
  if C.waitpid(thief, status, 1) == thief then
    stolen = true
    break
  end
end
mp.stop()
C.kill(thief, 9)
C.waitpid(thief, status, 0)

trial.check(not stolen, "the other user has read a report")
local after = tap.sh(state).out
trial.check(after == before, "files of root's changed",
  "before: "..before.."\nafter: "..after)
tap.diag(("%d reports written, %d refused"):format(written, refused))
trial.done("two users in a sticky directory")
