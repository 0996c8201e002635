// Workspaces: made once per folder, found by their tenant, renamed by version, archived for good; which folders a caller may name, and what the refusal tells.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, realpathSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { call, newFolder, ok, refused, request, startAgentd, world } from '../lib/runtime.mjs';
import { validateEvent } from '../lib/schemas.mjs';

const OTHER = 65534, isRoot = process.getuid() === 0;
const isCluster = Boolean(process.env.AR_TEST_POSTGRES); // whose nodes do not have each other's folders
const needsRoots = { skip: isCluster && 'no root is named on a cluster' };
const needsUsers = { skip: needsRoots.skip || (!isRoot && 'needs root to be another user') };
let w, top, dir, token;

/** A folder of the daemon's own user, outside of its data. */
function folder(name) {
	const path = join(top, name);
	mkdirSync(path);
	return path;
}

/** One call with the token of the tenant acme. */
async function asAcme(command, input) {
	const { status, text } = await request(w.rt, { path: `/v1/${command}`, body: JSON.stringify(input), headers: { authorization: `Bearer ${token}` } });
	return { status, body: JSON.parse(text), text };
}

/** One call over the unix socket as another user of this machine. */
const asOther = (command, input) => JSON.parse(execFileSync('setpriv', [`--reuid=${OTHER}`, `--regid=${OTHER}`, '--clear-groups', 'curl', '-s', '--unix-socket', w.rt.socket, '-H', 'content-type: application/json', '-d', JSON.stringify(input), `http://localhost/v1/${command}`], { encoding: 'utf8', env: { PATH: process.env.PATH, HOME: '/nonexistent' } }));

/** The log of a workspace. It is a session without a thread, as a home is, so its snapshot is not one of the standard's. */
async function factsOf(workspaceId) {
	const { text } = await request(w.rt, { path: '/v1/get_session', body: JSON.stringify({ sessionId: workspaceId.replace('ws_', 'sess_'), limit: 500 }) });
	return JSON.parse(text).history.events;
}

/** All pages of a list, each at most that long. */
async function allPages(limit, more = {}) {
	const found = [];
	for (let cursor; ;) {
		const page = await ok(w.rt, 'list_workspaces', { limit, ...more, ...(cursor ? { cursor } : {}) });
		assert.ok(page.workspaces.length <= limit);
		found.push(...page.workspaces);
		cursor = page.nextCursor;
		if (!cursor) return found;
	}
}

before(async () => {
	top = realpathSync(newFolder());
	chmodSync(top, 0o755);
	dir = join(top, 'managed');
	w = await world({ config: { 'workspaces.dir': dir, 'auth.socket': 'anyone' } });
	({ token } = await ok(w.rt, 'create_token', { tenant: 'acme', name: 'acme', scopes: ['admin'] }));
});

test('a workspace is created, listed, read, renamed and archived; each is a fact of its own log', async () => {
	const root = folder('life');
	const { workspace, created } = await ok(w.rt, 'create_workspace', { name: 'life', ...(isCluster ? { idempotencyKey: 'life' } : { root }) });
	const { workspaceId } = workspace;
	assert.equal(created, true);
	assert.match(workspaceId, /^ws_0000000000[jk][0-9a-z]{15}$/);
	if (!isCluster) assert.deepEqual([workspace.root, workspace.kind], [root, 'folder']);
	assert.deepEqual([workspace.name, workspace.status, workspace.version, workspace.tenant, workspace.owner], ['life', 'active', 1, 'local', 'local']);
	assert.deepEqual((await ok(w.rt, 'get_workspace', { workspaceId })).workspace, workspace);
	const listed = (await allPages(200)).find((one) => one.workspaceId === workspaceId);
	assert.deepEqual(listed, { ...workspace, asOfSequence: 2 });

	const renamed = (await ok(w.rt, 'update_workspace', { workspaceId, name: 'better', version: 1 })).workspace;
	assert.deepEqual([renamed.name, renamed.version], ['better', 2]);
	await refused(w.rt, 'version_conflict', 'update_workspace', { workspaceId, name: 'late', version: 1 });
	assert.deepEqual((await ok(w.rt, 'update_workspace', { workspaceId, name: 'better' })).workspace, renamed);

	assert.deepEqual(await ok(w.rt, 'archive_workspace', { workspaceId, reason: 'done' }), { workspaceId, result: 'archived' });
	assert.equal((await ok(w.rt, 'archive_workspace', { workspaceId })).result, 'no_op');
	await refused(w.rt, 'workspace_archived', 'update_workspace', { workspaceId, name: 'again' });
	if (!isCluster) await refused(w.rt, 'workspace_archived', 'create_workspace', { root });
	assert.equal((await ok(w.rt, 'get_workspace', { workspaceId })).workspace.status, 'archived');
	assert.ok(!(await allPages(200)).some((one) => one.workspaceId === workspaceId));
	assert.ok((await allPages(200, { status: 'archived' })).some((one) => one.workspaceId === workspaceId));
	assert.ok((await allPages(200, { status: 'all' })).some((one) => one.workspaceId === workspaceId));

	const log = await factsOf(workspaceId);
	assert.deepEqual(log.map((fact) => fact.type), ['session.created', 'workspace.created', 'workspace.updated', 'workspace.archived']);
	assert.deepEqual(log[1].payload.workspace, workspace);
	for (const fact of log) validateEvent(fact);
});

