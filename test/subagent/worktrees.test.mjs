// Child agents with a worktree of their own: who sees what, merging and discarding by command, conflicts as questions, folders that go; 20 of them over a kill -9.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, readLog, refused, waitFor, world } from '../lib/runtime.mjs';
import { validateEvent } from '../lib/schemas.mjs';
import { ask, factsOf, must } from '../tenant/tenants.mjs';

const LONG = 240000; // about a hundred runs in the sandbox, one after the other
const OWN = { isolation: { worktree: 'own' } };
const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
const shell = (command) => call('shell', { command });
/** A directive inside the arguments of another one. */
const inner = (text) => JSON.stringify(text).replaceAll(']', '\\u005d').slice(1, -1);
const run = (command, input, who) => must(w.rt, who, command, input);
const facts = (s, type) => factsOf(w.rt, s.who, s.sessionId).then((all) => all.filter((f) => !type || f.type === type));
const fact = (s, find, what) => waitFor(async () => (await facts(s)).find(find), what);
const list = async (s) => (await run('list_subagents', { sessionId: s.sessionId, depth: 'descendants', limit: 200 }, s.who)).subagents;
const get = async (s, id) => (await list(s)).find((r) => r.subagentId === id);
const until = (s, id, good, what) => waitFor(async () => ((r) => r && good(r) && r)(await get(s, id)), () => `${id}: ${what}`);
const ended = (s, id, status = 'completed') => until(s, id, (r) => r.status === status, status);
const gone = (s, id) => until(s, id, (r) => r.files?.status === 'removed', 'its folder is removed');
const gitConfig = join(newFolder(), 'gitconfig');
writeFileSync(gitConfig, '[safe]\n\tdirectory = *\n'); // the folders belong to users of the sandbox
let w, dir;

async function workspaceWith(script, who) {
	const { workspace } = await run('create_workspace', { name: 'w', idempotencyKey: `${Math.random()}` }, who);
	execFileSync('sh', ['-ec', script], { cwd: workspace.root, env: { ...process.env, GIT_CONFIG_GLOBAL: gitConfig, HOME: '/nonexistent' } });
	const { uid, gid } = statSync(workspace.root);
	execFileSync('chown', ['-hR', `${uid}:${gid}`, workspace.root]);
	return workspace;
}
const REPOSITORY = 'git init -q .; echo common > common; git -c user.name=n -c user.email=e@x add .; git -c user.name=n -c user.email=e@x commit -qm first';

/** A session in the workspace whose turn waits, so that it can have children. */
async function parent(workspace, { who, isolation } = {}) {
	const { sessionId } = await run('create_session', { workspaceId: workspace.workspaceId, ...(isolation ? { isolation } : {}) }, who);
	const { threadId, turnId } = await run('submit_turn', { sessionId, text: '[[hang]]' }, who);
	return { who, root: workspace.root, sessionId, at: { sessionId, threadId, turnId } };
}
const spawn = async (s, objective, more = OWN, at = s.at) => (await run('spawn_subagent', { ...at, objective, ...more }, s.who)).subagentId;
const end = async (s, id) => {
	await run('close_subagent', { subagentId: id }, s.who);
	return ended(s, id, 'closed');
};
async function merge(s, subagentId, more = {}) {
	const { applyId } = await run('apply_workspace', { sessionId: s.sessionId, subagentId, ...more }, s.who);
	return fact(s, (f) => /^workspace\.(applied|conflicted|failed)$/.test(f.type) && f.payload.applyId === applyId && f.subagentId === subagentId, 'the end of the merge');
}
async function discard(s, subagentId) {
	const { checkpointId } = await run('discard_workspace', { sessionId: s.sessionId, subagentId }, s.who);
	return fact(s, (f) => /^checkpoint\.(restored|failed)$/.test(f.type) && f.payload.checkpointId === checkpointId, 'the end of the discard');
}
/** What the model of a child read of its calls. */
const read = async (s, id) => {
	const { childThreadId } = await get(s, id);
	const turns = (await facts(s, 'turn.started')).filter((f) => f.threadId === childThreadId);
	return JSON.stringify(turns.map((f) => w.model.log(f.turnId).at(-1).body.messages.filter((m) => m.role === 'tool')));
};
/** Folders of agents below workspaces.dir. */
const folders = (s) => {
	const found = [];
	for (const home of readdirSync(dir)) for (const ws of readdirSync(join(dir, home))) {
		const own = join(dir, home, ws, 'sessions', s.sessionId.slice(5));
		if (existsSync(own)) found.push(...readdirSync(own).filter((name) => name.startsWith('agent-')));
	}
	return found;
};

