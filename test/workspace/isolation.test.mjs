// Sessions of one workspace that do not share its folder: who sees what, byte for byte; changes that are merged, asked about, thrown away; kills in the middle; hostile repositories.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readFileSync, readdirSync, readlinkSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, refused, waitFor, world } from '../lib/runtime.mjs';
import { validateEvent } from '../lib/schemas.mjs';
import { factsOf, must } from '../tenant/tenants.mjs';

const KINDS = ['shared', 'copy', 'worktree', 'overlay', 'empty'];
const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const gitConfig = join(newFolder(), 'gitconfig');
const git = '-c user.name=n -c user.email=e@x';
writeFileSync(gitConfig, '[safe]\n\tdirectory = *\n'); // the folders belong to users of the sandbox
const sh = (cwd, script) => execFileSync('sh', ['-ec', script], { cwd, encoding: 'utf8', env: { ...process.env, GIT_CONFIG_GLOBAL: gitConfig, HOME: '/nonexistent' } });
let w, dir;

/** Every file below but those of .git: its path with its bytes or its target. */
function filesOf(root) {
	const found = {};
	const walk = (path) => {
		for (const name of readdirSync(join(root, path)).sort()) {
			const at = join(path, name), st = lstatSync(join(root, at), { throwIfNoEntry: false });
			if (name === '.git' || !st) continue; // a file on its way to its name is gone by now
			if (st.isDirectory()) walk(at);
			else if (st.isSymbolicLink()) found[at] = `-> ${readlinkSync(join(root, at))}`;
			else if (st.isFile()) found[at] = readFileSync(join(root, at), 'latin1');
		}
	};
	walk('.');
	return found;
}

/** What a script makes in the folder of a new workspace; it belongs to whom the folder does. */
async function workspaceWith(script, { who, isolation } = {}) {
	const { workspace } = await must(w.rt, who, 'create_workspace', { name: 'w', isolation, idempotencyKey: `${Math.random()}` });
	sh(workspace.root, script);
	const { uid, gid } = statSync(workspace.root);
	execFileSync('chown', ['-hR', `${uid}:${gid}`, workspace.root]);
	return workspace;
}

const facts = (s, type) => factsOf(w.rt, s.who, s.sessionId).then((all) => all.filter((f) => !type || f.type === type));
const fact = (s, find, what) => waitFor(async () => (await facts(s)).find(find), what);

async function session(workspace, isolation, who) {
	const { sessionId } = await must(w.rt, who, 'create_session', { workspaceId: workspace.workspaceId, ...(isolation ? { isolation } : {}) });
	const s = { who, sessionId, isolation };
	s.folder = (await facts(s, 'workspace.bound'))[0].payload.binding.folder;
	return s;
}

/** A turn with one command, to its end; what the model read of it. */
async function run(s, command) {
	const { turnId } = await must(w.rt, s.who, 'submit_turn', { sessionId: s.sessionId, text: call('shell', { command }) });
	await fact(s, (f) => f.turnId === turnId && /^turn\.(completed|failed)$/.test(f.type), 'the end of the turn');
	return JSON.stringify(w.model.log(turnId).at(-1).body.messages.filter((m) => m.role === 'tool'));
}

async function apply(s, more = {}) {
	const { applyId } = await must(w.rt, s.who, 'apply_workspace', { sessionId: s.sessionId, ...more });
	return fact(s, (f) => /^workspace\.(applied|conflicted|failed)$/.test(f.type) && f.payload.applyId === applyId, 'the end of the merge');
}

async function discard(s) {
	const { checkpointId } = await must(w.rt, s.who, 'discard_workspace', { sessionId: s.sessionId });
	return fact(s, (f) => /^checkpoint\.(restored|failed)$/.test(f.type) && f.payload.checkpointId === checkpointId, 'the end of the discard');
}

before(async () => {
	dir = realpathSync(newFolder());
	w = await world({ config: { 'permission.mode': 'bypass', 'workspaces.dir': dir, 'limits.token_rate': 0, 'limits.tenant_rate': 0 } });
});

