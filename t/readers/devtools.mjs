// SPDX-License-Identifier: MIT
// Reads .cpuprofile and .heapprofile by the protocol's definitions of them
// (Profiler.Profile, HeapProfiler.SamplingHeapProfile), and with the models
// that DevTools shows them from.
//   node devtools.mjs DIRECTORY
// Prints lines of TAP without numbers.

import fs from 'node:fs'
import path from 'node:path'
import {createRequire} from 'node:module'
import * as esbuild from 'esbuild'

const dir = process.argv[2]
const require = createRequire(import.meta.url)

function ok(good, name, why) {
  console.log(`${good ? 'ok' : 'not ok'} - DevTools: ${name}`)
  if (!good && why !== undefined) console.log(`# ${why}`)
}

const json = name => JSON.parse(fs.readFileSync(path.join(dir, name), 'utf8'))

// -- The protocol's types ---------------------------------------------------

const number = v => typeof v === 'number' && Number.isFinite(v)
const integer = v => Number.isSafeInteger(v)
const natural = v => integer(v) && v >= 0
const string = v => typeof v === 'string'
const list = of => v => Array.isArray(v) && v.every(of)

// Those fields and no others; a ? at the end of a name: it may be missing.
function object(fields) {
  const names = Object.keys(fields)
  const known = new Set(names.map(n => n.replace('?', '')))
  return v => v !== null && typeof v === 'object' && !Array.isArray(v) &&
    Object.keys(v).every(n => known.has(n)) &&
    names.every(n => n.endsWith('?') && v[n.slice(0, -1)] === undefined ||
      fields[n](v[n.replace('?', '')]))
}

const callFrame = object({functionName: string, scriptId: string, url: string,
  lineNumber: v => integer(v) && v >= -1,
  columnNumber: v => integer(v) && v >= -1})
const tick = object({line: v => natural(v) && v > 0, ticks: natural})
const profileNode = object({id: natural, callFrame, 'hitCount?': natural,
  'children?': list(natural), 'deoptReason?': string,
  'positionTicks?': list(tick)})
const cpuProfile = object({nodes: list(profileNode), startTime: number,
  endTime: number, 'samples?': list(natural), 'timeDeltas?': list(integer)})

const heapNode = object({callFrame, selfSize: natural, id: natural,
  children: v => Array.isArray(v) && v.every(heapNode)})
const heapSample = object({size: natural, nodeId: natural, ordinal: natural})
const heapProfile = object({head: heapNode, samples: list(heapSample)})

// -- DevTools' models -------------------------------------------------------

// The package has the sources: what of them is needed is built here.
async function models() {
  const entry = path.join(
    path.dirname(require.resolve('chrome-devtools-frontend/package.json')),
    'front_end/models/cpu_profile/cpu_profile.ts')
  const built = await esbuild.build({entryPoints: [entry], bundle: true,
    format: 'esm', platform: 'node', write: false, logLevel: 'error'})
  const text = Buffer.from(built.outputFiles[0].contents).toString('base64')
  return await import(`data:text/javascript;base64,${text}`)
}

const {CPUProfileDataModel, ProfileTreeModel} = await models()

// Self values of a model's functions by name, without its root.
function selves(model) {
  const sums = {}
  const todo = [...model.root.children]
  while (todo.length) {
    const node = todo.pop()
    sums[node.functionName] = (sums[node.functionName] || 0) + node.self
    todo.push(...node.children)
  }
  return sums
}

// The error in the sums, if there is one.
function wrong(got, want, factor, slack) {
  for (const [name, [n, rows]] of Object.entries(want.self)) {
    const g = got[name] || 0
    if (Math.abs(g - n * factor) > slack * rows) {
      return `${name}: ${g}, not ${n * factor}`
    }
  }
  for (const name of Object.keys(got)) {
    if (got[name] > slack && !want.self[name]) {
      return `${name} is not known: ${got[name]}`
    }
  }
  return ''
}

// -- .cpuprofile ------------------------------------------------------------

