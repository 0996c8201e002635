// The acceptance scenarios of test/loop/scenarios: each undisturbed, with a kill -9 at every fault point that it comes by, and on PostgreSQL
// with another node that takes over in the middle; over HTTP, and in process (test/tools/embed.c). What must hold at the end is the same in
// all of them.
// ci: release only
// ci: first
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { dirname, resolve } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { holds } from './scenarios/holds.mjs';
import { play, playTakeover } from './scenarios/runner.mjs';
import { stopServices } from './scenarios/service.mjs';
import commands from './scenarios/commands.mjs';
import context from './scenarios/context.mjs';
import gates from './scenarios/gates.mjs';
import routes from './scenarios/routes.mjs';
import agents from './scenarios/agents.mjs';
import turns from './scenarios/turns.mjs';

const src = resolve(dirname(fileURLToPath(import.meta.url)), '../../src');
const isPostgres = Boolean(process.env.AR_TEST_POSTGRES);
const SIDE_BY_SIDE = Number(process.env.AR_PLAYS ?? 3);
const PASSINGS = Number(process.env.AR_PASSINGS ?? 1); // of a point, that are each a kill
const KIND = {
	'engine.before_tool': 'tools', 'engine.tool_end': 'tools', 'engine.before_hook': 'hooks', 'engine.hook_end': 'hooks',
	'engine.before_checkpoint': 'checkpoints', 'engine.checkpoint_end': 'checkpoints',
	'engine.process_ready': 'processes', 'engine.before_go': 'processes', 'engine.process_end': 'processes',
};
const wanted = new RegExp(process.env.AR_SCENARIO ?? '');
const scenarios = [...turns, ...commands, ...gates, ...context, ...routes, ...agents].filter((s) => wanted.test(s.name));

const other = isPostgres ? 'store_sqlite' : 'store_postgres';
const grepped = execFileSync('grep', ['-rhoE', `--exclude-dir=${other}`, 'AR_FAULT(_ERROR)?\\("[^"]*"', src], { encoding: 'utf8' });
const all = [...new Set([...grepped.matchAll(/"([^"]+)"/g)].map(([, name]) => name))];
const some = new RegExp(process.env.AR_POINTS ?? '');
const POINTS = all.filter((name) => some.test(name));
const met = new Map(POINTS.map((name) => [name, 0]));

after(stopServices);

async function whole(playing) {
	const p = await playing;
	try {
		await holds(p);
	} finally {
		await p.end();
	}
	return p;
}

/** The kills of a scenario: each point at its first passing, those of calls at the later ones too; a start is cut in the middle of its work. */
function disturbances(scenario) {
	const several = (name) => Math.max(PASSINGS, KIND[name] === 'tools' ? Object.keys(scenario.tools).length : 1);
	const list = POINTS.filter((name) => name !== 'engine.recover' && (!KIND[name] || scenario[KIND[name]]))
		.flatMap((name) => Array.from({ length: several(name) }, (_, i) => [i ? `${name}:${i + 1}` : name]));
	return POINTS.includes('engine.recover') ? [...list, ['engine.after_reply', 'engine.recover']] : list;
}

async function killed(scenario, points) {
	const p = await whole(play(scenario, points)).catch((error) => {
		error.message = `killed at ${points.join(', then ')}: ${error.message}`;
		throw error;
	});
	for (const point of p.kills.filter(Boolean)) met.set(point.split(':')[0], (met.get(point.split(':')[0]) ?? 0) + 1);
	return p.kills.length;
}

for (const scenario of scenarios) {
	test(`${scenario.name}: undisturbed`, async () => {
		const p = await whole(play(scenario));
		assert.deepEqual(p.kills, []);
	});

	test(`${scenario.name}: in process, without a transport; undisturbed, then killed after an answer`, async () => {
		const p = await whole(play(scenario, [], { isEmbedded: true }));
		assert.deepEqual(p.kills, []);
		if (isPostgres) return; // each restart waits for the lease of the node before; kills there are played over HTTP
		const q = await whole(play(scenario, ['engine.after_reply'], { isEmbedded: true }));
		assert.deepEqual(q.kills, ['engine.after_reply']);
	});

	test(`${scenario.name}: kill -9 at every point on its way`, async (t) => {
		const waiting = disturbances(scenario);
		const errors = [];
		let kills = 0;
		const worker = async () => {
			while (waiting.length > 0) {
				const count = await killed(scenario, waiting.shift()).catch((error) => (errors.push(error), 0));
				kills += count;
			}
		};
		await Promise.all(Array.from({ length: SIDE_BY_SIDE }, worker));
		t.diagnostic(`${kills} kills`);
		assert.deepEqual(errors.map((e) => e.message), []);
		assert.ok(kills > 0 || process.env.AR_POINTS, 'nothing was killed');
	});

	test(`${scenario.name}: another node takes over`, { skip: (!isPostgres && 'a cluster needs PostgreSQL') || !scenario.takeover }, async () => {
		const p = await whole(playTakeover(scenario));
		assert.deepEqual(p.kills, ['takeover']);
	});
}

test('every fault point of the source was a kill in some scenario', { skip: (process.env.AR_SCENARIO || process.env.AR_POINTS) && 'not all were played' }, () => {
	assert.deepEqual([...met].filter(([, count]) => count === 0).map(([name]) => name), []);
});
