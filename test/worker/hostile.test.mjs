// A worker whose daemon lies: it makes no folder but those of workspaces, runs nothing outside them, and a message that breaks the rules costs the link and nothing else.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sleep, waitFor } from '../lib/runtime.mjs';
import { LyingDaemon, message } from './lying_daemon.mjs';
import { tokenFile, Worker } from './worker.mjs';

const HOME = 'a'.repeat(26), KEY = 'b'.repeat(26);
let daemon, worker;

before(async () => {
	daemon = await new LyingDaemon().listen();
	worker = await new Worker(['--join', daemon.url, '--token-file', tokenFile('art_x')]).joined();
	assert.equal(daemon.authorization, 'Bearer art_of_the_worker');
});
after(() => daemon.close());

test('a folder is made for keys alone, below the directory of workspaces', async () => {
	for (const [home, key] of [['..', '..'], [HOME, '../../../../../../tmp/of-a-liar'.padEnd(26, 'x').slice(0, 26)], ['a'.repeat(25), KEY], [HOME, `${'b'.repeat(25)}/`], [HOME, `${'b'.repeat(25)}B`], [`${'a'.repeat(25)}\0`, KEY], ['/'.padEnd(26, 'a'), KEY]])
		assert.notEqual((await daemon.call('folder', {}, { home, key })).folder?.startsWith?.('/'), true, `${home} ${key}`);
	assert.deepEqual(readdirSync(join(worker.dir, 'workspaces')), []);
	assert.ok(!existsSync(join(worker.dir, 'files')) && !existsSync(join(worker.dir, '../files')));
	const made = await daemon.call('folder', {}, { home: HOME, key: KEY });
	assert.equal(made.folder, join(worker.dir, 'workspaces', HOME, KEY, 'files'));
	assert.ok(existsSync(made.folder));
});

test('nothing runs in a folder that is not below it', async () => {
	const own = join(worker.dir, 'workspaces', HOME, KEY, 'files');
	const tool = (workspace, args = { path: 'x' }) => daemon.call('tool', { profile: 2 }, { tool: 'read_file', session: 'sess_1', thread: 't', turn: 'u', call: 'c', operation: 'o', workspace, args: JSON.stringify(args) });
	for (const folder of ['/etc', '/', worker.dir, join(worker.dir, 'state'), join(worker.dir, 'workspaces'), `${own}/../../../../state`, 'relative']) {
		for (const answer of [await tool(folder, { path: 'passwd' }), await daemon.call('checkpoint', { what: 1, ids: [] }, { tenant: 'local', workspaceId: `ws_${KEY}`, folder, session: 's' }), await daemon.call('inspect', {}, { folder })])
			assert.match(JSON.stringify(answer), /does not have that folder/, `${folder}: ${JSON.stringify(answer)}`);
	}
	const state = await tool(own, { path: join(worker.dir, 'state/worker.json') });
	assert.ok(!JSON.stringify(state).includes('art_of_the_worker'), JSON.stringify(state));
});

test('a message that breaks the rules costs the link, and the worker comes back', async () => {
	const long = Buffer.alloc(1024 * 1024 + 1);
	for (const [bytes, first] of [[long, 0x82], [Buffer.from('text'), 0x81], [Buffer.from([255, 255, 255, 255, 1]), 0x82], [Buffer.from([0, 0, 0, 3, 123, 34, 58]), 0x82]]) {
		const before = daemon.links;
		daemon.send(bytes, first);
		await waitFor(() => daemon.links > before, () => `${first}: ${worker.stderr}`);
		await waitFor(() => daemon.said.filter((m) => m.op === 'hello').length === daemon.links, 'the greeting');
	}
	assert.ok(!worker.isGone);
	daemon.send(message('nobody_knows', { ref: 'x' })); // of a later version
	assert.ok((await daemon.call('folder', {}, { home: HOME, key: KEY })).folder);
});

test('SIGTERM waits for a result that the daemon does not take; a second one ends at once', async () => {
	await daemon.call('folder', {}, { home: HOME, key: KEY });
	const own = join(worker.dir, 'workspaces', HOME, KEY, 'files');
	await daemon.call('tool', { profile: 2 }, { tool: 'list_files', session: 'sess_1', thread: 't', turn: 'u', call: 'c2', operation: 'o2', workspace: own, args: '{}' }, true);
	worker.child.kill('SIGTERM');
	await waitFor(() => daemon.said.some((m) => m.op === 'drain'), 'the drain');
	await sleep(300);
	assert.ok(!worker.isGone, 'it waits');
	const late = await daemon.call('folder', {}, { home: HOME, key: KEY });
	assert.match(JSON.stringify(late), /takes no new calls/);
	assert.deepEqual(await worker.end('SIGTERM', 5000), { code: 0, signal: null });
});