function checkCpu(name) {
  const file = `${name}.cpuprofile`
  const profile = json(file)
  const want = json(`${name}.expected.json`)
  const ids = new Set(profile.nodes.map(n => n.id))
  ok(cpuProfile(profile), `${file} is a Profiler.Profile`)
  ok(ids.size === profile.nodes.length, `${file}: no two nodes have one id`)
  const called = profile.nodes.flatMap(n => n.children || [])
  const callees = new Set(called)
  ok(called.every(id => ids.has(id)) && callees.size === called.length &&
    called.length === ids.size - 1 && !callees.has(profile.nodes[0].id),
    `${file}: all nodes but the first have one caller`)
  ok(profile.samples.every(id => ids.has(id)), `${file}: samples are of nodes`)
  ok(profile.samples.length === profile.timeDeltas.length,
    `${file}: as many times as samples`)
  ok(profile.startTime > 0 && profile.endTime > profile.startTime,
    `${file}: it starts before it ends`)
  checkCpuModel(file, profile, want)
}

// The numbers that DevTools' model makes of a .cpuprofile.
function checkCpuModel(file, profile, want) {
  const deltas = profile.timeDeltas.slice()
  const model = new CPUProfileDataModel.CPUProfileDataModel(profile)
  const ms = want.seconds * 1000
  ok(model.totalHitCount === want.cpu.total, `${file}: number of samples`,
    `${model.totalHitCount}, not ${want.cpu.total}`)
  ok(Math.abs(model.total - ms) < 0.01, `${file}: total`,
    `${model.total}, not ${ms}`)
  let why = wrong(selves(model), want.cpu, ms / want.cpu.total, 0.01)
  ok(why === '', `${file}: functions`, why)

  // The flame chart: by time, from the samples.
  const times = {}
  let depth = 0
  model.forEachFrame(d => { depth = Math.max(depth, d) },
    (d, node, i, start, duration, self) => {
      times[node.functionName] = (times[node.functionName] || 0) + self
    })
  why = wrong(times, want.cpu, ms / want.cpu.total,
    Math.max(...deltas) / 1000 / 2)
  ok(why === '', `${file}: functions in the flame chart`, why)
  ok(depth + 1 === model.maxDepth, `${file}: depth of the flame chart`,
    `${depth + 1}, not ${model.maxDepth}`)
}

// -- .heapprofile -----------------------------------------------------------

// The model of the heap view is part of its page, but is one of these.
function heapModel(profile) {
  const node = source => {
    const n = new ProfileTreeModel.ProfileNode(source.callFrame)
    n.self = source.selfSize
    return n
  }
  const model = new ProfileTreeModel.ProfileTreeModel()
  const root = node(profile.head)
  const todo = [[profile.head, root]]
  while (todo.length) {
    const [source, target] = todo.pop()
    target.children = source.children.map(node)
    source.children.forEach((s, i) => todo.push([s, target.children[i]]))
  }
  model.initialize(root)
  return model
}

function checkHeap(name, file, field) {
  const profile = json(file)
  const want = json(`${name}.expected.json`)[field]
  ok(heapProfile(profile), `${file} is a SamplingHeapProfile`)
  const sizes = new Map()
  const todo = [profile.head]
  let nodes = 0
  while (todo.length) {
    const node = todo.pop()
    nodes++
    sizes.set(node.id, node.selfSize)
    todo.push(...node.children)
  }
  ok(sizes.size === nodes, `${file}: no two nodes have one id`)
  let last = 0, ordered = true
  for (const s of profile.samples) {
    ordered = ordered && s.ordinal > last
    last = s.ordinal
    sizes.set(s.nodeId, sizes.get(s.nodeId) - s.size)
  }
  ok(ordered, `${file}: samples are in order`)
  ok([...sizes.values()].every(n => n === 0),
    `${file}: samples are the sizes of the nodes`)
  const model = heapModel(profile)
  ok(model.total === Math.round(want.total), `${file}: total`,
    `${model.total}, not ${want.total}`)
  const why = wrong(selves(model), want, 1, 1)
  ok(why === '', `${file}: functions`, why)
}

for (const name of ['hand', 'lot', 'run']) {
  checkCpu(name)
  checkHeap(name, `${name}.heapprofile`, 'inuse_bytes')
  checkHeap(name, `${name}.alloc.heapprofile`, 'alloc_bytes')
}
