// MCP servers that .mcp.json of a workspace names: listed before trust, started in the sandbox for the sessions of a trusted workspace alone, and only as they were trusted.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, submit, waitFor, world } from '../lib/runtime.mjs';
import { validateEvent } from '../lib/schemas.mjs';
import { ask, factsOf, must } from '../tenant/tenants.mjs';
import { processesWith } from '../tool/mcp.mjs';

const isRoot = process.getuid() === 0;
const isCluster = Boolean(process.env.AR_TEST_POSTGRES); // whose nodes do not have each other's folders
const needsRoots = { skip: isCluster && 'no root is named on a cluster' };
const SERVER = new URL('mcp_server.mjs', import.meta.url).pathname;
const ALLOW = { permission_rules: [{ name: 'all', effect: 'allow', tool: '*' }] };
const CHANGED = /^changed: .*trust the workspace again/;
let w, marks = 0;

const newMark = () => `ar-workspace-mcp-${process.pid}-${++marks}-`;
const server = (mark, ...args) => ({ command: 'node', args: ['server.mjs', '--mark', mark, ...args] });
const call = (name, args = {}) => `[[tool ${name} ${JSON.stringify(args)}]]`;

function put(root, servers) {
	copyFileSync(SERVER, join(root, 'server.mjs'));
	writeFileSync(join(root, '.mcp.json'), typeof servers === 'string' ? servers : JSON.stringify({ mcpServers: servers }));
	if (isRoot) execFileSync('chown', ['-R', '1000:1000', root]);
}

function folderWith(servers) {
	const root = realpathSync(newFolder());
	put(root, servers);
	return root;
}

const inspect = (rt, workspaceId) => ok(rt, 'inspect_workspace', { workspaceId });

async function trust(rt, workspaceId) {
	const { itemsDigest } = await inspect(rt, workspaceId);
	return (await ok(rt, 'update_workspace', { workspaceId, trust: 'trusted', itemsDigest })).workspace;
}

/** A workspace with these servers, trusted. */
async function trusted(servers, rt = w.rt) {
	const root = folderWith(servers);
	const { workspace } = await ok(rt, 'create_workspace', { root });
	await trust(rt, workspace.workspaceId);
	return { root, workspaceId: workspace.workspaceId };
}

/** A turn in a new session of the workspace, or in one that is there: its facts, the tools it was offered, what the model read of its call. */
async function turn(where, text, at = w) {
	const { sessionId, turnId } = await submit(at.rt, text, where.sessionId ? { sessionId: where.sessionId } : { createPolicy: { workspaceId: where.workspaceId } });
	const facts = await waitFor(async () => {
		const log = (await factsOf(at.rt, undefined, sessionId)).filter((f) => f.turnId === turnId);
		return log.some((f) => /^turn\.(completed|failed)$/.test(f.type)) && log;
	}, 'the end of the turn');
	for (const fact of facts) validateEvent(fact);
	const requests = at.model.log(turnId);
	return {
		sessionId, facts,
		offered: (requests[0].body.tools ?? []).map((t) => t.function.name),
		result: requests.at(-1).body.messages.filter((m) => m.role === 'tool').at(-1)?.content,
		of: (type) => facts.filter((f) => f.type === type).map((f) => f.payload),
	};
}

const states = (fact) => fact.servers.map((s) => [s.name, s.status, s.tools]);

before(async () => {
	w = await world({ config: { ...ALLOW, 'workspaces.dir': realpathSync(newFolder()), 'workspaces.servers_start_ms': 30000 } });
});

test('servers are listed with their commands and reasons; nothing of an untrusted folder is started', needsRoots, async () => {
	const mark = newMark();
	const root = folderWith({ good: server(mark), far: { type: 'http', url: 'http://127.0.0.1:9/mcp' }, unset: { command: 'node', args: ['${HOME}/x'] }, both: { command: 'a', url: 'http://b' }, filled: { command: 'node', args: ['${TOKEN:-none}'], env: { A: 'b' } } });
	const { workspace } = await ok(w.rt, 'create_workspace', { root });
	const seen = await inspect(w.rt, workspace.workspaceId);
	assert.deepEqual(seen.servers.map((s) => [s.name, s.transport, s.status]), [['good', 'stdio', 'declared'], ['far', 'http', 'not_started'], ['unset', 'stdio', 'not_started'], ['both', 'stdio', 'not_started'], ['filled', 'stdio', 'declared']]);
	assert.match(seen.servers[2].reason, /^unset: .*HOME/);
	assert.equal(seen.servers[0].command, `node server.mjs --mark ${mark}`);
	assert.equal(seen.servers[4].command, 'node none');
	assert.deepEqual(seen.items.map((i) => [i.kind, i.used]), [['mcp_servers', true]]);
	const { offered, of } = await turn(workspace, 'hello');
	assert.deepEqual([offered.filter((name) => name.startsWith('good_')), of('workspace.servers_starting'), processesWith(mark)], [[], [], []]);
});

