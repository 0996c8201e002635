// Workers as records: created with a token that enrols once, found by their tenant, drained, removed; and what the token of a worker may do: nothing but be one.
import assert from 'node:assert/strict';
import { readdirSync, realpathSync } from 'node:fs';
import { before, test } from 'node:test';
import { call, newFolder, ok, refused, request, world } from '../lib/runtime.mjs';
import { validateEvent } from '../lib/schemas.mjs';
import { commands } from '../tenant/tenants.mjs';

let w, acme, dir;

/** One call with a token. */
async function as(token, command, input = {}) {
	const { status, text } = await request(w.rt, { path: `/v1/${command}`, body: JSON.stringify(input), headers: { authorization: `Bearer ${token}` } });
	return { status, body: JSON.parse(text), text };
}

/** The log of a worker. It is a session without a thread, so its snapshot is not one of the standard's. */
async function factsOf(workerId) {
	const { text } = await request(w.rt, { path: '/v1/get_session', body: JSON.stringify({ sessionId: workerId.replace('wk_', 'sess_'), limit: 500 }) });
	return JSON.parse(text).history.events;
}

before(async () => {
	dir = realpathSync(newFolder());
	w = await world({ config: { 'workspaces.dir': dir, 'limits.token_rate': 0 } });
	({ token: acme } = await ok(w.rt, 'create_token', { tenant: 'acme', name: 'acme', scopes: ['admin'] }));
});

test('a worker is created, enrolled, changed and removed; each is a fact of its own log', async () => {
	const { worker, enrolmentToken, expiresAt } = await ok(w.rt, 'create_worker', { name: 'box', labels: { zone: 'a', 'gpu/kind': 'none' } });
	assert.match(worker.workerId, /^wk_0000000000[mn]/);
	assert.deepEqual([worker.tenant, worker.name, worker.status, worker.draining, worker.version, worker.enrolledAt], ['local', 'box', 'active', false, 1, undefined]);
	assert.deepEqual(worker.labels, { zone: 'a', 'gpu/kind': 'none' });
	const hour = Date.parse(expiresAt) - Date.parse(worker.createdAt);
	assert.ok(hour >= 3600e3 && hour < 3660e3, expiresAt);

	const enrolled = await as(enrolmentToken, 'enrol_worker', { labels: { arch: 'x86_64' }, info: { version: '1' } });
	assert.equal(enrolled.status, 200, enrolled.text);
	assert.equal(enrolled.body.workerId, worker.workerId);
	assert.match(enrolled.body.token, /^art_/);
	assert.notEqual(enrolled.body.token, enrolmentToken);

	const { worker: seen, live } = await ok(w.rt, 'get_worker', { workerId: worker.workerId });
	assert.deepEqual([seen.labels.zone, seen.ownLabels, seen.info, seen.version], ['a', { arch: 'x86_64' }, { version: '1' }, 2]);
	assert.ok(seen.enrolledAt);
	assert.ok(['unknown', 'away'].includes(live.state), JSON.stringify(live));

	const { worker: drained } = await ok(w.rt, 'update_worker', { workerId: worker.workerId, draining: true, name: 'the box', version: 2 });
	assert.deepEqual([drained.draining, drained.name, drained.version, drained.labels.zone], [true, 'the box', 3, 'a']);
	await refused(w.rt, 'version_conflict', 'update_worker', { workerId: worker.workerId, draining: false, version: 2 });
	await refused(w.rt, 'invalid_input', 'update_worker', { workerId: worker.workerId });
	assert.equal((await ok(w.rt, 'update_worker', { workerId: worker.workerId, draining: true })).worker.version, 3, 'nothing changed');

	assert.deepEqual(await ok(w.rt, 'remove_worker', { workerId: worker.workerId, reason: 'broken' }), { workerId: worker.workerId, result: 'removed' });
	assert.equal((await ok(w.rt, 'remove_worker', { workerId: worker.workerId })).result, 'no_op');
	await refused(w.rt, 'worker_removed', 'update_worker', { workerId: worker.workerId, draining: false });
	assert.equal((await ok(w.rt, 'get_worker', { workerId: worker.workerId })).worker.status, 'removed');
	const facts = await factsOf(worker.workerId);
	assert.deepEqual(facts.map((f) => f.type), ['session.created', 'worker.created', 'worker.enrolled', 'worker.updated', 'worker.removed']);
	for (const fact of facts) validateEvent(fact);
	assert.equal(facts[4].payload.reason, 'broken');
	assert.ok(!JSON.stringify(facts).includes(enrolmentToken.slice(21)) && !JSON.stringify(facts).includes(enrolled.body.token.slice(21)), 'no secret is a fact');
});

