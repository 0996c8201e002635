// Turns that run commands: the process is no part of the runtime that is killed, so it runs once, whatever happens beside it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '../../lib/runtime.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox

function newWorkspace() {
	const folder = newFolder();
	chmodSync(folder, 0o755);
	const path = join(folder, 'work');
	mkdirSync(path);
	if (process.getuid() === 0) execFileSync('chown', [`${OWNER}:${OWNER}`, path]);
	return path;
}

export default [
	{
		name: 'a command that takes a while',
		processes: true,
		config: (play) => ({ 'permission.mode': 'bypass', 'tools.workspace': (play.workspace ??= newWorkspace()) }),
		tools: {},
		steps: [{ submit: 'a', text: '[[tool shell {"command":"echo run >>runs; sleep 0.4; echo done"}]][[say seen]]' }],
		expects: {
			ends: { a: 'turn.completed' }, says: { a: /^seen$/ },
			facts: { 'process.started': 1, 'process.completed': 1, 'tool.result': 1, 'tool.failed': 0 },
			always: ['sandbox.applied', 'process.completed', 'tool.result'], never: ['action.required', 'process.terminated'],
		},
		check: (play) => {
			assert.equal(readFileSync(join(play.workspace, 'runs'), 'utf8'), 'run\n', 'it ran once');
			assert.equal(play.facts('process.completed').length, 1);
			for (const e of play.facts('process.started'))
				assert.ok(play.facts('sandbox.applied').some((s) => s.eventId === e.payload.sandboxRef && s.sequence < e.sequence));
		},
	},
];
