// Hostile input through the real doors: none of it keeps the loop from other requests for more than 100 ms. Measured as processor time of the loop
// thread in each round of its event loop (agentd_loop_cpu), so what else runs on the machine does not matter.
// ci: release only
// ci: alone
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { call, newFolder, ok, readLog, request, submit, waitFor, world } from '../lib/runtime.mjs';
import { scrape } from '../ops/scrape.mjs';

const SLOW = 'a'.repeat(14) + '!'; // 2^14 steps of backtracking for ^(a+)+$
const NESTED = '^(a+)+$';
const SERVER = `
import { createInterface } from 'node:readline';
const inputSchema = JSON.parse(process.argv[2]);
const say = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
createInterface({ input: process.stdin }).on('line', (line) => {
	const { id, method, params } = JSON.parse(line);
	if (id === undefined) return;
	if (method === 'initialize') say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'h', version: '1' } });
	else if (method === 'tools/list') say(id, { tools: [{ name: 'put', inputSchema }] });
	else if (method === 'tools/call') say(id, { content: [{ type: 'text', text: 'done' }] });
	else process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }) + '\\n');
});`;

let w, longest;

before(async () => {
	const server = join(newFolder(), 'server.mjs');
	writeFileSync(server, SERVER);
	const schema = { type: 'object', properties: { list: { items: { not: { pattern: NESTED } } } } };
	w = await world({ config: {
		mcp_servers: [{ name: 'bad', command: process.execPath, args: [server, JSON.stringify(schema)] }],
		'tools.workspace': newFolder(),
		'limits.max_body_bytes': 4 << 20,
	} });
});

/** Rounds of the loop that took more than 100 ms of processor time. */
async function slowRounds() {
	const values = await scrape(w.rt);
	longest = values.agentd_loop_cpu_longest_seconds;
	assert.ok(values.agentd_loop_cpu_seconds_count > 0);
	return values.agentd_loop_cpu_seconds_count - values['agentd_loop_cpu_seconds_bucket{le="0.1"}'];
}

/** A test that `attack` leaves the loop free. What costs too much does so each time; a processor that a hypervisor took away does not. */
function stays(name, attack) {
	test(name, async (t) => {
		let slow = 1;
		for (let tries = 0; slow > 0 && tries < 3; tries++) {
			const before = await slowRounds();
			await attack();
			slow = await slowRounds() - before;
			t.diagnostic(`the longest round of late: ${(longest * 1000).toFixed(1)} ms`);
		}
		assert.equal(slow, 0, `${slow} rounds of the loop took more than 100 ms; the longest of late ${longest * 1000} ms`);
	});
}

const tool = (inputSchema, name = 'put') => ({ name, description: 'x', inputSchema });
const facts = async (sessionId, ...types) => (await readLog(w.rt, sessionId)).filter((f) => types.includes(f.type)).map((f) => f.event);
const asks = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;

/** The failures of the tool calls that a model makes in one answer. */
async function failures(text, options) {
	const { sessionId } = await submit(w.rt, text, options && { options });
	await waitFor(async () => (await facts(sessionId, 'turn.completed', 'turn.failed'))[0], 'the end of the turn');
	return facts(sessionId, 'tool.failed');
}

async function givesUp(schema, args, calls = 1) {
	const failed = await failures(`[[burst]]${asks('put', args).repeat(calls)}`, { tools: [tool(schema)] });
	assert.equal(failed.length, calls);
	for (const f of failed) assert.equal(f.payload.errorCategory, 'schema_limit');
}

const items = (schema) => ({ type: 'object', properties: { list: { items: schema } } });
const list = { list: Array(1000).fill(SLOW) };

stays('a pattern that backtracks, under not, over a thousand items', () => givesUp(items({ not: { pattern: NESTED } }), list));

stays('the same schema from an MCP server', async () => {
	const [failed] = await failures(`[[burst]]${asks('bad_put', list)}`);
	assert.equal(failed.payload.errorCategory, 'schema_limit');
});

stays('forty such calls in one answer', () => givesUp(items({ not: { pattern: NESTED } }), { list: Array(400).fill(SLOW) }, 40));

stays('a pattern that is tried at each place of a long text', () => givesUp({ properties: { t: { pattern: '[a-w]*(?:y|z)' } } }, { t: 'a'.repeat(300000) }));

stays('a class of three thousand characters over a long text', () => givesUp(
	{ properties: { t: { pattern: `[${Array.from({ length: 3000 }, (_, i) => String.fromCodePoint(0x4e00 + 3 * i)).join('')}]*(?:1|2)` } } }, { t: '丁'.repeat(60000) }));

stays('references that branch at each step', () => givesUp({ $ref: '#/$defs/a0', $defs: { ...Object.fromEntries(Array.from({ length: 16 }, (_, i) =>
	[`a${i}`, { allOf: Array(6).fill({ $ref: `#/$defs/a${i + 1}` }) }])), a16: { type: 'object' } } }, {}));

stays('members of which each is tried with each pattern', () => givesUp({ type: 'object', patternProperties: Object.fromEntries(Array.from({ length: 900 }, (_, i) =>
	[`^x${i}.*y$`, {}])) }, Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`x${i}`, 1]))));

