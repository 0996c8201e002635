// ci: release only (the shifted clock is preloaded)
// The folders that a session and its child agents had for themselves go with the session when retention removes it: those, whole, and nothing that its links lead to.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { bin, newFolder, ok, waitFor, world } from '../lib/runtime.mjs';
import { factsOf, must } from '../tenant/tenants.mjs';

const DAY = 86400;

/** The environment of a process whose wall clock is that many days behind. */
function behind(days) {
	const path = join(newFolder(), 'offset');
	const seconds = Buffer.alloc(8);
	seconds.writeBigInt64LE(BigInt(-days * DAY));
	writeFileSync(path, seconds);
	return { LD_PRELOAD: join(bin, 'ar-clock-offset.so'), AR_CLOCK_OFFSET: path };
}

async function work(w, workspace, command) {
	const { sessionId, turnId } = await must(w.rt, undefined, 'submit_turn', { createPolicy: { workspaceId: workspace.workspaceId, isolation: 'worktree' }, text: `[[tool shell ${JSON.stringify({ command })}]]` });
	await waitFor(async () => (await factsOf(w.rt, undefined, sessionId)).find((f) => f.turnId === turnId && f.type === 'turn.completed'), 'the end of the turn');
	// Otherwise its end is written when it is next loaded, and the session is young again.
	await waitFor(async () => (await factsOf(w.rt, undefined, sessionId)).find((f) => /^checkpoint\.(created|failed)$/.test(f.type) && f.payload.phase === 'end'), 'the checkpoint at the end');
	const { folder } = (await factsOf(w.rt, undefined, sessionId)).find((f) => f.type === 'workspace.bound').payload.binding;
	assert.equal(readFileSync(join(folder, 'made'), 'utf8'), 'made\n');
	return { sessionId, folder };
}

/** A child agent of the session with a worktree of its own, which is neither merged nor discarded. */
async function delegate(w, sessionId) {
	const objective = JSON.stringify('[[tool shell {"command":"echo made > made; mkdir -p shut; echo y > shut/d; chmod 0 shut"}]]').replaceAll(']', '\\u005d');
	const { turnId } = await must(w.rt, undefined, 'submit_turn', { sessionId, text: `[[tool spawn_agent {"objective":${objective},"worktree":"own"}]]` });
	await waitFor(async () => (await factsOf(w.rt, undefined, sessionId)).find((f) => f.turnId === turnId && f.type === 'turn.completed'), 'the end of the turn');
	const [child] = (await must(w.rt, undefined, 'list_subagents', { sessionId })).subagents;
	assert.equal(readFileSync(join(child.folder.folder, 'made'), 'utf8'), 'made\n');
	return child.folder.folder;
}

test('the folder of an old session goes, that of a young one and of the workspace stay', async () => {
	const outside = realpathSync(newFolder());
	writeFileSync(join(outside, 'kept'), 'kept');
	const w = await world({ env: behind(40), config: { 'permission.mode': 'bypass', 'workspaces.dir': realpathSync(newFolder()), 'subagents.tools': true } });
	const { workspace } = await ok(w.rt, 'create_workspace', { name: 'w' });
	await must(w.rt, undefined, 'submit_turn', { createPolicy: { workspaceId: workspace.workspaceId }, text: `[[tool shell ${JSON.stringify({ command: 'git init -q . && echo in > file' })}]]` });
	await waitFor(() => existsSync(join(workspace.root, 'file')), 'the repository');
	const old = await work(w, workspace, `echo made > made; ln -s ${outside} away; mkdir -p a/b shut; echo x > a/b/c; echo y > shut/d; chmod 0 shut; chmod 500 a/b`);
	const agents = await delegate(w, old.sessionId);
	assert.equal(dirname(dirname(agents)), dirname(old.folder));
	await w.rt.stop();
	w.rt = await w.again({ env: behind(20) });
	const young = await work(w, workspace, 'echo made > made');
	await w.rt.stop();
	w.rt = await w.again({ env: { AGENTD_RETENTION_DAYS: '30' } });
	await waitFor(() => !existsSync(dirname(old.folder)), 'the folder goes');
	assert.equal(readFileSync(join(young.folder, 'made'), 'utf8'), 'made\n');
	assert.equal(readFileSync(join(workspace.root, 'file'), 'utf8'), 'in\n');
	assert.deepEqual(readdirSync(outside), ['kept']);
});