test('the same folder is the same workspace, and is called by its last part', needsRoots, async () => {
	const root = folder('twice');
	const first = await ok(w.rt, 'create_workspace', { root, name: 'first' });
	const second = await ok(w.rt, 'create_workspace', { root, name: 'second' });
	assert.deepEqual([second.created, second.workspace], [false, first.workspace]);
	assert.equal((await ok(w.rt, 'create_workspace', { root: folder('unnamed') })).workspace.name, 'unnamed');
});

test('sessions and workspaces are not each other', async () => {
	const { workspace } = await ok(w.rt, 'create_workspace', {});
	const sessionId = workspace.workspaceId.replace('ws_', 'sess_');
	const { sessionId: other } = await ok(w.rt, 'create_session', {});
	const { sessions } = await ok(w.rt, 'list_sessions', { limit: 200 });
	assert.ok(sessions.some((s) => s.sessionId === other) && !sessions.some((s) => s.sessionId === sessionId));
	for (const [command, input] of [['submit_turn', { text: 'x' }], ['submit_turn', { text: 'x', createPolicy: {} }], ['create_session', {}], ['set_policy', { scope: 'session', scopeId: sessionId, rules: [] }]])
		await refused(w.rt, 'session_not_found', command, command === 'set_policy' ? input : { sessionId, ...input });
	for (const workspaceId of [other.replace('sess_', 'ws_'), other, 'ws_1', `${workspace.workspaceId}_1`, 'ws_0000000000jqqqqqqqqqqqqqqq']) {
		await refused(w.rt, 'workspace_not_found', 'get_workspace', { workspaceId });
		await refused(w.rt, 'workspace_not_found', 'update_workspace', { workspaceId, name: 'x' });
		await refused(w.rt, 'workspace_not_found', 'archive_workspace', { workspaceId });
	}
	await refused(w.rt, 'invalid_cursor', 'list_workspaces', { cursor: other.slice(5) });
});

test('the runtime makes a folder for who names none: 0700, below workspaces.dir, not of root', async () => {
	const { workspace } = await ok(w.rt, 'create_workspace', { name: 'scratch' });
	assert.equal(workspace.kind, 'managed');
	assert.ok(workspace.root.startsWith(`${dir}/`) && workspace.root.endsWith(`/${workspace.workspaceId.slice(3)}/files`));
	for (let path = workspace.root; path !== dirname(dir); path = dirname(path)) assert.equal(lstatSync(path).mode & 0o7777, 0o700, path);
	const { uid, gid } = lstatSync(workspace.root);
	assert.ok(isRoot ? uid > 0 && gid > 0 : uid === process.getuid());
	await refused(w.rt, 'policy_denied', 'create_workspace', { root: workspace.root });
	await refused(w.rt, 'policy_denied', 'create_workspace', { root: dir });
});

