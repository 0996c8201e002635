// A workspace has an environment and sandbox profiles of its own: set by its owner alone, for the commands of its sessions, bounded, without values of secrets.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, submit, waitFor, world } from '../lib/runtime.mjs';
import { ask, factsOf, must } from '../tenant/tenants.mjs';

const SECRET = 'of-the-settings-9d1f0c';
const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const shell = (command, more = {}) => call('shell', { command, ...more });
const variables = (all) => Object.entries(all).map(([name, value]) => ({ name, value }));
let w, acme, other;

before(async () => {
	w = await world({ config: { 'permission.mode': 'bypass', 'permission.may_loosen': true, 'sandbox.allow_danger': true, 'sandbox.env': 'SHADE=of-the-server', 'workspaces.dir': realpathSync(newFolder()), 'sandbox.allow_hosts': 'localhost',
		command_secrets: [{ name: 'DEPLOY', value: SECRET, commands: ['cat', 'echo'] }, { name: 'THEIRS', value: 'of-somebody-else-77', tenants: ['other'] }] } });
	acme = (await ok(w.rt, 'create_token', { tenant: 'acme', name: 'acme', owner: 'ada', scopes: ['admin'] })).token;
	other = (await ok(w.rt, 'create_token', { tenant: 'acme', name: 'another', owner: 'bob', scopes: ['admin'] })).token;
});

const make = async (more = {}, who = undefined) => (await must(w.rt, who, 'create_workspace', { name: 'env', ...more })).workspace;
const update = (workspaceId, more, who) => must(w.rt, who, 'update_workspace', { workspaceId, ...more });

/** A turn in a new session of the workspace, or in one that is there: what the model read of its call. */
async function run(where, text, { who, options } = {}) {
	const at = where.sessionId ? { sessionId: where.sessionId } : { createPolicy: { workspaceId: where.workspaceId } };
	const { sessionId, turnId } = await must(w.rt, who, 'submit_turn', { ...at, text, options });
	const facts = await waitFor(async () => {
		const log = (await factsOf(w.rt, who, sessionId)).filter((f) => f.turnId === turnId);
		return log.some((f) => /^turn\.(completed|failed)$/.test(f.type)) && log;
	}, 'the end of the turn');
	const said = w.model.log(turnId).at(-1).body.messages.filter((m) => m.role === 'tool').at(-1)?.content ?? '';
	return { sessionId, said: typeof said === 'string' ? said : JSON.stringify(said), facts, of: (type) => facts.filter((f) => f.type === type).map((f) => f.payload) };
}

test('commands and processes of sessions in it get it, before and after a restart; sessions keep the one they began with', async () => {
	const workspace = await make({ environment: variables({ STAGE: 'a b"$c', SHADE: 'of-the-workspace', EMPTY: '' }) });
	assert.deepEqual(workspace.environment, variables({ STAGE: 'a b"$c', SHADE: 'of-the-workspace', EMPTY: '' }));
	const SHOW = shell('echo "<$STAGE|$SHADE|${EMPTY-unset}|${LATER-unset}>"');
	const first = await run(workspace, SHOW);
	for (const said of [first.said, (await run(first, SHOW)).said]) assert.ok(said.includes('<a b"$c|of-the-workspace||unset>'), said); // the second one may be prewarmed
	const [, processId] = /background as (proc_\S+?)[.\s]/.exec((await run(first, shell('echo "<$STAGE>"; sleep 1000', { background: true }))).said);
	await waitFor(async () => (await run(first, call('process_read', { processId }))).said.includes('<a b"$c>'), 'what the process wrote');

	const { workspace: changed } = await update(workspace.workspaceId, { environment: variables({ LATER: 'now' }), version: workspace.version });
	assert.deepEqual([changed.environment, changed.version], [variables({ LATER: 'now' }), workspace.version + 1]);
	const second = await run(workspace, SHOW);
	assert.ok(second.said.includes('<|of-the-server|unset|now>'), second.said);
	assert.ok((await run(first, SHOW)).said.includes('<a b"$c|of-the-workspace||unset>'));
	assert.equal((await update(workspace.workspaceId, { environment: variables({ LATER: 'now' }) })).workspace.version, changed.version, 'the same adds no fact');
	await w.rt.kill9();
	w.rt = await w.again();
	assert.deepEqual((await ok(w.rt, 'get_workspace', { workspaceId: workspace.workspaceId })).workspace.environment, variables({ LATER: 'now' }));
	assert.ok((await run(first, SHOW)).said.includes('<a b"$c|of-the-workspace||unset>'));
	assert.ok((await run(workspace, SHOW)).said.includes('<|of-the-server|unset|now>'));
	assert.equal('environment' in (await update(workspace.workspaceId, { environment: [] })).workspace, false);
});

