// Rows of the log are gone: no reader is served what follows a gap, a session that lost facts is not one that never was, and one that lost its
// end stands still until somebody accepts the loss.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { execute, extent, streamed } from '../lib/damage.mjs';
import { call, checkError, follow, newFolder, ok, readLog, request, startAgentd, startModel, submit } from '../lib/runtime.mjs';

const model = await startModel();

/** A stopped store with one session of some turns, damaged so; and what its log was. */
async function damaged(damage, config) {
	const dataDir = newFolder();
	const again = () => startAgentd({ dataDir, model, config });
	const rt = await again();
	const { sessionId } = await ok(rt, 'create_session', {});
	const follower = await follow(rt, sessionId);
	for (let i = 0; i < 3; i++) await follower.ended((await submit(rt, `turn ${i}`, { sessionId })).turnId);
	follower.stop();
	const log = await readLog(rt, sessionId);
	await rt.stop();
	const lost = execute(dataDir, damage);
	return { dataDir, sessionId, log, lost, rt: await again() };
}

function expectDamage(error, sessionId) {
	assert.deepEqual([error.code, error.retryable], ['storage_corrupt', false], JSON.stringify(error));
	assert.ok(error.message.includes(`agentctl verify ${sessionId}`), error.message);
}

async function expectRefused(rt, sessionId, command, input) {
	const { status, body } = await call(rt, command, input);
	checkError(status, body);
	expectDamage(body.error, sessionId);
}

async function verify(rt, input) {
	const { text } = await request(rt, { path: '/v1/verify', body: JSON.stringify(input) });
	return JSON.parse(text).sessions[0];
}

for (const [damage, where] of [['log-gap', 'in the middle'], ['log-first', 'at the beginning']]) {
	test(`a row that is missing ${where} of a log is storage_corrupt for every reader, and nothing behind it is served`, async () => {
		const { rt, sessionId, log, lost = 1 } = await damaged(damage);
		for (const path of [`/v1/sessions/${sessionId}/events`, '/v1/events']) {
			const { facts, error } = await streamed(rt, path);
			expectDamage(error, sessionId);
			const served = facts.filter((f) => f.sequence);
			assert.ok(served.every((f) => f.sequence < lost), path);
			assert.equal(served.at(-1)?.sequence ?? 0, lost - 1, path);
		}
		await expectRefused(rt, sessionId, 'get_session', { sessionId });
		await expectRefused(rt, sessionId, 'submit_turn', { sessionId, turnId: 'more', text: 'more' });
		await expectRefused(rt, sessionId, 'explain', { id: log.find((f) => f.event.turnId).event.turnId });
		const found = await verify(rt, { sessionId, acceptLoss: true });
		assert.deepEqual([found.status, found.findings[0].what, found.findings[0].sequence], ['corrupt', 'log', lost], 'only a lost end can be accepted');
		await rt.stop();
	});
}

test('CP-10 CP-34 what cannot be read cannot be gone on with: resume_thread and resume_subagent answer unrecoverable and say what to run', async () => {
	const { rt, sessionId, log } = await damaged('log-gap');
	const { threadId } = log.find((f) => f.type === 'thread.started').event;
	for (const [command, input] of [['resume_thread', { sessionId, threadId }], ['resume_thread', { sessionId, threadId, idempotencyKey: 'k' }], ['resume_subagent', { subagentId: sessionId.replace('sess', 'sub') + '_1', input: 'more' }]]) {
		const { status, body } = await call(rt, command, input);
		checkError(status, body);
		assert.deepEqual([status, body.error.code, body.error.retryable], [409, 'unrecoverable', false], command);
		assert.ok(body.error.message.includes(`agentctl verify ${sessionId}`), body.error.message);
	}
	await expectRefused(rt, sessionId, 'interrupt_turn', { sessionId, reason: 'enough' });
	await rt.stop();
});

test('a session whose whole log is gone is storage_corrupt, not a session that never was', async () => {
	const { rt, sessionId } = await damaged('log-all');
	await expectRefused(rt, sessionId, 'get_session', { sessionId });
	assert.equal((await verify(rt, { sessionId, acceptLoss: true })).status, 'corrupt');
	await rt.stop();
});

for (const every of [200, 1]) {
	test(`a log that lost its end is kept as it is until somebody accepts the loss, which is a fact (a snapshot after ${every} facts)`, async () => {
		const { dataDir, rt, sessionId, log, lost } = await damaged('log-end', { 'session.snapshot_every': every });
		const head = log.length;
		const left = extent(dataDir);
		await expectRefused(rt, sessionId, 'get_session', { sessionId });
		await expectRefused(rt, sessionId, 'submit_turn', { sessionId, turnId: 'more', text: 'more' });
		const repair = await verify(rt, { sessionId, repair: true });
		assert.deepEqual([repair.status, repair.findings[0].sequence], ['corrupt', lost]);
		assert.match(repair.findings[0].message, new RegExp(`facts up to ${head} were stored`));
		assert.equal(extent(dataDir), left, 'nothing was written over');

		assert.equal((await verify(rt, { sessionId, acceptLoss: true })).status, 'repaired');
		const now = await readLog(rt, sessionId);
		const fact = now.find((f) => f.type === 'snapshot.repaired').event;
		assert.deepEqual([fact.sequence, fact.payload.fromSequence, fact.payload.toSequence], [lost, lost, head]);
		assert.match(fact.payload.reason, /the loss was accepted/);
		const fatal = now.find((f) => f.type === 'runtime.error').event;
		assert.deepEqual([fatal.sequence, fatal.payload.code, fatal.payload.fatal, fatal.payload.component], [lost + 1, 'storage_corrupt', true, 'store']);
		assert.equal(fatal.payload.message, `facts ${lost} to ${head} of this session were stored and are lost`);
		assert.match(fatal.payload.recoveryAdvice, /backup/);
		const { threads: [{ incidents }] } = await ok(rt, 'get_session', { sessionId });
		assert.ok(incidents.some((i) => i.message === fatal.payload.message), JSON.stringify(incidents));
		const { turnId } = await submit(rt, 'and on', { sessionId });
		const follower = await follow(rt, sessionId);
		await follower.ended(turnId);
		follower.stop();
		assert.equal((await verify(rt, { sessionId })).status, 'ok');
		await rt.stop();
	});
}