test('another tenant names no root, and gets a folder of its own; nobody else sees it', async () => {
	const root = folder('acme');
	const denied = await asAcme('create_workspace', { root });
	assert.deepEqual([denied.status, denied.body.error.code], [403, 'policy_denied']);
	assert.match(denied.body.error.message, /leave root out/);
	assert.equal((await asAcme('create_workspace', { root: join(root, 'missing') })).text, denied.text);
	const { body } = await asAcme('create_workspace', { name: 'ours' });
	const { workspaceId } = body.workspace;
	assert.deepEqual([body.workspace.tenant, body.workspace.kind], ['acme', 'managed']);
	assert.deepEqual((await asAcme('list_workspaces', { status: 'all' })).body.workspaces.map((one) => one.workspaceId), [workspaceId]);
	assert.ok(!(await allPages(200, { status: 'all' })).some((one) => one.workspaceId === workspaceId));
	const nobodys = workspaceId.replace(/.$/, (c) => (c === '0' ? '1' : '0'));
	for (const [command, more] of [['get_workspace', {}], ['update_workspace', { name: 'mine' }], ['archive_workspace', {}]]) {
		const foreign = await call(w.rt, command, { workspaceId, ...more });
		assert.equal(foreign.body.error.code, 'workspace_not_found');
		assert.deepEqual(foreign, await call(w.rt, command, { workspaceId: nobodys, ...more }));
	}
	// a tenant's parent is its own: two tenants never share one
	const { workspace } = await ok(w.rt, 'create_workspace', {});
	assert.notEqual(dirname(dirname(workspace.root)), dirname(dirname(body.workspace.root)));
});

test('a root that is no plain path is refused by its form', async () => {
	for (const root of ['relative', './x', '', '/', `${top}/`, `${top}/../x`, `${top}/./x`, `${top}//x`, `${top}/a\0b`])
		await refused(w.rt, 'invalid_input', 'create_workspace', { root });
	await refused(w.rt, 'invalid_input', 'create_workspace', { root: `/${'x'.repeat(4096)}` });
});

test('a root that cannot be one is refused in the same words, whatever is wrong and whether it exists', needsRoots, async () => {
	const real = folder('real'), file = join(top, 'file');
	writeFileSync(file, 'x');
	symlinkSync(real, join(top, 'link'));
	symlinkSync(top, join(real, 'up'));
	const wrong = {
		missing: join(top, 'missing'), file, link: join(top, 'link'), 'a link on the way': join(real, 'up', 'real'), long: `/${'x'.repeat(4095)}`,
		'data directory': join(w.dataDir, 'data'), 'in it': join(w.dataDir, 'data', 'x'), 'above it': w.dataDir,
		usr: '/usr', etc: '/etc', proc: '/proc/self', home: process.env.HOME,
	};
	const said = new Set();
	for (const [what, root] of Object.entries(wrong)) {
		const { status, body } = await call(w.rt, 'create_workspace', { root });
		assert.deepEqual([status, body.error?.code], [403, 'policy_denied'], `${what}: ${JSON.stringify(body)}`);
		said.add(JSON.stringify(body));
	}
	assert.equal(said.size, 1);
	assert.ok((await ok(w.rt, 'create_workspace', { root: real })).created);
});

test('another user of this machine names folders of its own, and no others', needsUsers, async (t) => {
	const theirs = folder('theirs'), ours = folder('ours'), hidden = folder('hidden');
	chownSync(theirs, OTHER, OTHER);
	chmodSync(hidden, 0o700);
	mkdirSync(join(hidden, 'inner'));
	symlinkSync(ours, join(theirs, 'link'));
	const closed = [w.rt.dataDir, dirname(dirname(w.rt.socket)), dirname(w.rt.socket)].map((path) => [path, statSync(path).mode & 0o7777]);
	for (const [path] of closed) chmodSync(path, 0o755);
	t.after(() => closed.forEach(([path, mode]) => chmodSync(path, mode)));
	chmodSync(w.rt.socket, 0o666);
	const made = asOther('create_workspace', { root: theirs });
	assert.deepEqual([made.created, made.workspace?.owner], [true, `uid:${OTHER}`], JSON.stringify(made));
	const said = [ours, join(theirs, 'link'), join(hidden, 'inner'), join(hidden, 'missing'), join(top, 'missing')].map((root) => asOther('create_workspace', { root }));
	assert.deepEqual(said.map((one) => one.error?.code), said.map(() => 'policy_denied'));
	assert.equal(new Set(said.map((one) => JSON.stringify(one))).size, 1);
	const { workspace } = await ok(w.rt, 'create_workspace', { root: ours });
	const trust = async (ask, workspaceId) => ask('update_workspace', { workspaceId, trust: 'trusted', itemsDigest: (await ask('inspect_workspace', { workspaceId })).itemsDigest });
	assert.equal((await trust(asOther, workspace.workspaceId)).error?.code, 'policy_denied', 'nobody trusts a folder for another');
	assert.equal((await trust(asOther, made.workspace.workspaceId)).workspace?.trustedBy, `uid:${OTHER}`);
});

