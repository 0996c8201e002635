// What may run: modes, rules, grants and policies over the API. Tools are the client's own, so that a call that is let run is seen as
// tool.started and nothing else.
import assert from 'node:assert/strict';
import http from 'node:http';
import { before, test } from 'node:test';
import { ask, ended, facts, pending, seen, serve, tools, wants } from '../lib/gate.mjs';
import { ok, refused, sleep, submit, world } from '../lib/runtime.mjs';

const rules = [
	{ name: 'never-drop', effect: 'deny', tool: 'drop', workspace: 'vault' },
	{ name: 'no-etc', effect: 'deny', tool: '*', argument: 'q', matches: '/etc/*' },
	{ name: 'ask-me', effect: 'ask', tool: 'look', workspace: 'careful' },
	{ name: 'trusted', effect: 'allow', tool: 'write', workspace: 'home' },
];
const inWorkspace = (workspaceId) => ({ createPolicy: { workspaceId } });

let open; // the host lets everything run, turns tighten
let usual;

before(async () => {
	open = await world({ config: { 'permission.mode': 'bypass' } });
	usual = await world({ config: { permission_rules: rules } });
});

const judgedOf = async (w, sessionId) => (await seen(w.rt, sessionId, 'permission.evaluated'))[0];
const ran = async (w, sessionId) => (await facts(w.rt, sessionId, 'tool.started')).some((e) => e.payload.runtimeOwner);

test('PM-02 PM-03 PM-04 PM-05 PM-06 PM-07 PM-08 PM-09 PM-10 PM-15 eight modes against a read, a write and a destruction', async () => {
	const table = {
		default: ['allow', 'ask', 'ask'], untrusted: ['ask', 'ask', 'ask'], on_request: ['allow', 'ask', 'ask'], on_failure: ['allow', 'ask', 'ask'],
		never: ['allow', 'deny', 'deny'], plan: ['allow', 'deny', 'deny'], bypass: ['allow', 'allow', 'allow'], auto: ['allow', 'ask', 'ask'],
	};
	for (const [mode, says] of Object.entries(table))
		for (const [i, name] of ['look', 'write', 'drop'].entries()) {
			const { sessionId } = await ask(open.rt, [name], { options: { mode } });
			const { payload, sequence } = await judgedOf(open, sessionId);
			assert.equal(payload.decision, says[i], `${mode} ${name}`);
			assert.deepEqual([payload.decisionSource, payload.mode, payload.destructive], [mode === 'auto' ? 'classifier' : 'mode', mode, name === 'drop']);
			assert.equal(Boolean(payload.impactScope && payload.rollbackAdvice), name === 'drop', `${mode} ${name}: what a destruction reaches`);
			if (says[i] === 'ask') {
				const [action] = await pending(open.rt, sessionId);
				assert.equal(action.actionId, payload.approvalActionId);
				assert.equal(await ran(open, sessionId), false, `${mode} ${name} waits`);
			} else if (says[i] === 'deny') {
				const end = await ended(open.rt, sessionId); // nobody is asked and nothing hangs
				assert.equal(end.type, 'turn.completed');
				const [failed] = await facts(open.rt, sessionId, 'tool.failed');
				assert.deepEqual([failed.payload.status, failed.payload.errorCategory], ['denied', 'permission_denied']);
				assert.equal((await facts(open.rt, sessionId, 'action.required')).length, 0);
				assert.equal(await ran(open, sessionId), false);
			} else {
				const [started] = await seen(open.rt, sessionId, 'tool.started');
				assert.ok(started.sequence > sequence && started.payload.permissionRef);
			}
		}
});

