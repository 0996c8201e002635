// JSON-RPC over WebSocket and over stdio against the real runtime: the same answers, events and refusals as over HTTP, approvals and reconnects
// included, and a client that is cut or outlives its server has every fact once.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tools, wants } from '../lib/gate.mjs';
import { connectWs, RpcError, RpcFollower, startStdio } from '../lib/rpc.mjs';
import { bin, call, follow, newFolder, ok, startAgentd, startModel, submit, waitFor, within, world } from '../lib/runtime.mjs';
import { validateCommandResult } from '../lib/schemas.mjs';

const refusedAs = async (promise, code) => {
	const error = await promise.then((v) => assert.fail(`it was answered: ${JSON.stringify(v)}`), (e) => e);
	assert.ok(error instanceof RpcError, error);
	assert.equal(error.data.code, code, error);
	return error;
};

/** Both wires of the same runtime; a stdio peer has a data folder of its own. */
const WIRES = {
	async websocket(t) {
		const w = await world();
		t.after(() => w.rt.isGone || w.rt.kill9());
		let rt = w.rt;
		return {
			connect: () => connectWs(rt.url),
			crash: async () => {
				await rt.kill9();
				rt = await w.again();
			},
			stop: () => rt.stop(),
		};
	},
	async stdio() {
		const model = await startModel();
		const dataDir = newFolder();
		let peer = startStdio({ model, dataDir });
		return {
			connect: async () => {
				if (peer.isOver) peer = startStdio({ model, dataDir });
				return peer;
			},
			crash: async () => {
				peer.destroy();
				assert.deepEqual(await peer.closed, { code: null, signal: 'SIGKILL' });
			},
			stop: async () => assert.deepEqual(await peer.end(), { code: 0, signal: null }, peer.stderr),
		};
	},
};

const onEvery = (name, run) => {
	for (const [wire, open] of Object.entries(WIRES))
		test(`${name} (${wire})`, async (t) => {
			const w = await open(t);
			await run(w, wire);
			await w.stop();
		});
};

test('EV-32 the same range over SSE, WebSocket and stdio: the JSON of every event is equal, byte for byte', async (t) => {
	const w = await world();
	t.after(() => w.rt.isGone || w.rt.kill9());
	const { sessionId, turnId } = await submit(w.rt, '[[reasoning hm]][[utf8]][[tokens 50]]');
	const live = await follow(w.rt, sessionId);
	const ws = await new RpcFollower(() => connectWs(w.rt.url), sessionId).open();
	await Promise.all([live.ended(turnId), ws.ended(turnId)]);
	const second = await submit(w.rt, 'again', { sessionId });
	await Promise.all([live.ended(second.turnId), ws.ended(second.turnId)]);
	live.check();
	ws.check();
	ws.peer.check();
	const facts = live.facts.map((f) => f.data);
	assert.ok(facts.length > 15);
	assert.deepEqual(ws.facts.map((f) => f.data), facts);
	assert.deepEqual([...ws.outputs].map(([k, o]) => [k, Buffer.concat(o.pieces).toString()]), [...live.outputs].map(([k, o]) => [k, Buffer.concat(o.pieces).toString()]));
	// From the middle, and from the store of a process that is gone.
	const later = await new RpcFollower(() => connectWs(w.rt.url), sessionId, { after: '5' }).open();
	await later.until(() => later.facts.length === facts.length - 5, 'the rest');
	assert.deepEqual(later.facts.map((f) => f.data), facts.slice(5));
	await w.rt.stop();
	const peer = startStdio({ model: w.model, dataDir: w.dataDir });
	const stdio = await new RpcFollower(async () => peer, sessionId).open();
	await stdio.until(() => stdio.facts.length >= facts.length, 'all facts');
	assert.deepEqual(stdio.facts.map((f) => f.data), facts);
	stdio.check();
	assert.deepEqual(await peer.end(), { code: 0, signal: null });
});

