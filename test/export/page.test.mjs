// The review page and Markdown: what a hostile model or tool wrote is shown and never obeyed, in a real browser; it loads nothing and can be printed.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { ok, waitFor } from '../lib/runtime.mjs';
import { chromium, launch } from '../sdk/chromium.mjs';
import { facts, HOSTILE, must, place, richSession, turn } from './session.mjs';

const SHOWN = HOSTILE.replace('\u001b', '\\u{1B}').replace('\u0007', '\\u{7}').replace('\u202e', '\\u{202E}');
let w, rich, log, page;

before(async () => {
	w = await place();
	rich = await richSession(w);
	log = await facts(w, rich.sessionId);
	page = await must(w, 'review', rich.sessionId);
});

const hasControls = (text) => /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/.test(text);

test('the page has no markup of others, no address and no script; its policy allows its own style alone', async () => {
	const text = page.replace(/<style>[^]*?<\/style>/, '');
	assert.ok(!/<(script|img|iframe|object|link|a href="[^#])/i.test(text));
	assert.ok(!/\son\w+=|\ssrc=/i.test(text.replace(/&[a-z#0-9]+;/g, ' ').replace(/>[^<]*</g, '><')), 'no attribute that runs or loads');
	assert.ok(!hasControls(page));
	const [, allowed] = /content="default-src 'none'; style-src 'sha256-([^']+)'; base-uri 'none'; form-action 'none'"/.exec(page);
	assert.equal(allowed, createHash('sha256').update(/<style>([^]*?)<\/style>/.exec(page)[1]).digest('base64'));
	assert.equal(page, await must(w, 'export', rich.sessionId, '--format', 'html'));
});

test('the page cites the events of messages, calls, questions, processes, files, summaries and ends', () => {
	const cited = log.filter((f) => /^(turn\.(submitted|completed|failed)|tool\.(result|failed)|action\.|permission\.resolved|process\.|artifact\.changed|context\.compaction\.completed|model\.failed|subagent\.spawned)/.test(f.type));
	assert.ok(cited.length > 40);
	for (const { type, eventId } of cited) assert.ok(page.includes(`>${eventId}<`), `${type} ${eventId}`);
	const known = new Set(log.map((f) => f.eventId));
	for (const [id] of page.matchAll(/evt_[0-9a-z]+_\d+/g)) assert.ok(known.has(id), id);
	for (const words of ['exit 3', '+TWO &amp; &lt;2&gt;', 'permission_denied', 'decisionSource</i> human', 'tokens became', 'Began the agent of', 'unknown for 15 of 15 calls'])
		assert.ok(page.includes(words), words);
	assert.match(page, /<td>sandbox violations<\/td><td>(0<\/td><td>not_recorded|[1-9]\d*<\/td><td>exported)<\/td>/);
});

test('a browser shows the page: nothing is loaded, no script, all text is there, and it can be printed', { skip: !chromium && 'no chromium here' }, async () => {
	const asked = [];
	const server = http.createServer((request, response) => {
		asked.push(request.url);
		response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(request.url === '/page' ? page.replaceAll('127.0.0.1:9/', `127.0.0.1:${server.address().port}/`) : '');
	});
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	after(() => server.close());
	const browser = launch();
	const url = `http://127.0.0.1:${server.address().port}/page`;
	const { targetId } = await browser.send('Target.createTarget', { url });
	const { sessionId } = await browser.send('Target.attachToTarget', { targetId, flatten: true });
	const evaluate = async (expression) => (await browser.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true }, sessionId)).result.value;
	await waitFor(() => evaluate(`location.href === ${JSON.stringify(url)} && document.readyState === 'complete'`), 'the page in the browser');
	assert.deepEqual(await evaluate('[document.scripts.length, document.images.length, document.querySelectorAll("iframe,object,link,form,i[onerror]").length, performance.getEntriesByType("resource").length]'), [0, 0, 0, 0]);
	assert.ok((await evaluate('document.body.textContent')).includes(SHOWN.replaceAll('127.0.0.1:9/', `127.0.0.1:${server.address().port}/`)));
	assert.equal(await evaluate('document.querySelectorAll("section.turn").length'), log.filter((f) => f.type === 'turn.started').length);
	assert.equal(await evaluate('getComputedStyle(document.querySelector(".turn")).borderTopLeftRadius'), '8px', 'the style is in force');
	await browser.send('Emulation.setEmulatedMedia', { media: 'print' }, sessionId);
	assert.ok(await evaluate('[...document.querySelectorAll("details:not([open]) pre")].every((e) => e.getBoundingClientRect().height > 0)'), 'what is folded is printed');
	const { data } = await browser.send('Page.printToPDF', {}, sessionId);
	assert.equal(Buffer.from(data, 'base64').subarray(0, 5).toString(), '%PDF-');
	assert.deepEqual(asked.filter((path) => path !== '/favicon.ico'), ['/page']);
});

/** The text outside of fenced blocks, by the rule of CommonMark: a fence ends with one that is at least as long. */
function outside(markdown) {
	let fence = '';
	return markdown.split('\n').filter((line) => {
		const run = /^(`{3,})(.*)$/.exec(line);
		if (fence && run && run[1].length >= fence.length && !run[2].trim()) fence = '';
		else if (!fence && run && !run[2].includes('`')) fence = run[1];
		else return !fence;
		return false;
	}).join('\n');
}

test('Markdown: text of others stays inside its fence, also when it has fences', async () => {
	const { sessionId } = await ok(w.rt, 'create_session', { title: '[x](http://127.0.0.1:9/) <b>' });
	await turn(w, sessionId, '[[say before\n````\n# Injected\n![x](http://127.0.0.1:9/y.png)\n```]]');
	const text = await must(w, 'export', sessionId, '--format', 'markdown'), rest = outside(text);
	assert.ok(text.includes('# Injected') && !rest.includes('Injected') && !rest.includes('y.png'), rest);
	assert.ok(rest.startsWith('# \\[x\\]\\(http\\://127.0.0.1\\:9/\\) \\<b\\>\n'), rest);
	const whole = await must(w, 'export', rich.sessionId, '--format', 'markdown'), plain = outside(whole);
	assert.equal(await must(w, 'transcript', rich.sessionId), whole);
	assert.ok(whole.includes(SHOWN) && !/(?<!\\)</.test(plain) && !hasControls(whole), plain);
	for (const words of ['## Turn 1', '#### Call shell: ok', 'Call shell: denied', 'decision deny', '# Thread 2', 'Summary that replaces', '9 turns, 1 failed']) assert.ok(plain.includes(words), words);
});
