// What a quiet cluster says in the end: every session's whole log from every node, the list of sessions, who wrote which rows.
// One node's log is taken as the log; the others are readers that must agree with it.
import http from 'node:http';
import { call, DELTAS } from '../lib/runtime.mjs';
import { hashOf } from './history.mjs';
import { partitionOfBytes } from './takeover.mjs';
import { EPOCHS } from './world.mjs';

const AT_ONCE = 6;
const LOG_MS = 60000;

/** All facts of a session as one node tells them: texts in order. */
function readWhole(node, session, upTo) {
	return new Promise((done, fail) => {
		const facts = [];
		let rest = '';
		const path = `/v1/sessions/${session}/events?view=extended`;
		const req = http.get({ ...node.where(), path, agent: false }, (res) => {
			if (res.statusCode !== 200) return end(new Error(`${node.name} refuses ${session}: ${res.statusCode}`));
			res.setEncoding('utf8');
			res.on('error', end).on('close', () => end(new Error(`${node.name} ended ${session} after ${facts.length} of ${upTo}`)));
			res.on('data', (text) => {
				rest = take(rest + text, facts);
				if (facts.length >= upTo) end();
			});
		});
		const timer = setTimeout(() => end(new Error(`${node.name} gave ${facts.length} of ${upTo} facts of ${session}`)), LOG_MS);
		function end(error) {
			clearTimeout(timer);
			if (error) fail(error);
			else done(facts);
			req.destroy();
		}
		req.on('error', end);
	});
}

function take(text, facts) {
	for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) {
		const at = text.indexOf('data: ');
		if (at < 0 || at > end) continue;
		const data = text.slice(at + 6, end);
		if (!DELTAS.has(/^\{"type":"([^"]+)"/.exec(data)[1])) facts.push(data);
	}
	return text;
}

async function readFrom(node, session) {
	const { status, body, text } = await call(node, 'get_session', { sessionId: session, limit: 1 }, { via: 'socket' });
	if (status !== 200) throw new Error(`${node.name} has no ${session}: ${text}`);
	return readWhole(node, session, body.asOfSequence);
}

async function readSession(world, session, final) {
	for (const node of world.nodes) {
		try {
			const facts = await readFrom(node, session);
			if (!final.logs.has(session)) final.logs.set(session, facts);
			else final.copies.push({ name: `final read at ${node.name}`, session, faults: [], isWhole: true,
				facts: facts.map((data, i) => ({ sequence: i + 1, hash: hashOf(data), at: Infinity })) });
		} catch (error) {
			final.problems.push(error.message);
		}
	}
}

async function listAll(node) {
	const sessions = [];
	for (let cursor; ; ) {
		const { body } = await call(node, 'list_sessions', { limit: 500, ...(cursor ? { cursor } : {}) }, { via: 'socket' });
		sessions.push(...body.sessions.map(({ sessionId, title }) => ({ session: sessionId, title })));
		cursor = body.nextCursor;
		if (!cursor) return sessions;
	}
}

// The rows with their writers, whom their epochs tell: see World.setEpochs().
async function readRows({ pair, nodes }) {
	const rows = await pair.primary.sql('SELECT session, first_seq, last_seq, epoch, xmin::text FROM log ORDER BY session, first_seq');
	return rows.map(([session, first, last, epoch, xid]) => ({ session, first: Number(first), last: Number(last), epoch: Number(epoch), xid: Number(xid),
		node: nodes[Math.floor(Number(epoch) / EPOCHS) - 1]?.name ?? 'nobody', partition: partitionOfBytes(Buffer.from(session.replaceAll('-', ''), 'hex')) }));
}

export async function readFinal(world) {
	const final = { logs: new Map(), copies: [], problems: [], sightings: world.sightings };
	final.shells = await listAll(world.nodes[0]);
	const waiting = final.shells.map(({ session }) => session);
	const work = async () => {
		for (let session; (session = waiting.pop()); ) await readSession(world, session, final);
	};
	await Promise.all(Array.from({ length: AT_ONCE }, work));
	final.rows = await readRows(world);
	final.modelCalls = world.model.calls();
	return final;
}
