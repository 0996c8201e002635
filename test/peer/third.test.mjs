// agentd hands work on to the server of the official SDK, while connections break and both are killed. That server knows no repeats: over 1.0 a message of which
// nobody knows whether it arrived is looked for in its list, over 0.3 there is no list, and the work is unknown here, whatever became of it there. The server keeps
// a record of what it said and did, on disk before anybody hears of it; that record is the truth that is compared. AR_SOAK_SECONDS=600 does that for as long.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { dice, lossyProxy } from '../lib/proxy.mjs';
import { newFolder, request, sleep, startAgentd, startModel, waitFor } from '../lib/runtime.mjs';
import { ALLOW } from './delegate.mjs';
import { readRows } from './rows.mjs';

const SOAK = Number(process.env.AR_SOAK_SECONDS ?? 0) * 1000;
const AGENTS = ['far', 'rest', 'old']; // 1.0 over JSON-RPC, by streams; 1.0 over HTTP+JSON, by asking; 0.3
const EACH = 3; // tasks at once
const KILLS = 6; // in a round
const PROGRAM = fileURLToPath(new URL('official_process.mjs', import.meta.url));
const running = new Set();

after(() => {
	for (const child of running) child.kill('SIGKILL');
});

class Official {
	constructor(seed) {
		Object.assign(this, { file: join(newFolder(), 'record'), seed });
	}

	async start() {
		this.proxy ??= await lossyProxy({ host: '127.0.0.1', port: 1 }, { seed: this.seed, maxBytes: 6000 });
		this.child = spawn(process.execPath, [PROGRAM, this.file, this.proxy.url], { stdio: ['ignore', 'pipe', 'ignore'] });
		running.add(this.child);
		this.gone = new Promise((done) => this.child.once('exit', done));
		for await (const line of createInterface({ input: this.child.stdout })) {
			this.proxy.target = { host: '127.0.0.1', port: JSON.parse(line).port };
			return;
		}
	}

	async again() {
		this.child.kill('SIGKILL');
		await this.gone;
		running.delete(this.child);
		await this.start();
	}
}

class Here {
	constructor(official) {
		this.dataDir = newFolder();
		const more = { far: { mechanism: 'stream' }, rest: { mechanism: 'poll' }, old: { mechanism: 'stream' } };
		const peers = AGENTS.map((name) => ({ name, url: `${official.proxy.url}/${name}/.well-known/agent-card.json`, poll_ms: 50, timeout_ms: 5000, lost_ms: 600000, ...more[name] }));
		this.config = { peers, permission_rules: ALLOW };
	}

	async start() {
		this.model ??= await startModel();
		this.rt = await startAgentd({ dataDir: this.dataDir, model: this.model, config: this.config });
	}

	async again() {
		await this.rt.kill9();
		await this.start();
	}

	/** Also while it is being killed: each command has a key of its own, or only reads. */
	run(command, input) {
		return waitFor(async () => {
			const answer = await request(this.rt, { path: `/v1/${command}`, body: JSON.stringify(input) }).catch(() => undefined);
			if (!answer) return undefined;
			const json = JSON.parse(answer.text);
			if (answer.status < 300) return json;
			assert.ok(json.error.retryable, `${command}: ${answer.text}`);
			return undefined;
		}, command);
	}

	async delegate(n, peer, ms) {
		const objective = `work ${n} of ${peer}`;
		const { sessionId } = await this.run('create_session', { idempotencyKey: `s${n}` });
		const { taskId } = await this.run('create_task', { sessionId, objective: `[[work ${ms}]] ${objective}`, constraints: { retryPolicy: { maxAttempts: 1000, backoffMs: 100 } }, idempotencyKey: `c${n}` });
		await this.run('delegate_task', { taskId, peer, idempotencyKey: `d${n}` });
		return { peer, objective, sessionId, taskId };
	}

	async settle(x) {
		await waitFor(async () => {
			x.task = await this.run('get_task', { taskId: x.taskId });
			return ['completed', 'unknown'].includes(x.task.status);
		}, () => `${x.objective}: ${JSON.stringify(x.task)}`, 120000);
		const { events } = await this.run('read_events', { sessionId: x.sessionId, types: ['channel.peer_task.linked', 'channel.peer_task.updated'], limit: 500 });
		x.told = events.map((e) => ({ taskId: e.payload.remoteTaskId, state: wordOf(e.payload.nativeStatus), at: Date.parse(e.timestamp) }));
	}
}

const wordOf = (state) => state.replace('TASK_STATE_', '').replaceAll('-', '_').toLowerCase();

