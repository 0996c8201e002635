// A server whose every answer the test chooses: for what the client has to do when a real one would be too well behaved.
import http from 'node:http';
import { after } from 'node:test';

const servers = new Set();

after(() => {
	for (const server of servers) {
		server.closeAllConnections();
		server.close();
	}
});

/** `answer(call, res)` gets { command, input, headers } and the response; { url, calls, server }. */
export async function serve(answer) {
	const calls = [];
	const server = http.createServer(async (req, res) => {
		const pieces = [];
		for await (const piece of req) pieces.push(piece);
		const call = { command: req.url.replace('/v1/', ''), input: JSON.parse(Buffer.concat(pieces)), headers: req.headers, at: performance.now() };
		calls.push(call);
		answer(call, res, calls.length);
	});
	servers.add(server);
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	return { url: `http://127.0.0.1:${server.address().port}`, calls, server };
}

export function json(res, status, body, headers = {}) {
	res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

export function refuse(res, status, code, { retryable = false, ...more } = {}, headers = {}) {
	json(res, status, { error: { code, message: `${code} happened`, retryable, next: 'Do something else.', ...more } }, headers);
}

export function stream(res) {
	res.writeHead(200, { 'content-type': 'text/event-stream' });
	res.flushHeaders();
	return res;
}

const S = 'sess_00000000000000000000000001';

/** A fact, and a piece of a step's output, as frames of the wire. */
export const fact = (sequence, type = 'runtime.warning', more = {}) =>
	frame(String(sequence), { type, eventId: `evt_${sequence}`, sessionId: S, sequence, payload: {}, ...more });
export const delta = (sequence, offset, text) =>
	frame(`${sequence}.1:${offset + Buffer.byteLength(text)}`, {
		type: 'model.delta', eventId: `evt_${sequence}_${offset}`, sessionId: S, sequence, stepId: 'step_1', payload: { kind: 'text', delta: text, offset },
	});
const frame = (id, event) => `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;

/** The first events of a stream as `sequence` or the text of a delta. */
export async function take(events, count) {
	const seen = [];
	for await (const event of events) {
		seen.push(event.payload.delta ?? event.sequence);
		if (seen.length === count) break;
	}
	return seen;
}
