// The MCP client against servers that others wrote: the official ones over both transports, and the official SDK of the modern era.
// ci: first
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { freePort } from '../lib/port.mjs';
import { soon } from '../lib/soon.mjs';
import { httpServer, OFFICIAL, probe } from './mcp.mjs';

const CUSTOM = 128;
const READ = 1;

function folder(t) {
	const dir = mkdtempSync(path.join(os.tmpdir(), 'ar-mcp-'));
	t.after(() => rmSync(dir, { recursive: true, force: true }));
	return dir;
}

async function everythingOverHttp(t) {
	const port = await freePort();
	const [script] = OFFICIAL.everything.args;
	return httpServer(t, { command: process.execPath, args: [script, 'streamableHttp'], env: { PORT: String(port) } }, port);
}

// The same expectations over both transports.
function everything(name, run) {
	test(`everything over stdio: ${name}`, async (t) => {
		const p = probe(t, { name: 'ev', ...OFFICIAL.everything });
		await p.ready();
		await run(p);
		await p.close();
	});
	test(`everything over HTTP: ${name}`, async (t) => {
		const { url } = await everythingOverHttp(t);
		const p = probe(t, { name: 'ev', url });
		await p.ready();
		await run(p);
		await p.close();
	});
}

everything('tools, text, images, resources, structure, errors', async (p) => {
	const names = p.tools().map((tool) => tool.name);
	assert.ok(names.includes('ev_echo') && names.includes('ev_get-sum'), names.join());
	const echo = p.tools().find((tool) => tool.name === 'ev_echo');
	assert.deepEqual(echo.schema.required, ['message']);
	assert.equal(echo.origin, 'ev');
	// Hints are not believed unless that is configured: it may do anything.
	assert.deepEqual([echo.readOnly, echo.concurrencySafe, echo.destructive, echo.idempotent], [false, false, true, false]);
	assert.ok(echo.capabilities & CUSTOM);

	const said = await p.call('ev_echo', { message: 'grüße 👩‍👩‍👧' });
	assert.equal(said.outcome, 'ok');
	assert.equal(said.text, 'Echo: grüße 👩‍👩‍👧');
	const image = await p.call('ev_get-tiny-image');
	assert.equal(image.images.length, 1);
	assert.equal(image.images[0].mime, 'image/png');
	assert.ok(image.images[0].len > 100);
	const structured = await p.call('ev_get-structured-content', { location: 'New York' });
	assert.equal(typeof structured.structured.temperature, 'number');
	const links = await p.call('ev_get-resource-links', { count: 2 });
	assert.match(links.text, /\[resource .*: demo:\/\//);
	const reference = await p.call('ev_get-resource-reference', { resourceType: 'Text', resourceId: 1 });
	assert.match(reference.text, /\[resource demo:\/\//);
	const bad = await p.call('ev_get-sum', { a: 'x' });
	assert.ok(['error', 'not_run'].includes(bad.outcome), JSON.stringify(bad));
	assert.ok(bad.category && bad.message && bad.advice);
});

everything('progress, cancel', async (p) => {
	const n = p.start('ev_trigger-long-running-operation', { duration: 1, steps: 4 });
	const end = await p.done(n);
	assert.equal(end.outcome, 'ok');
	const steps = p.lines.filter((l) => l.on === 'progress' && l.n === n).map((l) => l.percent);
	assert.deepEqual(steps, [25, 50, 75, 100]);

	await soon(1000, async () => {
		const long = p.start('ev_trigger-long-running-operation', { duration: 30, steps: 30 });
		await p.until((l) => l.on === 'progress' && l.n === long);
		const before = Date.now();
		p.do({ do: 'cancel', n: long });
		assert.equal((await p.done(long)).outcome, 'cancelled');
		return Date.now() - before;
	});
	assert.equal((await p.call('ev_echo', { message: 'still there' })).outcome, 'ok');
});

everything('a form, accepted, declined and cancelled', async (p) => {
	for (const [kind, pattern] of [['accept', /provided|Name: ann/i], ['decline', /declined/i], ['cancel', /cancel/i]]) {
		const n = p.start('ev_trigger-elicitation-request');
		const q = await p.question(n);
		assert.ok(q.prompt.length > 0);
		assert.equal(q.schema.type, 'object');
		p.do({ do: 'answer', n, question: q.id, kind, content: { name: 'ann' } });
		const end = await p.done(n);
		assert.equal(end.outcome, 'ok', JSON.stringify(end));
		assert.match(end.text, pattern);
	}
});

test('everything over stdio: hints are believed when that is configured, and tools can be chosen', async (t) => {
	const p = probe(t, { name: 'ev', trust: true, tools: ['echo', 'get-sum'], ...OFFICIAL.everything });
	const { tools, trouble } = await p.ready();
	assert.deepEqual(tools.map((tool) => tool.name).sort(), ['ev_echo', 'ev_get-sum']);
	assert.equal(trouble, undefined);
	await p.close();
});

test('filesystem: lists, writes, reads; hints say which is which', async (t) => {
	const dir = folder(t);
	writeFileSync(path.join(dir, 'a.txt'), 'hello');
	const p = probe(t, { name: 'fs', trust: true, ...OFFICIAL.filesystem(dir) });
	const { tools } = await p.ready();
	const flags = (name) => {
		const { readOnly, concurrencySafe, destructive, capabilities } = tools.find((tool) => tool.name === name);
		return { readOnly, concurrencySafe, destructive, reads: Boolean(capabilities & READ), writes: Boolean(capabilities & 2) };
	};
	assert.deepEqual(flags('fs_read_text_file'), { readOnly: true, concurrencySafe: true, destructive: false, reads: true, writes: false });
	assert.deepEqual(flags('fs_write_file'), { readOnly: false, concurrencySafe: false, destructive: true, reads: true, writes: true });

	assert.equal((await p.call('fs_read_text_file', { path: path.join(dir, 'a.txt') })).text, 'hello');
	assert.equal((await p.call('fs_write_file', { path: path.join(dir, 'b.txt'), content: 'x'.repeat(1 << 20) })).outcome, 'ok');
	assert.equal(readFileSync(path.join(dir, 'b.txt')).length, 1 << 20);
	assert.equal((await p.call('fs_read_text_file', { path: path.join(dir, 'b.txt') })).text.length, 1 << 20);
	const refused = await p.call('fs_read_text_file', { path: '/etc/hostname' });
	assert.equal(refused.outcome, 'error');
	assert.equal(refused.category, 'tool_error');
	await p.close();
});

test('memory: what one process stored the next one finds', async (t) => {
	const file = path.join(folder(t), 'memory.json');
	const entity = { name: 'ann', entityType: 'person', observations: ['likes tea'] };
	for (const round of [1, 2]) {
		const p = probe(t, { name: 'mem', ...OFFICIAL.memory(file) });
		await p.ready();
		if (round === 1) assert.equal((await p.call('mem_create_entities', { entities: [entity] })).outcome, 'ok');
		else assert.match((await p.call('mem_search_nodes', { query: 'tea' })).text, /ann/);
		await p.close();
	}
});

// The modern era, over both transports, found without being told.
function modern(name, run) {
	for (const era of ['auto', 'modern']) {
		test(`modern over stdio (${era}): ${name}`, async (t) => {
			const p = probe(t, { name: 'm', era, ...OFFICIAL.modern });
			await p.ready();
			await run(p);
			await p.close();
		});
		test(`modern over HTTP (${era}): ${name}`, async (t) => {
			const port = await freePort();
			const { url } = await httpServer(t, { command: OFFICIAL.modern.command, args: [OFFICIAL.modern.args[0], String(port)] }, port);
			const p = probe(t, { name: 'm', era, url });
			await p.ready();
			await run(p, { http: true });
			await p.close();
		});
	}
}

modern('calls, structure, progress, errors, questions, changes', async (p, { http } = {}) => {
	const sum = await p.call('m_add', { a: 2, b: 3 });
	assert.equal(sum.text, '5');
	assert.deepEqual(sum.structured, { sum: 5 });
	const n = p.start('m_slow', { n: 2 });
	assert.equal((await p.done(n)).text, 'done');
	assert.deepEqual(p.lines.filter((l) => l.on === 'progress' && l.n === n).map((l) => l.percent), [50, 100]);
	const failed = await p.call('m_fail');
	assert.equal(failed.outcome, 'error');
	assert.match(failed.text, /cannot be done/);

	const asked = p.start('m_ask');
	const q = await p.question(asked);
	assert.equal(q.prompt, 'name?');
	p.do({ do: 'answer', n: asked, question: q.id, kind: 'accept', content: { name: 'bob "b"' } });
	// What the person left out has the form's default.
	assert.deepEqual(JSON.parse((await p.done(asked)).text), { action: 'accept', content: { name: 'bob "b"', size: 7 } });

	const slow = p.start('m_slow', { n: 300 });
	await p.until((l) => l.on === 'progress' && l.n === slow);
	p.do({ do: 'cancel', n: slow });
	assert.equal((await p.done(slow)).outcome, 'cancelled');
	if (!http) return;
	assert.equal((await p.call('m_grow')).text, 'grown');
	await p.until((l) => l.on === 'changed' && l.tools.some((tool) => tool.name === 'm_extra1'), 'the new tool');
	assert.equal((await p.call('m_extra1')).text, '1');
});

test('modern over stdio: a question that is answered from inside its callback', async (t) => {
	const p = probe(t, { name: 'm', answerNow: 'decline', ...OFFICIAL.modern });
	await p.ready();
	assert.deepEqual(JSON.parse((await p.call('m_ask')).text), { action: 'decline' });
	await p.close();
});
