// The workspace of sessions that name none: of their tenant or of the session, never one folder for all; a setting that cannot be meant stops the start.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, newFolder, ok, waitFor, world } from '../lib/runtime.mjs';
import { validateEvent } from '../lib/schemas.mjs';
import { ask, factsOf, must } from '../tenant/tenants.mjs';

const oneNode = { skip: Boolean(process.env.AR_TEST_POSTGRES) && 'the setting is refused with a database server' };

/** A server with this default, and a token for each of two tenants. */
async function server(form, more = {}) {
	const dir = realpathSync(newFolder());
	const w = await world({ config: { 'permission.mode': 'bypass', 'limits.token_rate': 0, 'workspaces.dir': dir, 'workspaces.default': form, ...more } });
	const tokens = {};
	for (const tenant of ['acme', 'zeta']) tokens[tenant] = (await ok(w.rt, 'create_token', { tenant, name: tenant, scopes: ['read', 'submit'] })).token;
	return { ...w, dir, tokens };
}

/** A shell command in a new session, or in one that is there: what it printed, and where it was. */
async function shell(w, token, command, where = { createPolicy: {} }) {
	const turn = await must(w.rt, token, 'submit_turn', { ...where, text: `[[tool shell ${JSON.stringify({ command })}]]` });
	const facts = await waitFor(async () => {
		const log = await factsOf(w.rt, token, turn.sessionId);
		return log.some((f) => f.turnId === turn.turnId && /^turn\.(completed|failed)$/.test(f.type)) && log;
	}, 'the end of the turn');
	for (const fact of facts) validateEvent(fact);
	const bound = facts.find((f) => f.type === 'workspace.bound')?.payload.binding;
	return { ...turn, facts, bound, text: facts.filter((f) => f.type === 'tool.result' && f.turnId === turn.turnId).map((f) => f.payload.preview).join('\n') };
}

test('{tenant}: all sessions of a tenant that name none share one workspace, and no other tenant sees it', oneNode, async () => {
	const w = await server('{tenant}');
	const one = await shell(w, w.tokens.acme, 'echo ACME-MARK > note; pwd');
	assert.ok(one.bound.folder.startsWith(`${w.dir}/`) && one.text.includes(one.bound.folder), one.text);
	assert.equal(one.facts[0].payload.workspaceId, one.bound.workspaceId);
	const two = await shell(w, w.tokens.acme, 'cat note', { createPolicy: { workspaceId: 'a-word' } });
	assert.deepEqual([two.bound.workspaceId, two.text.includes('ACME-MARK')], [one.bound.workspaceId, true]);
	const other = await shell(w, w.tokens.zeta, `ls; cat note ${one.bound.folder}/note; echo over`);
	assert.ok(other.text.includes('over') && !other.text.includes('ACME-MARK'), other.text);
	assert.notEqual(other.bound.folder, one.bound.folder);
	const local = await shell(w, undefined, `cat note ${one.bound.folder}/note; echo over`);
	assert.ok(!local.text.includes('ACME-MARK') && ![one.bound.folder, other.bound.folder].includes(local.bound.folder), local.text);
	assert.equal((await ask(w.rt, w.tokens.zeta, 'get_workspace', { workspaceId: one.bound.workspaceId })).body.error.code, 'workspace_not_found');
	const { workspace } = await must(w.rt, w.tokens.acme, 'get_workspace', { workspaceId: one.bound.workspaceId });
	assert.deepEqual([workspace.kind, workspace.trust, workspace.root], ['managed', 'untrusted', one.bound.folder]);
	const { workspace: named } = await must(w.rt, w.tokens.acme, 'create_workspace', {});
	const third = await shell(w, w.tokens.acme, 'cat note; echo over', { createPolicy: { workspaceId: named.workspaceId } });
	assert.deepEqual([third.bound.workspaceId, third.text.includes('ACME-MARK')], [named.workspaceId, false], 'one that is named counts');
	await w.rt.kill9();
	w.rt = await w.again();
	const after = await shell(w, w.tokens.acme, 'cat note');
	assert.deepEqual([after.bound.workspaceId, after.text.includes('ACME-MARK')], [one.bound.workspaceId, true]);
	assert.equal(readdirSync(w.dir).length, 3, 'a folder for each tenant');
	await must(w.rt, w.tokens.acme, 'archive_workspace', { workspaceId: one.bound.workspaceId });
	assert.equal((await ask(w.rt, w.tokens.acme, 'create_session', {})).body.error.code, 'workspace_archived');
});

