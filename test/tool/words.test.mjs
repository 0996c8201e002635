// What the inventory, the facts and the thread read say about a call is the same: whether it may run, why, and inside which boundary.
import assert from 'node:assert/strict';
import { chownSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { ended, facts, pending } from '../lib/gate.mjs';
import { newFolder, ok, submit, world } from '../lib/runtime.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox
const rules = [
	{ name: 'no-search', effect: 'deny', tool: 'search_files' },
	{ name: 'look-twice', effect: 'ask', tool: 'list_files' },
	{ name: 'not-here', effect: 'deny', tool: 'write_file', workspace: 'vault' },
	{ name: 'host-says-no', effect: 'deny', tool: 'write_file', argument: 'path', matches: 'forbidden/*' },
];
const told = newFolder(); // what handlers were given
const hooks = [
	{ name: 'guard', point: 'permission_request', match: 'edit_file', command: `echo '{"decision":"deny","reason":"not today"}'` },
	...['pre_tool_use', 'post_tool_use'].map((point) => ({ name: `tell-${point}`, point, match: 'shell', command: `cat >${told}/${point}` })),
];
let w, broken, workspace;

before(async () => {
	workspace = newFolder();
	writeFileSync(join(workspace, 'note.txt'), 'a note\n');
	if (process.getuid() === 0) for (const path of [workspace, join(workspace, 'note.txt')]) chownSync(path, OWNER, OWNER);
	const config = { 'tools.workspace': workspace, permission_rules: rules, hooks };
	w = await world({ config: { ...config, 'permission.mode': 'on_request' } });
	broken = await world({ config: { ...config, 'permission.mode': 'on_request', 'sandbox.without': 'seccomp' } });
});

const wants = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const write = (path = 'new.txt') => wants('write_file', { path, content: 'x' });
const thread = async (rt, { sessionId, threadId }) => (await ok(rt, 'get_thread_read', { sessionId, threadId })).threads[0];

async function turn(rt, text, more) {
	const receipt = await submit(rt, text, more);
	await ended(rt, receipt.sessionId, receipt.turnId);
	return receipt;
}

/** How each call of a session ended, by the name of its tool. */
async function endsOf(rt, sessionId) {
	const names = Object.fromEntries((await facts(rt, sessionId, 'tool.started')).map((e) => [e.toolCallId, e.payload.toolName]));
	return Object.fromEntries((await facts(rt, sessionId, 'tool.result', 'tool.failed')).map((e) => [names[e.toolCallId], e.payload.errorCategory ?? e.payload.status]));
}

test('TL-03 five words in the inventory, and a call to each does what its word says', async () => {
	const calls = [wants('read_file', { path: 'note.txt' }), wants('search_files', { pattern: 'x' }), wants('list_files', {}), write('five.txt')].join('');
	const { sessionId, turnId } = await submit(w.rt, calls);
	const [asked] = await pending(w.rt, sessionId);
	const inventory = async (rt, id) => Object.fromEntries((await ok(rt, 'get_tool_inventory', { sessionId: id })).tools.map((t) => [t.toolName, t.policy]));
	const { read_file, search_files, list_files, write_file } = await inventory(w.rt, sessionId);
	assert.deepEqual([read_file, search_files, list_files, write_file], ['allowed', 'denied', 'ask', 'sandboxed']);
	await ok(w.rt, 'respond_action', { actionId: asked.actionId, decision: 'allow' });
	await ended(w.rt, sessionId, turnId);
	assert.deepEqual(await endsOf(w.rt, sessionId), { read_file: 'ok', search_files: 'permission_denied', list_files: 'ok', write_file: 'ok' });
	assert.ok(existsSync(join(workspace, 'five.txt')));
	const nothing = await turn(broken.rt, wants('read_file', { path: 'note.txt' }));
	assert.equal((await inventory(broken.rt, nothing.sessionId)).read_file, 'unavailable');
	assert.deepEqual(await endsOf(broken.rt, nothing.sessionId), { read_file: 'sandbox_unavailable' });
});

test('PM-01 AC-11 a write: its permission, the reason and the real boundary are facts of its call before it runs, and in the thread read', async () => {
	const receipt = await turn(w.rt, wants('shell', { command: 'echo x >one.txt' }));
	assert.ok(existsSync(join(workspace, 'one.txt')));
	const log = await facts(w.rt, receipt.sessionId);
	const { toolCallId } = log.find((e) => e.type === 'tool.started');
	const of = (type) => log.find((e) => e.type === type && e.toolCallId === toolCallId);
	const [judged, applied, result] = [of('permission.evaluated'), of('sandbox.applied'), of('tool.result')];
	assert.ok(judged.sequence < applied.sequence && applied.sequence < result.sequence);
	assert.deepEqual([judged.payload.mode, judged.payload.decision, judged.payload.decisionSource], ['on_request', 'sandboxed', 'mode']);
	assert.deepEqual([applied.payload.mode, applied.payload.network, applied.payload.writeRoots.includes(workspace)], ['workspace_write', 'restricted', true]);
	const { permissionState, sandboxState } = await thread(w.rt, receipt);
	assert.deepEqual([permissionState.mode, permissionState.policySource, permissionState.interactionAllowed], ['on_request', 'host', true]);
	const decision = permissionState.decisions.find((d) => d.toolCallId === toolCallId);
	assert.deepEqual([decision.permissionRef, decision.decision, decision.decisionReason], [judged.eventId, 'sandboxed', judged.payload.decisionReason]);
	assert.deepEqual([sandboxState.state, sandboxState.profile, sandboxState.sandboxRef], ['applied', 'workspace_write', applied.eventId]);
	const given = (point) => JSON.parse(readFileSync(join(told, point), 'utf8'));
	assert.deepEqual([given('pre_tool_use').sandbox, given('post_tool_use').sandbox],
		['undecided', 'settled'].map((state) => ({ state, profile: applied.payload.mode, network: applied.payload.network })), 'HK-06');
	const never = await turn(w.rt, write('two.txt'), { options: { mode: 'never' } });
	assert.equal((await thread(w.rt, never)).permissionState.interactionAllowed, false);
});

test('AC-11 a write that is denied by a rule, the host, the mode, a hook or for want of a sandbox: the thread read names which', async () => {
	const causes = [
		[w, write('a.txt'), { createPolicy: { workspaceId: 'vault' } }, 'rule'],
		[w, write('forbidden/a.txt'), {}, 'host_policy'],
		[w, write('a.txt'), { options: { mode: 'plan' } }, 'mode'],
		[w, wants('edit_file', { path: 'note.txt', oldText: 'a', newText: 'b' }), { options: { mode: 'default' } }, 'hook'],
		[broken, write('a.txt'), {}, 'sandbox_override'],
	];
	for (const [where, text, more, source] of causes) {
		const receipt = await turn(where.rt, text, more);
		const log = await facts(where.rt, receipt.sessionId);
		const judged = log.find((e) => e.type === 'permission.evaluated');
		assert.ok(judged.sequence < log.find((e) => e.type === 'tool.failed').sequence, source);
		assert.equal(log.some((e) => e.type === 'tool.result' || e.type === 'sandbox.applied'), false, source);
		const decision = (await thread(where.rt, receipt)).permissionState.decisions.at(-1);
		assert.deepEqual([decision.decisionSource, decision.permissionRef], [source, judged.eventId]);
		assert.match(decision.decision, /^(deny|unavailable)$/);
		assert.ok(decision.decisionReason.length > 0);
	}
	assert.equal(existsSync(join(workspace, 'a.txt')), false);
});