test('PM-11 PM-15 PM-16 rules allow, ask and deny, each told with its ref and before anything runs', async () => {
	for (const [workspace, name, decision, source, ref] of [
		['home', 'write', 'allow', 'rule', 'trusted'], ['careful', 'look', 'ask', 'rule', 'ask-me'], ['vault', 'drop', 'deny', 'rule', 'never-drop'],
	]) {
		const { sessionId } = await ask(usual.rt, [name], inWorkspace(workspace));
		const judged = await judgedOf(usual, sessionId);
		const { payload } = judged;
		assert.deepEqual([payload.decision, payload.decisionSource, payload.ruleRefs], [decision, source, [ref]]);
		assert.match(payload.decisionReason, new RegExp(ref));
		assert.deepEqual([payload.updatedInputRef, payload.expiresAt, payload.scope], [null, null, 'workspace']);
		if (decision === 'ask') {
			const [required] = await facts(usual.rt, sessionId, 'action.required');
			const [requested] = await facts(usual.rt, sessionId, 'permission.requested');
			assert.equal(requested.payload.approvalActionId, required.actionId);
			assert.equal(payload.approvalActionId, required.actionId);
			assert.equal(new Set([judged, required, requested].map((e) => e.toolCallId)).size, 1, 'PM-13 they join');
		} else {
			assert.equal(payload.approvalActionId, null);
		}
	}
});

test('PM-06 in mode never a rule that asks denies at once: nobody is asked, nothing hangs', async () => {
	const { sessionId } = await ask(usual.rt, ['look'], { ...inWorkspace('careful'), options: { mode: 'never', tools: [tools.look] } });
	assert.equal((await ended(usual.rt, sessionId)).type, 'turn.completed');
	const { payload } = await judgedOf(usual, sessionId);
	assert.deepEqual([payload.decision, payload.ruleRefs, payload.mode], ['deny', ['ask-me'], 'never']);
	assert.deepEqual((await facts(usual.rt, sessionId, 'tool.failed')).map((e) => e.payload.status), ['denied']);
	assert.equal((await facts(usual.rt, sessionId, 'action.required')).length, 0);
	assert.equal(await ran(usual, sessionId), false);
});

test('the thread read names the cause of a denial: host policy, rule or mode', async () => {
	const cause = async (sessionId) => {
		const { threads } = await ok(usual.rt, 'get_session', { sessionId });
		const { decision, decisionSource, decisionReason } = threads[0].permissionState.decisions.at(-1);
		assert.equal(decision, 'deny');
		assert.ok(decisionReason.length > 0);
		return decisionSource;
	};
	const byHost = await submit(usual.rt, wants('write', '/etc/passwd'), { options: { tools: [tools.write] } });
	const byRule = await ask(usual.rt, ['drop'], inWorkspace('vault'));
	const byMode = await ask(usual.rt, ['write'], { options: { mode: 'plan' } });
	for (const [{ sessionId }, source] of [[byHost, 'host_policy'], [byRule, 'rule'], [byMode, 'mode']]) {
		await ended(usual.rt, sessionId);
		assert.equal(await cause(sessionId), source);
	}
});

test('PM-12 a hook that allows spares a question of the mode, never one of a rule, and no denial; one that denies is named as the cause', async () => {
	const saying = (decision) => `echo '{"decision":"${decision}","reason":"so it is"}'`;
	const hooked = await world({ config: { permission_rules: rules, hooks: [
		{ name: 'yes', point: 'pre_tool_use', match: 'write', command: saying('allow') },
		{ name: 'yes too', point: 'pre_tool_use', match: 'look', command: saying('allow') },
		{ name: 'no', point: 'permission_request', match: 'drop', command: saying('deny') },
	] } });
	const judged = async (name, where) => {
		const { sessionId } = await ask(hooked.rt, [name], where);
		return { sessionId, ...(await judgedOf(hooked, sessionId)).payload };
	};
	const spared = await judged('write');
	assert.deepEqual([spared.decision, spared.decisionSource, spared.ruleRefs], ['allow', 'hook', ['yes']]);
	const asked = await judged('look', inWorkspace('careful'));
	assert.deepEqual([asked.decision, asked.ruleRefs], ['ask', ['ask-me']]);
	assert.equal((await pending(hooked.rt, asked.sessionId)).length, 1);
	const { sessionId } = await submit(hooked.rt, wants('write', '/etc/x'), { options: { tools: [tools.write] } });
	const { payload: forbidden } = await judgedOf(hooked, sessionId);
	assert.deepEqual([forbidden.decision, forbidden.ruleRefs], ['deny', ['no-etc']], 'AN-05');
	await ended(hooked.rt, sessionId);
	assert.equal(await ran(hooked, sessionId), false);
	const denied = await judged('drop');
	assert.deepEqual([denied.decision, denied.decisionSource], ['deny', 'hook']);
	assert.match(denied.decisionReason, /so it is/);
	await ended(hooked.rt, denied.sessionId);
	assert.equal((await facts(hooked.rt, denied.sessionId, 'action.required')).length, 0);
	const { threads } = await ok(hooked.rt, 'get_session', { sessionId: denied.sessionId });
	assert.equal(threads[0].permissionState.decisions.at(-1).decisionSource, 'hook');
});

