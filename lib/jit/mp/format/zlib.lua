-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- zlib, if the system has it. The library is looked for when this module is
-- loaded, while the program still has its libraries. Without zlib the table is
-- empty.
----------------------------------------------------------------------------

local has_ffi, ffi = pcall(require, "ffi")

local function library()
  for _, name in ipairs({ "libz.so.1", "z" }) do
    local ok, lib = pcall(ffi.load, name)
    if ok then return lib end
  end
end

local lib = has_ffi and library()
if not lib then return {} end

ffi.cdef [[
typedef struct mp_z_stream {
  const char *next_in; unsigned int avail_in; unsigned long total_in;
  char *next_out; unsigned int avail_out; unsigned long total_out;
  const char *msg; void *state;
  void *zalloc; void *zfree; void *opaque;
  int data_type; unsigned long adler; unsigned long reserved;
} mp_z_stream;
unsigned long compressBound(unsigned long);
int compress2(char *, unsigned long *, const char *, unsigned long, int);
unsigned long crc32(unsigned long, const char *, unsigned int);
const char *zlibVersion(void);
int inflateInit2_(mp_z_stream *, int, const char *, int);
int inflate(mp_z_stream *, int);
int inflateEnd(mp_z_stream *);
]]

local LEVEL = 3       -- Beyond it files hardly shrink, and time goes up.
local FINISH = 4      -- Z_FINISH, Z_STREAM_END
local STREAM_END = 1
local MEM_ERROR = -4
local GZIP = 15 + 16  -- windowBits: gzip's frame, with its checksum.

-- The text as a deflate stream; nil: no memory.
local function deflate(text)
  local n = ffi.new("unsigned long[1]", lib.compressBound(#text))
  local buf = ffi.new("char[?]", n[0])
  if lib.compress2(buf, n, text, #text, LEVEL) ~= 0 then return nil end
  -- Without the two bytes of zlib's own header, and its checksum.
  return ffi.string(buf + 2, n[0] - 6)
end

-- The contents of a gzip file, of a size that is known; or nil, with a reason
-- unless the file is damaged.
local function gunzip(text, size)
  local z = ffi.new("mp_z_stream")
  local buf = ffi.new("char[?]", size + 1)
  z.next_in, z.avail_in, z.next_out, z.avail_out = text, #text, buf, size + 1
  local status = lib.inflateInit2_(z, GZIP, lib.zlibVersion(), ffi.sizeof(z))
  if status == 0 then
    status = lib.inflate(z, FINISH)
    lib.inflateEnd(z)
  end
  if status == MEM_ERROR then
    return nil, "cannot be decompressed: not enough memory"
  elseif status ~= STREAM_END or z.total_out ~= size or z.avail_in > 0 then
    return nil
  end
  return ffi.string(buf, size)
end

local function crc32(text)
  return tonumber(lib.crc32(0, text, #text))
end

return { deflate = deflate, gunzip = gunzip, crc32 = crc32 }
