// ci: release only
// ci: own stage
// A cluster of agentd nodes on a PostgreSQL pair, under 200 sessions at work, while everything that can fail does: see README.md
// beside this file. AR_CLUSTER_SECONDS (180) sets how long, AR_CLUSTER_SEED which faults when, AR_CLUSTER_SESSIONS how
// many clients, AR_CLUSTER_NODES how many nodes, AR_CLUSTER_EACH how often each kind comes, AR_CLUSTER_FAULTS which kinds (names with
// commas; all); AR_CLUSTER_KEEP keeps the folder of a run that passed.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { dice } from '../crash/world.mjs';
import { check } from './checker.mjs';
import { Faults, KINDS } from './faults.mjs';
import { readFinal } from './final.mjs';
import { whyNoNetwork } from './machines/netns.mjs';
import { report } from './report.mjs';
import { Schedule } from './schedule.mjs';
import { World } from './world.mjs';

const SECONDS = Number(process.env.AR_CLUSTER_SECONDS ?? 180);
const SEED = Number(process.env.AR_CLUSTER_SEED ?? 1);
const SESSIONS = Number(process.env.AR_CLUSTER_SESSIONS ?? 200);
const NODES = Number(process.env.AR_CLUSTER_NODES ?? 3);
const EACH = Number(process.env.AR_CLUSTER_EACH ?? Math.max(1, Math.floor(SECONDS / 90)));
const SETTLE_MS = 120000;
const SHOWN = 20; // violations that a failure names

const wanted = process.env.AR_CLUSTER_FAULTS?.split(',') ?? KINDS;
const kinds = wanted.filter((kind) => KINDS.includes(kind) && (NODES > 1 || kind !== 'cutBetween'));

execFileSync(join(dirname(fileURLToPath(import.meta.url)), 'clean'));
const skip = whyNoNetwork() ?? false;

async function torment(world) {
	const roll = dice(SEED);
	const faults = new Faults(world, roll);
	world.startLoad();
	if (kinds.length > 0) await new Schedule({ kinds, each: EACH, seconds: SECONDS, roll }).run((kind) => faults.do(kind));
	else await new Promise((done) => setTimeout(done, SECONDS * 1000));
	await world.pair.rebuilding;
	const isQuiet = await world.settle(SETTLE_MS);
	if (!isQuiet) world.history.problem(`not quiet ${SETTLE_MS} ms after the last fault: ${unquiet(world)}`);
}

function unquiet(world) {
	const late = world.actors.filter((actor) => !actor.isQuiet());
	return `${late.length} sessions wait, the first are ${late.slice(0, 5).map((a) => `${a.name} ${a.session} ${a.openTurns()}`).join('; ')}`;
}

test('nothing acknowledged is lost or doubled, whatever fails', { skip, timeout: (2 * SECONDS + 600) * 1000 }, async (t) => {
	const world = new World({ nodes: NODES, sessions: SESSIONS, seed: SEED });
	let violations = null;
	try {
		await world.start();
		for (const node of world.nodes) assert.ok(readFileSync(node.log, 'utf8').includes('PostgreSQL crosses the network without TLS'), `${node.name} warns`);
		await torment(world);
		const final = await readFinal(world);
		violations = check(world.history, final);
		for (const line of report(world, final, kinds)) t.diagnostic(line);
	} finally {
		await world.stop({ keep: violations?.length !== 0 || process.env.AR_CLUSTER_KEEP });
	}
	const shown = violations.slice(0, SHOWN).map(({ rule, session, text }) => `  rule ${rule}\n    ${session ?? ''} ${text}`);
	assert.equal(violations.length, 0, `seed ${SEED}: ${violations.length} violations; the history is ${world.history.path}\n${shown.join('\n')}`);
	for (const kind of kinds) assert.ok(world.history.faults.filter((f) => f.fault === kind).length >= EACH, `${kind} did not come ${EACH} times`);
});
