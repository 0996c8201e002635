// agentctl workspace: lists, shows, trusts, renames and archives workspaces, named by folder or id; and what completion offers for them.
import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { bin, lines, Place, Running } from '../ctl/place.mjs';

const isRoot = process.getuid() === 0;
let place, top, repo;

function folder(name, files = {}) {
	const path = join(top, name);
	mkdirSync(path);
	for (const [file, content] of Object.entries(files)) writeFileSync(join(path, file), content);
	if (isRoot) for (const one of ['', ...Object.keys(files)]) chownSync(join(path, one), 1000, 1000);
	return path;
}
const workspace = (...words) => place.ctl('workspace', ...words, { cwd: repo });
async function good(...words) {
	const { code, out, err } = await workspace(...words);
	assert.equal(code, 0, err);
	return { out, err };
}
const records = async () => (await place.json('workspace', 'list', '--all')).workspaces;

beforeEach(async () => {
	place = await Place.make();
	top = realpathSync(place.dir);
	chmodSync(place.dir, 0o755);
	repo = folder('repo', { 'AGENTS.md': 'Be brief.\n', '.mcp.json': '{}' });
	assert.equal((await place.ctl('run', '--no-workspace', '[[say start]]')).code, 0);
});
afterEach(() => place.end());

test('list shows the active ones, --all the archived ones too, --json the answer of the daemon', async () => {
	assert.match((await good('list')).err, /^agentctl: there are no workspaces; `agentctl run` makes one/);
	const other = folder('other');
	for (const cwd of [repo, other]) await place.ctl('run', '--quiet', '[[say hello]]', { cwd });
	await good('archive', other, '--reason', 'finished');
	const table = lines((await good('list')).out);
	assert.match(table[0], /^WORKSPACE +NAME +STATE +CHANGED +FOLDER$/);
	assert.match(table[1], new RegExp(`^ws_\\w{26}  repo +untrusted +\\S.* +${repo}$`));
	assert.equal(table.length, 2);
	assert.match((await good('list', '--all')).out, new RegExp(`^ws_\\w{26}  other +archived +.*${other}$`, 'm'));
	assert.deepEqual((await place.json('workspace', 'list')).workspaces.map((one) => one.root), [repo]);
	assert.equal((await records()).length, 2);
});

test('show describes one: by the current folder, a folder, a link to it, an id; and what it brings', async () => {
	await place.ctl('run', '--quiet', '[[say hello]]', { cwd: repo });
	const [{ workspaceId }] = await records();
	const { out } = await good('show');
	assert.match(out, new RegExp(`^workspace  ${workspaceId}\nfolder     ${repo}\nname       repo\nstatus     active\nowner      local\n[^]*\ntrust      untrusted\nbrings\n  instructions +10 bytes  used +AGENTS\\.md\n  mcp_servers +2 bytes  not used  \\.mcp\\.json  \\(.+\\)\n$`));
	symlinkSync(repo, join(top, 'link'));
	for (const word of [repo, join(top, 'link'), '.', workspaceId]) assert.equal((await good('show', word)).out, out, word);
	const whole = await place.json('workspace', 'show', repo);
	assert.deepEqual([whole.workspace.workspaceId, whole.items.map((one) => one.path)], [workspaceId, ['AGENTS.md', '.mcp.json']]);
	assert.match(whole.itemsDigest, /^sha256:[0-9a-f]{64}$/);
});

test('a folder that is no workspace is shown as none, and no command but trust makes one', async () => {
	for (const words of [['show'], ['untrust'], ['archive'], ['rename', 'x']]) {
		const { code, err } = await workspace(...words);
		assert.equal(code, 1, words[0]);
		assert.match(err, new RegExp(`^agentctl: ${repo} is not a workspace yet\nnext: `));
	}
	assert.deepEqual(await records(), []);
	for (const [word, exit] of [[join(top, 'missing'), 2], ['ws_short', 2], ['ws_0000000000jqqqqqqqqqqqqqqq', 1]]) assert.equal((await workspace('show', word)).code, exit, word);
	const { out, err } = await good('trust');
	assert.match(err, new RegExp(`^${repo} brings this for the agent:\n  instructions .*AGENTS\\.md\n  mcp_servers .*\n$`), 'listed also where nobody is asked');
	assert.match(out, /^trust {6}trusted$/m);
	assert.match(out, /^trusted by local$/m);
	assert.equal((await good('trust', (await records())[0].workspaceId)).err, err, 'by its id the same folder is named');
});

test('trust and untrust count for new sessions', async () => {
	const told = () => JSON.stringify(place.model.log().at(-1).body).includes('Be brief.');
	const run = async () => {
		assert.equal((await place.ctl('run', '[[say hello]]', { cwd: repo })).code, 0);
		return told();
	};
	assert.equal(await run(), false);
	await good('trust');
	assert.equal(await run(), true);
	assert.match((await good('untrust')).out, /^ws_\w+ +repo +untrusted /);
	assert.equal(await run(), false);
	const folderOfRoot = await workspace('trust', '/usr');
	assert.deepEqual([folderOfRoot.code, folderOfRoot.out], [1, '']);
});

