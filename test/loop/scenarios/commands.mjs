// Turns that run commands: the process is no part of the runtime that is killed, so it runs once, whatever happens beside it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
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
	{
		name: 'a command in a workspace with checkpoints',
		processes: true,
		checkpoints: true,
		config: (play) => ({ 'permission.mode': 'bypass', 'workspaces.dir': (play.workspaces ??= realpathSync(newFolder())) }),
		tools: {},
		steps: [{ workspace: true }, { submit: 'a', text: '[[tool shell {"command":"echo run >>runs; echo done"}]][[say seen]]' }],
		expects: {
			ends: { a: 'turn.completed' }, says: { a: /^seen$/ },
			facts: { 'process.started': 1, 'process.completed': 1, 'tool.result': 1, 'tool.failed': 0 },
			always: ['checkpoint.started', 'checkpoint.created', 'tool.result'], never: ['action.required', 'process.terminated'],
		},
		check: async (play) => {
			const ends = () => new Set(play.facts('checkpoint.created', 'checkpoint.failed').map((e) => e.payload.checkpointId));
			await play.until(() => play.facts('checkpoint.started').some((e) => e.payload.phase === 'end') && play.facts('checkpoint.started').every((e) => ends().has(e.payload.checkpointId)), 'the end of every checkpoint');
			const start = play.facts('checkpoint.created').find((e) => e.payload.phase === 'start');
			assert.ok(start.sequence < play.facts('tool.started')[0].sequence, 'the command began after the checkpoint at the start');
			assert.equal(start.payload.files, 0);
		},
	},
];
