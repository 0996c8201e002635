// The MCP client against a server that breaks off, lies, floods, hangs, and will not die.
// ci: first
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { soon } from '../lib/soon.mjs';
import { OFFICIAL, probe, processesWith, sleep, waitFor } from './mcp.mjs';

let marks = 0;
const newMark = () => `ar-mcp-mark-${process.pid}-${++marks}-`;

async function scripted(t, args = [], options = {}) {
	const p = probe(t, { ...OFFICIAL.scripted(...args), ...options });
	await p.ready();
	return p;
}

function logFile(t) {
	const dir = mkdtempSync(path.join(os.tmpdir(), 'ar-mcp-'));
	t.after(() => rmSync(dir, { recursive: true, force: true }));
	const file = path.join(dir, 'log');
	return { file, read: () => readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line)) };
}

test('its own words: what it asks, what it is told', async (t) => {
	const log = logFile(t);
	const p = await scripted(t, ['--log', log.file, '--chatter']);
	assert.equal((await p.call('s_echo', { text: 'a\n"b"\u0000ü' })).text, 'a\n"b"\u0000ü');
	assert.equal((await p.call('s_ping')).text, '{}');
	// Not offered, so refused; the call goes on.
	assert.match((await p.call('s_sample')).text, /-32601/);
	assert.match((await p.call('s_roots')).text, /-32601/);
	assert.equal((await p.call('s_noise')).text, 'after the noise');
	const odd = await p.call('s_wrong_shape');
	assert.equal(odd.outcome, 'ok');
	assert.match(odd.text, /unknown kind: hologram/);
	assert.match(odd.text, /\[audio, audio\/wav, 3 bytes\]/);
	assert.equal((await p.call('s_empty')).text, '');
	const rows = await p.call('s_rows');
	assert.equal(rows.text, '[1,2]');
	assert.equal(rows.structured, undefined);
	const unknown = await p.call('s_nothing');
	assert.deepEqual([unknown.outcome, unknown.category], ['not_run', 'not_found']);
	await p.close();
	const methods = log.read().map((m) => m.method);
	assert.deepEqual(methods.slice(0, 4), ['server/discover', 'initialize', 'notifications/initialized', 'tools/list']);
});

