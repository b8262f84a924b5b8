// SPDX-License-Identifier: MIT
// Reads profiles with Firefox Profiler's own importers, those of its command
// line: a daemon that loads one file, and commands that ask it.
//   node profiler-cli.mjs DIRECTORY
// Prints lines of TAP without numbers.

import fs from 'node:fs'
import path from 'node:path'
import {spawn, spawnSync} from 'node:child_process'
import {createRequire} from 'node:module'

const dir = process.argv[2]
const cli = createRequire(import.meta.url)
  .resolve('@firefox-devtools/profiler-cli/dist/profiler-cli.js')
// Sockets are made there: a path of at most 108 bytes.
const sessions = fs.mkdtempSync('/tmp/mp-firefox-')
const env = {...process.env, PROFILER_CLI_SESSION_DIR: sessions}
const PATIENCE = 120 // Seconds until a file must be loaded.

function is(got, want, name) {
  console.log(`${got === want ? 'ok' : 'not ok'} - Firefox Profiler: ${name}`)
  if (got !== want) console.log(`# got ${got}, want ${want}`)
}

// -- The daemon -------------------------------------------------------------

// The answer to a command, or null where it fails.
function ask(session, ...words) {
  const {status, stdout} = spawnSync(process.execPath,
    [cli, ...words, '--json', '--session', session], {env, encoding: 'utf8'})
  return status === 0 ? JSON.parse(stdout) : null
}

const rest = (ms) => new Promise((done) => setTimeout(done, ms))

// A command that comes before the daemon has written its name down would take
// it for a dead one.
async function loaded(session, daemon) {
  const listed = path.join(sessions, session + '.json')
  for (let i = 0; i < PATIENCE * 5 && daemon.exitCode === null; i++) {
    const answer = fs.existsSync(listed) && ask(session, 'profile', 'info')
    if (answer) return answer
    await rest(200)
  }
  return null
}

let last = 0

// Loads a file; act is called with a function that asks about it.
async function load(name, act) {
  const session = 's' + ++last
  const daemon = spawn(process.execPath, [cli, '--daemon',
    path.join(dir, name), '--session', session], {env, stdio: 'ignore'})
  try {
    const info = await loaded(session, daemon)
    is(info !== null, true, `loads ${name}`)
    if (info) act((...words) => ask(session, ...words), info)
  } finally {
    daemon.kill()
  }
}

// -- Its answers ------------------------------------------------------------

// Functions' own amounts by name, as the source of data has them.
function selves(query, ...words) {
  const by = new Map()
  const {functions} = query('thread', 'functions', '--include-idle', ...words)
  for (const {name, selfSamples} of functions) {
    by.set(name, (by.get(name) ?? 0) + selfSamples)
  }
  return by
}

// The amounts are those wanted, but for what is rounded in each row.
function compare(by, {self, total}, name, spelled = (fn) => fn) {
  const wrong = Object.entries(self).filter(([fn, [n, rows]]) =>
    Math.abs((by.get(spelled(fn)) ?? 0) - n) > rows + 1)
  is(wrong.join('; '), '', `${name} by function`)
  const sum = [...by.values()].reduce((a, b) => a + b, 0)
  is(Math.round(sum), Math.round(total), `${name} in all`)
}

const expected = (name) =>
  JSON.parse(fs.readFileSync(path.join(dir, name + '.expected.json'), 'utf8'))

async function processed(name, want) {
  await load(name + '.firefox.json', (query) => {
    compare(selves(query), want.cpu, `${name}: CPU samples`)
    query('strategy', 'native-allocations')
    compare(selves(query), want.alloc_bytes, `${name}: allocated bytes`)
    if (name !== 'run') return
    const {counters} = query('counter', 'list')
    is(counters.map((c) => c.name).join(), 'Lua heap,RSS', 'memory tracks')
    // A run of few collections may have had none between two points in time.
    const {threads: [{markers, stringArray}]} = JSON.parse(
      fs.readFileSync(path.join(dir, name + '.firefox.json'), 'utf8'))
    const written = [...new Set(markers.name.map((n) => stringArray[n]))]
    const {byType} = query('thread', 'markers')
    is(byType.map((m) => m.markerName).join(), written.join(), 'markers')
  })
}

async function dhat(name, want) {
  await load(name + '.dhat.json', (query, {processes: [{threads}]}) => {
    for (const [thread, field] of Object.entries({'Total Bytes': 'alloc_bytes',
      'Bytes at Global Max': 'peak_bytes', 'Bytes at End': 'inuse_bytes'})) {
      const {threadHandle} = threads.find((t) => t.name === thread)
      if (!want[field]) continue
      compare(selves(query, '--thread', threadHandle), want[field],
        `${name}: ${thread}`)
    }
  })
}

for (const name of ['hand', 'lot', 'run']) {
  const want = expected(name)
  await processed(name, want)
  await dhat(name, want)
  await load(name + '.folded', (query) => compare(selves(query), want.cpu,
    `${name}: folded samples`, (fn) => fn.replaceAll(';', ',')))
  // Of samples that are closer than half a millisecond it takes some only.
  if (name === 'lot') continue
  await load(name + '.cpuprofile', (query) => compare(selves(query), want.cpu,
    `${name}: .cpuprofile`))
}
fs.rmSync(sessions, {recursive: true})
