// PostgreSQL goes away in the middle of a commit and agentd is stopped before it is back: whether the command is recorded is not known, and that is the answer.
// The repeat with the same key says what happened; it is recorded once. A proxy between the two loses the commit, or the answer to it.
import assert from 'node:assert/strict';
import net from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { call, newFolder, ok, readLog, startAgentd, startModel, storeOf } from '../lib/runtime.mjs';

const server = process.env.AR_TEST_POSTGRES;

/** Frontend messages of a connection, one by one: type ('' for the startup) and bytes. */
function reader(each) {
	let bytes = Buffer.alloc(0), isStarted = false;
	return (piece) => {
		bytes = Buffer.concat([bytes, piece]);
		for (;;) {
			const head = isStarted ? 1 : 0;
			if (bytes.length < head + 4 || bytes.length < head + bytes.readInt32BE(head)) return;
			const message = bytes.subarray(0, head + bytes.readInt32BE(head));
			bytes = bytes.subarray(message.length);
			each(isStarted ? String.fromCharCode(message[0]) : '', message);
			isStarted = true;
		}
	};
}

const textAt = (bytes, from) => bytes.subarray(from, bytes.indexOf(0, from)).toString();

/** { port, lost }: when a transaction that has `key` in it is committed, the commit is lost (`which` is "commit") or its answer ("answer"). Nobody gets through
 * from then on. `lost` is settled when that happened. */
async function losingProxy(target, key, which) {
	const lines = new Set();
	let isAway = false, settle;
	const lost = new Promise((done) => { settle = done; });
	function goAway() {
		isAway = true;
		for (const line of lines) line.destroy();
		settle();
	}
	function serve(client) {
		if (isAway) return client.destroy();
		const up = net.connect(target);
		let commit, hasKey = false, isLost = false, answer = Buffer.alloc(0);
		for (const [end, other] of [[client, up], [up, client]]) lines.add(end.on('error', () => {}).on('close', () => other.destroy()));
		client.on('data', reader((type, message) => {
			if (type === 'P' && textAt(message, message.indexOf(0, 5) + 1) === 'COMMIT') commit = textAt(message, 5);
			if (type === 'B') {
				hasKey ||= message.includes(key);
				isLost ||= hasKey && textAt(message, message.indexOf(0, 5) + 1) === commit;
			}
			if (isLost && which === 'commit') goAway();
			else up.write(message);
		}));
		up.on('data', (piece) => {
			if (!isLost) return client.write(piece);
			answer = Buffer.concat([answer, piece]);
			if (answer.includes('COMMIT\0')) goAway();
		});
	}
	const proxy = net.createServer(serve).unref();
	await new Promise((done) => proxy.listen(0, '127.0.0.1', done));
	return { port: proxy.address().port, lost };
}

/** Loses one or the other, and looks at what the client is told and what is recorded. */
async function lose(which) {
	const given = Object.fromEntries(server.split(' ').map((pair) => pair.split('=')));
	const key = `key-of-the-lost-${which}`;
	const dataDir = newFolder(), model = await startModel();
	const { AGENTD_STORE: direct } = storeOf(dataDir);
	const proxy = await losingProxy({ path: join(given.host, `.s.PGSQL.${given.port ?? 5432}`) }, key, which);
	const store = `host=127.0.0.1 port=${proxy.port} sslmode=disable gssencmode=disable user=${given.user ?? 'postgres'} ${/dbname=\S+/.exec(direct)[0]}`;
	const rt = await startAgentd({ dataDir, model, env: { AGENTD_STORE: store }, config: { 'cluster.handover_ms': 0, 'cluster.lease_ms': 1000 } });
	const { sessionId } = await ok(rt, 'create_session', {});
	const input = { sessionId, text: 'hello', idempotencyKey: key };
	const pending = call(rt, 'submit_turn', input);
	await proxy.lost;
	process.kill(rt.pid, 'SIGTERM');
	const { status, body } = await pending;
	assert.deepEqual([status, body.error.code, body.error.retryable], [503, 'outcome_unknown', true], JSON.stringify(body));
	await rt.kill9(); // it would try for some time to tell the other nodes

	const next = await startAgentd({ dataDir, model });
	const turns = async () => (await readLog(next, sessionId)).filter((f) => f.type === 'turn.submitted').map((f) => f.event.turnId);
	assert.equal((await turns()).length, which === 'answer' ? 1 : 0);
	const { turnId } = await ok(next, 'submit_turn', input);
	assert.deepEqual(await turns(), [turnId]);
	await next.stop();
}

test('a commit that is lost, and one whose answer is lost, are outcome_unknown; the repeat records them at most once', { skip: !server && 'no server' }, () =>
	Promise.all(['commit', 'answer'].map(lose)));