test('names and values that programs must not get are refused with the reason, and nothing changes', async () => {
	const workspace = await make({ environment: variables({ KEPT: 'yes' }) });
	const many = (count, value) => Array.from({ length: count }, (_, i) => ({ name: `N${i}`, value }));
	const wrong = [
		...['LD_PRELOAD', 'LD_LIBRARY_PATH', 'BASH_ENV', 'NODE_OPTIONS', 'GIT_SSH_COMMAND', 'GIT_CONFIG_COUNT', 'HOME', 'HTTPS_PROXY', 'all_proxy', 'AGENTRUNTIME_SESSION_ID'].map((name) => [[{ name, value: 'x' }], new RegExp(`${name}, which controls what is loaded`)]),
		...['1A', 'A B', 'A=B', 'A-B', 'Ä', 'A\n', 'A\u0000'].map((name) => [[{ name, value: 'x' }], /is no name of a variable/]),
		[[{ name: '', value: 'x' }], /name/],
		...['a\nb', 'a\u0000b', '\u001b[2J', 'a\rb', '\u007f'].map((value) => [[{ name: 'A', value }], /A has a line end or another control character/]),
		[[{ name: 'A', value: 'x' }, { name: 'B', value: 'y' }, { name: 'A', value: 'z' }], /A is named twice/],
		[[{ name: 'A' }], /needs a value or a secret/],
		[[{ name: 'A', value: 'x', secret: 'DEPLOY' }], /needs a value or a secret/],
		[many(65, 'x'), /at most 64 variables/],
		[many(3, 'x'.repeat(4000)), /at most 8192 bytes/],
		[[{ name: 'A', value: 'x'.repeat(4097) }], /value/],
		[[{ name: 'A', value: `Bearer sk-ant-api03-${'b'.repeat(80)}` }], /looks like a secret/],
		[[{ name: 'A', value: SECRET }], /looks like a secret/],
	];
	for (const [environment, reason] of wrong) {
		for (const [name, more] of [['update_workspace', { workspaceId: workspace.workspaceId }], ['create_workspace', { name: 'wrong' }]]) {
			const { status, body } = await ask(w.rt, undefined, name, { ...more, environment });
			assert.deepEqual([status, body.error?.code], [400, 'invalid_input'], `${name} ${JSON.stringify(environment).slice(0, 200)}: ${JSON.stringify(body)}`);
			assert.match(body.error.message, reason);
		}
	}
	assert.deepEqual((await ok(w.rt, 'get_workspace', { workspaceId: workspace.workspaceId })).workspace, workspace);
	assert.equal((await update(workspace.workspaceId, { environment: many(64, 'x'.repeat(120)) })).workspace.environment.length, 64);
	const path = await make({ environment: variables({ PATH: '/opt/mine:/usr/bin:/bin' }) });
	assert.ok((await run(path, shell('echo "<$PATH>"'))).said.includes('</opt/mine:/usr/bin:/bin>'), 'PATH counts inside the sandbox alone');
});

