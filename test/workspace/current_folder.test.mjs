// agentctl run and chat work in the folder that they are started in: ten at once, a note where that cannot be, the folder or the id that is named instead, and the
// newest session of each folder.
import assert from 'node:assert/strict';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { bin, Place, Running } from '../ctl/place.mjs';

const USER = 1000, isRoot = process.getuid() === 0;
let place, top;

beforeEach(async () => {
	place = await Place.make();
	top = realpathSync(place.dir);
	chmodSync(place.dir, 0o755);
});
afterEach(() => place.end());

/** A folder of an unprivileged user, with these files; a daemon of root does not write into folders of root. */
function folder(name, files = {}) {
	const path = join(top, name);
	mkdirSync(path);
	for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text);
	if (isRoot) for (const one of ['', ...Object.keys(files)]) chownSync(join(path, one), USER, USER);
	return path;
}
/** The same with a run that ends well: its output, and what it said beside it. */
async function run(cwd, ...words) {
	const { code, out, err } = await place.ctl('run', ...words, { cwd });
	assert.equal(code, 0, err);
	return { out, err };
}
/** A daemon whose settings file has workspaces, and lets confined tools run without a question. */
async function confined() {
	writeFileSync(join(top, 'agentd.yaml'), `permission: {mode: on_request}\nworkspaces: {dir: ${join(top, 'managed')}}\n`, { mode: 0o600 });
	const daemon = new Running(join(bin, 'agentd'), ['--listen', 'off', '--config', join(top, 'agentd.yaml')], { env: place.env });
	await daemon.until((r) => r.out.includes('\n'));
}
const sessions = async () => (await place.json('sessions')).sessions;
const workspaces = async (status = 'all') => (await place.json('call', 'list_workspaces', JSON.stringify({ status }))).workspaces;
const rootOf = async (workspaceId) => (await workspaces()).find((one) => one.workspaceId === workspaceId)?.root;
const NOTE = /^agentctl: the session does not work in (\S+): .+ \(--no-workspace omits this note\)\n$/;

test('ten folders at once: each session reads and writes its own, byte for byte, with one daemon', async () => {
	const names = Array.from({ length: 10 }, (_, i) => `project-${i}`);
	const roots = names.map((name, i) => folder(name, { 'given.txt': `given to ${i}\n` }));
	await confined();
	await run(roots[0], '[[say hello]]');
	const { pid } = place;
	const outs = await Promise.all(names.map((name, i) => run(roots[i], `[[tool write_file {"path":"made.txt","content":"made by ${i}\\n"}]] [[tool shell {"command":"cat given.txt; pwd; cat made.txt"}]]`)));
	for (const [i, { out, err }] of outs.entries()) {
		assert.equal(err, '');
		assert.match(out, new RegExp(`given to ${i}\\b[^]*${roots[i]}\\b[^]*made by ${i}\\b`));
		for (const other of names.keys()) if (other !== i) assert.doesNotMatch(out, new RegExp(`(given to|made by) ${other}\\b`));
		assert.deepEqual(readdirSync(roots[i]).sort(), ['given.txt', 'made.txt']);
		assert.equal(readFileSync(join(roots[i], 'given.txt'), 'utf8'), `given to ${i}\n`);
		assert.equal(readFileSync(join(roots[i], 'made.txt'), 'utf8'), `made by ${i}\n`);
	}
	assert.equal(place.pid, pid);
	assert.deepEqual((await workspaces()).map((one) => one.root).sort(), [...roots].sort());
	const of = await Promise.all((await sessions()).map((one) => rootOf(one.workspaceId)));
	assert.deepEqual(of.sort(), [roots[0], ...roots].sort());
});

test('a session of one folder does not reach the next one', async () => {
	const here = folder('here'), there = folder('there', { 'secret.txt': 'not yours\n' });
	await confined();
	for (const path of ['../there/secret.txt', join(there, 'secret.txt')]) {
		for (const [tool, input] of [['read_file', { path }], ['shell', { command: `cat ${path}; echo x > ${join(there, 'planted')}; echo over` }]]) {
			const { out } = await run(here, `[[tool ${tool} ${JSON.stringify(input)}]]`);
			assert.match(out, tool === 'shell' ? /over/ : /leads out of the workspace/);
			assert.doesNotMatch(out, /not yours/);
		}
	}
	assert.deepEqual(readdirSync(there), ['secret.txt']);
});