test('two tenants, five sessions each, one repository: each sees what it may, byte for byte', async () => {
	const repository = `git init -q .; printf 'common\\0\\377' > common; mkdir d; echo deep > d/e; ln -s common link; git ${git} add .; git ${git} commit -qm first; echo dirty > d/e`;
	const places = [];
	for (const tenant of ['acme', 'zeta']) {
		const { token } = await ok(w.rt, 'create_token', { tenant, name: tenant, scopes: ['read', 'submit', 'decide', 'admin'] });
		const workspace = await workspaceWith(repository, { who: token });
		const sessions = await Promise.all(KINDS.map((kind) => session(workspace, kind, token)));
		places.push({ tenant, token, workspace, sessions, before: filesOf(workspace.root) });
	}
	assert.deepEqual(places[0].before, { common: 'common\0\xff', 'd/e': 'dirty\n', link: '-> common' });
	const all = places.flatMap((p) => p.sessions.map((s) => ({ ...p, s, mine: `${p.tenant} ${s.isolation}` })));
	await Promise.all(all.map(({ s }) => run(s, 'ls')));
	await Promise.all(all.map(({ s, mine }) => run(s, `mkdir -p d; printf '${mine}' > by-${s.isolation}; printf '${mine}' > d/e`)));
	for (const { tenant, workspace, sessions, before } of places) {
		const written = (kind) => ({ [`by-${kind}`]: `${tenant} ${kind}`, 'd/e': `${tenant} ${kind}` });
		assert.deepEqual(filesOf(workspace.root), { ...before, ...written('shared') });
		for (const s of sessions) {
			const expected = { ...(s.isolation === 'empty' ? {} : before), ...written(s.isolation) };
			assert.deepEqual(filesOf(s.folder), expected, s.isolation);
			const text = await run(s, `cat by-* d/e; echo; ls -A; cat ${workspace.root}/by-shared ${sessions[1].folder}/by-copy 2>/dev/null; echo over`);
			for (const other of KINDS) {
				const sees = other === s.isolation;
				assert.equal(text.includes(`${tenant} ${other}`), sees, `${s.isolation} sees ${other}: ${text}`);
				assert.ok(!text.includes(tenant === 'acme' ? 'zeta ' : 'acme '), text);
			}
		}
	}
	for (const { s, workspace } of all) {
		for (const f of await facts(s)) validateEvent(f);
		const bound = (await facts(s, 'workspace.bound'))[0].payload.binding;
		assert.equal(bound.origin, s.isolation === 'shared' ? undefined : workspace.root);
		assert.equal((await facts(s, 'workspace.prepared')).length, s.isolation === 'shared' ? 0 : 1);
		if (s.isolation === 'shared') continue;
		assert.ok(s.folder.startsWith(`${dir}/`) && (lstatSync(join(s.folder, '..')).mode & 0o777) === 0o700, s.folder);
		const diff = await must(w.rt, s.who, 'diff_workspace', { sessionId: s.sessionId });
		assert.deepEqual(diff.changes, [{ path: `by-${s.isolation}`, change: 'added' }, { path: 'd/e', change: s.isolation === 'empty' ? 'added' : 'changed' }]);
	}
	// What is applied is in the workspace, and in no other session; the file that the shared one changed too is asked about.
	for (const { tenant, workspace, sessions } of places) {
		const [, copy, worktree] = sessions;
		const end = await apply(copy, { paths: ['by-copy'] });
		assert.deepEqual([end.type, end.payload.files], ['workspace.applied', 1]);
		assert.equal(filesOf(workspace.root)['by-copy'], `${tenant} copy`);
		assert.equal(filesOf(worktree.folder)['by-copy'], undefined);
		assert.equal((await apply(worktree)).type, 'workspace.conflicted');
		assert.equal(filesOf(workspace.root)['by-worktree'], undefined);
	}
});

test('two worktrees fix two tests of one repository at once, and both are merged', async () => {
	const workspace = await workspaceWith(`git init -q .; printf 'add() { echo $(($1 - $2)); }\\n#\\n#\\n#\\n#\\nmul() { echo $(($1 + $2)); }\\n' > lib.sh; echo '. ./lib.sh; test $(add 2 3) = 5' > test-add.sh; echo '. ./lib.sh; test $(mul 2 3) = 6' > test-mul.sh; git ${git} add .; git ${git} commit -qm first`);
	const [one, two] = await Promise.all([session(workspace, 'worktree'), session(workspace, 'worktree')]);
	const fix = (name, expression) => `sed -i '/^${name}/s/.*/${name}() { echo $((${expression})); }/' lib.sh && sh test-${name}.sh && git ${git} commit -qam 'fix ${name}' && git log --format=%s && git status --porcelain`;
	const [first, second] = await Promise.all([run(one, fix('add', '\\$1 + \\$2')), run(two, fix('mul', '\\$1 * \\$2'))]);
	assert.ok(first.includes('fix add\\nfirst') && !first.includes('fix mul'), first);
	assert.ok(second.includes('fix mul\\nfirst') && !second.includes('fix add'), second);
	assert.throws(() => sh(workspace.root, 'sh test-add.sh'));
	const ends = await Promise.all([apply(one), apply(two)]);
	assert.deepEqual(ends.map((e) => e.type), ['workspace.applied', 'workspace.applied']);
	sh(workspace.root, 'sh test-add.sh; sh test-mul.sh');
	assert.equal(sh(workspace.root, `git ${git} rev-list --all --count`).trim(), '1'); // the person's repository has no commit of theirs
	const branch = `agent/${one.sessionId.slice(5)}`;
	assert.match(sh(workspace.root, `git ${git} fetch -q ${one.folder} ${branch} && git ${git} log --format=%s FETCH_HEAD`), /^fix add\nfirst\n$/);
});