test('a variable with a secret has the path of its file: the value is in no fact, log or answer; others cannot name it', async () => {
	const workspace = await make({ environment: [{ name: 'CREDENTIALS', secret: 'DEPLOY' }] });
	assert.deepEqual(workspace.environment, [{ name: 'CREDENTIALS', secret: 'DEPLOY' }]);
	const read = await run(workspace, shell('cat "$CREDENTIALS" | tr a-z A-Z; echo "<$CREDENTIALS|$DEPLOY_FILE>"'));
	assert.ok(read.said.includes(SECRET.toUpperCase()), read.said);
	assert.match(read.said, /<(\/proc\/self\/fd\/\d+)\|\1>/);
	assert.ok((await run(workspace, shell('printf "<%s>" "${CREDENTIALS-unset}"'))).said.includes('<unset>'), 'a command that the secret is not for');
	const refusals = [];
	for (const [who, secret] of [[acme, 'DEPLOY'], [acme, 'THEIRS'], [acme, 'NOT_THERE'], [undefined, 'THEIRS'], [undefined, 'NOT_THERE']]) {
		const own = await make({}, who);
		const { status, body } = await ask(w.rt, who, 'update_workspace', { workspaceId: own.workspaceId, environment: [{ name: 'A', secret }] });
		assert.deepEqual([status, body.error.code], [400, 'invalid_input']);
		refusals.push(body.error.message);
	}
	assert.equal(new Set(refusals).size, 1, 'a secret of others is as one that is not there');
	const log = JSON.stringify([await factsOf(w.rt, undefined, read.sessionId), await ok(w.rt, 'list_workspaces', {})]);
	assert.ok(!log.includes(SECRET) && log.includes('"secret":"DEPLOY"'), log.slice(0, 500));
	for (const file of readdirSync(w.rt.dataDir, { recursive: true, withFileTypes: true })) {
		const name = join(file.parentPath ?? file.path, file.name);
		if (file.isFile() && !file.name.endsWith('.yaml')) assert.ok(!readFileSync(name).includes(SECRET), name);
	}
});

test('only the owner sets it; another tenant cannot tell that the workspace exists; a repository sets nothing', async () => {
	const workspace = await make({ environment: variables({ OURS: 'ours' }) }, acme);
	for (const more of [{ environment: [] }, { allowedProfiles: ['danger_full_access'] }]) {
		const { status, body } = await ask(w.rt, other, 'update_workspace', { workspaceId: workspace.workspaceId, ...more });
		assert.deepEqual([status, body.error.code], [403, 'policy_denied'], JSON.stringify(body));
	}
	const { token } = await ok(w.rt, 'create_token', { tenant: 'strangers', name: 's', scopes: ['admin'] });
	const unknown = `ws_${'0'.repeat(10)}9${'a'.repeat(15)}`;
	for (const [name, more] of [['get_workspace', {}], ['update_workspace', { environment: variables({ A: 'b' }) }], ['update_workspace', { allowedProfiles: [] }]]) {
		const [there, gone] = [await ask(w.rt, token, name, { workspaceId: workspace.workspaceId, ...more }), await ask(w.rt, token, name, { workspaceId: unknown, ...more })];
		assert.deepEqual([there.status, there.text], [gone.status, gone.text]);
		assert.equal(there.body.error.code, 'workspace_not_found');
	}
	for (const [name, text] of [['.env', 'OURS=theirs\nMORE=theirs\n'], ['.envrc', 'export MORE=theirs\n'], ['.mcp.json', '{"env":{"MORE":"theirs"},"environment":[{"name":"MORE","value":"theirs"}],"mcpServers":{"a":{"command":"x","env":{"MORE":"theirs"}}}}'], ['AGENTS.md', '---\nenv: {MORE: theirs}\n---\n']]) writeFileSync(join(workspace.root, name), text);
	assert.ok((await run(workspace, shell('echo "<$OURS|${MORE-unset}|${SHADE-unset}>"'), { who: acme })).said.includes('<ours|unset|unset>'));
});

