// The events of a session, or of all of them, as one endless sequence over any number of connections: it resumes by cursor, tries every address, and hands out each event
// once. It pulls: while the consumer does not ask, nothing is read, and the server keeps its place instead of a queue.
import { Continuity } from "./continuity.js";
import type { Endpoints } from "./endpoints.js";
import { ConnectionError, isWeather, type RefusedError } from "./errors.js";
import type { SubscribeEventsInput } from "./gen/commands.js";
import type { AnyEvent, EventType } from "./gen/events.js";
import { Leash, pause, pauseBefore } from "./timing.js";
import type { Subscription, Transport } from "./transport.js";

export interface EventOptions {
	/** Session whose events are wanted. Without it, the facts of all sessions of the tenant, those that are made later among them. */
	sessionId?: string;
	/** Cursor of the last event that arrived (`stream.cursor`), or (of a session) a sequence, or "now". Without it, from the beginning. */
	after?: string | number;
	/** `strict` leaves out types that are not in the standard's schema; without it, `extended`. */
	view?: "strict" | "extended";
	/** Only these types. */
	types?: readonly EventType[];
	/** False leaves out the pieces of running output. All sessions together have none. */
	deltas?: boolean;
	/** Ends the iteration. */
	signal?: AbortSignal;
	/** Longest time without a byte before the connection counts as dead. The server sends a heartbeat every 15 s. */
	silenceMs?: number;
	/** How long to try without a connection before the iteration throws. Without it, for ever. */
	patienceMs?: number;
	/** Told whenever the connection is lost, before it is made again. */
	onInterrupted?: (error: RefusedError | ConnectionError) => void;
}

export interface StreamPlace {
	transport: Transport;
	endpoints: Endpoints;
	attemptMs: number;
}

const SILENCE_MS = 45_000;

/** An async iterator of events; `for await` ends it when it is left. */
export class EventStream<E extends AnyEvent = AnyEvent> implements AsyncIterableIterator<E> {
	readonly #place: StreamPlace;
	readonly #options: EventOptions;
	readonly #leash: Leash;
	readonly #events: AsyncGenerator<E, void>;
	readonly #continuity: Continuity;
	#subscription: Subscription | undefined;
	#line: Leash | undefined; // of the connection
	#silent: string | undefined; // address of the connection, as long as it has brought nothing
	#cursor: string;
	#failures = 0;
	#lostAt: number | undefined;

	constructor(place: StreamPlace, options: EventOptions, closed?: AbortSignal) {
		this.#place = place;
		this.#options = options;
		this.#cursor = String(options.after ?? "");
		this.#continuity = new Continuity(this.#cursor, options.view !== "strict" && options.types === undefined, options.sessionId);
		this.#leash = new Leash(options.signal);
		closed?.addEventListener("abort", () => this.#leash.stop(), { once: true, signal: this.#leash.signal });
		this.#events = this.#generate();
	}

	/** Place after the last event that was handed out: give it as `after` to go on from there, now or in another process. */
	get cursor(): string {
		return this.#cursor;
	}

	next(): Promise<IteratorResult<E, void>> {
		return this.#events.next();
	}

	/** Ends the stream; a next() that waits is done, too. */
	return(): Promise<IteratorResult<E, void>> {
		this.#leash.stop();
		this.#leash.release();
		return this.#events.return();
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	async *#generate(): AsyncGenerator<E, void> {
		try {
			while (!this.#leash.signal.aborted) {
				const event = await this.#pull();
				if (event) yield event;
			}
		} finally {
			this.#drop();
			this.#leash.stop();
			this.#leash.release();
		}
	}

	/** The next event; undefined when the connection was made, lost or had nothing new. */
	async #pull(): Promise<E | undefined> {
		try {
			this.#subscription ??= await this.#connect();
			const frame = await this.#subscription.next(this.#options.silenceMs ?? SILENCE_MS);
			if (!frame) throw new ConnectionError("the server ended the stream");
			this.#failures = 0;
			this.#silent = undefined;
			this.#lostAt = undefined;
			const verdict = this.#continuity.judge(frame);
			if (verdict === "seen") return undefined;
			if (verdict === "hole") throw new ConnectionError("an event is missing on this connection");
			this.#cursor = frame.cursor;
			return frame.event as E;
		} catch (error) {
			await this.#interrupted(error);
			return undefined;
		}
	}

	async #connect(): Promise<Subscription> {
		const { sessionId, view, types, deltas } = this.#options;
		const input: SubscribeEventsInput = { view: view ?? "extended" };
		if (sessionId !== undefined) input.sessionId = sessionId;
		if (this.#cursor !== "") input.after = this.#cursor;
		if (types) input.types = [...types];
		if (deltas !== undefined) input.deltas = deltas;
		const url = (this.#silent = this.#place.endpoints.current);
		const line = (this.#line = new Leash(this.#leash.signal));
		line.stopAfter(this.#place.attemptMs, new ConnectionError(`${url} did not open the stream within ${this.#place.attemptMs} ms`));
		try {
			return await this.#place.transport.subscribe(url, input, line.signal);
		} finally {
			line.calm();
		}
	}

	#drop(): void {
		this.#subscription?.close();
		this.#subscription = undefined;
		this.#line?.release();
	}

	/** Waits before the next connection; throws what no connection mends. */
	async #interrupted(error: unknown): Promise<void> {
		this.#drop();
		if (this.#leash.signal.aborted) return;
		if (!isWeather(error)) throw error;
		if (this.#silent !== undefined) this.#place.endpoints.moveFrom(this.#silent);
		this.#lostAt ??= performance.now();
		if (performance.now() - this.#lostAt >= (this.#options.patienceMs ?? Infinity)) throw error;
		this.#options.onInterrupted?.(error);
		// A connection that brought something is made again at once.
		const wait = this.#failures++ === 0 ? 0 : pauseBefore(this.#failures - 2, error.retryAfterMs);
		await pause(wait, this.#leash.signal).catch(() => {});
	}
}
