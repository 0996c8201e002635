// What can go wrong with a call, told apart: the server refused it, nothing is known of it, or its time was over. A caller that stops a
// call by its AbortSignal gets the signal's own reason instead.
import type { ErrorCode } from "./gen/errors.js";

/** The error object of an answer. */
export interface Refusal {
	code: ErrorCode;
	message: string;
	retryable: boolean;
	next: string;
	[extra: string]: unknown;
}

/** Every error of this package is one of these; `code` tells them apart. */
export abstract class AgentRuntimeError extends Error {
	abstract readonly code: string;
	/** Whether the same call may succeed later. */
	abstract readonly retryable: boolean;
}

/** The server understood the call and said no. Nothing of it was recorded. */
export class RefusedError extends AgentRuntimeError {
	override readonly name = "RefusedError";
	readonly code: ErrorCode;
	readonly retryable: boolean;
	/** What to do about it. */
	readonly next: string;
	/** HTTP status, or the one that the code has over HTTP. */
	readonly status: number;
	/** How long the server asks to wait. */
	readonly retryAfterMs: number | undefined;
	/** The whole error object: scope ids, the answer that stands, the decisions on offer. */
	readonly details: Refusal;

	constructor(refusal: Refusal, status: number, retryAfterMs?: number) {
		super(refusal.message);
		this.code = refusal.code;
		this.retryable = refusal.retryable;
		this.next = refusal.next;
		this.status = status;
		this.retryAfterMs = retryAfterMs;
		this.details = refusal;
	}
}

/** The connection could not be made, broke, fell silent or brought something that is no answer. Whether the call was done is not known. */
export class ConnectionError extends AgentRuntimeError {
	override readonly name = "ConnectionError";
	readonly code = "connection_lost";
	readonly retryable = true;
	readonly retryAfterMs: number | undefined;

	constructor(message: string, options: { cause?: unknown; retryAfterMs?: number | undefined } = {}) {
		super(message, { cause: options.cause });
		this.retryAfterMs = options.retryAfterMs;
	}
}

/** A runtime of one's own could not be started: its program is not there, or refuses its settings. */
export class StartError extends AgentRuntimeError {
	override readonly name = "StartError";
	readonly code = "start_failed";
	readonly retryable = false;
}

/** The deadline of the call passed. `cause` is the last thing that went wrong before, if anything did. */
export class DeadlineError extends AgentRuntimeError {
	override readonly name = "DeadlineError";
	readonly code = "deadline_exceeded";
	readonly retryable = true;
}

/** Whether the same call may be sent again by itself. A state that somebody has to change (409) is for the caller to judge. */
export function isWeather(error: unknown): error is RefusedError | ConnectionError {
	if (error instanceof ConnectionError) return true;
	return error instanceof RefusedError && error.retryable && error.status !== 409;
}
