// For node only: the daemon of this user, over its unix socket, found the way agentctl finds it. Who may connect is decided by the socket's folder.
// And what stdio.ts has, a runtime of one's own.
import { request } from "node:http";
import { homedir } from "node:os";
import { Readable } from "node:stream";
import { AgentRuntime, type ClientOptions } from "./client.js";
import type { Fetch } from "./http.js";

export { connectStdio, StdioTransport, type StdioOptions } from "./stdio.js";

type Environment = Record<string, string | undefined>;

/** Where the daemon of this user listens: $AGENTD_SOCKET, else agentd.sock in $AGENTD_DATA_DIR, $XDG_STATE_HOME/agentd or ~/.local/state/agentd. */
export function findSocket(env: Environment = process.env): string {
	if (env["AGENTD_SOCKET"]) return env["AGENTD_SOCKET"];
	if (env["AGENTD_DATA_DIR"]) return `${env["AGENTD_DATA_DIR"]}/agentd.sock`;
	if (env["XDG_STATE_HOME"]?.startsWith("/")) return `${env["XDG_STATE_HOME"]}/agentd/agentd.sock`;
	return `${env["HOME"] || homedir()}/.local/state/agentd/agentd.sock`;
}

/** A fetch whose bytes go through a unix socket, as far as the client needs one: text out, a stream in. */
export function socketFetch(socketPath: string): Fetch {
	return (url, init) =>
		new Promise((done, fail) => {
			const { pathname, search } = new URL(url);
			const options = { socketPath, path: pathname + search, method: init.method ?? "GET", headers: init.headers as Record<string, string>, signal: init.signal ?? undefined };
			const outgoing = request(options, (incoming) => {
				const headers = new Headers();
				for (const [name, value] of Object.entries(incoming.headers)) if (value !== undefined) headers.set(name, String(value));
				done(new Response(Readable.toWeb(incoming), { status: incoming.statusCode ?? 0, headers }));
			});
			outgoing.on("error", fail);
			outgoing.end(init.body as string | undefined);
		});
}

/** The client of the daemon that runs for this user. */
export function connectLocal(options: Omit<ClientOptions, "url" | "fetch" | "transport"> & { socket?: string } = {}): AgentRuntime {
	const { socket, ...rest } = options;
	return new AgentRuntime({ ...rest, url: "http://localhost", fetch: socketFetch(socket ?? findSocket()) });
}
