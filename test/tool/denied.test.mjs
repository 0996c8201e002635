// What the sandbox denies, to root's daemon and to anybody's: the call says that the sandbox was it, the denial is a fact, and what cannot be seen here is said to be so.
// ci: release only (a sanitizer inside the helpers makes calls of its own, which the filter refuses)
import assert from 'node:assert/strict';
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { bin, ok, readLog, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';

const OWNER = 1000;
const isRoot = process.getuid() === 0;
const people = isRoot ? [{ name: 'root' }, { name: 'an ordinary user', uid: OWNER }] : [{ name: 'an ordinary user' }];
const OWN = ['agentd', 'agent-init', 'agent-shim', 'agent-files', 'agent-proxy', 'agent-audit'];
const places = [];

after(() => places.forEach((place) => rmSync(place, { recursive: true, force: true })));

/** A daemon of that person, with programs that this person can read. */
async function start(person) {
	const place = mkdtempSync('/var/tmp/ar-denied-');
	places.push(place);
	chmodSync(place, 0o755);
	const folders = ['data', 'work', 'programs'].map((name) => join(place, name));
	folders.forEach((folder) => mkdirSync(folder, { mode: folder.endsWith('data') ? 0o700 : 0o755 }));
	const [data, work, programs] = folders;
	for (const name of OWN) copyFileSync(join(bin, name), join(programs, name));
	writeFileSync(join(work, 'note.txt'), 'a note\n');
	if (isRoot) for (const path of [work, join(work, 'note.txt')]) chownSync(path, OWNER, OWNER);
	if (person.uid) chownSync(data, person.uid, person.uid);
	return startAgentd({ dataDir: data, model: await startModel(), uid: person.uid, program: join(programs, 'agentd'),
		config: { 'tools.workspace': work, 'permission.mode': 'bypass' } });
}

async function call(rt, tool, args) {
	const { sessionId } = await submit(rt, `[[tool ${tool} ${JSON.stringify(args)}]]`);
	const facts = await waitFor(async () => {
		const log = (await readLog(rt, sessionId)).map((f) => f.event);
		return log.some((e) => /^turn\.(completed|failed|canceled)$/.test(e.type)) && log;
	}, 'the end of the turn', 15000);
	const of = (type) => facts.filter((e) => e.type === type);
	return { sessionId, of, end: facts.find((e) => /^tool\.(result|failed)$/.test(e.type)) };
}

for (const person of people) {
	test(`AN-04 for ${person.name}: a denial is a failure of category sandbox with its sandbox.violation, and an ordinary failure is neither`, async (t) => {
		const rt = await start(person);
		t.after(() => rt.stop());
		const refused = [
			['shell', { command: 'unshare -U true' }, 'seccomp-notify', /unshare|clone/],
			['read_file', { path: '/etc/shadow' }, 'enforcer', /^read_file \/etc\/shadow$/],
			['write_file', { path: '../beside.txt', content: 'x' }, 'enforcer', /^write_file \.\.\/beside\.txt$/],
		];
		for (const [tool, args, evidence, attempted] of refused) {
			const { of, end } = await call(rt, tool, args);
			assert.deepEqual([end.type, end.payload.errorCategory], ['tool.failed', 'sandbox'], `${tool} ${JSON.stringify(args)}`);
			const mine = of('sandbox.violation').filter((e) => e.payload.evidence === evidence && attempted.test(e.payload.attempted));
			assert.equal(mine.length, 1, JSON.stringify(of('sandbox.violation').map((e) => e.payload)));
			assert.equal(mine[0].payload.effect, 'blocked');
			assert.equal(mine[0].toolCallId, end.toolCallId, 'the denial names the call');
			assert.equal(end.payload.sandboxRef, of('sandbox.applied')[0].eventId);
		}
		for (const [tool, args] of [['read_file', { path: 'absent.txt' }], ['shell', { command: 'echo "Permission denied" >&2; exit 1' }]]) {
			const { of, end } = await call(rt, tool, args);
			assert.notEqual(end.payload.errorCategory, 'sandbox', 'words and exit codes prove nothing');
			assert.deepEqual(of('sandbox.violation'), []);
		}
	});

	test(`AN-04 for ${person.name}: cat /etc/shadow leaves a fact, or the profile in force says that it cannot`, async (t) => {
		const rt = await start(person);
		t.after(() => rt.stop());
		const { sessionId, of } = await call(rt, 'shell', { command: 'cat /etc/shadow' });
		const seen = of('sandbox.violation').some((e) => e.payload.attempted.includes('/etc/shadow'));
		const { violationsUnseen } = of('sandbox.applied')[0].payload.boundary.guarantees;
		const says = violationsUnseen.some((line) => line.includes('/etc/shadow'));
		assert.notEqual(seen, says, 'exactly one of both is true');
		const { sandboxProfile } = await ok(rt, 'get_execution_environment', { sessionId });
		assert.deepEqual(sandboxProfile.inForce.guarantees.violationsUnseen, violationsUnseen);
	});
}