test('files that are no list of servers are not used, and say why', needsRoots, async () => {
	for (const [text, reason] of [['{', /^invalid/], ['{"mcpServers":{}}', /^empty/], ['{"mcpServers":{"a b":{"command":"x"}}}', /^invalid: a server has a name/], [JSON.stringify({ mcpServers: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`s${i}`, { command: 'x' }])) }), /^too_large/]]) {
		const { workspace } = await ok(w.rt, 'create_workspace', { root: folderWith(text) });
		const { items, servers } = await inspect(w.rt, workspace.workspaceId);
		assert.match(items[0].reason, reason, text);
		assert.deepEqual(servers ?? [], []);
	}
});

test('sessions of a trusted workspace get the tools, others do not; the servers run in its folder, and once', needsRoots, async () => {
	const mark = newMark();
	const place = await trusted({ tea: server(mark) });
	const one = await turn(place, call('tea_echo', { text: 'ahoy' }));
	assert.equal(one.result, `${mark} ahoy`);
	assert.deepEqual(states(one.of('workspace.servers_starting')[0]), [['tea', 'starting', undefined]]);
	assert.deepEqual(states(one.of('workspace.servers_started')[0]), [['tea', 'ready', 7]]);
	assert.equal(one.of('workspace.servers_started')[0].digest, (await ok(w.rt, 'get_workspace', { workspaceId: place.workspaceId })).workspace.serversDigest);
	const { tools } = await ok(w.rt, 'get_tool_inventory', { sessionId: one.sessionId });
	assert.ok(JSON.stringify(tools).includes(`${place.workspaceId}/tea`), JSON.stringify(tools));
	const two = await turn(place, call('tea_where'));
	assert.equal(two.result, place.root);
	await waitFor(() => processesWith(mark).length === 1, 'one server that the sessions in the folder share');
	const again = await turn({ sessionId: one.sessionId }, 'hello');
	assert.deepEqual([again.of('workspace.servers_starting'), again.of('workspace.servers_started')], [[], []], 'what is as it was adds no fact');

	const otherMark = newMark();
	const other = await trusted({ tea: server(otherMark) });
	assert.equal((await turn(other, call('tea_echo', { text: 'ahoy' }))).result, `${otherMark} ahoy`, 'a name may be used in two workspaces');
	const { workspace } = await ok(w.rt, 'create_workspace', { root: realpathSync(newFolder()) });
	for (const where of [{ workspaceId: workspace.workspaceId }, {}]) assert.deepEqual((await turn(where, 'hello')).offered.filter((name) => name.startsWith('tea_')), []);
});

test('a file that has changed since it was trusted: its servers are not started, and those that run are ended', needsRoots, async () => {
	const [first, second] = [newMark(), newMark()];
	const place = await trusted({ tea: server(first) });
	const { sessionId } = await turn(place, call('tea_echo', { text: 'one' }));
	put(place.root, { tea: server(second) });
	const after = await turn({ sessionId }, 'hello');
	assert.deepEqual(after.offered.filter((name) => name.startsWith('tea_')), []);
	const [fact] = after.of('workspace.servers_starting');
	assert.deepEqual(states(fact), [['tea', 'not_started', undefined]]);
	assert.match(fact.servers[0].reason, CHANGED);
	await waitFor(() => processesWith(first).length === 0, 'the end of the server');
	assert.deepEqual(processesWith(second), []);
	const seen = await inspect(w.rt, place.workspaceId);
	assert.deepEqual([seen.items[0].used, seen.servers[0].status], [false, 'not_started']);
	assert.match(seen.servers[0].reason, CHANGED);
	await trust(w.rt, place.workspaceId);
	assert.equal((await turn(place, call('tea_echo', { text: 'two' }))).result, `${second} two`);
});

