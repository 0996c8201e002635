// The store refuses a write (disk full, I/O error): the caller is told so, nothing is claimed, nothing is lost, and the next
// write works. AGENTD_FAULT=store.commit_error:N:error makes the N-th commit of the process fail.
// ci: alone any
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, checkError, follow, newFolder, ok, readLog, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';

const model = await startModel();
const CONFIG = { 'model.backoff_ms': 20 };

const withFault = (fault, dataDir = newFolder()) => startAgentd({ dataDir, model, config: CONFIG, fault });
const failing = (...numbers) => numbers.map((n) => `store.commit_error:${n}:error`).join(',');

// The second commit of a process is the one of this turn, unless the process itself wrote something in between: then it is done anew.
async function refusedTurn() {
	for (let tries = 0; tries < 10; tries++) {
		const rt = await withFault(failing(2));
		const { sessionId } = await ok(rt, 'create_session', {});
		const input = { sessionId, turnId: `refused-${tries}`, text: 'hello' };
		const { status, body } = await call(rt, 'submit_turn', input);
		if (status !== 202) return { rt, sessionId, input, status, body };
		await rt.stop();
	}
	return assert.fail('no turn was the second thing to be written');
}

test('EV-52 a write that the store refuses is storage_unavailable, leaves no fact, and works when repeated', async () => {
	const { rt, sessionId, input, status, body } = await refusedTurn();
	checkError(status, body);
	assert.deepEqual([status, body.error.code, body.error.retryable], [503, 'storage_unavailable', true]);
	const log = await readLog(rt, sessionId);
	assert.deepEqual(log.map((f) => f.type), ['session.created', 'thread.started']);
	assert.equal(model.log(input.turnId).length, 0, 'no effect without a fact');

	const receipt = await ok(rt, 'submit_turn', input);
	const follower = await follow(rt, sessionId);
	await follower.ended(receipt.turnId);
	assert.equal(follower.of('turn.submitted').length, 1);
	assert.equal(model.log(input.turnId).length, 1);
	follower.check();
	await rt.stop();
});

test('OPEN-58 a session whose creation the store refuses does not exist', async () => {
	const rt = await withFault(failing(1));
	const refused = await call(rt, 'submit_turn', { createPolicy: {}, text: 'hello', idempotencyKey: 'k' });
	assert.equal(refused.body.error.code, 'storage_unavailable');
	assert.deepEqual((await ok(rt, 'list_sessions', {})).sessions, []);
	const { sessionId } = await submit(rt, 'hello', { idempotencyKey: 'k' });
	assert.deepEqual((await ok(rt, 'list_sessions', {})).sessions.map((s) => s.sessionId), [sessionId]);
	await rt.stop();
});

test('OPEN-58 the end of a model call is not claimed while the store refuses it, and not lost: it is recorded later', async () => {
	const rt = await withFault(failing(2));
	const { sessionId, turnId } = await submit(rt, '[[say the only answer]]', { turnId: 'late' });
	const follower = await follow(rt, sessionId);
	await follower.ended(turnId);
	assert.equal(follower.end(turnId).type, 'turn.completed');
	assert.equal(model.log('late').length, 1, 'the model is not asked again');
	const { content } = await ok(rt, 'read_output', { outputRef: follower.end(turnId).payload.outputRef });
	assert.equal(content, 'the only answer');
	assert.equal(follower.of('model.completed').length, 1);
	follower.check();
	await rt.stop();
});

test('recovery that the store refuses is tried again, without a client that asks', async () => {
	const dataDir = newFolder();
	const first = await withFault(undefined, dataDir);
	const { sessionId, turnId } = await submit(first, '[[fail-times 1 hang]] hello', { turnId: 'recovers' });
	await waitFor(() => model.log(turnId)[0], 'the model call');
	await first.kill9();
	const rt = await withFault(failing(1), dataDir);
	await waitFor(() => model.log(turnId).length === 2, 'the second attempt', 10000);
	const follower = await follow(rt, sessionId);
	await follower.ended(turnId);
	follower.check();
	await rt.stop();
});

test('OPEN-58 under a store that fails again and again: what was acknowledged is there, what was refused is not', async () => {
	const dataDir = newFolder();
	const rt = await withFault(failing(3, 5, 6, 9, 12, 14, 19, 23), dataDir);
	const { sessionId } = await ok(rt, 'create_session', {});
	const acknowledged = [];
	let refusals = 0;
	for (let n = 0; n < 20; n++) {
		const input = { sessionId, turnId: `weather-${n}`, text: `[[tokens ${n % 4}]]` };
		const { status, body } = await call(rt, 'submit_turn', input);
		if (status === 202) acknowledged.push(input.turnId);
		else assert.equal(body.error.code, 'storage_unavailable');
		refusals += status !== 202;
	}
	const follower = await follow(rt, sessionId);
	for (const turnId of acknowledged) await follower.ended(turnId);
	assert.deepEqual(follower.of('turn.submitted').map((e) => e.turnId), acknowledged);
	assert.deepEqual(follower.of('turn.completed').map((e) => e.turnId), acknowledged);
	assert.ok(refusals > 0 && acknowledged.length > 0, `${refusals} refusals`);
	follower.check();
	await rt.kill9();
	const again = await withFault(undefined, dataDir);
	const log = await readLog(again, sessionId);
	assert.deepEqual(log.map((f) => f.data), follower.facts.map((f) => f.data).slice(0, log.length));
	await again.stop();
});