test('PM-09 mode auto: the classifier decides and says what it is and by which of its rules; a rule that denies wins over it', async () => {
	const auto = await world({ config: { permission_rules: rules, 'permission.mode': 'auto' } });
	for (const [name, decision, ref] of [['look', 'allow', 'reads'], ['write', 'ask', 'outside'], ['drop', 'ask', 'destroys']]) {
		const { sessionId } = await ask(auto.rt, [name]);
		const { payload } = await judgedOf(auto, sessionId);
		assert.deepEqual([payload.decision, payload.decisionSource, payload.mode, payload.ruleRefs], [decision, 'classifier', 'auto', [`classifier:rules/1:${ref}`]]);
		assert.match(payload.decisionReason, /the rule-based classifier/);
	}
	const { sessionId } = await submit(auto.rt, wants('look', '/etc/x'), { options: { tools: [tools.look] } });
	const { payload } = await judgedOf(auto, sessionId);
	assert.deepEqual([payload.decision, payload.decisionSource, payload.ruleRefs], ['deny', 'host_policy', ['no-etc']]);
	await ended(auto.rt, sessionId);
	assert.equal(await ran(auto, sessionId), false);
});

test('OW-09 a policy service decides, and its decision is quoted with source host_policy; it overrules no rule', async () => {
	const seenBy = [];
	const service = http.createServer((req, res) => {
		let text = '';
		req.on('data', (piece) => (text += piece)).on('end', () => {
			const { tool } = JSON.parse(text);
			seenBy.push(tool.name);
			res.end(JSON.stringify({ decision: { look: 'deny', write: 'allow', drop: 'ask' }[tool.name], reason: `risk class of ${tool.name}` }));
		});
	});
	await new Promise((done) => service.listen(0, '127.0.0.1', done));
	try {
		const url = `http://127.0.0.1:${service.address().port}/decide`;
		const w = await world({ config: { permission_rules: [{ name: 'closed', effect: 'deny', tool: 'write', workspace: 'vault' }],
			hooks: [{ name: 'org-policy', point: 'pre_tool_use', url, policy: true }] } });
		for (const [name, decision] of [['look', 'deny'], ['write', 'allow'], ['drop', 'ask']]) {
			const { sessionId } = await ask(w.rt, [name]);
			const { payload } = await judgedOf(w, sessionId);
			assert.deepEqual([payload.decision, payload.decisionSource, payload.ruleRefs], [decision, 'host_policy', ['org-policy']]);
			assert.match(payload.decisionReason, new RegExp(`^the host's policy .*: risk class of ${name}$`));
			if (decision !== 'deny') continue;
			await ended(w.rt, sessionId);
			const [failed] = await facts(w.rt, sessionId, 'tool.failed');
			assert.ok(failed.payload.hookRunRef, 'the run that denied is named');
			assert.equal(await ran(w, sessionId), false);
		}
		const { sessionId } = await ask(w.rt, ['write'], inWorkspace('vault'));
		const { payload } = await judgedOf(w, sessionId);
		assert.deepEqual([payload.decision, payload.decisionSource, payload.ruleRefs], ['deny', 'rule', ['closed']]);
		assert.deepEqual(seenBy, ['look', 'write', 'drop', 'write']);
	} finally {
		service.closeAllConnections();
		service.close();
	}
});