test('every read over JSON-RPC answers what HTTP answers, and refuses with the same error', async (t) => {
	const w = await world();
	t.after(() => w.rt.isGone || w.rt.kill9());
	const peer = await connectWs(w.rt.url);
	const { sessionId, threadId, turnId, taskId } = await peer.call('submit_turn', { createPolicy: {}, text: 'hello' });
	await (await follow(w.rt, sessionId)).ended(turnId);
	const reads = [
		['get_session', { sessionId }], ['get_thread_read', { threadId }], ['list_sessions', {}], ['list_tasks', { sessionId }], ['get_task', { taskId }],
		['list_actions', {}], ['get_tool_inventory', { sessionId }], ['explain', { sessionId }], ['read_events', { sessionId, newestFirst: true, limit: 3 }], ['read_events', { sessionId, types: ['no.such'] }],
		['get_session', {}], ['get_session', { sessionId: 7 }], ['get_session', { sessionId: 'sess_none' }], ['get_session', { sessionId, extra: 1 }],
		['get_task', { taskId: 'task_none' }], ['list_sessions', { cursor: 'x' }], ['respond_action', { actionId: 'action_none', decision: 'allow' }],
	];
	for (const [method, params] of reads) {
		const { status, body } = await call(w.rt, method, params, { loose: true });
		const reply = await peer.call(method, params).then((result) => ({ result }), (error) => ({ error }));
		if (status < 300) assert.deepEqual(reply.result, body, method);
		else assert.deepEqual(reply.error.data, body.error, method);
		if (status < 300) validateCommandResult(method, reply.result);
	}
	assert.equal((await refusedAs(peer.call('get_session', { sessionId: 'sess_none' }), 'session_not_found')).code, -32002);
	assert.equal((await refusedAs(peer.call('get_session', {}), 'invalid_input')).code, -32602);
	await refusedAs(peer.call('subscribe_events', { sessionId: 'sess_01m7fzn02merzvy9at0bnw79ws' }), 'session_not_found');
	await refusedAs(peer.call('subscribe_events', { sessionId, after: 'nonsense' }), 'invalid_cursor');
	await refusedAs(peer.call('subscribe_events', { sessionId, types: ['no.such'] }), 'invalid_input');
	const local = await connectWs(`ws+unix://${w.rt.socket}:`);
	assert.deepEqual(await local.call('get_session', { sessionId }), await peer.call('get_session', { sessionId }));
	for (const one of [peer, local]) one.check();
	for (const one of [peer, local]) one.destroy();
	await w.rt.stop();
});

/** A log without what is another in every run: ids, hashes, times. */
function normal(facts) {
	const names = new Map();
	const plain = (value, key) => {
		if (typeof value === 'number' && /(Ms|At|sequence|Sequence|Tokens|estimate)$/i.test(key)) return 0;
		if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)) return 'a time';
		if (typeof value === 'string')
			return value.replace(/[a-z]+_[0-9a-z]{26}\w*|(call|req)_\d+(_\d+)?|[0-9a-f]{16,}/g, (id) => names.get(id) ?? names.set(id, `id-${names.size}`).get(id));
		if (Array.isArray(value)) return value.map((one) => plain(one, key));
		if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v, k)]));
		return value;
	};
	return facts.map((f) => plain(JSON.parse(f.data), ''));
}

