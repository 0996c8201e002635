// The client: one method per command, event streams, turns that are followed to their end, and answers to questions.
import { callCommand, type CallOptions, type CallPlace } from "./call.js";
import { Endpoints } from "./endpoints.js";
import { COMMANDS, type CommandMethods, type CommandName, type Commands, type RespondActionResult } from "./gen/commands.js";
import type { AnyEvent, EventType } from "./gen/events.js";
import type { OfferedTool } from "./gen/enums.js";
import { HttpTransport, type Fetch } from "./http.js";
import { EventStream, type EventOptions } from "./stream.js";
import type { Token, Transport } from "./transport.js";
import { Turn, type ClientTool, type FollowOptions, type RunOptions } from "./turn.js";

export interface ClientOptions {
	/** Address of the server; several are nodes of one cluster and tried in turn. Without it: in node the daemon of this user, over its unix
	 * socket, found as agentctl finds it; in a page the server that the page came from. */
	url?: string | readonly string[];
	/** Token to show, or what gives the current one. */
	token?: Token;
	/** Another fetch than the global one. */
	fetch?: Fetch;
	/** Another way to the server than HTTP; `token` and `fetch` then mean nothing. */
	transport?: Transport;
	/** Time for a call with all its repeats, unless it says otherwise. Default 60 s. */
	timeoutMs?: number;
	/** Time for one attempt of a call or one connection of a stream. Default 15 s. */
	attemptMs?: number;
}

type Near = () => { url: string; fetch?: Fetch };

let near: Near = () => {
	if (typeof location === "undefined") throw new TypeError("url: name the address of the server");
	return { url: location.origin };
};

/** Which server is asked when no address is given; for the entry that knows more of its surroundings (index.node.ts). */
export function setNear(found: Near): void {
	near = found;
}

/** The address that was given, or the near one. A transport of another kind has to be told where to go. */
function placed(options: ClientOptions): ClientOptions & { url: string | readonly string[] } {
	if (options.url !== undefined) return { ...options, url: options.url };
	const found = near();
	if (options.transport && found.fetch) throw new TypeError("url: name the address of the server; this transport does not reach a unix socket");
	return { ...found, ...options, url: found.url };
}

/** A question that waits for somebody. */
export interface PendingAction {
	actionId: string;
	sessionId: string;
	actionType: string;
	decisions: string[];
	title?: string;
	isTruncated?: boolean;
	promptRef?: string;
	[extra: string]: unknown;
}

/** Words that mean yes and no, in the order in which they are tried among those on offer. */
const YES = ["allow", "approve", "extend"];
const NO = ["deny", "reject", "decline", "stop"];

const PART_BYTES = 1024 * 1024;

// The methods of CommandMethods are put on the prototype below, from the generated table.
export interface AgentRuntime extends CommandMethods {}

export class AgentRuntime {
	readonly #place: CallPlace;
	#open = new AbortController(); // what close() ends