test('a turn and a session may tighten what the host lets run, not loosen it', async () => {
	assert.match((await refused(usual.rt, 'invalid_input', 'submit_turn', { createPolicy: {}, text: 'x', options: { mode: 'bypass' } })).message, /looser/);
	const { sessionId } = await submit(usual.rt, 'hello');
	const set = (policy) => ({ scope: 'session', scopeId: sessionId, policy });
	await refused(usual.rt, 'invalid_policy', 'set_policy', set({ mode: 'bypass' }));
	await refused(usual.rt, 'invalid_policy', 'set_policy', set({ rules: [{ name: 'all', tool: '*', decision: 'allow' }] }));
	assert.match((await refused(usual.rt, 'not_authorized', 'set_policy', { scope: 'host', policy: {} })).message, /in the settings file of agentd \(permission\.mode, permission_rules, budget\): change it there/);
});

test('P12 the policy of a session is a fact: it holds after kill -9, and the same again does nothing', async () => {
	const w = await world();
	const { sessionId } = await submit(w.rt, 'hello');
	await ended(w.rt, sessionId);
	const policy = { mode: 'plan', rules: [{ name: 'quiet', tool: 'look', decision: 'deny' }] };
	const { policyRef } = await ok(w.rt, 'set_policy', { scope: 'session', scopeId: sessionId, policy, reason: 'careful' });
	assert.equal((await ok(w.rt, 'set_policy', { scope: 'session', scopeId: sessionId, policy })).policyRef, policyRef);
	await w.rt.kill9();
	w.rt = await w.again();
	assert.equal((await facts(w.rt, sessionId, 'policy.changed')).length, 1);
	const { threads } = await ok(w.rt, 'get_session', { sessionId });
	assert.deepEqual([threads[0].permissionState.mode, threads[0].permissionState.policyRef], ['plan', policyRef]);
	const { turnId } = await ask(w.rt, ['look', 'write'], { sessionId });
	await ended(w.rt, sessionId, turnId);
	const judged = await facts(w.rt, sessionId, 'permission.evaluated');
	assert.deepEqual(judged.map((e) => [e.payload.decision, e.payload.decisionSource]), [['deny', 'rule'], ['deny', 'mode']]);
});

test('a question is overruled by the policy that the host came back with, and by a mode; what the policy does not deny goes on waiting', async () => {
	const w = await world();
	const { sessionId, turnId } = await ask(w.rt, ['drop', 'write']);
	const open = await pending(w.rt, sessionId, 2);
	await w.rt.kill9();
	w.rt = await w.again({ config: { permission_rules: [{ name: 'no-drop', effect: 'deny', tool: 'drop' }] } });
	const [dropped] = await seen(w.rt, sessionId, 'action.resolved');
	assert.deepEqual([dropped.payload.decision, dropped.payload.decisionSource], ['deny', 'policy']);
	const [left] = await pending(w.rt, sessionId);
	assert.equal(left.actionId, open.find((q) => q.actionId !== dropped.actionId).actionId);
	await ok(w.rt, 'set_policy', { scope: 'session', scopeId: sessionId, policy: { mode: 'never' } });
	await ended(w.rt, sessionId, turnId);
	const said = await facts(w.rt, sessionId, 'permission.resolved');
	assert.deepEqual(said.map((e) => e.payload.decisionSource), ['policy', 'policy']);
	assert.match(said[0].payload.decisionReason, /no-drop/);
	assert.match(said[1].payload.decisionReason, /mode never/);
	assert.deepEqual((await facts(w.rt, sessionId, 'tool.failed')).map((e) => e.payload.status), ['denied', 'denied']);
});

