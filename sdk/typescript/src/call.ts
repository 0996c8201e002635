// One call of the caller over as many attempts as it takes: a read, or a write that carries a key, may be sent again when the connection is lost or
// the server says "later"; anything else is sent once.
import { ConnectionError, DeadlineError, isWeather } from "./errors.js";
import type { Endpoints } from "./endpoints.js";
import type { CommandRow } from "./gen/commands.js";
import { Leash, pause, pauseBefore } from "./timing.js";
import type { Transport } from "./transport.js";

/** How one call is made. */
export interface CallOptions {
	/** Stops waiting; the call rejects with the signal's reason. What the server has taken by then stands. */
	signal?: AbortSignal;
	/** When to give up: a point in time, as a Date or in milliseconds of Date.now(). */
	deadline?: Date | number;
	/** When to give up, from now on. Without either, the client's `timeoutMs`. */
	timeoutMs?: number;
}

/** What is the same for all calls of a client. */
export interface CallPlace {
	transport: Transport;
	endpoints: Endpoints;
	timeoutMs: number;
	/** Most time for one attempt, so that a node that hangs is left in time. */
	attemptMs: number;
}

/** A key that nobody else has; also where there is no crypto.randomUUID, as on pages without TLS. */
export function newKey(): string {
	return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The input as it is sent: a write without a key gets one, the same for every attempt. */
function keyed(row: CommandRow, input: Record<string, unknown>): Record<string, unknown> {
	const hasKey = row.keys.some((name) => input[name] !== undefined);
	if (row.isRead || hasKey || !row.keys.includes("idempotencyKey")) return input;
	return { ...input, idempotencyKey: newKey() };
}

function isSafe(row: CommandRow, input: Record<string, unknown>): boolean {
	return row.isRead || row.keys.some((name) => input[name] !== undefined);
}

function timeLeft(place: CallPlace, options: CallOptions): number {
	if (options.deadline !== undefined) return Number(options.deadline) - Date.now();
	return options.timeoutMs ?? place.timeoutMs;
}

async function attempt(place: CallPlace, url: string, row: CommandRow, input: object, leash: Leash, leftMs: number): Promise<unknown> {
	const limit = Math.min(leftMs, place.attemptMs);
	leash.stopAfter(limit, new ConnectionError(`${url} did not answer ${row.name} within ${Math.round(limit)} ms`));
	try {
		return await place.transport.call(url, row.name, input, leash.signal);
	} finally {
		leash.release();
	}
}

export async function callCommand(place: CallPlace, row: CommandRow, given: object, options: CallOptions = {}): Promise<unknown> {
	const input = keyed(row, given as Record<string, unknown>);
	const until = performance.now() + timeLeft(place, options);
	let last: unknown;
	for (let n = 0; ; n++) {
		options.signal?.throwIfAborted();
		const left = until - performance.now();
		if (left <= 0) throw new DeadlineError(`${row.name}: the deadline passed`, { cause: last });
		const url = place.endpoints.current;
		try {
			return await attempt(place, url, row, input, new Leash(options.signal), left);
		} catch (error) {
			if (options.signal?.aborted) throw options.signal.reason;
			if (!isWeather(error)) throw error;
			place.endpoints.moveFrom(url);
			if (!isSafe(row, input)) throw error;
			last = error;
		}
		const wait = pauseBefore(n, last instanceof Error && "retryAfterMs" in last ? (last.retryAfterMs as number | undefined) : 0);
		if (performance.now() + wait >= until) throw new DeadlineError(`${row.name}: the deadline passes before the next attempt`, { cause: last });
		await pause(wait, options.signal);
	}
}