before(async () => {
	dir = realpathSync(newFolder());
	const agents = newFolder();
	writeFileSync(join(agents, 'apart.md'), '---\ndescription: Works apart.\nisolation: worktree\n---\nWork apart.\n');
	w = await world({ config: { agents: [{ dir: agents }], 'permission.mode': 'bypass', 'workspaces.dir': dir, 'subagents.tools': true, 'model.backoff_ms': 20, 'limits.token_rate': 0, 'limits.tenant_rate': 0 } });
});

test('SA-02 a child in a worktree of its own: its commands and file tools see that folder only; merged by command, then the folder goes', async () => {
	const s = await parent(await workspaceWith(REPOSITORY));
	const id = await spawn(s, `${shell(`echo shell > by-shell; echo changed > common; pwd; git branch --show-current; ls ${s.root} 2>&1 || true; echo x > ${s.root}/escape || true`)}[[then]]${call('write_file', { path: 'by-tool', content: 'tool\n' })}`);
	const r = await ended(s, id);
	assert.equal(r.isolation.worktree, 'own');
	assert.deepEqual([r.folder.isolation, r.folder.origin, r.files.status, r.files.changed], ['worktree', s.root, 'ready', true]);
	assert.deepEqual(readdirSync(s.root).sort(), ['.git', 'common'], 'nothing is in the folder of the parent');
	assert.equal(readFileSync(join(s.root, 'common'), 'utf8'), 'common\n');
	assert.deepEqual(readdirSync(r.folder.folder).sort(), ['.git', 'by-shell', 'by-tool', 'common']);
	assert.equal(statSync(r.folder.folder).uid, statSync(s.root).uid);
	const said = await read(s, id);
	assert.ok(said.includes(r.folder.folder) && said.includes(`agent/${s.sessionId.slice(5)}_`) && !said.includes('escape\\n'), said);
	const all = await facts(s), index = (type) => all.findIndex((f) => f.type === type && (f.subagentId === id || f.threadId === r.childThreadId));
	assert.ok(index('subagent.spawned') < index('workspace.bound') && index('workspace.bound') < index('workspace.preparing') && index('workspace.preparing') < index('workspace.prepared') && index('workspace.prepared') < index('tool.started'), 'it is intended, then made, then used');
	const other = await spawn(s, shell('ls; cat common'), {});
	await ended(s, other);
	assert.ok(!(await read(s, other)).includes('by-shell'), 'a child that shares the folder of its parent sees nothing of it');
	await refused(w.rt, 'workspace_shared', 'apply_workspace', { sessionId: s.sessionId, subagentId: other });

	const diff = await run('diff_workspace', { sessionId: s.sessionId, subagentId: id });
	assert.deepEqual(diff.changes.map((c) => c.path), ['by-shell', 'by-tool', 'common']);
	assert.equal((await end(s, id)).files.changed, true, 'a closed child keeps what is not merged');
	assert.deepEqual(folders(s).length, 1);
	const merged = await merge(s, id);
	assert.deepEqual([merged.type, merged.payload.files], ['workspace.applied', 3]);
	assert.equal(readFileSync(join(s.root, 'common'), 'utf8'), 'changed\n');
	assert.equal(readFileSync(join(s.root, 'by-tool'), 'utf8'), 'tool\n');
	await gone(s, id);
	assert.deepEqual(folders(s), []);
	await refused(w.rt, 'conflict', 'apply_workspace', { sessionId: s.sessionId, subagentId: id });
	await refused(w.rt, 'subagent_closed', 'send_subagent_input', { subagentId: id, input: 'x' });
	for (const f of await facts(s)) validateEvent(f);
});