test('CP-02 one script over HTTP, WebSocket and stdio: equal logs', async (t) => {
	const w = await world();
	t.after(() => w.rt.isGone || w.rt.kill9());
	const ws = await connectWs(w.rt.url);
	const stdio = startStdio({ model: w.model });
	const doors = { http: (name, input) => ok(w.rt, name, input), websocket: (name, input) => ws.call(name, input), stdio: (name, input) => stdio.call(name, input) };
	const readers = { http: (id) => follow(w.rt, id), websocket: (id) => new RpcFollower(async () => ws, id).open(), stdio: (id) => new RpcFollower(async () => stdio, id).open() };
	const logs = {};
	for (const [name, run] of Object.entries(doors)) {
		const { sessionId, threadId } = await run('create_session', { title: 'the same' });
		const reader = await readers[name](sessionId);
		const { turnId } = await run('submit_turn', { sessionId, threadId, text: wants('drop'), options: { tools: Object.values(tools) } });
		const [{ actionId }] = await reader.until(() => reader.of('action.required').length && reader.of('action.required'), 'the question');
		const queued = await run('submit_turn', { sessionId, threadId, text: 'later' });
		await run('remove_queued_turn', { sessionId, queuedTurnId: queued.turnId });
		await run('respond_action', { actionId, decision: 'allow' });
		const [{ toolCallId }] = await reader.until(() => reader.of('tool.started').length && reader.of('tool.started'), 'the call');
		await run('report_tool_result', { toolCallId, output: 'done' });
		await reader.ended(turnId);
		const { taskId } = await run('create_task', { sessionId, objective: 'a task' });
		await run('start_task', { taskId, worker: { kind: 'worker', id: 'w' } });
		await run('append_task_progress', { taskId, phase: 'working', counters: { files: 1 } });
		await run('complete_task', { taskId, acceptance: [] });
		const hung = await run('submit_turn', { sessionId, threadId, text: '[[hang]]' });
		await reader.until(() => reader.of('model.requested').some((e) => e.turnId === hung.turnId), 'the call');
		await run('interrupt_turn', { sessionId, reason: 'enough' });
		await reader.ended(hung.turnId);
		const { asOfSequence } = await run('get_session', { sessionId });
		await reader.until(() => reader.last >= asOfSequence, 'the rest');
		logs[name] = normal(reader.facts);
		reader.check();
	}
	assert.ok(logs.http.length > 40, `${logs.http.length} facts`);
	assert.deepEqual(logs.websocket, logs.http);
	assert.deepEqual(logs.stdio, logs.http);
	ws.destroy();
	assert.deepEqual(await stdio.end(), { code: 0, signal: null }, stdio.stderr);
	await w.rt.stop();
});

onEvery('CH-10 an approval: asked once, answered once, over kill -9', async (w, wire) => {
	let peer = await w.connect();
	const { sessionId, turnId } = await peer.call('submit_turn', { createPolicy: {}, text: wants('drop'), options: { tools: Object.values(tools) } });
	const reader = await new RpcFollower(w.connect, sessionId).open();
	const [action] = await reader.until(() => reader.of('action.required').length && reader.of('action.required'), 'the question');
	await w.crash();
	await reader.until(() => !reader.isOpen, 'the crash');
	await reader.open();
	peer = await w.connect();
	const { actions } = await peer.call('list_actions', { sessionId });
	assert.deepEqual(actions.map((a) => a.actionId), [action.actionId], 'the same question waits');
	assert.equal((await peer.call('respond_action', { actionId: action.actionId, decision: 'allow' })).decision, 'allow');
	await refusedAs(peer.call('respond_action', { actionId: action.actionId, decision: 'deny' }), 'already_resolved');
	const [started] = await reader.until(() => reader.of('tool.started').length && reader.of('tool.started'), 'the call');
	await peer.call('report_tool_result', { toolCallId: started.toolCallId, output: 'done' });
	assert.equal((await reader.ended(turnId)).type, 'turn.completed');
	assert.equal(reader.of('action.required').length, 1);
	assert.equal(reader.of('action.resolved').length, 1);
	assert.equal(reader.of('turn.submitted').length, 1, 'an approval is no message');
	assert.ok(reader.connections === 2 && reader.view === 'extended', wire);
	reader.check();
});

onEvery('CH-10 a reader that is cut again and again in mid-token misses nothing and gets nothing twice', async (w, wire) => {
	const peer = await w.connect();
	const { sessionId, turnId } = await peer.call('submit_turn', { createPolicy: {}, text: '[[tokens 120]][[delay 5]]' });
	const reader = new RpcFollower(w.connect, sessionId);
	while (!reader.end(turnId)) {
		await reader.open();
		if (reader.connections < 8) await reader.until((r) => r.end(turnId) || r.frames >= r.connections * 8, 'a few frames').catch(() => {});
		else await reader.ended(turnId);
		if (reader.end(turnId)) break;
		// One process has one stdio peer: there the subscription is cut instead of the connection.
		if (wire === 'stdio') await reader.peer.call('unsubscribe', { subscriptionId: [...reader.peer.streams.keys()][0] });
		else reader.cut();
		await reader.until(() => !reader.isOpen, 'the cut');
	}
	reader.check();
	const stepId = reader.of('model.requested')[0].stepId;
	assert.equal(reader.text(stepId), Array.from({ length: 120 }, (_, i) => `w${i} `).join('').trimEnd().concat(reader.text(stepId).endsWith(' ') ? ' ' : ''));
	assert.ok(reader.connections > 2);
});