stays('items that must differ', () => givesUp({ properties: { list: { allOf: Array(20).fill({ uniqueItems: true }) } } },
	{ list: Array.from({ length: 100000 }, (_, i) => i) }));

stays('members that were not looked at by hundreds of branches', () => givesUp({ type: 'object', allOf: [{ anyOf: Array.from({ length: 200 }, (_, i) =>
	({ properties: { [`p${i}`]: true } })) }], unevaluatedProperties: {} }, Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`q${i}`, 1]))));

stays('schemas that are short and dear to read', async () => {
	const dear = [
		{ allOf: Array.from({ length: 1400 }, (_, i) => ({ pattern: `(?:x{1,9}y){999}${i}` })) },
		{ $id: `h:/${'x'.repeat(25000)}/`, $defs: Object.fromEntries(Array.from({ length: 1300 }, (_, i) => [`d${i}`, { $id: `${i}` }])) },
	];
	for (const schema of dear) {
		const { status, body } = await call(w.rt, 'submit_turn', { createPolicy: {}, text: 'x', options: { tools: [tool(schema)] } });
		assert.equal(status, 400);
		assert.match(body.error.message, /takes too long to compile/);
	}
});

stays('a schema of an answer that is deep and wide', async () => {
	let schema = { type: 'string', pattern: NESTED };
	for (let i = 0; i < 22; i++) schema = { type: 'object', properties: { x: schema } };
	await failures('x', { outputSchema: { ...schema, enum: Array.from({ length: 5000 }, (_, i) => `e${i}`) } });
});

stays('bodies that are deep, wide, repeated or endless numbers', async () => {
	const many = (n, f) => Array.from({ length: n }, (_, i) => f(i)).join(',');
	for (const body of ['['.repeat(1 << 20), `{"text":${'['.repeat(500000)}${']'.repeat(500000)}}`, `{${many(90000, (i) => `"k${i}":1`)}}`, `{${many(90000, () => '"k":1')}}`,
		`{"input":[${many(250000, () => '1')}]}`, `{"input":[${many(70000, () => '{"type":"x"}')}]}`, `{"text":${'9'.repeat(1 << 20)}}`, `{"text":"${'\\u00e9'.repeat(170000)}"}`,
		`{"text":"x","metadata":{${many(5000, (i) => `"k${i}":{}`)}}}`]) {
		const { status } = await request(w.rt, { path: '/v1/submit_turn', body, headers: { 'content-type': 'application/json' } });
		assert.ok(status === 400 || status === 413 || status === 202, `${status}: ${body.slice(0, 60)}`);
	}
});

stays('long commands', async () => {
	const { sessionId } = await submit(w.rt, '[[say ok]]');
	for (const part of ['a;', '$(', '`', 'x=$x$x;', '"$(', '${a:-', "'a' ", '<<E\n', 'rm -rf "$x" | ', '\\\n', '{a,b}', 'eval ', '(', 'if a;then ', '$IFS', '*', 'a=b ']) {
		const command = part.repeat(Math.floor((JSON.stringify(part).length > part.length + 2 ? 30000 : 60000) / part.length));
		const { decision } = await ok(w.rt, 'evaluate_permission', { sessionId, act: { toolName: 'shell', arguments: { command } } });
		assert.equal(decision, 'ask', part);
	}
	for (const part of ['a;', '"$(', 'rm -rf "$x" | ']) {
		const failed = await failures(`[[burst]]${asks('shell', { command: part.repeat(Math.floor(150000 / part.length)) })}[[then]][[say ok]]`, { mode: 'never' });
		assert.equal(failed.length, 1, part);
	}
});

stays('text that looks like secrets everywhere', async () => {
	for (const part of ['sk-', 'sk-ant-api03-', 'eyJhbGciOi.', 'eyJ', '-----BEGIN PRIVATE KEY-----\n', 'AKIA', 'ghp_', 'Bearer ', 'password=', 'xoxb-', 'https://a:b@', 'AAAA', '%25', '\\u0073'])
		await failures(`[[say ok]]${part.repeat(Math.floor(300000 / part.length))}`);
});

stays('a policy with as many rules as there may be', async () => {
	const { sessionId } = await submit(w.rt, '[[say ok]]');
	const command = 'a b c d; '.repeat(110);
	for (const rule of [(i) => ({ tool: `${'*a'.repeat(20)}${i}` }), (i) => ({ tool: 'shell', command: `${'a '.repeat(100)}x${i}` })]) {
		const rules = Array.from({ length: 100 }, (_, i) => ({ name: `r${i}`, decision: 'deny', ...rule(i) }));
		await ok(w.rt, 'set_policy', { scope: 'session', scopeId: sessionId, policy: { rules } });
		await ok(w.rt, 'evaluate_permission', { sessionId, act: { toolName: 'shell', arguments: { command } } });
		await call(w.rt, 'evaluate_permission', { sessionId, act: { toolName: 'a'.repeat(60000), arguments: {} } });
	}
});

test('the loop still answers', async () => {
	await ok(w.rt, 'list_sessions', {});
	await w.rt.stop();
});