test('a conflict is a question and loses nothing; a child that stays open goes on in its folder; discard throws away', async () => {
	const s = await parent(await workspaceWith(REPOSITORY));
	const [a, b] = [await spawn(s, shell('echo a > common; echo a > a')), await spawn(s, shell('echo b > common; echo b > b'))];
	await Promise.all([ended(s, a), ended(s, b)]);
	assert.equal((await merge(s, a)).type, 'workspace.applied');
	const asked = await merge(s, b);
	assert.deepEqual([asked.type, asked.payload.files], ['workspace.conflicted', 1]);
	const question = await fact(s, (f) => f.type === 'action.required' && f.actionId === asked.payload.actionId, 'the question');
	assert.ok(question.payload.prompt.includes(b) && question.payload.prompt.includes('common'), question.payload.prompt);
	assert.equal(question.threadId, (await get(s, b)).childThreadId);
	const { threads } = await run('get_session', { sessionId: s.sessionId });
	assert.deepEqual(threads.map((x) => [x.threadId, x.pendingRequests.length]), [[s.at.threadId, 0], [question.threadId, 1]], 'the thread of a child that has ended is shown while a question of it is open');
	assert.ok(!existsSync(join(s.root, 'b')), 'nothing is written before the answer');
	await refused(w.rt, 'conflict', 'apply_workspace', { sessionId: s.sessionId, subagentId: b });
	await end(s, b);
	assert.equal((await get(s, b)).files.changed, true);
	await run('respond_action', { actionId: asked.payload.actionId, decision: 'keep_session' });
	await fact(s, (f) => f.type === 'workspace.applied' && f.subagentId === b, 'the merge');
	assert.equal(readFileSync(join(s.root, 'common'), 'utf8'), 'b\n');
	await gone(s, b);

	await run('send_subagent_input', { subagentId: a, input: shell('cat common; echo again > a') });
	await until(s, a, (r) => r.status === 'completed' && r.files.changed, 'more work');
	assert.ok((await read(s, a)).includes('a\\n'), 'its own version of the file');
	assert.equal((await discard(s, a)).type, 'checkpoint.restored');
	const kept = await get(s, a);
	assert.deepEqual([kept.files.changed, readFileSync(join(kept.folder.folder, 'a'), 'utf8')], [undefined, 'a\n']);
	await end(s, a);
	await gone(s, a);
	assert.deepEqual(folders(s), []);
	assert.equal(readFileSync(join(s.root, 'a'), 'utf8'), 'a\n');
});

test('a definition with isolation worktree keeps its children apart, also where less is asked for; without a repository there is none', async () => {
	const s = await parent(await workspaceWith(REPOSITORY));
	for (const more of [{}, { isolation: { worktree: 'shared' } }]) {
		const id = await spawn(s, shell('echo x > made'), { definition: 'apart', ...more });
		const r = await ended(s, id);
		assert.deepEqual([r.definition, r.isolation.worktree, existsSync(join(r.folder.folder, 'made'))], ['apart', 'own', true]);
	}
	assert.deepEqual(readdirSync(s.root).sort(), ['.git', 'common']);
	const { sessionId } = await ok(w.rt, 'create_session', {});
	const { threadId, turnId } = await ok(w.rt, 'submit_turn', { sessionId, text: '[[hang]]' });
	await refused(w.rt, 'isolation_unsupported', 'spawn_subagent', { sessionId, threadId, turnId, objective: 'x', definition: 'apart' });
});

test('a child of such a child: shares its folder or has one from it, merged level by level; a session with a worktree, too', async () => {
	const s = await parent(await workspaceWith(REPOSITORY), { isolation: 'worktree' });
	const id = await spawn(s, `${shell('echo child > child')}[[then]][[hang]]`);
	const r = await until(s, id, (c) => c.files?.changed, 'it has written');
	const prepared = await facts(s, 'workspace.prepared');
	assert.deepEqual(prepared.map((f) => f.subagentId), [undefined, id], 'the folder of the session first, then the one that is filled from it');
	const own = (await facts(s, 'workspace.bound'))[0].payload.binding.folder;
	assert.equal(r.folder.origin, own);
	const turn = (await facts(s, 'turn.started')).find((f) => f.threadId === r.childThreadId);
	const at = { sessionId: s.sessionId, threadId: r.childThreadId, turnId: turn.turnId };
	await fact(s, (f) => f.type === 'tool.result' && f.threadId === r.childThreadId, 'its file');
	const [shared, apart] = [await spawn(s, shell('cat child; echo shared > shared'), {}, at), await spawn(s, shell('cat child; echo apart > apart'), OWN, at)];
	await Promise.all([ended(s, shared), ended(s, apart)]);
	assert.ok((await read(s, shared)).includes('child\\n') && (await read(s, apart)).includes('child\\n'));
	assert.deepEqual([existsSync(join(r.folder.folder, 'shared')), existsSync(join(r.folder.folder, 'apart'))], [true, false]);
	assert.deepEqual(readdirSync(own).sort(), ['.git', 'common'], 'nothing above changed');
	await refused(w.rt, 'active_turn', 'apply_workspace', { sessionId: s.sessionId, subagentId: id });
	assert.equal((await merge(s, apart)).type, 'workspace.applied');
	assert.ok(existsSync(join(r.folder.folder, 'apart')) && !existsSync(join(own, 'apart')));
	await end(s, id);
	await gone(s, apart);
	assert.equal((await merge(s, id)).payload.files, 3);
	await gone(s, id);
	assert.deepEqual(['apart', 'child', 'shared'].map((name) => [existsSync(join(own, name)), existsSync(join(s.root, name))]), [[true, false], [true, false], [true, false]]);
});

