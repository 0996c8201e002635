// Which nodes a worker is connected to: those that a node with a link names, and no address that would show its token in the clear.
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { sleep, waitFor } from '../lib/runtime.mjs';
import { LyingDaemon, message } from './lying_daemon.mjs';
import { startRelay, tokenFile, Worker } from './worker.mjs';

const all = [];
let worker;

async function daemon(options) {
	const one = await new LyingDaemon(options).listen();
	one.node ??= one.url;
	all.push(one);
	return one;
}
const join = async (url) => { worker = await new Worker(['--join', url, '--token-file', tokenFile('art_x')]).joined(); };
const name = (one, nodes) => one.send(message('nodes', { nodes }));
const linked = (one) => waitFor(() => worker.stderr.split('\n').some((line) => line.includes('"joined"') && line.includes(one.url)), () => `a link:\n${worker.stderr}`);

beforeEach(async () => { if (worker && !worker.isGone) await worker.end('SIGKILL'); });
after(() => all.forEach((one) => one.close()));

test('it joins the nodes that are named, and leaves the one that is not named any more', async () => {
	const a = await daemon(), b = await daemon(), c = await daemon();
	a.nodes = [a.url, b.url];
	b.nodes = [a.url, b.url];
	await join(a.url);
	await linked(b);
	assert.equal(b.authorization, 'Bearer art_of_the_worker');
	name(a, [a.url, b.url, c.url]);
	await linked(c);
	c.nodes = [a.url, b.url, c.url];
	name(a, [a.url, b.url]);
	await sleep(300);
	assert.ok(!worker.stderr.includes('a node is gone'), 'it has a link, and says itself that it is there');
	c.close();
	await waitFor(() => worker.stderr.includes('"a node is gone"'), () => worker.stderr);
	assert.equal(a.links, 1, worker.stderr);
});

test('an address in the clear, or with another scheme, or no address, is not joined', async () => {
	const a = await daemon();
	a.nodes = [a.url, 'http://198.51.100.1:7717', 'https://127.0.0.1:1', 'http://127.0.0.1:1@198.51.100.1/', 'file:///etc/passwd', 'x'];
	await join(a.url);
	await waitFor(() => worker.stderr.split('"a node is not joined"').length === 6, () => worker.stderr);
	await sleep(300);
	assert.ok(!/cannot be joined/.test(worker.stderr), worker.stderr);
});

test('a node that does not know the token does not end a worker that another one knows', async () => {
	const a = await daemon(), b = await daemon();
	b.isDenying = true;
	a.nodes = [a.url, b.url];
	await join(a.url);
	await waitFor(() => /does not accept the token/.test(worker.stderr), () => worker.stderr);
	await sleep(300);
	assert.ok(!worker.isGone);
	b.isDenying = false;
	await linked(b);
	a.isDenying = b.isDenying = true;
	for (const one of [a, b]) one.socket.destroy();
	assert.equal((await worker.end(undefined, 20000)).code, 1, 'now nobody knows it');
});

test('the address of a node that leads to another one takes nothing from it', async () => {
	const a = await daemon();
	const wrong = await startRelay(new URL(a.url).port);
	a.nodes = [a.url, wrong.url];
	await join(a.url);
	await waitFor(() => worker.stderr.includes('leads to another one'), () => worker.stderr);
	assert.equal(a.said.filter((m) => m.op === 'hello').length, 1, 'no greeting went there a second time');
});

test('behind one address for all: the link is that of the node which answers, and the address is asked again when none is reached', async () => {
	const a = await daemon(), b = await daemon();
	const balancer = await startRelay(new URL(a.url).port);
	for (const one of [a, b]) one.nodes = [a.url];
	await join(balancer.url);
	await linked(a);
	b.nodes = [b.url];
	balancer.port = new URL(b.url).port;
	a.close();
	await linked(b);
	assert.equal(b.authorization, 'Bearer art_of_the_worker');
	await waitFor(() => worker.stderr.includes('"a node is gone"'), () => worker.stderr);
});