test('{tenant}/{session}: each session has a workspace, a repeat of its command makes no second one', oneNode, async () => {
	const w = await server('{tenant}/{session}', { tenants: [{ name: 'acme', workspaces: 3 }] });
	const one = await shell(w, w.tokens.acme, 'echo ACME-MARK > note');
	const two = await shell(w, w.tokens.acme, 'cat note; echo over');
	assert.notEqual(two.bound.folder, one.bound.folder);
	assert.ok(two.text.includes('over') && !two.text.includes('ACME-MARK'), two.text);
	assert.ok((await shell(w, w.tokens.acme, 'cat note', { sessionId: one.sessionId })).text.includes('ACME-MARK'), 'a session keeps its own');
	const first = await must(w.rt, w.tokens.acme, 'create_session', { idempotencyKey: 'again' });
	assert.equal((await must(w.rt, w.tokens.acme, 'create_session', { idempotencyKey: 'again' })).sessionId, first.sessionId);
	assert.equal((await must(w.rt, w.tokens.acme, 'list_workspaces', {})).workspaces.length, 3);
	assert.equal((await ask(w.rt, w.tokens.acme, 'create_session', {})).body.error.code, 'tenant_quota_exceeded', 'they count against the quota');
	await shell(w, w.tokens.zeta, 'true');
	const many = await Promise.all(Array.from({ length: 8 }, () => shell(w, undefined, 'pwd')));
	assert.equal(new Set(many.map((m) => m.bound.folder)).size, 8);
});

test('sessions of one tenant that begin at once get the same workspace', oneNode, async () => {
	const w = await server('{tenant}');
	const many = await Promise.all(Array.from({ length: 8 }, () => shell(w, w.tokens.acme, 'pwd')));
	assert.equal(new Set(many.map((m) => m.bound.workspaceId)).size, 1);
	assert.equal((await must(w.rt, w.tokens.acme, 'list_workspaces', {})).workspaces.length, 1);
	const copy = await shell(w, w.tokens.acme, 'pwd', { createPolicy: { isolation: 'copy' } });
	assert.deepEqual([copy.bound.isolation, copy.bound.workspaceId], ['copy', many[0].bound.workspaceId]);
});

test('without the setting a session that names none has none', oneNode, async () => {
	const w = await server('none');
	const { sessionId } = await must(w.rt, w.tokens.acme, 'create_session', {});
	const facts = await factsOf(w.rt, w.tokens.acme, sessionId);
	assert.deepEqual([facts.some((f) => f.type === 'workspace.bound'), facts[0].payload.workspaceId], [false, 'default']);
	assert.deepEqual(readdirSync(w.dir), []);
});

test('a form that could mean one folder for everybody stops the start', () => {
	const folder = realpathSync(newFolder());
	const check = (...lines) => {
		const file = join(folder, 'agentd.yaml');
		writeFileSync(file, ['workspaces:', ...lines.map((l) => `  ${l}`)].join('\n'), { mode: 0o600 });
		return spawnSync(join(bin, 'agentd'), ['check', '--config', file, '--data-dir', join(folder, 'data')], { env: { PATH: process.env.PATH, HOME: folder }, encoding: 'utf8', timeout: 20000 });
	};
	for (const bad of ['shared', '{session}', '{tenant}/..', '../{tenant}', '/srv/{tenant}', '{tenant}/{session}/x', '{tenant }', '']) {
		const { status, stdout, stderr } = check(`dir: ${folder}/ws`, `default: "${bad}"`);
		assert.notEqual(status, 0, bad);
		assert.match(stdout + stderr, /workspaces\.default/);
	}
	assert.notEqual(check('default: "{tenant}"').status, 0, 'it needs workspaces.dir');
	const good = check(`dir: ${folder}/ws`, 'default: "{tenant}/{session}"');
	assert.equal(good.status, 0, good.stderr);
});