test('what cannot be had: no repository is a failed child with the reason, no workspace or no folder is refused; nobody else reaches it', async () => {
	const plain = await parent(await workspaceWith('echo x > x'));
	const id = await spawn(plain, shell('echo never > never'));
	const failed = await ended(plain, id, 'failed');
	assert.deepEqual([failed.error.category, failed.files.status], ['workspace_unavailable', 'failed']);
	assert.match(failed.error.message, /repository/);
	assert.ok(!existsSync(join(plain.root, 'never')));
	await refused(w.rt, 'conflict', 'apply_workspace', { sessionId: plain.sessionId, subagentId: id });
	await end(plain, id);
	await gone(plain, id);
	assert.deepEqual(folders(plain), []);

	const { sessionId } = await ok(w.rt, 'create_session', {});
	const { threadId, turnId } = await ok(w.rt, 'submit_turn', { sessionId, text: '[[hang]]' });
	assert.match((await refused(w.rt, 'isolation_unsupported', 'spawn_subagent', { sessionId, threadId, turnId, objective: 'x', ...OWN })).message, /worktree.*workspace/);
	await refused(w.rt, 'isolation_unsupported', 'spawn_subagent', { ...plain.at, objective: 'x', isolation: { worktree: 'own', workspace: 'none' } });
	await refused(w.rt, 'isolation_unsupported', 'spawn_subagent', { ...plain.at, objective: 'x', isolation: { worktree: 'mine' } });
	const copy = await parent(await workspaceWith(REPOSITORY), { isolation: 'copy' });
	await refused(w.rt, 'isolation_unsupported', 'spawn_subagent', { ...copy.at, objective: 'x', ...OWN });
	for (const command of ['apply_workspace', 'discard_workspace', 'diff_workspace']) {
		await refused(w.rt, 'subagent_not_found', command, { sessionId: plain.sessionId, subagentId: `sub_${plain.sessionId.slice(5)}_77` });
		const { token } = await ok(w.rt, 'create_token', { tenant: 'zeta', name: command, scopes: ['read', 'submit'] });
		const [there, unknown] = await Promise.all([plain.sessionId, `sess_${'0'.repeat(25)}1`].map((session) => ask(w.rt, token, command, { sessionId: session, subagentId: id })));
		assert.deepEqual([there.status, there.body.error.code], [unknown.status, unknown.body.error.code], 'another tenant cannot tell whether it exists');
	}
});

test('hostile: ids of callers are in no path, and a child cannot lead its merge out of the folder of its parent', async () => {
	const s = await parent(await workspaceWith(REPOSITORY));
	const outside = join(realpathSync(newFolder()), 'outside');
	mkdirSync(outside);
	const key = s.sessionId.slice(5), id = `sub_${key}_..`;
	assert.equal(await spawn(s, shell(`ln -s ${outside} out; ln -s ../../../../../../.. up; mkdir -p .git/hooks .vscode; echo evil > .git/hooks/post-merge; echo x > .vscode/x || true; echo good > good`), { ...OWN, subagentId: id }), id);
	const r = await ended(s, id);
	assert.match(r.folder.folder, new RegExp(`^${dir}/[0-9a-z]{26}/[0-9a-z]{26}/sessions/${key}/agent-\\d+/files$`));
	symlinkSync('/etc', join(s.root, 'etc'));
	assert.equal((await merge(s, id)).type, 'workspace.applied');
	assert.equal(readFileSync(join(s.root, 'good'), 'utf8'), 'good\n');
	assert.ok(!existsSync(join(s.root, '.git/hooks/post-merge')) && !existsSync(join(s.root, '.vscode')));
	assert.deepEqual(readdirSync(outside), []);
	await end(s, id);
	if ((await get(s, id)).files.changed) await discard(s, id); // a protected path is left out of the merge, and so still a change
	await gone(s, id);
	assert.deepEqual(folders(s), []);
	assert.ok(existsSync(outside) && existsSync('/etc/passwd'));
});

