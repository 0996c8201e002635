// The attacks on every profile, started by root and by anybody: each attempt ends as its row says, what the filter refuses is heard of, nothing beside the
// workspace changes, and the victim of the same user hears nothing. Also where a mechanism of the kernel is missing, and beside bubblewrap.
// The limits of the attempts are too tight for sanitized helpers.
// ci: release only
// ci: alone
import './isolate.mjs';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { changes, listTree } from './tree.mjs';
import { asBackend, attack, backends, isExpected, isRoot, makeWorld, readAttempts } from './world.mjs';

const rows = readAttempts();
const PROFILES = process.env.AR_ESCAPE_PROFILES?.split(',') ?? ['read_only', 'workspace_write', 'no_network', 'allowlisted_network', 'danger_full_access'];
const isWhole = !process.env.AR_ESCAPE_PROFILES; // a mutant is tried on some profiles alone
// Of the workspace: what may change where it may be written.
const WRITABLE = { read_only: [], workspace_write: ['ws'], no_network: ['ws'], allowlisted_network: ['ws'] };
// Nobody takes the connections of the proxy's socket: what is open then is open without it.
const WORDS = { allowlisted_network: ['proxy=1'] };
const PROTECTED = ['.git/hooks', '.git/config', '.git/modules', '.gitmodules', '.hooks', '.vscode', '.husky', '.envrc', 'conf/idea', 'deep/sub/.git/hooks'];

// Danger makes nothing before its command.
const isBoundedBy = (profile) => profile !== 'danger_full_access';

const rowsOf = (profile) => rows.filter((row) => row.expected[profile] !== '-');

/** One sentence per row that did not end as it has to. */
function unexpected(profile, shown) {
	return rowsOf(profile).flatMap((row) => {
		const result = shown.results.get(row.name) ?? 'no result';
		const wrong = [];
		if (!isExpected(row.expected[profile], result)) wrong.push(`${row.name}: ${result}, not ${row.expected[profile]}`);
		if (row.evidence === 'notify' && profile !== 'danger_full_access' && !shown.heard.has(row.name)) wrong.push(`${row.name}: the listener heard nothing`);
		return wrong;
	});
}

function look(world, profile) {
	return [...listTree(world.base, WRITABLE[profile]), ...PROTECTED.flatMap((name) => listTree(`${world.workspace}/${name}`).map((line) => `${name}: ${line}`))];
}

test('there are at least 120 attempts, each with a name of its own', () => {
	assert.ok(rows.length >= 120);
	assert.equal(new Set(rows.map((row) => row.name)).size, rows.length);
});

// Each profile as it is made for a command, and as it was made before the command was known.
const WAYS = PROFILES.flatMap((profile) => [{ profile, how: '' }, ...(isBoundedBy(profile) && isWhole ? [{ profile, how: ' by a prewarmed sandbox', more: ['prewarmed=1'] }] : [])]);

for (const backend of backends) {
	for (const { profile, how, more = [] } of WAYS) {
		test(`SB-03 ${backend.name}: ${rowsOf(profile).length} attempts on ${profile}${how}`, async (t) => {
			const world = await makeWorld(backend, profile);
			const isBounded = isBoundedBy(profile);
			const before = isBounded && look(world, profile);
			const shown = attack(world, profile, rowsOf(profile).map((row) => row.name), { words: [...(WORDS[profile] ?? []), ...more] });
			if (!shown.ready) t.diagnostic(`rule it runs: ${shown.unavailable ?? JSON.stringify(shown.failed)} ${shown.stderr}`);
			assert.equal(shown.unavailable, null);
			assert.equal(shown.failed, null);
			const wrong = unexpected(profile, shown);
			for (const sentence of wrong.slice(0, 9)) t.diagnostic(`rule ${sentence}`);
			assert.deepEqual(wrong, []);
			assert.ok(shown.out.includes('done'), shown.stderr);
			if (!isBounded) return;
			assert.deepEqual(changes(before, look(world, profile)), [], 'something outside the workspace changed');
			assert.deepEqual(await world.victim.end(), ['done'], 'the victim was reached');
		});
	}
}

// ---- a mechanism is missing ----

const unseen = (words) => ({ words: words.map((word) => `forbid=${word}`) });
// A view of the machine without any cgroup, for this command alone.
const NO_CGROUP = { around: ['unshare', '--mount', 'sh', '-c', 'umount -R -l /sys/fs/cgroup && exec "$@"', 'sh'] };

