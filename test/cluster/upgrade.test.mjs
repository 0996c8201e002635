// ci: release only
// An upgrade of three nodes with clients at work: the schema is migrated, old nodes go on and are started again in the middle, and one after the other
// is replaced. Nothing that was acknowledged is lost; the checker is that of the cluster test. Here the newer version is a schema that says that the
// one before can work on it. With AR_UPGRADE_FROM (a folder with an older agentd) the nodes begin with that, and this build migrates;
// AR_UPGRADE_RESTART=refused says that the older one knows too little to be started again.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, waitFor } from '../lib/runtime.mjs';
import { check } from './checker.mjs';
import { readFinal } from './final.mjs';
import { whyNoNetwork } from './machines/netns.mjs';
import { World } from './world.mjs';

const FROM = process.env.AR_UPGRADE_FROM;
const REFUSED = process.env.AR_UPGRADE_RESTART === 'refused';
const SESSIONS = 20;
const TURNS = Number(process.env.AR_UPGRADE_TURNS ?? 6); // that are accepted between two steps
const WAIT_MS = 120000;

const current = join(bin, 'agentd');
const skip = whyNoNetwork() ?? false;
const turns = (world) => world.actors.reduce((n, actor) => n + actor.turns.length, 0);

/** Until so many more turns were accepted. */
async function accept(world) {
	const goal = turns(world) + TURNS;
	await waitFor(() => turns(world) >= goal, () => `${goal} turns, ${turns(world)} were accepted`, WAIT_MS);
}

const versions = async ({ pair }) => Number((await pair.primary.sql('SELECT max(version) FROM migration'))[0][0]);

async function migrate(world) {
	const { pair, nodes, network } = world;
	const before = await versions(world);
	if (FROM) {
		const [command, ...args] = [...network.on(nodes[0].name), current, 'migrate', '--config', nodes[0].config];
		execFileSync(command, args, { stdio: 'pipe' });
	} else {
		await pair.primary.sql(`BEGIN; ALTER TABLE session ADD COLUMN added_later int; INSERT INTO migration (version, application) VALUES (${before + 1}, 'agentruntime');
			INSERT INTO meta (key, value) VALUES ('least_version', '${before}') ON CONFLICT (key) DO UPDATE SET value = excluded.value; COMMIT`);
	}
	assert.ok(await versions(world) > before, 'the schema is a newer one');
}

/** An old node is started again: it works, or it is one that cannot and says so in one sentence. */
async function restartOld(node, signal) {
	await node.end(signal);
	await node.start();
	assert.equal(node.isReady, !REFUSED, readFileSync(node.log, 'utf8').split('\n').slice(-3).join('\n'));
	if (REFUSED) assert.match(readFileSync(node.log, 'utf8').trim().split('\n').at(-1), /has schema version \d+, this program knows up to \d+: run the newer version that wrote it/);
	else node.isWanted = true;
}

async function replace(node) {
	await node.terminate();
	node.program = current;
	await node.up();
}

async function upgrade(world) {
	const [first, second, third] = world.nodes;
	world.startLoad();
	await accept(world);
	await migrate(world);
	await accept(world);
	await restartOld(first, 'SIGKILL');
	await accept(world);
	await replace(first);
	await accept(world);
	await restartOld(second, 'SIGTERM');
	await accept(world);
	await replace(second);
	await replace(third);
	await accept(world);
}

test('nodes are replaced one by one, old ones are started again in the middle, and nothing acknowledged is lost', { skip, timeout: 900000 }, async (t) => {
	const world = new World({ nodes: 3, sessions: SESSIONS, seed: 1, program: FROM && join(FROM, 'agentd') });
	let violations;
	try {
		await world.start();
		await upgrade(world);
		if (!(await world.settle(WAIT_MS))) world.history.problem('it does not get quiet');
		const final = await readFinal(world);
		violations = check(world.history, final);
		const facts = [...final.logs.values()].reduce((n, log) => n + log.length, 0);
		t.diagnostic(`schema ${await versions(world)}; ${turns(world)} turns, ${facts} facts in ${final.logs.size} logs, ${violations.length} violations`);
	} finally {
		await world.stop({ keep: violations?.length !== 0 });
	}
	assert.deepEqual(violations.slice(0, 10), [], `the history is ${world.history.path}`);
});
