// What a fact says of the limits of a command is what holds: processes, output, time, terminal and input; and its environment is the filtered one, behind a ref.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { ended, facts } from '../lib/gate.mjs';
import { newFolder, ok, submit, world } from '../lib/runtime.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox
const PROCESSES = 40, OUTPUT = 262144;
let w;

before(async () => {
	const folder = newFolder();
	chmodSync(folder, 0o755);
	const workspace = join(folder, 'work');
	mkdirSync(workspace);
	if (process.getuid() === 0) execFileSync('chown', [`${OWNER}:${OWNER}`, workspace]);
	const config = { 'tools.workspace': workspace, 'permission.mode': 'bypass', 'sandbox.max_processes': PROCESSES, 'process.max_output_bytes': OUTPUT };
	w = await world({ env: { HOST_SECRET: 'host-secret-4711', DEPLOY_TOKEN: 'host-token-4711' }, config });
	w.config = config;
});

/** One command; its limits as the fact says them, its last fact, its violations, what it wrote. */
async function run(args, tool = 'shell') {
	const { sessionId, turnId } = await submit(w.rt, `[[tool ${tool} ${JSON.stringify(args)}]]`);
	await ended(w.rt, sessionId, turnId);
	const log = await facts(w.rt, sessionId);
	const of = (type) => log.filter((e) => e.type === type).map((e) => e.payload);
	const [applied] = of('sandbox.applied');
	return { log, of, applied, limits: applied.processLimits, end: log.find((e) => /^process\.(completed|failed|terminated)$/.test(e.type)) };
}

test('SB-04 the limits of a command are on record: processes, output, time, terminal and input', async () => {
	const { limits } = await run({ command: 'true', timeoutMs: 7000 });
	assert.deepEqual([limits.processes, limits.outputBytes, limits.timeoutMs, limits.tty, limits.stdin], [PROCESSES, OUTPUT, 7000, false, 'empty']);
	assert.deepEqual([(await run({ command: 'cat', input: 'x' })).limits.stdin, (await run({ command: 'true', background: true })).limits.stdin], ['given', 'open']);
	const terminal = (await run({ command: 'true' }, 'terminal_open')).limits;
	assert.deepEqual([terminal.tty, terminal.stdin], [true, 'open']);
});

test('SB-04 a fork bomb meets its limit and its time, and nothing of it is left', async () => {
	const { limits, end, of } = await run({ command: 'bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 30', timeoutMs: 2000 });
	assert.equal(end.type, 'process.failed', JSON.stringify(end.payload));
	if (limits.enforcedBy === 'cgroup') assert.ok(of('sandbox.violation').some((v) => v.evidence === 'limit' && v.attempted === 'processes' && v.count > 0));
});

test('SB-04 endless output is kept up to its limit, and counted', async () => {
	const { of, end } = await run({ command: 'yes', timeoutMs: 1500 });
	assert.equal(end.type, 'process.failed');
	const { outputs, end: { stdoutBytes } } = end.payload;
	const kept = outputs.reduce((sum, { length }) => sum + length, 0);
	assert.ok(kept <= OUTPUT && kept < stdoutBytes, `${kept} of ${stdoutBytes} bytes`);
	assert.equal(outputs.at(-1).offset + outputs.at(-1).length, stdoutBytes, 'its end is one of the two ends');
	assert.ok(of('output.truncated').length > 0, 'what was left out is a fact');
});

test('SB-04 the environment is a filtered one, behind a ref', async () => {
	const { applied } = await run({ command: 'true' });
	const { content } = await ok(w.rt, 'read_output', { outputRef: applied.environmentRef, length: 1 << 20 });
	const names = Object.keys(JSON.parse(content));
	assert.ok(names.includes('PATH') && names.includes('HOME'));
	assert.deepEqual(names.filter((name) => /SECRET|TOKEN|^LD_|^OPENAI/.test(name)), []);
	assert.doesNotMatch(content, /4711/);
});

// The busier the machine is, the longer it takes: only too short would be wrong.
const BURN = 'began=$(date +%s%N); i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; echo took $(($(date +%s%N) - began)); times';

test('SB-04 CPU time is limited by a control group, on record as the kernel confirmed it; where there is none, the fact says so', async () => {
	const before = w.rt;
	const { limits } = await run({ command: 'true' });
	assert.equal(limits.cpuPercent, undefined);
	await before.stop();
	w.rt = await w.again({ config: { ...w.config, 'sandbox.cpu_percent': 25 } });
	const { limits: limited, applied, of } = await run({ command: BURN });
	const environment = applied.boundary.guarantees.notEnforced;
	if (limited.cpuPercent === undefined) {
		assert.ok(environment.some((gap) => gap.startsWith('CPU time has no limit')), JSON.stringify(environment));
		return;
	}
	assert.equal(limited.cpuPercent, 25);
	assert.ok(!environment.some((gap) => gap.startsWith('CPU time')), JSON.stringify(environment));
	const [{ outputRef }] = of('tool.result');
	const { content } = await ok(w.rt, 'read_output', { outputRef });
	const wall = Number(/took (\d+)/.exec(content)[1]) / 1e9;
	const cpu = [.../^(\d+)m([\d.]+)s (\d+)m([\d.]+)s/m.exec(content)].slice(1).map(Number).reduce((sum, n, i) => sum + n * (i % 2 ? 1 : 60), 0);
	assert.ok(wall > cpu * 3, `${cpu} s of CPU in ${wall} s`);
});