onEvery('kill -9 in mid-turn: the client goes on by its cursor and ends with the facts of the log', async (w) => {
	const peer = await w.connect();
	const { sessionId, turnId } = await peer.call('submit_turn', { createPolicy: {}, text: '[[tokens 60]][[delay 10]]', idempotencyKey: 'one' });
	const reader = await new RpcFollower(w.connect, sessionId).open();
	for (let i = 0; i < 2; i++) {
		await reader.until((r) => r.frames > 10 * (i + 1) || r.end(turnId), 'some output');
		await w.crash();
		await reader.until(() => !reader.isOpen, 'the crash');
		await reader.open();
	}
	const again = await reader.peer.call('submit_turn', { createPolicy: {}, text: '[[tokens 60]][[delay 10]]', idempotencyKey: 'one' });
	assert.equal(again.turnId, turnId, 'the same key is the same turn');
	await reader.ended(turnId);
	const all = await new RpcFollower(w.connect, sessionId).open();
	await all.until(() => all.last >= reader.last, 'the log');
	assert.deepEqual(reader.facts.map((f) => f.data), all.facts.slice(0, reader.facts.length).map((f) => f.data));
	assert.deepEqual(reader.facts.map((f) => f.sequence), reader.facts.map((_, i) => i + 1));
});

// ---- stdio alone ----

const line = (id, method, params) => `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;

function runStdio(input, { dataDir = newFolder(), ...more } = {}) {
	const env = { PATH: process.env.PATH, HOME: '/nonexistent' };
	if (process.env.ASAN_OPTIONS) env.ASAN_OPTIONS = process.env.ASAN_OPTIONS;
	return spawnSync(join(bin, 'agentd'), ['stdio', '--data-dir', join(dataDir, 'data')], { input, env, encoding: 'utf8', timeout: 20000, ...more });
}

test('stdio: the end of the input ends it, everything asked is answered, and stdout has nothing but messages', () => {
	const input = `\n${line(1, 'list_sessions')}\r\n{"jsonrpc":"2.0","method":"list_sessions"}\nnonsense\n${line('last', 'submit_turn', { createPolicy: {}, text: 'x' }).trimEnd()}`;
	const { status, stdout, stderr } = runStdio(input);
	assert.equal(status, 0, stderr);
	const messages = stdout.trimEnd().split('\n').map((text) => JSON.parse(text));
	const by = new Map(messages.map((m) => [m.id, m]));
	assert.equal(messages.length, 3, 'a line without an end counts; a request without an id has no answer');
	assert.ok(by.get(1).result.sessions.length <= 1, 'requests are carried out side by side: the list may have the session of the last one');
	assert.equal(by.get(null).error.code, -32700);
	assert.ok(by.get('last').result.turnId);
	for (const text of stderr.trimEnd().split('\n')) JSON.parse(text);
});

test('stdio: files and /dev/null will do for stdin and stdout', () => {
	const folder = newFolder();
	writeFileSync(join(folder, 'in'), line(1, 'list_sessions').repeat(300));
	const out = openSync(join(folder, 'out'), 'w');
	const { status, stderr } = runStdio(undefined, { stdio: [openSync(join(folder, 'in'), 'r'), out, 'pipe'] });
	assert.equal(status, 0, stderr);
	assert.equal(readFileSync(join(folder, 'out'), 'utf8').trimEnd().split('\n').length, 300);
	assert.equal(runStdio(undefined, { stdio: ['ignore', 'ignore', 'pipe'] }).status, 0);
});

test('stdio: nothing listens unless it is asked to', async () => {
	const listening = (pid) => execFileSync('ss', ['-Hlnxtp'], { encoding: 'utf8' }).split('\n').filter((text) => text.includes(`pid=${pid},`)).length;
	const nodes = onPostgres ? 1 : 0; // where the others of a cluster come in
	const quiet = startStdio();
	await quiet.call('list_sessions');
	assert.equal(listening(quiet.pid), nodes);
	assert.deepEqual(await quiet.end(), { code: 0, signal: null });
	const open = startStdio({ args: ['--listen', '127.0.0.1:0'] });
	await open.call('list_sessions');
	assert.equal(listening(open.pid), nodes + 1);
	assert.deepEqual(await open.end(), { code: 0, signal: null });
});

test('stdio: SIGTERM ends subscriptions with their cursor; a second process on the same folder says what to do', async () => {
	const model = await startModel();
	const peer = startStdio({ model });
	const { sessionId, turnId } = await peer.call('submit_turn', { createPolicy: {}, text: 'x' });
	const reader = await new RpcFollower(async () => peer, sessionId).open();
	await reader.ended(turnId);
	if (!onPostgres) {
		const { status, stderr } = runStdio('', { dataDir: peer.dataDir });
		assert.equal(status, 1);
		assert.match(stderr, /agentd/);
	}
	peer.child.kill('SIGTERM');
	assert.deepEqual(await within(peer.closed, 10000), { code: 0, signal: null });
	assert.equal(reader.how.cursor, reader.cursor);
	assert.deepEqual([reader.how.error.code, reader.how.error.retryable], ['overloaded', true]);
	peer.check();
});

test('stdio: ten thousand calls whose answers nobody reads are bounded, and all are answered in the end', async () => {
	const peer = startStdio();
	await peer.call('list_sessions');
	const rss = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${peer.pid}/status`, 'utf8'))[1]) * 1024;
	const before = rss();
	peer.child.stdout.pause();
	const answers = Array.from({ length: 10000 }, () => peer.call('list_sessions', {}));
	await waitFor(async () => peer.child.stdin.writableLength > 0, 'the pipe is full');
	assert.ok(rss() - before < (/[at]san/.test(bin) ? 64_000_000 : 8_000_000), `${rss() - before} bytes`);
	peer.child.stdout.resume();
	assert.equal((await Promise.all(answers)).length, 10000);
	const long = peer.waiting.size;
	const refused = new Promise((done) => peer.waiting.set(null, done));
	peer.write(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'list_sessions', params: { x: 'y'.repeat(5_000_000) } }));
	assert.equal((await refused).error.data.code, 'payload_too_large');
	assert.equal(long, 0);
	assert.deepEqual((await peer.call('list_sessions')).sessions, []);
	peer.check();
	assert.deepEqual(await peer.end(), { code: 0, signal: null });
});