test('workers are listed by their tenant, page by page, and not among sessions or workspaces', async () => {
	const made = new Set();
	for (let i = 0; i < 5; i++) made.add((await as(acme, 'create_worker', { name: `w${i}` })).body.worker.workerId);
	const found = [];
	for (let cursor; ;) {
		const { body } = await as(acme, 'list_workers', { limit: 2, ...(cursor ? { cursor } : {}) });
		assert.ok(body.workers.length <= 2);
		found.push(...body.workers.map((one) => one.workerId));
		cursor = body.nextCursor;
		if (!cursor) break;
	}
	assert.deepEqual(new Set(found), made);
	assert.equal(found.length, 5);
	const [gone] = made;
	await as(acme, 'remove_worker', { workerId: gone });
	assert.equal((await as(acme, 'list_workers', {})).body.workers.length, 4);
	assert.deepEqual((await as(acme, 'list_workers', { status: 'removed' })).body.workers.map((one) => one.workerId), [gone]);
	assert.equal((await as(acme, 'list_workers', { status: 'all' })).body.workers.length, 5);
	assert.equal((await as(acme, 'list_sessions', {})).body.sessions.length, 0);
	assert.equal((await as(acme, 'list_workspaces', {})).body.workspaces.length, 0);
	assert.equal((await as(acme, 'list_workspaces', { cursor: gone.slice(3) })).body.error.code, 'invalid_cursor');
	assert.equal((await as(acme, 'list_workers', { cursor: 'x' })).body.error.code, 'invalid_cursor');
	for (const workerId of made) {
		await refused(w.rt, 'worker_not_found', 'get_worker', { workerId });
		await refused(w.rt, 'worker_not_found', 'update_worker', { workerId, draining: true });
		await refused(w.rt, 'worker_not_found', 'remove_worker', { workerId });
	}
	await refused(w.rt, 'worker_not_found', 'get_worker', { workerId: gone.replace('wk_', 'ws_') });
	const sessionId = found[0].replace('wk_', 'sess_');
	assert.equal((await as(acme, 'submit_turn', { sessionId, text: 'x' })).body.error.code, 'session_not_found');
	assert.equal((await as(acme, 'submit_turn', { sessionId, createPolicy: {}, text: 'x' })).body.error.code, 'session_not_found');
});

