// The conversation of the README, as it stands: its block is run with bash in an empty home, against a daemon that the first line starts.
// ci: release only
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { start } from '../model/scripted.mjs';

const root = resolve(fileURLToPath(import.meta.url), '../../..');
const bin = resolve(process.env.AR_BIN ?? join(root, 'build/release/bin'));

test('README: a conversation in a pipe', async (t) => {
	const page = readFileSync(join(root, 'README.md'), 'utf8');
	const [, script] = /<!-- run: chat -->\n```sh\n([\s\S]*?)```/.exec(page);
	const home = mkdtempSync(join(tmpdir(), 'readme-chat-'));
	const pieces = [];
	const model = await start(0);
	const env = { PATH: `${bin}:${process.env.PATH}`, HOME: home, LANG: 'C.UTF-8', OPENAI_BASE_URL: `http://127.0.0.1:${model.port}/v1` };
	t.after(async () => {
		execFileSync('agentctl', ['stop'], { env });
		await model.close();
		rmSync(home, { recursive: true, force: true });
	});
	const child = spawn('bash', ['-euo', 'pipefail', '-c', script], { cwd: home, env, stdio: ['ignore', 'pipe', 'inherit'] });
	child.stdout.on('data', (piece) => pieces.push(piece));
	assert.equal(await new Promise((done) => child.on('close', done)), 0);
	assert.equal(Buffer.concat(pieces).toString(), 'You said: Name a colour.\nYou said: And another.\nYou said: And a third.\n');
	const events = readFileSync(join(home, 'events.ndjson'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
	assert.equal(events.at(-1).type, 'turn.completed');
	const { sessions } = JSON.parse(execFileSync('agentctl', ['sessions', '--json'], { env }));
	assert.equal(sessions.length, 2, 'the third line went on with the first session');
});
