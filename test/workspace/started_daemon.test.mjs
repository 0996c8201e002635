// The daemon that agentctl starts for a user has workspaces, unless a settings file or a variable decides; nothing about that keeps it from starting.
import assert from 'node:assert/strict';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { bin, Place, Running } from '../ctl/place.mjs';

let place, top;

beforeEach(async () => {
	place = await Place.make();
	top = realpathSync(place.dir);
});
afterEach(() => place.end());

/** Starts it; more options of agentctl come first. */
async function start(env = {}, ...options) {
	const { code, err } = await place.ctl(...options, 'run', '[[say hello]]', { env });
	assert.equal(code, 0, err);
}
/** Makes a workspace of a folder, or gives the refusal. */
function make(name, ...options) {
	const root = join(top, name);
	mkdirSync(root, { recursive: true });
	if (process.getuid() === 0) chownSync(root, 1000, 1000);
	return place.ctl(...options, 'call', 'create_workspace', JSON.stringify({ root }));
}
const setting = async () => (await place.json('config', 'show')).settings.find((one) => one.key === 'workspaces.dir').value;

test('it has a directory for workspaces beside its data, which only the user can enter', async () => {
	const dir = `${place.data}-workspaces`;
	assert.equal(await setting(), dir, 'also what it would start with');
	assert.ok(!existsSync(dir), 'a question makes nothing');
	await start();
	assert.equal(await setting(), dir);
	assert.equal(statSync(dir).mode & 0o7777, 0o700);
	assert.equal((await make('project')).code, 0);
});

test('an empty variable and a slash at the end of the data directory change nothing', async () => {
	await start({ AGENTD_WORKSPACES_DIR: '' }, '--data-dir', `${place.data}/`);
	assert.equal(await setting(), `${place.data}-workspaces`);
});

test('AGENTD_WORKSPACES_DIR decides before that', async () => {
	const dir = join(top, 'mine');
	await start({ AGENTD_WORKSPACES_DIR: dir });
	assert.equal(await setting(), dir);
	assert.ok(!existsSync(`${place.data}-workspaces`));
	assert.equal((await make('project')).code, 0);
});

test('a settings file decides, also one that only the last daemon had', async () => {
	writeFileSync(join(top, 'agentd.yaml'), 'log: {level: info}\n', { mode: 0o600 });
	const daemon = new Running(join(bin, 'agentd'), ['--listen', 'off', '--config', join(top, 'agentd.yaml')], { env: place.env });
	await daemon.until((r) => r.out.includes('\n'));
	daemon.signal('SIGKILL');
	await daemon.done;
	await start();
	assert.equal(await setting(), '');
	assert.ok(!existsSync(`${place.data}-workspaces`));
	assert.match((await make('project')).err, /this server has no workspaces/);
});

test('where the directory cannot be used the daemon starts without workspaces', async () => {
	const open = join(top, 'open-workspaces');
	mkdirSync(open);
	chmodSync(open, 0o777);
	writeFileSync(join(top, 'file-workspaces'), '');
	for (const name of ['open', 'file']) {
		await start({}, '--data-dir', join(top, name));
		assert.match((await make(`project-${name}`, '--data-dir', join(top, name))).err, /this server has no workspaces/);
	}
});

test('without the programs of the sandbox it starts, and tools say what is missing', async () => {
	for (const name of ['agentctl', 'agentd']) copyFileSync(join(bin, name), join(top, name));
	const { code, out } = await new Running(join(top, 'agentctl'), ['run', '[[say hello]]'], { cwd: top, env: place.env }).within();
	assert.deepEqual([code, out], [0, 'hello\n']);
	const { workspace: { workspaceId } } = JSON.parse((await make('project')).out);
	const input = { createPolicy: { workspaceId }, text: '[[tool read_file {"path":"a.txt"}]]' };
	const { sessionId } = await place.json('call', 'submit_turn', JSON.stringify(input));
	const tail = place.start('tail', sessionId, '--after', '0');
	await tail.until((r) => r.out.includes('turn.completed'));
	tail.signal('SIGINT');
	await tail.done;
	assert.match((await place.ctl('show', sessionId)).out, /sandbox_unavailable/);
});
