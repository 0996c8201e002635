// Commands in a real agentd, behind a real boundary: what runs by itself, what asks, what is refused, and what the model reads of it. The
// workspace is not root's: a sandboxed process gets a user of its own.
import assert from 'node:assert/strict';
import { chownSync, existsSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import http from 'node:http';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { ended, facts, pending, seen } from '../lib/gate.mjs';
import { follow, newFolder, ok, refused, submit, waitFor, world } from '../lib/runtime.mjs';

const OWNER = 1000;
const rules = [
	{ name: 'look', effect: 'allow', tool: 'shell', command: 'cat' },
	{ name: 'no-push', effect: 'deny', tool: 'shell', command: 'git push' },
];

function newWorkspace() {
	const folder = newFolder();
	writeFileSync(join(folder, 'note.txt'), 'a note\n');
	if (process.getuid() === 0) for (const path of [folder, join(folder, 'note.txt')]) chownSync(path, OWNER, OWNER);
	return folder;
}

let w;
let workspace;
let careful;

before(async () => {
	workspace = newWorkspace();
	const common = { 'tools.workspace': workspace, permission_rules: rules, 'sandbox.allow_danger': true, 'process.max_ms': 30000 };
	w = await world({ config: { ...common, 'permission.mode': 'on_request' } });
	careful = await world({ config: { ...common, 'permission.mode': 'default', 'sandbox.allow_danger': false } });
});

const wants = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const shell = (args) => wants('shell', typeof args === 'string' ? { command: args } : args);

/** What the model was told by the first call of a turn: its text, and how it ended. */
async function told(rt, sessionId) {
	const [end] = await waitFor(async () => {
		const ends = await facts(rt, sessionId, 'tool.result', 'tool.failed');
		return ends.length > 0 && ends;
	}, 'the end of the call');
	return end;
}

async function run(world, args, more) {
	const { sessionId } = await submit(world.rt, shell(args), more);
	const end = await told(world.rt, sessionId);
	await ended(world.rt, sessionId);
	return { sessionId, end, text: end.payload.preview ?? '' };
}

const judged = async (rt, sessionId) => (await seen(rt, sessionId, 'permission.evaluated'))[0].payload;
const answer = (rt, { actionId }, decision) => ok(rt, 'respond_action', { actionId, decision });

test('PR-04 PR-09 a command runs by itself inside the sandbox, and all about it is on record before it does', async () => {
	const { sessionId, end, text } = await run(w, 'echo hello; cat note.txt');
	assert.equal(end.type, 'tool.result');
	// the leak check of a sanitized helper tries ptrace, which is blocked too
	assert.match(text, /^exit code 0, after [0-9.]+ s\n(the sandbox blocked: ptrace.*\n)?\nhello\na note\n/);
	const log = await facts(w.rt, sessionId);
	const at = (type) => log.findIndex((e) => e.type === type);
	const evaluated = log[at('permission.evaluated')].payload;
	assert.deepEqual([evaluated.decision, evaluated.decisionSource, evaluated.sandboxProfile], ['sandboxed', 'mode', 'workspace_write']);
	assert.equal(log[at('tool.started')].payload.sandboxProfile, 'workspace_write');
	const started = log[at('process.started')].payload;
	assert.equal(started.safeCommand, 'echo hello; cat note.txt');
	assert.deepEqual(started.parsedSubcommands.map((c) => c.words), [['echo', 'hello'], ['cat', 'note.txt']]);
	assert.deepEqual(started.pathValidation, { enforcedBy: 'sandbox', named: [] });
	assert.deepEqual([started.destructive, started.networkDecision, started.profile], [false, 'restricted', 'workspace_write']);
	const order = ['permission.evaluated', 'tool.started', 'sandbox.applied', 'process.started', 'process.completed', 'tool.result'].map(at);
	assert.deepEqual(order, [...order].sort((a, b) => a - b), 'in this order');
	assert.ok(!order.includes(-1));
});

test('the exit code is told, words need no shell, input is given', async () => {
	assert.match((await run(w, 'echo out; echo err >&2; exit 3')).text, /^exit code 3,[^]*out\nerr\n/);
	assert.match((await run(w, { argv: ['printf', '%s|', 'a b', '$HOME', '*'] })).text, /\n\na b\|\$HOME\|\*\|/);
	assert.match((await run(w, { command: 'tr a-z A-Z', input: 'loud\n' })).text, /\n\nLOUD\n/);
	const { end } = await run(w, { argv: ['no-such-program'] });
	assert.deepEqual([end.type, end.payload.errorCategory], ['tool.failed', 'not_started']);
});

test('a command that takes too long is stopped and says so', async () => {
	const { end, sessionId } = await run(w, { command: 'echo begun; sleep 60', timeoutMs: 1000 });
	assert.equal(end.type, 'tool.failed');
	assert.equal(end.payload.status, 'timed_out');
	const [process] = await facts(w.rt, sessionId, 'process.failed', 'process.terminated');
	assert.ok(process, 'the process has an end of its own');
});

test('PM-01 what looks like harm asks first, and says why', async () => {
	const { sessionId } = await submit(w.rt, shell('mkdir -p old && rm -rf old'));
	const [action] = await pending(w.rt, sessionId);
	const { decision, decisionSource, decisionReason, destructive } = await judged(w.rt, sessionId);
	assert.deepEqual([decision, decisionSource, destructive], ['ask', 'classifier', true]);
	assert.match(decisionReason, /recursive_delete \(rm -rf\)/);
	assert.equal((await facts(w.rt, sessionId, 'process.started')).length, 0);
	await answer(w.rt, action, 'allow');
	assert.equal((await told(w.rt, sessionId)).type, 'tool.result');
	const [{ payload }] = await facts(w.rt, sessionId, 'process.started');
	assert.equal(payload.destructive, true);
});

test('PM-04 SB-03 more than the profile is a question of its own; a no keeps it confined', async () => {
	const outside = join(newFolder(), 'out.txt');
	const args = { command: `echo x > ${outside}`, sandbox: 'danger_full_access', justification: 'the report goes there' };
	for (const decision of ['deny', 'allow']) {
		const { sessionId } = await submit(w.rt, shell(args), { options: { mode: 'on_request' } });
		const [action] = await pending(w.rt, sessionId);
		assert.equal(action.actionType, 'sandbox_escalation');
		const [{ payload }] = await facts(w.rt, sessionId, 'action.required');
		assert.match(payload.prompt, /the report goes there/);
		await answer(w.rt, action, decision);
		const end = await told(w.rt, sessionId);
		assert.equal(end.type === 'tool.result', decision === 'allow');
		const [applied] = await facts(w.rt, sessionId, 'sandbox.applied');
		assert.equal(applied?.payload.mode, decision === 'allow' ? 'danger_full_access' : undefined);
		await ended(w.rt, sessionId);
	}
});

test('OPEN-26 PM-04 a profile that adds the network alone is a question about the network, also after kill -9; one that adds more is an escalation', async () => {
	const n = await world({ config: { 'tools.workspace': newWorkspace(), 'permission.mode': 'on_request', 'sandbox.allow_hosts': 'packages.example' } });
	const args = { command: 'echo x', sandbox: 'allowlisted_network', justification: 'the list of packages' };
	for (const [sandbox, type, decision] of [['workspace_write', 'network_access', 'deny'], ['no_network', 'network_access', 'allow'], ['read_only', 'sandbox_escalation', 'deny']]) {
		const { sessionId } = await submit(n.rt, shell(args), { options: { mode: 'on_request', sandbox } });
		const [{ actionId }] = await pending(n.rt, sessionId);
		if (decision === 'allow') {
			await n.rt.kill9();
			n.rt = await n.again();
		}
		const [action] = await pending(n.rt, sessionId);
		assert.deepEqual([action.actionId, action.actionType, action.decisions, action.decisionKind], [actionId, type, ['allow', 'deny'], 'allow_or_deny']);
		const [{ payload }] = await facts(n.rt, sessionId, 'action.required');
		assert.deepEqual([payload.decisions, payload.decisionKind, /the list of packages/.test(payload.prompt)], [['allow', 'deny'], 'allow_or_deny', true]);
		await answer(n.rt, action, decision);
		assert.equal((await told(n.rt, sessionId)).type === 'tool.result', decision === 'allow');
		const [started] = await facts(n.rt, sessionId, 'tool.started');
		assert.equal(started?.payload.sandboxProfile, decision === 'allow' ? 'allowlisted_network' : undefined, sandbox);
		await ended(n.rt, sessionId);
	}
	await n.rt.stop();
});

test('SB-05 a boundary that cannot be had is never replaced: nothing runs', async () => {
	const broken = await world({ config: { 'tools.workspace': workspace, 'permission.mode': 'bypass', 'sandbox.without': 'seccomp' } });
	const marker = join(workspace, 'must-not-be');
	const { sessionId, end } = await run(broken, `touch ${marker}`);
	assert.deepEqual([end.type, end.payload.errorCategory], ['tool.failed', 'sandbox_unavailable']);
	assert.ok(end.payload.recoveryAdvice.length > 0);
	assert.equal((await judged(broken.rt, sessionId)).decision, 'unavailable');
	assert.equal((await facts(broken.rt, sessionId, 'sandbox.applied', 'process.started')).length, 0);
	assert.ok(!existsSync(marker));
	await broken.rt.stop();
});

test('a rule allows what is literal; its opaque twin asks; a rule denies what is hidden', async () => {
	const { text } = await run(careful, 'cat note.txt');
	assert.match(text, /a note/);
	for (const twin of ['cat note.txt; id', 'cat $(echo note.txt)', 'cat note.txt > copy', 'cat note.tx?']) {
		const { sessionId } = await submit(careful.rt, shell(twin));
		assert.equal((await judged(careful.rt, sessionId)).decision, 'ask', twin);
		const [action] = await pending(careful.rt, sessionId);
		await answer(careful.rt, action, 'deny');
		assert.equal((await told(careful.rt, sessionId)).payload.status, 'denied');
	}
	const { end } = await run(careful, 'sh -c "git push"');
	assert.deepEqual([end.payload.status, end.payload.errorCategory], ['denied', 'permission_denied']);
	const danger = await run(careful, { command: 'cat note.txt', sandbox: 'danger_full_access' });
	assert.equal(danger.end.payload.status, 'denied', 'the host does not allow it at all');
});

test('a grant is for that command alone, and turns may only tighten', async () => {
	const { sessionId } = await submit(careful.rt, shell('wc -c note.txt'));
	await answer(careful.rt, (await pending(careful.rt, sessionId))[0], 'allow_session');
	await ended(careful.rt, sessionId);
	const again = await submit(careful.rt, shell("wc  -c 'note.txt'"), { sessionId });
	await ended(careful.rt, sessionId, again.turnId);
	const other = await submit(careful.rt, shell('wc -l note.txt'), { sessionId });
	const [action] = await pending(careful.rt, sessionId);
	assert.equal(action.turnId ?? other.turnId, other.turnId);
	await answer(careful.rt, action, 'deny');
	await ended(careful.rt, sessionId, other.turnId);
	const results = await facts(careful.rt, sessionId, 'tool.result');
	assert.equal(results.length, 2);
	await refused(careful.rt, 'invalid_input', 'submit_turn', { createPolicy: {}, text: 'x', options: { sandbox: 'allowlisted_network' } });
	const strict = await submit(w.rt, shell('touch new.txt'), { options: { sandbox: 'read_only' } });
	await ended(w.rt, strict.sessionId);
	const [applied] = await facts(w.rt, strict.sessionId, 'sandbox.applied');
	assert.equal(applied.payload.mode, 'read_only');
	assert.ok(!existsSync(join(workspace, 'new.txt')));
});

test('PM-05 in mode on_failure a command may ask for more only after the same one failed inside', async () => {
	const more = { command: 'exit 3', sandbox: 'danger_full_access', justification: 'it did not work inside' };
	const text = [more, 'exit 4', more, 'exit 3', more].map(shell).join('[[then]]');
	const { sessionId } = await submit(w.rt, text, { options: { mode: 'on_failure' } });
	const [action] = await pending(w.rt, sessionId);
	const log = await facts(w.rt, sessionId);
	const judged = log.filter((e) => e.type === 'permission.evaluated').map((e) => e.payload);
	assert.deepEqual(judged.map((p) => p.decision), ['deny', 'sandboxed', 'deny', 'sandboxed', 'ask'], 'too early, and after another one failed');
	assert.equal(new Set([judged[0], judged[2], judged[3], judged[4]].map((p) => p.commandDigest)).size, 1);
	assert.notEqual(judged[1].commandDigest, judged[0].commandDigest);
	const failed = log.findLast((e) => e.type === 'process.completed');
	assert.equal(failed.payload.exitCode, 3);
	assert.ok(log.find((e) => e.type === 'permission.requested').sequence > failed.sequence);
	await answer(w.rt, action, 'deny');
	await ended(w.rt, sessionId);
});

test('PR-05 a terminal lives on: it is written to, read and stopped', async () => {
	const { sessionId } = await submit(w.rt, wants('terminal_open', { command: 'cat', rows: 10, columns: 40 }));
	await ended(w.rt, sessionId);
	const [{ processId }] = await facts(w.rt, sessionId, 'process.started');
	const [opened] = await facts(w.rt, sessionId, 'tool.result');
	assert.ok(opened.payload.preview.includes(processId));
	const step = async (name, args) => {
		const { turnId } = await submit(w.rt, wants(name, { processId, ...args }), { sessionId });
		await ended(w.rt, sessionId, turnId);
		return (await facts(w.rt, sessionId, 'tool.result', 'tool.failed')).at(-1).payload;
	};
	assert.match((await step('process_write', { input: 'ping\n' })).preview, /written to/);
	assert.match((await step('process_read', { waitMs: 5000 })).preview, /runs; bytes 0 to \d+ of its output:[^]*ping/);
	assert.match((await step('process_stop', {})).preview, /is being stopped/);
	await seen(w.rt, sessionId, 'process.terminated');
	assert.match((await step('process_read', {})).preview, /is over/);
	assert.equal((await step('process_write', { input: 'x' })).errorCategory, 'closed');
	const foreign = await submit(w.rt, wants('process_read', { processId }));
	assert.equal((await told(w.rt, foreign.sessionId)).payload.errorCategory, 'not_found', 'of another session');
});

test('TL-16 a command that runs tells what it wrote so far: progress in order, offsets that rise, and a ref that is readable before the end', async () => {
	const stop = 'stop-progress';
	const { sessionId } = await submit(w.rt, shell(`while [ ! -e ${stop} ]; do echo tick; sleep 0.1; done`));
	const reader = await follow(w.rt, sessionId);
	const progress = [];
	const take = reader.frame.bind(reader);
	reader.frame = (text) => {
		const data = text.split('\n').find((line) => line.startsWith('data:'));
		const event = data && JSON.parse(data.slice('data:'.length));
		if (event?.type === 'tool.progress') progress.push({ ...event, isAfterEnd: reader.of('tool.result').length > 0 });
		take(text);
	};
	await reader.until(() => progress.length >= 3, 'three partials');
	const { partialOutputRef, outputOffset } = progress[2].payload;
	const read = await ok(w.rt, 'read_output', { outputRef: partialOutputRef, offset: outputOffset, length: 5 });
	assert.equal(read.content, 'tick\n');
	assert.deepEqual(await facts(w.rt, sessionId, 'tool.result'), [], 'it is not over');
	writeFileSync(join(workspace, stop), '');
	await reader.until(() => reader.of('turn.completed').length > 0, 'the end');
	reader.check();
	reader.stop();
	const [{ toolCallId, stepId }] = await facts(w.rt, sessionId, 'tool.started');
	for (const [i, e] of progress.entries()) {
		assert.deepEqual([e.toolCallId, e.stepId, e.payload.partialOutputRef, e.isAfterEnd], [toolCallId, stepId, partialOutputRef, false]);
		assert.ok(i === 0 || e.payload.outputOffset > progress[i - 1].payload.outputOffset);
		assert.equal(e.payload.outputOffset % 5, 0);
	}
});

test('a listed host is reached through the proxy, another is not, and the try is a violation', async () => {
	const server = http.createServer((req, res) => res.end(`you asked for ${req.url}`)).listen(0, '127.0.0.2');
	await once(server, 'listening');
	const { port } = server.address();
	const config = { 'tools.workspace': workspace, 'permission.mode': 'on_request', 'sandbox.profile': 'allowlisted_network' };
	const net = await world({ config: { ...config, 'sandbox.allow_hosts': `inside.test:${port}@127.0.0.2!` } });
	const fetch = (host) => ({ argv: ['python3', '-c', `import urllib.request; print(urllib.request.urlopen("http://${host}:${port}/x", timeout=10).read().decode())`] });
	const { sessionId, text } = await run(net, fetch('outside.test'));
	assert.doesNotMatch(text, /you asked for/);
	const [{ payload }] = await seen(net.rt, sessionId, 'sandbox.violation');
	assert.deepEqual([payload.boundary, payload.effect, payload.evidence], ['network', 'blocked', 'enforcer']);
	assert.match(payload.attempted, /outside\.test/);
	const [applied] = await facts(net.rt, sessionId, 'sandbox.applied');
	assert.equal(applied.payload.network, 'rules');
	assert.match((await run(net, fetch('inside.test'))).text, /you asked for \/x/);
	server.close();
	await net.rt.stop();
});

test('what runs in the background is told by its id, and long output by its ends', async () => {
	const { text } = await run(w, { command: 'sleep 1; echo late', background: true });
	assert.match(text, /runs in the background as proc_/);
	const long = await run(w, 'seq 1 60000');
	assert.match(long.text, /^exit code 0/);
	const read = await ok(w.rt, 'read_output', { outputRef: long.end.payload.outputRef, offset: 0, length: 100000 });
	assert.match(read.content, /bytes are left out here/);
	assert.match(read.content, /\n60000\n$/);
});