test('PM-14 a grant counts for its tool, in its session, until it expires; once covers one call', async () => {
	const { rt } = await world();
	const { sessionId } = await submit(rt, 'hello');
	const next = async (name) => {
		const { turnId } = await ask(rt, [name], { sessionId });
		return { turnId, ...(await seen(rt, sessionId, 'permission.evaluated')).at(-1) };
	};
	const asked = async (name) => {
		const judged = await next(name);
		assert.equal(judged.payload.decision, 'ask', name);
		return judged.payload.approvalActionId;
	};
	const judgedNow = async (count) => (await seen(rt, sessionId, 'permission.evaluated', count)).at(-1).payload;
	await ended(rt, sessionId);
	await ok(rt, 'respond_action', { actionId: await asked('write'), decision: 'allow' });
	await serve(rt, sessionId, (await facts(rt, sessionId, 'turn.started')).at(-1).turnId);
	const expiresAt = new Date(Date.now() + 1500).toISOString();
	await ask(rt, ['write'], { sessionId });
	assert.equal((await judgedNow(2)).decision, 'ask', 'once was once');
	await ok(rt, 'respond_action', { actionId: (await pending(rt, sessionId))[0].actionId, decision: 'allow', payload: { scope: 'session', expiresAt } });
	await serve(rt, sessionId, (await facts(rt, sessionId, 'turn.started')).at(-1).turnId);
	const third = await ask(rt, ['write', 'drop'], { sessionId });
	await judgedNow(4);
	const [write, drop] = (await facts(rt, sessionId, 'permission.evaluated')).slice(-2).map((e) => e.payload);
	assert.deepEqual([write.decision, write.decisionSource, write.scope, drop.decision], ['allow', 'human', 'session', 'ask']);
	assert.equal(Date.parse(write.expiresAt), Date.parse(expiresAt));
	await ok(rt, 'resolve_permission', { actionId: (await pending(rt, sessionId))[0].actionId, decision: 'denied', reason: 'no' });
	await serve(rt, sessionId, third.turnId);
	await sleep(Math.max(0, Date.parse(expiresAt) - Date.now() + 50));
	await ask(rt, ['write'], { sessionId });
	assert.equal((await judgedNow(5)).decision, 'ask', 'it has expired');
});

test('PM-14 a grant answers the rule it was given for, not one of the same name in the settings, also after kill -9', async () => {
	const w = await world({ config: { permission_rules: [{ name: 'look-twice', effect: 'ask', tool: 'write', argument: 'q', matches: 'prod*' }] } });
	const { sessionId } = await submit(w.rt, 'hello');
	await ended(w.rt, sessionId);
	await ok(w.rt, 'set_policy', { scope: 'session', scopeId: sessionId, policy: { rules: [{ name: 'look-twice', tool: 'write', decision: 'ask' }] } });
	const judged = async (q, count) => {
		const { turnId } = await submit(w.rt, wants('write', q), { sessionId, options: { tools: Object.values(tools) } });
		const all = await seen(w.rt, sessionId, 'permission.evaluated', count);
		const { decision, decisionSource, ruleRefs } = all.at(-1).payload;
		if (decision === 'ask') await ok(w.rt, 'respond_action', { actionId: (await pending(w.rt, sessionId))[0].actionId, decision: 'allow_session' });
		await serve(w.rt, sessionId, turnId);
		return [decision, decisionSource, ...(decision === 'ask' ? ruleRefs : [])];
	};
	assert.deepEqual(await judged('test', 1), ['ask', 'rule', 'look-twice']);
	assert.deepEqual(await judged('test', 2), ['allow', 'human']);
	assert.deepEqual(await judged('production', 3), ['ask', 'host_policy', 'look-twice'], 'another rule of that name');
	assert.deepEqual((await facts(w.rt, sessionId, 'action.required')).map((e) => e.payload.policy.ruleSource), ['session', 'host']);
	await w.rt.kill9();
	w.rt = await w.again();
	assert.deepEqual([await judged('test', 4), await judged('production', 5)], [['allow', 'human'], ['allow', 'human']], 'each has its own grant');
	const { permissionState } = await ok(w.rt, 'get_session', { sessionId });
	assert.deepEqual(permissionState.grants.map((g) => [g.ruleRef, g.ruleSource]), [['look-twice', 'session'], ['look-twice', 'host']]);
	await w.rt.stop();
});

