// An agent at work on a repository, end to end: it clones, tests, finds the fault, mends it and tests again, under approval and inside the sandbox; the daemon is killed in the
// middle of the long test run. The turn finishes, nothing ran twice, and nothing is left running.
// ci: first
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, submit, waitFor, world } from '../lib/runtime.mjs';
import { ended, facts } from '../lib/gate.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox
let w, workspace;

const shell = (command, more = {}) => `[[tool shell ${JSON.stringify({ command, ...more })}]]`;
const give = (path) => process.getuid() === 0 && execFileSync('chown', ['-R', `${OWNER}:${OWNER}`, path]);

before(async () => {
	const folder = newFolder();
	chmodSync(folder, 0o755);
	workspace = join(folder, 'work');
	mkdirSync(join(workspace, 'origin'), { recursive: true });
	const git = (...args) => execFileSync('git', ['-C', join(workspace, 'origin'), '-c', 'user.name=t', '-c', 'user.email=t@t', ...args]);
	writeFileSync(join(workspace, 'origin/add.sh'), 'echo $(($1 - $2))\n');
	// Long enough to be killed in; each run leaves a mark.
	writeFileSync(join(workspace, 'origin/test.sh'), 'echo run >>../runs; echo begun; sleep ${1:-0}; [ "$(sh add.sh 2 3)" = 5 ] && echo passed\n');
	git('init', '-q');
	git('add', '.');
	git('commit', '-qm', 'first');
	give(workspace);
	w = await world({ config: { 'tools.workspace': workspace, 'permission.mode': 'default' } });
});

// Allows whatever is asked, until the turn has ended; returns what was allowed.
async function approve(sessionId, turnId) {
	const allowed = [];
	await waitFor(async () => {
		const { actions } = await ok(w.rt, 'list_actions', { sessionId });
		for (const { actionId, title } of actions) {
			await ok(w.rt, 'respond_action', { actionId, decision: 'allow' });
			allowed.push(title);
		}
		return (await facts(w.rt, sessionId, 'turn.completed', 'turn.failed')).some((e) => e.turnId === turnId);
	}, 'the end of the turn', 60000);
	return allowed;
}

test('clone, test, mend, test again, with approvals and kill -9 in the middle of the test run', async () => {
	const turn = await submit(w.rt, [
		shell('git clone -q origin copy && cd copy && sh test.sh'),
		shell("sed -i 's/-/+/' copy/add.sh"),
		shell('sh test.sh 4', { cwd: join(workspace, 'copy') }),
		'[[say mended]]',
	].join('[[then]]'));
	const approving = approve(turn.sessionId, turn.turnId).catch((e) => e);
	await waitFor(() => existsSync(join(workspace, 'runs')) && readFileSync(join(workspace, 'runs'), 'utf8') === 'run\nrun\n', 'the second test run', 60000);
	await w.rt.kill9();
	await approving; // it could not ask a daemon that is gone
	w.rt = await w.again();
	const allowed = await approve(turn.sessionId, turn.turnId);
	const end = await ended(w.rt, turn.sessionId, turn.turnId);
	assert.equal(end.type, 'turn.completed', JSON.stringify(end.payload));

	const log = await facts(w.rt, turn.sessionId);
	const of = (type) => log.filter((e) => e.type === type);
	assert.deepEqual(of('process.completed').map((e) => e.payload.exitCode), [1, 0, 0]);
	assert.equal(of('process.started').length, 3);
	assert.equal(of('tool.result').length, 3);
	assert.equal(allowed.length, 0, 'nothing was asked again');
	assert.equal(readFileSync(join(workspace, 'runs'), 'utf8'), 'run\nrun\n', 'nothing ran twice');
	for (const p of of('process.started')) {
		const at = (type) => log.findIndex((e) => e.type === type && e.processId === p.processId);
		assert.ok(at('sandbox.applied') >= 0 && at('sandbox.applied') < at('process.started') && at('process.started') < at('process.completed'));
	}
});
