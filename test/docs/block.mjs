// A block of the README that is marked `<!-- run: NAME -->`, run as it stands: with bash, in an empty home, against a daemon that its first line starts.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { start } from '../model/scripted.mjs';

const root = resolve(fileURLToPath(import.meta.url), '../../..');
const bin = resolve(process.env.AR_BIN ?? join(root, 'build/release/bin'));

/** What it printed, its home, and `ctl` to ask afterwards. `folder` is where it stands; without one in its home. */
export async function runBlock(t, name, folder) {
	const page = readFileSync(join(root, 'README.md'), 'utf8');
	const [, script] = new RegExp(`<!-- run: ${name} -->\\n\`\`\`sh\\n([\\s\\S]*?)\`\`\``).exec(page);
	const home = mkdtempSync(join(tmpdir(), `readme-${name}-`));
	const pieces = [];
	const model = await start(0);
	const env = { PATH: `${bin}:${process.env.PATH}`, HOME: home, LANG: 'C.UTF-8', OPENAI_BASE_URL: `http://127.0.0.1:${model.port}/v1` };
	const ctl = (...words) => execFileSync('agentctl', words, { env, encoding: 'utf8' });
	t.after(async () => {
		ctl('stop');
		await model.close();
		rmSync(home, { recursive: true, force: true });
	});
	const child = spawn('bash', ['-euo', 'pipefail', '-c', script], { cwd: folder ?? home, env, stdio: ['ignore', 'pipe', 'inherit'] });
	child.stdout.on('data', (piece) => pieces.push(piece));
	assert.equal(await new Promise((done) => child.on('close', done)), 0);
	return { out: Buffer.concat(pieces).toString(), home, ctl };
}