test('codes of a refusal say whether it ran', async (t) => {
	const p = await scripted(t);
	for (const [code, outcome] of [[-32602, 'not_run'], [-32601, 'not_run'], [-32600, 'not_run'], [-32603, 'error'], [-32000, 'error'], [7, 'error']]) {
		const end = await p.call('s_refuse', { code });
		assert.equal(end.outcome, outcome, `code ${code}`);
		assert.match(end.message, /no \(code/);
	}
	await p.close();
});

test('questions: a form, a page, a page first, one that cannot be shown, one outside a call', async (t) => {
	const log = logFile(t);
	const p = await scripted(t, ['--log', log.file]);
	const form = p.start('s_ask');
	assert.deepEqual((await p.question(form)).schema.required, ['which']);
	p.do({ do: 'answer', n: form, question: 'q1', kind: 'accept', content: { which: 'this' } });
	assert.deepEqual(JSON.parse((await p.done(form)).text), { action: 'accept', content: { which: 'this' } });

	const page = p.start('s_ask_page');
	assert.equal((await p.question(page)).url, 'https://example.org/x');
	p.do({ do: 'answer', n: page, question: 'q1', kind: 'accept' });
	assert.deepEqual(JSON.parse((await p.done(page)).text), { action: 'accept' });

	const first = p.start('s_page_first');
	assert.equal((await p.question(first)).url, 'https://example.org/in');
	p.do({ do: 'answer', n: first, question: 'q1', kind: 'accept' });
	assert.equal((await p.done(first)).text, 'let in');

	// Nothing but a web page is shown to a person.
	assert.deepEqual(JSON.parse((await p.call('s_ask_badly')).text), { action: 'decline' });
	assert.equal(p.lines.filter((l) => l.on === 'question').length, 3);

	await p.call('s_ask_outside');
	await waitFor(() => log.read().find((m) => m.outside?.action === 'decline'), 'a question outside a call is declined');

	// The end of a call takes its question along.
	const open = p.start('s_ask');
	await p.question(open);
	p.do({ do: 'cancel', n: open });
	assert.equal((await p.done(open)).outcome, 'cancelled');
	await waitFor(() => log.read().find((m) => m.result?.action === 'cancel'), 'the open question is cancelled');
	assert.ok(log.read().some((m) => m.method === 'notifications/cancelled'));
	await p.close();
});

test('questions that are answered from inside their callback', async (t) => {
	const p = await scripted(t, [], { answerNow: 'accept' });
	assert.deepEqual(JSON.parse((await p.call('s_ask')).text), { action: 'accept', content: {} });
	assert.deepEqual(JSON.parse((await p.call('s_ask_page')).text), { action: 'accept' });
	assert.equal((await p.call('s_page_first')).text, 'let in');
	await p.close();
});

test('a page that is not visited: the call did not run', async (t) => {
	const p = await scripted(t);
	const n = p.start('s_page_first');
	await p.question(n);
	p.do({ do: 'answer', n, question: 'q1', kind: 'decline' });
	const end = await p.done(n);
	assert.deepEqual([end.outcome, end.category], ['not_run', 'auth']);
	await p.close();
});

test('a question is never shown to another session', async (t) => {
	const p = await scripted(t);
	const other = p.start('s_hang', {}, { session: 'someone else' });
	await sleep(100);
	const asking = await p.call('s_ask');
	assert.deepEqual(JSON.parse(asking.text), { action: 'decline' });
	assert.equal(p.lines.filter((l) => l.on === 'question').length, 0);
	p.do({ do: 'cancel', n: other });
	await p.done(other);
	await p.close();
});

test('one connection for each session, closed when idle', async (t) => {
	const mark = newMark();
	const p = await scripted(t, ['--mark', mark], { scope: 'session', idleMs: 400 });
	const pids = {};
	for (const session of ['a', 'b', 'a']) {
		const { text } = await p.call('s_pid', {}, { session });
		assert.ok(!pids[session] || pids[session] === text);
		pids[session] = text;
	}
	assert.notEqual(pids.a, pids.b);
	await waitFor(() => processesWith(mark).filter((pid) => pid !== p.child.pid).length === 0, 'idle connections are closed');
	const again = await p.call('s_pid', {}, { session: 'a' });
	assert.notEqual(again.text, pids.a);
	// With its own connection a question has one place to go.
	const other = p.start('s_hang', {}, { session: 'b' });
	const n = p.start('s_ask', {}, { session: 'a' });
	await p.question(n);
	p.do({ do: 'answer', n, question: 'q1', kind: 'decline' });
	await p.done(n);
	p.do({ do: 'cancel', n: other });
	await p.close();
});

test('a server that starts more slowly than a connection may be idle is waited for', async (t) => {
	const { command, args } = OFFICIAL.scripted();
	const late = { command: '/bin/sh', args: ['-c', 'sleep 1; exec "$@"', 'sh', command, ...args] };
	const p = probe(t, { ...late, scope: 'session', idleMs: 100 });
	await p.ready();
	assert.equal((await p.call('s_echo', { text: 'here' }, { session: 'a' })).text, 'here');
	await p.close();
});

test('it dies in a call: lost, then it is started again', async (t) => {
	const p = await scripted(t);
	const before = (await p.call('s_pid')).text;
	const other = p.start('s_hang');
	const end = await p.call('s_die');
	assert.deepEqual([end.outcome, end.retryable], ['lost', false]);
	assert.match(end.message, /status 7/);
	assert.equal((await p.done(other)).outcome, 'lost');
	assert.match((await p.until((l) => l.trouble?.includes('status 7'))).trouble, /retried at the next call/);
	assert.ok(p.tools().length > 0, 'what it offers is still shown');
	const after = await p.call('s_pid');
	assert.equal(after.outcome, 'ok');
	assert.notEqual(after.text, before);
	await waitFor(() => p.lines.findLast((l) => l.on === 'changed').trouble === undefined, 'the trouble is over');
	const said = await p.call('s_complain_and_die');
	assert.match(said.message, /status 9; it said: out of cheese/);
	const closed = await p.call('s_close_output');
	assert.equal(closed.outcome, 'lost');
	await p.close();
});

test('it dies again and again: it is left alone, and the call says so', async (t) => {
	const p = await scripted(t, [], { restarts: 2 });
	for (let i = 0; i < 3; i++) assert.equal((await p.call('s_die')).outcome, 'lost');
	const end = await p.call('s_echo', { text: 'x' });
	assert.equal(end.outcome, 'not_run');
	assert.match(end.message, /started 3 times in a minute/);
	await p.close();
});

test('it never starts: ready, without tools, and why', async (t) => {
	for (const [options, why] of [
		[OFFICIAL.scripted('--fail-start'), /status 1; it said: no such setting: cheese/],
		[{ command: 'no-such-program-here' }, /could not be started: No such file/],
		[{ url: 'http://127.0.0.1:9/mcp' }, /cannot be reached/],
		[OFFICIAL.scripted('--old', '1999-01-01'), /revision that this client does not know: 1999-01-01/],
		[{ ...OFFICIAL.scripted('--garbage', '--silent', 'server/discover'), connectMs: 8000 }, /violates the MCP protocol/],
		[{ ...OFFICIAL.scripted('--modern'), era: 'legacy' }, undefined],
		[{ ...OFFICIAL.scripted(), era: 'modern' }, /does not support revision 2026-07-28/],
		[OFFICIAL.scripted('--endless'), /too many pages/],
		[OFFICIAL.scripted('--tools', '1200'), /more than 1000 tools/],
	]) {
		const p = probe(t, options);
		const { trouble } = await p.ready();
		if (why) assert.match(trouble ?? '', why);
		else assert.equal(trouble, undefined);
		await p.close();
	}
});

test('a legacy server that dies of the modern question, or does not answer it, or is an older one', async (t) => {
	for (const args of [['--die-on', 'server/discover'], ['--silent', 'server/discover'], ['--old', '2024-11-05']]) {
		const p = await scripted(t, args);
		assert.equal((await p.call('s_echo', { text: 'x' })).text, 'x', args.join(' '));
		await p.close();
	}
});

test('pages of tools, names that meet, changes', async (t) => {
	const p = await scripted(t, ['--pages', '7'], { name: 'a server with a rather long name, übrigens' });
	const names = p.tools().map((tool) => tool.name);
	assert.ok(names.length > 20);
	assert.equal(new Set(names).size, names.length);
	for (const name of names) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
	const grow = names.find((name) => name.includes('_grow'));
	await p.call(grow);
	await p.until((l) => l.on === 'changed' && l.tools.some((tool) => tool.name.includes('extra0')));
	await p.close();
});

test('deadlines: of the call, and of the configuration', async (t) => {
	const p = await scripted(t, [], { callMs: 300 });
	await soon(290, async () => {
		const own = await p.call('s_hang', {}, { deadlineMs: 100 });
		assert.equal(own.outcome, 'timeout');
	});
	assert.equal((await p.call('s_hang')).outcome, 'timeout');
	// A person who thinks does not use up the server's time.
	const n = p.start('s_ask');
	await p.question(n);
	await sleep(600);
	p.do({ do: 'answer', n, question: 'q1', kind: 'decline' });
	assert.equal((await p.done(n)).outcome, 'ok');
	await p.close();
});

test('a message over the cap ends the connection, one below does not', async (t) => {
	const p = await scripted(t);
	assert.equal((await p.call('s_big', { bytes: 7 << 20 })).text.length, 7 << 20);
	const end = await p.call('s_big', { bytes: 9 << 20 });
	assert.equal(end.outcome, 'lost');
	assert.match(end.message, /larger than 8 MiB/);
	assert.equal((await p.call('s_echo', { text: 'again' })).text, 'again');
	await p.close();
});

test('more calls than may be pending', async (t) => {
	const p = await scripted(t);
	const calls = Array.from({ length: 300 }, () => p.start('s_hang'));
	const refused = await p.done(calls.at(-1));
	assert.deepEqual([refused.outcome, refused.category], ['not_run', 'overloaded']);
	await p.close();
	assert.equal(p.lines.filter((l) => l.on === 'done' && l.outcome === 'cancelled').length, 256);
});

test('nothing of our environment is handed on but what programs need', async (t) => {
	process.env.AR_TEST_SECRET = 'sk-1234';
	const p = await scripted(t, [], { env: ['GIVEN=yes', 'TZ=Nowhere'] });
	const env = JSON.parse((await p.call('s_env')).text);
	assert.equal(env.AR_TEST_SECRET, undefined);
	assert.equal(env.GIVEN, 'yes');
	assert.equal(env.TZ, 'Nowhere');
	assert.equal(env.PATH, process.env.PATH);
	await p.close();
});

test('cut at, before and after the end of every message: one honest end, whatever was being said', async (t) => {
	const ends = logFile(t);
	const whole = await scripted(t, ['--ends', ends.file]);
	assert.equal((await whole.call('s_echo', { text: 'x' })).outcome, 'ok');
	await whole.close();
	const [refusal, handshake, list, answer, ...more] = ends.read();
	assert.deepEqual(more, []);
	const expected = new Map();
	for (const end of [refusal, handshake, list]) for (const cut of [end - 20, end - 1, end]) expected.set(cut, ['trouble']);
	// The list is whole: it is offered, but a server that ends behind it runs nothing. When its end is seen before the call it is started again,
	// and is not asked then what it refused: there is room for the answer.
	expected.set(list, ['lost', 'not_run', 'ok']).set(list + 1, ['lost']).set(answer - 20, ['lost']).set(answer - 1, ['lost']).set(answer, ['ok']);
	for (const [cut, outcomes] of expected) {
		const p = probe(t, { ...OFFICIAL.scripted('--cut', String(cut)), restarts: 1, connectMs: 5000 });
		await p.ready();
		const outcome = p.tools().length > 0 ? (await p.call('s_echo', { text: 'x' })).outcome : 'trouble';
		assert.ok(outcomes.includes(outcome), `cut at ${cut} of ${ends.read()}: ${outcome} ${JSON.stringify(p.lines.at(-1))}`);
		await p.close();
	}
});

test('no orphans: closed in order, a stubborn server and what it started are gone', async (t) => {
	const mark = newMark();
	const p = await scripted(t, ['--stubborn', '--grandchild', '--mark', mark]);
	assert.equal(processesWith(mark).filter((pid) => pid !== p.child.pid).length, 2);
	const server = (await p.call('s_pid')).text;
	const before = Date.now();
	await p.close();
	assert.ok(Date.now() - before < 20000);
	assert.deepEqual(processesWith(mark), []);
	assert.deepEqual(processesWith(`\0guard\0${server}\0`), []);
});

test('no orphans: a server that dies leaves nothing of its group', async (t) => {
	const mark = newMark();
	const p = await scripted(t, ['--grandchild', '--mark', mark]);
	await p.call('s_die');
	await waitFor(() => processesWith(mark).filter((pid) => pid !== p.child.pid).length === 0, 'its group is gone');
	await p.close();
});

test('no orphans: after kill -9 of ours', async (t) => {
	const mark = newMark();
	const p = await scripted(t, ['--stubborn', '--grandchild', '--mark', mark]);
	const server = (await p.call('s_pid')).text;
	const guards = () => processesWith(`\0guard\0${server}\0`);
	assert.equal(guards().length, 1);
	await p.kill();
	await waitFor(() => processesWith(mark).length === 0, 'the server is gone', 10000);
	await waitFor(() => guards().length === 0, 'the guard is gone');
});
