// Two agentd of different tenants that hand work on to each other, while connections break and both are killed: no task is lost or done
// twice, and no status is ahead of the truth. AR_SOAK_SECONDS=600 does that for as long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newFolder, request, sleep, startAgentd, startModel, waitFor } from '../lib/runtime.mjs';
import { dice, lossyProxy } from '../lib/proxy.mjs';
import { ALLOW } from './delegate.mjs';

const SOAK = Number(process.env.AR_SOAK_SECONDS ?? 0) * 1000;
const TASKS = 4; // of each side at once

class Side {
	constructor(name, tenant) {
		Object.assign(this, { name, tenant, dataDir: newFolder(), works: [] });
	}

	async prepare(model, seed, mechanism) {
		Object.assign(this, { model, mechanism });
		this.proxy = await lossyProxy({ host: '127.0.0.1', port: 1 }, { seed, maxBytes: 60000 });
		this.proxy.isCutting = false;
		this.config = { 'auth.required': true, 'a2a.url': this.proxy.url, 'a2a.push_key': `the key of ${this.name}, of 16 bytes and more`, 'a2a.push_attempts': 3, 'a2a.push_backoff_ms': 50, a2a_agents: [{ name: 'worker', description: 'Works.', tenants: [this.tenant] }], permission_rules: ALLOW };
		await this.start();
		const token = async (tenant, name, scopes) => JSON.parse((await request(this.rt, { path: '/v1/create_token', body: JSON.stringify({ tenant, name, scopes }), via: 'socket' })).text).token;
		this.token = await token(this.tenant, 'me', ['read', 'submit', 'decide']);
		this.given = await token(this.tenant, 'the other', ['read', 'submit']);
		await this.rt.stop();
	}

	async join(other) {
		this.other = other;
		this.config['a2a.push_to'] = other.proxy.url;
		this.config.peers = [{ name: 'far', url: other.proxy.url, token: other.given, tenants: [this.tenant], mechanism: this.mechanism, poll_ms: 50, timeout_ms: 5000, idle_ms: 5000, lost_ms: 600000 }];
		await this.start();
	}

	async start() {
		this.rt = await startAgentd({ dataDir: this.dataDir, model: this.model, config: this.config });
		this.proxy.target = { host: this.rt.host, port: this.rt.port };
	}

	async again() {
		await this.rt.kill9();
		await this.start();
	}

	/** Also while it is being killed: nothing is asked for twice, for each command has ids or keys of its own. */
	async run(command, input) {
		return waitFor(async () => {
			try {
				const { status, text } = await request(this.rt, { path: `/v1/${command}`, body: JSON.stringify(input), headers: { authorization: `Bearer ${this.token}` } });
				if (status < 300) return JSON.parse(text);
				if (JSON.parse(text).error.retryable) return undefined;
				throw Object.assign(new Error(`${command}: ${text}`), { isFinal: true });
			} catch (error) {
				if (error.isFinal) throw error;
				return undefined;
			}
		}, command);
	}

	async delegate(n) {
		const { sessionId } = await this.run('create_session', {});
		const objective = `[[first 150]] [[say ${this.name} ${n} is done]]`;
		const { taskId } = await this.run('create_task', { sessionId, objective, constraints: { retryPolicy: { maxAttempts: 1000, backoffMs: 20 } }, idempotencyKey: `c${n}` });
		await this.run('delegate_task', { taskId, peer: 'far', idempotencyKey: `d${n}` });
		this.works.push({ n, sessionId, taskId, objective });
	}

	async finished() {
		for (const x of this.works) {
			await waitFor(async () => {
				x.task = await this.run('get_task', { taskId: x.taskId });
				return x.task.status === 'completed';
			}, () => `${this.name} ${x.n}: ${JSON.stringify(x.task)}`, 120000);
		}
	}
}

async function world(seed, mechanism) {
	const model = await startModel();
	const sides = [new Side('a', 'acme'), new Side('b', 'globex')];
	for (const [i, s] of sides.entries()) await s.prepare(model, seed + i, mechanism);
	await Promise.all([sides[0].join(sides[1]), sides[1].join(sides[0])]);
	return sides;
}

async function check(side) {
	const mine = side.works;
	const { tasks } = await side.other.run('find_tasks', { withEnded: true, withInternal: true, limit: 500 });
	for (const x of mine) {
		const remote = tasks.filter((t) => t.objective?.includes(`${side.name} ${x.n} is done`) && t.taskId === x.task.remoteTask.remoteTaskId);
		const same = tasks.filter((t) => t.objective?.includes(`${side.name} ${x.n} is done`));
		assert.deepEqual([same.length, remote.length], [1, 1], `${side.name} ${x.n} is one task there, the one that is known here`);
		const there = await side.other.run('get_task', { taskId: x.task.remoteTask.remoteTaskId });
		assert.equal(there.status, 'completed');
		assert.ok(Date.parse(there.endedAt) <= Date.parse(x.task.endedAt), 'it was completed there before it was here');
		assert.equal(x.task.remoteTask.remoteArtifactRefs.length, 1);
		const [{ ref }] = x.task.attempts.at(-1).outputRefs;
		assert.equal((await side.run('read_output', { outputRef: ref, length: 1000 })).content, `${side.name} ${x.n} is done`);
		assert.equal(x.task.remoteTask.deliveryMechanism, side.mechanism === 'push' ? 'push_notification' : 'streaming');
		assert.equal(x.task.attempts.filter((r) => r.remoteTasks?.length > 0).length, 1, 'it was handed on in one attempt');
	}
}

for (const mechanism of ['stream', 'push']) {
	test(`A2-08 A2-11 two agentd of different tenants hand work on to each other by ${mechanism}, over kill -9 of both and cuts: none is lost, none done twice, no status ahead`, async (t) => {
		const roll = dice(7);
		const [a, b] = await world(7, mechanism);
		const until = Date.now() + SOAK;
		let n = 0, kills = 0;
		do {
			for (const s of [a, b]) s.proxy.isCutting = true;
			const handed = [];
			for (let i = 0; i < TASKS; i++) for (const s of [a, b]) handed.push(s.delegate(++n));
			for (let k = 0; k < 4; k++) {
				await sleep(roll() * 250);
				await (k % 2 ? a : b).again();
				kills++;
			}
			await Promise.all(handed);
			for (const s of [a, b]) s.proxy.isCutting = false;
			for (const s of [a, b]) await s.finished();
			for (const s of [a, b]) await check(s);
			for (const s of [a, b]) s.works = [];
		} while (Date.now() < until);
		t.diagnostic(`${n} tasks, ${kills} times kill -9, ${a.proxy.cuts + b.proxy.cuts} cuts: all completed`);
		for (const s of [a, b]) await s.rt.stop();
	});
}
