// What a folder brings for the agent is listed before it is trusted: agentctl asks once on a terminal, the answer is remembered by the daemon, no answer is none; without a
// terminal a note. Names of files are shown, not obeyed. Refusals that a real daemon does not give at will come from one that misbehaves on purpose.
import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { bin, Place, Running } from '../ctl/place.mjs';
import { completed, receipt, startFake, text } from '../ctl/fake.mjs';

const isRoot = process.getuid() === 0;
const QUESTION = /Trust this folder\? \[y\/N\] $/;
let place, top;

beforeEach(async () => {
	place = await Place.make();
	top = realpathSync(place.dir);
	chmodSync(place.dir, 0o755);
});
afterEach(() => place.end());

function folder(name, files = {}) {
	const path = join(top, name), made = [path];
	mkdirSync(path);
	for (const [file, content] of Object.entries(files)) {
		if (dirname(file) !== '.') mkdirSync(join(path, dirname(file)), { recursive: true });
		writeFileSync(join(path, file), content);
		made.push(join(path, file));
	}
	if (isRoot) for (const one of made) chownSync(one, 1000, 1000);
	return path;
}
/** agentctl on a terminal of its own. */
function terminal(cwd, ...words) {
	const command = [join(bin, 'agentctl'), ...words].map((word) => `'${word}'`).join(' ');
	return new Running('script', ['-qefc', command, '/dev/null'], { cwd, env: { ...place.env, TERM: 'dumb' }, input: null });
}
/** The same to its end; the answers go to the questions in their order, and there are as many. */
async function answered(answers, cwd, ...words) {
	const run = terminal(cwd, ...words);
	let from = 0;
	for (const answer of answers) {
		await run.until((r) => QUESTION.test(r.out.slice(from)));
		from = run.out.length;
		run.type(answer);
	}
	const { code } = await run.within();
	const out = run.out.replaceAll('\r', '');
	assert.equal(out.split('Trust this folder?').length - 1, answers.length, out);
	return { code, out };
}
const record = async (root) => (await place.json('call', 'list_workspaces', '{}')).workspaces.find((one) => one.root === root);
const isTrusted = async (root) => (await record(root)).trust === 'trusted';
/** Whether the last request to the model had the words of the instructions. */
const told = (words) => JSON.stringify(place.model.log().at(-1).body).includes(words);

test('a terminal asks once, with the list; yes is remembered over a restart of the daemon', async () => {
	const root = folder('repo', { 'AGENTS.md': 'Speak like a sailor.\n', '.mcp.json': '{}' });
	const { code, out } = await answered(['y\n'], root, 'run', '[[say one]]');
	assert.equal(code, 0, out);
	assert.match(out, new RegExp(`^${root} brings this for the agent:\n  instructions +21 bytes  used +AGENTS\\.md\n  mcp_servers +2 bytes  not used  \\.mcp\\.json  \\(.+\\)\nTrust this folder\\? \\[y/N\\] y\n[^]*one\n$`));
	assert.ok(await isTrusted(root));
	assert.ok(told('Speak like a sailor.'));
	await answered([], root, 'run', '[[say two]]');
	await place.ctl('stop');
	const again = await answered([], root, 'run', '[[say three]]');
	assert.match(again.out, /^three\n$/m);
	assert.ok(told('Speak like a sailor.'));
	const [fact] = (await place.json('call', 'get_session', JSON.stringify({ sessionId: (await record(root)).workspaceId.replace('ws_', 'sess_'), limit: 100 }))).history.events.filter((one) => one.type === 'workspace.updated');
	assert.equal(fact.payload.workspace.trust, 'trusted');
});

test('no is not stored: the turn runs without, and the next one is asked again', async () => {
	const root = folder('repo', { 'AGENTS.md': 'Speak like a sailor.\n' });
	for (const answer of ['n\n', '\n', 'maybe\n', '\x04']) {
		const { code, out } = await answered([answer], root, 'run', '[[say without]]');
		assert.equal(code, 0, out);
		assert.match(out, /without\n$/);
		assert.ok(!told('Speak like a sailor.'));
		assert.ok(!(await isTrusted(root)), JSON.stringify(answer));
	}
	await answered(['Y\n'], root, 'run', '[[say with]]');
	assert.ok(told('Speak like a sailor.') && (await isTrusted(root)));
});

