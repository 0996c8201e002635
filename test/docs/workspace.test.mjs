// Work on a repository as the README shows it.
// ci: release only
import assert from 'node:assert/strict';
import { chownSync, chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runBlock } from './block.mjs';

test('README: on a repository', async (t) => {
	const folder = mkdtempSync(join(tmpdir(), 'readme-repository-'));
	t.after(() => rmSync(folder, { recursive: true, force: true }));
	chmodSync(folder, 0o755);
	if (process.getuid() === 0) chownSync(folder, 1000, 1000);
	const { out, ctl } = await runBlock(t, 'workspace', folder);
	assert.match(out, /yes mount_view[\s\S]*yes workspace_write[\s\S]*You said: Run the tests/);
	const { tools } = JSON.parse(ctl('call', 'get_tool_inventory', JSON.stringify({ sessionId: JSON.parse(ctl('sessions', '--json')).sessions[0].sessionId })));
	for (const name of ['shell', 'terminal_open', 'read_file', 'write_file', 'apply_patch']) assert.ok(tools.some((tool) => tool.toolName === name), name);
});
