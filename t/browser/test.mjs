// SPDX-License-Identifier: MIT
// The HTML page in a browser: what it shows and does, by mouse and by
// keyboard. Prints TAP.
//
//   npm install          in a copy of this directory
//   LUA_PATH=.../lib/?.lua SCREENSHOTS=DIR node test.mjs [PART...]

import { access } from "./access.mjs";
import { run } from "./harness.mjs";
import { heap } from "./heap.mjs";
import { jit } from "./jit.mjs";
import { keys } from "./keys.mjs";
import { leaks } from "./leaks.mjs";
import { many } from "./many.mjs";
import { calls, frames, links, plain, saving, search } from "./more.mjs";
import { diff, hostile, less } from "./others.mjs";
import { page } from "./page.mjs";
import { pure } from "./pure.mjs";
import { report } from "./report.mjs";
import { columns, deep, phone, tablet } from "./sizes.mjs";
import { large, tables } from "./tables.mjs";
import { brush } from "./time.mjs";
import { usual } from "./usual.mjs";

const parts = [
  pure,
  usual,
  tables,
  large,
  report,
  brush,
  keys,
  heap,
  leaks,
  jit,
  frames,
  search,
  calls,
  links,
  saving,
  plain,
  hostile,
  diff,
  less,
  phone,
  tablet,
  columns,
  many,
  deep,
  access
];
// The last one measures, and runs if it is named.
const wanted = process.argv.slice(2);
await run(
  wanted.length
    ? [...parts, page].filter((part) => wanted.includes(part.name))
    : parts
);