/** What the peer recorded, by task. */
function recordOf(official) {
	const tasks = new Map();
	for (const r of readRows(official.file)) {
		const id = r.taskId ?? r.saved.id;
		const task = tasks.get(id) ?? { id, said: [], did: [] };
		tasks.set(id, task);
		if (r.said) task.said.push({ state: wordOf(r.said), at: r.at });
		if (r.did) task.did.push(r.did);
		if (r.begun) task.objective = r.begun;
		if (r.saved) task.context = r.saved.contextId;
	}
	return [...tasks.values()].filter((task) => task.context); // of the others nobody was told
}

const endOf = (task) => task.said.find((s) => s.state === 'completed' || s.state === 'failed')?.state;

function check(x, record) {
	const there = record.filter((t) => t.objective === x.objective);
	const known = [...new Set(x.told.map((fact) => fact.taskId))]; // a task shows its newest attempts alone
	const orphans = there.filter((t) => !known.includes(t.id));
	const why = JSON.stringify({ x, there }, undefined, 1);
	assert.ok(there.flatMap((t) => t.did).length <= 1, `done at most once: ${why}`);
	assert.deepEqual(known.filter((id) => !there.some((t) => t.id === id)), [], `what is known here is there: ${why}`);
	for (const fact of x.told) {
		const { said } = there.find((t) => t.id === fact.taskId);
		assert.ok(said.some((s) => s.state === fact.state && s.at <= fact.at), `ahead of the truth: ${JSON.stringify(fact)} ${why}`);
	}
	if (x.task.status === 'unknown') {
		assert.equal(x.peer, 'old', `where there is a list, nothing is unknown: ${why}`);
		const [last] = x.task.attempts.at(-1).remoteTasks;
		assert.deepEqual([last.remoteTaskId, x.task.lastError.category], [undefined, 'end_unknown'], why);
		assert.ok(orphans.every((o, i) => i === 0 && o.context === last.remoteContextId), `the last message is the only one that is not known of: ${why}`);
		assert.ok(known.every((id) => endOf(there.find((t) => t.id === id)) === 'failed'), `what had come before had failed: ${why}`);
		return;
	}
	assert.deepEqual(orphans, [], `no task there that is not known here: ${why}`);
	const [last] = there.filter((t) => endOf(t) === 'completed');
	assert.ok(there.every((t) => t === last || endOf(t) === 'failed'), `only what failed was handed on again: ${why}`);
	assert.deepEqual([x.task.remoteTask.remoteTaskId, last.did], [last.id, [x.objective]], why);
	assert.ok(last.said.find((s) => s.state === 'completed').at <= Date.parse(x.task.endedAt), `completed there before it was here: ${why}`);
	assert.equal(x.task.remoteTask.remoteArtifactRefs.length, 1, why);
}

test('agentd hands work on to the official server over kill -9 of both and cuts: none is done twice, no status is ahead, and what is unknown could not be known', async (t) => {
	const roll = dice(11), figures = { tasks: 0, kills: { agentd: 0, official: 0 }, completed: 0, again: 0, unknown: { never: 0, done: 0, failed: 0 } };
	const official = new Official(11);
	await official.start();
	official.proxy.isCutting = false;
	const here = new Here(official);
	await here.start();
	const until = Date.now() + SOAK;
	do {
		official.proxy.isCutting = true;
		const handed = [];
		for (let i = 0; i < EACH; i++) for (const peer of AGENTS) handed.push(here.delegate(++figures.tasks, peer, Math.floor(roll() * 400)));
		for (let k = 0; k < KILLS; k++) {
			await sleep(roll() * 250);
			await (k % 2 ? here : official).again();
			figures.kills[k % 2 ? 'agentd' : 'official']++;
		}
		const works = await Promise.all(handed);
		official.proxy.isCutting = false;
		for (const x of works) await here.settle(x);
		const record = recordOf(official);
		for (const x of works) {
			check(x, record);
			const there = record.filter((r) => r.objective === x.objective);
			if (x.task.status === 'completed') figures.completed++;
			else figures.unknown[!there.length ? 'never' : there.some((r) => r.did.length) ? 'done' : 'failed']++;
			if (there.length > 1) figures.again++;
		}
		const { content } = await readOf(here, works.find((x) => x.task.status === 'completed'));
		assert.match(content, /^work \d+ of \w+ is done$/);
	} while (Date.now() < until);
	t.diagnostic(JSON.stringify({ ...figures, cuts: official.proxy.cuts }));
	await here.rt.stop();
});

async function readOf(here, x) {
	const [{ ref }] = x.task.attempts.at(-1).outputRefs;
	return here.run('read_output', { outputRef: ref, length: 1000 });
}
