// Ways around rules and the danger scan, in a real agentd in mode on_request: none runs unasked. Every seventh line of the list that
// the unit test goes through; file tools are tried with each way to write a path.
import assert from 'node:assert/strict';
import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { ended, facts, pending, seen } from '../lib/gate.mjs';
import { newFolder, ok, submit, world } from '../lib/runtime.mjs';

const rules = [
	{ name: 'no-push', effect: 'deny', tool: 'shell', command: 'git push' },
	{ name: 'no-key', effect: 'deny', tool: 'shell', command: 'cat secrets/key' },
	{ name: 'ask-npm', effect: 'ask', tool: 'shell', command: 'npm install' },
	{ name: 'no-secrets', effect: 'deny', tool: '*', argument: 'path', matches: 'secrets/*' },
];
const lines = readFileSync(new URL('../unit/command/bypass_commands.txt', import.meta.url), 'utf8')
	.split('\n')
	.filter((line) => line && !line.startsWith('# '))
	.map((line) => line.replaceAll('\u23ce', '\n').replaceAll('\u240d', '\r').replaceAll('\u2400', '\0'));

let w;
let workspace;

before(async () => {
	workspace = newFolder();
	mkdirSync(join(workspace, 'build'));
	mkdirSync(join(workspace, 'secrets'));
	writeFileSync(join(workspace, 'build/kept'), 'kept\n');
	writeFileSync(join(workspace, 'secrets/key'), 'hidden\n');
	if (process.getuid() === 0) for (const path of ['', 'build', 'build/kept', 'secrets', 'secrets/key']) chownSync(join(workspace, path), 1000, 1000);
	w = await world({ config: { 'tools.workspace': workspace, permission_rules: rules, 'permission.mode': 'on_request', 'process.max_ms': 30000 } });
});

const wants = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;

test('no bypass line is judged to run unasked', async () => {
	const { sessionId } = await submit(w.rt, 'hello');
	await ended(w.rt, sessionId);
	const judge = (command) => ok(w.rt, 'evaluate_permission', { sessionId, act: { toolName: 'shell', arguments: { command } } });
	const ran = [];
	for (const line of lines.filter((_, i) => i % 7 === 0)) if (!['ask', 'deny'].includes((await judge(line)).decision)) ran.push(line);
	assert.deepEqual(ran, []);
	assert.equal((await judge('ls *.c && wc -l "$f"')).decision, 'sandboxed', 'what is harmless still runs');
});

test('calls wait for a person, and what they would delete is still there', async () => {
	for (const command of ['rm${IFS}-rf${IFS}build', 'r{m,} -rf build', 'x=r; x+=m; $x -rf build', '/bin/r? -rf build', 'find build | xargs rm', 'bash <<< "$x"']) {
		const { sessionId } = await submit(w.rt, wants('shell', { command }));
		const [action] = await pending(w.rt, sessionId);
		const [{ payload }] = await seen(w.rt, sessionId, 'permission.evaluated');
		assert.equal(payload.decision, 'ask', command);
		assert.match(payload.decisionReason, /unreadable|recursive_delete/);
		assert.equal((await facts(w.rt, sessionId, 'process.started')).length, 0, command);
		await ok(w.rt, 'respond_action', { actionId: action.actionId, decision: 'deny' });
		await ended(w.rt, sessionId);
	}
	assert.ok(existsSync(join(workspace, 'build/kept')));
});

test('a command that a rule could be about asks, and names the rule', async () => {
	const { sessionId } = await submit(w.rt, wants('shell', { command: 'git "$x" origin' }));
	await pending(w.rt, sessionId);
	const [{ payload }] = await seen(w.rt, sessionId, 'permission.evaluated');
	assert.deepEqual([payload.decision, payload.ruleRefs], ['ask', ['no-push']]);
	assert.match(payload.decisionReason, /rule 'no-push' could be about it/);
});

test('a file that a rule denies is denied however its path is written', async () => {
	for (const path of ['secrets/key', './secrets/key', 'secrets//key', 'build/../secrets/key', join(workspace, 'secrets/key'), `${workspace}/./secrets/key`]) {
		const { sessionId } = await submit(w.rt, wants('read_file', { path }));
		await ended(w.rt, sessionId);
		const [{ payload }] = await facts(w.rt, sessionId, 'tool.failed');
		assert.equal(payload.status, 'denied', path);
	}
});
