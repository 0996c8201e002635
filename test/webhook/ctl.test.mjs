// `agentctl webhook` against a real daemon: what is listed, what was given up, and sending it again.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, newFolder, ok, startAgentd, startModel, waitFor } from '../lib/runtime.mjs';
import { entry, receiver } from './receiver.mjs';

test('agentctl webhook lists, shows, names what was given up, and sends it again', async () => {
	let status = 500;
	const to = await receiver({ answer: () => status });
	const model = await startModel();
	const rt = await startAgentd({ dataDir: newFolder(), model, config: { 'webhook.report_ms': 20, webhooks: [entry('ci', to, { events: ['turn.completed'], max_attempts: 2 })] } });
	const ctl = (...args) => new Promise((done) => {
		execFile(join(bin, 'agentctl'), ['--url', rt.url, ...args], { env: { PATH: process.env.PATH, HOME: '/nonexistent' } }, (error, out, err) => done({ code: error?.code ?? 0, out, err }));
	});
	const record = async () => (await ok(rt, 'list_webhooks', {})).webhooks[0];
	await waitFor(async () => (await record()).cursor !== undefined, 'the first position');
	assert.match((await ctl('webhook', 'deliveries', 'ci')).err, /nothing was given up/);
	await ok(rt, 'submit_turn', { createPolicy: {}, text: 'hello' });
	await waitFor(async () => (await record()).failures.length === 1, 'the failure');
	const [{ deliveryId }] = (await record()).failures;
	assert.match((await ctl('webhook', 'list')).out, /^WEBHOOK[^]*^ci +http:\/\/127\.0\.0\.1:\d+ +\d+ +1 +the receiver answered with status 500$/m);
	assert.match((await ctl('webhook', 'show', 'ci')).out, /^event +turn\.completed$/m);
	assert.match((await ctl('webhook', 'deliveries', 'ci')).out, new RegExp(`^${deliveryId} +turn\\.completed +\\S+ +2 +the receiver answered`, 'm'));
	assert.equal(JSON.parse((await ctl('webhook', 'show', 'ci', '--json')).out).failures[0].deliveryId, deliveryId);
	status = 204;
	assert.match((await ctl('webhook', 'redeliver', 'ci', deliveryId)).out, /is sent again/);
	await waitFor(async () => (await record()).failures.length === 0, 'the second delivery');
	const unknown = await ctl('webhook', 'show', 'nobody');
	assert.deepEqual([unknown.code, /no webhook 'nobody'/.test(unknown.err)], [1, true]);
	assert.equal((await ctl('webhook', 'redeliver', 'ci')).code, 2);
});
