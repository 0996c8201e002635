// agentd under a service manager: sockets that listen before it runs, news when it is ready, alive and stopping, and none of both for
// those whom it starts. The manager is activate.py; where systemd's own is installed that one passes the sockets too.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bin, newFolder, sleep, waitFor } from '../lib/runtime.mjs';
import { has } from './scrape.mjs';

const activate = fileURLToPath(new URL('./activate.py', import.meta.url));
const children = [];

after(async () => {
	for (const child of children) {
		if (child.exitCode === null && child.signalCode === null) process.kill(child.pid, 'SIGTERM');
		await child.gone;
	}
});

/** A program whose output grows in `out` and `err`. */
function run(program, args, env = {}) {
	const child = spawn(program, args, { env: { PATH: process.env.PATH, HOME: '/nonexistent', ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
	Object.assign(child, { out: '', err: '' });
	child.stdout.on('data', (text) => (child.out += text));
	child.stderr.on('data', (text) => (child.err += text));
	child.gone = new Promise((done) => child.on('close', (code) => done(code)));
	children.push(child);
	return child;
}

const lines = (child) => child.out.split('\n').filter(Boolean).map((line) => JSON.parse(line));
const said = (child, word) => lines(child).some((l) => l.news?.includes(word));
const ready = (child) => waitFor(() => lines(child).find((l) => l.ready), () => `ready: ${child.out}${child.err}`);

function ask(where, path = '/health') {
	return new Promise((done, fail) => {
		const req = http.get({ ...where, path, agent: false }, (res) => {
			res.resume().on('end', () => done(res.statusCode));
		});
		req.on('error', fail);
	});
}

function place() {
	const folder = newFolder();
	return { folder, data: join(folder, 'data'), unix: join(folder, 'given.sock'), notify: join(folder, 'notify') };
}

test('the units of the package listen on unix sockets alone, and its settings open no port and let the group in', () => {
	const packaging = fileURLToPath(new URL('../../packaging/', import.meta.url));
	for (const unit of ['system', 'user'])
		for (const [, where] of readFileSync(join(packaging, `systemd/${unit}/agentd.socket`), 'utf8').matchAll(/^ListenStream=(.*)$/gm)) assert.match(where, /^[/%].*\.sock$/);
	assert.match(readFileSync(join(packaging, 'agentd.yaml'), 'utf8'), /^listen: "off"\nauth:\n {2}socket: group\n/m);
});

test('both kinds of sockets are served, and a request that came before the start is answered', async () => {
	const p = place();
	const manager = run(activate, ['--tcp', '--unix', p.unix, '--notify', p.notify, join(bin, 'agentd'), '--data-dir', p.data]);
	const { tcp } = await waitFor(() => lines(manager).find((l) => l.tcp), 'the port');
	assert.equal(await ask({ host: '127.0.0.1', port: tcp }), 200); // it waited in the backlog
	const { listen, socket } = await ready(manager);
	assert.deepEqual([listen, socket], [`127.0.0.1:${tcp}`, p.unix]);
	assert.equal(await ask({ socketPath: p.unix }), 200);
	assert.ok(!existsSync(join(p.data, 'agentd.sock')), 'it made no socket of its own');
	await waitFor(() => said(manager, 'READY=1'), 'the news that it is ready');
	process.kill(manager.pid, 'SIGTERM');
	assert.equal(await manager.gone, 0, manager.err);
	assert.ok(said(manager, 'STOPPING=1'));
	assert.ok(lines(manager).findIndex((l) => l.news?.includes('READY=1')) < lines(manager).findIndex((l) => l.news?.includes('STOPPING=1')));
	assert.ok(statSync(p.unix).isSocket(), 'the socket is the manager\'s and stays');
});

test('the watchdog hears from it, twice in its time; and from a loop that hangs nothing', async () => {
	const p = place();
	const manager = run(activate, ['--unix', p.unix, '--notify', p.notify, '--watchdog-ms', '400', join(bin, 'agentd'), '--data-dir', p.data, '--listen', 'off']);
	await ready(manager);
	const alive = () => lines(manager).filter((l) => l.news?.includes('WATCHDOG=1')).length;
	await waitFor(() => alive() >= 5, 'five signs of life');
	const pid = Number(readFileSync(join(p.data, 'agentd.pid'), 'utf8'));
	process.kill(pid, 'SIGSTOP');
	await sleep(150);
	const count = alive();
	await sleep(700);
	assert.equal(alive(), count);
	process.kill(pid, 'SIGCONT');
	await waitFor(() => alive() > count, 'a sign after it goes on');
});

test('an abstract socket for news works too', async () => {
	const p = place();
	const manager = run(activate, ['--unix', p.unix, '--notify', `@ar-test-${process.pid}`, join(bin, 'agentd'), '--data-dir', p.data, '--listen', 'off']);
	await ready(manager);
	await waitFor(() => said(manager, 'READY=1'), 'the news');
});

test('what is meant for another process is left alone', async () => {
	const p = place();
	const manager = run(activate, ['--for-other', '--unix', p.unix, join(bin, 'agentd'), '--data-dir', p.data, '--listen', 'off']);
	const { socket } = await ready(manager);
	assert.equal(socket, join(p.data, 'agentd.sock'));
});

test('a descriptor that is no listening socket is refused at the start, with its number', async () => {
	const p = place();
	const child = run('sh', ['-c', `exec 3</dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec ${join(bin, 'agentd')} --data-dir ${p.data} --listen off`]);
	assert.equal(await child.gone, 1);
	assert.match(child.err, /descriptor 3 that was passed cannot be served: it is not a listening stream socket/);
});

test('those whom it starts inherit neither sockets nor words', { skip: process.platform !== 'linux' }, async () => {
	const p = place();
	const manager = run(activate, ['--unix', p.unix, '--notify', p.notify, join(bin, 'agentd'), '--data-dir', p.data, '--listen', 'off']);
	await ready(manager);
	const pid = readFileSync(join(p.data, 'agentd.pid'), 'utf8').trim();
	// Descriptors from 3 on are closed by an exec: FD_CLOEXEC is 02000000 in fdinfo.
	const flags = /flags:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/fdinfo/3`, 'utf8'))[1];
	assert.ok(Number.parseInt(flags, 8) & 0o2000000, `flags of descriptor 3: ${flags}`);
});

test('systemd-socket-activate passes what agentd serves', { skip: !has('systemd-socket-activate') }, async () => {
	const p = place();
	const manager = run('systemd-socket-activate', ['-l', p.unix, '-E', 'HOME=/nonexistent', join(bin, 'agentd'), '--data-dir', p.data, '--listen', 'off']);
	await waitFor(() => existsSync(p.unix), 'the socket');
	assert.equal(await waitFor(() => ask({ socketPath: p.unix }).catch(() => null), 'an answer'), 200);
	assert.equal((await ready(manager)).socket, p.unix);
});

const units = fileURLToPath(new URL('../../packaging/systemd', import.meta.url));
const unitsOf = (kind) => ['agentd.service', 'agentd.socket', ...(kind === 'system' ? ['agentd-worker.service'] : [])];

test('systemd finds no fault with the units, and little exposure', { skip: !has('systemd-analyze') }, () => {
	const folder = newFolder();
	mkdirSync(join(folder, 'bin'));
	for (const kind of ['system', 'user']) {
		for (const unit of unitsOf(kind)) {
			const text = readFileSync(join(units, kind, unit), 'utf8');
			const made = join(folder, unit);
			execFileSync('sh', ['-c', `cat >"$1"`, 'sh', made], { input: text.replaceAll('/usr/bin/agentd', join(bin, 'agentd')) });
		}
		const args = [...(kind === 'user' ? ['--user'] : []), '--man=no', 'verify', ...unitsOf(kind).map((unit) => join(folder, unit))];
		const said = execFileSync('sh', ['-c', 'systemd-analyze "$@" 2>&1; echo "exit $?"', 'sh', ...args], { encoding: 'utf8' });
		const ours = said.split('\n').filter((line) => line.includes('agentd'));
		assert.deepEqual(ours, [], said);
	}
	for (const unit of ['agentd.service', 'agentd-worker.service']) {
		const table = execFileSync('systemd-analyze', ['security', '--offline=true', '--no-pager', join(units, 'system', unit)], { encoding: 'utf8' });
		const level = Number(new RegExp(`Overall exposure level for ${unit}: ([0-9.]+)`).exec(table)[1]);
		assert.ok(level <= 5, `exposure ${level} of ${unit}`);
	}
});

// What the directives of the unit do to the files that a process sees, without systemd: a user of no rights, / read-only, a /tmp of its own.
function sandboxUnder(changes) {
	const programs = newFolder();
	chmodSync(programs, 0o755);
	for (const name of ['agentd', 'agent-init', 'agent-shim', 'agent-proxy', 'agent-audit', 'agent-files']) copyFileSync(join(bin, name), join(programs, name));
	const script = `set -e; mkdir /run/ar-programs-$$; mount --bind ${programs} /run/ar-programs-$$; ${changes}; cd /;
		exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs env -i PATH=/usr/bin:/bin HOME=/tmp AGENTD_DATA_DIR=/tmp/data /run/ar-programs-$$/agentd sandbox`;
	// The folder is made in a copy of /run that goes with the namespace.
	const inside = `mount --make-rprivate /; mount -t tmpfs tmpfs /run; ${script}`;
	return spawnSync('unshare', ['--mount', 'sh', '-c', inside], { encoding: 'utf8' }).stdout;
}

const strict = 'mount -o remount,ro,bind /; mount -t tmpfs -o mode=1777 tmpfs /tmp';
const canMount = process.getuid() === 0 && has('setpriv');

test('the boundaries of commands stay under the hardening of the unit, and go with a directive that is not in it', { skip: canMount ? false : 'needs root' }, (t) => {
	const plain = sandboxUnder('true');
	if (!/yes mount_view/.test(plain)) return t.skip('users cannot make namespaces here');
	const hardened = sandboxUnder(strict);
	for (const name of ['landlock', 'mount_view', 'pid_namespace', 'network_namespace', 'seccomp']) assert.match(hardened, new RegExp(`yes ${name} `), hardened);
	assert.match(hardened, /yes workspace_write/);
	// ProtectKernelLogs covers /proc/kmsg, ProtectKernelTunables makes /proc/sys read-only.
	for (const covered of ['mount --bind /dev/null /proc/kmsg', 'mount --bind /proc/sys /proc/sys; mount -o remount,ro,bind /proc/sys'])
		assert.match(sandboxUnder(`${covered}; ${strict}`), /NO {2}mount_view/);
	const unit = readFileSync(join(units, 'system/agentd.service'), 'utf8');
	for (const directive of ['ProtectKernelLogs', 'ProtectKernelTunables', 'ProtectProc', 'ProcSubset', 'RestrictNamespaces', 'PrivateUsers', 'ProtectControlGroups'])
		assert.doesNotMatch(unit, new RegExp(`^${directive}=`, 'm'));
	assert.ok(unit.includes('ProtectSystem=strict') && unit.includes('NoNewPrivileges=yes'));
});
