// Reads the tables of the standard and the samples of the build under test.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { standardDir } from "../lib/schemas.mjs";

/** Rows of one of the standard's tables as objects. */
export function readTable(name) {
  const [head, ...rows] = readFileSync(join(standardDir, name), "utf8").trimEnd().split("\n");
  const columns = head.split("\t");
  return rows.map((row) => Object.fromEntries(row.split("\t").map((cell, i) => [columns[i], cell])));
}

export function readFixture(name) {
  return JSON.parse(readFileSync(join(standardDir, "fixtures", name), "utf8"));
}

/** Runs sample-events of the build in AR_BIN; its lines as objects. */
export function samples(args = [], input = "") {
  const program = join(process.env.AR_BIN ?? "", "sample-events");
  if (!existsSync(program)) throw new Error(`${program} is not built; set AR_BIN to the bin folder of a build`);
  const out = execFileSync(program, args, { encoding: "utf8", input, maxBuffer: 64 << 20 });
  return out.trimEnd().split("\n").map((line) => JSON.parse(line));
}
