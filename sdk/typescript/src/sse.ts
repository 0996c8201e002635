// Reads server-sent events from bytes as the network splits them: any line ending, characters split anywhere, a byte order mark.
// Pure but for the decoder's state; it asks nobody for bytes.

export interface SseMessage {
	id: string;
	event: string;
	data: string;
}

/** Characters of one message; a server that sends more without an end is not ours. */
const MESSAGE_MAX = 16 * 1024 * 1024;

export class SseParser {
	readonly #decoder = new TextDecoder("utf-8");
	readonly #ready: SseMessage[] = [];
	#rest = "";
	#afterReturn = false;
	#id = "";
	#event = "";
	#data: string[] = [];
	#size = 0;

	/** Takes bytes; next() then has what they completed. */
	push(bytes: Uint8Array): void {
		let text = this.#decoder.decode(bytes, { stream: true });
		if (text === "") return;
		if (this.#afterReturn && text.startsWith("\n")) text = text.slice(1);
		this.#afterReturn = text.endsWith("\r");
		const lines = (this.#rest + text).split(/\r\n|\n|\r/);
		this.#rest = lines.pop() ?? "";
		for (const line of lines) this.#line(line);
		if (this.#size + this.#rest.length > MESSAGE_MAX) throw new RangeError("a message of the event stream is too long");
	}

	next(): SseMessage | undefined {
		return this.#ready.shift();
	}

	#line(line: string): void {
		if (line === "") return this.#finish();
		const colon = line.indexOf(":");
		if (colon === 0) return;
		const name = colon < 0 ? line : line.slice(0, colon);
		const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
		if (name === "data") {
			this.#data.push(value);
			this.#size += value.length + 1;
		} else if (name === "id" && !value.includes("\0")) this.#id = value;
		else if (name === "event") this.#event = value;
	}

	#finish(): void {
		if (this.#data.length > 0) this.#ready.push({ id: this.#id, event: this.#event || "message", data: this.#data.join("\n") });
		this.#event = "";
		this.#data = [];
		this.#size = 0;
	}
}
