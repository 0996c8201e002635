// The addresses that a client may ask: nodes of one cluster answer alike, so the first that works is kept until it fails.

export class Endpoints {
	readonly #urls: readonly string[];
	#at = 0;

	constructor(urls: string | readonly string[]) {
		const list = typeof urls === "string" ? [urls] : urls;
		if (list.length === 0) throw new TypeError("url: name at least one address");
		this.#urls = list.map((url) => url.replace(/\/+$/, ""));
	}

	get current(): string {
		return this.#urls[this.#at] as string;
	}

	/** This one did not answer well: the next is asked from now on, unless somebody has moved on already. */
	moveFrom(url: string): void {
		if (url === this.current) this.#at = (this.#at + 1) % this.#urls.length;
	}
}
