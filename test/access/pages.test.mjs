// Hostile web pages in a real browser: pages of another port, name or address, without an origin, and from a file, send every kind of request that
// a script or a form can. None is obeyed and none can be read. A page that the settings name works, with a token.
// ci: release only
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { newFolder, ok, startAgentd, waitFor } from '../lib/runtime.mjs';
import { chromium, launch } from '../sdk/chromium.mjs';

const skip = !chromium && 'there is no Chromium here';
const browser = !skip && launch('--host-resolver-rules=MAP *.test 127.0.0.1');
let rt, server, port;

/** In the page: tries everything against these addresses and resolves with what came of each; every promise ends when the answer is there. */
async function attack(bases) {
	const seen = [];
	const read = async (how, url, options) => {
		const outcome = await fetch(url, options).then(async (r) => (r.type === 'opaque' ? 'opaque' : `${r.status} ${await r.text()}`), () => 'failed');
		seen.push([how, outcome]);
	};
	const element = (how, tag, set) => new Promise((done) => {
		const node = document.createElement(tag);
		node.onload = () => done(seen.push([how, 'loaded']));
		node.onerror = () => done(seen.push([how, 'failed']));
		set(node);
		document.body.append(node);
	});
	const form = (how, url, enctype, n) => new Promise((done) => {
		const frame = document.createElement('iframe');
		frame.name = `f${n}`;
		document.body.append(frame);
		const node = document.createElement('form');
		Object.assign(node, { method: 'POST', action: url, enctype, target: frame.name });
		node.innerHTML = `<input name='{"a":"' value='"}'>`;
		document.body.append(node);
		frame.onload = () => done(seen.push([how, 'loaded']));
		node.submit();
	});
	const socket = (url) => new Promise((done) => {
		const ws = new WebSocket(url, ['agentruntime.v1']);
		ws.onopen = () => done(seen.push(['WebSocket', 'open']));
		ws.onerror = () => done(seen.push(['WebSocket', 'failed']));
	});
	const source = (url) => new Promise((done) => {
		const events = new EventSource(url);
		events.onopen = () => done(seen.push(['EventSource', 'open']));
		events.onerror = () => { events.close(); done(seen.push(['EventSource', 'failed'])); };
	});
	let n = 0;
	for (const base of bases) {
		for (const command of ['create_session', 'submit_turn', 'create_token', 'nodes/drain', 'list_sessions']) {
			const url = `${base}/v1/${command}`;
			const body = JSON.stringify({ text: 'x', createPolicy: {}, name: 'x', scopes: ['admin'] });
			await read('simple', url, { method: 'POST', body });
			await read('typed', url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
			await read('untyped', url, { method: 'POST', mode: 'no-cors', body: new Blob([body]) });
			await read('empty', url, { method: 'POST', mode: 'no-cors' });
			await form('form', url, 'text/plain', n++);
		}
		await form('usual form', `${base}/v1/create_session`, 'application/x-www-form-urlencoded', n++);
		await read('look', `${base}/v1/sessions`, {});
		await read('blind look', `${base}/v1/sessions`, { mode: 'no-cors' });
		await element('image', 'img', (node) => { node.src = `${base}/v1/sessions`; });
		await element('script', 'script', (node) => { node.src = `${base}/v1/sessions`; });
		await source(`${base}/v1/events`);
		await socket(`${base.replace('http', 'ws')}/v1/rpc`);
	}
	return seen;
}

let log = '';
const requests = () => log.slice(0, log.lastIndexOf('\n')).split('\n').filter((line) => line.includes('"via":"tcp"')).map((line) => JSON.parse(line));

/** No request of the page was obeyed, and it could read nothing. */
async function check(name, seen, from, isListed = false) {
	const arrived = requests().slice(from);
	assert.ok(arrived.length > 20, `${name}: ${arrived.length} requests arrived`);
	for (const { method, path, status } of arrived.filter((r) => !(isListed && r.method === 'OPTIONS'))) assert.ok([401, 403, 415].includes(status), `${name}: ${method} ${path} was answered ${status}`);
	for (const [how, outcome] of seen) assert.ok(['failed', 'opaque'].includes(outcome) || (outcome === 'loaded' && how.includes('form')), `${name}: ${how}: ${outcome}`);
	const { sessions } = await ok(rt, 'list_sessions', {}, { via: 'socket' });
	assert.deepEqual(sessions, [], name);
	assert.deepEqual((await ok(rt, 'list_tokens', {}, { via: 'socket' })).tokens, [], name);
}

before(async () => {
	if (skip) return;
	server = http.createServer((req, res) => res.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><body>'));
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	port = server.address().port;
	rt = await startAgentd({ config: { 'log.requests': 'all', 'http.origins': `http://console.test:${port}` } });
	rt.child.stderr.on('data', (text) => (log += text));
});

after(() => {
	server?.closeAllConnections();
	server?.close();
});

/** The page once it is there. */
async function open(url) {
	const page = await browser.open(url);
	await waitFor(() => page.evaluate("location.href !== 'about:blank' && document.readyState === 'complete'"), url);
	return page;
}

const targets = () => JSON.stringify([`http://127.0.0.1:${rt.port}`, `http://localhost:${rt.port}`]);

for (const [name, url] of [
	['another port of the same address', () => `http://127.0.0.1:${port}/`],
	['another port of localhost', () => `http://localhost:${port}/`],
	['another site', () => `http://evil.test:${port}/`],
	['a listed origin, but no token', () => `http://console.test:${port}/`],
	['a file', () => {
		const path = join(newFolder(), 'page.html');
		writeFileSync(path, '<!doctype html><body>');
		return `file://${path}`;
	}],
])
	test(`a page of ${name} is refused whatever it sends`, { skip }, async () => {
		const page = await open(url());
		const from = requests().length;
		const seen = await page.evaluate(`(${attack})(${targets()})`);
		const isListed = name.includes('listed');
		await check(name, seen.filter(([, outcome]) => !(isListed && /^(401|415) /.test(outcome))), from, isListed);
	});

test('a page without an origin, in a sandboxed frame, is refused whatever it sends', { skip }, async () => {
	const page = await open(`http://console.test:${port}/`);
	const from = requests().length;
	const script = `(${attack})(${targets()}).then((seen) => parent.postMessage(seen, '*'))`;
	const seen = await page.evaluate(`new Promise((done) => {
		addEventListener('message', ({ data }) => done(data));
		const frame = document.createElement('iframe');
		frame.sandbox = 'allow-scripts allow-forms';
		frame.srcdoc = ${JSON.stringify(`<body><script>${script}</script>`).replaceAll('</script>', '<\\/script>')};
		document.body.append(frame);
	})`);
	await check('null', seen, from);
});

test('a name that was rebound to the server reaches nothing', { skip }, async () => {
	const page = await open(`http://evil.test:${port}/`);
	const from = requests().length;
	const seen = await page.evaluate(`(${attack})(${JSON.stringify([`http://evil.test:${rt.port}`, `http://console.test:${rt.port}`])})`);
	await check('rebound', seen, from);
});

test('a page of a listed origin works with a token, over HTTP and WebSocket, and reads why it needs one', { skip }, async () => {
	const { token } = await ok(rt, 'create_token', { name: 'page', scopes: ['read', 'submit'] }, { via: 'socket' });
	const page = await open(`http://console.test:${port}/`);
	const ask = (bearer) => page.evaluate(`fetch('${rt.url}/v1/create_session', { method: 'POST', body: '{}',
		headers: { 'content-type': 'application/json', ${bearer ? `authorization: 'Bearer ${bearer}'` : ''} } }).then(async (r) => [r.status, await r.json()], (e) => [0, e.message])`);
	assert.deepEqual((await ask(null))[1].error.code, 'auth_failed');
	assert.match((await ask(null))[1].error.message, /agentctl token create/);
	assert.equal((await ask('art_wrong'))[0], 401);
	const [status, { sessionId }] = await ask(token);
	assert.equal(status, 200);
	const called = await page.evaluate(`new Promise((done, fail) => {
		const ws = new WebSocket('${rt.url.replace('http', 'ws')}/v1/rpc', ['agentruntime.v1', 'bearer.${token}']);
		ws.onerror = () => fail(new Error('no WebSocket'));
		ws.onopen = () => ws.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'get_session', params: { sessionId: '${sessionId}' } }));
		ws.onmessage = ({ data }) => done(JSON.parse(data));
	})`);
	assert.equal(called.result.sessionId, sessionId);
	const stranger = await open(`http://evil.test:${port}/`);
	assert.equal(await stranger.evaluate(`fetch('${rt.url}/v1/sessions', { headers: { authorization: 'Bearer ${token}' } }).then((r) => r.status, () => 'failed')`), 'failed');
});
