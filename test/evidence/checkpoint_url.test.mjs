// Checkpoints of logs for an address: signed like webhooks, repeated under the same id until they are accepted, and as good as those of the file.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, newFolder, ok, startAgentd, submit, waitFor, world } from '../lib/runtime.mjs';
import { receiver, SECRET } from '../webhook/receiver.mjs';

const folder = newFolder(), file = join(folder, 'checkpoints.ndjson'), sent = join(folder, 'sent.ndjson');
const settings = (to) => ({ 'evidence.checkpoint_file': file, 'evidence.checkpoint_url': to.url, 'evidence.checkpoint_secret': SECRET, 'evidence.checkpoint_interval_ms': 20 });
const lines = () => readFileSync(file, 'utf8').split('\n').filter(Boolean);
const idle = (rt, sessionId) => waitFor(async () => {
	const read = await ok(rt, 'get_session', { sessionId });
	return read.status === 'idle' && read.asOfSequence;
}, 'rest');

test('checkpoints go to an address: a receiver that is out gets the same request again, and what it has proves the log', async () => {
	let out = 3;
	const to = await receiver({ answer: () => (out-- > 0 ? 503 : 204) });
	const w = await world({ config: settings(to) });
	const { sessionId } = await submit(w.rt, 'one');
	const accepted = () => to.got.slice(3).flatMap((r) => r.event.checkpoints).map((c) => JSON.stringify(c));
	const head = await idle(w.rt, sessionId);
	await waitFor(() => accepted().some((c) => c.includes(`${sessionId}\\n${head}\\n`)), 'the checkpoint of the newest fact');
	assert.deepEqual(to.bad, [], 'every request is signed');
	assert.equal(new Set(to.got.slice(0, 4).map((r) => `${r.id} ${r.body}`)).size, 1, 'a repeat is the same request');
	assert.ok(to.got.every((r) => r.event.type === 'log.checkpoints'));
	assert.equal(new Set(to.got.slice(3).map((r) => r.id)).size, to.got.length - 3);
	await waitFor(() => lines().length === accepted().length, 'the same checkpoints at both places');
	assert.deepEqual(accepted(), lines());
	assert.equal(w.rt.stderr.match(/checkpoints of logs cannot be sent/g).length, 1);
	await waitFor(() => w.rt.stderr.includes('checkpoints of logs are sent again'), 'the end of it');
	writeFileSync(sent, accepted().map((c) => `${c}\n`).join(''));
	const said = spawnSync(join(bin, 'agentctl'), ['--socket', w.rt.socket, 'verify', '--checkpoints', sent, '--key', join(w.dataDir, 'data/evidence.pem')], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: '/nonexistent' } });
	assert.deepEqual([said.status, /: 1 ok, 0 with findings\n$/.test(said.stdout)], [0, true], said.stdout + said.stderr);
	await w.rt.stop();
});

test('a receiver that never answers holds up neither the work, the file nor the stop', async () => {
	const to = await receiver({ answer: () => 'hang' });
	const w = await world({ config: settings(to) });
	const { sessionId } = await submit(w.rt, 'one');
	await waitFor(() => to.got.length === 1, 'a request');
	await submit(w.rt, 'two', { sessionId });
	const head = await idle(w.rt, sessionId);
	await waitFor(() => lines().some((c) => c.includes(`${sessionId}\\n${head}\\n`)), 'the file has it');
	await w.rt.stop();
	assert.equal(to.got.length, 1, 'one request at a time');
});

test('an address in the clear, a secret that is too short or missing: agentd does not start', async () => {
	for (const [more, why] of [[{ 'evidence.checkpoint_url': 'http://example.com/x' }, /neither https nor an address of this machine/], [{ 'evidence.checkpoint_secret': 'short' }, /of at least 16/], [{ 'evidence.checkpoint_secret': '' }, /needs evidence.checkpoint_secret/]]) {
		const rt = await startAgentd({ mayDie: true, config: { ...settings({ url: 'http://127.0.0.1:9/' }), ...more } });
		assert.equal((await rt.gone).code, 1);
		assert.match(rt.stderr, why);
	}
});
