-- SPDX-License-Identifier: MIT
----------------------------------------------------------------------------
-- The fields of a profile. The writer and the reader of the profile file and
-- the merging of profiles use this list, and a test holds luajit-mp(5) to it.
----------------------------------------------------------------------------
--
-- A field is { name, type, ... } with
--
--   optional     may be missing
--   min, max     bounds of a number; else 0 and 2^53
--   one_of       the texts that there are, as a set
--   merge        how the values of several profiles become one: "sum", "min",
--                "max", "any" (of flags), "same" (the value that all have, else
--                `otherwise`); without it a merged profile has no value
--   default      the value to merge where it is missing
--
-- Types: "text"; "flag"; "number"; "line" (a whole number); "ref", the number
-- of a record of the table `of`, from 1, or from 0 for none where `none` is
-- set.
--
----------------------------------------------------------------------------

local MAX = 2^53      -- Up to here whole numbers are exact.
local SECONDS = 1e9   -- More than thirty years.
local PERIOD = 2^40   -- The largest that option b takes.

local function set(text)
  local t = {}
  for word in text:gmatch("%S+") do t[word] = true end
  return t
end

local function text(name)
  return { name, "text", optional = true, merge = "same" }
end

local function sum(name) return { name, "number", merge = "sum" } end

-- Of a number of bytes, by sampling: the square of them.
local function variance(name)
  return { name, "number", optional = true, merge = "sum", max = 2^106 }
end

local function optional(field)
  field.optional = true
  return field
end

-- May be negative: the remainder of a sum.
local function amount(name)
  return { name, "number", optional = true, min = -MAX }
end

local function seconds(name)
  return { name, "number", merge = "sum", max = SECONDS }
end

-- Tables of single values. "" is the profile itself.
local groups = {
  { name = "profile", key = "", fields = {
    { "collected", "flag", optional = true },
    { "collected_after", "number", optional = true, max = SECONDS },
  } },
  { name = "info", key = "info", fields = {
    seconds("wall"), seconds("cpu"),
    { "capture", "text", merge = "same", otherwise = "mixed",
      one_of = set("exact safepoint outside mixed") },
    text("capture_why"),
    { "no_lines", "flag", optional = true, merge = "any" },
    { "no_types", "flag", optional = true, merge = "any" },
    text("script"), text("luajit"), text("os"),
    text("arch"), text("options"), text("cwd"),
    { "pid", "number", optional = true },
    { "attached", "flag", optional = true },
    { "started", "number", optional = true, merge = "min", max = 1e11 },
    { "runs", "number", optional = true, merge = "sum", default = 1 },
    optional(sum("cut")),
    { "window", "number", optional = true, max = SECONDS },
    { "trigger", "text", optional = true, one_of = set("memory busy refused") },
    { "trigger_used", "number", optional = true },
    { "trigger_limit", "number", optional = true },
    { "trigger_of", "text", optional = true },
    { "trigger_asked", "number", optional = true },
    { "trigger_at", "text", optional = true },
  } },
  { name = "cpu", key = "cpu", fields = {
    { "enabled", "flag", merge = "any" },
    sum("samples"),
    { "interval", "number", merge = "max", max = 1e9 },
    { "adaptive", "flag", optional = true, merge = "any" },
    text("clock"), text("why"),
  } },
  { name = "heap", key = "heap", fields = {
    { "enabled", "flag", merge = "any" },
    sum("alloc_objects"), sum("alloc_bytes"),
    sum("free_objects"), sum("free_bytes"),
    sum("realloc_objects"), sum("realloc_bytes"), sum("realloc_freed"),
    sum("samples"), sum("dropped"),
    { "period", "number", merge = "max", min = 1, max = PERIOD },
    { "adaptive", "flag", merge = "any" },
    sum("inuse"), sum("inuse_start"), sum("peak"),
    optional(sum("inuse_samples")), optional(sum("gc_cycles")),
    optional(sum("gc_looks")), optional(sum("gc_stopped")),
  } },
  { name = "native", key = "native", fields = {
    { "enabled", "flag", merge = "any", optional = true },
    optional(sum("samples")), optional(sum("dropped")),
    optional(sum("inuse_samples")),
    { "period", "number", merge = "max", min = 1, max = PERIOD,
      optional = true },
    { "adaptive", "flag", merge = "any", optional = true },
  } },
  { name = "waits", key = "waits", fields = {
    { "enabled", "flag", merge = "any", optional = true },
    text("why"), text("blocked_why"), optional(sum("coroutines")),
    optional(sum("time")),
  } },
  { name = "memory", key = "memory", fields = {
    amount("rss"), amount("lua"), amount("lua_free"), amount("lua_heads"),
    amount("code"), amount("stacks"), amount("malloc_used"),
    amount("malloc_free"), amount("mixed"), amount("files"),
    amount("profiler"), amount("other"), amount("segments"),
    amount("largest_free"), amount("pinned"), amount("pinned_free"),
    amount("pinned_used"),
  } },
  { name = "compiler", key = "compiler", fields = {
    { "enabled", "flag", optional = true },
    { "events", "flag", optional = true },
    { "why", "text", optional = true },
    { "proved", "flag", optional = true },
    { "looked", "flag", optional = true },
    { "spelled", "flag", optional = true },
    { "off", "text", optional = true, one_of = set("all part") },
    { "listed", "flag", optional = true },
    { "unlisted", "text", optional = true }, amount("left_out"),
    amount("started"), amount("made"), amount("given_up"), amount("dropped"),
    amount("maxtrace"), amount("maxrecord"), amount("maxirconst"),
    amount("maxside"), amount("maxsnap"), amount("hotloop"), amount("hotexit"),
    amount("tryside"), amount("instunroll"), amount("loopunroll"),
    amount("callunroll"), amount("recunroll"), amount("sizemcode"),
    amount("maxmcode"), amount("compiling"), amount("protecting"),
  } },
}

