// The README's first two shell blocks, run as a newcomer would: from a clean clone, in an empty home, to a streamed answer.
// Only the model's address is replaced, by our scripted server. AR_README=built: this tree was built by the block's `make` a moment ago, so that is not
// done a second time.
// ci: release only
import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { start } from '../model/scripted.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

function firstBlock(baseUrl) {
	const readme = readFileSync(path.join(root, 'README.md'), 'utf8');
	const blocks = ['build', 'first'].map((name) => new RegExp(`<!-- run: ${name} -->\\n\`\`\`sh\\n([\\s\\S]*?)\`\`\``).exec(readme)?.[1]);
	assert.ok(blocks.every(Boolean), 'README has both');
	const script = blocks.join('').replace(/^export OPENAI_BASE_URL=\S+.*$/m, `export OPENAI_BASE_URL=${baseUrl}`);
	assert.ok(script.includes(baseUrl), 'the block names the model server');
	return script;
}

function leaveOutMake(script, clone) {
	assert.match(script, /^make\b.*$/m);
	mkdirSync(path.join(clone, 'build'));
	symlinkSync(path.join(root, 'build/release'), path.join(clone, 'build/release'));
	return script.replace(/^make\b.*$/m, '');
}

// Runs the block; resolves with its exit status, what it printed, and when each piece of stdout came.
function run(script, cwd, home) {
	return new Promise((resolve) => {
		const env = { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8' };
		const child = spawn('bash', ['-euc', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
		const out = { stdout: '', stderr: '', pieces: [] };
		child.stdout.on('data', (d) => { out.stdout += d; out.pieces.push(String(d)); });
		child.stderr.on('data', (d) => { out.stderr += d; });
		child.on('close', (status) => resolve({ ...out, status }));
	});
}

test('README: four lines from a clean clone end in a streamed answer', { timeout: 900_000 }, async (t) => {
	const dir = mkdtempSync(path.join(tmpdir(), 'readme-'));
	const model = await start(0);
	const clone = path.join(dir, 'clone');
	const home = mkdtempSync(path.join(dir, 'home-'));
	t.after(async () => {
		try {
			execFileSync(path.join(clone, 'build/release/bin/agentctl'), ['stop'], { env: { HOME: home } });
		} catch { /* no daemon was started */ }
		await model.close();
		rmSync(dir, { recursive: true, force: true });
	});
	execFileSync('git', ['clone', '-q', root, clone]);
	const script = firstBlock(`http://127.0.0.1:${model.port}/v1`);
	const result = await run(process.env.AR_README === 'built' ? leaveOutMake(script, clone) : script, clone, home);
	assert.equal(result.status, 0, result.stderr.slice(-2000));
	assert.match(result.stdout, /You said: Say hello in five words\./);
});
