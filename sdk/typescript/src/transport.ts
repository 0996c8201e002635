// The seam between what the client means and how bytes travel: HTTP with server-sent events (http.ts) or JSON-RPC over WebSocket
// (websocket.ts) or pipes (stdio.ts). A transport makes one attempt at one address and knows nothing of repeats, cursors or order.
import type { AnyEvent } from "./gen/events.js";

/** One event with the place that a reader has after it. */
export interface Frame {
	cursor: string;
	event: AnyEvent;
}

/** An open event stream. */
export interface Subscription {
	/** The next frame; undefined when the server ended the stream. Nothing is read from the network before it is asked for, beyond what buffers hold. Rejects
	 * with a ConnectionError after `silenceMs` without a byte, a heartbeat included. */
	next(silenceMs: number): Promise<Frame | undefined>;
	close(): void;
}

export interface Transport {
	/** One call at one address: its result, or a RefusedError, or a ConnectionError. */
	call(url: string, command: string, input: object, signal: AbortSignal): Promise<unknown>;
	/** Opens a stream; resolves when the server has accepted it. `signal` ends it at any time. */
	subscribe(url: string, input: object, signal: AbortSignal): Promise<Subscription>;
	/** Closes what is kept open between calls. */
	close?(): void;
}

/** A token, or what gives the current one. */
export type Token = string | (() => string | Promise<string>);

export async function tokenOf(token: Token | undefined): Promise<string | undefined> {
	return typeof token === "function" ? token() : token;
}
