// The wall between tenants: every command of the catalogue with ids of one's own, of another tenant and of nobody, with every scope. What
// is refused is refused alike, whoever has the id, and leaves no fact.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { request, sleep, waitFor } from '../lib/runtime.mjs';
import { ask, commands, factsOf, homeOf, must, SCOPES, tenants, unknownIds } from './tenants.mjs';

let w, nobody;

before(async () => {
	w = await tenants();
	nobody = unknownIds(w.acme.ids);
});

// ---- inputs, from the schemas ----

const NAMED = {
	threadId: 'threadId', turnId: 'turnId', taskId: 'taskId', actionId: 'actionId', requestId: 'actionId', queuedTurnId: 'queuedTurnId',
	sessionId: 'sessionId', scopeId: 'sessionId', parentTaskId: 'taskId', sourceId: 'taskId', targetId: 'taskId', id: 'turnId', outputRef: 'outputRef', tokenId: 'tokenId', workspaceId: 'workspaceId', workerId: 'workerId', scheduleId: 'scheduleId',
};
const INNER = { processId: 'proc', toolCallId: 'tool', subagentId: 'sub', channelId: 'chan', jobId: 'job', jobItemId: 'item', runId: 'run', evidenceId: 'ev', trialId: 'trial', checkpointId: 'cp', from: 'cp', to: 'cp' };
// Ids that the caller gives to something new, and what such commands refuse when they are minted ones.
const CHOSEN = { create_session: ['workspaceId'], submit_turn: ['turnId', 'taskId', 'channelId'], create_task: ['taskId'], start_task: ['runId'], retry_task: ['runId'], spawn_subagent: ['subagentId'], send_subagent_input: ['turnId'], create_job: ['jobId', 'taskId'], export_evidence: ['evidenceId'] };

function idFor(command, name, ids) {
	if (CHOSEN[command]?.includes(name)) return undefined;
	if (command === 'create_workspace' && name === 'worker') return ids.workerId;
	if (NAMED[name]) return ids[NAMED[name]];
	return INNER[name] ? `${INNER[name]}_${ids.core}_1` : undefined;
}

function valueFor(schema) {
	if (schema.enum) return schema.enum[0];
	if (schema.const !== undefined) return schema.const;
	const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
	return { string: schema.format === 'date-time' ? '2026-01-01T00:00:00Z' : 'x', integer: schema.minimum ?? 1, number: 1, boolean: true, object: {}, array: [] }[type] ?? 'x';
}

/** What is required, all ids at once, and each id alone. */
function inputsFor({ name, input }, ids) {
	const named = Object.keys(input.properties ?? {}).filter((k) => idFor(name, k, ids));
	const base = Object.fromEntries((input.required ?? []).map((k) => [k, idFor(name, k, ids) ?? valueFor(input.properties[k])]));
	const rules = input.allOf ?? (input.anyOf ? [input] : []);
	for (const { anyOf = [] } of rules) {
		const choices = anyOf.map((one) => one.required[0]);
		const free = choices.find((k) => !idFor(name, k, ids));
		if (free && !choices.some((k) => base[k] !== undefined || idFor(name, k, ids))) base[free] = valueFor(input.properties[free]);
	}
	if (name === 'submit_turn') base.text = 'x';
	if (name === 'wait_subagents') base.subagentIds = [`sub_${ids.core}_1`];
	if (name === 'create_workspace') base.idempotencyKey = 'wall'; // so that two answers are one
	if (name === 'create_worker') base.labels = { x: 1 }; // makes none: no two are alike
	if (name === 'create_schedule') base.start = { text: 'x', sessionId: ids.sessionId };
	if (name === 'set_policy') Object.assign(base, { scope: 'session', scopeId: ids.sessionId, rules: [] });
	const all = { ...base, ...Object.fromEntries(named.map((k) => [k, idFor(name, k, ids)])) };
	const one = named.map((k) => ({ ...base, [k]: all[k] }));
	const more = name === 'submit_turn' ? [{ ...base, sessionId: ids.sessionId, createPolicy: {} }] : [];
	return [all, ...one, ...more];
}

