// Protected paths that were not there when a command began cannot be pinned: what becomes of them is seen at its end, told once with the evidence `observed`, also when the
// daemon was gone meanwhile.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, beforeEach, test } from 'node:test';
import { ended, facts } from '../lib/gate.mjs';
import { newFolder, submit, waitFor, world } from '../lib/runtime.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox
let w, workspace;

const shell = (command) => `[[tool shell ${JSON.stringify({ command })}]]`;

/** A workspace with these files, nothing else. */
function lay(files) {
	rmSync(workspace, { recursive: true, force: true });
	mkdirSync(workspace);
	for (const name of files) {
		mkdirSync(join(workspace, name, '..'), { recursive: true });
		writeFileSync(join(workspace, name), '');
	}
	if (process.getuid() === 0) execFileSync('chown', ['-R', `${OWNER}:${OWNER}`, workspace]);
}

async function run(command) {
	const { sessionId, turnId } = await submit(w.rt, shell(command));
	await ended(w.rt, sessionId, turnId);
	return told(sessionId);
}

/** The violations of a session's only process, all of them before its end. */
async function told(sessionId) {
	const log = await facts(w.rt, sessionId);
	const end = log.findIndex((e) => /^process\.(completed|failed|terminated)$/.test(e.type));
	assert.ok(end > 0, log.map((e) => e.type).join(' '));
	assert.ok(log.slice(end).every((e) => e.type !== 'sandbox.violation'));
	// the leak check of a sanitized helper tries ptrace, which is blocked too
	const violations = log.filter((e) => e.type === 'sandbox.violation' && !e.payload.attempted.startsWith('ptrace')).map((e) => e.payload);
	for (const v of violations) assert.deepEqual([v.boundary, v.effect, v.evidence, v.count], ['filesystem', 'logged', 'observed', 1]);
	return { attempted: violations.map((v) => v.attempted), log };
}

before(async () => {
	const folder = newFolder();
	chmodSync(folder, 0o755);
	workspace = join(folder, 'work');
	lay([]);
	w = await world({ config: { 'tools.workspace': workspace, 'permission.mode': 'bypass', 'sandbox.protected_paths': 'deep/kept:a"quote' } });
});

beforeEach(() => lay(['.git/HEAD', '.git/config']));

test('SB-07 what was missing and is made is told: a folder of hooks, a file that moves the repository, a link, a name of the settings', async () => {
	const { attempted, log } = await run(`mkdir -p .git/hooks deep/kept; touch .git/hooks/pre-commit 'a"quote'; echo ../x >.git/commondir; ln -s nowhere .vscode`);
	assert.deepEqual(attempted.sort(), ['create .git/commondir', 'create .git/hooks', 'create .vscode', 'create a"quote', 'create deep/kept']);
	const [{ payload }] = log.filter((e) => e.type === 'sandbox.applied');
	const { protected: kept, skipped } = payload.boundary;
	assert.ok(kept.includes('.git/config') && skipped.includes('.git/hooks') && skipped.includes('deep/kept'));
});

test('SB-07 what is put in the way of several of them is told once', async () => {
	lay(['plain']);
	assert.deepEqual((await run('echo "gitdir: elsewhere" >.git')).attempted, ['create .git'], 'a file instead of a folder');
	lay(['plain']);
	assert.deepEqual((await run('mkdir elsewhere; ln -s elsewhere .git')).attempted, ['create .git'], 'a link');
	lay(['plain']);
	assert.deepEqual((await run('git init -q .')).attempted.sort(), ['create .git/config', 'create .git/hooks'], 'a repository: both of its places');
});

test('SB-07 what was there, what is made elsewhere and what is only read is not told', async () => {
	assert.deepEqual((await run('ls .git/hooks .vscode; echo x >>.git/config; mkdir -p sub/git/hooks .vscode2; true')).attempted, []);
});

test('SB-07 it is told once, also when the daemon is killed before it is made', async () => {
	const { sessionId, turnId } = await submit(w.rt, shell('touch begun; while [ ! -e go ]; do sleep 0.05; done; mkdir .git/hooks'));
	await waitFor(() => existsSync(join(workspace, 'begun')), 'its begin', 30000);
	await w.rt.kill9();
	writeFileSync(join(workspace, 'go'), '');
	await waitFor(() => existsSync(join(workspace, '.git/hooks')), 'its deed', 30000);
	w.rt = await w.again();
	await ended(w.rt, sessionId, turnId);
	assert.deepEqual((await told(sessionId)).attempted, ['create .git/hooks']);
	await w.rt.kill9();
	w.rt = await w.again();
	assert.deepEqual((await told(sessionId)).attempted, ['create .git/hooks'], 'after another restart as well');
});
