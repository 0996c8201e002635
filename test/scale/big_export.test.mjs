// ci: release only
// A long session is exported: the whole of agentd takes at most 64 MiB, progress is shown, and a download that was killed goes on where it was.
// AR_EXPORT_FACTS sets the length; a million takes minutes (docs/evidence.md).
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin, newFolder, startAgentd, storeOf, waitFor } from '../lib/runtime.mjs';

const FACTS = Number(process.env.AR_EXPORT_FACTS ?? 10_000);
const MEMORY_KB = 64 * 1024;

test(`a session of ${FACTS} facts is exported in bounded memory; a killed download goes on`, async () => {
	const dataDir = newFolder(), out = join(newFolder(), 'pack');
	mkdirSync(join(dataDir, 'data'), { mode: 0o700 });
	const { sessionId, facts } = JSON.parse(execFileSync(join(bin, 'ar-make-session'), ['--store', storeOf(dataDir).AGENTD_STORE ?? join(dataDir, 'data', 'agentd.db'), '--facts', String(FACTS)], { encoding: 'utf8' }));
	const rt = await startAgentd({ dataDir });
	const memory = (word) => Number(new RegExp(`${word}:\\s+(\\d+)`).exec(readFileSync(`/proc/${rt.pid}/status`, 'utf8'))[1]);
	const idle = memory('VmRSS'), began = Date.now(), env = { PATH: process.env.PATH, HOME: '/nonexistent', TERM: 'xterm' };
	const args = ['--socket', rt.socket, 'pack', sessionId, '--out', out, '--sequence', String(facts)];

	const first = spawn(join(bin, 'agentctl'), args, { env, stdio: 'ignore' }), gone = new Promise((done) => first.on('close', done));
	await waitFor(() => existsSync(join(out, 'blobs')) && readdirSync(join(out, 'blobs')).length > 0, 'the first contents', 60_000 + FACTS); // an export begins with a walk through all facts
	first.kill('SIGKILL');
	await gone;
	const had = readdirSync(join(out, 'blobs')).filter((name) => !name.startsWith('.')), kept = [join(out, 'events.ndjson'), ...had.map((name) => join(out, 'blobs', name))].map((path) => [path, statSync(path).ino]);

	const again = spawnSync('script', ['-qec', [join(bin, 'agentctl'), ...args].map((a) => `'${a}'`).join(' '), '/dev/null'], { encoding: 'utf8', env, input: '' });
	assert.equal(again.status, 0, again.stdout);
	assert.match(again.stdout, /\d+ files, \d+ MiB/, 'progress on a terminal');
	assert.deepEqual(kept.map(([path]) => statSync(path).ino), kept.map(([, ino]) => ino), 'what was there was not written again');
	assert.ok(readdirSync(join(out, 'blobs')).length > had.length, 'the kill came before the end');
	const checked = spawnSync(join(bin, 'agentctl'), ['verify-pack', out, '--json'], { encoding: 'utf8', env });
	assert.equal(checked.status, 0, checked.stderr);
	const { treeSize, knownGaps } = JSON.parse(checked.stdout);
	assert.deepEqual([treeSize, knownGaps], [facts, 0]);
	console.error(`agentd: ${memory('VmHWM')} kB at most, ${idle} kB idle; ${Math.round((Date.now() - began) / 1000)} s for two exports, the download and the check`);
	if (!process.env.AR_BIN?.match(/san/)) assert.ok(memory('VmHWM') <= MEMORY_KB, `${memory('VmHWM')} kB, idle ${idle} kB`);
	await rt.stop();
});