test('SA-06 SA-07 twenty children in worktrees of a model: two fail, one is lost by kill -9; every result is there, all is merged, nothing is left', async () => {
	const workspace = await workspaceWith(REPOSITORY);
	const { sessionId } = await run('create_session', { workspaceId: workspace.workspaceId });
	const s = { sessionId, root: workspace.root };
	const write = (n) => call('write_file', { path: `part-${n}`, content: `${n}\n` });
	const objective = (n) => (n < 2 ? '[[http 400]]' : n === 2 ? `${write(n)}[[then]][[fail-times 2 hang]][[say retried 2]]` : `${write(n)}[[then]][[say finished ${n}]]`);
	const text = Array.from({ length: 20 }, (_, n) => `[[tool spawn_agent {"objective":"${inner(objective(n))}","worktree":"own","nickname":"part-${n}"}]]`).join('');
	const { turnId } = await run('submit_turn', { sessionId, text });
	await waitFor(async () => (await list(s)).filter((r) => ['completed', 'failed'].includes(r.status)).length === 19, 'all but the one that hangs', LONG);
	const hanging = (await list(s)).find((r) => r.status === 'running');
	assert.equal(hanging.nickname, 'part-2');
	const lost = (await readLog(w.rt, sessionId)).map((f) => f.event).find((f) => f.type === 'turn.started' && f.threadId === hanging.childThreadId);
	await waitFor(() => w.model.log(lost.turnId).length === 2, 'its second request, which hangs');
	await w.rt.kill9();
	w.rt = await w.again();
	const over = await waitFor(async () => (await facts(s)).find((f) => f.turnId === turnId && /^turn\.(completed|failed)$/.test(f.type)), 'the turn of the parent', LONG);
	assert.equal(over.type, 'turn.completed');
	const log = (await readLog(w.rt, sessionId)).map((f) => f.event);
	const results = log.filter((f) => f.turnId === turnId && ['tool.result', 'tool.failed'].includes(f.type)).map((f) => f.payload.preview);
	assert.equal(results.filter((t) => /completed:\nfinished \d+/.test(t)).length, 17);
	assert.equal(results.filter((t) => /completed:\nretried 2/.test(t)).length, 1);
	assert.equal(results.filter((t) => /failed \(/.test(t)).length, 2);
	assert.ok(log.some((f) => f.type === 'subagent.status' && f.subagentId === hanging.subagentId && f.payload.reason === 'lost'));
	const tree = await list(s);
	assert.deepEqual([tree.length, new Set(tree.map((r) => r.parentTurnId)).size, tree.filter((r) => r.status === 'completed').length], [20, 1, 18]);
	assert.deepEqual(tree.map((r) => Boolean(r.files?.changed)), tree.map((r) => r.status === 'completed'), 'the read model says what is to be merged');
	assert.deepEqual(readdirSync(s.root).sort(), ['.git', 'common']);
	assert.equal(folders(s).length, 18);

	const changed = tree.filter((r) => r.files?.changed).map((r) => r.subagentId);
	for (const subagentId of changed) await run('apply_workspace', { sessionId, subagentId });
	await waitFor(async () => (await list(s)).every((r) => !r.files?.applyId), 'the ends of the merges', LONG);
	const ends = (await readLog(w.rt, sessionId)).map((f) => f.event).filter((f) => /^workspace\.(applied|conflicted|failed)$/.test(f.type));
	assert.deepEqual(ends.map((f) => [f.type, f.payload.files]), changed.map(() => ['workspace.applied', 1]));
	assert.deepEqual(new Set(ends.map((f) => f.subagentId)), new Set(changed));
	await Promise.all(tree.map((r) => run('close_subagent', { subagentId: r.subagentId })));
	await waitFor(async () => (await list(s)).every((r) => r.status === 'closed' && (!r.files || r.files.status === 'removed')), 'all closed and removed', LONG);
	assert.deepEqual(readdirSync(s.root).sort(), ['.git', 'common', ...Array.from({ length: 18 }, (_, n) => `part-${n + 2}`)].sort());
	assert.deepEqual(folders(s), []);
	const left = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid)).filter((pid) => {
		try {
			return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`${dir}/`) || readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`sessions/${sessionId.slice(5)}`);
		} catch {
			return false;
		}
	});
	assert.deepEqual(left, []);
	for (const f of log) validateEvent(f);
});
