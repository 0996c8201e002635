// The policy of a workspace: it reaches the sessions that are there and new ones, only tightens, is a fact of the workspace and of each session, and stays in its tenant.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { ask, ended, facts, pending, seen, serve } from '../lib/gate.mjs';
import { bin, newFolder, ok, readLog, refused, request, startAgentd, startModel, storeOf, submit, waitFor, world } from '../lib/runtime.mjs';
import { ask as as, factsOf, must } from '../tenant/tenants.mjs';

const settings = { 'workspaces.dir': realpathSync(newFolder()), 'model.backoff_ms': 5 };
const hostRule = { name: 'host-drop', effect: 'deny', tool: 'drop' };
let w, loose;

before(async () => {
	w = await world({ config: { ...settings, 'session.snapshot_every': 10, 'permission.mode': 'bypass', permission_rules: [hostRule], 'budget.session_tokens': 5000 } });
	loose = await world({ config: { ...settings, 'workspaces.dir': realpathSync(newFolder()), 'permission.may_loosen': true } });
});

const make = async (rt, name = 'policy') => (await ok(rt, 'create_workspace', { name })).workspace.workspaceId;
const logOf = (workspaceId) => `sess_${workspaceId.slice(3)}`;
const set = (scopeId, policy, more = {}) => ({ scope: 'workspace', scopeId, policy, ...more });
const deny = (tool, name = `no-${tool}`) => ({ name, tool, decision: 'deny' });
const inIt = (workspaceId) => ({ createPolicy: { workspaceId } });
const policies = async (rt, sessionId) => (await factsOf(rt, undefined, sessionId)).filter((f) => f.type === 'policy.changed');
const limits = async (rt, sessionId) => (await facts(rt, sessionId, 'limit.changed')).filter((e) => e.payload.source === 'policy').map((e) => [e.payload.scope, e.payload.previous.limit, e.payload.limitState.limit]);
const judged = async (rt, sessionId) => (await facts(rt, sessionId, 'permission.evaluated')).map((e) => [e.payload.decision, e.payload.ruleRefs[0] ?? e.payload.mode, e.payload.scope]);
const quotas = async (rt, sessionId) => (await ok(rt, 'get_session', { sessionId })).routingLimitSummary.limitState.quotas;

/** A turn to its end, whose calls the client answers. */
async function work(rt, names, more) {
	const turn = await ask(rt, names, more);
	await serve(rt, turn.sessionId, turn.turnId);
	return turn.sessionId;
}

/** What the facts of a session fold to without a server is what the server answers. */
async function refolds(rt, sessionId) {
	const file = join(newFolder(), 'facts.ndjson');
	writeFileSync(file, (await readLog(rt, sessionId)).map((f) => `${f.data}\n`).join(''));
	const folded = JSON.parse(execFileSync(join(bin, 'ar-refold'), [file], { encoding: 'utf8', maxBuffer: 1 << 26 }));
	const read = await ok(rt, 'get_session', { sessionId });
	assert.deepEqual(folded.threads.map((t) => [t.permissionState, t.routingLimitSummary]), read.threads.map((t) => [t.permissionState, t.routingLimitSummary]));
	for (const id of [sessionId, logOf(read.workspaceId)]) {
		const { text } = await request(rt, { path: '/v1/verify', body: JSON.stringify({ sessionId: id }) });
		assert.deepEqual(JSON.parse(text).sessions.map((s) => [s.sessionId, s.status, s.findings]), [[id, 'ok', []]], text);
	}
}