// ---- comparison ----

const blur = (text, ids) => text.replaceAll(ids.core, '#').replaceAll(ids.tokenId, '#').replaceAll(ids.workspaceId, '#').replaceAll(ids.workerId, '#').replaceAll(ids.scheduleId, '#');
const alike = (answer, ids) => ({ status: answer.status, headers: answer.headers, text: blur(answer.text, ids) });

/** How far every session is, and which there are. */
async function heads() {
	const found = {};
	for (const t of [w.acme, w.zeta]) {
		const { sessions } = await must(w.rt, t.tokens.admin, 'list_sessions', { limit: 200 });
		for (const s of sessions) found[s.sessionId] = (await must(w.rt, t.tokens.admin, 'get_session', { sessionId: s.sessionId })).asOfSequence;
	}
	return found;
}

// ---- the matrix ----

const may = (scope, command) => scope === command.scope || scope === 'admin';

for (const command of commands) {
	test(`${command.name}: another tenant's ids answer like nobody's, for every scope`, async () => {
		const start = await heads();
		const theirs = inputsFor(command, w.acme.ids), none = inputsFor(command, nobody), own = inputsFor(command, w.zeta.ids);
		for (const scope of SCOPES)
			for (const [i, input] of theirs.entries()) {
				const token = w.zeta.tokens[scope];
				const foreign = await ask(w.rt, token, command.name, input);
				const unknown = await ask(w.rt, token, command.name, none[i]);
				assert.deepEqual(alike(foreign, w.acme.ids), alike(unknown, nobody), JSON.stringify(input));
				if (may(scope, command)) {
					if (i === 0 && command.built && !['create_session', 'create_token', 'create_worker'].includes(command.name)) assert.notEqual(foreign.body.error?.code, 'invalid_input', foreign.text);
					// Settings are the server's: no scope of a tenant reads them. A worker is enrolled with its own token alone. Positions of webhooks and push configurations are for the runtime alone.
					assert.equal(foreign.body.error?.code === 'not_authorized', ['get_settings', 'enrol_worker', 'report_webhook', 'set_task_push', 'remove_task_push', 'list_task_pushes'].includes(command.name), foreign.text);
					continue;
				}
				const mine = await ask(w.rt, token, command.name, own[i]);
				assert.equal(foreign.body.error?.code, 'not_authorized', foreign.text);
				assert.match(foreign.body.error.message, new RegExp(`'${command.scope}'`));
				assert.deepEqual(alike(mine, w.zeta.ids), alike(foreign, w.acme.ids));
			}
		const left = await heads();
		for (const id of ['create_session', 'create_token'].includes(command.name) ? Object.keys(start) : Object.keys(left)) assert.equal(left[id], start[id], `${command.name} wrote to ${id}`);
	});
}

/** Whether it was refused, and how; what is one's own changes from call to call. */
const outcome = (answer, ids) => [answer.status, answer.body.error ? blur(answer.text, ids) : ''];

test('ids of another tenant beside a session of one\'s own answer like those of nobody', async () => {
	const ofAcme = async () => (await must(w.rt, w.acme.tokens.admin, 'get_session', { sessionId: w.acme.ids.sessionId })).asOfSequence;
	const start = await ofAcme();
	for (const command of commands.filter((c) => c.input.properties.sessionId && c.built && c.name !== 'subscribe_events')) {
		const mixed = (ids) => ({ ...inputsFor(command, ids)[0], sessionId: w.zeta.ids.sessionId });
		const foreign = await ask(w.rt, w.zeta.tokens.admin, command.name, mixed(w.acme.ids));
		const unknown = await ask(w.rt, w.zeta.tokens.admin, command.name, mixed(nobody));
		assert.deepEqual(outcome(foreign, w.acme.ids), outcome(unknown, nobody), command.name);
	}
	assert.equal(await ofAcme(), start);
});

