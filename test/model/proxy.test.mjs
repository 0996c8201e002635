// A proxy of the environment gets nothing that is meant for this machine, such as calls of models with their keys and prompts. Tools, hooks, MCP
// servers and issuers are called through the same code as models.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import net from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { startS3 } from '../lib/s3.mjs';
import { bin, follow, newFolder, startAgentd, startModel, submit } from '../lib/runtime.mjs';

/** A proxy that notes what it is sent and answers nothing. */
async function startProxy() {
	const got = [];
	const server = net.createServer((socket) => socket.on('error', () => {}).on('data', (bytes) => { got.push(bytes.toString()); socket.destroy(); }));
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	after(() => server.close());
	const url = `http://127.0.0.1:${server.address().port}`;
	return { got, env: { http_proxy: url, https_proxy: url, HTTPS_PROXY: url, all_proxy: url, ALL_PROXY: url } };
}

test('a model on this machine is called without the proxy', async () => {
	const proxy = await startProxy(), model = await startModel();
	for (const host of ['127.0.0.1', 'localhost']) {
		const url = new URL(model.url);
		url.hostname = host;
		const rt = await startAgentd({ env: { ...proxy.env, OPENAI_BASE_URL: url.href.replace(/\/$/, ''), OPENAI_API_KEY: 'sk-of-the-model' } });
		const { sessionId, turnId } = await submit(rt, 'a secret prompt');
		const follower = await follow(rt, sessionId);
		assert.equal((await follower.ended(turnId)).type, 'turn.completed', host);
		await rt.stop();
		assert.deepEqual(proxy.got, [], host);
	}
});

test('agentctl asks a model on this machine without the proxy', async () => {
	const proxy = await startProxy(), model = await startModel();
	const rt = await startAgentd({ model });
	const env = { PATH: process.env.PATH, HOME: '/nonexistent', OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'sk-of-the-model', ...proxy.env };
	const out = await new Promise((done) => execFile(join(bin, 'agentctl'), ['--socket', rt.socket, 'doctor', '--json'], { env }, (error, text) => done(text)));
	assert.equal(JSON.parse(out).checks.find((c) => c.name === 'model').status, 'ok');
	assert.deepEqual(proxy.got, []);
	await rt.stop();
});

test('objects go to a storage on this machine without the proxy', { skip: !process.env.AR_TEST_POSTGRES && 'needs PostgreSQL' }, async (t) => {
	const proxy = await startProxy(), s3 = await startS3(newFolder()), model = await startModel();
	t.after(() => s3.stop());
	const rt = await startAgentd({ model, env: { ...s3.settings, ...proxy.env }, config: { 'blob.s3_min_bytes': 4096 } });
	const { sessionId, turnId } = await submit(rt, 'x'.repeat(20000));
	await (await follow(rt, sessionId)).ended(turnId);
	assert.ok(s3.count() >= 1, 'there is an object');
	assert.deepEqual(proxy.got, []);
	await rt.stop();
});
