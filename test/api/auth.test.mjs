// Who comes in: API tokens over HTTP. A token opens what its scopes and its tenant say, dies when it is revoked or its time is over, and
// its secret is in one reply and nowhere else.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { ask, facts, pending, tools, wants } from '../lib/gate.mjs';
import { checkError, newFolder, ok, readLog, refused, request, sleep, startAgentd, waitFor, world } from '../lib/runtime.mjs';

const bearer = (token) => ({ authorization: `Bearer ${token}` });

/** A command with a token; { status, body, headers }. */
async function as(rt, token, command, input = {}, more = {}) {
	const { status, text, headers } = await request(rt, { path: `/v1/${command}`, body: JSON.stringify(input), headers: token ? bearer(token) : {}, ...more });
	const body = JSON.parse(text);
	if (status >= 300) checkError(status, body);
	return { status, body, headers };
}

const create = (rt, input) => ok(rt, 'create_token', { name: 'test', scopes: ['read'], ...input }, { via: 'socket' });

/** The SSE answer to a subscription; resolves { status, ended } where ended is a promise of the text that came. */
async function stream(rt, token, sessionId) {
	const response = await fetch(`${rt.url}/v1/subscribe_events`, {
		method: 'POST', body: JSON.stringify({ sessionId }), headers: { 'content-type': 'application/json', ...bearer(token) },
	});
	return { status: response.status, ended: response.text() };
}

test('without anything configured this machine is the operator, over TCP and the socket', async () => {
	const rt = await startAgentd();
	const { sessionId } = await ok(rt, 'create_session', {});
	await ok(rt, 'get_session', { sessionId }, { via: 'socket' });
	assert.equal((await as(rt, 'art_nonsense', 'list_sessions')).status, 401, 'a bearer that is shown has to be good');
});

test('a token opens what its scopes say, and no more', async () => {
	const rt = await startAgentd({ config: { 'auth.required': true } });
	assert.equal((await as(rt, null, 'list_sessions')).body.error.code, 'auth_failed');
	const health = await request(rt, { method: 'GET', path: '/health' });
	assert.equal(health.status, 200);
	const ready = await request(rt, { method: 'GET', path: '/ready' });
	assert.equal(ready.status, 401);
	assert.equal(ready.headers['www-authenticate'], 'Bearer');
	const reader = await create(rt, { name: 'reader' });
	assert.match(reader.token, /^art_[0-9a-z]{16}_[0-9a-z]{52}$/);
	assert.deepEqual(reader.record.scopes, ['read']);
	assert.equal((await as(rt, reader.token, 'list_sessions')).status, 200);
	const no = await as(rt, reader.token, 'create_session');
	assert.equal(no.body.error.code, 'not_authorized');
	assert.match(no.body.error.message, /submit/);
	assert.equal((await as(rt, reader.token, 'create_token', { name: 'x', scopes: ['read'] })).body.error.code, 'not_authorized');
	const writer = await create(rt, { scopes: ['read', 'submit'] });
	assert.equal((await as(rt, writer.token, 'create_session')).status, 200);
	const wrong = `${reader.token.slice(0, -1)}${reader.token.endsWith('0') ? '1' : '0'}`;
	for (const token of [wrong, reader.token.slice(0, -1), `${reader.token}0`, reader.token.toUpperCase(), 'art_', 'a'.repeat(5000)])
		assert.equal((await as(rt, token, 'list_sessions')).body.error.code, 'auth_failed', token);
	const basic = await request(rt, { path: '/v1/list_sessions', body: '{}', headers: { authorization: 'Basic YTpi' } });
	assert.equal(basic.status, 401);
});

test('tokens are listed without their secrets, which are in no file of the store', async () => {
	const dataDir = newFolder();
	const rt = await startAgentd({ dataDir });
	const made = [await create(rt, { name: 'one' }), await create(rt, { name: 'two', scopes: ['admin'], tenant: 'acme' })];
	const { tokens } = await ok(rt, 'list_tokens', {});
	assert.deepEqual(tokens.map((t) => t.tokenId), made.map((m) => m.record.tokenId).sort());
	assert.deepEqual(tokens.find((t) => t.name === 'two').scopes, ['read', 'submit', 'decide', 'worker', 'admin']);
	const page = await ok(rt, 'list_tokens', { limit: 1 });
	assert.equal(page.tokens.length, 1);
	const rest = await ok(rt, 'list_tokens', { limit: 1, cursor: page.nextCursor });
	assert.notEqual(rest.tokens[0].tokenId, page.tokens[0].tokenId);
	assert.equal(rest.nextCursor, undefined);
	await rt.stop();
	for (const { token } of made) {
		const secret = token.split('_')[2];
		const hits = execFileSync('sh', ['-c', `grep -rlaF -- ${secret} ${dataDir} || true`], { encoding: 'utf8' });
		assert.equal(hits, '', 'the secret is on disk');
		assert.ok(!rt.stderr.includes(secret), 'the secret is in the log');
	}
	const again = await startAgentd({ dataDir });
	assert.equal((await as(again, made[0].token, 'list_sessions')).status, 200, 'it works after a restart');
});