test('one\'s own ids are answered: the wall has a door', async () => {
	const { tokens, ids } = w.zeta;
	assert.equal((await must(w.rt, tokens.read, 'get_session', { sessionId: ids.sessionId })).sessionId ?? ids.sessionId, ids.sessionId);
	await must(w.rt, tokens.read, 'get_task', { taskId: ids.taskId });
	await must(w.rt, tokens.read, 'read_output', { outputRef: ids.outputRef });
	await must(w.rt, tokens.read, 'explain', { id: ids.turnId });
	await must(w.rt, tokens.submit, 'promote_queued_turn', { queuedTurnId: ids.queuedTurnId, sessionId: ids.sessionId });
	const [created] = await factsOf(w.rt, tokens.admin, ids.sessionId);
	assert.equal(created.type, 'session.created');
	assert.equal(created.payload.tenant, 'zeta');
	assert.match(created.payload.accountRef, /^token:tok_/);
});

test('OPEN-59 a call without its scope is refused with the name of that scope, and leaves no fact', async () => {
	const { tokens, ids } = w.zeta, start = await heads();
	const said = await ask(w.rt, tokens.read, 'submit_turn', { sessionId: ids.sessionId, text: 'x' });
	assert.deepEqual([said.status, said.body.error.code], [403, 'not_authorized']);
	assert.match(said.body.error.message, /submit_turn needs the scope 'submit'/);
	assert.equal((await ask(w.rt, tokens.submit, 'respond_action', { actionId: ids.actionId, decision: 'deny' })).status, 403);
	assert.deepEqual(await heads(), start);
	await must(w.rt, tokens.decide, 'respond_action', { actionId: ids.actionId, decision: 'deny' });
	const { payload } = (await factsOf(w.rt, tokens.admin, ids.sessionId)).find((f) => f.type === 'action.resolved');
	assert.match(JSON.stringify(payload), /token:tok_/);
});

// ---- lists ----

test('lists hold what is the tenant\'s, and a cursor of one is of no use to another', async () => {
	const extra = await must(w.rt, w.acme.tokens.submit, 'create_session', { title: 'second' });
	const lists = async (token) => (await must(w.rt, token, 'list_sessions', { limit: 200 })).sessions.map((s) => s.sessionId);
	const acme = await lists(w.acme.tokens.read), zeta = await lists(w.zeta.tokens.read), local = await lists();
	assert.deepEqual(acme.filter((id) => zeta.includes(id) || local.includes(id)), []);
	assert.ok(acme.includes(w.acme.ids.sessionId) && acme.includes(extra.sessionId) && zeta.includes(w.zeta.ids.sessionId));
	const page = await must(w.rt, w.acme.tokens.read, 'list_sessions', { limit: 1 });
	const other = await must(w.rt, w.zeta.tokens.read, 'list_sessions', { cursor: page.nextCursor, limit: 200 });
	assert.deepEqual(other.sessions.filter((s) => !zeta.includes(s.sessionId)), []);
	const actions = async (token, more = {}) => (await must(w.rt, token, 'list_actions', { status: 'all', ...more })).actions.map((a) => a.actionId);
	assert.deepEqual(await actions(w.acme.tokens.read), [w.acme.ids.actionId]);
	assert.deepEqual(await actions(w.zeta.tokens.read), [w.zeta.ids.actionId]);
	assert.deepEqual(await actions(), []);
	assert.deepEqual(await actions(w.zeta.tokens.read, { sessionId: w.acme.ids.sessionId }), []);
});

// ---- ids that a caller chooses ----

