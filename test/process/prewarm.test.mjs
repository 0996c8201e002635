// A boundary that waits for a session's next command: the command gets it when it is still what it would get anew, and nobody else does; it goes when nobody wants it, when it
// has waited too long, and with the daemon, however that ends. What is said of the command is the same as without.
// ci: first
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { ended, facts } from '../lib/gate.mjs';
import { bin, newFolder, request, sleep, submit, waitFor, world } from '../lib/runtime.mjs';
import { configOf, kill9, newWorkspace, pidsNaming, shell, whole } from './place.mjs';

let w, workspace;

const start = async (more = {}) => {
	workspace = newWorkspace();
	w = await world({ config: configOf(workspace, more) });
};
const where = () => join(w.dataDir, 'data', 'processes.prewarmed');
const prewarmed = () => (existsSync(where()) ? readdirSync(where()).filter((name) => existsSync(join(where(), name, 'prewarmed'))) : []);
const shims = () => pidsNaming(where(), 'agent-shim');
/** All that belongs to a supervisor: itself, and the two of agent-init. */
const tree = (pid) => {
	const below = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
	return [pid, ...below.flatMap(tree)];
};
/** Whether a process lives in a pid namespace of its own. A child that only holds a user namespace while the boundary is made does not. */
const isInside = (pid) => /^NSpid:(\t\d+){2,}$/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
/** The one that waits, when it has its second agent-init: its boundary is made, or nearly. */
const waiting = () => waitFor(() => prewarmed().length === 1 && shims().length === 1 && insideOf(shims()[0]) && { folder: prewarmed()[0], pid: shims()[0] }, 'a prewarmed sandbox', 20000);
/** The second agent-init of a supervisor; none while it is not there yet. */
const insideOf = (pid) => {
	try {
		return tree(pid).find(isInside);
	} catch {
		return undefined; // one of them ended meanwhile
	}
};
const isGone = (pids) => pids.every((pid) => !existsSync(`/proc/${pid}`));

const used = async () => Number(/sandbox_prewarmed_ended_total\{outcome="used"\} (\d+)/.exec((await request(w.rt, { method: 'GET', path: '/metrics' })).text)[1]);
// The exit, and what a sanitizer inside agent-init tries.
const HEAD = /^exit code.*\n(the sandbox blocked: ptrace\(16\).*\n)?\n?/;

/** One command of a session, or of a new one: its facts, what it wrote, and whether a prewarmed sandbox became it. */
async function run(command, session, more = {}) {
	const before = await used();
	const turn = await submit(w.rt, shell(command, more), session ? { sessionId: session.sessionId } : {});
	assert.equal((await ended(w.rt, turn.sessionId, turn.turnId)).type, 'turn.completed');
	const log = (await facts(w.rt, turn.sessionId)).filter((e) => e.turnId === turn.turnId);
	const [result] = log.filter((e) => e.type === 'tool.result');
	return { ...turn, log, isWarm: (await used()) > before, out: result ? String(await whole(w.rt, result.payload.outputRef)).replace(HEAD, '') : '' };
}

/** The same by a prewarmed sandbox, whose folder it tells. Another try where somebody mounted something on this machine meanwhile, for then none is used. */
async function runWarm(command, session, more) {
	for (let tries = 0; tries < 5; tries++) {
		const { folder } = await waiting();
		const done = await run(command, session, more);
		if (done.isWarm) return { ...done, folder };
	}
	return assert.fail('no prewarmed sandbox was used');
}

const typesOf = (log) => log.map((e) => e.type).filter((type) => /^(sandbox|process)\./.test(type) && type !== 'sandbox.violation');
const boundaryOf = (log) => {
	const { payload } = log.find((e) => e.type === 'sandbox.applied');
	return JSON.parse(JSON.stringify(payload, (key, value) => (/^(pid|net|mnt|ipc|uts|user|session|environmentRef|.*Id|.*At)$/.test(key) ? undefined : value)));
};

beforeEach(() => (w = null));
afterEach(async () => {
	if (w) await w.rt.stop?.();
});

test('the next command of a session gets what was made for it, and is told as the first', async () => {
	await start();
	const first = await run('echo $$ one; echo >/tmp/left');
	assert.ok(!first.isWarm);
	const second = await runWarm('echo $$ two; ls /tmp/left 2>&- && echo left; true', first);
	assert.equal(first.out, '2 one\n');
	assert.equal(second.out, '2 two\n', 'the first left something behind');
	assert.deepEqual(typesOf(second.log), typesOf(first.log));
	assert.deepEqual(boundaryOf(second.log), boundaryOf(first.log));
	const next = await waiting();
	assert.notEqual(next.folder, second.folder, 'one was used twice');
	assert.ok(!(await run('echo three')).isWarm, 'another session got it');
});

