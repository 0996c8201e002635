// One JSON-RPC 2.0 connection: answers find their calls, events their subscriptions, and when it is lost everybody hears of it. What carries the
// texts is the caller's: a WebSocket (websocket.ts), or the pipes of `agentd stdio` (stdio.ts).
import { ConnectionError, RefusedError, type AgentRuntimeError, type Refusal } from "./errors.js";
import { ERRORS, type ErrorCode } from "./gen/errors.js";
import type { AnyEvent } from "./gen/events.js";
import type { Frame, Subscription } from "./transport.js";

/** Sends texts, one message each. */
export interface RpcWire {
	send(text: string): void;
	close(): void;
}

interface Message {
	id?: number;
	method?: string;
	params?: { subscriptionId: string; cursor?: string; event?: AnyEvent; error?: Refusal };
	result?: unknown;
	error?: { message: string; data?: Refusal };
}

interface Waiting {
	done(result: unknown): void;
	fail(error: unknown): void;
}

/** Frames that wait for a slow consumer; then the subscription is given back, and taken again at its place once they are read. */
const QUEUE_MAX = 512;

function errorOf(message: string, refusal: Refusal | undefined): Error {
	if (!refusal) return new ConnectionError(message);
	return new RefusedError(refusal, ERRORS[refusal.code as ErrorCode]?.http ?? 500);
}

class RpcSubscription implements Subscription {
	readonly #peer: RpcPeer;
	readonly #input: object;
	readonly #signal: AbortSignal;
	readonly #queue: Frame[] = [];
	#id: string | undefined;
	#cursor: string | undefined;
	#end: { error?: unknown } | undefined;
	#wake: () => void = () => {};

	constructor(peer: RpcPeer, input: object, signal: AbortSignal) {
		this.#peer = peer;
		this.#input = input;
		this.#signal = signal;
	}

	async open(): Promise<void> {
		const input = this.#cursor === undefined ? this.#input : { ...this.#input, after: this.#cursor };
		// The events follow the answer at once: who gets them is settled in the same breath.
		await this.#peer.call("subscribe_events", input, this.#signal, (result) => {
			this.#id = (result as { subscriptionId: string }).subscriptionId;
			this.#peer.streams.set(this.#id, this);
		});
	}

	take(frame: Frame): void {
		this.#queue.push(frame);
		this.#cursor = frame.cursor;
		if (this.#queue.length >= QUEUE_MAX) this.#giveBack();
		this.#wake();
	}

	over(error?: unknown): void {
		this.#id = undefined;
		this.#end ??= error === undefined ? {} : { error };
		this.#wake();
	}

	#giveBack(): void {
		const id = this.#id;
		if (id === undefined) return;
		this.#id = undefined;
		this.#peer.streams.delete(id);
		this.#peer.call("unsubscribe", { subscriptionId: id }).catch(() => {});
	}

	async next(silenceMs: number): Promise<Frame | undefined> {
		const calm = this.#peer.watch(silenceMs);
		const stop = () => this.over(this.#signal.reason);
		this.#signal.addEventListener("abort", stop, { once: true });
		try {
			return await this.#next();
		} finally {
			calm();
			this.#signal.removeEventListener("abort", stop);
		}
	}

	async #next(): Promise<Frame | undefined> {
		for (;;) {
			const frame = this.#queue.shift();
			if (frame) return frame;
			if (this.#end?.error !== undefined) throw this.#end.error;
			if (this.#end) return undefined;
			if (this.#id === undefined) await this.open();
			else await new Promise<void>((wake) => (this.#wake = wake));
		}
	}

	close(): void {
		this.#giveBack();
		this.over();
	}
}

export class RpcPeer {
	readonly streams = new Map<string, RpcSubscription>();
	readonly #wire: RpcWire;
	readonly #waiting = new Map<number, Waiting>();
	#last = 0;
	#heardAt = performance.now();
	#lost: unknown;

	constructor(wire: RpcWire) {
		this.#wire = wire;
	}

	/** `taken` sees the result before anything that comes behind it. */
	call(method: string, params: object, signal?: AbortSignal, taken?: (result: unknown) => void): Promise<unknown> {
		if (this.#lost !== undefined) return Promise.reject(this.#lost);
		if (signal?.aborted) return Promise.reject(signal.reason);
		const id = ++this.#last;
		const at = performance.now();
		return new Promise<unknown>((done, fail) => {
			const stop = () => {
				this.#settle(id)?.fail(signal?.reason);
				// The time for an attempt is over and nothing came at all: whoever asks next should not wait for the same.
				if (signal?.reason instanceof ConnectionError && this.#heardAt < at) this.lose(signal.reason);
			};
			const leave = () => signal?.removeEventListener("abort", stop);
			this.#waiting.set(id, {
				done: (result) => (leave(), taken?.(result), done(result)),
				fail: (error) => (leave(), fail(error)),
			});
			signal?.addEventListener("abort", stop, { once: true });
			this.#wire.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
		});
	}

	async subscribe(input: object, signal: AbortSignal): Promise<Subscription> {
		const subscription = new RpcSubscription(this, input, signal);
		await subscription.open();
		return subscription;
	}

	#settle(id: number | undefined): Waiting | undefined {
		const waiting = this.#waiting.get(id ?? 0);
		this.#waiting.delete(id ?? 0);
		return waiting;
	}

	/** A text has arrived. */
	take(text: string): void {
		this.#heardAt = performance.now();
		try {
			this.#message(JSON.parse(text) as Message);
		} catch (cause) {
			this.lose(new ConnectionError("the server sent what is no message", { cause }));
		}
	}

	#message({ id, method, params, result, error }: Message): void {
		if (params && method === "event") this.streams.get(params.subscriptionId)?.take({ cursor: params.cursor ?? "", event: params.event as AnyEvent });
		else if (params && method === "subscription.ended") this.#ended(params.subscriptionId, params.error);
		else if (error) this.#settle(id)?.fail(errorOf(error.message, error.data));
		else if (id !== undefined) this.#settle(id)?.done(result);
	}

	#ended(subscriptionId: string, refusal: Refusal | undefined): void {
		const subscription = this.streams.get(subscriptionId);
		this.streams.delete(subscriptionId);
		subscription?.over(refusal && errorOf(refusal.message, refusal));
	}

	/** The connection is gone, or given up. */
	lose(error: AgentRuntimeError): void {
		if (this.#lost !== undefined) return;
		this.#lost = error;
		for (const { fail } of this.#waiting.values()) fail(error);
		for (const subscription of this.streams.values()) subscription.over(error);
		this.#waiting.clear();
		this.streams.clear();
		this.#wire.close();
	}

	/** Gives the connection up after that long without a text. It asks for one before: any answer, also a refusal, says that the server is there. */
	watch(silenceMs: number): () => void {
		const look = () => {
			const quiet = performance.now() - this.#heardAt;
			if (quiet >= silenceMs) this.lose(new ConnectionError(`nothing came for ${silenceMs} ms`));
			else if (quiet >= silenceMs / 3) this.call("unsubscribe", { subscriptionId: "none" }).catch(() => {});
		};
		const timer = setInterval(look, silenceMs / 3);
		return () => clearInterval(timer);
	}
}