const BOTH = { both: 'theirs\n', fine: 'fine\n', gone: 'theirs\n' };

for (const [answer, expected, type] of [
	['keep_session', { both: 'mine\n', fine: 'mine\n' }, 'workspace.applied'],
	['keep_workspace', { both: 'theirs\n', fine: 'mine\n', gone: 'theirs\n' }, 'workspace.applied'],
	['leave_out', { both: 'theirs\n', fine: 'mine\n', gone: 'theirs\n' }, 'workspace.applied'],
	['cancel', BOTH, 'workspace.failed'],
])
	test(`a conflict is a question, also after a restart; ${answer}`, async () => {
		const workspace = await workspaceWith('for f in both fine gone; do echo base > $f; done; echo fine > fine');
		const s = await session(workspace, 'copy');
		await run(s, 'echo mine > both; echo mine > fine; rm gone');
		sh(workspace.root, 'echo theirs > both; echo theirs > gone');
		const asked = await apply(s);
		assert.deepEqual([asked.type, asked.payload.files], ['workspace.conflicted', 2]);
		const question = await fact(s, (f) => f.type === 'action.required', 'the question');
		assert.deepEqual([question.actionId, question.payload.actionType, question.payload.decisions], [asked.payload.actionId, 'merge_conflict', ['keep_session', 'keep_workspace', 'leave_out', 'cancel']]);
		assert.match(question.payload.prompt, /both, gone|gone, both/);
		assert.deepEqual(filesOf(workspace.root), BOTH);
		await refused(w.rt, 'conflict', 'apply_workspace', { sessionId: s.sessionId });
		await w.rt.kill9();
		w.rt = await w.again();
		const { actions } = await ok(w.rt, 'list_actions', {});
		assert.ok(actions.some((a) => a.actionId === question.actionId), 'it is listed');
		await ok(w.rt, 'respond_action', { actionId: question.actionId, decision: answer });
		const end = await fact(s, (f) => /^workspace\.(applied|failed)$/.test(f.type), 'the end');
		assert.equal(end.type, type);
		assert.deepEqual(filesOf(workspace.root), expected);
		assert.equal(filesOf(s.folder).both, 'mine\n'); // nothing of the session is lost
		const { changes } = await ok(w.rt, 'diff_workspace', { sessionId: s.sessionId });
		assert.deepEqual(changes.map((c) => c.path), { leave_out: ['both', 'gone'], cancel: ['both', 'fine', 'gone'] }[answer] ?? []);
		assert.ok((await facts(s, 'task.waiting')).length === 0 && (await facts(s, 'turn.completed')).length === 1);
	});

test('changes are thrown away, and that is taken back', async () => {
	const workspace = await workspaceWith('echo a > a; echo b > b');
	const s = await session(workspace, 'overlay');
	for (const command of ['apply_workspace', 'discard_workspace', 'diff_workspace']) await refused(w.rt, 'conflict', command, { sessionId: s.sessionId });
	await run(s, 'echo changed > a; rm b; echo new > c');
	const diff = await ok(w.rt, 'diff_workspace', { sessionId: s.sessionId });
	assert.match(diff.diff, /-a\n\+changed/);
	assert.equal(diff.files.status, 'ready');
	const gone = await discard(s);
	assert.equal(gone.type, 'checkpoint.restored');
	assert.deepEqual(filesOf(s.folder), { a: 'a\n', b: 'b\n' });
	assert.deepEqual((await ok(w.rt, 'diff_workspace', { sessionId: s.sessionId })).changes, []);
	await ok(w.rt, 'restore_checkpoint', { sessionId: s.sessionId, checkpointId: gone.payload.checkpointId });
	await waitFor(async () => filesOf(s.folder).c === 'new\n', 'the changes again');
	assert.deepEqual(filesOf(workspace.root), { a: 'a\n', b: 'b\n' });
});

