// What tests of the TypeScript client share: the built package, and its examples as programs.
import { spawn } from 'node:child_process';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

export const folder = fileURLToPath(new URL('../../sdk/typescript/', import.meta.url));

/** Runs node to its end, in the folder of the package: { code, out, err }. */
function run(args, env, ms) {
	const child = spawn(process.execPath, args, { cwd: folder, env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
	const texts = { out: '', err: '' };
	child.stdout.on('data', (piece) => (texts.out += piece));
	child.stderr.on('data', (piece) => (texts.err += piece));
	const timer = setTimeout(() => process.kill(child.pid, 'SIGKILL'), ms);
	return new Promise((done) =>
		child.on('close', (code, signal) => {
			clearTimeout(timer);
			done({ code: code ?? signal, ...texts });
		}));
}

export const example = (name, args, env, ms = 60000) => run([`examples/${name}.mjs`, ...args], env, ms);

// node 20 has a WebSocket, but only who asks for it gets it.
const webSocket = globalThis.WebSocket ? [] : ['--experimental-websocket'];

/** A program of these lines, which may import the package by its name. */
export const program = (text, env, ms = 60000) => run([...webSocket, '--input-type=module', '--eval', text], env, ms);

/** The js block of a page that carries this mark. */
export const marked = (page, name) => new RegExp(`<!-- run: ${name} -->\\n\`\`\`js\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1];

/** The example's server of a page with the API of these addresses under its own origin; its address. */
export async function servePage(urls) {
	const child = spawn(process.execPath, ['examples/browser/serve.mjs', '0'], { cwd: folder, env: { PATH: process.env.PATH, AGENT_URL: urls.join(',') }, stdio: ['ignore', 'pipe', 'inherit'] });
	after(() => process.kill(child.pid, 'SIGKILL'));
	return new Promise((done) => child.stdout.once('data', (line) => done(String(line).trim())));
}
