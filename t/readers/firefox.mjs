// SPDX-License-Identifier: MIT
// Reads profiles as the documentation of Firefox Profiler's processed format
// says: all columns of a table are as long as the table, what refers to another
// table is in it, and times do not go back.
//   node firefox.mjs DIRECTORY
// Prints lines of TAP without numbers.

import fs from 'node:fs'
import path from 'node:path'

const dir = process.argv[2]

function is(got, want, name) {
  console.log(`${got === want ? 'ok' : 'not ok'} - Firefox: ${name}`)
  if (got !== want) console.log(`# got ${got}, want ${want}`)
}

const TABLES = {
  frameTable: ['address', 'inlineDepth', 'category', 'subcategory', 'func',
    'nativeSymbol', 'innerWindowID', 'implementation', 'line', 'column'],
  funcTable: ['name', 'isJS', 'relevantForJS', 'resource', 'fileName',
    'lineNumber', 'columnNumber'],
  stackTable: ['prefix', 'frame', 'category', 'subcategory'],
  samples: ['stack', 'time', 'weight'],
  nativeAllocations: ['stack', 'time', 'weight'],
  markers: ['name', 'startTime', 'endTime', 'phase', 'category', 'data'],
  resourceTable: ['lib', 'name', 'host', 'type'],
  nativeSymbols: ['libIndex', 'address', 'name', 'functionSize']
}

// Columns that are missing or of another length.
function badColumns(thread) {
  return Object.entries(TABLES).flatMap(([table, columns]) => {
    const t = thread[table]
    if (!t && table === 'nativeAllocations') return []
    return columns.filter((c) => t[c]?.length !== t.length)
      .map((c) => `${table}.${c}`)
  })
}

const inside = (list, n) =>
  list.every((i) => Number.isInteger(i) && i >= 0 && i < n)
const known = (list) => list.filter((i) => i !== null)
const rising = (list) => list.every((t, i) => !i || t >= list[i - 1])
const sum = (list) => list.reduce((a, b) => a + b, 0)

function references(thread, categories, name) {
  const { frameTable, funcTable, stackTable, samples, markers } = thread
  const strings = thread.stringArray.length
  is(inside(samples.stack, stackTable.length), true, `${name}: stacks`)
  is(inside(stackTable.frame, frameTable.length), true, `${name}: frames`)
  is(inside(frameTable.func, funcTable.length), true, `${name}: functions`)
  is(stackTable.prefix.every((p, i) => p === null || p >= 0 && p < i), true,
    `${name}: a caller stands before what it calls`)
  is(inside([...funcTable.name, ...known(funcTable.fileName), ...markers.name],
    strings), true, `${name}: strings`)
  is(inside([...frameTable.category, ...stackTable.category,
    ...markers.category], categories), true, `${name}: categories`)
}

// Weights by the function at the top of their stacks.
function selves(thread, table) {
  const { frameTable, funcTable, stackTable, stringArray } = thread
  const by = new Map()
  table.stack.forEach((s, i) => {
    const func = frameTable.func[stackTable.frame[s]]
    const name = stringArray[funcTable.name[func]]
    by.set(name, (by.get(name) ?? 0) + table.weight[i])
  })
  return by
}

function amounts(thread, want, name) {
  const { samples, nativeAllocations: bytes } = thread
  is(sum(samples.weight), want.cpu.total, `${name}: CPU samples`)
  is(sum(bytes.weight), Math.round(want.alloc_bytes.total), `${name}: bytes`)
  for (const [table, field] of [[samples, 'cpu'], [bytes, 'alloc_bytes']]) {
    const by = selves(thread, table)
    const wrong = Object.entries(want[field].self).filter(([fn, [n, rows]]) =>
      Math.abs((by.get(fn) ?? 0) - n) > rows + 1)
    is(wrong.join(), '', `${name}: ${field} by function`)
    is(rising(table.time), true, `${name}: ${field} in order of time`)
  }
}

function overTime({ meta, counters, threads: [{ markers }] }, name) {
  const types = meta.markerSchema.map((s) => s.name)
  is(markers.data.every((d) => types.includes(d.type)), true,
    `${name}: each marker has its schema`)
  is(markers.endTime.every((t, i) => t >= markers.startTime[i]), true,
    `${name}: and an end`)
  for (const c of counters) {
    const { time, count, length } = c.samples
    is(`${time.length} ${count.length}`, `${length} ${length}`,
      `${name}: the track ${c.name}`)
    is(c.category === 'Memory' && rising(time) && sum(count) >= 0, true,
      `${name}: is one of memory`)
  }
}

for (const name of ['hand', 'lot', 'run']) {
  const read = (suffix) =>
    JSON.parse(fs.readFileSync(path.join(dir, name + suffix), 'utf8'))
  const got = read('.firefox.json'), [thread] = got.threads
  is(got.meta.preprocessedProfileVersion, 48, `${name}: version`)
  is(badColumns(thread).join(), '', `${name}: columns`)
  references(thread, got.meta.categories.length, name)
  amounts(thread, read('.expected.json'), name)
  overTime(got, name)
}