test('a server is inside the boundary of a command: no other files, no network, no variables or secrets of the daemon', needsRoots, async (context) => {
	const listener = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
	context.after(() => listener.close());
	await new Promise((settle) => listener.on('listening', settle));
	const secret = join(realpathSync(newFolder()), 'secret.txt');
	writeFileSync(secret, 'of another tenant');
	const at = await world({ config: { ...ALLOW, 'workspaces.dir': realpathSync(newFolder()), 'workspaces.servers_start_ms': 30000, command_secrets: [{ name: 'ROOM', value: 'a secret of the server' }] }, env: { DAEMON_ONLY: 'seen' } });
	const place = await trusted({ spy: { ...server(newMark()), env: { GIVEN: 'yes' } } }, at.rt);
	const said = async (name, args) => (await turn(place, call(`spy_${name}`, args), at)).result;
	for (const path of ['/etc/shadow', secret, join(at.rt.dataDir, 'agentd.yaml')]) assert.match(await said('read', { path }), /^refused: /, path);
	assert.match(await said('write', { path: join(place.root, 'made') }), /^done/);
	assert.match(await said('write', { path: join(place.root, '.mcp.json') }), /^refused: /);
	assert.match(await said('write', { path: secret }), /^refused: /);
	assert.match(await said('connect', { port: listener.address().port }), /^refused: /);
	const environment = JSON.parse(await said('environment'));
	assert.deepEqual([environment.GIVEN, environment.DAEMON_ONLY, Object.keys(environment).filter((name) => /^(ROOM|AGENTD_)/.test(name))], ['yes', undefined, []]);
	assert.ok(existsSync(join(place.root, 'made')) && readFileSync(secret, 'utf8') === 'of another tenant');
	await at.rt.stop();
});

test('servers that cannot be used: the turn goes on, and says why', needsRoots, async () => {
	const at = await world({ config: { ...ALLOW, 'workspaces.dir': realpathSync(newFolder()), 'workspaces.servers_start_ms': 3000, 'workspaces.servers_per_tenant': 5, mcp_servers: [{ name: 'theirs', command: process.execPath, args: [SERVER, '--mark', 'global'] }] } });
	const [mark, other] = [newMark(), newMark()];
	const place = await trusted({ loader: { ...server(mark), env: { LD_PRELOAD: '/tmp/x.so' } }, flood: server(mark, '--flood'), dies: server(mark, '--die'), silent: server(mark, '--silent'), missing: { command: './not-there' }, theirs: server(mark), more: server(other) }, at.rt);
	const one = await turn(place, call('theirs_echo', { text: 'ahoy' }), at);
	assert.equal(one.result, 'global ahoy', 'a tool of the settings is not replaced');
	const found = Object.fromEntries(one.of('workspace.servers_started')[0].servers.map((s) => [s.name, `${s.status} ${s.reason}`]));
	assert.match(found.flood, /^failed .*(8 MiB|time)/);
	assert.match(found.dies, /^failed .*(status 3: no licence|time)/);
	assert.match(found.silent, /^failed .*time/);
	assert.match(found.missing, /^failed .*(not-there|sandbox|time)/);
	assert.match(found.loader, /^failed .*LD_PRELOAD/);
	assert.match(found.theirs, /^failed conflict: /);
	assert.match(found.more, /^failed limit: 5 servers of the tenant/);
	const again = await turn({ sessionId: one.sessionId }, 'hello', at);
	assert.equal(again.facts.at(-1).type, 'turn.completed');
	await waitFor(() => processesWith(mark).length === 0, 'the end of the servers that failed');
	await at.rt.stop();
});

test('they are gone when no turn needs them for a while, after kill -9 of the daemon, and after a stop', needsRoots, async () => {
	const config = { ...ALLOW, 'workspaces.dir': realpathSync(newFolder()), 'workspaces.servers_start_ms': 30000 };
	const at = await world({ config: { ...config, 'workspaces.servers_idle_ms': 1000 } });
	const mark = newMark();
	const place = await trusted({ tea: server(mark) }, at.rt);
	const { sessionId } = await turn(place, call('tea_echo', { text: 'one' }), at);
	await waitFor(() => processesWith(mark).length === 0, 'the end of idle servers');
	assert.equal((await turn({ sessionId }, call('tea_echo', { text: 'two' }), at)).result, `${mark} two`, 'the next turn starts them again');
	await at.rt.stop();
	assert.deepEqual(processesWith(mark), []);

	at.rt = await at.again({ config });
	await turn({ sessionId }, call('tea_echo', { text: 'three' }), at);
	assert.notDeepEqual(processesWith(mark), []);
	await at.rt.kill9();
	await waitFor(() => processesWith(mark).length === 0, 'the end of the servers of a daemon that was killed');
	at.rt = await at.again({ config });
	assert.equal((await turn({ sessionId }, call('tea_echo', { text: 'four' }), at)).result, `${mark} four`);
	await at.rt.stop();
	assert.deepEqual(processesWith(mark), []);
});

