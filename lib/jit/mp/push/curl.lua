-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The configuration of the curl command for some requests.
----------------------------------------------------------------------------

-- A server's answer has a status that is read, and a body that is not: curl
-- ends at the first byte of it, as /dev/full takes none, and neither does a
-- body without an end hold it up.
local body = 'fail\noutput = "/dev/full"\n'

-- Seconds that curl may take. If nobody would send the profile again, curl
-- retries by itself, and doubles the time in between.
local hasty = 'connect-timeout = 10\nmax-time = 30\n'
local patient = 'connect-timeout = 10\nmax-time = 30\nretry = 6\n'..
  'retry-connrefused\nretry-max-time = 120\n'

-- Options of the user's, such as headers and a proxy; or nil and a message.
local function own_options()
  local name = os.getenv("LUAJIT_MP_CURL")
  if not name or name == "" then return "" end
  local fp, msg = io.open(name, "rb")
  if not fp then
    return nil, "cannot read the file that LUAJIT_MP_CURL names: "..msg
  end
  local text = fp:read("*a")
  fp:close()
  if not text then return nil, name..": LUAJIT_MP_CURL must name a file" end
  return text.."\n"
end

local function quote(s) return '"'..s:gsub('[\\"]', "\\%0")..'"' end

-- The configuration of curl. file(i): where it finds the i-th body. Or nil and
-- a message.
local function config(requests, file, is_patient)
  local own, msg = own_options()
  if not own then return nil, msg end
  local out = {}
  for i, request in ipairs(requests) do
    if i > 1 then out[#out+1] = "next\n" end
    out[#out+1] = ('url = %s\nheader = %s\nheader = "Expect:"\n'..
      'data-binary = %s\nsilent\n%s'..
      'write-out = "%%{http_code} %%{errormsg}\\n"\n'):format(
	quote(request.url), quote("Content-Type: "..request.type),
	quote("@"..file(i)), body)
    out[#out+1] = is_patient and patient or hasty
    out[#out+1] = own
  end
  return table.concat(out)
end

return { config = config }
