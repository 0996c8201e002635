// Rules that need the approval of other people: who counts as a person, whose approval counts, and what survives a crash.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { dirname } from 'node:path';
import { before, test } from 'node:test';
import { facts, pending, serve, tools, wants } from '../lib/gate.mjs';
import { checkError, ok, refused, request, waitFor, world } from '../lib/runtime.mjs';

const OTHER = 65534;
const rules = [
	{ name: 'plain', effect: 'ask', tool: '*' },
	{ name: 'two-keys', effect: 'ask', tool: 'drop', approvals: 2 },
	{ name: 'four-eyes', effect: 'ask', tool: 'write', approvals: 1 },
];

let w;
const tokens = {};

/** One call as the holder of a token; without one as the daemon's own user. { status, body } */
async function by(who, command, input, via) {
	const headers = who ? { authorization: `Bearer ${tokens[who]}` } : {};
	const { status, text } = await request(w.rt, { path: `/v1/${command}`, body: JSON.stringify(input), headers, via });
	const body = JSON.parse(text);
	if (status >= 300) checkError(status, body);
	return { status, body, code: body.error?.code, message: body.error?.message };
}

const approve = (who, actionId, more, via) => by(who, 'respond_action', { actionId, decision: 'allow', ...more }, via);

/** A turn of that person that wants a tool; the session and its question. */
async function asked(who, tool, more = {}) {
	const { body } = await by(who, 'submit_turn', { createPolicy: {}, text: wants(tool), options: { tools: Object.values(tools) }, ...more });
	const [action] = await pending(w.rt, body.sessionId);
	return { ...body, action, actionId: action.actionId };
}

const began = async (sessionId) => (await facts(w.rt, sessionId, 'tool.started')).filter((e) => e.payload.runtimeOwner);
const shown = async (sessionId) => (await pending(w.rt, sessionId))[0].approvals;

/** Ends what runs in a session. */
async function stop(sessionId) {
	await ok(w.rt, 'interrupt_turn', { sessionId, reason: 'enough' });
	await waitFor(async () => (await ok(w.rt, 'get_session', { sessionId })).threads[0].status === 'idle', 'an idle thread');
}

before(async () => {
	w = await world({ config: { permission_rules: rules, 'permission.mode': 'bypass', 'auth.socket': 'anyone' } });
	const make = async (name, input, maker) => (tokens[name] = (await by(maker, 'create_token', { name, scopes: ['admin'], ...input })).body.token);
	for (const name of ['alice', 'bob', 'carol']) await make(name, { owner: name });
	await make('mine', {});
	await make('alices-second', {}, 'alice');
});

test('two other people have to approve; who gave the work is told so, and one approval is not enough', async () => {
	const { sessionId, actionId, action, turnId } = await asked('alice', 'drop');
	assert.deepEqual(action.decisions, ['allow', 'deny']);
	assert.deepEqual(action.approvals, { needed: 2, given: 0, by: [] });
	assert.match(action.title, /2 people have to approve who did not give the work/);
	assert.equal((await facts(w.rt, sessionId, 'action.required'))[0].payload.approvals, 2);
	const own = await approve('alice', actionId);
	assert.equal(own.code, 'other_person_needed');
	assert.match(own.message, /another person must approve/);
	const first = await approve('bob', actionId);
	assert.deepEqual([first.body.decision, first.body.approvals, first.body.approvalsNeeded, first.body.resolvedAt], ['pending', 1, 2, undefined]);
	const twice = await approve('bob', actionId);
	assert.equal(twice.code, 'already_approved');
	assert.match(twice.message, /person:bob .*1 of 2 approvals/);
	assert.deepEqual((await shown(sessionId)).by.map((a) => a.person), ['person:bob']);
	assert.equal((await began(sessionId)).length, 0, 'nothing runs before both');
	const last = await approve('carol', actionId);
	assert.deepEqual([last.body.decision, last.body.approvals], ['allow', 2]);
	assert.equal((await serve(w.rt, sessionId, turnId)).type, 'turn.completed');
	const [resolved] = await facts(w.rt, sessionId, 'action.resolved');
	assert.deepEqual(resolved.payload.approvals.map((a) => a.person), ['person:bob', 'person:carol']);
	const lines = (await facts(w.rt, sessionId, 'run.status')).filter((e) => e.payload.phase === 'action_approved');
	assert.deepEqual(lines.map((e) => [e.payload.title, e.payload.detail, e.actionId]), [['1 of 2 approvals', 'person:bob', actionId], ['2 of 2 approvals', 'person:carol', actionId]]);
	assert.match((await facts(w.rt, sessionId, 'permission.resolved'))[0].payload.decisionReason, /2 of 2 people approved/);
	assert.equal((await began(sessionId)).length, 1);
});

