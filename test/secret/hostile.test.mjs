// References that cannot be trusted or do not work keep agentd from starting: each with its key, its line and what to do, and never with a value.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { bin, newFolder, waitFor, within } from '../lib/runtime.mjs';
import { startStore } from './store.mjs';

const VALUE = 'never-to-be-said-5Tq8Zm';
const folder = newFolder();
const path = (name) => join(folder, name);
const env = { PATH: process.env.PATH, HOME: folder };

function put(name, text, mode = 0o600) {
	writeFileSync(path(name), text, { mode });
	chmodSync(path(name), mode);
	return path(name);
}

/** agentd with these words; it has to end by itself. */
async function agentd(words, more = {}) {
	const child = spawn(join(bin, 'agentd'), words, { env: { ...env, ...more } });
	let text = '';
	child.stderr.on('data', (piece) => (text += piece));
	child.stdout.on('data', (piece) => (text += piece));
	const code = await within(new Promise((done) => child.on('close', done)), 60000);
	if (code === undefined) child.kill('SIGKILL');
	assert.ok(!text.includes(VALUE), text);
	return { code, text };
}

let round = 0;
function settings(reference, key = 'api_key') {
	const name = `agentd${++round}.yaml`;
	return put(name, `listen: off\nmodel:\n  ${key}: ${JSON.stringify(reference)}\n`);
}

const check = (reference, ...more) => agentd(['check', '--config', settings(reference), '--data-dir', path('data'), ...more]);

// What hangs is begun before everything else: its deadline passes meanwhile.
const pids = path('pids');
let store, hanging;
before(async () => {
	const silent = await startStore({}, '');
	silent.answer = () => {};
	const hang = put('hang', `#!/bin/sh\nsleep 3600 & echo $! >${pids}; echo ${VALUE}; wait\n`, 0o700);
	hanging = Promise.all([check({ command: [hang] }, '--secrets'), check({ http: { url: silent.origin } }, '--secrets')]);
	store = await startStore({ key: VALUE }, VALUE);
});

