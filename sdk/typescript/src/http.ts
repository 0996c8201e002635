// Commands as POST /v1/<command>, events as server-sent events over fetch. Nothing but fetch and streams, so it runs in browsers too.
import { ConnectionError, RefusedError, type Refusal } from "./errors.js";
import { SseParser } from "./sse.js";
import { Leash, unlessAborted } from "./timing.js";
import { tokenOf, type Frame, type Subscription, type Token, type Transport } from "./transport.js";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface HttpOptions {
	token?: Token | undefined;
	/** Another fetch than the global one. */
	fetch?: Fetch | undefined;
}

function retryAfter(response: Response): number | undefined {
	const text = response.headers.get("retry-after");
	if (text === null) return undefined;
	const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
	return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** The answer's error object, or a ConnectionError for what a proxy on the way says instead. */
async function refusalOf(response: Response, signal: AbortSignal): Promise<Error> {
	const retryAfterMs = retryAfter(response);
	try {
		const { error } = (await unlessAborted(signal, response.json())) as { error?: Refusal };
		if (error && typeof error.code === "string") return new RefusedError(error, response.status, retryAfterMs);
	} catch (cause) {
		return new ConnectionError(`status ${response.status} with no error that can be read`, { cause, retryAfterMs });
	}
	return new ConnectionError(`status ${response.status} without an error object`, { retryAfterMs });
}

class SseSubscription implements Subscription {
	readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
	readonly #leash: Leash;
	readonly #parser = new SseParser();

	constructor(body: ReadableStream<Uint8Array>, leash: Leash) {
		this.#reader = body.getReader();
		this.#leash = leash;
		// A fetch that has answered may have forgotten its signal (see unlessAborted).
		leash.signal.addEventListener("abort", () => void this.#reader.cancel(leash.signal.reason).catch(() => {}), { once: true });
	}

	async next(silenceMs: number): Promise<Frame | undefined> {
		try {
			return await this.#next(silenceMs);
		} catch (cause) {
			const reason: unknown = this.#leash.signal.reason;
			throw reason instanceof ConnectionError ? reason : new ConnectionError("the event stream broke", { cause });
		} finally {
			this.#leash.calm();
		}
	}

	async #next(silenceMs: number): Promise<Frame | undefined> {
		for (;;) {
			const message = this.#parser.next();
			if (message) return { cursor: message.id, event: JSON.parse(message.data) as Frame["event"] };
			this.#leash.stopAfter(silenceMs, new ConnectionError(`nothing came for ${silenceMs} ms, not even a heartbeat`));
			const { done, value } = await this.#reader.read();
			if (done) {
				this.#leash.signal.throwIfAborted();
				return undefined;
			}
			this.#parser.push(value);
		}
	}

	close(): void {
		this.#leash.stop(new ConnectionError("closed"));
		this.#leash.release();
		this.#reader.cancel().catch(() => {});
	}
}

export class HttpTransport implements Transport {
	readonly #fetch: Fetch;
	readonly #token: Token | undefined;

	constructor(options: HttpOptions = {}) {
		this.#fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
		this.#token = options.token;
	}

	async #post(url: string, command: string, input: object, signal: AbortSignal): Promise<Response> {
		const headers: Record<string, string> = { "content-type": "application/json" };
		const token = await tokenOf(this.#token);
		if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
		try {
			return await this.#fetch(`${url}/v1/${command}`, {
				method: "POST", headers, body: JSON.stringify(input), signal, cache: "no-store", redirect: "error",
			});
		} catch (cause) {
			throw signal.aborted ? signal.reason : new ConnectionError(`${url} does not answer`, { cause });
		}
	}

	async call(url: string, command: string, input: object, signal: AbortSignal): Promise<unknown> {
		const response = await this.#post(url, command, input, signal);
		if (!response.ok) throw await refusalOf(response, signal);
		try {
			return await unlessAborted(signal, response.json());
		} catch (cause) {
			throw signal.aborted ? signal.reason : new ConnectionError(`the answer of ${url} broke off`, { cause });
		}
	}

	async subscribe(url: string, input: object, signal: AbortSignal): Promise<Subscription> {
		const leash = new Leash(signal);
		try {
			const response = await this.#post(url, "subscribe_events", input, leash.signal);
			if (!response.ok) throw await refusalOf(response, leash.signal);
			if (!response.body || !response.headers.get("content-type")?.startsWith("text/event-stream"))
				throw new ConnectionError(`${url} sent no event stream`);
			return new SseSubscription(response.body, leash);
		} catch (error) {
			leash.release();
			throw error;
		}
	}
}