test('stdio: a peer that goes away without a word ends it', async () => {
	const peer = startStdio();
	await peer.call('list_sessions');
	peer.child.stdout.destroy();
	peer.write(line(1, 'list_sessions').trimEnd());
	assert.deepEqual(await within(peer.closed, 10000), { code: 0, signal: null });
});

test('stdio: whoever shares the pipes finds them as they were', () => {
	const script = [
		'import fcntl, os, subprocess, sys',
		'pipes = [os.pipe(), os.pipe()]',
		'agentd = subprocess.Popen(sys.argv[1:], stdin=pipes[0][0], stdout=pipes[1][1], stderr=subprocess.DEVNULL)',
		`os.write(pipes[0][1], b'{"jsonrpc":"2.0","id":1,"method":"list_sessions"}\\n')`,
		'assert b"sessions" in os.read(pipes[1][0], 1000)',
		'os.close(pipes[0][1])',
		'assert agentd.wait(20) == 0',
		'print([fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK for fd in (pipes[0][0], pipes[1][1])])',
	].join('\n');
	const env = { PATH: process.env.PATH, HOME: '/nonexistent' };
	const out = execFileSync('python3', ['-c', script, join(bin, 'agentd'), 'stdio', '--data-dir', join(newFolder(), 'data')], { env, encoding: 'utf8' });
	assert.equal(out, '[0, 0]\n');
});

const onPostgres = Boolean(process.env.AR_TEST_POSTGRES);

