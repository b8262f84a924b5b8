// SPDX-License-Identifier: MIT
// Reads profiles with the viewer of valgrind's DHAT.
//   node dhat.mjs DIRECTORY
// Prints lines of TAP without numbers.

import fs from 'node:fs'
import path from 'node:path'
import vm from 'node:vm'

const dir = process.argv[2]
const viewer = process.env.DH_VIEW ?? '/usr/libexec/valgrind/dh_view.js'

function is(got, want, name) {
  console.log(`${got === want ? 'ok' : 'not ok'} - DHAT: ${name}`)
  if (got !== want) console.log(`# got ${got}, want ${want}`)
}

// The viewer is one script for a browser's page. What it looks at of the page
// while it builds its tree is there, and does nothing.
function build(text) {
  const select = { childNodes: Object.assign([], { entries: () => [] }),
    selectedIndex: 0 }
  select.childNodes.push({ disabled: false })
  const context = vm.createContext({ document: {}, window: {}, console, select,
    text })
  vm.runInContext(fs.readFileSync(viewer, 'utf8'), context)
  return vm.runInContext(`gSelect = select; gData = JSON.parse(text);
    gSelectData.length = 0; buildTree();
    ({ total: gRoot._totalBytes, blocks: gRoot._totalBlocks,
      peak: gRoot._atTGmaxBytes, end: gRoot._atTEndBytes,
      below: gRoot._kids.length })`, context)
}

for (const name of ['hand', 'lot', 'run']) {
  const base = path.join(dir, name)
  const want = JSON.parse(fs.readFileSync(base + '.expected.json', 'utf8'))
  const got = build(fs.readFileSync(base + '.dhat.json', 'utf8'))
  is(got.total, Math.round(want.alloc_bytes.total), `${name}: bytes`)
  is(got.blocks, Math.round(want.alloc_objects.total), `${name}: blocks`)
  is(got.peak, Math.round(want.peak_bytes?.total ?? 0), `${name}: at the peak`)
  is(got.end, Math.round(want.inuse_bytes.total), `${name}: at the end`)
  is(got.below > 0, true, `${name}: there is a tree`)
}