	constructor(given: ClientOptions = {}) {
		const options = placed(given);
		this.#place = {
			transport: options.transport ?? new HttpTransport({ token: options.token, fetch: options.fetch }),
			endpoints: new Endpoints(options.url),
			timeoutMs: options.timeoutMs ?? 60_000,
			attemptMs: options.attemptMs ?? 15_000,
		};
	}

	/** Any command by its name; the methods are the same with their own names. */
	call<C extends Exclude<CommandName, "subscribe_events">>(command: C, input: Commands[C]["input"], options?: CallOptions): Promise<Commands[C]["result"]> {
		const row = Object.values(COMMANDS).find(({ name }) => name === command);
		if (!row) throw new TypeError(`there is no command '${command}'`);
		return callCommand(this.#place, row, input, options) as Promise<Commands[C]["result"]>;
	}

	/** The events of a session, or without one the facts of all sessions, from a point on, for ever. Nothing is missed and nothing comes twice, whatever happens to connections and nodes. */
	events<T extends EventType = EventType>(options: EventOptions & { types?: readonly T[] } = {}): EventStream<Extract<AnyEvent, { type: T }>> {
		return new EventStream(this.#place, options, this.#open.signal);
	}

	/** Submits a text and follows the turn: iterate it for its events, or wait for its result(). Without a sessionId it makes a session. */
	run(text: string, options: RunOptions = {}): Turn {
		const { tools, onQuestion, signal, ...given } = options;
		const input = { ...(given.sessionId ? {} : { createPolicy: {} }), ...given, text };
		if (tools) input.options = { ...given.options, tools: [...(given.options?.tools ?? []), ...described(tools)] };
		const receipt = this.submitTurn(input, signal ? { signal } : {});
		return new Turn(this, receipt, followOptions(options), false);
	}

	/** Follows a turn that was submitted before, from its beginning; tools and questions that are done are left alone. */
	attach(turn: { sessionId: string; threadId: string; turnId: string; sequence: number }, options: FollowOptions = {}): Turn {
		return new Turn(this, Promise.resolve(turn), followOptions(options), true);
	}

	/** Says yes to a question. One that `isTruncated` needs the promptDigest of readQuestion(): show its text to the person who decides. */
	approve(actionId: string, options: CallOptions & { promptDigest?: string } = {}): Promise<RespondActionResult> {
		const { promptDigest, ...call } = options;
		return this.#decide(actionId, YES, call, promptDigest);
	}

	/** All that a question asks, from a record of actions() or the payload of action.required, and the proof that it was read. */
	async readQuestion(actionId: string, question: { prompt?: string; title?: string; promptRef?: string }, options?: CallOptions): Promise<{ text: string; promptDigest: string }> {
		const text = question.promptRef === undefined ? (question.prompt ?? question.title ?? "") : await this.readText(question.promptRef, options);
		const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${actionId}\n${text}`));
		return { text, promptDigest: Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("") };
	}

	/** Says no to a question. */
	deny(actionId: string, options?: CallOptions): Promise<RespondActionResult> {
		return this.#decide(actionId, NO, options);
	}

	/** The questions of a session that wait for somebody: those that are open now, then each new one, once. Ends with the signal. */
	async *actions(options: { sessionId: string; signal?: AbortSignal }): AsyncGenerator<PendingAction, void> {
		const { sessionId, signal } = options;
		const { asOfSequence } = await this.getSession({ sessionId }, signal ? { signal } : {});
		const told = new Set<string>();
		const open = async (): Promise<PendingAction[]> => {
			const all = (await this.listActions({ sessionId, limit: 1000 }, signal ? { signal } : {})).actions as PendingAction[];
			return all.filter(({ actionId }) => !told.has(actionId) && told.add(actionId));
		};
		yield* await open();
		const stream = this.events({ sessionId, after: asOfSequence, types: ["action.required"], ...(signal ? { signal } : {}) });
		for await (const { actionId } of stream) if (!told.has(actionId ?? "")) yield* await open();
	}

	/** A stored text as a whole: what outputRef, inputRef and the like lead to. */
	async readText(outputRef: string, options?: CallOptions): Promise<string> {
		const parts: Uint8Array[] = [];
		let [offset, size] = [0, 1];
		while (offset < size) {
			const part = await this.readOutput({ outputRef, offset, length: PART_BYTES }, options);
			const bytes = part.encoding === "base64" ? Uint8Array.from(atob(part.content ?? ""), (c) => c.charCodeAt(0)) : new TextEncoder().encode(part.content ?? "");
			parts.push(bytes);
			size = part.sizeBytes ?? 0;
			offset += bytes.length;
			if (bytes.length === 0) break;
		}
		const decoder = new TextDecoder();
		return parts.map((bytes) => decoder.decode(bytes, { stream: true })).join("") + decoder.decode();
	}

	/** Ends the streams that are open, and closes what the transport keeps open between calls. */
	close(): void {
		this.#open.abort();
		this.#open = new AbortController();
		this.#place.transport.close?.();
	}

	async #decide(actionId: string, words: readonly string[], options?: CallOptions, promptDigest?: string): Promise<RespondActionResult> {
		const { actions } = await this.listActions({ sessionId: sessionOf(actionId), status: "all", limit: 1000 }, options);
		const action = (actions as PendingAction[]).find((a) => a.actionId === actionId);
		const decision = words.find((word) => action?.decisions?.includes(word)) ?? (words[0] as string);
		return this.respondAction({ actionId, decision, ...(promptDigest === undefined ? {} : { promptDigest }) }, options);
	}

	/** @internal */
	static install(): void {
		for (const [method, row] of Object.entries(COMMANDS)) {
			const value = function (this: AgentRuntime, input: object = {}, options?: CallOptions) {
				return callCommand(this.#place, row, input, options);
			};
			Object.defineProperty(AgentRuntime.prototype, method, { value, writable: true, configurable: true });
		}
	}
}

AgentRuntime.install();

function described(tools: Record<string, ClientTool>): OfferedTool[] {
	return Object.entries(tools).map(([name, { run: _, ...description }]) => ({ name, ...description }));
}

function followOptions({ tools, onQuestion, signal }: FollowOptions): FollowOptions {
	return { ...(tools ? { tools } : {}), ...(onQuestion ? { onQuestion } : {}), ...(signal ? { signal } : {}) };
}

/** Every id of something inside a session names it: <kind>_<session>_<number>. */
function sessionOf(id: string): string {
	return `sess_${id.split("_")[1] ?? ""}`;
}