test('a daemon that is not root takes only folders of its own user', needsUsers, async () => {
	const dataDir = newFolder(), ours = folder('roots-own'), theirs = folder('of-the-daemon');
	chownSync(dataDir, OTHER, OTHER);
	chownSync(theirs, OTHER, OTHER);
	const managed = folder('made-by-the-daemon');
	chownSync(managed, OTHER, OTHER);
	const rt = await startAgentd({ dataDir, uid: OTHER, config: { 'workspaces.dir': managed } });
	await refused(rt, 'policy_denied', 'create_workspace', { root: ours });
	assert.ok((await ok(rt, 'create_workspace', { root: theirs })).created);
	await rt.stop();
});

test('a server without workspaces.dir has no workspaces, and says what to set', async () => {
	const rt = await startAgentd();
	for (const input of [{}, ...(isCluster ? [] : [{ root: folder('unused') }])]) {
		const { message } = await refused(rt, 'unavailable', 'create_workspace', input);
		assert.match(message, /workspaces\.dir/);
	}
	await rt.stop();
});

test('pages of 250 workspaces have each exactly once; a repeat after kill -9 is the same one', async () => {
	const known = new Set((await allPages(200, { status: 'all' })).map((one) => one.workspaceId)), made = new Set();
	for (let i = 0; i < 25; i++)
		for (const { workspace } of await Promise.all(Array.from({ length: 10 }, () => ok(w.rt, 'create_workspace', {})))) made.add(workspace.workspaceId);
	assert.equal(made.size, 250);
	const root = folder('kept');
	const inputs = [{ ...(isCluster ? {} : { root }), idempotencyKey: 'by root' }, { name: 'managed', idempotencyKey: 'by key' }];
	const first = [];
	for (const input of inputs) first.push(await ok(w.rt, 'create_workspace', input));
	await w.rt.kill9();
	w.rt = await w.again();
	for (const [i, input] of inputs.entries()) assert.deepEqual(await ok(w.rt, 'create_workspace', input), first[i]);
	await refused(w.rt, 'id_conflict', 'create_workspace', { name: 'other', idempotencyKey: 'by key' });
	assert.equal(readdirSync(dirname(dirname(first[1].workspace.root))).filter((name) => first[1].workspace.workspaceId.endsWith(name)).length, 1);
	for (const limit of [7, 100, 200]) {
		const ids = (await allPages(limit, { status: 'all' })).map((one) => one.workspaceId);
		assert.equal(new Set(ids).size, ids.length);
		assert.deepEqual(new Set(ids), new Set([...known, ...made, ...first.map((one) => one.workspace.workspaceId)]));
	}
	const { status, text } = await request(w.rt, { path: '/v1/verify', body: '{"limit":1000}' });
	assert.equal(status, 200);
	assert.ok(JSON.parse(text).sessions.every((s) => s.status === 'ok'), text.slice(0, 2000));
});

test('no root is named on a cluster', { skip: !isCluster && 'on PostgreSQL' }, async () => {
	const said = [folder('here'), join(top, 'missing')].map(async (root) => (await call(w.rt, 'create_workspace', { root })).body);
	const [first, second] = await Promise.all(said);
	assert.equal(first.error.code, 'policy_denied');
	assert.deepEqual(first, second);
});

test('a directory for folders that others can change, or that holds the data, is refused at start', async () => {
	const open = folder('open');
	chmodSync(open, 0o777);
	const dataDir = newFolder();
	for (const [value, says] of [[open, /mode 0700/], ['relative', /absolute/], [join(dataDir, 'data', 'x'), /state folder/], [dataDir, /state folder/], ['/usr', /folders of the system/]]) {
		const rt = await startAgentd({ config: { 'workspaces.dir': value }, mayDie: true, dataDir });
		await rt.gone;
		assert.match(rt.stderr, says);
	}
});
