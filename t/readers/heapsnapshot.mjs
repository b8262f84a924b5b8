// SPDX-License-Identifier: MIT
// Reads a .heapsnapshot with the loader and the model of DevTools, which
// compute the retained sizes themselves: they must be ours.
//   node heapsnapshot.mjs DIRECTORY
// Prints lines of TAP without numbers.

import fs from 'node:fs'
import path from 'node:path'
import {createRequire} from 'node:module'
import {pathToFileURL} from 'node:url'
import {MessageChannel} from 'node:worker_threads'
import * as esbuild from 'esbuild'

const dir = process.argv[2]
const require = createRequire(import.meta.url)

function ok(good, name, why) {
  console.log(`${good ? 'ok' : 'not ok'} - DevTools: ${name}`)
  if (!good && why !== undefined) console.log(`# ${why}`)
}

// A list of languages, which DevTools' own build makes.
const locales = {
  name: 'locales',
  setup(build) {
    build.onResolve({filter: /locales\.js$/},
      () => ({path: 'locales', namespace: 'made'}))
    build.onLoad({filter: /.*/, namespace: 'made'}, () => ({contents: `
      export const LOCALES = ['en-US'], BUNDLED_LOCALES = ['en-US']
      export const DEFAULT_LOCALE = 'en-US'
      export const REMOTE_FETCH_PATTERN = '', LOCAL_FETCH_PATTERN = ''`}))
  }
}

// Functions that Chrome has and an older node lacks.
Promise.withResolvers ??= () => {
  const made = {}
  made.promise = new Promise((resolve, reject) =>
    Object.assign(made, {resolve, reject}))
  return made
}

// The package has the sources: what of them is needed is built here.
async function worker() {
  const sources = path.join(
    path.dirname(require.resolve('chrome-devtools-frontend/package.json')),
    'front_end/entrypoints/heap_snapshot_worker')
  const entry = `export * from './HeapSnapshot.js'
    export * from './HeapSnapshotLoader.js'`
  const file = path.resolve('heapsnapshot-model.mjs')
  await esbuild.build({stdin: {contents: entry, resolveDir: sources},
    bundle: true, format: 'esm', platform: 'node', outfile: file,
    logLevel: 'error', plugins: [locales]})
  return await import(pathToFileURL(file))
}

const {SecondaryInitManager, HeapSnapshotLoader} = await worker()

// Loads a file as the page's own code does.
async function load(file) {
  const loader = new HeapSnapshotLoader({sendEvent() {}})
  const {port1, port2} = new MessageChannel()
  new SecondaryInitManager(port2)
  const text = fs.readFileSync(file, 'utf8')
  for (let i = 0; i < text.length; i += 100000) {
    loader.write(text.slice(i, i + 100000))
  }
  loader.close()
  const snapshot = await loader.buildSnapshot(port1)
  port1.close()
  port2.close()
  return snapshot
}

// Nodes by name: their number, own and retained bytes.
function byName(snapshot) {
  const sums = new Map()
  for (let i = 0; i < snapshot.nodeCount; i++) {
    const node = snapshot.createNode(i * snapshot.nodeFieldCount)
    const sum = sums.get(node.name()) ?? {count: 0, self: 0, retained: []}
    sum.count++
    sum.self += node.selfSize()
    sum.retained.push(node.retainedSize())
    sums.set(node.name(), sum)
  }
  return sums
}

const want = JSON.parse(fs.readFileSync(path.join(dir, 'walk.expected.json')))
const snapshot = await load(path.join(dir, 'walk.heapsnapshot'))
const names = byName(snapshot)
ok(snapshot.totalSize === want.total, 'the total is what the collector counts',
  `${snapshot.totalSize}, not ${want.total}`)
const garbage = names.get('(held by nothing: not collected yet)')
ok(snapshot.totalSize - garbage.self - want.own === want.held,
  'objects are as large as ours')
for (const [name, bytes] of Object.entries(want.retained)) {
  const sum = names.get(name)
  ok(sum && sum.retained.includes(bytes), `${name} retains ${bytes} bytes`,
    sum && sum.retained.join(' '))
}
const strings = [...names.keys()].filter(name => name.includes('é'))
ok(strings.length === 1, 'texts that are UTF-8 are read')
process.exit(0)