test('what was typed before the question is no answer to it', async () => {
	const root = folder('repo', { 'AGENTS.md': 'x\n' });
	await place.ctl('run', '--no-workspace', '[[say start]]');
	const go = join(top, 'go');
	const run = new Running('script', ['-qefc', `while [ ! -e '${go}' ]; do sleep 0.05; done; '${join(bin, 'agentctl')}' run '[[say done]]'`, '/dev/null'], { cwd: root, env: { ...place.env, TERM: 'dumb' }, input: null });
	run.type('y\n');
	await run.until((r) => r.out.startsWith('y')); // the terminal has it
	writeFileSync(go, '');
	await run.until((r) => QUESTION.test(r.out));
	run.type('n\n');
	assert.equal((await run.within()).code, 0, run.out);
	assert.ok(!(await isTrusted(root)));
});

test('a folder without anything for the agent, or with nothing that would be used, is not asked about', async () => {
	for (const [name, files] of [['plain', { 'README.md': 'x' }], ['unused', { '.mcp.json': '{}' }]]) {
		const { code, out } = await answered([], folder(name, files), 'run', '[[say hello]]');
		assert.equal(code, 0, out);
		assert.match(out, /^hello\n$/m);
	}
});

test('chat asks before the first prompt, and not again for /new', async () => {
	const root = folder('repo', { 'AGENTS.md': 'Speak like a sailor.\n' });
	const chat = terminal(root, 'chat');
	await chat.until((r) => QUESTION.test(r.out));
	chat.type('y\n');
	for (const line of ['[[say one]]', '/new', '[[say two]]']) {
		await chat.until((c) => /\n> $/.test(c.out));
		const before = chat.out.length;
		chat.type(`${line}\n`);
		await chat.until((c) => /\n> $/.test(c.out.slice(before).replaceAll('\r', '')));
	}
	chat.type('\x04');
	assert.equal((await chat.within()).code, 0, chat.out);
	assert.equal(chat.out.split('Trust this folder?').length - 1, 1);
	assert.ok(told('Speak like a sailor.') && (await isTrusted(root)));
});

test('without a terminal there is a note and no trust; --trust trusts without a question', async () => {
	const root = folder('repo', { 'AGENTS.md': 'Speak like a sailor.\n', 'sub/AGENTS.md': 'not at the top\n' });
	const { code, out, err } = await place.ctl('run', '[[say hello]]', { cwd: root });
	assert.deepEqual([code, out], [0, 'hello\n'], err);
	assert.equal(err, 'agentctl: not used, because this folder is not trusted: AGENTS.md; `agentctl workspace trust` or --trust trusts it\n');
	assert.equal((await place.ctl('run', '--quiet', '[[say hello]]', { cwd: root })).err, '');
	assert.ok(!(await isTrusted(root)) && !told('sailor'));
	const trusting = await place.ctl('run', '--trust', '[[say hello]]', { cwd: root });
	assert.deepEqual([trusting.code, trusting.out], [0, 'hello\n'], trusting.err);
	assert.match(trusting.err, / brings this for the agent:\n {2}instructions .* used +AGENTS\.md\n$/);
	assert.ok((await isTrusted(root)) && told('sailor'));
	assert.equal((await place.ctl('run', '--trust', '[[say hello]]', { cwd: root })).err, '', 'it is already');
	for (const words of [['--trust', '--no-workspace'], ['--trust', '--continue'], ['--trust', '--session', 'last']])
		assert.equal((await place.ctl('run', ...words, 'x', { cwd: root })).code, 2, words.join(' '));
});

test('a session keeps what it began with: --continue asks nothing and notes nothing', async () => {
	const root = folder('repo', { 'AGENTS.md': 'Speak like a sailor.\n' });
	await answered(['n\n'], root, 'run', '[[say one]]');
	const { code, out } = await answered([], root, 'run', '--continue', '[[say two]]');
	assert.deepEqual([code, /two\n$/.test(out)], [0, true], out);
	assert.equal((await place.ctl('run', '--continue', '[[say three]]', { cwd: root })).err, '');
});

