// Entries of the settings that name tenants or a workspace: tools of MCP servers, HTTP tools, hooks and secrets of commands are for those sessions alone.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { newFolder, ok, startAgentd, waitFor, world } from '../lib/runtime.mjs';
import { factsOf, must } from './tenants.mjs';

const MCP = fileURLToPath(new URL('../tool/scripted_server.mjs', import.meta.url));
const ASK_SECRETS = 'echo has ${OURS_FILE:+ours} ${ROOM_FILE:+room} ${ALL_FILE:+all} ${USUAL_FILE:+usual} over';
const seen = newFolder();
let w, service, calls = 0;
const who = {}, room = {}, other = {};

const ended = (tenant, { sessionId, turnId }) => waitFor(async () => (await factsOf(w.rt, who[tenant], sessionId)).find((f) => f.turnId === turnId && /^turn\.(completed|failed)$/.test(f.type)), 'the end of the turn');
const offered = (turn) => (w.model.log(turn.turnId)[0].body.tools ?? []).map((t) => t.function.name).sort();
const readOf = (turn) => JSON.stringify(w.model.log(turn.turnId).at(-1).body.messages.filter((m) => m.role === 'tool'));

async function give(tenant, workspaceId, text) {
	const turn = await must(w.rt, who[tenant], 'submit_turn', { createPolicy: { workspaceId }, text });
	await ended(tenant, turn);
	return turn;
}

const mine = (names) => names.filter((n) => /^(ours|room|all|usual)/.test(n));

before(async () => {
	service = http.createServer((req, res) => (calls++, res.end('served'))).listen(0, '127.0.0.1');
	await new Promise((done) => service.once('listening', done));
	if (process.getuid() === 0) execFileSync('chmod', ['0777', seen]);
	const config = { 'permission.mode': 'bypass', 'workspaces.dir': realpathSync(newFolder()) };
	w = await world({ config });
	for (const name of ['acme', 'zeta']) {
		({ token: who[name] } = await ok(w.rt, 'create_token', { tenant: name, name, scopes: ['admin'] }));
		room[name] = (await must(w.rt, who[name], 'create_workspace', {})).workspace.workspaceId;
		other[name] = (await must(w.rt, who[name], 'create_workspace', {})).workspace.workspaceId;
	}
	room.local = (await ok(w.rt, 'create_workspace', {})).workspace.workspaceId;
	await w.rt.stop();
	const whose = { ours: { tenants: ['acme'] }, room: { tenants: ['acme', 'zeta'], workspace: room.acme }, all: { tenants: ['*'] }, usual: {} };
	const url = `http://127.0.0.1:${service.address().port}/`;
	const entries = (make) => Object.entries(whose).map(([name, members]) => ({ ...make(name), ...members }));
	Object.assign(config, {
		http_tools: entries((name) => ({ name, description: 'Does something.', url, read_only: true })),
		mcp_servers: entries((name) => ({ name: `${name}mcp`, command: process.execPath, args: [MCP] })).slice(0, 2),
		hooks: entries((name) => ({ name, point: 'user_prompt_submit', command: `cat >>${join(seen, name)}` })),
		command_secrets: entries((name) => ({ name: name.toUpperCase(), value: `a secret of ${name}` })),
	});
	w.rt = await w.again({ config });
	w.config = config;
});

after(() => service.close());

test('tools: offered, listed and callable only where the entry says so', async () => {
	const here = { 'acme in its room': ['acme', room.acme, ['all', 'ours', 'room', 'usual']], 'acme elsewhere': ['acme', other.acme, ['all', 'ours', 'usual']],
		'zeta': ['zeta', room.zeta, ['all', 'usual']], 'local': [undefined, room.local, ['all', 'usual']] };
	for (const [label, [tenant, workspaceId, expected]] of Object.entries(here)) {
		const turn = await give(tenant, workspaceId, '[[tool ours {}]]');
		const names = mine(offered(turn));
		assert.deepEqual(names.filter((n) => !/mcp/.test(n)), expected, label);
		for (const server of ['ours', 'room']) assert.equal(names.some((n) => n.startsWith(`${server}mcp`)), expected.includes(server), `${label}: ${server}mcp of ${names}`);
		const { tools } = await must(w.rt, who[tenant], 'get_tool_inventory', { sessionId: turn.sessionId });
		assert.deepEqual(mine(tools.map((t) => t.toolName)).sort(), names, label);
		assert.equal(readOf(turn).includes('served'), expected.includes('ours'), `${label}: ${readOf(turn)}`);
	}
	assert.equal(calls, 2);
});

