// Secrets by reference: each kind gives the key that the model server gets, a rotated one is used by the next call, and none is ever seen anywhere else.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { planted } from '../lib/planted.mjs';
import { bin, follow, newFolder, ok, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';
import { startStore } from './store.mjs';

const OLD = { file: 'old-of-file-3kQ9xLw2', command: 'old-of-command-Zp0aVb', http: 'old-of-store-N7f3kQ9x', header: 'old-of-header-Lw2Zp0' };
const NEW = { file: 'new-of-file-8sD1mCq5', command: 'new-of-command-Rt6yHj', http: 'new-of-store-K4gPz1Xb', header: 'new-of-header-Ue9Wv3' };
const STILL = { env: 'env-stays-7Yb2Nc5Mx', credential: 'credential-1Hq8Jd4Fs', token: 'token-of-store-6Gk0Ta' };
const PLANTED = [...Object.values(OLD), ...Object.values(NEW), ...Object.values(STILL)];
const { assertClean, scanDisk } = planted(PLANTED);

const folder = newFolder();
const path = (name) => join(folder, name);

function put(name, text, mode = 0o600) {
	writeFileSync(path(name), text, { mode });
	chmodSync(path(name), mode);
}

let model, store, tool, rt;
const toolCalls = [];

before(async () => {
	model = await startModel();
	store = await startStore({ 'api/key': OLD.http }, STILL.token);
	tool = http.createServer((req, res) => {
		toolCalls.push(req.headers.authorization);
		req.resume().on('end', () => res.end('{"done":true}'));
	});
	await new Promise((done) => tool.listen(0, '127.0.0.1', done));
	tool.unref(); // goes with the tests
	put('file', `${OLD.file}\n`);
	put('of-command', OLD.command);
	put('header', OLD.header);
	put('token', STILL.token);
	mkdirSync(path('credentials'));
	put('credentials/api', `${STILL.credential}\n`, 0o444); // systemd guards its folder, not the modes in it
	put('give', `#!/bin/sh\n[ "$PWD" = / ] && [ -z "$STRAY_TOKEN$OPENAI_BASE_URL" ] && exec cat "$1"\n`, 0o700);
	const entry = (name, api_key) => ({ name, provider: 'openai-chat', base_url: model.url, api_key });
	const url = `${store.origin}/v1/secret/data/agentd`;
	rt = await startAgentd({
		env: { SOME_TOKEN: STILL.env, STRAY_TOKEN: 'stray-9Kd8Wq2Lm', CREDENTIALS_DIRECTORY: path('credentials'), HTTP_PROXY: 'http://127.0.0.1:9', http_proxy: 'http://127.0.0.1:9' },
		config: {
			models: [
				entry('file', { file: path('file'), cache_s: 1 }),
				entry('command', { command: [path('give'), path('of-command')], cache_s: 0 }),
				entry('http', { http: { url, token: { file: path('token') }, field: '/data/data/api~1key' }, cache_s: 0 }),
				entry('env', { env: 'SOME_TOKEN' }), entry('short', 'env:SOME_TOKEN'), entry('credential', { credential: 'api' }),
			],
			http_tools: [{ name: 'act', description: 'Acts.', url: `http://127.0.0.1:${tool.address().port}/`, read_only: true, headers: [{ prefix: 'Authorization: Bearer ', file: path('header'), cache_s: 0 }] }],
			'permission.mode': 'bypass',
		},
	});
});

/** The Authorization that the model server gets for a turn with this model. */
async function keyOf(name, text = 'Hello.') {
	const { sessionId, turnId } = await submit(rt, text, { options: { model: name } });
	const follower = await follow(rt, sessionId);
	await follower.ended(turnId);
	follower.stop();
	return { key: model.log().at(-1).headers.authorization, follower };
}

const logged = (message, detail) => rt.stderr.split('\n').some((line) => line.includes(message) && line.includes(detail));

test('every kind of reference gives the key that the model server gets', async () => {
	for (const name of ['file', 'command', 'http'])
		assert.equal((await keyOf(name)).key, `Bearer ${OLD[name]}`, name);
	assert.equal((await keyOf('env')).key, `Bearer ${STILL.env}`);
	assert.equal((await keyOf('short')).key, `Bearer ${STILL.env}`);
	assert.equal((await keyOf('credential')).key, `Bearer ${STILL.credential}`);
	assert.equal(store.seen[0].url, '/v1/secret/data/agentd');
});

test('settings show what a reference says, never its value', async () => {
	const { settings, warnings } = await ok(rt, 'get_settings', {}, { via: 'socket' });
	const rows = settings.find((row) => row.key === 'models').value.map((entry) => entry.api_key);
	assert.deepEqual(rows[0], { file: path('file'), cache_s: 1 });
	assert.deepEqual(rows[1].command, [path('give'), path('of-command')]);
	assert.deepEqual(rows[2].http.token, { file: path('token') });
	assert.deepEqual([rows[3], rows[4]], [{ env: 'SOME_TOKEN' }, { env: 'SOME_TOKEN' }]);
	assert.deepEqual(settings.find((row) => row.key === 'http_tools').value[0].headers, [{ file: path('header'), prefix: 'Authorization: Bearer ', cache_s: 0 }]);
	assert.deepEqual(warnings, []);
	assertClean(JSON.stringify(settings), 'get_settings');
	const shown = spawnSync(join(bin, 'agentctl'), ['config', 'show', '--socket', rt.socket], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: folder } });
	assert.ok(shown.stdout.includes(path('file')), shown.stdout + shown.stderr);
	assertClean(shown.stdout, 'agentctl config show');
});

