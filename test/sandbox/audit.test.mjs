// What the kernel itself says of refused files: on record as violations with its evidence and exact counts, and kernel audit is left as it was found, also by
// a daemon that was killed.
// ci: alone
// ci: release only (a sanitizer inside the helpers makes calls of its own, which the filter refuses)
import assert from 'node:assert/strict';
import { chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readLog, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';

const LOCK = '/run/agentruntime-audit.lock';
const skip = process.getuid() !== 0 && 'audit is root\'s';
let base, workspace, model;

before(async () => {
	base = mkdtempSync(join(tmpdir(), 'ar-audit-'));
	workspace = join(base, 'ws');
	mkdirSync(join(workspace, '.git', 'hooks'), { recursive: true });
	writeFileSync(join(workspace, '.git', 'config'), '[core]\n');
	for (const path of ['', '.git', '.git/hooks', '.git/config']) if (!skip) chownSync(join(workspace, path), 1000, 1000);
	model = await startModel();
});

after(() => rmSync(base, { recursive: true, force: true }));

const start = () => startAgentd({ model, config: { 'tools.workspace': workspace, 'permission.mode': 'bypass', 'sandbox.audit': true } });

async function violations(rt, command) {
	const { sessionId } = await submit(rt, `[[tool shell ${JSON.stringify({ command })}]]`);
	const facts = await waitFor(async () => {
		const log = (await readLog(rt, sessionId)).map((f) => f.event);
		return log.some((e) => /^turn\.(completed|failed|canceled)$/.test(e.type)) && log;
	}, 'the end of the turn', 90000);
	const end = facts.findIndex((e) => /^process\.(completed|failed|terminated)$/.test(e.type));
	assert.ok(end > 0, facts.map((e) => e.type).join(' '));
	assert.ok(facts.slice(end).every((e) => e.type !== 'sandbox.violation'), 'all of them before its end');
	return facts.filter((e) => e.type === 'sandbox.violation').map((e) => e.payload);
}

test('SB-07 what mounts and Landlock refuse is on record, proven by the kernel, counted exactly', { skip }, async () => {
	const rt = await start();
	const found = await violations(rt, '(: > .git/config); (: > .git/config); mv .git g; for i in 1 2 3 4; do cat /etc/shadow; done; true');
	const last = new Map(found.map((v) => [`${v.evidence} ${v.attempted}`, v.count]));
	assert.deepEqual(Object.fromEntries(last), {
		[`kernel-mount openat ${workspace}/.git/config`]: 2,
		[`kernel-mount renameat2 ${workspace}/.git`]: 1,
		'kernel-landlock fs.read_file /etc/shadow': 4,
	});
	for (const v of found) assert.deepEqual([v.boundary, v.effect], ['filesystem', 'blocked']);
	await rt.stop();
	assert.ok(!existsSync(LOCK), 'the last daemon leaves audit as it was');
});

test('SB-07 words, file permissions and missing files are no violations', { skip }, async () => {
	const rt = await start();
	assert.deepEqual(await violations(rt, 'echo "sandbox: Permission denied" >&2; touch shut; chmod 0 shut; cat shut; ls /root; cat /nowhere; rm -f shut; exit 1'), []);
	await rt.stop();
});

test('a daemon that is killed leaves audit as it was, too', { skip }, async () => {
	const rt = await start();
	assert.ok(existsSync(LOCK));
	await rt.kill9();
	await waitFor(() => !existsSync(LOCK), 'agent-audit has switched it back');
});
