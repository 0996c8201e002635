// Real workers, links, processes and a real daemon, while links are cut, workers are killed and stopped, and the daemon is killed. Nothing runs twice, every call and turn ends
// once, and the output that a command's result has is exact. AR_SOAK=1: 20 minutes, three workers, sixty sessions; AR_SOAK=MS: that long. AR_SEED=N repeats the order of faults.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ok, readLog, sleep, waitFor, world } from '../lib/runtime.mjs';
import { factsOf, must } from '../tenant/tenants.mjs';
import { again, privateFolder, startRelay, startWorker, stateOf } from './worker.mjs';

const soak = process.env.AR_SOAK ? Math.max(Number(process.env.AR_SOAK), 2) : 0;
const LASTS = soak > 1000 ? soak : soak ? 20 * 60000 : 9000;
const [WORKERS, SESSIONS, KILLS_MS] = soak ? [3, 60, 45000] : [2, 6, 4000];
const LINES = 25;
const seed = Number(process.env.AR_SEED ?? Math.floor(Math.random() * 2 ** 31));
let state = seed || 1;

function dice(n) {
	state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
	return (state >>> 8) % n;
}

const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const command = (token) => `for i in $(seq 1 ${LINES}); do echo ${token}:$i; sleep 0.0${1 + dice(9)}; done; echo ${token} >> ran.log`;
const ENDS = { 'tool.started': /^tool\.(result|failed|cancelled)$/, 'process.started': /^process\.(completed|failed|terminated|timed_out)$/, 'turn.submitted': /^turn\.(completed|failed|cancelled|interrupted)$/ };

/** Every begin has one end, by the id that both have. */
function checkPairs(facts, kind, id) {
	for (const began of facts.filter((f) => f.type === kind)) {
		const ends = facts.filter((f) => ENDS[kind].test(f.type) && f[id] === began[id]);
		assert.equal(ends.length, 1, `${kind} ${began[id]} has ${ends.length} ends: ${JSON.stringify(ends)}`);
	}
}

function resultOf(w, turnId) {
	return JSON.stringify(w.model.log(turnId).at(-1)?.body.messages.filter((m) => m.role === 'tool') ?? []);
}

/** What a turn left behind, against what its log and its model were given. */
function checkTurn(w, turn, facts) {
	const ran = existsSync(join(turn.root, 'ran.log')) ? readFileSync(join(turn.root, 'ran.log'), 'utf8').split('\n').filter((line) => line === turn.token).length : 0;
	const text = resultOf(w, turn.turnId);
	const numbers = [...text.matchAll(new RegExp(`${turn.token}:(\\d+)`, 'g'))].map((m) => Number(m[1]));
	const exited = facts.filter((f) => f.type === 'process.completed' && f.turnId === turn.turnId && f.payload.exitCode === 0);
	assert.ok(ran <= 1, `${turn.token} ran ${ran} times`);
	assert.ok(exited.length <= 1, `${turn.token} has ${exited.length} good ends`);
	if (exited.length === 1) {
		assert.equal(ran, 1, `${turn.token} ended well and did not run`);
		assert.deepEqual(numbers, Array.from({ length: LINES }, (_, i) => i + 1), `${turn.token}: ${text}`);
	}
	return { ran, isWhole: exited.length === 1 };
}