test('HK-16 a rule of the workspace counts for the next call of a session that is there, and for a new one', async () => {
	const workspaceId = await make(w.rt);
	const there = await work(w.rt, ['write'], inIt(workspaceId));
	assert.deepEqual(await judged(w.rt, there), [['allow', 'bypass', 'once']]);
	const { policyRef } = await ok(w.rt, 'set_policy', set(workspaceId, { rules: [deny('write')] }, { reason: 'an incident' }));

	await work(w.rt, ['write', 'drop'], { sessionId: there });
	const fresh = await work(w.rt, ['write'], inIt(workspaceId));
	assert.deepEqual((await judged(w.rt, there)).slice(1), [['deny', 'no-write', 'workspace'], ['deny', 'host-drop', 'host_policy']]);
	assert.deepEqual(await judged(w.rt, fresh), [['deny', 'no-write', 'workspace']]);
	for (const sessionId of [there, fresh]) {
		const [changed, ...more] = await policies(w.rt, sessionId);
		assert.equal(more.length, 0, 'once');
		assert.deepEqual([changed.payload.scope, changed.payload.policy.rules, changed.payload.changedBy.reason, 'previousPolicyRef' in changed.payload], ['workspace', [deny('write')], 'an incident', false]);
		const first = (await facts(w.rt, sessionId, 'permission.evaluated')).find((e) => e.payload.ruleRefs.includes('no-write'));
		assert.ok(changed.sequence < first.sequence, 'it precedes what cites it');
		assert.deepEqual(JSON.parse((await ok(w.rt, 'read_output', { outputRef: changed.payload.policyRef })).content), { rules: [deny('write')] });
		const { permissionState } = (await ok(w.rt, 'get_session', { sessionId })).threads[0];
		assert.deepEqual([permissionState.policySource, permissionState.workspacePolicyRef, permissionState.sessionRules], ['workspace', changed.payload.policyRef, 0]);
		await refolds(w.rt, sessionId);
	}
	const [own] = await policies(w.rt, logOf(workspaceId));
	assert.deepEqual([own.payload.scope, own.payload.policyRef, own.payload.changedBy.reason], ['workspace', policyRef, 'an incident']);
	assert.deepEqual(JSON.parse((await ok(w.rt, 'read_output', { outputRef: policyRef })).content), { policy: { rules: [deny('write')] } });
	assert.deepEqual((await ok(w.rt, 'get_workspace', { workspaceId })).workspace.policy, { rules: [deny('write')] });
});

test('HK-16 a question that the new policy answers ends as denied; a turn at work hears of it before its next call', async () => {
	const workspaceId = await make(loose.rt);
	const { sessionId } = await ask(loose.rt, ['write'], inIt(workspaceId));
	const [{ actionId }] = await pending(loose.rt, sessionId);
	await ok(loose.rt, 'set_policy', set(workspaceId, { rules: [deny('write')] }));
	const [resolved] = await seen(loose.rt, sessionId, 'action.resolved');
	assert.deepEqual([resolved.actionId, resolved.payload.decision, resolved.payload.decisionSource], [actionId, 'deny', 'policy']);
	await ended(loose.rt, sessionId);
	assert.deepEqual((await policies(loose.rt, sessionId)).map((e) => e.sequence < resolved.sequence), [true]);

	const at = await ask(loose.rt, ['look'], inIt(await make(loose.rt))); // waits for the client
	await seen(loose.rt, at.sessionId, 'tool.started');
	const { workspaceId: other } = await ok(loose.rt, 'get_session', { sessionId: at.sessionId });
	await ok(loose.rt, 'set_policy', set(other, { mode: 'plan' }));
	await seen(loose.rt, at.sessionId, 'policy.changed');
	await serve(loose.rt, at.sessionId);
});

