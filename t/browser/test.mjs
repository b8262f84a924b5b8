// The HTML page in a browser: what it shows and does, by mouse and by
// keyboard. Prints TAP.
//
//   npm install          in a copy of this directory
//   LUA_PATH=.../lib/?.lua SCREENSHOTS=DIR node test.mjs [PART...]

import { run } from "./harness.mjs";
import { keys } from "./keys.mjs";
import { diff, hostile, less } from "./others.mjs";
import { report } from "./report.mjs";
import { many, phone, tablet } from "./sizes.mjs";
import { brush } from "./time.mjs";
import { usual } from "./usual.mjs";

const parts = [usual, report, brush, keys, hostile, diff, less, phone, tablet, many];
const wanted = process.argv.slice(2);
await run(parts.filter((part) => !wanted.length || wanted.includes(part.name)));
