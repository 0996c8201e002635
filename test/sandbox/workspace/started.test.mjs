// Programs that the daemon starts outside of the sandbox (MCP servers, hooks) do not start in the workspace: a module, a script or a setting that a sandboxed command wrote there
// would be loaded by them.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ended } from '../../lib/gate.mjs';
import { newFolder, startAgentd, submit, waitFor, world } from '../../lib/runtime.mjs';

/** Where an MCP server with these settings is started. */
async function startedIn(more) {
	const [workspace, folder] = [newFolder(), newFolder()];
	const seen = join(folder, 'seen');
	await startAgentd({ config: { 'tools.workspace': workspace, mcp_servers: [{ name: 'm', command: '/bin/sh', args: ['-c', `pwd >${seen}.new; mv ${seen}.new ${seen}`], connect_timeout_ms: 1000, ...more }] } });
	return { workspace, where: await waitFor(() => existsSync(seen) && readFileSync(seen, 'utf8').trim(), 'the server') };
}

test('an MCP server starts in /, in the workspace only when the operator says so', async () => {
	assert.equal((await startedIn({})).where, '/');
	const { where, workspace } = await startedIn({ start_in_workspace: true });
	assert.equal(where, workspace);
});

test('a hook starts in /, also when the daemon was started in the workspace', async () => {
	const [workspace, folder] = [newFolder(), newFolder()];
	const seen = join(folder, 'seen');
	writeFileSync(join(workspace, 'agentd'), `#!/bin/sh\ncd ${workspace}; exec "$AGENTD" "$@"\n`);
	chmodSync(join(workspace, 'agentd'), 0o755);
	const w = await world({ program: join(workspace, 'agentd'), env: { AGENTD: join(process.env.AR_BIN ?? new URL('../../../build/release/bin', import.meta.url).pathname, 'agentd') },
		config: { 'tools.workspace': workspace, hooks: [{ name: 'h', point: 'user_prompt_submit', command: `pwd >>${seen}` }] } });
	const { sessionId, turnId } = await submit(w.rt, 'hello');
	await ended(w.rt, sessionId, turnId);
	assert.equal(readFileSync(seen, 'utf8'), '/\n');
});
