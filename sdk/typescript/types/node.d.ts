// The few things of node that node.ts and stdio.ts use, so that the package needs no types of others to compile. Not shipped.
declare module "node:child_process" {
	interface Pipe {
		setEncoding(encoding: "utf8"): void;
		on(event: "data", listener: (text: string) => void): void;
	}
	export interface Child {
		stdin: { write(text: string): void; end(): void; on(event: "error", listener: (error: Error) => void): void };
		stdout: Pipe;
		stderr: Pipe;
		kill(signal: "SIGKILL"): void;
		on(event: "error", listener: (error: Error) => void): void;
		on(event: "close", listener: (status: number | null, signal: string | null) => void): void;
	}
	export function spawn(command: string, args: string[], options: { stdio: ["pipe", "pipe", "pipe"]; env?: Record<string, string | undefined> }): Child;
}

declare module "node:http" {
	interface Incoming {
		statusCode?: number;
		headers: Record<string, string | string[] | undefined>;
	}
	interface Outgoing {
		on(event: "error", listener: (error: Error) => void): void;
		end(body?: string): void;
	}
	interface Options {
		socketPath: string;
		path: string;
		method: string;
		headers: Record<string, string>;
		signal: AbortSignal | undefined;
	}
	export function request(options: Options, answered: (incoming: Incoming) => void): Outgoing;
}

declare module "node:os" {
	export function homedir(): string;
}

declare module "node:stream" {
	export const Readable: { toWeb(incoming: object): ReadableStream<Uint8Array<ArrayBuffer>> };
}

declare const process: { env: Record<string, string | undefined> };