test('the workspace says what its sessions share with it; the session may say otherwise', async () => {
	const workspace = await workspaceWith('echo a > a', { isolation: 'copy' });
	const usual = await session(workspace), shared = await session(workspace, 'shared');
	assert.notEqual(usual.folder, workspace.root);
	assert.equal(shared.folder, workspace.root);
	await ok(w.rt, 'update_workspace', { workspaceId: workspace.workspaceId, isolation: 'shared' });
	assert.equal((await session(workspace)).folder, workspace.root);
	for (const command of ['apply_workspace', 'discard_workspace', 'diff_workspace']) await refused(w.rt, 'workspace_shared', command, { sessionId: shared.sessionId });
	await refused(w.rt, 'invalid_input', 'create_session', { isolation: 'copy' });
	await refused(w.rt, 'workspace_not_found', 'create_session', { workspaceId: workspace.workspaceId.replace(/.$/, (c) => (c === '0' ? '1' : '0')), isolation: 'copy' });
	const turn = await ok(w.rt, 'submit_turn', { createPolicy: { workspaceId: workspace.workspaceId, isolation: 'empty' }, text: call('shell', { command: 'ls -A; echo over' }) });
	const made = { sessionId: turn.sessionId };
	await fact(made, (f) => f.type === 'turn.completed', 'the end of the turn');
	assert.equal((await facts(made, 'workspace.prepared'))[0].payload.method, 'none');
});

test('a worktree of what is no repository fails the calls with a sentence, and the next turn tries again', async () => {
	const workspace = await workspaceWith('echo a > a');
	const s = await session(workspace, 'worktree');
	assert.match(await run(s, 'echo ran > ran'), /no files to work with.*repository/);
	assert.equal((await facts(s, 'workspace.failed'))[0].payload.phase, 'prepare');
	assert.ok(!existsSync(join(s.folder, 'ran')) && !existsSync(join(workspace.root, 'ran')));
	sh(workspace.root, `git ${git} init -q .; chown -R $(stat -c %u:%g .) .git`);
	assert.match(await run(s, 'cat a'), /\\na\\n/);
	assert.equal((await facts(s, 'workspace.prepared')).length, 1);
});

test('a repository that is made to mislead brings nothing in and runs nothing', async () => {
	const outside = realpathSync(newFolder());
	writeFileSync(join(outside, 'secret'), 'the secret outside');
	const workspace = await workspaceWith(`git init -q .; echo f > f; git ${git} add f; git ${git} commit -qm first; ln -s ${outside} away; ln -s ${outside}/secret secret; printf x > "$(printf 'new\\nline')"; mkdir sub; git init -q sub; echo 'gitdir: ${outside}' > d.git; mkdir evil; echo 'gitdir: ${outside}' > evil/.git; git ${git} config core.fsmonitor 'touch ${outside}/ran'; git ${git} config filter.evil.smudge 'touch ${outside}/ran; cat'; echo '* filter=evil' > .gitattributes; printf '[submodule "s"]\\n\\tpath = s\\n\\turl = ${outside}\\n' > .gitmodules; echo /etc > .git/objects/info/alternates`);
	const before = filesOf(workspace.root);
	const s = await session(workspace, 'worktree');
	const text = await run(s, 'cat secret away/secret; cat f; ls .git/hooks; git config --list --local; ls -d sub/.git evil/.git; echo over');
	assert.ok(text.includes('over') && !text.includes('the secret outside') && !text.includes('evil.smudge'), text);
	assert.deepEqual(filesOf(s.folder), before);
	assert.ok(!existsSync(join(outside, 'ran')) && !existsSync(join(s.folder, 'evil/.git')));
	// Nor does it get out: what would be run in the workspace later stays as it is, links are links.
	await run(s, `rm away; mkdir away; echo evil > away/secret; mkdir -p .husky; echo evil > .husky/pre-commit; echo evil > .envrc; ln -s ${outside}/made made; echo new > ok`);
	const end = await apply(s);
	assert.equal(end.type, 'workspace.applied');
	const after = filesOf(workspace.root);
	assert.deepEqual([after.ok, after['away/secret'], after.made, after['.envrc'], after['.husky/pre-commit']], ['new\n', 'evil\n', `-> ${outside}/made`, undefined, undefined]);
	assert.deepEqual(readdirSync(outside), ['secret']);
	assert.equal(readFileSync(join(outside, 'secret'), 'utf8'), 'the secret outside');
	assert.equal(end.payload.leftOut, existsSync(join(s.folder, '.envrc')) ? 2 : 0);
});