test('P32 an answer is for its own question: the other one stays open', async () => {
	const { sessionId } = await ask(usual.rt, ['write', 'drop']);
	const [first, second] = await pending(usual.rt, sessionId, 2);
	await ok(usual.rt, 'respond_action', { actionId: first.actionId, decision: 'deny' });
	const open2 = await pending(usual.rt, sessionId);
	assert.deepEqual(open2.map((a) => a.actionId), [second.actionId]);
	await ok(usual.rt, 'respond_action', { actionId: second.actionId, decision: 'allow' });
	const end = await serve(usual.rt, sessionId);
	assert.equal(end.type, 'turn.completed');
	const results = await facts(usual.rt, sessionId, 'tool.result', 'tool.failed');
	assert.deepEqual(results.map((e) => e.type).sort(), ['tool.failed', 'tool.result']);
});

test('CP-39 evaluate_permission judges a described act, tells it once per key, and nothing runs', async () => {
	const say = (sessionId, toolName, q, more = {}) => ok(usual.rt, 'evaluate_permission', { sessionId, act: { toolName, arguments: { q } }, ...more });
	const { sessionId, turnId } = await ask(usual.rt, ['look'], inWorkspace('vault'));
	await serve(usual.rt, sessionId, turnId);
	const before = await facts(usual.rt, sessionId);

	const denied = await say(sessionId, 'drop', 'x', { idempotencyKey: 'once', hints: { safe: true }, proposedDecision: 'allow' });
	assert.deepEqual([denied.decision, denied.decisionSource], ['deny', 'rule']);
	assert.match(denied.decisionReason, /never-drop/);
	assert.deepEqual(await say(sessionId, 'drop', 'x', { idempotencyKey: 'once', hints: { safe: true }, proposedDecision: 'allow' }), denied);
	assert.equal((await say(sessionId, 'look', '/etc/passwd')).decision, 'deny', 'a rule about an argument');
	assert.equal((await say(sessionId, 'look', 'x')).decision, 'allow');
	const asked = await say(sessionId, 'write', 'x', { turnId });
	assert.deepEqual([asked.decision, asked.decisionSource, asked.approvalActionId], ['ask', 'mode', undefined], 'nobody is asked');

	const added = (await facts(usual.rt, sessionId)).slice(before.length);
	assert.deepEqual(added.map((e) => [e.type, e.payload.decision]), ['deny', 'deny', 'allow', 'ask'].map((d) => ['permission.evaluated', d]));
	assert.deepEqual(added[0].payload.ruleRefs, ['never-drop']);
	assert.deepEqual(added.map((e) => e.turnId), Array(4).fill(turnId));
	assert.match(added[0].toolCallId, /^act_[0-9a-f]{32}$/);

	await refused(usual.rt, 'scope_not_found', 'evaluate_permission', { sessionId, act: { toolName: 'fly' } });
	await refused(usual.rt, 'invalid_input', 'evaluate_permission', { sessionId, act: { arguments: {} } });
	await refused(usual.rt, 'invalid_input', 'evaluate_permission', { act: { toolName: 'look' } });
});

test('evaluate_permission tells what stands about a call that waits, and does not move it', async () => {
	const { sessionId } = await ask(usual.rt, ['write']);
	const [action] = await pending(usual.rt, sessionId);
	const [{ toolCallId }] = await facts(usual.rt, sessionId, 'permission.evaluated');
	const before = (await facts(usual.rt, sessionId)).length;
	for (const scope of [{ toolCallId }, { actionId: action.actionId }]) {
		const says = await ok(usual.rt, 'evaluate_permission', scope);
		assert.deepEqual([says.decision, says.decisionSource, says.approvalActionId], ['ask', 'mode', action.actionId]);
	}
	assert.equal((await facts(usual.rt, sessionId)).length, before);
	assert.equal(await ran(usual, sessionId), false);
	await refused(usual.rt, 'scope_not_found', 'evaluate_permission', { toolCallId: `${toolCallId}9` });
});
