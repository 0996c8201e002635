// Starts llama.mjs as a process of its own (inference would block a test's loop) and ends it by its process id.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { findModel } from './llama.mjs';

/** { baseUrl, stop() } of a real model; throws when the model file or the package is not there. */
export async function startLlama() {
	const model = findModel();
	if (!model) throw new Error('no model file: set AR_LLAMA_GGUF to a small .gguf');
	const child = spawn(process.execPath, [fileURLToPath(new URL('llama.mjs', import.meta.url)), model], { stdio: ['ignore', 'pipe', 'inherit'] });
	const gone = new Promise((done) => child.once('exit', done));
	for await (const line of createInterface({ input: child.stdout })) {
		if (!line.startsWith('{')) continue;
		const { port } = JSON.parse(line);
		const stop = async () => {
			child.kill('SIGTERM');
			await gone;
		};
		return { baseUrl: `http://127.0.0.1:${port}/v1`, stop };
	}
	throw new Error('the llama server ended before it was ready');
}