test('keys and ids of a caller\'s own are the tenant\'s own', async () => {
	const idempotencyKey = 'the same in both', turnId = 'my.turn';
	const a = await must(w.rt, w.acme.tokens.submit, 'create_session', { idempotencyKey });
	const z = await must(w.rt, w.zeta.tokens.submit, 'create_session', { idempotencyKey, title: 'another' });
	assert.notEqual(a.sessionId, z.sessionId);
	for (const [t, s] of [[w.acme, a], [w.zeta, z]]) await must(w.rt, t.tokens.submit, 'submit_turn', { sessionId: s.sessionId, text: t.tokens.read, turnId });
	const stolen = w.acme.ids.outputRef.replace(w.acme.ids.core, w.zeta.ids.core);
	const missing = stolen.slice(0, -1) + (stolen.endsWith('0') ? '1' : '0');
	const [x, y] = [await ask(w.rt, w.zeta.tokens.read, 'read_output', { outputRef: stolen }), await ask(w.rt, w.zeta.tokens.read, 'read_output', { outputRef: missing })];
	assert.equal(x.body.error.code, 'ref_not_found');
	assert.equal(x.text.replaceAll(stolen, ''), y.text.replaceAll(missing, ''));
});

test('a session id that a caller chooses tells nothing of another tenant', async () => {
	const create = (token, core) => ask(w.rt, token, 'create_session', { sessionId: `sess_${core}` });
	const advice = (await create(w.zeta.tokens.submit, w.acme.ids.core)).body.error;
	assert.equal(advice.code, 'invalid_input');
	const mark = /ends in (\w{8})/.exec(advice.message)[1];
	const chosen = `01abcdefgh` + 'g' + '0123456' + mark;
	assert.equal((await create(w.zeta.tokens.submit, chosen)).body.sessionId, `sess_${chosen}`);
	assert.equal((await create(w.zeta.tokens.submit, chosen)).body.sessionId, `sess_${chosen}`);
	for (const token of [w.acme.tokens.submit, undefined]) {
		const taken = await create(token, chosen), free = await create(token, chosen.replace('0123456', '6543210'));
		assert.deepEqual([taken.status, taken.text], [free.status, free.text]);
		assert.equal(taken.body.error.code, 'invalid_input');
	}
	const plain = '01abcdefgh' + 'e' + '0123456' + '76543210';
	assert.equal((await create(undefined, plain)).body.sessionId, `sess_${plain}`);
});

// ---- streams ----

test('a stream of another tenant ends like one of nobody', async () => {
	const open = async (token, path) => {
		const { status, headers, text } = await request(w.rt, { method: 'GET', path, headers: { authorization: `Bearer ${token}`, 'x-request-id': 'wall' } });
		delete headers.date;
		return { status, headers, text };
	};
	for (const scope of SCOPES)
		for (const path of ['', '?after=now', '?fromSequence=3', '?threadId=T', '?types=turn.started'].map((q) => (ids) => `/v1/sessions/${ids.sessionId}/events${q.replace('T', ids.threadId)}`)) {
			const foreign = await open(w.zeta.tokens[scope], path(w.acme.ids)), unknown = await open(w.zeta.tokens[scope], path(nobody));
			assert.deepEqual(alike(foreign, w.acme.ids), alike(unknown, nobody));
			assert.match(foreign.text, scope === 'read' || scope === 'admin' ? /session_not_found/ : /not_authorized/);
		}
});

// ---- the home session ----

test('OPEN-13 refusals are facts of the home of a tenant, which only its administrators read and no list shows', async () => {
	const sessionId = homeOf('zeta'), { tokens } = w.zeta;
	for (let i = 0; i < 50; i++) await ask(w.rt, tokens.worker, 'get_session', { sessionId: w.zeta.ids.sessionId });
	const facts = await waitFor(async () => (await ask(w.rt, tokens.admin, 'get_session', { sessionId, limit: 200 })).body.history?.events, 'a home');
	assert.deepEqual([facts[0].type, facts[0].payload.tenant, facts[0].payload.title], ['session.created', 'zeta', 'Home']);
	const told = facts.filter((f) => f.type === 'access.refused');
	assert.ok(told.length > 0 && told.length < 2 * SCOPES.length, `${told.length} facts of a flood`);
	for (const { payload } of told) {
		assert.match(payload.actor, /^token:tok_/);
		assert.equal(payload.code, 'not_authorized');
	}
	const made = facts.filter((f) => f.type === 'access.changed');
	assert.ok(made.length >= SCOPES.length);
	assert.equal(made[0].payload.command, 'create_token');
	for (const scope of SCOPES.slice(0, -1)) assert.equal((await ask(w.rt, tokens[scope], 'get_session', { sessionId })).body.error.code, 'not_authorized');
	const listed = (await must(w.rt, tokens.read, 'list_sessions', { limit: 200 })).sessions.map((s) => s.sessionId);
	assert.ok(!listed.includes(sessionId));
});

