// One daemon has one workspace. It belongs to the tenant local: another tenant gets nothing of its files, its tools and its instruction file, unless the operator shares it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, submit, waitFor, world } from '../lib/runtime.mjs';
import { ask, factsOf, must } from './tenants.mjs';

const RULES = 'Never mention the merger.';
const NOTE = 'the note of local';
let w, workspace, token;

const wants = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const ended = (rt, who, { sessionId, turnId }) => waitFor(async () => (await factsOf(rt, who, sessionId)).find((f) => f.turnId === turnId && /^turn\.(completed|failed)$/.test(f.type)), 'the end of the turn');
const systemOf = (entry) => entry.body.messages.find((m) => m.role === 'system')?.content ?? '';

async function restart(isShared) {
	if (w) await w.rt.stop();
	const config = { 'tools.workspace': workspace, 'permission.mode': 'default', ...(isShared ? { 'tools.workspace_shared_by_tenants': true } : {}) };
	if (w) w.rt = await w.again({ config });
	else w = await world({ config });
}

before(async () => {
	workspace = newFolder();
	writeFileSync(join(workspace, 'AGENTS.md'), RULES);
	writeFileSync(join(workspace, 'note.txt'), NOTE);
	if (process.getuid() === 0) execFileSync('chown', ['-R', '1000:1000', workspace]);
	await restart(false);
	({ token } = await ok(w.rt, 'create_token', { tenant: 'acme', name: 'acme', scopes: ['admin'] }));
});

function assertDenied({ status, body }) {
	assert.deepEqual([status, body.error?.code], [403, 'policy_denied'], JSON.stringify(body));
	assert.match(body.error.message, /tools\.workspace_shared_by_tenants/);
}

test('another tenant is refused when it makes a session or gives work, with the setting in the message; local works', async () => {
	assertDenied(await ask(w.rt, token, 'create_session', {}));
	assertDenied(await ask(w.rt, token, 'submit_turn', { createPolicy: {}, text: wants('read_file', { path: 'note.txt' }) }));
	assert.deepEqual((await must(w.rt, token, 'list_sessions', {})).sessions, []);
	const own = await submit(w.rt, wants('read_file', { path: 'note.txt' }));
	await ended(w.rt, undefined, own);
	assert.ok(JSON.stringify(w.model.log(own.turnId)).includes(NOTE));
});

test('where the operator shares it, it is as for local; where not any more, a session from then gets nothing of it', async () => {
	await restart(true);
	const done = await must(w.rt, token, 'submit_turn', { createPolicy: {}, text: wants('read_file', { path: 'note.txt' }) });
	await ended(w.rt, token, done);
	assert.ok(JSON.stringify(w.model.log(done.turnId)).includes(NOTE));
	assert.ok(systemOf(w.model.log(done.turnId)[0]).includes(RULES));
	const waiting = await must(w.rt, token, 'submit_turn', { createPolicy: {}, text: wants('write_file', { path: 'made.txt', content: 'x' }) });
	const { actionId } = await waitFor(async () => (await factsOf(w.rt, token, waiting.sessionId)).find((f) => f.type === 'action.required'), 'a question');

	await restart(false);
	assertDenied(await ask(w.rt, token, 'submit_turn', { sessionId: done.sessionId, text: 'again' }));
	const environment = await must(w.rt, token, 'get_execution_environment', { sessionId: done.sessionId });
	assert.deepEqual([environment.cwd, environment.workspaceRoots], ['', []]);
	const { tools } = await must(w.rt, token, 'get_tool_inventory', { threadId: done.threadId });
	assert.deepEqual(tools, []);
	const asked = w.model.log(waiting.turnId).length;
	await must(w.rt, token, 'respond_action', { actionId, decision: 'allow' });
	await ended(w.rt, token, waiting);
	assert.ok(!existsSync(join(workspace, 'made.txt')), 'the call that waited did not run');
	const later = w.model.log(waiting.turnId).slice(asked);
	assert.ok(later.length > 0);
	for (const entry of later) assert.ok(!systemOf(entry).includes(RULES), 'the instructions are not given');
});