test('a rotated secret is used by the next call: by itself when its time is over, and all of them after SIGHUP', async () => {
	put('file', `${NEW.file}\n`);
	await waitFor(() => logged('a secret was renewed', 'models[0].api_key'), 'the file to be read again');
	assert.equal((await keyOf('file')).key, `Bearer ${NEW.file}`);
	assert.equal((await keyOf('command')).key, `Bearer ${OLD.command}`, 'cache_s: 0 waits for SIGHUP');

	put('of-command', NEW.command);
	put('header', NEW.header);
	store.secrets = { 'api/key': NEW.http };
	await keyOf('file', '[[tool act {}]]');
	assert.equal(toolCalls.at(-1), `Bearer ${OLD.header}`);
	process.kill(rt.pid, 'SIGHUP');
	for (const what of ['models[1].api_key', 'models[2].api_key', 'http_tools[0].headers'])
		await waitFor(() => logged('a secret was renewed', what), `${what} to be renewed`);
	assert.equal((await keyOf('command')).key, `Bearer ${NEW.command}`);
	assert.equal((await keyOf('http')).key, `Bearer ${NEW.http}`);
	await keyOf('file', '[[tool act {}]]');
	assert.equal(toolCalls.at(-1), `Bearer ${NEW.header}`);
	assert.ok(logged('the settings have not changed', ''), 'new values are no change of the settings');
});

test('old and new values are masked in what a model says, in the log, in answers and on disk', async () => {
	const said = PLANTED.map((secret) => `<${[...secret].reverse().join('')}>`).reverse().join(' ');
	const { follower } = await keyOf('env', `[[say ${said}]] [[backwards 3]]`);
	const [completed] = follower.of('model.completed');
	const { content } = await ok(rt, 'read_output', { outputRef: completed.payload.outputRef });
	assertClean(content, 'the answer');
	assert.equal(content.split('[redacted:secret]').length - 1, PLANTED.length, content);
	follower.facts.forEach((f) => assertClean(f.data, 'a fact'));
	assertClean(rt.stderr, 'the log');
	scanDisk(rt.dataDir);
});

test('a reference that fails while agentd runs leaves the last value in use; the log and doctor say so, once and without it', async () => {
	put('file', NEW.file, 0o644);
	store.token = 'another';
	process.kill(rt.pid, 'SIGHUP');
	const failed = (what) => rt.stderr.split('\n').filter((line) => line.includes('a secret could not be renewed') && line.includes(what));
	await waitFor(() => failed('models[0].api_key').length && failed('models[2].api_key').length, 'the failures to be logged');
	assert.equal((await keyOf('file')).key, `Bearer ${NEW.file}`);
	assert.equal((await keyOf('http')).key, `Bearer ${NEW.http}`);
	assert.match(failed('models[0].api_key')[0], /mode 644.*chmod 600/);
	assert.match(failed('models[2].api_key')[0], /HTTP 403; check the token/);
	process.kill(rt.pid, 'SIGHUP');
	const before = store.seen.length;
	await waitFor(() => store.seen.length > before, 'another round');
	assert.equal(failed('models[0].api_key').length, 1, 'a failure that lasts is logged now and then, not in each round');
	const { stdout } = spawnSync(join(bin, 'agentctl'), ['doctor', '--json', '--socket', rt.socket], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: folder } });
	const check = JSON.parse(stdout).checks.find(({ name }) => name === 'settings');
	assert.equal(check.status, 'warn');
	assert.match(check.message, /models\[0\]\.api_key.*chmod 600.*models\[2\]\.api_key.*HTTP 403/);
	assertClean(stdout, 'doctor');

	put('file', NEW.file);
	store.token = STILL.token;
	process.kill(rt.pid, 'SIGHUP');
	await waitFor(() => logged('a secret is available again', 'models[2].api_key'), 'the store to be asked again');
	await waitFor(async () => (await ok(rt, 'get_settings', {}, { via: 'socket' })).warnings.length === 0, 'no warning to be left');
	assertClean(rt.stderr, 'the log');
	await rt.stop();
});