test('on a terminal trust asks; no leaves it and is an exit of 1', async () => {
	for (const [answer, code, trust] of [['n', 1, 'untrusted'], ['y', 0, 'trusted']]) {
		const run = new Running('script', ['-qefc', `'${join(bin, 'agentctl')}' workspace trust`, '/dev/null'], { cwd: repo, env: { ...place.env, TERM: 'dumb' }, input: null });
		await run.until((r) => /\[y\/N\] $/.test(r.out));
		run.type(`${answer}\n`);
		assert.equal((await run.within()).code, code, run.out);
		assert.equal((await records())[0].trust, trust);
	}
});

test('rename names it, by the current folder or another; archive is for good', async () => {
	await place.ctl('run', '--quiet', '[[say hello]]', { cwd: repo });
	assert.match((await good('rename', 'Better')).out, /^ws_\w+ +Better /);
	assert.match((await place.ctl('workspace', 'rename', repo, 'The best', { cwd: '/' })).out, /^ws_\w+ +The best /);
	const [{ workspaceId, name }] = await records();
	assert.equal(name, 'The best');
	assert.equal((await good('archive')).out, `${workspaceId}  archived\n`);
	assert.equal((await good('archive', workspaceId)).out, `${workspaceId}  was archived before\n`);
	assert.equal((await workspace('rename', 'again')).code, 1);
	assert.match((await good('show')).out, /^status {5}archived$/m);
});

test('a name that holds escapes is shown, not obeyed', async () => {
	await place.ctl('run', '--quiet', '[[say hello]]', { cwd: repo });
	await good('rename', '\x1b[31mred\u202e');
	for (const words of [['list'], ['show']]) {
		const { out } = await good(...words);
		assert.ok(out.includes('\\u{1B}[31mred\\u{202E}') && !/[\x1b\u202e]/.test(out), out);
	}
});

test('wrong words are told, and only run starts a daemon', async () => {
	for (const words of [[], ['remove'], ['list', 'x'], ['rename'], ['show', 'a', 'b'], ['rename', 'a', 'b', 'c']]) assert.equal((await workspace(...words)).code, 2, words.join(' '));
	assert.match((await place.ctl('stop')).out, /^stopped agentd/);
	assert.equal((await workspace('list')).code, 3);
});

test('completion offers the words, and the folders', async () => {
	await place.ctl('run', '--quiet', '[[say hello]]', { cwd: repo });
	const offered = async (...words) => lines((await place.ctl('__complete', ...words)).out).map((line) => line.split('\t')[0]);
	for (const word of ['list', 'show', 'trust', 'untrust', 'archive', 'rename']) assert.ok((await offered('workspace', '')).includes(word), word);
	assert.ok((await offered('workspace', 'show', '')).includes(repo));
	assert.ok((await offered('run', '--workspace', '')).includes(repo));
});

test('env shows and changes variables of a workspace, one that is misspelt changes nothing', async () => {
	await place.ctl('run', '--quiet', '[[say hello]]', { cwd: repo });
	const [{ workspaceId }] = await records();
	assert.match((await good('env')).err, /has no variables/);
	assert.equal((await good('env', 'STAGE=a b=c', 'EMPTY=')).out, 'STAGE=a b=c\nEMPTY=\n');
	assert.equal((await good('env', workspaceId, 'STAGE=next', 'MORE=1')).out, 'EMPTY=\nSTAGE=next\nMORE=1\n');
	assert.equal((await good('env', repo)).out, 'EMPTY=\nSTAGE=next\nMORE=1\n');
	assert.equal((await good('env', '--unset', 'EMPTY,MORE')).out, 'STAGE=next\n');
	for (const [words, reason] of [[['--unset', 'STAGE,OTHER'], /has no variable OTHER/], [[repo, 'NAME'], /'NAME' is not NAME=VALUE/], [['LD_PRELOAD=/x.so'], /LD_PRELOAD, which controls/], [['A=1', 'A=2'], /A is named twice/], [['--secret', 'A=NOT_THERE'], /no secret of this name/], [['--secret', 'A'], /'A' is not NAME=VALUE/]]) {
		const { code, err } = await workspace('env', ...words);
		assert.notEqual(code, 0, String(words));
		assert.match(err, reason);
	}
	assert.deepEqual((await records())[0].environment, [{ name: 'STAGE', value: 'next' }]);
	assert.deepEqual((await place.json('workspace', 'env', repo)).workspace.environment, [{ name: 'STAGE', value: 'next' }]);
});
