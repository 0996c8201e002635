// A place to attack: a workspace with a repository, beside it what must not be touched or seen, a victim of the same user that listens for whatever
// reaches it; and the two ways to start a command there, as root and as anybody. Everything is removed, and every process ended, after the last test.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, cpSync, existsSync, lchownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync,
	writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/** Folder of the programs under test. */
export const bin = resolve(process.env.AR_BIN ?? join(root, 'build/release/bin'));

const OWNER = 1000; // of workspaces, and who is "anybody"
const SANDBOX_UID = 61777; // what a command of the root daemon becomes
export const LIMITS = '64,128,4,256,16';
const SECRET = 'escape-secret-4711';
const PROGRAMS = ['agent-init', 'agent-shim', 'sandbox-launch', 'escape-attempts'];

export const isRoot = process.getuid() === 0;

/** Who starts commands: the name of the backend, the uid that commands have on the host. */
export const backends = isRoot
	? [{ name: 'root', uid: SANDBOX_UID }, { name: 'rootless', uid: OWNER }]
	: [{ name: 'rootless', uid: process.getuid() }];

const folders = new Set();
const victims = new Set();

after(async () => {
	await Promise.all([...victims].map((victim) => victim.end()));
	for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Not in /tmp: inside, that is a private one that may be written, and a workspace in it would be covered by its rules. */
export function newFolder() {
	const folder = mkdtempSync(join(process.env.AR_ESCAPE_FOLDER ?? '/var/tmp', 'ar-escape-'));
	folders.add(folder);
	chmodSync(folder, 0o755);
	return folder;
}

/** Makes everything under a path theirs. */
function give(path, uid) {
	if (!isRoot) return;
	lchownSync(path, uid, uid);
	if (lstatSync(path).isDirectory()) for (const name of readdirSync(path)) give(join(path, name), uid);
}

/** Writes files by name, folders as needed. */
export function fill(folder, files) {
	for (const [name, text] of Object.entries(files)) {
		mkdirSync(dirname(join(folder, name)), { recursive: true });
		writeFileSync(join(folder, name), text);
	}
}

function makeWorkspace(folder) {
	fill(folder, {
		plain: 'plain\n', doomed: 'x', '.git/HEAD': 'ref: refs/heads/main\n', '.git/config': '[core]\n\tbare = false\n\thooksPath = .hooks\n[include]\n\tpath = ../team.gitconfig\n',
		'.git/hooks/pre-commit': '#!/bin/sh\n', '.git/hooks/pre-push': '#!/bin/sh\n', '.git/objects/old': 'x', '.git/index': 'x',
		'.git/modules/lib/HEAD': 'ref: refs/heads/main\n', '.git/modules/lib/config': '', '.git/modules/lib/hooks/pre-commit': '', '.hooks/pre-commit': '',
		'team.gitconfig': '', 'deep/sub/.git/hooks/pre-commit': '', '.gitmodules': '', '.vscode/tasks.json': '{}', 'conf/idea/workspace.xml': '<x/>', '.husky/pre-commit': '', '.envrc': '',
	});
	execFileSync('mkfifo', [join(folder, 'pipe')]);
	symlinkSync('conf/idea', join(folder, '.idea'));
	copyFileSync(join(bin, 'escape-attempts'), join(folder, 'escape-attempts'));
	chmodSync(join(folder, 'escape-attempts'), 0o755);
}

/** Starts the one that must not be reached; `reached()` ends it and gives what it heard. */
async function startVictim(folder, name, key, uid) {
	const child = spawn(join(bin, 'escape-victim'), [folder, name, String(key), String(uid)], { stdio: ['pipe', 'pipe', 'inherit'], env: { LEAK: SECRET } });
	const lines = [];
	const gone = new Promise((done) => child.once('close', done));
	const first = new Promise((done, fail) => {
		createInterface({ input: child.stdout }).on('line', (line) => (line[0] === '{' ? done(JSON.parse(line)) : lines.push(line)));
		child.once('exit', () => fail(new Error('the victim ended at once')));
	});
	const victim = {
		...(await first),
		async end() {
			victims.delete(victim);
			child.stdin.end();
			await gone;
			return lines;
		},
	};
	victims.add(victim);
	return victim;
}

/** A new place for one run, whose victim is the same user that commands of the profile are. */
export async function makeWorld(backend, profile = 'workspace_write') {
	const uid = profile === 'danger_full_access' ? Math.min(OWNER, backend.uid) : backend.uid;
	const base = newFolder();
	const place = (name) => join(base, name);
	const name = `ar-escape-${process.pid}-${Math.random().toString(36).slice(2, 10)}`;
	const key = 0x5e000000 + Math.floor(Math.random() * 0xffffff);
	for (const folder of ['bin', 'ws', 'outside', 'other', 'state']) mkdirSync(place(folder));
	for (const program of PROGRAMS) if (existsSync(join(bin, program))) copyFileSync(join(bin, program), join(place('bin'), program));
	makeWorkspace(place('ws'));
	fill(place('outside'), { target: 'unharmed\n', secret: 'secret\n', doomed: 'x', movable: 'x', 'dir/file': 'x' });
	mkdirSync(place('outside/empty'));
	fill(place('other'), { plain: 'of another session\n' });
	fill(place('state'), { journal: 'of the runtime\n' });
	give(place('ws'), OWNER);
	give(place('outside'), uid);
	for (const open of ['outside', 'outside/dir', 'outside/target', 'outside/secret']) chmodSync(place(open), 0o777);
	for (const shut of ['other', 'state']) chmodSync(place(shut), 0o700);
	const victim = await startVictim(place('outside'), name, key, uid);
	const given = { WS: place('ws'), OUT: place('outside'), OTHER: place('other'), STATE: place('state'), PID: victim.pid, PORT: victim.port,
		ABSTRACT: name, KEY: key, LEAK: SECRET };
	return { base, backend, victim, workspace: place('ws'), helpers: place('bin'), state: place('state'), leak: place('outside/target'), give: (path) => give(path, OWNER),
		env: Object.entries(given).map(([k, v]) => `ESC_${k}=${v}`) };
}

/** The command line that starts something as this backend does. */
export function asBackend(backend, command) {
	if (backend.name === 'root' || !isRoot) return command;
	return ['setpriv', '--reuid', String(backend.uid), '--regid', String(backend.uid), '--clear-groups', ...command];
}

/** What a launch showed, by kind; results of attempts by name, and what the listener heard during each. */
function readShown(text) {
	const shown = { ready: null, guarantees: null, unavailable: null, failed: null, exit: null, out: [], err: [], results: new Map(), heard: new Map() };
	let current = '';
	for (const line of text.split('\n')) {
		const rest = line.slice(2);
		if (line[0] === 'R') shown.ready = JSON.parse(rest);
		if (line[0] === 'G') shown.guarantees = JSON.parse(rest);
		if (line[0] === 'U') shown.unavailable = rest;
		if (line[0] === 'F') shown.failed = JSON.parse(rest);
		if (line[0] === 'X') shown.exit = JSON.parse(rest);
		if (line[0] === 'O') shown.out.push(rest);
		if (line[0] === 'E') shown.err.push(rest);
		if (line[0] === 'N') shown.heard.set(current, [...(shown.heard.get(current) ?? []), rest]);
		if (line.startsWith('O > ')) current = line.slice(4);
		else if (line[0] === 'O') shown.results.set(...rest.split(' '));
	}
	return shown;
}

/** Runs a command under a profile. `words`: more words for sandbox-launch; `around`: what to start it through. */
export function launch(world, profile, command, { words = [], around = [], seconds = 60 } = {}) {
	const own = [join(world.helpers, 'sandbox-launch'), profile, world.workspace, `helpers=${world.helpers}`, `state=${world.state}`, `uid=${SANDBOX_UID}`,
		...world.env.map((e) => `env=${e}`), ...words, '--', ...command];
	const [file, ...args] = [...around, ...asBackend(world.backend, own)];
	const env = { PATH: process.env.PATH, HOME: '/nonexistent', HOST_SECRET: SECRET, LD_LIBRARY_PATH: '', BASH_ENV: '/nonexistent', SSH_AUTH_SOCK: '/nonexistent' };
	for (const name of ['ASAN_OPTIONS', 'UBSAN_OPTIONS']) if (process.env[name]) env[name] = process.env[name];
	const done = spawnSync(file, args, { encoding: 'utf8', timeout: seconds * 1000, maxBuffer: 64 << 20, env, cwd: '/', killSignal: 'SIGKILL' });
	const shown = readShown(done.stdout ?? '');
	return { ...shown, status: done.status, stderr: done.stderr, text: done.stdout };
}

/** The attempts with what has to come of each. */
export function readAttempts() {
	const text = execFileSync(join(bin, 'escape-attempts'), ['--list'], { encoding: 'utf8' });
	return text.trim().split('\n').map((line) => {
		const [name, readOnly, write, danger, evidence] = line.split('\t');
		return { name, evidence, expected: { read_only: readOnly, workspace_write: write, no_network: write, allowlisted_network: write, danger_full_access: danger } };
	});
}

/** Runs these attempts there, with everything left open that a careless parent leaves open. */
export function attack(world, profile, names, options = {}) {
	const words = [`leak=${world.leak}`, 'protected=deep/sub/.git/hooks', `limits=${LIMITS}`, ...(options.words ?? [])];
	return launch(world, profile, [join(world.workspace, 'escape-attempts'), ...names], { ...options, words });
}

/** Whether a result is one of the words that stand for what has to come of an attempt. */
export function isExpected(expected, result) {
	return expected === '?' || expected.split(' ').includes(result);
}

assert.ok(existsSync(join(bin, 'escape-attempts')), `no escape-attempts in ${bin}: make builds it, AR_BIN names another folder`);
