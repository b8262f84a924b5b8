// SPDX-License-Identifier: MIT
// Reads profiles with speedscope's own importer, and its files with the schema
// that it comes with.
//   node speedscope.mjs DIRECTORY
// Prints lines of TAP without numbers.

import fs from 'node:fs'
import path from 'node:path'
import vm from 'node:vm'
import {createRequire} from 'node:module'
import Ajv from 'ajv'

const dir = process.argv[2]
const require = createRequire(import.meta.url)
const release = path.join(
  path.dirname(require.resolve('speedscope/package.json')), 'dist/release')

function ok(good, name, why) {
  console.log(`${good ? 'ok' : 'not ok'} - speedscope: ${name}`)
  if (!good && why !== undefined) console.log(`# ${why}`)
}

function is(got, want, name) {
  ok(got === want, name, `got ${got}, want ${want}`)
}

// -- The importer -----------------------------------------------------------

// speedscope is published as one script for a browser's page. It is run up to
// where it begins to draw, and what it would then call to read a file is
// handed out. What it looks at before that is there, and does nothing.
async function importer() {
  const bundle = fs.readdirSync(release)
    .find(f => /^speedscope-.*\.js$/.test(f))
  const text = fs.readFileSync(path.join(release, bundle), 'utf8')
  const module = /await (\w+)\)\.importProfilesFromArrayBuffer/.exec(text)
  const draws = text.lastIndexOf('console.log(`speedscope v')
  if (!module || draws < 0) throw new Error('another speedscope than expected')
  const element = () => ({style: {}, appendChild() {}, setAttribute() {}})
  const quiet = {log() {}, warn() {}, assert() {}, error: console.error}
  const window = {
    location: {hash: '', search: '', href: 'file:///', protocol: 'file:'},
    addEventListener() {}, removeEventListener() {}, devicePixelRatio: 1,
    matchMedia: () => ({addListener() {}, matches: false})
  }
  const context = vm.createContext({
    window, location: window.location, navigator: {userAgent: ''},
    document: {createElement: element, head: element(), body: element(),
      addEventListener() {}, querySelector() {}},
    console: quiet, setTimeout, clearTimeout, TextDecoder, TextEncoder,
    URL, atob, requestAnimationFrame() {}, performance
  })
  context.self = context
  vm.runInContext(
    `${text.slice(0, draws)};globalThis.importer = ${module[1]}})()`, context)
  return await context.importer
}

const speedscope = await importer()

async function read(name) {
  const data = fs.readFileSync(path.join(dir, name))
  const group = await speedscope.importProfilesFromArrayBuffer(name,
    data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength))
  if (!group) throw new Error(`${name}: speedscope does not know what it is`)
  return group
}

// -- What it found ----------------------------------------------------------

const near = (a, b, slack) => Math.abs(a - b) <= slack

// Weights of a profile's frames by name.
function selves(profile) {
  const sums = {}
  profile.forEachFrame(f => {
    sums[f.name] = (sums[f.name] || 0) + f.getSelfWeight()
  })
  return sums
}

// The error in a profile's functions, if there is one. A sum may be off by
// `slack' for each of its rows.
function wrong(profile, want, factor, slack) {
  const got = selves(profile)
  for (const [name, [n, rows]] of Object.entries(want.self)) {
    const g = got[name] || 0
    if (!near(g, n * factor, slack * rows)) {
      return `${name}: ${g}, not ${n * factor}`
    }
  }
  for (const name of Object.keys(got)) {
    if (got[name] > 0 && !want.self[name]) return `${name} is not known`
  }
  return ''
}

const json = name => JSON.parse(fs.readFileSync(path.join(dir, name), 'utf8'))
const validate = new Ajv({strict: false}).compile(
  JSON.parse(fs.readFileSync(path.join(release, 'file-format-schema.json'))))

// [fields in the order of the profiles, unit of the first one]
async function speedscopeFile(name, file, fields) {
  const valid = validate(json(file))
  ok(valid, `${file} holds to the schema`, JSON.stringify(validate.errors))
  const want = json(`${name}.expected.json`)
  const group = await read(file)
  is(group.profiles.length, fields.length, `${file}: number of profiles`)
  fields.forEach((field, i) => {
    const profile = group.profiles[i]
    const cpu = field === 'cpu'
    const factor = cpu ? want.seconds * 1000 / want.cpu.total : 1
    const total = want[field].total * factor
    const unit = cpu ? 'milliseconds' : /bytes$/.test(field) ? 'bytes' : 'none'
    is(profile.getWeightUnit(), unit, `${file}: unit of ${field}`)
    for (const [what, n] of [['total', profile.getTotalWeight()],
      ['sum of samples', profile.getTotalNonIdleWeight()]]) {
      ok(near(n, total, cpu ? 0.001 : 0.5), `${file}: ${what} of ${field}`,
        `${n}, not ${total}`)
    }
    const why = wrong(profile, want[field], factor, cpu ? 0.001 : 1)
    ok(why === '', `${file}: functions in ${field}`, why)
  })
}

// For speedscope a sample of a .cpuprofile lasts until the next one: it has no
// time for the last one.
async function cpuprofile(name) {
  const file = `${name}.cpuprofile`
  const want = json(`${name}.expected.json`)
  const group = await read(file)
  const tick = want.seconds * 1e6 / want.cpu.total
  const {nodes, samples} = json(file)
  const last = nodes.find(n => n.id === samples.at(-1))
  want.cpu.self[last.callFrame.functionName][0] -= 1
  const n = group.profiles[0].getTotalNonIdleWeight()
  const total = want.seconds * 1e6 - tick
  ok(near(n, total, 1), `${file}: total`, `${n}, not ${total}`)
  const why = wrong(group.profiles[0], want.cpu, tick, 1)
  ok(why === '', `${file}: functions`, why)
}

async function heapprofile(name, file, field) {
  const want = json(`${name}.expected.json`)
  const group = await read(file)
  is(group.profiles[0].getTotalWeight(), Math.round(want[field].total),
    `${file}: total`)
  const why = wrong(group.profiles[0], want[field], 1, 1)
  ok(why === '', `${file}: functions`, why)
}

// speedscope takes the type that pprof would show at first.
async function pprof(name, kind, field) {
  const file = `${name}.${kind}.pb.gz`
  const want = json(`${name}.expected.json`)
  const group = await read(file)
  const factor = field === 'cpu' ? want.seconds * 1e9 / want.cpu.total : 1
  is(group.profiles[0].getTotalWeight(), Math.round(want[field].total * factor),
    `${file}: total`)
}

const bytes = ['cpu', 'alloc_bytes', 'inuse_bytes']
for (const name of ['hand', 'lot', 'run']) {
  await speedscopeFile(name, `${name}.speedscope.json`,
    name === 'hand' ? [...bytes, 'peak_bytes'] : bytes)
  await speedscopeFile(name, `${name}.objects.speedscope.json`,
    ['alloc_objects', 'inuse_objects'])
  await cpuprofile(name)
  await heapprofile(name, `${name}.heapprofile`, 'inuse_bytes')
  await heapprofile(name, `${name}.alloc.heapprofile`, 'alloc_bytes')
  await pprof(name, 'cpu', 'cpu')
  await pprof(name, 'heap', 'inuse_bytes')
  await pprof(name, 'all', 'cpu')
}
