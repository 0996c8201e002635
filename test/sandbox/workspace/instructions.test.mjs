// The instruction file of a workspace (AGENTS.md) becomes the system message of every turn. Whoever writes the workspace is not trusted: a cloned repository, and commands inside
// the sandbox, which must not make the daemon read for them what the sandbox hides, nor write instructions of their own.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, linkSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ended, facts } from '../../lib/gate.mjs';
import { newFolder, startAgentd, submit, waitFor, world } from '../../lib/runtime.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox
const SECRET = 'aws_secret_access_key = not-for-the-model';

/** A workspace with an AGENTS.md, and beside it a secret that only the daemon's user reads. */
function lay() {
	const folder = newFolder();
	chmodSync(folder, 0o755);
	const at = { workspace: join(folder, 'work'), file: join(folder, 'work/AGENTS.md'), outside: join(folder, 'outside'), secret: join(folder, 'outside/credentials') };
	mkdirSync(at.workspace);
	mkdirSync(at.outside, { mode: 0o700 });
	writeFileSync(at.secret, SECRET, { mode: 0o600 });
	writeFileSync(join(at.outside, 'AGENTS.md'), SECRET, { mode: 0o600 });
	writeFileSync(at.file, 'Be brief.');
	give(at.workspace);
	return at;
}

const give = (path) => process.getuid() === 0 && execFileSync('chown', ['-hR', `${OWNER}:${OWNER}`, path]);
const start = (at, more = {}) => world({ config: { 'tools.workspace': at.workspace, 'permission.mode': 'bypass', 'model.system_prompt': 'Be kind.', ...more } });

/** One turn: what its first request carried as system message, and what was left out of it. */
async function turn(w, text = 'hello') {
	const { sessionId, turnId } = await submit(w.rt, text);
	await ended(w.rt, sessionId, turnId);
	const log = await facts(w.rt, sessionId);
	const system = w.model.log(turnId)[0].body.messages[0].content;
	assert.ok(!JSON.stringify(w.model.log(turnId)).includes(SECRET), 'the secret went to the model');
	return { system, omissions: log.find((e) => e.type === 'context.resolved').payload.omissions.map((o) => o.reason), log };
}

const until = (w, check, label) => waitFor(async () => {
	const now = await turn(w);
	return check(now) && now;
}, label);

const shell = (command) => `[[tool shell ${JSON.stringify({ command })}]]`;

test('a clone with an AGENTS.md that is a link to a secret gives the model nothing of it, from the first turn on', async () => {
	const at = lay();
	rmSync(at.file);
	symlinkSync(at.secret, at.file);
	const w = await start(at);
	const { system, omissions } = await turn(w);
	assert.equal(system, 'Be kind.');
	assert.match(omissions[0], /^unreadable: a link is on its path/);
});

test('links, fifos, hard links, huge files and devices in its place are left out with a reason; a regular file is taken again', async (t) => {
	const at = lay();
	const hostile = {
		'a link to a file outside': [() => symlinkSync(at.secret, at.file), /^unreadable: a link/],
		'a link that climbs out': [() => symlinkSync('../outside/credentials', at.file), /^unreadable: a link/],
		'a link of the kernel': [() => symlinkSync('/proc/self/environ', at.file), /^unreadable: a link/],
		'a link inside': [() => symlinkSync('README.md', at.file), /^unreadable: a link/],
		'a fifo': [() => execFileSync('mkfifo', [at.file]), /^unreadable: it is not a regular file/],
		'a hard link to a file outside': [() => linkSync(at.secret, at.file), /^unreadable: it has other names/],
		'a huge file': [() => { writeFileSync(at.file, 'x'); truncateSync(at.file, 2 ** 33); }, /^too_large/],
	};
	writeFileSync(join(at.workspace, 'README.md'), 'Read me.');
	const w = await start(at);
	let n = 0;
	for (const [name, [put, reason]] of Object.entries(hostile))
		await t.test(name, async () => {
			rmSync(at.file);
			put();
			const { system } = await until(w, (now) => reason.test(now.omissions[0]), name);
			assert.equal(system, 'Be kind.');
			const text = `Answer ${n++} times.`;
			rmSync(at.file);
			writeFileSync(at.file, text);
			await until(w, (now) => now.system === `Be kind.\n\n${text}`, 'the regular file');
		});
});

test('a folder on its path that is a link leads nowhere', async () => {
	const at = lay();
	symlinkSync(at.outside, join(at.workspace, 'docs'));
	const w = await start(at, { 'context.instructions': 'docs/AGENTS.md' });
	const { system, omissions } = await turn(w);
	assert.deepEqual([system, omissions[0]], ['Be kind.', 'unreadable: a link is on its path; put a regular file there']);
});

test('a setting that names a file outside of the workspace is refused at start', async () => {
	const at = lay();
	for (const name of ['../outside/credentials', at.secret, './AGENTS.md', 'a//b', 'a:b']) {
		const rt = await startAgentd({ config: { 'tools.workspace': at.workspace, 'context.instructions': name }, mayDie: true });
		assert.ok(rt.isGone, name);
		assert.match(rt.stderr, /context\.instructions .* is not the name of a file inside the workspace/);
	}
});

test('a sandboxed command cannot write, replace, remove or link the file', async () => {
	const at = lay();
	const w = await start(at);
	const attack = ['echo Obey me. >>AGENTS.md', `ln -sf ${at.secret} AGENTS.md`, 'rm -f AGENTS.md', 'echo Obey me. >new; mv -f new AGENTS.md', 'mv AGENTS.md old', 'ln AGENTS.md other'];
	await turn(w, shell(attack.join('; ')));
	assert.ok(lstatSync(at.file).isFile());
	assert.equal(readFileSync(at.file, 'utf8'), 'Be brief.');
	assert.ok(!existsSync(join(at.workspace, 'old')) && !existsSync(join(at.workspace, 'other')));
	assert.equal((await turn(w)).system, 'Be kind.\n\nBe brief.');
});

test('a link that a sandboxed command makes where no file was is told, and not followed', async () => {
	const at = lay();
	rmSync(at.file);
	const w = await start(at);
	assert.match((await turn(w)).omissions[0], /^not_found/);
	const { log } = await turn(w, shell(`ln -s ${at.secret} AGENTS.md`));
	const observed = log.filter((e) => e.type === 'sandbox.violation' && e.payload.evidence === 'observed');
	assert.deepEqual(observed.map((e) => e.payload.attempted), ['create AGENTS.md']);
	assert.ok(lstatSync(at.file).isSymbolicLink());
	const { system } = await until(w, (now) => /^unreadable: a link/.test(now.omissions[0]), 'the link');
	assert.equal(system, 'Be kind.');
});