test('a profile that the workspace does not allow is refused before anything runs, whatever mode, rule or policy says', async () => {
	const workspace = await make({ allowedProfiles: ['read_only', 'no_network'] });
	assert.deepEqual(workspace.allowedProfiles, ['read_only', 'no_network']);
	const free = await run(workspace, shell('touch made && echo done'));
	assert.ok(free.said.includes('done'), free.said);
	assert.equal(free.of('permission.evaluated')[0].sandboxProfile, 'no_network', 'the most that is allowed of what gives no more than the profile of the settings');
	await ok(w.rt, 'set_policy', { scope: 'session', scopeId: free.sessionId, policy: { mode: 'bypass', rules: [{ name: 'all', tool: '*', decision: 'allow' }] } });
	for (const sandbox of ['workspace_write', 'allowlisted_network', 'danger_full_access']) {
		const refused = await run(free, shell('touch escaped', { sandbox, justification: 'please' }));
		const [judged] = refused.of('permission.evaluated');
		assert.deepEqual([judged.decision, refused.of('process.started')], ['deny', []], JSON.stringify(judged));
		assert.match(judged.decisionReason, new RegExp(`sandbox ${sandbox} is not allowed in this workspace, which allows read_only, no_network`));
		for (const at of [{ sessionId: free.sessionId }, { createPolicy: { workspaceId: workspace.workspaceId } }]) {
			const { status, body } = await ask(w.rt, undefined, 'submit_turn', { ...at, text: 'x', options: { sandbox } });
			assert.deepEqual([status, body.error?.code], [403, 'policy_denied'], JSON.stringify(body));
		}
	}
	assert.ok(!readdirSync(workspace.root).includes('escaped'));
	assert.ok((await run(free, shell('touch written; echo over'), { options: { sandbox: 'read_only' } })).said.includes('over'));
	assert.ok(!readdirSync(workspace.root).includes('written'));
	for (const [allowedProfiles, reason] of [[['anything'], /'anything' is not one of/], [['read_only', 'read_only'], /twice/]]) {
		const { status, body } = await ask(w.rt, undefined, 'update_workspace', { workspaceId: workspace.workspaceId, allowedProfiles });
		assert.deepEqual([status, body.error.code], [400, 'invalid_input']);
		assert.match(body.error.message, reason);
	}
	assert.equal('allowedProfiles' in (await update(workspace.workspaceId, { allowedProfiles: [] })).workspace, false);
	assert.ok((await run(workspace, shell('echo wider', { sandbox: 'workspace_write' }))).said.includes('wider'), 'new sessions have what the settings allow');
	assert.equal((await run(free, shell('touch escaped', { sandbox: 'workspace_write' }))).of('permission.evaluated')[0].decision, 'deny', 'one that was there keeps its list');
});

test('a workspace that allows more than the settings gives nothing more; one that allows only more runs nothing', async () => {
	const at = await world({ config: { 'permission.mode': 'bypass', 'sandbox.profile': 'read_only', 'workspaces.dir': realpathSync(newFolder()) } });
	const { workspace } = await ok(at.rt, 'create_workspace', { allowedProfiles: ['workspace_write', 'danger_full_access'] });
	const { sessionId, turnId } = await submit(at.rt, shell('touch made'), { createPolicy: { workspaceId: workspace.workspaceId } });
	const judged = await waitFor(async () => (await factsOf(at.rt, undefined, sessionId)).find((f) => f.turnId === turnId && f.type === 'permission.evaluated'), 'the judgement');
	assert.equal(judged.payload.decision, 'deny');
	assert.match(judged.payload.decisionReason, /sandbox read_only is not allowed in this workspace/);
	const danger = await submit(at.rt, shell('touch made', { sandbox: 'danger_full_access', justification: 'please' }), { createPolicy: { workspaceId: workspace.workspaceId } });
	const refused = await waitFor(async () => (await factsOf(at.rt, undefined, danger.sessionId)).find((f) => f.turnId === danger.turnId && f.type === 'permission.evaluated'), 'the judgement');
	assert.equal(refused.payload.decision, 'deny');
	assert.match(refused.payload.decisionReason, /sandbox\.allow_danger/);
	await at.rt.stop();
});

test('HK-16 other profiles of a workspace are one policy.changed in its log, with what was before, and after kill -9', async () => {
	const at = await world({ config: { 'workspaces.dir': realpathSync(newFolder()) } });
	const { workspace: { workspaceId } } = await ok(at.rt, 'create_workspace', { allowedProfiles: ['read_only', 'no_network'] });
	const change = (more) => ok(at.rt, 'update_workspace', { workspaceId, ...more });
	await change({ allowedProfiles: ['read_only', 'no_network'], name: 'renamed' });
	await change({ allowedProfiles: ['read_only'] });
	await at.rt.kill9();
	at.rt = await at.again();
	await change({ allowedProfiles: [] });
	const log = await factsOf(at.rt, undefined, workspaceId.replace(/^ws_/, 'sess_')), changed = log.filter((f) => f.type === 'policy.changed');
	const read = async (outputRef) => JSON.parse((await ok(at.rt, 'read_output', { outputRef })).content);
	assert.deepEqual(await Promise.all(changed.map(async ({ payload: p }) => [p.scope, await read(p.previousPolicyRef), await read(p.policyRef), p.changedBy.accountRef])), [
		['workspace', { allowedProfiles: ['read_only', 'no_network'] }, { allowedProfiles: ['read_only'] }, 'local'],
		['workspace', { allowedProfiles: ['read_only'] }, {}, 'local'],
	]);
	assert.deepEqual(changed.map((f) => log[log.indexOf(f) - 1].type), ['workspace.updated', 'workspace.updated']);
	await at.rt.stop();
});
