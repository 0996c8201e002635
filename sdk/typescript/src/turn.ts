// One turn from its submission to its end: the events that belong to it, the answer folded out of them, tools that the caller runs, and answers to
// its questions. Everything it knows comes from the event stream, so it survives lost connections and nodes.
import { ConnectionError, type RefusedError } from "./errors.js";
import type { AgentRuntime } from "./client.js";
import type { SubmitTurnInput, SubmitTurnResult } from "./gen/commands.js";
import type { AnyEvent, RuntimeEvent } from "./gen/events.js";
import type { EventStream } from "./stream.js";
import { newKey } from "./call.js";

/** A tool that the caller of the turn runs. */
export interface ClientTool {
	description: string;
	/** JSON Schema of the arguments. */
	inputSchema: Record<string, unknown>;
	/** True when it changes nothing: it then runs without asking. */
	isReadOnly?: boolean;
	/** True when running it again with the same arguments changes nothing further. */
	isIdempotent?: boolean;
	/** True when it may run beside others. */
	isConcurrencySafe?: boolean;
	/** True when its effect cannot be undone. */
	isDestructive?: boolean;
	/** Does it. A text is what the model reads; an object is given as data. What it throws is told to the model. */
	run(args: Record<string, unknown>, call: { toolCallId: string; signal: AbortSignal }): unknown;
}

/** An open question of the turn. */
export interface Question {
	actionId: string;
	/** The words that may be answered. */
	decisions: string[];
	/** The question as it was asked. */
	event: RuntimeEvent<"action.required">;
}

/** What to answer: one of the decisions, or one with what was asked for. Undefined leaves the question to somebody else. */
export type Answer = string | { decision: string; payload?: Record<string, unknown> } | undefined;

export interface FollowOptions {
	/** Tools of the caller, by name. */
	tools?: Record<string, ClientTool>;
	/** Asked about each open question of the turn, once. */
	onQuestion?: (question: Question) => Answer | Promise<Answer>;
	/** Stops following; the turn itself goes on. */
	signal?: AbortSignal;
}

export interface RunOptions extends FollowOptions, Omit<SubmitTurnInput, "text" | "input"> {}

/** How a turn ended. */
export interface TurnResult {
	sessionId: string;
	threadId: string;
	turnId: string;
	status: "completed" | "failed" | "cancelled" | "timed_out" | "lost";
	/** The answer; of a turn that did not complete, what there is of it. */
	text: string;
	/** Why it did not complete: category, message and more. */
	error?: Record<string, unknown>;
	/** Tokens used over all model requests. */
	usage?: Record<string, unknown>;
	/** The fact that ended it. */
	end: RuntimeEvent<"turn.completed"> | RuntimeEvent<"turn.failed">;
}

type TurnPlace = Pick<SubmitTurnResult, "sessionId" | "threadId" | "turnId" | "sequence">;

const utf8 = new TextEncoder();

/** A turn that is followed: iterate it for its events, or wait for its result(). Both pull from one stream; each event is handed out once. */
export class Turn implements AsyncIterableIterator<AnyEvent> {
	readonly #client: AgentRuntime;
	readonly #place: Promise<TurnPlace>;
	readonly #options: FollowOptions;
	readonly #isReplay: boolean;
	readonly #work = new Set<Promise<void>>();
	readonly #stop = new AbortController();
	#stream: EventStream | undefined;
	#pieces = new Map<number, string>();
	#step: string | undefined;
	#completed: RuntimeEvent<"model.completed"> | undefined;
	#end: TurnResult["end"] | undefined;
	#failure: unknown;