test('a folder that is reached by a link is its real path; a second run uses the same workspace', async () => {
	const real = folder('real');
	symlinkSync(real, join(top, 'link'));
	await run(join(top, 'link'), '[[say one]]');
	await run(real, '--workspace', join(top, 'link'), '[[say two]]');
	await run(top, '--workspace', 'real', '[[say three]]');
	assert.deepEqual((await workspaces()).map((one) => one.root), [real]);
	assert.deepEqual(new Set((await sessions()).map((one) => one.workspaceId)).size, 1);
});

test('where the folder cannot be a workspace, one note says so and the turn runs as before', async () => {
	for (const cwd of [top, '/', '/usr']) {
		const { out, err } = await run(cwd, '[[say hello]]');
		assert.equal(out, 'hello\n');
		assert.equal(NOTE.exec(err)?.[1].replace(/:$/, ''), cwd, err);
		assert.match(err, /start in the folder of a project, or name it with --workspace/);
	}
	for (const flag of ['--no-workspace', '--quiet']) assert.deepEqual(await run(top, flag, '[[say hello]]'), { out: 'hello\n', err: '' });
	assert.deepEqual(await workspaces(), []);
	assert.deepEqual(new Set((await sessions()).map((one) => one.workspaceId)), new Set(['default']));
	const chat = await place.ctl('chat', { input: '[[say from chat]]\n' });
	assert.deepEqual([chat.code, chat.out], [0, 'from chat\n']);
	assert.match(chat.err, /^agentctl: the session does not work in /);
});

test('--no-workspace uses no folder, also where one could be', async () => {
	await run(folder('unused'), '--no-workspace', '[[say hello]]');
	assert.deepEqual(await workspaces(), []);
});

test('AGENTD_WORKSPACE is the folder of the daemon, and is used as before', async () => {
	const own = folder('own', { 'a.txt': 'of the daemon\n' }), here = folder('here', { 'a.txt': 'of the caller\n' });
	const { code, out, err } = await place.ctl('run', '[[tool read_file {"path":"a.txt"}]]', { cwd: here, env: { AGENTD_WORKSPACE: own } });
	assert.deepEqual([code, err], [0, '']);
	assert.match(out, /of the daemon/);
	assert.deepEqual(await workspaces(), []);
});

test('a daemon without workspaces: a note says what to set; what is named explicitly is an error', async () => {
	const here = folder('here');
	writeFileSync(join(top, 'agentd.yaml'), 'log: {level: info}\n', { mode: 0o600 });
	const daemon = new Running(join(bin, 'agentd'), ['--listen', 'off', '--config', join(top, 'agentd.yaml')], { env: place.env });
	await daemon.until((r) => r.out.includes('\n'));
	const { out, err } = await run(here, '[[say hello]]');
	assert.equal(out, 'hello\n');
	assert.match(err, NOTE);
	assert.match(err, /set workspaces\.dir/);
	const named = await place.ctl('run', '--workspace', here, '[[say hello]]');
	assert.deepEqual([named.code, named.out], [1, '']);
	assert.match(named.err, /^agentctl: this server has no workspaces; set workspaces\.dir/);
	daemon.signal('SIGKILL');
	await daemon.done;
	assert.match((await run(here, '[[say again]]')).err, NOTE, 'the settings file that it had decides, also when agentctl starts it');
	assert.ok(!existsSync(`${place.data}-workspaces`));
});

test('--workspace names a folder or an id; what cannot be one is an error, and nothing is submitted', async () => {
	const there = folder('there'), here = folder('here'), file = join(top, 'file');
	writeFileSync(file, '');
	await run(here, '--workspace', there, '[[say one]]');
	const [{ workspaceId }] = await workspaces();
	assert.equal(await rootOf(workspaceId), there);
	await run('/', '--workspace', workspaceId, '[[say two]]');
	assert.deepEqual((await sessions()).map((one) => one.workspaceId), [workspaceId, workspaceId]);
	const nobodys = workspaceId.replace(/.$/, (c) => (c === '0' ? '1' : '0'));
	for (const [words, exit, says] of [
		[['--workspace', join(top, 'missing')], 2, /missing cannot be used: No such file or directory\nnext: /],
		[['--workspace', 'ws_short'], 2, /ws_short cannot be used/],
		[['--workspace', file], 1, /cannot be a workspace/],
		[['--workspace', '/usr'], 1, /cannot be a workspace/],
		[['--workspace', nobodys], 1, /^agentctl: .*workspace/],
		[['--workspace', there, '--no-workspace'], 2, /--workspace and --no-workspace exclude each other/],
		[['--workspace', there, '--session', 'last'], 2, /--session and --workspace exclude each other/],
		[['--no-workspace', '--session', 'last'], 2, /--session and --no-workspace exclude each other/],
	]) {
		for (const command of ['run', 'chat']) {
			const { code, out, err } = await place.ctl(command, ...words, ...(command === 'run' ? ['[[say no]]'] : []), { cwd: here, input: '[[say no]]\n' });
			assert.deepEqual([code, out], [exit, ''], `${words}: ${err}`);
			assert.match(err, says);
		}
	}
	assert.equal((await sessions()).length, 2);
});