test('a session with a folder of its own does not get them, and says why', needsRoots, async () => {
	const mark = newMark();
	const { workspaceId } = await trusted({ tea: server(mark) });
	const { sessionId } = await ok(w.rt, 'create_session', { workspaceId, isolation: 'copy' });
	const { of, offered } = await turn({ sessionId }, 'hello');
	assert.match(of('workspace.servers_starting')[0].servers[0].reason, /^not_supported: .*share the folder/);
	assert.deepEqual([offered.filter((name) => name.startsWith('tea_')), processesWith(mark)], [[], []]);
});

test('calls are asked for: what the server says of its tools is not believed', needsRoots, async () => {
	const at = await world({ config: { 'workspaces.dir': realpathSync(newFolder()), 'workspaces.servers_start_ms': 30000 } });
	const { workspaceId } = await trusted({ tea: server(newMark()) }, at.rt);
	const { sessionId } = await must(at.rt, undefined, 'submit_turn', { createPolicy: { workspaceId }, text: call('tea_echo', { text: 'x' }) });
	const asked = await waitFor(async () => (await ok(at.rt, 'list_actions', { sessionId })).actions[0], 'the question');
	assert.equal(asked.actionType, 'tool_permission');
	await at.rt.stop();
});

const variables = (all) => Object.entries(all).map(([name, value]) => ({ name, value }));

test('${NAME} is a variable of the workspace, and servers get all of them; what it does not have, or is a secret, is listed and not started', needsRoots, async () => {
	const at = await world({ config: { ...ALLOW, 'workspaces.dir': realpathSync(newFolder()), 'workspaces.servers_start_ms': 30000, command_secrets: [{ name: 'ROOM', value: 'a secret of the server' }] } });
	const mark = newMark();
	const root = folderWith({ spy: { ...server(mark, '${STAGE}/${STAGE:-x}'), env: { OWN: '<${STAGE}>', COLOUR: 'of the file' } }, unset: server(mark, '${MISSING}'), secret: server(mark, '${TOKEN}'), long: { command: 'node', args: ['${BIG}'.repeat(3)] } });
	const { workspace } = await ok(at.rt, 'create_workspace', { root, environment: [...variables({ STAGE: 'first', COLOUR: 'red', BIG: 'x'.repeat(2000) }), { name: 'TOKEN', secret: 'ROOM' }] });
	const { workspaceId } = workspace;
	const seen = Object.fromEntries((await inspect(at.rt, workspaceId)).servers.map((s) => [s.name, s]));
	assert.deepEqual(Object.values(seen).map((s) => [s.name, s.status]), [['spy', 'declared'], ['unset', 'not_started'], ['secret', 'not_started'], ['long', 'not_started']]);
	assert.equal(seen.spy.command, `node server.mjs --mark ${mark} first/first`);
	assert.match(seen.unset.reason, /^unset: .*MISSING/);
	assert.match(seen.secret.reason, /^secret: .*TOKEN/);
	assert.match(seen.long.reason, /^too_large/);
	await trust(at.rt, workspaceId);
	const one = await turn({ workspaceId }, call('spy_environment'), at);
	const environment = JSON.parse(one.result);
	assert.deepEqual([environment.STAGE, environment.OWN, environment.COLOUR, environment.TOKEN, Object.keys(environment).filter((name) => name.startsWith('ROOM'))], ['first', '<first>', 'of the file', undefined, []]);
	assert.deepEqual(one.of('workspace.servers_started')[0].servers.map((s) => s.status), ['ready', 'not_started', 'not_started', 'not_started']);

	await ok(at.rt, 'update_workspace', { workspaceId, environment: variables({ STAGE: 'second', MISSING: 'here' }) });
	const two = await turn({ workspaceId }, call('spy_environment'), at);
	assert.deepEqual([JSON.parse(two.result).OWN, JSON.parse((await turn(one, call('spy_environment'), at)).result).OWN], ['<second>', '<first>'], 'each session has servers with its own environment');
	assert.deepEqual([two.offered.includes('unset_echo'), (await turn(one, 'hello', at)).offered.includes('unset_echo')], [true, false]);
	assert.equal(JSON.parse((await turn(two, call('spy_environment'), at)).result).OWN, '<second>', 'the turn of the other did not end them');
	await at.rt.stop();
});