test('LI-07 HK-16 a budget of the workspace lowers that of a session that is there, over kill -9 and a restart; the summary is the last fact', async () => {
	const workspaceId = await make(w.rt);
	const { sessionId } = await submit(w.rt, '[[tokens 90]]', inIt(workspaceId));
	await ended(w.rt, sessionId);
	await ok(w.rt, 'set_policy', set(workspaceId, { budget: { tokens: 400 } }, { reason: 'end of the month' }));
	await w.rt.kill9();
	w.rt = await w.again();
	assert.deepEqual(await limits(w.rt, sessionId), [], 'an idle session records it with its next work');
	await submit(w.rt, '[[tokens 10]]', { sessionId, turnId: 'after' });
	await ended(w.rt, sessionId, 'after');
	assert.deepEqual(await limits(w.rt, sessionId), [[{ sessionId }, 5000, 400]]);
	const [policy] = await policies(w.rt, sessionId);
	const [limit] = await facts(w.rt, sessionId, 'limit.changed');
	const [, turn] = await facts(w.rt, sessionId, 'turn.started');
	assert.ok(policy.sequence < limit.sequence && limit.sequence < turn.sequence, 'before the turn goes on');
	assert.deepEqual((await quotas(w.rt, sessionId)).map((q) => [q.quotaKind, q.limit]), [['session_tokens', 400]]);

	await w.rt.stop();
	w.rt = await w.again();
	assert.deepEqual((await quotas(w.rt, sessionId)).map((q) => [q.quotaKind, q.limit]), [['session_tokens', 400]]);
	for (let n = 0; ; n++) {
		assert.ok(n < 6, 'the lower budget ends it');
		await submit(w.rt, '[[tokens 90]]', { sessionId, turnId: `t${n}` });
		const end = await waitFor(async () => (await facts(w.rt, sessionId, 'turn.completed', 'action.required')).find((e) => e.turnId === `t${n}`), 'its end, or a question');
		if (end.type === 'action.required') {
			assert.equal(end.payload.actionType, 'budget_override');
			break;
		}
	}
	const [fresh] = [await work(w.rt, ['look'], inIt(workspaceId))];
	assert.deepEqual(await limits(w.rt, fresh), [[{ sessionId: fresh }, 5000, 400]], 'a new session has it from its beginning');
	await ok(w.rt, 'set_policy', set(workspaceId, {}));
	await work(w.rt, ['look'], { sessionId: fresh });
	assert.deepEqual((await limits(w.rt, fresh)).at(-1), [{ sessionId: fresh }, 400, 5000]);
	const [first, last] = await policies(w.rt, fresh);
	assert.equal(last.payload.previousPolicyRef, first.payload.policyRef);
	assert.equal('policy' in (await ok(w.rt, 'get_workspace', { workspaceId })).workspace, false);
	await refolds(w.rt, fresh);
});

