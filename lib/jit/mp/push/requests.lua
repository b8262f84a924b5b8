-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The requests by which a server gets a profile.
----------------------------------------------------------------------------
--
-- CPU and heap are two pprof profiles. Pyroscope gets a request for each: a
-- form, with a description of its numbers. Parca gets one request, in JSON.
--
----------------------------------------------------------------------------

local address = require("jit.mp.push.address")
local json = require("jit.mp.format.json")
local pprof = require("jit.mp.format.pprof")

local encode = address.encode

-- -- The profiles ------------------------------------------------------------

-- The name that Parca has for a series.
local series = { cpu = "process_cpu", heap = "memory" }

-- The description of the numbers. None adds up from the start of the program:
-- each window has its own.
local numbers = {
  cpu = '{"samples":{"units":"samples","sampled":true},'..
    '"cpu":{"units":"nanoseconds","sampled":true}}',
  heap = '{"alloc_objects":{"units":"objects"},'..
    '"alloc_space":{"units":"bytes"},'..
    '"inuse_objects":{"units":"objects","aggregation":"average"},'..
    '"inuse_space":{"units":"bytes","aggregation":"average"}}',
}

-- The same of wall times, which are among those of CPU.
local waits = ',"waiting":{"units":"nanoseconds"},'..
  '"blocked":{"units":"nanoseconds"},"event_loop":{"units":"nanoseconds"}}'

local function described(p, kind)
  if kind ~= "cpu" or not p.waits.enabled then return numbers[kind] end
  return (numbers.cpu:gsub("}$", waits))
end

-- A list of { kind, data }; what has nothing in it is left out.
local function profiles(p, o)
  local list, wanted = {}, {}
  for _, view in ipairs(o.views) do
    wanted[view == "cpu" and "cpu" or "heap"] = true
  end
  for _, kind in ipairs({ "cpu", "heap" }) do
    local set = setmetatable({ pprof = kind }, { __index = o })
    local data = wanted[kind] and pprof(p, set)
    if data then list[#list+1] = { kind, data } end
  end
  return list
end

-- The name of the application: that of its script, unless it is given.
local function application(p, to)
  local script = (p.info.script or "luajit"):match("[^/\\]*$")
  script = script:gsub("%.lua$", ""):gsub("[^%w_.%-]", "_")
  return to.name or (script ~= "" and script or "luajit")
end

-- -- Bodies -------------------------------------------------------------------

local BOUNDARY = "luajit-mp-6f1c2b9e83d74a05"

-- A form with files in it: a list of { field, file name, data }.
local function form(parts)
  local out = {}
  for _, part in ipairs(parts) do
    out[#out+1] = ("--%s\r\nContent-Disposition: form-data; name=\"%s\"; "..
      "filename=\"%s\"\r\nContent-Type: application/octet-stream\r\n\r\n")
      :format(BOUNDARY, part[1], part[2])
    out[#out+1] = part[3].."\r\n"
  end
  return table.concat(out).."--"..BOUNDARY.."--\r\n"
end

local digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"..
  "abcdefghijklmnopqrstuvwxyz0123456789+/"
local pairs_of_digits

local function base64(data)
  local out, two = {}, pairs_of_digits
  if not two then
    two = {}
    for i = 0, 4095 do
      local low = i % 64
      local high = (i - low) / 64
      two[i] = digits:sub(high + 1, high + 1)..digits:sub(low + 1, low + 1)
    end
    pairs_of_digits = two
  end
  local padded = data..("\0"):rep(-#data % 3)
  for i = 1, #padded, 3 do
    local a, b, c = padded:byte(i, i + 2)
    local low = b % 16
    out[#out+1] = two[a * 16 + (b - low) / 16]
    out[#out+1] = two[low * 256 + c]
  end
  local text = table.concat(out)
  return text:sub(1, #text - -#data % 3)..("="):rep(-#data % 3)
end

-- -- Requests -----------------------------------------------------------------

local servers = {}

function servers.pyroscope(p, list, to)
  local labels = {}
  for i, label in ipairs(to.labels) do
    labels[i] = label[1].."="..label[2]
  end
  local name = application(p, to)..(labels[1] and
    "{"..table.concat(labels, ",").."}" or "")
  local from = p.info.started or 0
  local query = ("?name=%s&from=%d&until=%d&format=pprof&spyName=luajit-mp")
    :format(encode(name), from, math.ceil(from + p.info.wall))
  local requests = {}
  for i, profile in ipairs(list) do
    requests[i] = { url = to.url..query,
      type = "multipart/form-data; boundary="..BOUNDARY,
      body = form({ { "profile", "profile.pb.gz", profile[2] },
	{ "sample_type_config", "sample_type_config.json",
	  described(p, profile[1]) } }) }
  end
  return requests
end

local function label_json(name, value)
  return ('{"name":%s,"value":%s}'):format(json.string(name),
    json.string(value))
end

function servers.parca(p, list, to)
  local all = {}
  for i, profile in ipairs(list) do
    local labels = { label_json("__name__", series[profile[1]]),
      label_json("job", application(p, to)) }
    for _, label in ipairs(to.labels) do
      labels[#labels+1] = label_json(label[1], label[2])
    end
    all[i] = ('{"labels":{"labels":[%s]},"samples":[{"rawProfile":"%s"}]}')
      :format(table.concat(labels, ","), base64(profile[2]))
  end
  if not all[1] then return {} end
  return { { url = to.url, type = "application/json",
    body = '{"normalized":true,"series":['..table.concat(all, ",").."]}" } }
end

-- The requests for a profile: a list of { url, type, body }. name: the address.
return function(p, o, name)
  local to = assert(address.parse(name))
  return servers[to.kind](p, profiles(p, o), to)
end