test('an archived workspace takes no new session; those that it has continue', async () => {
	const here = folder('here');
	await run(here, '[[say one]]');
	const [{ workspaceId }] = await workspaces();
	await place.json('call', 'archive_workspace', JSON.stringify({ workspaceId }));
	const { code, err } = await place.ctl('run', '[[say two]]', { cwd: here });
	assert.equal(code, 1);
	assert.match(err, /archived/);
	assert.equal((await run(here, '--continue', '[[say three]]')).out, 'three\n');
	assert.equal((await sessions()).length, 1);
});

test('--continue is the newest session of the folder', async () => {
	const [a, b, none] = ['a', 'b', 'none'].map((name) => folder(name));
	await run(a, '[[say in a]]');
	await run(b, '[[say in b]]');
	await run(top, '[[say in neither]]');
	const texts = async () => Object.fromEntries(await Promise.all((await sessions()).map(async (one) => [(await rootOf(one.workspaceId)) ?? '', one.turns])));
	await run(a, '--continue', '[[say in a again]]');
	assert.deepEqual(await texts(), { [a]: 2, [b]: 1, '': 1 });
	await run('/', '--workspace', b, '--continue', '[[say in b again]]');
	assert.deepEqual(await texts(), { [a]: 2, [b]: 2, '': 1 });
	await run(a, '--no-workspace', '--continue', '[[say in neither again]]');
	assert.deepEqual(await texts(), { [a]: 2, [b]: 2, '': 2 });
	assert.match((await run(top, '--continue', '[[say once more]]')).err, NOTE);
	assert.deepEqual(await texts(), { [a]: 2, [b]: 2, '': 3 });
	const chat = await place.ctl('chat', '--continue', { cwd: a, input: '[[say from chat]]\n' });
	assert.deepEqual([chat.code, chat.out], [0, 'from chat\n'], chat.err);
	assert.deepEqual(await texts(), { [a]: 3, [b]: 2, '': 3 });
	const { code, err } = await place.ctl('run', '--continue', 'x', { cwd: none });
	assert.equal(code, 1);
	assert.equal(err.split('\n')[0], `agentctl: no session works in ${none} yet`);
	assert.equal((await sessions()).length, 3);
});

test('chat works in the folder; /new stays in it, and in that of a session that was joined', async () => {
	const here = folder('here'), there = folder('there');
	const type = async (args, cwd, lines) => {
		const command = [join(bin, 'agentctl'), 'chat', ...args].map((word) => `'${word}'`).join(' ');
		const chat = new Running('script', ['-qefc', command, '/dev/null'], { cwd, env: { ...place.env, TERM: 'dumb' }, input: null });
		for (const line of lines) {
			await chat.until((c) => /> $/.test(c.out));
			const before = chat.out.length;
			chat.type(`${line}\n`);
			await chat.until((c) => /\n> $/.test(c.out.slice(before).replaceAll('\r', '')));
		}
		chat.type('\x04');
		assert.equal((await chat.within()).code, 0, chat.out);
	};
	await type([], here, ['[[say one]]', '/new', '[[say two]]']);
	const [first] = await sessions();
	await type(['--session', first.sessionId], there, ['/new', '[[say three]]']);
	assert.deepEqual(await Promise.all((await sessions()).map((one) => rootOf(one.workspaceId))), [here, here, here]);
});