test('HK-16 it never loosens what the host says, and a session never what it says; permission.may_loosen or not', async () => {
	const workspaceId = await make(w.rt);
	const sessionId = await work(w.rt, ['look'], inIt(workspaceId));
	const own = (policy) => ({ scope: 'session', scopeId: sessionId, policy });
	const wrong = [
		[{ budget: { tokens: 5001 } }, /looser than the host's 5000/],
		[{ rules: [{ name: 'a', tool: '*', decision: 'allow' }] }, /a workspace may only be stricter/],
		[{ model: 'small' }, /a workspace's policy has mode, rules and budget, not 'model'/],
		[{ outputSeconds: 5 }, /not 'outputSeconds'/], [{ colour: 'red' }, /not 'colour'/], [{ mode: 'wild' }, /is not one of/],
		[{ rules: Array.from({ length: 80 }, (_, i) => ({ ...deny('x'.repeat(200)), name: `r${i}` })) }, /has \d+ bytes and may have 16384/],
	];
	for (const [policy, says] of wrong) assert.match((await refused(w.rt, 'invalid_policy', 'set_policy', set(workspaceId, policy))).message, says);
	assert.deepEqual(await policies(w.rt, logOf(workspaceId)), []);

	await ok(w.rt, 'set_policy', set(workspaceId, { mode: 'untrusted', budget: { tokens: 1000 } }));
	for (const [policy, says] of [[{ mode: 'default' }, /mode default is looser than untrusted of the workspace/], [{ budget: { tokens: 1001 } }, /looser than the workspace's 1000/]])
		assert.match((await refused(w.rt, 'invalid_policy', 'set_policy', own(policy))).message, says);
	await refused(w.rt, 'invalid_input', 'submit_turn', { sessionId, text: 'x', options: { mode: 'default' } });
	await ok(w.rt, 'set_policy', own({ mode: 'plan', budget: { tokens: 900 } }));
	await work(w.rt, ['write'], { sessionId });
	assert.deepEqual((await judged(w.rt, sessionId)).at(-1), ['deny', 'plan', 'once']);
	await ok(w.rt, 'set_policy', own({}));
	await ask(w.rt, ['write'], { sessionId, turnId: 'asks' });
	assert.equal((await pending(w.rt, sessionId)).length, 1, 'the mode of the host alone would let it run');

	const free = await make(loose.rt);
	await refused(loose.rt, 'invalid_policy', 'set_policy', set(free, { mode: 'bypass' }));
	await refused(loose.rt, 'invalid_policy', 'set_policy', set(free, { rules: [{ name: 'a', tool: '*', decision: 'allow' }] }));
	const may = await work(loose.rt, ['look'], inIt(free));
	await ok(loose.rt, 'set_policy', { scope: 'session', scopeId: may, policy: { mode: 'bypass', rules: [{ name: 'mine', tool: '*', decision: 'allow' }], budget: { tokens: 900000 } } });
	await ok(loose.rt, 'set_policy', set(free, { mode: 'never', rules: [deny('look')], budget: { tokens: 800 } }));
	await work(loose.rt, ['write', 'look'], { sessionId: may });
	assert.deepEqual((await judged(loose.rt, may)).slice(1), [['allow', 'mine', 'session'], ['deny', 'no-look', 'workspace']], 'a rule that allows is the session\'s own, where the host lets it; the workspace\'s rule stays');
	assert.deepEqual((await limits(loose.rt, may)).at(-1).slice(1), [900000, 800]);
	await ok(loose.rt, 'set_policy', { scope: 'session', scopeId: may, policy: {} });
	await work(loose.rt, ['write'], { sessionId: may });
	assert.deepEqual((await judged(loose.rt, may)).at(-1), ['deny', 'never', 'once']);
});

test('CP-03 HK-16 the same content is no fact, a key counts once, two that differ are two facts in order', async () => {
	const workspaceId = await make(w.rt);
	const { sessionId } = await ok(w.rt, 'create_session', { workspaceId });
	const keyed = set(workspaceId, { mode: 'plan' }, { idempotencyKey: 'once' });
	const first = await ok(w.rt, 'set_policy', keyed);
	assert.deepEqual(await ok(w.rt, 'set_policy', set(workspaceId, { mode: 'plan' }, { reason: 'again' })), first);
	await ok(w.rt, 'set_policy', { scope: 'workspace', scopeId: workspaceId, rules: [deny('write')] }); // rules alone leave the mode
	assert.deepEqual(await ok(w.rt, 'set_policy', keyed), first);
	assert.deepEqual((await ok(w.rt, 'get_workspace', { workspaceId })).workspace.policy, { mode: 'plan', rules: [deny('write')] });

	const many = Array.from({ length: 8 }, (_, n) => ({ budget: { tokens: 100 + n } }));
	const refs = (await Promise.all(many.map((policy) => ok(w.rt, 'set_policy', set(workspaceId, policy))))).map((r) => r.policyRef);
	const told = await policies(w.rt, logOf(workspaceId));
	assert.equal(told.length, 10);
	assert.deepEqual(told.slice(2).map((e) => e.payload.policyRef).sort(), refs.sort());
	told.slice(1).forEach((e, i) => assert.equal(e.payload.previousPolicyRef, told[i].payload.policyRef));
	const { workspace } = await ok(w.rt, 'get_workspace', { workspaceId });
	assert.deepEqual([workspace.policy, workspace.version], [told.at(-1).payload.policy, 11]);
	await work(w.rt, ['look'], { sessionId });
	assert.deepEqual((await policies(w.rt, sessionId)).map((e) => e.payload.policy), [workspace.policy], 'the session records what counts now');
	const renamed = (await ok(w.rt, 'update_workspace', { workspaceId, name: 'renamed', allowedProfiles: ['read_only'] })).workspace;
	assert.deepEqual([renamed.policy, renamed.name], [workspace.policy, 'renamed']);
	const { payload } = (await policies(w.rt, logOf(workspaceId))).at(-1);
	assert.deepEqual(JSON.parse((await ok(w.rt, 'read_output', { outputRef: payload.policyRef })).content), { allowedProfiles: ['read_only'], policy: workspace.policy });
	await ok(w.rt, 'archive_workspace', { workspaceId });
	await refused(w.rt, 'workspace_archived', 'set_policy', set(workspaceId, {}));
});

test('HK-16 only who administers the tenant sets it; of other tenants there is no such workspace; the host\'s stays in its settings', async () => {
	const rt = loose.rt;
	const token = {};
	for (const [name, tenant, scopes] of [['ada', 'acme', ['admin']], ['bob', 'acme', ['submit', 'read']], ['eve', 'zeta', ['admin']]]) token[name] = (await ok(rt, 'create_token', { tenant, name, owner: name, scopes })).token;
	const { workspaceId } = (await must(rt, token.bob, 'create_workspace', { name: 'x' })).workspace;
	const unknown = `ws_${workspaceId.slice(3, -4)}${workspaceId.endsWith('aaaa') ? 'bbbb' : 'aaaa'}`;
	const [foreign, none] = [await as(rt, token.eve, 'set_policy', set(workspaceId, { mode: 'plan' })), await as(rt, token.eve, 'set_policy', set(unknown, { mode: 'plan' }))];
	assert.deepEqual([foreign.status, foreign.body.error.code, foreign.text], [404, 'workspace_not_found', none.text]);
	assert.equal((await as(rt, token.bob, 'set_policy', set(workspaceId, { mode: 'plan' }))).body.error.code, 'not_authorized', 'an owner without the scope');
	await must(rt, token.ada, 'set_policy', set(workspaceId, { mode: 'plan' }));
	const [{ payload: told }] = (await factsOf(rt, token.ada, logOf(workspaceId))).filter((f) => f.type === 'policy.changed');
	assert.match(told.changedBy.accountRef, /^token:/);
	assert.deepEqual((await must(rt, token.ada, 'get_workspace', { workspaceId })).workspace.policyAuthor, told.changedBy);
	for (const id of ['ws_nothing', 'home', logOf(workspaceId)]) assert.equal((await as(rt, token.ada, 'set_policy', set(id, {}))).body.error.code, 'workspace_not_found', id);
	assert.equal((await as(rt, token.ada, 'set_policy', { scope: 'session', scopeId: logOf(workspaceId), policy: {} })).body.error.code, 'session_not_found');
	assert.match((await refused(rt, 'not_authorized', 'set_policy', { scope: 'host', policy: {} })).message, /settings file of agentd \(permission\.mode, permission_rules, budget\): change it there and start agentd again/);
});

const skip = !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL';
test('HK-16 in a cluster a turn that is submitted after set_policy has it, whichever nodes own the session and the workspace', { skip }, async () => {
	const model = await startModel(), env = storeOf(newFolder()), nodes = [];
	for (const name of ['a', 'b']) nodes.push(await startAgentd({ model, env: { ...env, AGENTD_NODE: name }, config: { ...settings, 'cluster.lease_ms': 1500, 'permission.mode': 'bypass' } }));
	const shares = async (node) => JSON.parse((await request(node, { method: 'GET', path: '/v1/nodes' })).text).nodes.map((n) => n.partitions);
	for (const node of nodes) await waitFor(async () => (await shares(node)).join() === '512,512', 'a fair share for each');
	for (let n = 0; n < 6; n++) { // a new session is of the node that makes it: both are met
		const workspaceId = await make(nodes[n % 2], `w${n}`);
		const sessions = [];
		for (const node of nodes) sessions.push(await work(node, ['write'], inIt(workspaceId)));
		await ok(nodes[0], 'set_policy', set(workspaceId, { rules: [deny('write')] }));
		for (const [i, sessionId] of sessions.entries()) {
			await work(nodes[i], ['write'], { sessionId });
			assert.deepEqual(await judged(nodes[1 - i], sessionId), [['allow', 'bypass', 'once'], ['deny', 'no-write', 'workspace']]);
		}
	}
	for (const node of nodes) await node.stop();
});
