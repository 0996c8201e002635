// A daemon that misbehaves on purpose, for the error paths that a real one does not show at will: a unix socket, GET
// /health, one canned answer (or a function of the input) per path, and event streams that are given as lists of chunks and cut after each list.
import http from "node:http";

export async function startFake(socket, { replies = {}, streams = [] } = {}) {
	const asked = [];
	const broken = new Set();
	const server = http.createServer((req, res) => {
		let body = "";
		req.on("data", (piece) => { body += piece; });
		req.on("end", () => {
			const url = new URL(req.url, "http://localhost");
			asked.push({ path: url.pathname, after: url.searchParams.get("after"), view: url.searchParams.get("view"), body });
			if (broken.delete(url.pathname)) return res.destroy();
			if (url.pathname.endsWith("/events")) return stream(res, streams.shift());
			const plan = replies[url.pathname] ?? {};
			const { status = 200, text, json = { status: "ok" } } = typeof plan === "function" ? plan(JSON.parse(body)) : plan;
			res.writeHead(status, { "content-type": "application/json" }).end(text ?? JSON.stringify(json));
		});
	});
	await new Promise((ready) => server.listen(socket, ready));
	return {
		asked,
		/** The next request to this path gets no answer. */
		breakNext: (path) => broken.add(path),
		close: () => new Promise((done) => { server.closeAllConnections(); server.close(done); }),
	};
}

// A refusal is { status, json }; a function writes the stream itself; otherwise chunks that end with the connection.
function stream(res, plan = []) {
	if (typeof plan === "function") return plan(res.writeHead(200, { "content-type": "text/event-stream" }));
	if (!Array.isArray(plan)) return res.writeHead(plan.status).end(JSON.stringify(plan.json));
	res.writeHead(200, { "content-type": "text/event-stream" });
	for (const chunk of plan) res.write(chunk);
	setTimeout(() => res.destroy(), 20);
}

const base = { schemaVersion: "0.1", runtimeId: "rt_1", sessionId: "sess_x", threadId: "thread_x", turnId: "turn_x",
	stepId: "step_1", timestamp: "2026-01-01T00:00:00.000000Z" };

export const frame = (cursor, event) => `id: ${cursor}\ndata: ${JSON.stringify({ ...base, ...event })}\n\n`;

export const text = (sequence, offset, delta) =>
	frame(`${sequence}.1:${offset + Buffer.byteLength(delta)}`,
		{ type: "model.delta", sequence, payload: { kind: "text", delta, offset } });

export const completed = (sequence) =>
	frame(sequence, { type: "turn.completed", sequence, payload: { status: "completed", outcome: {} } });

/** What a submit_turn is answered with. */
export const receipt = { "/v1/submit_turn": { status: 202,
	json: { sessionId: "sess_x", threadId: "thread_x", turnId: "turn_x", status: "accepted", sequence: 5 } } };