test('an admin sees and ends the tokens of its own tenant alone', async () => {
	const rt = await startAgentd();
	const acme = await create(rt, { scopes: ['admin'], tenant: 'acme' });
	const other = await create(rt, { name: 'other' });
	const { body } = await as(rt, acme.token, 'list_tokens');
	assert.deepEqual(body.tokens.map((t) => t.tokenId), [acme.record.tokenId]);
	const foreign = await as(rt, acme.token, 'revoke_token', { tokenId: other.record.tokenId });
	const unknown = await as(rt, acme.token, 'revoke_token', { tokenId: other.record.tokenId.replace(/.$/, (c) => (c === '0' ? '1' : '0')) });
	assert.equal(foreign.body.error.code, 'token_not_found');
	assert.equal(foreign.body.error.message.replace(/'.*'/, ''), unknown.body.error.message.replace(/'.*'/, ''));
	const own = await as(rt, acme.token, 'create_token', { name: 'child', scopes: ['read'] });
	assert.equal(own.body.record.tenant, 'acme');
	assert.equal((await as(rt, acme.token, 'create_token', { name: 'x', scopes: ['read'], tenant: 'local' })).body.error.code, 'not_authorized');
	assert.equal((await as(rt, other.token, 'list_sessions')).status, 200);
});

test('a repeated create names the same token and shows no secret', async () => {
	const rt = await startAgentd();
	const input = { name: 'ci', scopes: ['submit'], idempotencyKey: 'k1' };
	const first = await create(rt, input);
	const second = await create(rt, input);
	assert.equal(second.token, undefined);
	assert.deepEqual(second.record, first.record);
	await refused(rt, 'id_conflict', 'create_token', { ...input, scopes: ['read'] });
	assert.notEqual((await create(rt, { ...input, idempotencyKey: 'k2' })).record.tokenId, first.record.tokenId);
	for (const bad of [{ scopes: ['root'] }, { scopes: [] }, { tenant: 'a b' }, { expiresAt: '2001-01-01T00:00:00Z' }])
		await refused(rt, 'invalid_input', 'create_token', { name: 'x', scopes: ['read'], ...bad });
});

test('a rotated token has two secrets for a while', async () => {
	const rt = await startAgentd();
	const { token, record } = await create(rt, {});
	const next = await ok(rt, 'rotate_token', { tokenId: record.tokenId, graceSeconds: 2 });
	assert.equal((await as(rt, token, 'list_sessions')).status, 200);
	assert.equal((await as(rt, next.token, 'list_sessions')).status, 200);
	await waitFor(async () => (await as(rt, token, 'list_sessions')).status === 401, 'the old secret ends', 5000);
	assert.equal((await as(rt, next.token, 'list_sessions')).status, 200);
	const last = await ok(rt, 'rotate_token', { tokenId: record.tokenId, graceSeconds: 0 });
	assert.equal((await as(rt, next.token, 'list_sessions')).status, 401);
	assert.equal((await as(rt, last.token, 'list_sessions')).status, 200);
});

test('a token that expires or is revoked ends, and its streams with it', async () => {
	const rt = await startAgentd();
	const { sessionId } = await ok(rt, 'create_session', {});
	const brief = await create(rt, { expiresAt: new Date(Date.now() + 5000).toISOString() });
	const lasting = await create(rt, {});
	const kept = await create(rt, {});
	const streams = { brief: await stream(rt, brief.token, sessionId), lasting: await stream(rt, lasting.token, sessionId), kept: await stream(rt, kept.token, sessionId) };
	for (const s of Object.values(streams)) assert.equal(s.status, 200);
	const started = Date.now();
	assert.equal((await ok(rt, 'revoke_token', { tokenId: lasting.record.tokenId })).result, 'revoked');
	assert.equal((await ok(rt, 'revoke_token', { tokenId: lasting.record.tokenId })).result, 'no_op');
	assert.match((await as(rt, lasting.token, 'list_sessions')).body.error.message, /revoked/);
	await streams.lasting.ended;
	assert.ok(Date.now() - started < 4900, `the stream of a revoked token lived for ${Date.now() - started} ms`);
	await streams.brief.ended;
	assert.match((await as(rt, brief.token, 'list_sessions')).body.error.message, /expired/);
	const last = await Promise.race([streams.kept.ended.then(() => 'ended'), sleep(200).then(() => 'open')]);
	assert.equal(last, 'open');
});