test('the token of a worker calls nothing: neither before it is enrolled, but to enrol, nor after', async () => {
	const { worker, enrolmentToken } = await ok(w.rt, 'create_worker', { name: 'quiet' });
	const { sessionId } = await ok(w.rt, 'create_session', {});
	const everything = async (token, except) => {
		for (const { name } of commands) {
			if (name === except) continue;
			const { status, body } = await as(token, name, { sessionId, workerId: worker.workerId });
			assert.deepEqual([status, body.error?.code], [403, 'not_authorized'], name);
			assert.match(body.error.message, /the token is a worker's/);
		}
		for (const path of ['/metrics', `/v1/sessions/${sessionId}/events`, '/v1/verify']) {
			const { status } = await request(w.rt, { path, ...(path === '/v1/verify' ? { body: '{}' } : { method: 'GET' }), headers: { authorization: `Bearer ${token}` } });
			assert.equal(status, 403, path);
		}
	};
	await everything(enrolmentToken, 'enrol_worker');
	const { body: { token } } = await as(enrolmentToken, 'enrol_worker');
	await everything(token);
	assert.equal((await as(enrolmentToken, 'enrol_worker')).body.error.code, 'auth_failed', 'it worked once');
	await ok(w.rt, 'remove_worker', { workerId: worker.workerId });
	assert.equal((await as(token, 'list_workers')).body.error.code, 'auth_failed');
});

test('of many who show one enrolment token, one enrols', async () => {
	const { worker, enrolmentToken } = await ok(w.rt, 'create_worker', { name: 'wanted' });
	const answers = await Promise.all(Array.from({ length: 20 }, () => as(enrolmentToken, 'enrol_worker')));
	const won = answers.filter((a) => a.status === 200);
	assert.equal(won.length, 1, JSON.stringify(answers.map((a) => a.text)));
	for (const { body } of answers.filter((a) => a.status !== 200)) assert.ok(['not_authorized', 'auth_failed'].includes(body.error.code), JSON.stringify(body));
	assert.equal((await as(won[0].body.token, 'get_worker', { workerId: worker.workerId })).body.error.code, 'not_authorized', 'it is good');
});

test('only an enrolment token enrols: not an administrator, not the operator, not a token with the scope worker', async () => {
	const { token } = await ok(w.rt, 'create_token', { tenant: 'acme', name: 'tools', scopes: ['worker'] });
	for (const one of [acme, token]) assert.equal((await as(one, 'enrol_worker')).body.error.code, 'not_authorized');
	await refused(w.rt, 'not_authorized', 'enrol_worker', {});
});

test('the same key is the same worker, without its token; a removed one cannot be enrolled', async () => {
	const input = { name: 'keyed', idempotencyKey: 'k' };
	const first = await ok(w.rt, 'create_worker', input), again = await ok(w.rt, 'create_worker', input);
	assert.equal(again.worker.workerId, first.worker.workerId);
	assert.ok(first.enrolmentToken && !again.enrolmentToken && !again.expiresAt);
	await refused(w.rt, 'id_conflict', 'create_worker', { ...input, name: 'other' });
	const theirs = (await as(acme, 'create_worker', input)).body.worker;
	assert.notEqual(theirs.workerId, first.worker.workerId);
	await ok(w.rt, 'remove_worker', { workerId: first.worker.workerId });
	assert.equal((await as(first.enrolmentToken, 'enrol_worker')).body.error.code, 'auth_failed');
});

test('the tokens of workers are listed by their worker, and not rotated', async () => {
	const { worker } = await ok(w.rt, 'create_worker', { name: 'listed' });
	const { tokens } = await ok(w.rt, 'list_tokens', { limit: 200 });
	const record = tokens.find((one) => one.workerId === worker.workerId);
	assert.deepEqual(record.scopes, ['worker']);
	await refused(w.rt, 'not_authorized', 'rotate_token', { tokenId: record.tokenId });
	assert.equal((await ok(w.rt, 'revoke_token', { tokenId: record.tokenId })).result, 'revoked');
});

test('a workspace is made on a worker of its own tenant, by the worker: never in a folder of the server', async () => {
	const { worker } = await ok(w.rt, 'create_worker', { name: 'holder' });
	const theirs = (await as(acme, 'create_worker', { name: 'theirs' })).body.worker;
	await refused(w.rt, 'worker_not_found', 'create_workspace', { worker: theirs.workerId });
	await refused(w.rt, 'worker_not_found', 'create_workspace', { worker: 'wk_x' });
	await refused(w.rt, 'worker_not_found', 'create_workspace', { worker: worker.workerId.replace('wk_', 'ws_') });
	await refused(w.rt, 'invalid_input', 'create_workspace', { worker: worker.workerId, root: '/srv' });
	const count = readdirSync(dir, { recursive: true }).length;
	await refused(w.rt, 'unavailable', 'create_workspace', { worker: worker.workerId });
	assert.equal(readdirSync(dir, { recursive: true }).length, count);
	await ok(w.rt, 'remove_worker', { workerId: worker.workerId });
	await refused(w.rt, 'worker_removed', 'create_workspace', { worker: worker.workerId });
});

test('labels are few, short and texts', async () => {
	const many = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`l${i}`, 'x']));
	for (const labels of [many, { 'a b': 'x' }, { '': 'x' }, { ['x'.repeat(64)]: 'x' }, { a: 1 }, { a: null }, { a: { b: 'c' } }, { a: 'x'.repeat(257) }])
		await refused(w.rt, 'invalid_input', 'create_worker', { name: 'x', labels });
	await refused(w.rt, 'invalid_input', 'create_worker', { name: 'x', labels: { a: 'x'.repeat(5000) } });
	await refused(w.rt, 'invalid_input', 'create_worker', { name: '' });
	const { enrolmentToken } = await ok(w.rt, 'create_worker', { name: 'x' });
	assert.equal((await as(enrolmentToken, 'enrol_worker', { labels: { 'a b': 'x' } })).body.error.code, 'invalid_input');
	assert.equal((await as(enrolmentToken, 'enrol_worker')).status, 200, 'a refusal does not use it up');
});

test('workers and their tokens are there after a restart', async () => {
	const { worker, enrolmentToken } = await ok(w.rt, 'create_worker', { name: 'stays' });
	const other = await ok(w.rt, 'create_worker', { name: 'enrolled' });
	const { body: { token } } = await as(other.enrolmentToken, 'enrol_worker');
	await w.rt.kill9();
	w.rt = await w.again();
	assert.equal((await ok(w.rt, 'get_worker', { workerId: worker.workerId })).worker.name, 'stays');
	assert.equal((await as(token, 'list_workers')).body.error.code, 'not_authorized');
	assert.equal((await as(other.enrolmentToken, 'enrol_worker')).body.error.code, 'auth_failed');
	assert.equal((await as(enrolmentToken, 'enrol_worker')).status, 200);
	assert.equal((await call(w.rt, 'list_workers', {})).status, 200);
});
