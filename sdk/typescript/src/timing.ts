// Waiting that can be stopped, the pauses between attempts, and a signal for one attempt out of a caller's signal and a time limit.

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

/** Resolves after that time; rejects with the signal's reason. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
	return new Promise((done, fail) => {
		const stop = () => {
			clearTimeout(timer);
			fail(signal?.reason);
		};
		const timer = setTimeout(() => {
			signal?.removeEventListener("abort", stop);
			done();
		}, ms);
		if (signal?.aborted) stop();
		else signal?.addEventListener("abort", stop, { once: true });
	});
}

/** Before attempt `n` + 1: twice as long each time, spread so that clients do not come back together; at least what the server asks for. */
export function pauseBefore(n: number, atLeastMs = 0): number {
	const full = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(n, 16));
	return Math.max(atLeastMs, full * (0.5 + Math.random() / 2));
}

/** A signal that follows another one and can be stopped by itself; `release` lets go of the other one. */
export class Leash {
	readonly #controller = new AbortController();
	readonly #outer: AbortSignal | undefined;
	readonly #follow = () => this.#controller.abort(this.#outer?.reason);
	#timer: ReturnType<typeof setTimeout> | undefined;

	constructor(outer?: AbortSignal) {
		this.#outer = outer;
		if (outer?.aborted) this.#follow();
		else outer?.addEventListener("abort", this.#follow, { once: true });
	}

	get signal(): AbortSignal {
		return this.#controller.signal;
	}

	/** Stops by itself after that time, unless that is called again or released first. */
	stopAfter(ms: number, reason: Error): void {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => this.stop(reason), Math.max(0, ms));
	}

	calm(): void {
		clearTimeout(this.#timer);
	}

	stop(reason?: unknown): void {
		this.#controller.abort(reason);
	}

	release(): void {
		this.calm();
		this.#outer?.removeEventListener("abort", this.#follow);
	}
}

/** The value of a promise, or the reason of the signal as soon as it is aborted. For the body of an answer: Node's fetch holds its request weakly, and
 * once that is collected as garbage an abort does not reach the body any more. */
export function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
	return new Promise((resolve, reject) => {
		const stop = () => reject(signal.reason as Error);
		if (signal.aborted) stop();
		signal.addEventListener("abort", stop, { once: true });
		promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
	});
}