test('one that is still starting when it is taken becomes the command', async () => {
	const helpers = newFolder();
	chmodSync(helpers, 0o755);
	for (const name of readdirSync(bin).filter((name) => /^agent-(?!shim$)/.test(name))) copyFileSync(join(bin, name), join(helpers, name));
	writeFileSync(join(helpers, 'agent-shim'), `#!/bin/sh\n[ "$2" != prewarmed ] || sleep 0.5\nexec ${bin}/agent-shim "$@"\n`, { mode: 0o755 });
	await start({ 'sandbox.helpers': helpers });
	const first = await run('echo one');
	const second = await run('echo two', first);
	assert.equal(second.out, 'two\n');
});

test('what changed since it was made is as it is now: protected paths, roots, mounts of its own', async () => {
	const root = join(newFolder(), 'root');
	mkdirSync(root);
	for (let folder = root; folder !== '/tmp' && folder !== '/'; folder = join(folder, '..')) chmodSync(folder, 0o755);
	writeFileSync(join(root, 'word'), 'old\n');
	await start({ 'sandbox.read_roots': root });
	const first = await run(`cat ${root}/word`);
	assert.equal(first.out, 'old\n');
	await waiting();
	mkdirSync(join(workspace, '.husky'));
	if (process.getuid() === 0) execFileSync('chown', ['1000:1000', join(workspace, '.husky')]);
	const second = await runWarm('echo x >.husky/hook || echo closed; mv .husky other || echo pinned', first);
	assert.match(second.out, /closed[^]*pinned/);
	await waiting();
	renameSync(root, `${root}.old`);
	mkdirSync(root);
	writeFileSync(join(root, 'word'), 'new\n');
	const third = await run(`cat ${root}/word`, first);
	assert.deepEqual([third.out, third.isWarm], ['new\n', false]);
});

test('input, a folder, a secret come to a command that was not known when it was made', async () => {
	await start({ command_secrets: [{ name: 'KEY', value: 'sEcRet-of-prewarmed', commands: ['cat'] }] });
	mkdirSync(join(workspace, 'below'));
	chmodSync(join(workspace, 'below'), 0o755);
	const first = await run('true');
	const second = await runWarm('cat - "$KEY_FILE" | wc -c; pwd', first, { input: 'words', cwd: join(workspace, 'below') });
	assert.equal(second.out, `${'wordssEcRet-of-prewarmed'.length}\n${workspace}/below\n`);
});

test('nothing of one is left when the daemon is killed, nor when it stops', async () => {
	await start();
	for (const end of [() => w.rt.kill9(), () => w.rt.stop()]) {
		await run('true');
		const pids = tree((await waiting()).pid);
		await end();
		await waitFor(() => isGone(pids) && prewarmed().length === 0, () => `all of it to be gone: ${pids.filter((pid) => existsSync(`/proc/${pid}`))} ${prewarmed()}`);
		w.rt = await w.again({ config: configOf(workspace) });
	}
});

test('a prewarmed sandbox that was killed costs nobody anything', async () => {
	await start();
	const first = await run('true');
	const { pid } = await waiting();
	const pids = tree(pid);
	kill9(pid);
	await waitFor(() => isGone(pids) && prewarmed().length === 0, 'all of it to be gone');
	assert.equal((await run('echo still', first)).out, 'still\n');
	const next = (await waiting()).pid;
	const others = tree(next);
	kill9(insideOf(next));
	await waitFor(() => isGone(others) && prewarmed().length === 0, 'all of the other to be gone');
	assert.equal((await run('echo again', first)).out, 'again\n');
});

test('there are never more than are allowed, and a young one stays', async () => {
	await start({ 'sandbox.prewarmed': 1 });
	const first = await run('true');
	const { folder } = await waiting();
	await run('true');
	await run('true');
	assert.deepEqual(prewarmed(), [folder]);
	assert.ok((await run('true', first)).isWarm || (await runWarm('true', first)).isWarm);
});

test('none waits for ever', async () => {
	await start({ 'sandbox.prewarmed_ms': 3000 });
	const first = await run('true');
	await waitFor(() => prewarmed().length === 1, 'a prewarmed sandbox');
	await waitFor(() => shims().length === 0 && prewarmed().length === 0, 'it to go');
	assert.equal((await run('echo here', first)).out, 'here\n');
});

test('none is made where none is wanted, nor for a command without a boundary', async () => {
	await start({ 'sandbox.prewarmed': 0 });
	await run('true');
	await sleep(500);
	assert.deepEqual([prewarmed(), shims()], [[], []]);
	await w.rt.stop();
	w.rt = await w.again({ config: configOf(workspace, { 'sandbox.allow_danger': true, 'sandbox.profile': 'danger_full_access' }) });
	await run('true');
	await sleep(500);
	assert.deepEqual([prewarmed(), shims()], [[], []]);
});