test('tools of a tenant\'s servers are for its own sessions: not for another tenant, the operator, or another workspace', async () => {
	const places = {};
	for (const tenant of ['acme', 'other']) {
		const { token } = await ok(w.rt, 'create_token', { tenant, name: tenant, scopes: ['admin'] });
		const { workspace } = await must(w.rt, token, 'create_workspace', { name: tenant });
		const mark = newMark();
		copyFileSync(SERVER, join(workspace.root, 'server.mjs'));
		writeFileSync(join(workspace.root, '.mcp.json'), JSON.stringify({ mcpServers: { [`tea_${tenant}`]: server(mark) } }));
		const { itemsDigest } = await must(w.rt, token, 'inspect_workspace', { workspaceId: workspace.workspaceId });
		await must(w.rt, token, 'update_workspace', { workspaceId: workspace.workspaceId, trust: 'trusted', itemsDigest });
		places[tenant] = { token, mark, workspaceId: workspace.workspaceId };
	}
	const offeredTo = async (token, more, text = 'hello') => {
		const { sessionId, turnId } = await must(w.rt, token, 'submit_turn', { ...more, text });
		await waitFor(async () => (await factsOf(w.rt, token, sessionId)).some((f) => f.turnId === turnId && /^turn\.(completed|failed)$/.test(f.type)), 'the end of the turn');
		const requests = w.model.log(turnId);
		return { sessionId, tools: (requests[0].body.tools ?? []).map((t) => t.function.name).filter((name) => name.startsWith('tea_')), result: requests.at(-1).body.messages.filter((m) => m.role === 'tool').at(-1)?.content };
	};
	const own = {};
	for (const [tenant, { token, mark, workspaceId }] of Object.entries(places)) {
		own[tenant] = await offeredTo(token, { createPolicy: { workspaceId } }, call(`tea_${tenant}_echo`, { text: 'ours' }));
		assert.ok(own[tenant].tools.length === 7 && own[tenant].tools.every((name) => name.startsWith(`tea_${tenant}_`)), String(own[tenant].tools));
		assert.equal(own[tenant].result, `${mark} ours`);
	}
	// Both run now. A model that was told the name of another tenant's tool, by whatever text it read, does not reach it.
	const { workspace: next } = await must(w.rt, places.acme.token, 'create_workspace', { name: 'next' });
	for (const [token, more] of [[places.acme.token, { sessionId: own.acme.sessionId }], [places.acme.token, { createPolicy: { workspaceId: next.workspaceId } }], [undefined, { createPolicy: {} }]]) {
		const tried = await offeredTo(token, more, call('tea_other_echo', { text: 'theirs' }));
		assert.ok(!tried.tools.some((name) => name.startsWith('tea_other')) && !String(tried.result).includes(places.other.mark), JSON.stringify(tried));
	}
	const [there, gone] = [own.acme.sessionId, `sess_${'0'.repeat(10)}j${'a'.repeat(15)}`];
	const answers = await Promise.all([there, gone].map((sessionId) => ask(w.rt, places.other.token, 'get_tool_inventory', { sessionId })));
	assert.deepEqual([answers[0].status, answers[0].text], [answers[1].status, answers[1].text]);
});

test('with allowlisted_network a server reaches the hosts of the list through the proxy, and nothing else', needsRoots, async (context) => {
	const page = createHttpServer((req, res) => res.end(`you asked for ${req.url}`)).listen(0, '127.0.0.2');
	context.after(() => page.close());
	await new Promise((settle) => page.on('listening', settle));
	const { port } = page.address();
	const at = await world({ config: { ...ALLOW, 'workspaces.dir': realpathSync(newFolder()), 'workspaces.servers_start_ms': 30000, 'sandbox.profile': 'allowlisted_network', 'sandbox.allow_hosts': `inside.test:${port}@127.0.0.2!` } });
	const root = folderWith({ net: server(newMark()) });
	const { workspace: { workspaceId } } = await ok(at.rt, 'create_workspace', { root, environment: variables({ NODE_ENV: 'test' }) });
	await trust(at.rt, workspaceId);
	const said = async (where, name, args) => (await turn(where, call(`net_${name}`, args), at)).result;
	const inside = { url: `http://inside.test:${port}/x` };
	assert.equal(await said({ workspaceId }, 'fetch', inside), '200 you asked for /x');
	assert.match(await said({ workspaceId }, 'fetch', { url: `http://outside.test:${port}/x` }), /^(403|refused)/);
	assert.match(await said({ workspaceId }, 'connect', { port }), /^refused: /);
	await ok(at.rt, 'update_workspace', { workspaceId, allowedProfiles: ['no_network'] });
	assert.match(await said({ workspaceId }, 'fetch', inside), /^refused: /, 'a workspace that allows no network gives its servers none');
	await ok(at.rt, 'update_workspace', { workspaceId, allowedProfiles: ['danger_full_access'] });
	assert.match((await turn({ workspaceId }, 'hello', at)).of('workspace.servers_starting')[0].servers[0].reason, /^not_allowed: /);
	await at.rt.stop();
});