test('who sends too much is told when to come back; others and the operator are not', async () => {
	const rt = await startAgentd({ config: { 'limits.token_rate': 5, 'limits.token_burst': 10, 'limits.token_streams': 2 } });
	const { sessionId } = await ok(rt, 'create_session', {});
	const busy = await create(rt, {});
	const quiet = await create(rt, {});
	const answers = await Promise.all(Array.from({ length: 30 }, () => as(rt, busy.token, 'list_sessions')));
	const slowed = answers.filter((a) => a.status === 429);
	assert.ok(slowed.length >= 15 && slowed.length <= 20, `${slowed.length} of 30 were refused`);
	const { error } = slowed.at(-1).body;
	assert.equal(error.code, 'rate_limited');
	assert.equal(error.retryable, true);
	assert.ok(error.retryAfterMs > 0 && error.retryAfterMs <= 1000, JSON.stringify(error));
	assert.equal(slowed.at(-1).headers['retry-after'], String(Math.ceil(error.retryAfterMs / 1000)));
	assert.equal((await as(rt, quiet.token, 'list_sessions')).status, 200);
	await Promise.all(Array.from({ length: 100 }, () => ok(rt, 'list_sessions', {})));
	await sleep(error.retryAfterMs);
	assert.equal((await as(rt, busy.token, 'list_sessions')).status, 200);
	const open = [await stream(rt, quiet.token, sessionId), await stream(rt, quiet.token, sessionId)];
	assert.deepEqual(open.map((s) => s.status), [200, 200]);
	assert.equal((await stream(rt, quiet.token, sessionId)).status, 429);
});

test('commands at once have a limit of their own', async () => {
	const rt = await startAgentd({ config: { 'limits.tenant_commands': 1, 'limits.token_commands': 1 } });
	const { token } = await create(rt, {});
	for (let i = 0; i < 20; i++) assert.equal((await as(rt, token, 'list_sessions')).status, 200, 'one after the other all are let in');
});

test('OPEN-59 who lacks the scope decide cannot answer a question: refused, no fact, it stays open; who has it is named by the fact', async () => {
	const { rt } = await world();
	const { sessionId } = await ask(rt, ['drop']);
	const [action] = await pending(rt, sessionId);
	const worker = await create(rt, { scopes: ['read', 'submit', 'worker'] });
	const judge = await create(rt, { scopes: ['decide'] });
	const before = (await readLog(rt, sessionId)).length;
	const no = await as(rt, worker.token, 'respond_action', { actionId: action.actionId, decision: 'allow' });
	assert.equal(no.body.error.code, 'not_authorized');
	assert.match(no.body.error.message, /decide/);
	assert.equal((await readLog(rt, sessionId)).length, before);
	assert.equal((await pending(rt, sessionId))[0].actionId, action.actionId);
	assert.equal((await as(rt, judge.token, 'respond_action', { actionId: action.actionId, decision: 'deny' })).status, 200);
	const [resolved] = await facts(rt, sessionId, 'action.resolved');
	assert.ok(JSON.stringify(resolved).includes(`token:${judge.record.tokenId}`), JSON.stringify(resolved));
});

