// Starts llama.mjs as a process of its own (inference would block a test's loop) and ends it by its process id.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { within } from '../lib/runtime.mjs';
import { findModel } from './llama.mjs';

const READY_MS = 60000;
const STOP_MS = 10000;
const STDERR_KEPT = 4096; // it says hundreds of lines at every start

async function portOf(stdout) {
	for await (const line of createInterface({ input: stdout })) if (line.startsWith('{')) return JSON.parse(line).port;
	return null;
}

/** { baseUrl, stop() } of a real model; throws when the model file or the package is not there, or it does not start in time. */
export async function startLlama() {
	const model = findModel();
	if (!model) throw new Error('no model file: set AR_LLAMA_GGUF to a small .gguf');
	const child = spawn(process.execPath, [fileURLToPath(new URL('llama.mjs', import.meta.url)), model], { stdio: ['ignore', 'pipe', 'pipe'] });
	const gone = new Promise((done) => child.once('exit', done));
	let said = '';
	child.stderr.on('data', (piece) => (said = (said + piece).slice(-STDERR_KEPT)));
	const stop = async () => {
		child.kill('SIGTERM');
		// The library's threads are not ours: one that does not let go must not hold a test for ever.
		const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
		await gone;
		clearTimeout(late);
	};
	const port = await within(portOf(child.stdout), READY_MS);
	if (port) return { baseUrl: `http://127.0.0.1:${port}/v1`, stop };
	await stop();
	throw new Error(`the llama server ${port === null ? 'ended' : `said nothing for ${READY_MS} ms`} before it was ready:\n${said}`);
}
