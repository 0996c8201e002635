// ci: release only
// The Debian package on a machine that has nothing but it, a C compiler and pkg-config: the programs of docs/guide/embed.md are built there as the page
// says, and the agent comes to its end.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bin, newFolder } from '../lib/runtime.mjs';
import { has } from '../ops/scrape.mjs';
import { writePrograms } from './programs.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const skip = process.getuid() === 0 && has('unshare') && has('ip') ? false : 'needs root, unshare and ip';

test('cc example.c $(pkg-config --cflags --libs agentruntime) on a clean machine', { skip }, () => {
	const folder = newFolder();
	const machine = join(folder, 'root');
	execFileSync('cpack', ['--config', join(dirname(bin), 'CPackConfig.cmake'), '-B', folder], { stdio: 'pipe' });
	const deb = join(folder, readdirSync(folder).find((name) => name.endsWith('.deb')));
	execFileSync(join(root, 'test/docs/clean_root.py'), [machine, deb, 'mount', 'gcc', 'libc6-dev', 'pkg-config'], { stdio: ['ignore', 'ignore', 'inherit'] });
	copyFileSync(deb, join(machine, 'tmp/agentd.deb'));
	const names = writePrograms(join(machine, 'tmp'));
	const lines = ['set -eu', 'dpkg --no-triggers -i /tmp/agentd.deb >/dev/null 2>&1', 'cd /tmp', 'export HOME=/nonexistent OPENAI_BASE_URL=http://127.0.0.1:11434/v1 AGENTD_MODEL=scripted',
		...names.map((name) => `cc -o ${name} ${name}.c $(pkg-config --cflags --libs agentruntime)`), "./agent /tmp/data key '[[tool deposit {\\\"amount\\\":5}]] [[then]] [[say done]]'", 'cat /tmp/data/ledger'];
	const { status, stdout, stderr } = spawnSync(join(root, 'test/docs/enter-root'), [machine, join(root, 'test/model/scripted.mjs'), 'bash', '-c', lines.join('\n')],
		{ encoding: 'utf8', timeout: 120000, env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' } });
	assert.equal(status, 0, `${stdout}\n${stderr}`);
	assert.match(stdout, /\nturn\.completed\n[\s\S]*\n\S+ 5\n$/);
});
