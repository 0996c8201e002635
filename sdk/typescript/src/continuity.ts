// Tells of every frame whether it is the next one, one that was seen, or one behind a hole. The server's cursors make resumed streams exact; this makes
// the client right also behind something that repeats or swallows frames. Pure.
import { FRAME_TYPES } from "./gen/events.js";
import type { Frame } from "./transport.js";

export type Verdict = "next" | "seen" | "hole";

interface OutputFrame {
	offset?: number;
	length?: number;
	delta?: string;
	argsDelta?: string;
	contentIndex?: number;
	stream?: string;
}

const utf8 = new TextEncoder();
const SESSIONS_MAX = 10_000;

/** Facts after which a step or a process writes nothing more. */
const CLOSING = new Set<string>(["model.completed", "model.failed", "process.completed", "process.failed", "process.terminated"]);

export class Continuity {
	readonly #isWhole: boolean;
	readonly #ends = new Map<string, number>(); // bytes that were handed out, by output
	readonly #lasts = new Map<string, number>(); // newest fact of each session, those that moved last at the end
	#forgiven = ""; // a hole that was there after a new connection too: the server has nothing in it

	/** `isWhole`: every fact of a session is sent, so that their numbers have no holes. Without a session: of all of them. */
	constructor(cursor: string, isWhole: boolean, sessionId?: string) {
		const sequence = Number.parseInt(cursor, 10);
		if (sessionId !== undefined && !Number.isNaN(sequence)) this.#lasts.set(sessionId, sequence);
		this.#isWhole = isWhole;
	}

	judge(frame: Frame): Verdict {
		return FRAME_TYPES.has(frame.event.type) ? this.#output(frame) : this.#fact(frame);
	}

	#hole(what: string): boolean {
		if (this.#forgiven === what) return false;
		this.#forgiven = what;
		return true;
	}

	#fact({ event }: Frame): Verdict {
		const { sequence, type, sessionId } = event;
		const last = this.#lasts.get(sessionId);
		if (last !== undefined && sequence <= last) return "seen";
		if (this.#isWhole && last !== undefined && sequence > last + 1 && this.#hole(`${sessionId}:${last}-${sequence}`)) return "hole";
		this.#move(sessionId, sequence);
		if (CLOSING.has(type)) this.#forget(event.stepId ?? event.processId ?? "");
		return "next";
	}

	/** A session that was not heard of for long is judged anew: memory has an end, however many there are. */
	#move(sessionId: string, sequence: number): void {
		this.#lasts.delete(sessionId);
		this.#lasts.set(sessionId, sequence);
		if (this.#lasts.size <= SESSIONS_MAX) return;
		for (const oldest of this.#lasts.keys()) {
			this.#lasts.delete(oldest);
			return;
		}
	}

	#forget(owner: string): void {
		for (const key of this.#ends.keys()) if (key.startsWith(`${owner}:`)) this.#ends.delete(key);
	}

	#output({ event }: Frame): Verdict {
		const payload = event.payload as OutputFrame;
		const last = this.#lasts.get(event.sessionId);
		if (last !== undefined && event.sequence < last) return "seen";
		if (payload.offset === undefined) return "next";
		const isProcess = event.type === "process.output";
		const key = `${isProcess ? event.processId : event.stepId}:${event.type}:${event.toolCallId ?? payload.stream ?? payload.contentIndex ?? 0}`;
		const end = payload.offset + (payload.length ?? utf8.encode(payload.delta ?? payload.argsDelta ?? "").length);
		const had = this.#ends.get(key);
		if (had !== undefined && end <= had) return "seen";
		// A process may write more than is kept, so its output may go on further behind.
		const isNext = had === undefined || payload.offset === had || (isProcess && payload.offset > had);
		if (!isNext && this.#hole(`${key}:${had}-${payload.offset}`)) return "hole";
		this.#ends.set(key, end);
		return "next";
	}
}