const FORMS = [
	['two places', { file: '/x', env: 'X' }, /remove all but one/],
	['no place', { prefix: 'x' }, /a reference names its place/],
	['an unknown part', { fil: '/x' }, /has no 'fil'; did you mean 'file'/],
	['a relative path', { file: 'key' }, /absolute path/],
	['a command as a text', { command: 'cat /x' }, /as a list.*there is no shell/],
	['a program without a path', { command: ['cat', '/x'] }, /absolute path/],
	['a store in the clear', { http: { url: 'http://vault.example/v1' } }, /https:\/\//],
	['a store whose address misleads', { http: { url: 'https://127.0.0.1@vault.example/v1' } }, /without a user name/],
	['a field that is no pointer', { http: { url: 'https://vault.example/v1', field: 'key' } }, /JSON pointer/],
	['a token in the settings', { http: { url: 'https://vault.example/v1', token: VALUE } }, /token needs a reference/],
	['a token in a store', { http: { url: 'https://vault.example/v1', token: { http: { url: 'https://v.example' } } } }, /cannot be in a store/],
	['a header with a line end', { http: { url: 'https://vault.example/v1', header: 'a\nb' } }, /name of a header/],
	['a cache of words', { file: '/x', cache_s: 'long' }, /whole seconds/],
	['a cache of a variable', { env: 'HOME', cache_s: 5 }, /remove cache_s/],
	['a variable that is not set', { env: 'NOT_SET_HERE' }, /NOT_SET_HERE that it names is not set/],
	['a credential that climbs', { credential: '../key' }, /without slashes/],
];

test('a reference of the wrong form is refused with its key and line, by agentd check too', async () => {
	for (const [what, reference, sentence] of FORMS) {
		const { code, text } = await check(reference);
		assert.equal(code, 1, `${what}: ${text}`);
		assert.match(text, /agentd\d+\.yaml:3: model\.api_key: /, what);
		assert.match(text, sentence, what);
	}
	put('plain.yaml', 'model: { name: { file: /x } }\n');
	const { text } = await agentd(['check', '--config', path('plain.yaml')]);
	assert.match(text, /model\.name: a single value is needed, but this is a mapping/, 'only secrets have references');
});

test('a file: others may not read it, links may not lead out of its folder, and it is a small text', async () => {
	put('key', VALUE);
	symlinkSync(path('key'), path('absolute'));
	mkdirSync(path('in'));
	put('in/key', VALUE);
	symlinkSync('../key', path('in/out'));
	symlinkSync('key', path('in/near'));
	spawnSync('mkfifo', [path('fifo')]);
	for (const [file, sentence] of [
		[put('world', VALUE, 0o644), /mode 644: other users than agentd can read.*chmod 600/], [put('group', VALUE, 0o640), /chmod 600/],
		[path('absolute'), /a link that leads out of its directory; name the file itself/], [path('in/out'), /a link that leads out/],
		[path('in'), /not a regular file/], [path('fifo'), /not a regular file/], [path('gone'), /No such file.*check the path/],
		[put('empty', '\n'), /it is empty/], [put('large', 'x'.repeat(70000)), /more than 65536 bytes/], [put('nul', `${VALUE}\0`), /NUL/],
		[put('lines', `${VALUE}\nX-Evil: 1`), /several lines/],
	]) {
		const { code, text } = await check({ file });
		assert.equal(code, 1, `${file}: ${text}`);
		assert.match(text, sentence);
		assert.match(text, /:3: model\.api_key: /);
	}
	assert.equal((await check({ file: path('in/near') })).code, 0, 'as a mounted secret of Kubernetes is');
	assert.equal((await agentd(['--config', settings({ file: path('world') }), '--data-dir', path('data')])).code, 1, 'the start refuses it too');
	assert.ok(!existsSync(path('data')), 'before anything is made');
});

test('a command that floods, says nothing, fails or is not there; agentd check runs none unless --secrets asks for it', async () => {
	const mark = path('mark');
	const script = (name, text) => put(name, `#!/bin/sh\n${text}\n`, 0o700);
	assert.equal((await check({ command: [script('touch', `: > ${mark}; echo ${VALUE}`)] })).code, 0);
	assert.ok(!existsSync(mark), 'not run');
	assert.equal((await check({ command: [path('touch')] }, '--secrets')).code, 0);
	assert.ok(existsSync(mark), 'run');
	for (const [command, sentence] of [
		[['/bin/cat', '/dev/zero'], /writes more than 65536 bytes/], [[script('silent', ':')], /it is empty/],
		[[script('fails', `echo ${VALUE}; exit 3`)], /ended with status 3; run it by hand/], [[path('none')], /cannot be started: No such file/],
		[[script('killed', 'kill -9 $$')], /killed by signal 9/],
	]) {
		const { code, text } = await check({ command }, '--secrets');
		assert.equal(code, 1, `${command}: ${text}`);
		assert.match(text, sentence);
	}
});

test('a store that redirects, floods, answers another field or no JSON', async () => {
	const answers = [
		[(req, res) => res.writeHead(302, { location: `${store.origin}/else` }).end(), /HTTP 302; a redirect is not followed/],
		[(req, res) => { const more = () => { while (res.write(Buffer.alloc(65536, 'x'))); res.once('drain', more); }; more(); }, /more than 1048576 bytes/],
		[(req, res) => res.end(JSON.stringify({ data: { other: VALUE } })), /no text at field '\/data\/key'/],
		[(req, res) => res.end(JSON.stringify({ data: { key: { deep: VALUE } } })), /no text at field/],
		[(req, res) => res.end(`${VALUE} {`), /not JSON/],
		[(req, res) => res.end(JSON.stringify({ data: { key: '' } })), /it is empty/],
		[(req, res) => res.writeHead(500).end(VALUE), /HTTP 500; check whether the store is sealed/],
	];
	for (const [answer, sentence] of answers) {
		store.answer = answer;
		const before = store.seen.length;
		const { code, text } = await check({ http: { url: `${store.origin}/v1`, field: '/data/key' } }, '--secrets');
		assert.equal(code, 1, text);
		assert.match(text, sentence);
		assert.equal(store.seen.length, before + 1, 'asked once, and nowhere else');
	}
	const { text } = await check({ http: { url: 'http://127.0.0.1:1/v1', field: '/data/key' } }, '--secrets');
	assert.match(text, /the store cannot be reached/);
});

test('a settings file with a secret in it: every user may read it is refused, its group a warning, references are no secret', async () => {
	const yaml = (text, mode) => put(`mode${++round}.yaml`, text, mode);
	const run = (file) => agentd(['check', '--config', file, '--data-dir', path('data')]);
	const literal = `model:\n  api_key: ${'x'.repeat(20)}\n`;
	const world = await run(yaml(literal, 0o644));
	assert.equal(world.code, 1);
	assert.match(world.text, /:2: model\.api_key: .*every user can open \(mode 644\); chmod 600/);
	const group = await run(yaml(literal, 0o640));
	assert.equal(group.code, 0);
	assert.match(group.text, /warning: .*model\.api_key: .*its group can open \(mode 640\); chmod 600/);
	put('key', VALUE);
	for (const text of [
		`model: { api_key: { file: ${path('key')} } }\n`, 'store: postgres://agentd@localhost:5432/agentd\n', 'sandbox: { env: "CI=1,MODE=test" }\n',
		`models:\n  - { name: a, provider: gemini, api_key: env:HOME }\n`, 'http_tools:\n  - { name: a, description: D., url: "http://localhost/", headers: ["Accept: text/plain"] }\n',
	])
		assert.deepEqual(await run(yaml(text, 0o644)), { code: 0, text: 'the settings are correct\n' });
	for (const text of [
		'store: postgres://agentd:pass-word-1@localhost/agentd\n', 'sandbox: { env: "CI=1,API_TOKEN=aaaaaaaaaa" }\n',
		'http_tools:\n  - { name: a, description: D., url: "http://localhost/", headers: ["X-Key: aaaaaaaaaa"] }\n',
	])
		assert.match((await run(yaml(text, 0o644))).text, /every user can open/, text);
});

test('PostgreSQL on another machine without sslmode=verify-full is a warning', async () => {
	const run = (text) => agentd(['check', '--config', put(`pg${++round}.yaml`, text)]);
	const sentence = /warning: .*store: .*certificate is not verified; add sslmode=verify-full/;
	for (const store of ['postgres://u@db.example/x', 'host=10.0.0.5 dbname=x sslmode=require', 'host=localhost,db.example dbname=x'])
		assert.match((await run(`store: ${JSON.stringify(store)}\n`)).text, sentence, store);
	for (const store of ['postgres://u@db.example/x?sslmode=verify-full', 'host=/run/postgresql dbname=x', 'postgres://u@127.0.0.1/x', 'host=localhost dbname=x'])
		assert.doesNotMatch((await run(`store: ${JSON.stringify(store)}\n`)).text, sentence, store);
});

test('doctor names references that cannot be resolved when no daemon runs', async () => {
	const data = path('doctor');
	mkdirSync(data, { mode: 0o700 });
	writeFileSync(join(data, 'start.json'), JSON.stringify({ config: settings({ command: ['/bin/false'] }) }), { mode: 0o600 });
	const { stdout } = spawnSync(join(bin, 'agentctl'), ['doctor', '--json', '--data-dir', data], { encoding: 'utf8', env });
	const found = JSON.parse(stdout).checks.find(({ name }) => name === 'settings');
	assert.equal(found.status, 'fail', stdout);
	assert.match(found.message, /model\.api_key: '\/bin\/false' ended with status 1/);
});

test('a command and a store that hang are given up after their deadline, and nothing of the command is left', async () => {
	for (const { code, text } of await hanging) {
		assert.equal(code, 1, text);
		assert.match(text, /within 10 seconds/);
	}
	const left = `/proc/${readFileSync(pids, 'utf8').trim()}/stat`;
	await waitFor(() => !existsSync(left) || / [ZX] /.test(readFileSync(left, 'utf8')), 'its child to be killed');
});