const ABSENCES = {
	Landlock: unseen(['landlock']), 'user namespaces': unseen(['userns']), 'network namespaces': unseen(['netns']), 'process namespaces': unseen(['pidns']),
	'mount namespaces': unseen(['mountns']), 'the listener of filters': unseen(['notify']), filters: unseen(['seccomp']), cgroups: NO_CGROUP,
};

const byLandlock = rows.filter((row) => row.evidence === 'landlock').map((row) => row.name);

/** Rows that did not end as they must, where less is promised: without a listener nothing is heard, without cgroups other limits hold, and what Landlock
 * alone denies may be open when the guarantees say that it is missing. */
function open(profile, shown) {
	const lacks = JSON.stringify(shown.guarantees.notEnforced);
	return unexpected(profile, shown).filter((sentence) => !sentence.includes('heard nothing') && !(lacks.includes('no cgroup') && sentence.startsWith('limit_')) &&
		!(lacks.includes('no Landlock') && byLandlock.includes(sentence.split(':')[0])));
}

// As anybody a wrong launcher could still reach all of this user's processes: only where isolate.mjs could do its work.
for (const backend of isRoot && isWhole ? backends : []) {
	for (const [what, options] of Object.entries(ABSENCES)) {
		test(`SB-05 ${backend.name} without ${what}: unavailable, or as closed as with it`, async (t) => {
			const world = await makeWorld(backend);
			const before = look(world, 'workspace_write');
			const shown = attack(world, 'workspace_write', rowsOf('workspace_write').map((row) => row.name), options);
			if (shown.unavailable) {
				t.diagnostic(shown.unavailable);
				assert.match(shown.unavailable, /\S.* \| \S/, 'a reason and a remedy');
				assert.deepEqual(shown.out, [], 'nothing may run');
			} else if (!shown.failed) {
				assert.deepEqual(open('workspace_write', shown), []);
			}
			assert.deepEqual(changes(before, look(world, 'workspace_write')), []);
			assert.deepEqual(await world.victim.end(), ['done']);
		});
	}
}

// ---- bubblewrap as the oracle ----

const READ_ROOTS = ['/usr', '/etc/passwd', '/etc/group', '/etc/ld.so.cache', '/etc/alternatives'];

function bubblewrap(world) {
	const ws = world.workspace;
	const readOnly = PROTECTED.flatMap((name) => ['--ro-bind', `${ws}/${name}`, `${ws}/${name}`]);
	return ['bwrap', '--unshare-all', '--new-session', '--die-with-parent', '--cap-drop', 'ALL', ...READ_ROOTS.flatMap((path) => ['--ro-bind', path, path]),
		'--symlink', 'usr/bin', '/bin', '--symlink', 'usr/lib', '/lib', '--symlink', 'usr/lib64', '/lib64', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp',
		'--bind', ws, ws, ...readOnly, '--chdir', ws, '--clearenv', ...world.env.flatMap((e) => ['--setenv', ...e.split(/=(.*)/s).slice(0, 2)])];
}

// Ours may allow what bubblewrap does not only where the row itself says so: those rows are about what must work.
const mustWork = (row) => row.expected.workspace_write.split(' ').includes('ok');

test('row by row, no attempt that bubblewrap stops gets through ours', { skip: !isWhole && 'some profiles alone' }, async (t) => {
	const backend = backends.at(-1);
	const names = rowsOf('workspace_write').filter((row) => !row.name.startsWith('limit_')).map((row) => row.name);
	const theirs = await makeWorld(backend);
	const [file, ...args] = asBackend(backend, [...bubblewrap(theirs), `${theirs.workspace}/escape-attempts`, ...names]);
	const done = spawnSync(file, args, { encoding: 'utf8', timeout: 60000, cwd: '/' });
	assert.equal(done.status, 0, done.stderr);
	const oracle = new Map(done.stdout.split('\n').filter((line) => /^\w+ /.test(line)).map((line) => line.split(' ')));
	const ours = attack(await makeWorld(backend), 'workspace_write', names).results;
	const looser = rows.filter((row) => oracle.has(row.name) && oracle.get(row.name) !== 'ok' && ours.get(row.name) === 'ok' && !mustWork(row));
	assert.deepEqual(looser.map((row) => `${row.name}: bubblewrap ${oracle.get(row.name)}`), []);
	const stricter = names.filter((name) => oracle.get(name) === 'ok' && ours.get(name) !== 'ok');
	t.diagnostic(`${names.length} rows; ${stricter.length} that bubblewrap lets through are closed here: ${stricter.join(' ')}`);
	assert.ok(stricter.length > 0);
});
