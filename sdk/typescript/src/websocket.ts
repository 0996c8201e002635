// Commands and events over one WebSocket per address, as JSON-RPC 2.0: for clients that follow many sessions, where each stream over HTTP/1.1 takes
// a connection of its own. node has WebSocket from version 22 on; before, give one that works alike.
import { ConnectionError } from "./errors.js";
import { RpcPeer } from "./rpc.js";
import { tokenOf, type Subscription, type Token, type Transport } from "./transport.js";

const PROTOCOL = "agentruntime.v1";

type WebSocketClass = new (url: string, protocols: string[]) => WebSocket;

export interface WebSocketOptions {
	token?: Token | undefined;
	/** Another WebSocket than the global one. */
	WebSocket?: WebSocketClass | undefined;
}

interface Line {
	peer?: Promise<RpcPeer>;
}

export class WebSocketTransport implements Transport {
	readonly #options: WebSocketOptions;
	readonly #lines = new Map<string, Line>();

	constructor(options: WebSocketOptions = {}) {
		this.#options = options;
	}

	async call(url: string, command: string, input: object, signal: AbortSignal): Promise<unknown> {
		return (await this.#peer(url, signal)).call(command, input, signal);
	}

	async subscribe(url: string, input: object, signal: AbortSignal): Promise<Subscription> {
		return (await this.#peer(url, signal)).subscribe(input, signal);
	}

	close(): void {
		for (const { peer } of this.#lines.values()) peer?.then((it) => it.lose(new ConnectionError("closed"))).catch(() => {});
		this.#lines.clear();
	}

	/** The connection to this address, made when there is none. The signal stops the wait; one that hangs is no use to the next call either. */
	async #peer(url: string, signal: AbortSignal): Promise<RpcPeer> {
		const line = this.#lines.get(url) ?? {};
		this.#lines.set(url, line);
		line.peer ??= this.#open(url, line);
		let stop = () => {};
		const stopped = new Promise<never>((_, fail) => {
			stop = () => fail(signal.reason);
			signal.addEventListener("abort", stop, { once: true });
			if (signal.aborted) stop();
		});
		try {
			return await Promise.race([line.peer, stopped]);
		} catch (error) {
			this.#forget(url, line);
			throw error;
		} finally {
			signal.removeEventListener("abort", stop);
		}
	}

	#forget(url: string, line: Line): void {
		if (this.#lines.get(url) === line) this.#lines.delete(url);
	}

	async #open(url: string, line: Line): Promise<RpcPeer> {
		const token = await tokenOf(this.#options.token);
		const Socket = this.#options.WebSocket ?? globalThis.WebSocket;
		const socket = new Socket(`${url.replace(/^http/, "ws")}/v1/rpc`, [PROTOCOL, ...(token === undefined ? [] : [`bearer.${token}`])]);
		const peer = new RpcPeer({ send: (text) => socket.send(text), close: () => socket.close() });
		return new Promise((done, fail) => {
			socket.addEventListener("open", () => done(peer));
			socket.addEventListener("message", ({ data }) => peer.take(data as string));
			socket.addEventListener("error", () => {}); // what is known of it comes with close
			socket.addEventListener("close", () => {
				const error = new ConnectionError(`the connection to ${url} is closed`);
				this.#forget(url, line);
				peer.lose(error);
				fail(error);
			});
		});
	}
}