-- Of the heap walk, which is not merged.
local function of_walk(name, max)
  return { name, "number", optional = true, max = max }
end
groups[#groups+1] = { name = "walk", key = "walk_head", fields = {
  of_walk("at", SECONDS), of_walk("seconds", SECONDS),
  of_walk("child", SECONDS), { "alone", "text", optional = true },
  { "why", "text", optional = true }, of_walk("total"), of_walk("held"),
  { "adds_up", "flag", optional = true },
  { "closing", "flag", optional = true },
  { "left", "flag", optional = true },
  of_walk("references"), of_walk("memory"),
  of_walk("own_strings"), of_walk("own_state"), of_walk("own_buffer"),
  of_walk("own_ctypes"), of_walk("own_rest"), of_walk("arena_system"),
  of_walk("arena_free"), of_walk("arena_largest"),
  { "c_why", "text", optional = true }, of_walk("c_bytes"), of_walk("c_led"),
  { "c_partly", "flag", optional = true },
  of_walk("slots"), of_walk("slots_used"), of_walk("slots_bytes"),
  of_walk("slots_empty"), of_walk("base_at", SECONDS), of_walk("base_least"),
  of_walk("least"), of_walk("chains"), of_walk("chains_used"),
  of_walk("chain_longest"),
} }

-- Tables of many records, each after those that it refers to. key: where the
-- profile has it. columns: there it is one list for each field, not a list of
-- records. recorded: it may be missing, which is not the same as empty.
local tables = {
  { name = "frame", key = "frames", fields = {
    { "kind", "text", one_of = set("Lua C builtin pseudo") },
    { "line", "line", optional = true },
    { "linedefined", "line", optional = true },
    { "name", "text", optional = true },
    { "source", "text", optional = true },
    { "definition", "text", optional = true },
    { "code", "number", optional = true },
    { "chunk", "number", optional = true },
  } },
  { name = "stack", key = "stacks", columns = true, fields = {
    { "parent", "ref", of = "stack", none = true },
    { "frame", "ref", of = "frame" },
  } },
  { name = "zone", key = "zones", columns = true, fields = {
    { "parent", "ref", of = "zone", none = true },
    { "name", "text" }, { "key", "text", optional = true },
  } },
  { name = "row", key = "rows", fields = {
    { "stack", "ref", of = "stack", none = true },
    { "zone", "ref", of = "zone", none = true },
    { "state", "text", one_of = set("N I C G J") },
    { "type", "text", optional = true },
    sum("cpu"), sum("alloc_objects"), sum("alloc_bytes"),
    sum("inuse_objects"), sum("inuse_bytes"),
    sum("peak_objects"), sum("peak_bytes"),
    optional(sum("temp_objects")), optional(sum("temp_bytes")),
    optional(sum("calls")),
    { "waited", "number", merge = "sum", optional = true },
    variance("waited_variance"),
    { "waiting", "number", merge = "sum", optional = true },
    { "blocked", "number", merge = "sum", optional = true },
    variance("blocked_variance"),
    optional(sum("native_objects")), optional(sum("native_bytes")),
    optional(sum("native_inuse_objects")),
    optional(sum("native_inuse_bytes")),
    variance("cpu_variance"),
    variance("alloc_variance"), variance("inuse_variance"),
    variance("native_variance"), variance("native_inuse_variance"),
  } },
  { name = "point", key = "course", fields = {
    { "wall", "number", max = SECONDS }, { "cpu", "number", max = SECONDS },
    { "allocated", "number" }, { "inuse", "number" }, { "cycles", "number" },
    { "rss", "number" },
    { "phase", "text", optional = true,
      one_of = set("pause mark sweep finalize") },
  } },
  { name = "change", key = "timeline", fields = {
    { "point", "ref", of = "point" }, { "row", "ref", of = "row" },
    -- Negative where amounts of a row were moved to another one.
    { "cpu", "number" }, { "alloc_objects", "number", min = -2^53 },
    { "alloc_bytes", "number", min = -2^53 }, { "inuse_bytes", "number" },
  } },
  { name = "event", key = "events", recorded = true, fields = {
    { "kind", "text", one_of = set("free realloc") },
    { "row", "ref", of = "row", none = true },
    { "origin", "ref", of = "row", none = true },
    { "count", "number" }, { "alloc_bytes", "number" },
    { "free_bytes", "number" },
  } },
  { name = "alloc_type", key = "alloc_types", recorded = true, fields = {
    { "type", "text", optional = true },
    { "alloc_objects", "number" }, { "alloc_bytes", "number" },
  } },
  { name = "collection", key = "collections", recorded = true, fields = {
    { "wall", "number", max = SECONDS }, { "allocated", "number" },
    { "cycle", "number" },
  } },
  { name = "held", key = "held", recorded = true, fields = {
    { "collection", "ref", of = "collection" }, { "row", "ref", of = "row" },
    { "objects", "number" }, { "bytes", "number" },
    { "variance", "number", max = 2^106 },
  } },
  { name = "survivor", key = "survivors", recorded = true, fields = {
    { "row", "ref", of = "row" },
    { "objects", "number" }, { "births", "number" },
  } },
  { name = "native_record", key = "native_records", recorded = true,
    fields = {
    { "wall", "number", max = SECONDS }, { "allocated", "number" },
    { "cycle", "number" },
  } },
  { name = "native_held", key = "native_held", recorded = true, fields = {
    { "collection", "ref", of = "native_record" },
    { "row", "ref", of = "row" },
    { "objects", "number" }, { "bytes", "number" },
    { "variance", "number", max = 2^106 },
  } },
  { name = "pin", key = "pins", recorded = true, fields = {
    { "row", "ref", of = "row" },
    { "objects", "number" }, { "bytes", "number" },
  } },
  { name = "giveup", key = "giveups", recorded = true, fields = {
    { "start", "ref", of = "frame", none = true },
    { "at", "ref", of = "frame", none = true },
    { "kind", "text", one_of = set("early root side") },
    { "reason", "text" }, { "count", "number" },
    { "final", "number", optional = true },
    { "loads", "number", optional = true },
    { "wall", "number", optional = true, max = SECONDS },
  } },
  { name = "trace", key = "traces", recorded = true, fields = {
    { "start", "ref", of = "frame", none = true },
    { "number", "number" }, { "parent", "number" }, { "exit", "number" },
    { "link", "number" }, { "ends", "text", optional = true },
    { "instructions", "number" }, { "bytes", "number" },
    { "exits", "number" }, { "taken", "number" }, { "worst", "number" },
    { "times", "number" }, { "ticks", "number", optional = true },
    { "allocated", "number", optional = true },
    { "state", "text", one_of = set("live gone") },
    { "alike", "number", optional = true },
    { "listing", "text", optional = true },
  } },
  { name = "flush", key = "flushes", recorded = true, fields = {
    { "wall", "number", max = SECONDS },
    { "why", "text", one_of = { asked = true, ["machine code"] = true,
      traces = true, seen = true } },
    { "count", "number", optional = true },
  } },
  { name = "blacklisted", key = "blacklisted", recorded = true, fields = {
    { "start", "ref", of = "frame", none = true },
    { "kind", "text", one_of = set("loop function off") },
  } },
  { name = "escape", key = "escapes", recorded = true, fields = {
    { "place", "ref", of = "frame", none = true },
    { "at", "ref", of = "frame", none = true },
    { "how", "text",
      one_of = set("unknown table new upvalue memory key call end turn read") },
    { "count", "number" },
  } },
  { name = "walk_type", key = "walk_types", recorded = true, fields = {
    { "type", "text" }, { "count", "number" }, { "bytes", "number" },
    { "garbage_count", "number" }, { "garbage_bytes", "number" },
  } },
  { name = "walk_kind", key = "walk_kinds", recorded = true, fields = {
    { "kind", "text",
      one_of = set("array hash long numbered userdata cdata code") },
    { "name", "text", optional = true },
    { "count", "number" }, { "bytes", "number" },
    { "size", "number" }, { "slots", "number" }, { "used", "number" },
  } },
  { name = "walk_line", key = "walk_lines", recorded = true, fields = {
    { "parent", "ref", of = "walk_line", none = true },
    { "count", "number", min = 1 }, { "self", "number" },
    { "bytes", "number" }, { "c", "number", optional = true },
    of_walk("slots"), of_walk("slots_used"), of_walk("slots_bytes"),
    of_walk("slots_empty"), of_walk("was"),
    { "type", "text" },
    { "label", "text", optional = true }, { "what", "text", optional = true },
  } },
  { name = "walk_join", key = "walk_joins", recorded = true, fields = {
    { "row", "ref", of = "row" }, { "line", "ref", of = "walk_line" },
    { "objects", "number" }, { "bytes", "number" },
    { "first", "number", optional = true, max = SECONDS },
    { "last", "number", optional = true, max = SECONDS },
  } },
  { name = "walk_cjoin", key = "walk_cjoins", recorded = true, fields = {
    { "row", "ref", of = "row" },
    { "line", "ref", of = "walk_line", none = true },
    { "led", "number", max = 1 },
    { "objects", "number" }, { "bytes", "number" },
  } },
}

-- The names of a group's or a table's fields that are merged in that way.
local function merged(of, how)
  local names = {}
  for _, field in ipairs((groups[of] or tables[of]).fields) do
    if field.merge == how then names[#names+1] = field.name end
  end
  return names
end

for _, list in ipairs({ groups, tables }) do
  for _, t in ipairs(list) do
    list[t.name], t.by = t, {}
    for _, field in ipairs(t.fields) do
      field.name, field.type = field[1], field[2]
      t.by[field.name] = field
      field.min, field.max = field.min or 0, field.max or MAX
    end
  end
end

return { groups = groups, tables = tables, merged = merged, MAX = MAX }