for (const [at, fault] of [['before it begins', 'engine.before_checkpoint'], ['when it has ended', 'engine.checkpoint_end']])
	test(`a kill ${at} repeats a fill and a merge, and nothing is lost`, async () => {
		const workspace = await workspaceWith('for i in $(seq 50); do echo $i > f$i; done; seq 30 > text');
		const s = await session(workspace, 'copy');
		const dies = async (act) => {
			await w.rt.kill9();
			w.rt = await w.again({ fault: `${fault}:1`, mayDie: true });
			await act().catch(() => {});
			await waitFor(() => w.rt.child.exitCode !== null || w.rt.child.signalCode !== null, 'the kill');
			w.rt = await w.again();
		};
		let turn;
		await dies(async () => { turn = await must(w.rt, undefined, 'submit_turn', { sessionId: s.sessionId, text: call('shell', { command: "sed -i 's/^2$/two/' text; rm f1; echo new > g" }) }); });
		await fact(s, (f) => f.type === 'workspace.prepared', 'the folder');
		await fact(s, (f) => /^turn\.(completed|failed)$/.test(f.type), 'the end of the turn');
		assert.equal(filesOf(s.folder).g, 'new\n');
		sh(workspace.root, "sed -i 's/^29$/twentynine/' text");
		await dies(() => must(w.rt, undefined, 'apply_workspace', { sessionId: s.sessionId }));
		const end = await fact(s, (f) => /^workspace\.(applied|failed|conflicted)$/.test(f.type), 'the end of the merge');
		assert.deepEqual([end.type, end.payload.files], ['workspace.applied', fault === 'engine.before_checkpoint' ? 3 : 0]);
		const files = filesOf(workspace.root);
		assert.deepEqual([files.f1, files.g, files.text.split('\n')[1], files.text.split('\n')[28]], [undefined, 'new\n', 'two', 'twentynine']);
		assert.equal((await facts(s, 'workspace.applying')).length, 1);
	});

test('a kill in the middle of a fill leaves no half folder to a call', async () => {
	const count = 3000;
	const workspace = await workspaceWith(`for i in $(seq ${count}); do echo $i > f$i; done`);
	const s = await session(workspace, 'copy');
	await must(w.rt, undefined, 'submit_turn', { sessionId: s.sessionId, text: call('shell', { command: 'ls | wc -l' }) });
	await waitFor(() => readdirSync(s.folder).length > 0, 'the first file', 30000);
	await w.rt.kill9();
	w.rt = await w.again();
	await fact(s, (f) => f.type === 'turn.completed', 'the end of the turn');
	assert.deepEqual(filesOf(s.folder), filesOf(workspace.root));
	assert.equal((await facts(s, 'workspace.prepared'))[0].payload.files, count);
});

test('a kill in the middle of a merge is completed, and the state before is the one before the first file', async () => {
	const count = 3000;
	const workspace = await workspaceWith(`for i in $(seq ${count}); do echo $i > f$i; done; seq 30 > text`);
	const s = await session(workspace, 'copy'), original = filesOf(workspace.root);
	await run(s, `for i in $(seq ${count}); do echo changed $i > f$i; done; sed -i 's/^2$/two/' text`);
	sh(workspace.root, "sed -i 's/^29$/twentynine/' text");
	await must(w.rt, undefined, 'apply_workspace', { sessionId: s.sessionId });
	await waitFor(() => readFileSync(join(workspace.root, 'f1'), 'utf8').startsWith('changed'), 'the first file', 30000);
	await w.rt.kill9();
	w.rt = await w.again();
	const end = await fact(s, (f) => /^workspace\.(applied|failed|conflicted)$/.test(f.type), 'the end of the merge');
	assert.equal(end.type, 'workspace.applied', JSON.stringify(end.payload));
	const files = filesOf(workspace.root);
	assert.deepEqual([files.text.split('\n')[1], files.text.split('\n')[28]], ['two', 'twentynine']);
	for (let i = 1; i <= count; i++) assert.equal(files[`f${i}`], `changed ${i}\n`);
	const show = (path) => sh(dir, `git --git-dir=${join(workspace.root, '../checkpoints/checkpoints.git')} show ${end.payload.before}:${path}`);
	for (const i of [1, 1500, count]) assert.equal(show(`f${i}`), original[`f${i}`]);
	assert.equal(show('text').split('\n')[1], '2');
});