test('OPEN-59 facts of the queue, of interruption, of steering and of edges between tasks name who asked; what the runtime does by itself names nobody', async () => {
	const { rt } = await world();
	const maker = await create(rt, { name: 'maker', scopes: ['read', 'submit'] });
	const other = await create(rt, { name: 'other', scopes: ['read', 'submit'] });
	const by = (made) => `token:${made.record.tokenId}`;
	const must = async (made, command, input) => {
		const { status, body } = await as(rt, made.token, command, input);
		assert.ok(status < 300, `${command}: ${JSON.stringify(body)}`);
		return body;
	};
	const { sessionId, threadId, turnId } = await must(maker, 'submit_turn', { createPolicy: {}, text: '[[hang]]' });
	const queued = [];
	for (const text of ['one', 'two', 'three']) queued.push((await must(maker, 'submit_turn', { sessionId, text, busyPolicy: 'queue' })).turnId);
	await waitFor(async () => (await facts(rt, sessionId, 'model.requested')).length === 1, 'the call');
	await must(other, 'promote_queued_turn', { sessionId, queuedTurnId: queued[1] });
	await must(other, 'remove_queued_turn', { sessionId, queuedTurnId: queued[0] });
	await must(other, 'steer_turn', { sessionId, threadId, turnId, input: [{ type: 'text', text: 'in German' }] });
	const [a, b] = [await must(maker, 'create_task', { sessionId, objective: 'a' }), await must(maker, 'create_task', { sessionId, objective: 'b' })];
	const edge = { sourceId: a.taskId, targetId: b.taskId, kind: 'blocked_by' };
	await must(other, 'link_tasks', edge);
	await must(maker, 'unlink_tasks', edge);
	await must(other, 'interrupt_turn', { sessionId, turnId, reason: 'enough' });
	await waitFor(async () => (await facts(rt, sessionId, 'turn.completed')).length === 2, 'the end of those that waited');
	const queue = await facts(rt, sessionId, 'queue.changed');
	assert.deepEqual(queue.map((e) => [e.payload.change, e.payload.actor]), [...queued.map(() => ['enqueued', by(maker)]), ['promoted', by(other)], ['removed', by(other)], ['dequeued', undefined], ['dequeued', undefined]]);
	const status = (await facts(rt, sessionId, 'run.status')).filter((e) => ['steered', 'interrupting'].includes(e.payload.phase));
	assert.deepEqual(status.map((e) => [e.payload.phase, e.payload.actor]), [['steered', by(other)], ['interrupting', by(other)]]);
	assert.deepEqual((await facts(rt, sessionId, 'task.dependency.updated')).map((e) => [e.payload.change, e.payload.actor]), [['added', by(other)], ['removed', by(maker)]]);
});

test('OPEN-59 tasks that go on or are tried again and child agents that are closed or go on name who asked; what follows by itself names nobody', async () => {
	const { rt } = await world();
	const maker = await create(rt, { name: 'maker', scopes: ['read', 'submit', 'worker'] });
	const other = await create(rt, { name: 'other', scopes: ['read', 'submit', 'decide'] });
	const by = (made) => `token:${made.record.tokenId}`;
	const must = async (made, command, input) => {
		const { status, body } = await as(rt, made.token, command, input);
		assert.ok(status < 300, `${command}: ${JSON.stringify(body)}`);
		return body;
	};
	const { sessionId, threadId, turnId } = await must(maker, 'submit_turn', { createPolicy: {}, text: '[[hang]]' });
	const named = async (type, of) => (await facts(rt, sessionId, type)).filter(of).map((e) => e.payload.actor);
	const { taskId } = await must(maker, 'create_task', { sessionId, objective: 'a' });
	const ofTask = (e) => e.taskId === taskId;
	await must(maker, 'start_task', { taskId, worker: { kind: 'worker' } });
	await must(maker, 'pause_task', { taskId, reason: 'lunch' });
	await must(other, 'resume_task', { taskId, reason: 'back' });
	assert.deepEqual(await named('task.resumed', ofTask), [by(other)]);
	await must(maker, 'fail_task', { taskId, error: { category: 'c', message: 'm' }, retryable: true });
	await must(other, 'retry_task', { taskId, retryReason: 'again' });
	assert.deepEqual(await named('task.retrying', ofTask), [by(other)]);

	const spawn = async (objective) => (await must(maker, 'spawn_subagent', { sessionId, threadId, turnId, objective })).subagentId;
	const [done, busy] = [await spawn('[[say x]]'), await spawn('[[hang]]')];
	await waitFor(async () => (await facts(rt, sessionId, 'subagent.completed')).length === 1, 'the end of the first');
	await must(other, 'close_subagent', { subagentId: done });
	await must(other, 'close_subagent', { subagentId: busy });
	await waitFor(async () => (await facts(rt, sessionId, 'subagent.closed')).length === 2, 'the end of the second');
	const closed = (await facts(rt, sessionId, 'subagent.closed')).map((e) => [e.subagentId, e.payload.actor]);
	assert.deepEqual(closed, [[done, by(other)], [busy, undefined]], 'nothing of the first ran; the model call of the second ended later');
	const asked = (e) => e.payload.statusDetail === 'closing';
	assert.deepEqual(await named('subagent.status', asked), [by(other), by(other)]);
	assert.deepEqual(new Set(await named('subagent.status', (e) => !asked(e))), new Set([undefined]), 'that it runs nobody asked for');

	const question = await must(maker, 'submit_turn', { createPolicy: {}, text: wants('write'), options: { tools: Object.values(tools) } });
	const [{ actionId }] = await pending(rt, question.sessionId);
	await must(other, 'respond_action', { actionId, decision: 'deny' });
	assert.deepEqual((await facts(rt, question.sessionId, 'task.resumed')).map((e) => e.payload.actor), [by(other)]);
	await must(maker, 'interrupt_turn', { sessionId, turnId, reason: 'enough' });
});