test('a tool of an MCP server cannot be called by a session that it is not for, although its name is known', async () => {
	const turn = await give('acme', room.acme, 'which tools are there?');
	const name = offered(turn).find((n) => n.startsWith('oursmcp'));
	assert.ok(name, `${offered(turn)}`);
	const call = await give('zeta', room.zeta, `[[tool ${name} {}]]`);
	assert.ok(!offered(call).some((n) => n.startsWith('oursmcp')));
	const failed = (await factsOf(w.rt, who.zeta, call.sessionId)).find((f) => f.type === 'tool.failed');
	assert.match(readOf(call), /there is no tool 'oursmcp_/);
	assert.ok(failed, readOf(call));
});

test('hooks are called for the sessions of their entry, without tenants for all', async () => {
	const said = (name) => (existsSync(join(seen, name)) ? readFileSync(join(seen, name), 'utf8') : '');
	await give('acme', room.acme, 'word-of-acme-here');
	await give('acme', other.acme, 'word-of-acme-there');
	await give('zeta', room.zeta, 'word-of-zeta');
	await give(undefined, room.local, 'word-of-local');
	const heard = (name) => ['word-of-acme-here', 'word-of-acme-there', 'word-of-zeta', 'word-of-local'].filter((word) => said(name).includes(word));
	assert.deepEqual(heard('ours'), ['word-of-acme-here', 'word-of-acme-there']);
	assert.deepEqual(heard('room'), ['word-of-acme-here']);
	for (const name of ['all', 'usual']) assert.deepEqual(heard(name), ['word-of-acme-here', 'word-of-acme-there', 'word-of-zeta', 'word-of-local'], name);
});

test('secrets reach the commands of their entry; without tenants those of local', async () => {
	const places = [['acme', room.acme, 'has ours room all over'], ['acme', other.acme, 'has ours all over'], ['zeta', room.zeta, 'has all over'], [undefined, room.local, 'has all usual over']];
	for (const [tenant, workspaceId, expected] of places) {
		const turn = await give(tenant, workspaceId, `[[tool shell ${JSON.stringify({ command: ASK_SECRETS })}]]`);
		assert.ok(readOf(turn).replace(/ +/g, ' ').includes(expected), `${tenant}: ${readOf(turn)}`);
	}
});

test('the folder of a workspace names it, too; another folder does not', { skip: process.env.AR_TEST_POSTGRES && 'no root is named on a cluster' }, async () => {
	const folders = [0, 1].map(() => realpathSync(newFolder()));
	if (process.getuid() === 0) for (const folder of folders) execFileSync('chown', ['1000:1000', folder]);
	await w.rt.stop();
	w.rt = await w.again({ config: { ...w.config, mcp_servers: [], hooks: [], http_tools: [], command_secrets: [{ name: 'ROOM', value: 'a secret of a folder', workspace: folders[0] }] } });
	for (const [i, root] of folders.entries()) {
		const { workspace } = await ok(w.rt, 'create_workspace', { root });
		const turn = await give(undefined, workspace.workspaceId, `[[tool shell ${JSON.stringify({ command: ASK_SECRETS })}]]`);
		assert.equal(readOf(turn).includes('room'), i === 0, readOf(turn));
	}
});

test('an entry that names what cannot be a workspace stops the start, and says where', async () => {
	for (const workspace of ['project', '/srv/../x', 'ws_1']) {
		const rt = await startAgentd({ model: w.model, mayDie: true, config: { hooks: [{ name: 'h', point: 'stop', command: 'true', workspace }] } });
		assert.ok(rt.isGone);
		assert.match(rt.stderr, /hooks: 'h': workspace '.*' is neither the id of a workspace/);
	}
});
