// The examples of docs/rpc.md, as they stand.
// ci: release only
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bin, newFolder, startModel, world } from '../lib/runtime.mjs';

const root = resolve(fileURLToPath(import.meta.url), '../../..');
const page = readFileSync(join(root, 'docs/rpc.md'), 'utf8');
const block = (name) => new RegExp(`<!-- run: ${name} -->\\n\`\`\`\\w+\\n([\\s\\S]*?)\`\`\``).exec(page)[1];

const environment = (model) => ({ PATH: `${bin}:${process.env.PATH}`, HOME: newFolder(), LANG: 'C.UTF-8', ...(model && { OPENAI_BASE_URL: model.url }) });

test('docs/rpc.md: hello', () => {
	const out = execFileSync('bash', ['-c', block('hello')], { env: environment(), encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
	assert.ok(page.includes(`\`\`\`\n${out}\`\`\``), out);
});

/** What a program printed; the model answers meanwhile. */
async function printed(program, args, env) {
	const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'ignore'] });
	let out = '';
	child.stdout.on('data', (text) => (out += text));
	assert.equal(await new Promise((done) => child.on('close', done)), 0);
	return out;
}

test('docs/rpc.md: a turn over stdio', async () => {
	assert.equal(await printed('python3', ['-c', block('turn')], environment(await startModel())), 'You said: Name a colour.\n');
});

test('docs/rpc.md: a turn over a WebSocket', async (t) => {
	const { rt } = await world();
	t.after(() => rt.stop());
	const file = join(newFolder(), 'client.mjs');
	// node 20 has no WebSocket of its own.
	const ws = new URL('../node_modules/ws/wrapper.mjs', import.meta.url);
	writeFileSync(file, `import WebSocket from '${ws}';\n${block('websocket').replace('127.0.0.1:7717', `${rt.host}:${rt.port}`)}`);
	assert.equal((await printed('node', [file], process.env)).replaceAll('\n', ''), 'You said: Name a colour.');
});
