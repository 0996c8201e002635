// Clients on bad lines: a proxy cuts connections at random bytes, delays what comes, and lets some fall silent while the client has long come back. Whatever the
// protocol, every client ends with exactly the facts of the log, each once; every question is asked once, answered once, and no answer is replayed.
// AR_CUTS and AR_KILLS make it long; a failure names the seed.
// ci: first
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { tools, wants } from '../lib/gate.mjs';
import { overH2 } from '../lib/h2.mjs';
import { connectWs, RpcError, RpcFollower, startStdio } from '../lib/rpc.mjs';
import { Follower, ok, readLog, sleep, world } from '../lib/runtime.mjs';
import { lossyProxy } from '../lib/proxy.mjs';

const CUTS = Number(process.env.AR_CUTS ?? 150);
const KILLS = Number(process.env.AR_KILLS ?? 4);
const SEED = Number(process.env.AR_SEED ?? 7);
const SILENCE = 400; // of a line that is given up
const LONG = 20 * 60 * 1000;

let w;

before(async () => {
	w = await world({ config: { 'permission.timeout_ms': 3600000 } });
});

const H2Follower = overH2(Follower);

const followers = {
	sse: (url, sessionId) => new Follower({ where: () => ({ host: '127.0.0.1', port: new URL(url).port }) }, sessionId),
	http2: (url, sessionId) => new H2Follower({ url }, sessionId),
	websocket: (url, sessionId) => new RpcFollower(() => connectWs(url), sessionId),
};

/** Keeps a follower on the line until `isOver()`; a line that says nothing for a while is given up. */
async function keepOn(follower, isOver) {
	while (!isOver()) {
		try {
			await follower.open();
		} catch {
			await sleep(5);
			continue;
		}
		for (let heard = -1; follower.isOpen && !isOver() && heard !== follower.frames;) {
			heard = follower.frames;
			await Promise.race([sleep(SILENCE), follower.until(() => !follower.isOpen, 'the end of the line', SILENCE * 2).catch(() => {})]);
		}
		follower.cut();
		await follower.until(() => !follower.isOpen, 'the cut').catch(() => {});
	}
}

/** A call over a line that may break before the answer is there: repeated until it is. What it said, or the code of the refusal. */
async function insist(url, method, params) {
	for (;;) {
		const peer = await connectWs(url).catch(() => null);
		try {
			if (peer) return await peer.call(method, params);
		} catch (error) {
			if (error instanceof RpcError) return error.data;
		} finally {
			peer?.destroy();
		}
		await sleep(2);
	}
}

/** Answers each question that it sees, over the bad line. */
function answerAll(follower, decision, respond) {
	const answered = new Map(); // actionId -> times that it was shown
	follower.watchers.add(() => {
		for (const { event } of follower.facts.filter((f) => f.type === 'action.required')) {
			if (answered.has(event.actionId)) continue;
			answered.set(event.actionId, follower.of('action.required').filter((e) => e.actionId === event.actionId).length);
			respond(event.actionId, decision);
		}
	});
	return answered;
}

/** Turns one after the other, every third with a question, until enough was cut. */
async function work(rt, sessionId, isEnough) {
	let turns = 0;
	while (!isEnough()) {
		const text = turns++ % 3 === 2 ? wants('drop') : '[[tokens 60]] [[delay 1]]';
		const { turnId } = await ok(rt, 'submit_turn', { sessionId, text, options: { tools: Object.values(tools) } });
		await w.ended(sessionId, turnId);
	}
	return turns;
}

/** What the log says of every question: one answer, and the tool ran once when it was allowed, never otherwise. */
function checkQuestions(log) {
	const asked = log.filter((f) => f.type === 'action.required').map((f) => f.event);
	for (const { actionId, toolCallId } of asked) {
		const answers = log.filter((f) => f.type === 'action.resolved' && f.event.actionId === actionId);
		const began = log.filter((f) => f.type === 'tool.started' && f.event.toolCallId === toolCallId && f.event.payload.runtimeOwner);
		assert.equal(answers.length, 1, actionId);
		assert.equal(began.length, answers[0].event.payload.decision === 'allow' ? 1 : 0, actionId);
	}
	return asked.length;
}