test('names of files are shown escaped, whatever they hold', async () => {
	const root = folder('repo', { 'AGENTS.md': 'x\n', '.agents/skills/\x1b[2J\x07\u202eevil\n  instructions  9 bytes  used  x/SKILL.md': 'y' });
	const { out } = await answered(['n\n'], root, 'run', '[[say done]]');
	assert.ok(!/[\x1b\x07\u202e]/.test(out), JSON.stringify(out));
	assert.match(out, /^ {2}skill .*\\u\{1B\}\[2J\\u\{7\}\\u\{202E\}evil {3}instructions/m, 'on one line');
});

// ---- a daemon that misbehaves on purpose ----

const WS = 'ws_0000000000j5v82rs7fzc8r0x1';
/** What a daemon with a workspace answers; `more` replaces some of it. */
function answers(more = {}) {
	return {
		...receipt,
		'/v1/create_workspace': ({ root }) => ({ json: { created: true, workspace: { workspaceId: WS, root, trust: 'untrusted' } } }),
		'/v1/inspect_workspace': { json: { workspaceId: WS, items: [{ kind: 'instructions', path: 'AGENTS.md', bytes: 1, used: true }], itemsDigest: 'sha256:1' } },
		'/v1/update_workspace': { json: { workspace: { workspaceId: WS, root: '/', trust: 'trusted' } } },
		...more,
	};
}
async function withFake(more, work) {
	mkdirSync(place.data);
	const fake = await startFake(join(place.data, 'agentd.sock'), { replies: answers(more), streams: Array.from({ length: 8 }, () => [text(6, 0, 'done\n'), completed(7)]) });
	try {
		await work((path) => fake.asked.filter((one) => one.path === `/v1/${path}`).map((one) => JSON.parse(one.body)));
	} finally {
		await fake.close();
		rmSync(place.data, { recursive: true });
	}
}

test('what is trusted is what was shown: files that change meanwhile are shown and asked about again', async () => {
	const root = folder('repo');
	let looks = 0;
	const changing = {
		'/v1/inspect_workspace': () => ({ json: { workspaceId: WS, items: [{ kind: 'instructions', path: `AGENTS-${++looks}.md`, bytes: 1, used: true }], itemsDigest: `sha256:${looks}` } }),
		'/v1/update_workspace': ({ itemsDigest }) => (itemsDigest === 'sha256:3' ? { json: { workspace: { workspaceId: WS, trust: 'trusted' } } } : { status: 409, json: { error: { code: 'version_conflict', message: 'changed' } } }),
	};
	await withFake(changing, async (asked) => {
		// The first look is for the question whether to ask.
		const { code, out } = await answered(['y\n', 'y\n'], root, 'run', 'x');
		assert.equal(code, 0, out);
		assert.match(out, /AGENTS-2\.md\nTrust[^]*AGENTS-3\.md\nTrust/);
		assert.deepEqual(asked('update_workspace').map((one) => [one.workspaceId, one.trust, one.itemsDigest]), [[WS, 'trusted', 'sha256:2'], [WS, 'trusted', 'sha256:3']]);
		assert.deepEqual(asked('submit_turn').map((one) => one.createPolicy), [{ workspaceId: WS }]);
	});
});

test('files that change all the time are not trusted, and nothing is submitted', async () => {
	await withFake({ '/v1/update_workspace': { status: 409, json: { error: { code: 'version_conflict', message: 'changed' } } } }, async (asked) => {
		const { code, err } = await place.ctl('run', '--trust', 'x', { cwd: folder('repo') });
		assert.equal(code, 1);
		assert.match(err, /agentctl: the files that .* change all the time; it is not trusted\nnext: /);
		assert.equal(asked('update_workspace').length, 3);
		assert.deepEqual(asked('submit_turn'), []);
	});
});

test('a yes that is refused ends run: the folder is not trusted without a word', async () => {
	await withFake({ '/v1/update_workspace': { status: 403, json: { error: { code: 'policy_denied', message: 'not yours to trust' } } } }, async (asked) => {
		const { code, out } = await answered(['y\n'], folder('repo'), 'run', 'x');
		assert.equal(code, 1);
		assert.match(out, /not yours to trust/);
		assert.deepEqual(asked('submit_turn'), []);
	});
});

test('a daemon that cannot list what a folder brings is used as if it were not trusted', async () => {
	for (const [status, error] of [[404, { code: 'not_found', message: 'no such path' }], [501, { code: 'unavailable', message: 'cannot be read' }]])
		await withFake({ '/v1/inspect_workspace': { status, json: { error } } }, async (asked) => {
			const { code, out } = await answered([], folder(error.code), 'run', 'x');
			assert.equal(code, 0, out);
			assert.equal(asked('submit_turn').length, 1);
			const explicit = await place.ctl('run', '--trust', 'x', { cwd: join(top, error.code) });
			assert.deepEqual([explicit.code, explicit.err.split('\n')[0]], [1, `agentctl: ${error.message}`]);
		});
});