test('--help of agentd stdio has an example that runs', () => {
	const help = execFileSync(join(bin, 'agentd'), ['stdio', '--help'], { encoding: 'utf8' });
	const [, example] = /\nexample:\n {2}(.*)\n/.exec(help);
	const out = execFileSync('bash', ['-c', example], { env: { PATH: `${bin}:${process.env.PATH}`, HOME: newFolder() }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
	assert.deepEqual(JSON.parse(out), { jsonrpc: '2.0', id: 1, result: { sessions: [] } });
	assert.match(execFileSync(join(bin, 'agentd'), ['--help'], { encoding: 'utf8' }), /agentd stdio/);
});

// ---- who asks ----

test('a token opens a WebSocket for what its scopes and tenant say, until it is revoked', async (t) => {
	const rt = await startAgentd({ config: { 'auth.required': true } });
	t.after(() => rt.stop());
	const make = (scopes, more) => ok(rt, 'create_token', { name: 'test', scopes, ...more }, { via: 'socket' });
	const [reader, writer, foreign] = [await make(['read']), await make(['read', 'submit']), await make(['admin'], { tenant: 'acme' })];
	await assert.rejects(connectWs(rt.url), { status: 401 });
	await assert.rejects(connectWs(rt.url, { protocols: ['agentruntime.v1', 'bearer.art_nonsense'] }), { status: 401 });
	const open = ({ token }) => connectWs(rt.url, { protocols: ['agentruntime.v1', `bearer.${token}`] });
	const [reads, writes, other] = [await open(reader), await open(writer), await connectWs(rt.url, { headers: { authorization: `Bearer ${foreign.token}` } })];
	assert.equal(reads.socket.protocol, 'agentruntime.v1', 'the token is not repeated');
	const { sessionId } = await writes.call('create_session', {});
	assert.equal((await reads.call('get_session', { sessionId })).sessionId, sessionId);
	assert.equal((await refusedAs(reads.call('create_session', {}), 'not_authorized')).code, -32001);
	await refusedAs(reads.call('list_tokens', {}), 'not_authorized');
	// For another tenant the session is like one that never was.
	const unknown = `${sessionId.slice(0, -1)}${sessionId.endsWith('0') ? '1' : '0'}`;
	for (const method of ['get_session', 'subscribe_events']) {
		const [theirs, nobodys] = [await refusedAs(other.call(method, { sessionId }), 'session_not_found'), await refusedAs(other.call(method, { sessionId: unknown }), 'session_not_found')];
		assert.equal(theirs.message.replace(sessionId, ''), nobodys.message.replace(unknown, ''));
	}
	assert.deepEqual((await other.call('list_sessions', {})).sessions, []);
	const follower = await new RpcFollower(async () => reads, sessionId).open();
	await follower.until(() => follower.facts.length > 0, 'the first fact');
	await ok(rt, 'revoke_token', { tokenId: reader.record.tokenId }, { via: 'socket' });
	assert.deepEqual(await within(reads.closed, 5000), { code: 4401, reason: 'auth_failed' });
	assert.equal((await writes.call('get_session', { sessionId })).sessionId, sessionId, 'another token is not touched');
	for (const peer of [reads, writes, other]) peer.check();
});

test('calls of a WebSocket are limited like those of HTTP, and say when to come back', async (t) => {
	const rt = await startAgentd({ config: { 'auth.required': true, 'limits.token_rate': 5, 'limits.token_burst': 5 } });
	t.after(() => rt.stop());
	const { token } = await ok(rt, 'create_token', { name: 'test', scopes: ['read'] }, { via: 'socket' });
	const peer = await connectWs(rt.url, { protocols: ['agentruntime.v1', `bearer.${token}`] });
	const results = await Promise.allSettled(Array.from({ length: 40 }, () => peer.call('list_sessions', {})));
	const refusals = results.filter((r) => r.status === 'rejected').map((r) => r.reason);
	assert.ok(refusals.length > 20 && refusals.length < 40, `${refusals.length} of 40 were refused`);
	for (const { code, data } of refusals) assert.deepEqual([code, data.code, data.retryable, data.retryAfterMs > 0], [-32005, 'rate_limited', true, true]);
});

test('a subscription says where the session was when it began', async () => {
	const { rt } = await world();
	const { sessionId, turnId } = await submit(rt, 'one');
	const reader = await follow(rt, sessionId);
	await reader.ended(turnId);
	const { asOfSequence } = await ok(rt, 'get_session', { sessionId });
	const peer = await connectWs(rt.url);
	const stream = () => ({ event: () => {}, ended: () => {}, lost: () => {} });
	for (const more of [{}, { after: '2' }, { after: 'now' }]) {
		const one = stream();
		await peer.subscribe({ sessionId, ...more }, one);
		assert.equal(one.asOfSequence, asOfSequence);
	}
	const all = stream();
	await peer.subscribe({}, all);
	assert.equal(all.asOfSequence, undefined, 'each session has its own');
	peer.destroy();
});
