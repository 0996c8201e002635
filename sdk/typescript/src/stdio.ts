// For node only: a runtime of one's own, `agentd stdio` as a child process, with commands and events as lines of JSON-RPC 2.0 on its pipes. A child that died
// is started again by the next attempt, over the same data folder; what was durable is there, and streams go on after their cursors.
import { spawn, type Child } from "node:child_process";
import { AgentRuntime, type ClientOptions } from "./client.js";
import { ConnectionError, StartError } from "./errors.js";
import { RpcPeer } from "./rpc.js";
import type { Subscription, Transport } from "./transport.js";

export interface StdioOptions {
	/** The program. Default: agentd in the PATH. */
	command?: string;
	/** What it is told, such as ["--data-dir", "state"]. */
	args?: readonly string[];
	/** Its environment. Default: that of this process. */
	env?: Record<string, string | undefined>;
	/** Gets each line of its log. */
	onLog?: (line: string) => void;
}

/** Calls `take` with every whole line; gives what is behind the last one. */
function cut(text: string, take: (line: string) => void): string {
	const lines = text.split("\n");
	const rest = lines.pop() as string;
	for (const line of lines) if (line) take(line);
	return rest;
}

function eachLine(pipe: Child["stdout"], take: (line: string) => void): void {
	let rest = "";
	pipe.setEncoding("utf8");
	pipe.on("data", (text) => (rest = cut(rest + text, take)));
}

export class StdioTransport implements Transport {
	readonly #options: StdioOptions;
	/** Of the child that lives, or has not quite ended yet: two of them cannot have one data folder. */
	#peer: RpcPeer | undefined;
	#isClosing = false;

	constructor(options: StdioOptions = {}) {
		this.#options = options;
	}

	async call(_url: string, command: string, input: object, signal: AbortSignal): Promise<unknown> {
		return this.#open().call(command, input, signal);
	}

	async subscribe(_url: string, input: object, signal: AbortSignal): Promise<Subscription> {
		return this.#open().subscribe(input, signal);
	}

	/** The end of its input: the child answers what is under way and leaves. */
	close(): void {
		this.#isClosing = true;
		this.#peer?.lose(new ConnectionError("closed"));
	}

	#open(): RpcPeer {
		this.#peer ??= this.#start();
		return this.#peer;
	}

	#start(): RpcPeer {
		const { command = "agentd", args = [], env, onLog } = this.#options;
		const child = spawn(command, ["stdio", ...args], { stdio: ["pipe", "pipe", "pipe"], ...(env ? { env } : {}) });
		// Given up by us it ends by itself; one that hangs or talks nonsense does not.
		const end = () => (this.#isClosing ? child.stdin.end() : child.kill("SIGKILL"));
		const peer = new RpcPeer({ send: (text) => child.stdin.write(`${text}\n`), close: end });
		let hasSpoken = false;
		let last = "";
		this.#isClosing = false;
		child.stdin.on("error", () => {}); // what is known of it comes with close
		eachLine(child.stdout, (line) => ((hasSpoken = true), peer.take(line)));
		eachLine(child.stderr, (line) => ((last = line), onLog?.(line)));
		child.on("error", (cause) => this.#gone(peer, new StartError(`${command} cannot be started: ${cause.message}`, { cause })));
		child.on("close", (status, signal) => {
			const how = `${command} stdio ended with ${signal ?? `status ${status}`}`;
			this.#gone(peer, status && !hasSpoken ? new StartError(`${how}: ${reasonOf(last)}`) : new ConnectionError(how));
		});
		return peer;
	}

	#gone(peer: RpcPeer, error: ConnectionError | StartError): void {
		if (this.#peer === peer) this.#peer = undefined;
		peer.lose(error);
	}
}

/** What a line of the log says in its `detail`; another line as it is. */
function reasonOf(line: string): string {
	try {
		const { detail } = JSON.parse(line) as { detail?: unknown };
		return typeof detail === "string" ? detail : line;
	} catch {
		return line;
	}
}

/** The client of an `agentd stdio` that is started with the first call; close() ends it. */
export function connectStdio(options: StdioOptions & Omit<ClientOptions, "url" | "token" | "fetch" | "transport"> = {}): AgentRuntime {
	return new AgentRuntime({ ...options, url: "stdio", transport: new StdioTransport(options) });
}
