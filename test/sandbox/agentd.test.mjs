// The attacks as a model would make them: through the shell tool of a real agentd. What the kernel refused is on record as a violation with its evidence,
// what a program merely says is not, and nothing beside the workspace changes.
// ci: alone
// ci: release only (a sanitizer inside the helpers makes calls of its own, which the filter refuses)
import './isolate.mjs';
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { ok, readLog, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';
import { changes, listTree } from './tree.mjs';
import { backends, isExpected, makeWorld, readAttempts } from './world.mjs';

const rows = readAttempts();
const ask = (args) => `[[tool shell ${JSON.stringify(args)}]]`;
const CALLS = ['mount_tmpfs', 'umount_hooks', 'unshare_user', 'setns', 'ptrace_traceme', 'io_uring_setup', 'bpf', 'keyctl', 'socket_vsock', 'socket_netlink_audit', 'suid_fchmod',
	'unix_pair_datagram', 'init_trace', 'victim_read_memory', 'open_by_handle_at'];
const OTHERS = ['outside_write', 'outside_read', 'git_hook_write', 'git_rename', 'etc_write', 'tcp_host', 'udp_host', 'unix_abstract', 'unix_stream', 'victim_environ', 'signal_kill',
	'descriptor_root', 'environment_secret', 'ipc_shared_memory', 'workspace_write', 'state_read', 'init_mem', 'has_capabilities', 'is_root', 'limit_core'];

let world, rt, model;

before(async () => {
	world = await makeWorld(backends[0]);
	mkdirSync(join(world.base, 'agentd'), { mode: 0o700 });
	model = await startModel();
	rt = await startAgentd({ dataDir: join(world.base, 'agentd'), model, env: { HOST_SECRET: 'escape-secret-4711' },
		config: { 'tools.workspace': world.workspace, 'permission.mode': 'bypass', 'sandbox.env': world.env.join(',') } });
});

async function bytes(outputRef) {
	let text = '';
	for (;;) {
		const { content, sizeBytes } = await ok(rt, 'read_output', { outputRef, offset: Buffer.byteLength(text), length: 1048576 });
		text += content;
		if (Buffer.byteLength(text) >= sizeBytes) return text;
	}
}

/** One turn in which the model runs this; its facts, and what the command wrote. */
async function run(command, more = {}) {
	const { sessionId } = await submit(rt, ask({ command, ...more }));
	const facts = await waitFor(async () => {
		const log = (await readLog(rt, sessionId)).map((f) => f.event);
		return log.some((e) => /^turn\.(completed|failed|canceled)$/.test(e.type)) && log;
	}, 'the end of the turn', 90000);
	const of = (type) => facts.filter((e) => e.type === type).map((e) => e.payload);
	const outputs = await Promise.all(of('tool.result').map((p) => bytes(p.outputRef)));
	return { facts, of, output: outputs.join('\n') };
}

const attempt = (names) => `./escape-attempts ${names.join(' ')}`;
const results = (output) => new Map(output.split('\n').filter((line) => /^\w+ \S+$/.test(line)).map((line) => line.split(' ')));

function wrong(names, found) {
	return names.filter((name) => !isExpected(rows.find((row) => row.name === name).expected.workspace_write, found.get(name) ?? 'no result'))
		.map((name) => `${name}: ${found.get(name)}`);
}

test('SB-02 SB-06 SB-07 a model attacks through the shell tool: closed, applied before it ran, refused calls on record', async (t) => {
	const left = ['ws', 'agentd'];
	const before = listTree(world.base, left);
	const { of, facts, output } = await run(attempt([...CALLS, ...OTHERS]));
	assert.deepEqual(wrong([...CALLS, ...OTHERS], results(output)), [], output);
	const order = facts.map((e) => e.type);
	assert.ok(order.indexOf('sandbox.applied') < order.indexOf('process.started'), order.join(' '));
	const [applied] = of('sandbox.applied');
	assert.equal(applied.mode, 'workspace_write');
	const violations = of('sandbox.violation');
	const kinds = new Set(violations.map((v) => `${v.boundary} ${v.attempted}`));
	t.diagnostic([...kinds].join(', '));
	assert.equal(kinds.size, CALLS.length, 'one kind for each call that the filter refused');
	assert.equal(violations.length, CALLS.length, 'one fact for what was tried once');
	for (const v of violations) assert.deepEqual([v.effect, v.evidence], ['blocked', 'seccomp-notify']);
	assert.deepEqual(changes(before, listTree(world.base, left)), []);
});

test('SB-07 a call that is refused again and again costs two facts, and its count is exact', async () => {
	const { of } = await run(attempt(['mount_tmpfs', 'mount_proc', 'call_often', 'bpf', 'bpf', 'bpf']));
	const last = new Map(of('sandbox.violation').map((v) => [v.attempted.split('(')[0], v]));
	assert.deepEqual([...last].map(([name, v]) => [name, v.count]), [['mount', 2], ['userfaultfd', 5000], ['bpf', 3]]);
	assert.ok(of('sandbox.violation').length <= 6);
	for (const v of last.values()) assert.match(await bytes(v.violationRef), /seccomp-notify/);
});

test('SB-07 words are no violation: a program that says it was denied, and a file without permission', async () => {
	const { of, output } = await run('echo "Permission denied: sandbox violation, operation not permitted" >&2; touch shut; chmod 0 shut; cat shut; exit 1');
	assert.match(output, /Permission denied/);
	assert.deepEqual(of('sandbox.violation'), []);
	assert.equal(of('process.completed').length + of('process.failed').length, 1);
});

test('the same attacks under read_only, asked for by the call: the workspace is as it was', async () => {
	const before = listTree(world.base, ['agentd']);
	const names = ['workspace_write', 'workspace_chmod', 'git_hook_write', 'outside_write', 'tmp_write'];
	const { of, output } = await run(attempt(names), { sandbox: 'read_only' });
	const found = results(output);
	assert.deepEqual(names.filter((name) => !isExpected(rows.find((row) => row.name === name).expected.read_only, found.get(name) ?? 'no result')), [], output);
	assert.equal(of('sandbox.applied')[0].mode, 'read_only');
	assert.deepEqual(changes(before, listTree(world.base, ['agentd'])), []);
});

test('nobody outside was reached by any of it', async () => {
	assert.deepEqual(await world.victim.end(), ['done']);
});