test('the same person over another token, transport, channel or name is the same person', async () => {
	const { sessionId, actionId } = await asked('alice', 'drop');
	for (const [who, more] of [['alices-second', {}], ['alice', { actor: { name: 'bob', id: 'person:bob' } }], ['alices-second', { actor: { accountRef: 'x' } }]])
		assert.equal((await approve(who, actionId, more)).code, 'other_person_needed', who);
	const channel = (await by('alice', 'connect_channel', { sessionId, transport: 'sse', role: 'approver', capabilities: {} })).body;
	if (channel.channelId) assert.equal((await approve('alice', actionId, { channelId: channel.channelId })).code, 'other_person_needed');
	assert.equal((await by('alice', 'resolve_permission', { actionId, decision: 'allow' })).code, 'other_person_needed');
	// the daemon's own user by TCP, by the socket, and by a token without another owner: one person
	assert.equal((await approve(undefined, actionId)).body.approvals, 1);
	assert.equal((await approve(undefined, actionId, {}, 'socket')).code, 'already_approved');
	assert.equal((await approve('mine', actionId)).code, 'already_approved');
	assert.equal((await by('bob', 'resolve_permission', { actionId, decision: 'allowed' })).body.outcome, 'allowed');
	assert.equal((await serve(w.rt, sessionId)).type, 'turn.completed');
});

test('nobody becomes another person by making or renewing tokens', async () => {
	assert.equal((await by('alice', 'create_token', { name: 'x', scopes: ['decide'], owner: 'bob' })).code, 'not_authorized');
	const { sessionId, actionId } = await asked('alice', 'write');
	const theirs = (await by(undefined, 'create_token', { name: 'taken', scopes: ['decide'], owner: 'bob' })).body;
	tokens.taken = (await by('alice', 'rotate_token', { tokenId: theirs.record.tokenId })).body.token;
	assert.equal((await approve('taken', actionId)).code, 'other_person_needed');
	assert.equal((await by(undefined, 'list_tokens', {})).body.tokens.find((t) => t.name === 'taken').owner, 'person:alice');
	assert.equal((await by('bob', 'respond_action', { actionId, decision: 'deny' })).body.decision, 'deny');
	await serve(w.rt, sessionId);
});

test('with approvals: 1 one other person is enough, and one refusal ends it, also that of who gave the work', async () => {
	const one = await asked('alice', 'write');
	assert.equal((await approve('bob', one.actionId, { payload: { scope: 'session' } })).code, 'invalid_decision');
	assert.equal((await approve('bob', one.actionId)).body.decision, 'allow');
	await serve(w.rt, one.sessionId);
	const again = await asked('alice', 'write', { sessionId: one.sessionId, createPolicy: undefined });
	await by('alice', 'respond_action', { actionId: again.actionId, decision: 'deny' });
	const half = await asked('alice', 'drop');
	await approve('bob', half.actionId);
	assert.equal((await by('carol', 'respond_action', { actionId: half.actionId, decision: 'deny' })).body.decision, 'deny');
	assert.equal((await approve('bob', half.actionId)).code, 'already_resolved');
	await serve(w.rt, half.sessionId);
	assert.equal((await began(half.sessionId)).length, 0);
});

test('who steers the turn gave the work too', async () => {
	const { sessionId, threadId, turnId, actionId } = await asked('alice', 'write');
	assert.equal((await by('bob', 'steer_turn', { sessionId, threadId, turnId, input: [{ type: 'text', text: 'and more' }] })).body.accepted, true);
	assert.equal((await approve('bob', actionId)).code, 'other_person_needed');
	assert.equal((await approve('carol', actionId)).body.decision, 'allow');
	await serve(w.rt, sessionId, turnId);
});

