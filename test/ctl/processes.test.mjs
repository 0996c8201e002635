// The processes of sessions on the command line: listed, shown, typed into, ended.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { bin, newFolder, submit, waitFor, world } from '../lib/runtime.mjs';
import { facts, seen } from '../lib/gate.mjs';

let w, workspace;

before(async () => {
	const folder = newFolder();
	chmodSync(folder, 0o755);
	workspace = join(folder, 'work');
	mkdirSync(workspace);
	if (process.getuid() === 0) execFileSync('chown', ['1000:1000', workspace]);
	w = await world({ config: { 'tools.workspace': workspace, 'permission.mode': 'bypass' } });
});

// agentctl to its end: { code, out, err }. `input` is typed at once; `hold` keeps standard input open.
function ctl(words, { input = '', hold = false } = {}) {
	const child = spawn(join(bin, 'agentctl'), ['--socket', w.rt.socket, ...words], { stdio: 'pipe' });
	const said = { out: '', err: '' };
	child.stdout.on('data', (text) => (said.out += text));
	child.stderr.on('data', (text) => (said.err += text));
	if (input) child.stdin.write(input);
	if (!hold) child.stdin.end();
	return Object.assign(new Promise((done) => child.on('exit', (code) => done({ code, ...said }))), { child, said });
}

const run = (command, more = {}) => submit(w.rt, `[[tool shell ${JSON.stringify({ command, background: true, ...more })}]]`);

async function started(command, more) {
	const { sessionId } = await run(command, more);
	const [{ processId }] = await seen(w.rt, sessionId, 'process.started');
	return { sessionId, processId };
}

test('ps lists what runs, logs shows what it wrote, kill ends it', async () => {
	const { sessionId, processId } = await started('echo first; echo second >&2; sleep 60');
	const list = await waitFor(async () => {
		const { out } = await ctl(['ps']);
		return out.includes(processId) && out;
	}, 'the process in the list');
	assert.match(list, new RegExp(`${processId} .* running +workspace_write +.*echo first`));
	const { out } = await waitFor(async () => {
		const shown = await ctl(['logs', processId]);
		return shown.out.includes('second') && shown;
	}, 'its output');
	assert.equal(out, 'first\nsecond\n');
	const killed = await ctl(['kill', '--reason', 'enough', '--grace', '200', processId]);
	assert.equal(killed.code, 0, killed.err);
	const [end] = await seen(w.rt, sessionId, 'process.terminated');
	assert.deepEqual([end.payload.terminatedBy, end.payload.reason], ['user', 'enough']);
	assert.ok(!(await ctl(['ps'])).out.includes(processId));
	assert.match((await ctl(['ps', '--all'])).out, new RegExp(`${processId} .* terminated`));
	assert.equal((await ctl(['kill', processId])).code, 0, 'a second time it does nothing');
});

test('logs --follow ends with the process, and with its exit status', async () => {
	const { processId } = await started('for i in 1 2 3; do echo $i; sleep 0.2; done; exit 3');
	const { code, out, err } = await ctl(['logs', '--follow', processId]);
	assert.deepEqual([code, out], [1, '1\n2\n3\n'], err);
	assert.match(err, /exit code 3/);
});

test('attach sends what is typed, and Ctrl-] leaves the process running', async () => {
	const { sessionId, processId } = await started('while read line; do echo "got $line"; done');
	const first = ctl(['attach', processId], { input: 'hello\n', hold: true });
	await waitFor(() => first.said.out.includes('got hello'), 'its answer');
	first.child.stdin.write('\x1d');
	const { code, err } = await first;
	assert.equal(code, 0, err);
	assert.match(err, /keeps running/);
	const [typed] = await facts(w.rt, sessionId, 'process.input');
	assert.equal(typed.payload.bytes, 6);
	assert.equal((await ctl(['attach', processId], { input: 'bye\n' })).code, 0, 'the end of the input ends it');
	await seen(w.rt, sessionId, 'process.completed');
});

test('what does not exist is said in words that help', async () => {
	const { code, err } = await ctl(['logs', 'proc_nonsense']);
	assert.equal(code, 2);
	assert.match(err, /agentctl ps lists them/);
});
