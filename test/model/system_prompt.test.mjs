// The system prompt that a daemon sends by itself: what is in it, where people see it, and what takes its place.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, follow, newFolder, ok, readLog, startAgentd, startModel, submit, world } from '../lib/runtime.mjs';

async function turn(w, text) {
	const receipt = await submit(w.rt, text);
	const follower = await follow(w.rt, receipt.sessionId);
	await follower.ended(receipt.turnId);
	follower.stop();
	return receipt;
}
const system = (w, turnId) => w.model.log(turnId)[0].body.messages.filter((m) => m.role === 'system').map((m) => m.content?.[0]?.text ?? m.content).join('\n\n');
const ctl = (w, ...args) => execFileSync(join(bin, 'agentctl'), ['--socket', w.rt.socket, ...args], { encoding: 'utf8' });

test('without a setting: the standard prompt, before the instructions of the workspace; explain shows its version and its text', async () => {
	const workspace = newFolder();
	writeFileSync(join(workspace, 'AGENTS.md'), 'Answer in German.');
	const w = await world({ env: { AGENTD_SYSTEM_PROMPT: '' }, config: { 'tools.workspace': workspace } });
	const { sessionId, turnId } = await turn(w, 'hello');
	const sent = system(w, turnId);
	assert.match(sent, /^You are an agent [^]*\(prompt standard\/2\)/);
	assert.ok(sent.includes(`Workspace: "${workspace}";`), sent);
	assert.match(sent, /Sandbox: workspace_write: /);
	const [, documented] = /\n```\n(You are an agent [^]*?)Workspace: /.exec(readFileSync(new URL('../../docs/context.md', import.meta.url), 'utf8'));
	assert.ok(sent.startsWith(documented), documented);
	const started = (await readLog(w.rt, sessionId)).map((f) => f.event).find((e) => e.type === 'turn.started').timestamp;
	assert.ok(sent.endsWith(`Date: ${started.slice(0, 10)} (UTC)\n\n\nAnswer in German.`), sent);
	const { reasons, instructionRefs } = await ok(w.rt, 'explain', { id: sessionId });
	assert.match(reasons.find((r) => r.type === 'context.resolved').text, /; system prompt standard\/2/);
	const texts = await Promise.all(instructionRefs.map(async (outputRef) => (await ok(w.rt, 'read_output', { outputRef })).content));
	assert.equal(texts.join('\n\n'), sent);
	assert.match(ctl(w, 'explain', sessionId, '--prompt'), /^You are an agent [^]*Date: \d{4}-\d\d-\d\d \(UTC\)\nAnswer in German\.\n$/);
});

test('a sandbox that this machine cannot enforce is not promised', async () => {
	const workspace = newFolder();
	const w = await world({ env: { AGENTD_SYSTEM_PROMPT: '' }, config: { 'tools.workspace': workspace, 'sandbox.without': 'mount_view' } });
	const { sessionId, turnId } = await turn(w, 'hello');
	assert.equal((await ok(w.rt, 'get_execution_environment', { sessionId })).sandbox.inForce.isAvailable, false);
	const sent = system(w, turnId);
	assert.match(sent, /^Sandbox: workspace_write cannot be enforced here, so commands and file tools do not run\. Say so; do not retry\.$/m);
	assert.doesNotMatch(sent, /can write there|More is requested/);
});

test('a text, a file, or none in its place; a file that cannot be used keeps the daemon from starting', async () => {
	const model = await startModel();
	const folder = newFolder();
	const file = join(folder, 'prompt.txt');
	writeFileSync(file, 'You are a librarian.\n');
	symlinkSync(file, join(folder, 'link'));
	for (const [setting, sent] of [['Be kind.', 'Be kind.'], [`file:${file}`, 'You are a librarian.\n'], ['none', ''], ['', '']]) {
		const w = await world({ model, config: { 'model.system_prompt': setting } });
		const { sessionId, turnId } = await turn(w, 'hello');
		assert.equal(system(w, turnId), sent, setting);
		const { reasons, instructionRefs } = await ok(w.rt, 'explain', { id: sessionId });
		assert.doesNotMatch(reasons.find((r) => r.type === 'context.resolved').text, /system prompt/);
		assert.equal(instructionRefs.length, sent ? 1 : 0);
		await w.rt.stop();
	}
	for (const path of [join(folder, 'missing'), join(folder, 'link'), 'prompt.txt']) {
		const rt = await startAgentd({ config: { 'model.system_prompt': `file:${path}` }, mayDie: true });
		assert.equal(rt.isGone, true, path);
		assert.match(rt.stderr, /of model\.system_prompt is not used: /);
	}
});