	/** @internal `isReplay`: what is told may have been dealt with before. */
	constructor(client: AgentRuntime, place: Promise<TurnPlace>, options: FollowOptions, isReplay: boolean) {
		this.#client = client;
		this.#place = place;
		this.#options = options;
		this.#isReplay = isReplay;
		place.catch(() => {}); // told by receipt() or next()
		options.signal?.addEventListener("abort", () => this.#stop.abort(options.signal?.reason), { once: true });
		if (options.signal?.aborted) this.#stop.abort(options.signal.reason);
	}

	/** Resolves when the turn is accepted and durable. */
	receipt(): Promise<TurnPlace> {
		return this.#place;
	}

	/** What the model has said so far in the step that runs: the deltas joined. A request that is tried again begins anew. */
	get text(): string {
		return [...this.#pieces].sort(([a], [b]) => a - b).map(([, piece]) => piece).join("");
	}

	/** Place after the last event that was handed out. */
	get cursor(): string {
		return this.#stream?.cursor ?? "";
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	async next(): Promise<IteratorResult<AnyEvent, void>> {
		for (;;) {
			this.#stop.signal.throwIfAborted();
			if (this.#failure !== undefined) throw this.#failure;
			if (this.#end) return { done: true, value: undefined };
			const event = await this.#pull();
			if (event) return { done: false, value: event };
		}
	}

	/** Stops following; the turn itself goes on. */
	async return(): Promise<IteratorResult<AnyEvent, void>> {
		this.#stop.abort(new DOMException("no longer followed", "AbortError"));
		await this.#stream?.return();
		return { done: true, value: undefined };
	}

	/** Follows the turn to its end and says how that was. A turn that failed is a result, not an exception. */
	async result(): Promise<TurnResult> {
		while (!(await this.next()).done);
		const end = this.#end as TurnResult["end"];
		const { sessionId, threadId, turnId } = await this.#place;
		const text = await this.#finalText(end.payload.outputRef);
		const error = end.type === "turn.failed" ? { error: end.payload.error } : {};
		const usage = end.type === "turn.completed" && end.payload.usage ? { usage: end.payload.usage } : {};
		return { sessionId, threadId, turnId, status: end.payload.status, text, ...error, ...usage, end };
	}

	async #pull(): Promise<AnyEvent | undefined> {
		const { sessionId, turnId, sequence } = await this.#place;
		this.#stream ??= this.#client.events({ sessionId, after: sequence - 1, signal: this.#stop.signal });
		const { done, value } = await this.#stream.next();
		if (done && !this.#end) {
			this.#stop.signal.throwIfAborted();
			throw new ConnectionError("the client was closed before the turn ended; attach() follows it again");
		}
		if (done || value.turnId !== turnId) return undefined;
		await this.#take(value);
		return value;
	}

	async #take(event: AnyEvent): Promise<void> {
		if (event.type === "model.requested") this.#begin(event.stepId);
		if (event.type === "model.delta") this.#add(event);
		if (event.type === "model.completed" && event.stepId === this.#step) this.#completed = event;
		if (event.type === "tool.started" && event.payload.runtimeOwner === "client") this.#start(this.#runTool(event));
		if (event.type === "action.required") this.#start(this.#ask(event));
		if (event.type !== "turn.completed" && event.type !== "turn.failed") return;
		this.#end = event;
		await this.#stream?.return();
		await Promise.all(this.#work);
	}

	#begin(stepId: string | undefined): void {
		this.#step = stepId;
		this.#pieces = new Map();
		this.#completed = undefined;
	}

	#add({ payload, stepId }: RuntimeEvent<"model.delta">): void {
		if (stepId !== this.#step) this.#begin(stepId);
		const index = payload.contentIndex ?? 0;
		this.#pieces.set(index, (this.#pieces.get(index) ?? "") + payload.delta);
	}

	/** The deltas joined when they are the whole answer; a step that ended while the connection was away has the rest only in the store. */
	async #finalText(outputRef: string | undefined): Promise<string> {
		if (outputRef === undefined) return "";
		const done = this.#completed?.payload;
		const text = this.text;
		if (done && done.outputRef === outputRef && done.outputBytes === utf8.encode(text).length) return text;
		return this.#client.readText(outputRef, { signal: this.#stop.signal });
	}

	/** Work beside the stream; a fault of it ends the iteration. */
	#start(work: Promise<void>): void {
		const caught = work
			.catch((error: unknown) => {
				if (isSettled(error)) return;
				this.#failure ??= error;
				this.#stream?.return();
			})
			.finally(() => this.#work.delete(caught));
		this.#work.add(caught);
	}

	async #runTool(event: RuntimeEvent<"tool.started">): Promise<void> {
		const tool = this.#options.tools?.[event.payload.toolName];
		const toolCallId = event.toolCallId as string;
		if (!tool || (this.#isReplay && !(await this.#isOpenCall(toolCallId)))) return;
		const signal = this.#stop.signal;
		const report = await this.#tryTool(tool, event).catch((error: unknown) => ({
			status: "error" as const, output: error instanceof Error ? error.message : String(error),
		}));
		await this.#client.reportToolResult({ toolCallId, idempotencyKey: newKey(), ...report }, { signal });
	}

	async #tryTool(tool: ClientTool, { payload, toolCallId }: RuntimeEvent<"tool.started">) {
		const args = payload.inputRef === undefined ? (payload.safeArgs ?? {}) : (JSON.parse(await this.#client.readText(payload.inputRef)) as Record<string, unknown>);
		const value = await tool.run(args, { toolCallId: toolCallId as string, signal: this.#stop.signal });
		if (typeof value === "object" && value !== null && !Array.isArray(value)) return { structuredContent: value as Record<string, unknown> };
		return { output: typeof value === "string" ? value : (JSON.stringify(value) ?? "done") };
	}

	async #isOpenCall(toolCallId: string): Promise<boolean> {
		const { sessionId, threadId } = await this.#place;
		const { threads } = await this.#client.getThreadRead({ sessionId, threadId }, { signal: this.#stop.signal });
		const calls = (threads[0] as { toolCalls?: { toolCallId: string; status: string }[] }).toolCalls ?? [];
		return calls.some((call) => call.toolCallId === toolCallId && call.status === "running");
	}

	async #ask(event: RuntimeEvent<"action.required">): Promise<void> {
		const { onQuestion } = this.#options;
		const actionId = event.actionId as string;
		if (!onQuestion || (this.#isReplay && !(await this.#isPending(actionId)))) return;
		const answer = await onQuestion({ actionId, decisions: event.payload.decisions as string[], event });
		if (answer === undefined) return;
		const response = typeof answer === "string" ? { decision: answer } : answer;
		await this.#client.respondAction({ actionId, ...response }, { signal: this.#stop.signal });
	}

	async #isPending(actionId: string): Promise<boolean> {
		const { sessionId } = await this.#place;
		const { actions } = await this.#client.listActions({ sessionId }, { signal: this.#stop.signal });
		return (actions as { actionId: string }[]).some((action) => action.actionId === actionId);
	}
}

/** Somebody else was first, or the turn ended meanwhile: nothing is wrong. */
function isSettled(error: unknown): boolean {
	const settled = ["already_resolved", "expired", "tool_call_not_found", "action_not_found"];
	return settled.includes((error as Partial<RefusedError>)?.code ?? "");
}
