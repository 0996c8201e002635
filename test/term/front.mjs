// A server with a list of models, as ollama has: it answers the first request, the trial call of `agentctl`; the rest is the scripted model's.
//   node test/term/front.mjs --port N [--tls FOLDER]     serves until it is ended; FOLDER has cert.pem and key.pem
import http from "node:http";
import https from "node:https";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { start as startModel } from "../model/scripted.mjs";

/** `tries.done`: the trial was answered; `tries.calls`: with a call of its tool. */
export async function startFront(port, tries, tls) {
	const model = await startModel(0);
	const answer = (request, response) => {
		if (request.url === "/v1/models") {
			response.end(JSON.stringify({ object: "list", data: [{ id: "small\u001b[2J" }, { id: "large" }] }));
			return;
		}
		if (request.headers.authorization === "Bearer sk-wrong") {
			response.writeHead(401).end("{}");
			return;
		}
		if (request.headers["content-length"] && request.url === "/v1/chat/completions" && !tries.done) {
			tries.done = true;
			request.resume();
			const call = { id: "c1", type: "function", function: { name: "ping", arguments: "{}" } };
			response.end(JSON.stringify({ choices: [{ message: { role: "assistant", tool_calls: tries.calls ? [call] : undefined, content: tries.calls ? null : "pong" } }] }));
			return;
		}
		const up = http.request({ port: model.port, host: "127.0.0.1", method: request.method, path: request.url, headers: request.headers }, (reply) => {
			response.writeHead(reply.statusCode, reply.headers);
			reply.pipe(response);
		});
		up.on("error", () => response.destroy());
		request.pipe(up);
	};
	const server = tls ? https.createServer(tls, answer) : http.createServer(answer);
	await new Promise((ready, fail) => server.once("error", fail).listen(port, "127.0.0.1", ready));
	return {
		model, port: server.address().port,
		async close() {
			server.close();
			server.closeAllConnections();
			await model.close();
		},
	};
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
	const option = (name) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : undefined);
	const folder = option("--tls");
	await startFront(Number(option("--port")), { done: false, calls: true }, folder && { cert: readFileSync(join(folder, "cert.pem")), key: readFileSync(join(folder, "key.pem")) });
	process.stdout.write("ready\n");
}