test(`faults of workers, links and the daemon (AR_SEED=${seed})`, { timeout: LASTS + 300000 }, async () => {
	const w = await world({ config: { 'permission.mode': 'bypass', 'workspaces.dir': privateFolder(), 'workers.heartbeat_ms': 200, 'workers.lease_ms': 2000 } });
	const places = [];
	for (let i = 0; i < WORKERS; i++) {
		const relay = await startRelay(w.rt.port);
		const worker = await startWorker(w.rt, { name: `box ${i}`, url: relay.url });
		places.push({ relay, worker });
	}
	const turns = [];
	const until = Date.now() + LASTS;
	let isDown = false; // the daemon is

	/** What the daemon answers, also when it is killed meanwhile: the same key, so that nothing is submitted twice. */
	async function persist(step) {
		for (;;) {
			while (isDown) await sleep(20);
			try {
				return await step();
			} catch (error) {
				if (!isDown && !/ECONN|EPIPE|socket hang up|: 503 /.test(`${error.code} ${error.message}`)) throw error;
				await sleep(50);
			}
		}
	}

	let newest; // facts of a turn that does not end
	const endOf = async ({ sessionId, turnId }) => {
		const facts = await factsOf(w.rt, undefined, sessionId);
		newest = facts.slice(-6).map((f) => [f.type, f.payload]);
		return facts.find((f) => f.turnId === turnId && ENDS['turn.submitted'].test(f.type));
	};

	async function client(n) {
		const place = places[n % WORKERS];
		const { workspace } = await persist(() => ok(w.rt, 'create_workspace', { name: `space ${n}`, worker: place.worker.workerId }));
		let sessionId;
		for (let i = 0; Date.now() < until; i++) {
			const token = `t${n}n${i}x`;
			const text = dice(4) ? call('shell', { command: command(token) }) : call('write_file', { path: `${token}.txt`, content: token });
			const turn = await persist(() => must(w.rt, undefined, 'submit_turn', { ...(sessionId ? { sessionId } : { createPolicy: { workspaceId: workspace.workspaceId } }), text, idempotencyKey: `${seed}-${token}` }));
			({ sessionId } = turn);
			turns.push({ ...turn, token, root: workspace.root });
			await persist(() => waitFor(() => endOf(turn), () => `the end of ${token}, after ${JSON.stringify(newest)}`, 90000));
		}
	}

	async function fault(place) {
		const what = dice(10);
		if (what < 4) {
			place.relay.cut();
		} else if (what < 6) {
			place.relay.cut(true);
			await sleep(200 + dice(3500)); // longer than its lease, sometimes
			place.relay.cut();
		} else if (what < 8) {
			await place.worker.end('SIGKILL');
			await sleep(dice(600));
			place.worker = await again(place.worker, place.relay.url);
		} else {
			place.worker.child.kill('SIGSTOP');
			await sleep(200 + dice(3500));
			place.worker.child.kill('SIGCONT');
		}
	}

	async function breakPlace(place) {
		while (Date.now() < until) {
			await sleep(150 + dice(900));
			if (!isDown) await fault(place);
		}
	}

	async function breakDaemon() {
		while (Date.now() < until - KILLS_MS / 2) {
			await sleep(KILLS_MS / 2 + dice(KILLS_MS));
			isDown = true;
			await w.rt.kill9();
			w.rt = await w.again();
			for (const { relay } of places) relay.port = w.rt.port;
			isDown = false;
		}
	}

	const clients = Array.from({ length: SESSIONS }, (_, n) => client(n));
	await Promise.all([...places.map(breakPlace), breakDaemon()]);
	await Promise.all(places.map(({ worker }) => stateOf(w.rt, worker.workerId, 'connected')));
	await Promise.all(clients);

	const seen = { turns: turns.length, ran: 0, whole: 0 };
	for (const sessionId of new Set(turns.map((t) => t.sessionId))) {
		const facts = (await readLog(w.rt, sessionId)).map(({ event }) => event);
		checkPairs(facts, 'tool.started', 'toolCallId');
		checkPairs(facts, 'process.started', 'processId');
		checkPairs(facts, 'turn.submitted', 'turnId');
		for (const turn of turns.filter((t) => t.sessionId === sessionId)) {
			const { ran, isWhole } = checkTurn(w, turn, facts);
			seen.ran += ran;
			seen.whole += isWhole;
		}
	}
	console.log(`# ${JSON.stringify(seen)}`);
	assert.ok(seen.whole > 0, 'some commands came through');
});