test('nobody writes to a home, nor learns whether another tenant has one', async () => {
	const write = (token, sessionId) => ask(w.rt, token, 'submit_turn', { sessionId, createPolicy: {}, text: 'x' });
	assert.equal((await write(w.zeta.tokens.submit, homeOf('zeta'))).body.error.code, 'not_authorized');
	for (const token of [w.zeta.tokens.admin, undefined])
		for (const name of ['get_session', 'submit_turn', 'create_session']) {
			const [theirs, none] = await Promise.all(['acme', 'no such tenant'].map((t) => ask(w.rt, token, name, { sessionId: homeOf(t), ...(name === 'submit_turn' ? { createPolicy: {}, text: 'x' } : {}) })));
			assert.deepEqual([theirs.status, theirs.text], [none.status, none.text]);
			assert.ok(theirs.status >= 400);
		}
});

test('a tenant verifies what is its own, the operator everything', async () => {
	const verify = (token, input = {}) => ask(w.rt, token, 'verify', input);
	const found = async (token) => (await verify(token, { limit: 200 })).body.sessions;
	for (const [token, ours, theirs] of [[w.acme.tokens.admin, w.acme, w.zeta], [w.zeta.tokens.admin, w.zeta, w.acme]]) {
		const ids = (await found(token)).map((s) => s.sessionId);
		assert.ok(ids.includes(ours.ids.sessionId) && !ids.includes(theirs.ids.sessionId));
	}
	const all = await found();
	for (const id of [w.acme.ids.sessionId, w.zeta.ids.sessionId, homeOf('zeta')]) assert.ok(all.some((s) => s.sessionId === id), id);
	for (const s of all) assert.equal(s.status, 'ok', JSON.stringify(s));
	const [foreign, unknown] = [await verify(w.zeta.tokens.admin, { sessionId: w.acme.ids.sessionId }), await verify(w.zeta.tokens.admin, { sessionId: nobody.sessionId })];
	assert.deepEqual(alike(foreign, w.acme.ids), alike(unknown, nobody));
	assert.equal((await verify(w.zeta.tokens.read, {})).body.error.code, 'not_authorized');
});

// ---- time ----

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

test('the time of an answer does not tell whether there is such a session, however large', async () => {
	const { sessionId: big } = await must(w.rt, w.acme.tokens.submit, 'create_session', {});
	for (let i = 0; i < 60; i++) await must(w.rt, w.acme.tokens.submit, 'submit_turn', { sessionId: big, text: `[[tokens 200]] ${i}`, busyPolicy: 'queue' });
	await waitFor(async () => (await must(w.rt, w.acme.tokens.read, 'get_session', { sessionId: big })).status === 'idle', 'the end of its turns');
	await w.rt.stop(); // from here on it is on disk, and not in memory
	w.rt = await w.again();
	const took = async (sessionId) => {
		const start = process.hrtime.bigint();
		await ask(w.rt, w.zeta.tokens.read, 'get_session', { sessionId });
		return Number(process.hrtime.bigint() - start) / 1000;
	};
	let ratio;
	for (let round = 0; round < 5; round++) {
		const times = { foreign: [], unknown: [] };
		for (let i = 0; i < 300; i++) {
			times.foreign.push(await took(big));
			times.unknown.push(await took(nobody.sessionId));
		}
		ratio = median(times.foreign) / median(times.unknown);
		if (ratio > 0.8 && ratio < 1.25) break;
		await sleep(200);
	}
	assert.ok(ratio > 0.8 && ratio < 1.25, `the medians differ by a factor of ${ratio.toFixed(2)}`);
	assert.ok((await must(w.rt, w.acme.tokens.read, 'get_session', { sessionId: big })).asOfSequence > 400);
});