test('over --url the folder of this machine is not used, and there is no note', async () => {
	const here = folder('here');
	const daemon = new Running(join(bin, 'agentd'), ['--listen', '127.0.0.1:0'], { env: { ...place.env, AGENTD_WORKSPACES_DIR: join(top, 'managed') } });
	await daemon.until((r) => r.out.includes('\n'));
	const url = `http://${JSON.parse(daemon.out).listen}`;
	assert.deepEqual(await run(here, '--url', url, '[[say hello]]'), { out: 'hello\n', err: '' });
	assert.deepEqual(await run(here, '--url', url, '--continue', '[[say hello]]'), { out: 'hello\n', err: '' });
	assert.deepEqual(await workspaces(), []);
	const named = await place.ctl('run', '--url', url, '--workspace', here, 'x');
	assert.equal(named.code, 2);
	assert.match(named.err, /^agentctl: a folder of this machine says nothing to the daemon at http/);
	const { workspace: { workspaceId } } = await place.json('call', 'create_workspace', '{}');
	await run(here, '--url', url, '--workspace', workspaceId, '[[say hello]]');
	assert.equal((await sessions())[0].workspaceId, workspaceId);
	daemon.signal('SIGTERM');
	await daemon.done;
});

test('a folder that is gone is a note', async () => {
	const gone = folder('gone');
	const { code, out, err } = await new Running('sh', ['-c', `rmdir '${gone}' && exec '${join(bin, 'agentctl')}' run '[[say hello]]'`], { cwd: gone, env: place.env }).within();
	assert.deepEqual([code, out], [0, 'hello\n'], err);
	assert.match(err, /^agentctl: the session does not work in the current folder: No such file or directory/);
});

test('a user who is not root works in a folder of their own, and in no other', { skip: !isRoot && 'needs root to be another user' }, async () => {
	const home = folder('home'), mine = folder('mine'), roots = join(top, 'roots');
	mkdirSync(roots);
	const env = { ...place.env, HOME: home, AGENTD_DATA_DIR: join(home, 'state') };
	const ctl = (cwd, ...words) => new Running('setpriv', [`--reuid=${USER}`, `--regid=${USER}`, '--clear-groups', join(bin, 'agentctl'), ...words], { cwd, env }).within();
	try {
		const { code, out, err } = await ctl(mine, 'run', '[[say hello]]');
		assert.deepEqual([code, out, err], [0, 'hello\n', '']);
		const { workspaces: [made, more] } = JSON.parse((await ctl(mine, 'call', 'list_workspaces', '{}')).out);
		assert.deepEqual([made.root, made.owner, more], [mine, 'local', undefined]);
		const other = await ctl(roots, 'run', '[[say hello]]');
		assert.deepEqual([other.code, other.out], [0, 'hello\n']);
		assert.match(other.err, NOTE);
		assert.equal((await ctl(mine, 'run', '--workspace', roots, 'x')).code, 1);
	} finally {
		await ctl(mine, 'stop');
	}
});

test('another user of the machine works in their own folders with a daemon of root, which is not theirs', { skip: !isRoot && 'needs root to be another user' }, async () => {
	const mine = folder('mine', { 'AGENTS.md': 'Be brief.\n' }), roots = join(top, 'roots'), socket = join(top, 'shared', 'agentd.sock');
	mkdirSync(roots);
	mkdirSync(dirname(socket), { mode: 0o700 });
	writeFileSync(join(top, 'agentd.yaml'), `auth: {socket: anyone}\nworkspaces: {dir: ${join(top, 'managed')}}\n`, { mode: 0o600 });
	const daemon = new Running(join(bin, 'agentd'), ['--listen', 'off', '--config', join(top, 'agentd.yaml'), '--socket', socket], { env: place.env });
	await daemon.until((r) => r.out.includes('\n'));
	chmodSync(dirname(socket), 0o755);
	chmodSync(socket, 0o666);
	const env = { PATH: place.env.PATH, HOME: '/nonexistent' };
	const ctl = (cwd, ...words) => new Running('setpriv', [`--reuid=${USER}`, `--regid=${USER}`, '--clear-groups', join(bin, 'agentctl'), '--socket', socket, ...words], { cwd, env }).within();
	try {
		const { code, out, err } = await ctl(mine, 'run', '--trust', '[[say hello]]');
		assert.deepEqual([code, out], [0, 'hello\n'], err);
		const { workspaces: [made, more] } = JSON.parse((await ctl(mine, 'workspace', 'list', '--json')).out);
		assert.deepEqual([made.root, made.owner, made.trust, made.trustedBy, more], [mine, `uid:${USER}`, 'trusted', `uid:${USER}`, undefined]);
		const other = await ctl(roots, 'run', '[[say hello]]');
		assert.deepEqual([other.code, other.out], [0, 'hello\n'], other.err);
		assert.match(other.err, NOTE);
		assert.equal((await ctl(mine, 'run', '--workspace', roots, 'x')).code, 1);
	} finally {
		daemon.signal('SIGTERM');
		await daemon.done;
	}
});