test(`CH-10 EV-22 AN-21 over SSE, HTTP/2 and WebSocket, ${CUTS} cuts: all end with the same facts (seed ${SEED})`, { timeout: LONG }, async (t) => {
	const target = { host: '127.0.0.1', port: Number(new URL(w.rt.url).port) };
	const { sessionId } = await ok(w.rt, 'create_session', { title: 'bad lines', workspaceId: 'w' });
	const proxies = await Promise.all(Object.keys(followers).map((_, i) => lossyProxy(target, { seed: SEED + i, maxBytes: 20000, maxDelayMs: 30 })));
	const cuts = () => proxies.reduce((sum, p) => sum + p.cuts, 0);
	let isDone = false;
	const results = new Map(); // actionId -> what the callers were told
	const answers = []; // that are on their way
	const readers = Object.entries(followers).map(([wire, make], i) => {
		const reader = make(proxies[i].url, sessionId);
		reader.wire = wire;
		const answer = async (actionId, decision) => {
			const told = await insist(proxies[i].url, 'respond_action', { actionId, decision });
			results.set(actionId, [...(results.get(actionId) ?? []), told.code ?? told.decision]);
		};
		reader.answered = answerAll(reader, i % 2 ? 'deny' : 'allow', (...question) => answers.push(answer(...question)));
		return reader;
	});
	w.ended = (id, turnId) => settle(id, turnId);
	const lines = readers.map((reader) => keepOn(reader, () => isDone));
	const turns = await work(w.rt, sessionId, () => cuts() >= CUTS);
	for (const proxy of proxies) proxy.isCutting = false;
	const log = await readLog(w.rt, sessionId);
	for (const reader of readers) await reader.until(() => reader.last >= log.at(-1).sequence, `${reader.wire}: all facts`, 30000);
	isDone = true;
	for (const reader of readers) reader.cut();
	await Promise.all([...lines, ...answers]);
	for (const reader of readers) {
		assert.deepEqual(reader.faults, [], reader.wire);
		assert.deepEqual(reader.facts.map((f) => f.data), log.map((f) => f.data), reader.wire);
		assert.ok([...reader.answered.values()].every((n) => n === 1), 'each question was shown once');
	}
	const asked = checkQuestions(log);
	for (const told of results.values()) {
		assert.equal(told.length, readers.length);
		const stands = told.filter((word) => word !== 'already_resolved');
		assert.ok(stands.length >= 1 && new Set(stands).size === 1, JSON.stringify(told));
	}
	t.diagnostic(`${cuts()} cuts, ${turns} turns, ${log.length} facts, ${asked} questions; connections ${readers.map((r) => `${r.wire} ${r.connections}`).join(', ')}`);
});

/** The client runs the tools that are allowed; the end of the turn. */
async function settle(sessionId, turnId) {
	const told = new Set();
	for (;;) {
		const log = await readLog(w.rt, sessionId);
		for (const { event } of log.filter((f) => f.type === 'tool.started' && f.event.payload.runtimeOwner === 'client' && !told.has(f.event.toolCallId))) {
			told.add(event.toolCallId);
			if (!log.some((f) => f.event.toolCallId === event.toolCallId && ['tool.result', 'tool.failed'].includes(f.type)))
				await ok(w.rt, 'report_tool_result', { toolCallId: event.toolCallId, output: 'done' });
		}
		if (log.some((f) => ['turn.completed', 'turn.failed'].includes(f.type) && f.event.turnId === turnId)) return;
		await sleep(20);
	}
}

test(`CH-10 over stdio the runtime itself is killed ${KILLS} times: the client ends with the facts of the log`, { timeout: LONG }, async (t) => {
	const config = { 'recovery.max_restarts': 10000 };
	let peer = startStdio({ model: w.model, config });
	const { dataDir } = peer;
	const { sessionId } = await peer.call('create_session', { title: 'killed', workspaceId: 'w' });
	const reader = new RpcFollower(async () => peer, sessionId);
	await reader.open();
	for (let i = 0; i < KILLS; i++) {
		await peer.call('submit_turn', { sessionId, turnId: `t${i}`, text: '[[tokens 200]] [[delay 2]]', busyPolicy: 'queue' });
		const seen = reader.frames;
		await reader.until(() => reader.frames > seen + 20 + ((i * 37) % 90), 'some output');
		peer.destroy();
		await peer.closed;
		peer = startStdio({ dataDir, model: w.model, config });
		await reader.open();
	}
	for (let i = 0; i < KILLS; i++) await reader.ended(`t${i}`, 60000);
	const { asOfSequence } = await peer.call('get_session', { sessionId });
	await reader.until(() => reader.last >= asOfSequence, 'all facts');
	const again = await new RpcFollower(async () => peer, sessionId).open();
	await again.until(() => again.last >= asOfSequence, 'the log');
	assert.deepEqual(reader.faults, []);
	assert.deepEqual(reader.facts.map((f) => f.data), again.facts.map((f) => f.data).slice(0, reader.facts.length));
	assert.equal(reader.of('turn.submitted').length, KILLS);
	assert.equal([...reader.ends.values()].length, KILLS);
	t.diagnostic(`${KILLS} kills, ${reader.facts.length} facts, ${reader.frames} frames`);
	await peer.end();
});