test('a task is the work of who made it and who started it, whatever requestedBy says', async () => {
	const { body: { sessionId } } = await by('alice', 'create_session', {});
	const task = await by('alice', 'create_task', { sessionId, objective: wants('write'), requestedBy: { kind: 'caller', id: 'person:zoe' }, constraints: { tools: [tools.write] } });
	await by('bob', 'start_task', { taskId: task.body.taskId, worker: { kind: 'agent' } });
	const [{ actionId }] = await pending(w.rt, sessionId);
	for (const who of ['alice', 'bob']) assert.equal((await approve(who, actionId)).code, 'other_person_needed', who);
	assert.equal((await approve('carol', actionId)).body.decision, 'allow');
});

test('half approved it survives kill -9, and the same people still count once', async () => {
	const { sessionId, turnId, actionId } = await asked('alice', 'drop');
	await approve('bob', actionId);
	await w.rt.kill9();
	w.rt = await w.again();
	assert.deepEqual([(await shown(sessionId)).given, (await shown(sessionId)).by[0].person], [1, 'person:bob']);
	assert.equal((await approve('bob', actionId)).code, 'already_approved');
	assert.equal((await approve('alice', actionId)).code, 'other_person_needed');
	const { body } = await by('carol', 'list_actions', { sessionId });
	assert.deepEqual([body.actions[0].approvals.given, body.actions[0].approvals.needed], [1, 2]);
	assert.equal((await approve('carol', actionId)).body.decision, 'allow');
	assert.equal((await serve(w.rt, sessionId, turnId)).type, 'turn.completed');
});

test('an interrupt ends a half approved question, and the next turn needs all of them again', async () => {
	const { sessionId, actionId } = await asked('alice', 'drop');
	await approve('bob', actionId);
	await stop(sessionId);
	assert.equal((await approve('carol', actionId)).code, 'already_resolved');
	const next = await asked('alice', 'drop', { sessionId, createPolicy: undefined });
	assert.deepEqual(next.action.approvals, { needed: 2, given: 0, by: [] });
	await stop(sessionId);
});

test('a rule for several people asks in mode bypass, and no session rule or grant lowers the number', async () => {
	const { body: { sessionId } } = await by('alice', 'create_session', {});
	await ok(w.rt, 'set_policy', { scope: 'session', scopeId: sessionId, rules: [{ name: 'mine', tool: 'drop', decision: 'ask', approvals: 1 }, { name: 'more', tool: 'write', decision: 'ask', approvals: 2 }] });
	const { action } = await asked('alice', 'drop', { sessionId, createPolicy: undefined });
	assert.equal(action.approvals.needed, 2);
	await stop(sessionId);
	const more = await asked('alice', 'write', { sessionId, createPolicy: undefined });
	assert.equal(more.action.approvals.needed, 2, 'a session may ask for more');
	await stop(sessionId);
	for (const rule of [{ approvals: 6 }, { approvals: -1 }, { approvals: '2' }, { approvals: 2, decision: 'deny' }])
		await refused(w.rt, 'invalid_policy', 'set_policy', { scope: 'session', scopeId: sessionId, rules: [{ name: 'x', tool: '*', decision: 'ask', ...rule }] }, { loose: true });
});

test('users of the machine are people of their own, by what the kernel says', { skip: process.getuid() !== 0 && 'needs root' }, async () => {
	for (const path of [w.rt.dataDir, dirname(dirname(w.rt.socket)), dirname(w.rt.socket)]) chmodSync(path, 0o755);
	chmodSync(w.rt.socket, 0o666);
	const as = (uid, command, input) => JSON.parse(execFileSync('setpriv', [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', 'curl', '-s', '--unix-socket', w.rt.socket,
		'-H', 'content-type: application/json', '-d', JSON.stringify(input), `http://localhost/v1/${command}`], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: '/nonexistent' } }));
	const { sessionId } = as(OTHER, 'submit_turn', { createPolicy: {}, text: wants('write'), options: { tools: Object.values(tools) } });
	const [{ actionId }] = await pending(w.rt, sessionId);
	const own = as(OTHER, 'create_token', { name: 'its', scopes: ['decide'] });
	assert.equal(own.record.owner, `uid:${OTHER}`);
	tokens.its = own.token;
	assert.equal(as(OTHER, 'create_token', { name: 'its', scopes: ['decide'], owner: 'bob' }).error.code, 'not_authorized');
	assert.match(as(OTHER, 'respond_action', { actionId, decision: 'allow' }).error.message, new RegExp(`another person must approve .*uid:${OTHER}`));
	assert.equal((await approve('its', actionId)).code, 'other_person_needed');
	assert.equal((await approve(undefined, actionId)).body.decision, 'allow');
	await serve(w.rt, sessionId);
});
