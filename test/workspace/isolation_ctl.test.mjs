// agentctl and sessions with folders of their own: run --isolation, workspace diff, apply and discard.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { bin, newFolder, waitFor, world } from '../lib/runtime.mjs';
import { factsOf } from '../tenant/tenants.mjs';

const needsRoots = { skip: process.env.AR_TEST_POSTGRES && 'no root is named on a cluster' };
const write = (path, content) => `[[tool write_file ${JSON.stringify({ path, content })}]]`;
let w, root;

before(async () => {
	if (needsRoots.skip) return;
	w = await world({ config: { 'permission.mode': 'bypass', 'workspaces.dir': realpathSync(newFolder()) } });
	root = realpathSync(newFolder());
	writeFileSync(join(root, 'a.txt'), 'a\n');
	if (process.getuid() === 0) execFileSync('chown', ['-R', '1000:1000', root]);
});

/** agentctl in the folder: { code, out, err }. */
const ctl = (...args) => new Promise((done) => {
	execFile(join(bin, 'agentctl'), args, { cwd: root, env: { PATH: process.env.PATH, HOME: newFolder(), AGENTD_SOCKET: w.rt.socket } }, (fault, out, err) => done({ code: fault ? fault.code : 0, out, err }));
});
const read = (name) => readFileSync(join(root, name), 'utf8');

test('changes are shown, applied, asked about and thrown away', needsRoots, async () => {
	assert.equal((await ctl('run', '--isolation', 'copy', write('b.txt', 'b\n'))).code, 0);
	assert.throws(() => read('b.txt'));
	const diff = await ctl('workspace', 'diff', 'last');
	assert.deepEqual([diff.code, /^\+b$/m.test(diff.out)], [0, true]);
	assert.deepEqual([(await ctl('workspace', 'apply', 'last', 'nothing')).out, (await ctl('workspace', 'apply', 'last', 'b.txt')).out], ['0 files applied\n', '1 file applied\n']);
	assert.equal(read('b.txt'), 'b\n');
	assert.equal((await ctl('run', '--session', 'last', write('a.txt', 'mine\n'))).code, 0);
	writeFileSync(join(root, 'a.txt'), 'theirs\n');
	const asked = await ctl('workspace', 'apply', 'last');
	const action = /agentctl answer (action_\w+) --decision/.exec(asked.err)?.[1];
	assert.deepEqual([asked.code, Boolean(action), read('a.txt')], [4, true, 'theirs\n'], asked.err);
	assert.equal((await ctl('answer', action, '--decision', 'leave_out')).code, 0);
	const sessionId = `sess_${/action_([0-9a-z]{26})_/.exec(action)[1]}`;
	await waitFor(async () => (await factsOf(w.rt, undefined, sessionId)).filter((f) => f.type === 'workspace.applied').length === 3, 'the end of the merge');
	assert.equal(read('a.txt'), 'theirs\n');
	const gone = await ctl('workspace', 'discard', 'last');
	assert.deepEqual([gone.code, gone.out], [0, '1 file restored\n'], gone.err);
	assert.match(gone.err, /the state before is checkpoint cp_/);
	assert.equal((await ctl('workspace', 'diff', 'last')).out, '');
});

test('what makes no sense is said', needsRoots, async () => {
	for (const [args, message] of [
		[['run', '--isolation', 'copy', '--session', 'last', 'x'], /--isolation is for new sessions/],
		[['chat', '--isolation', 'copy', '--continue'], /--isolation is for new sessions/],
		[['run', '--isolation', 'elsewhere', 'x'], /isolation/],
		[['workspace', 'apply'], /with a session/],
	]) {
		const { code, err } = await ctl(...args);
		assert.ok(code !== 0 && message.test(err), `${args}: ${code} ${err}`);
	}
	assert.equal((await ctl('run', 'hello')).code, 0);
	const { code, err } = await ctl('workspace', 'apply', 'last');
	assert.ok(code === 1 && /no folder of its own/.test(err), err);
});
