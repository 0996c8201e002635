// What the inventory says of a tool is what a call of it does: whose system does the work, and what it touches.
import assert from 'node:assert/strict';
import { chownSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ended, facts } from '../lib/gate.mjs';
import { newFolder, ok, submit, waitFor, world } from '../lib/runtime.mjs';

const OWNER = 1000;
const server = fileURLToPath(new URL('../tool/modern_server.mjs', import.meta.url));
const workspace = newFolder();
const inside = (name) => join(workspace, name);
let w, service, tools, requests = [];

before(async () => {
	writeFileSync(inside('note.txt'), 'the needle is here\n');
	if (process.getuid() === 0) for (const path of [workspace, inside('note.txt')]) chownSync(path, OWNER, OWNER);
	service = http.createServer((request, response) => {
		requests.push(request.url);
		response.writeHead(200, { 'content-type': 'text/plain' }).end(`page of ${request.url}`);
	});
	await new Promise((done) => service.listen(0, '127.0.0.1', done));
	const url = `http://127.0.0.1:${service.address().port}`;
	const mcp = { command: process.execPath, args: [server, 'stdio'] };
	w = await world({ config: { 'tools.workspace': workspace, 'permission.mode': 'bypass', 'subagents.tools': true,
		http_tools: [{ name: 'web_search', description: 'Searches.', url: `${url}/search`, method: 'GET', read_only: true },
			{ name: 'open_page', description: 'Opens a page.', url: `${url}/page`, method: 'GET', read_only: true, browser: true }],
		mcp_servers: [{ name: 'm', ...mcp }, { name: 'chrome', ...mcp, browser: true }] } });
	const { sessionId } = await ok(w.rt, 'create_session', {});
	tools = await waitFor(async () => {
		const list = (await ok(w.rt, 'get_tool_inventory', { sessionId })).tools;
		return ['m_fail', 'chrome_fail'].every((name) => list.some((t) => t.toolName === name)) && list;
	}, 'the tools of the servers');
});

after(() => {
	service.closeAllConnections();
	service.close();
});

const find = (name) => tools.find((t) => t.toolName === name);

async function call(name, args = {}) {
	const { sessionId } = await submit(w.rt, `[[tool ${name} ${JSON.stringify(args)}]]`);
	await ended(w.rt, sessionId);
	const log = await facts(w.rt, sessionId);
	const of = (type) => log.filter((e) => e.type === type);
	return { of, started: of('tool.started')[0].payload, text: of('tool.result')[0]?.payload.preview };
}

test('TL-02 each flag of a file, shell, browser, search and artifact tool is confirmed by a call of it', async () => {
	const probes = {
		read_file: [['read', 'filesystem'], { path: 'note.txt' }, ({ text, of }) => /needle/.test(text) && of('artifact.changed').length === 0],
		search_files: [['read', 'filesystem'], { pattern: 'needle' }, ({ text, of }) => /note\.txt/.test(text) && of('artifact.changed').length === 0],
		write_file: [['write', 'filesystem', 'artifact'], { path: 'new.txt', content: 'made\n' },
			({ of }) => readFileSync(inside('new.txt'), 'utf8') === 'made\n' && of('artifact.changed').length === 1],
		shell: [['write', 'filesystem', 'shell'], { command: 'cat note.txt > copy.txt && echo $((40 + 2))' },
			({ text, of }) => /\n42\n/.test(text) && existsSync(inside('copy.txt')) && of('process.started').length === 1],
		web_search: [['read', 'network'], {}, () => requests.includes('/search')],
		open_page: [['read', 'network', 'browser'], {}, ({ text }) => text === 'page of /page' && requests.includes('/page')],
		m_fail: [['read', 'write', 'network', 'custom'], {}, ({ of }) => of('tool.failed').length === 1],
		chrome_fail: [['read', 'write', 'network', 'browser', 'custom'], {}, ({ of }) => of('tool.failed').length === 1],
	};
	for (const [name, [flags, args, confirms]] of Object.entries(probes)) {
		assert.deepEqual(find(name).capabilities, flags, name);
		assert.ok(confirms(await call(name, args)), name);
	}
	assert.deepEqual([...new Set(Object.values(probes).flatMap(([flags]) => flags))].sort(), ['artifact', 'browser', 'custom', 'filesystem', 'network', 'read', 'shell', 'write'], 'all eight are shown');
});

test('TL-04 one tool of each owner that there is: the inventory names the owner, and the call reaches it', async () => {
	const owners = {
		read_file: ['local', { path: 'note.txt' }, ({ text }) => /needle/.test(text)],
		m_fail: ['mcp_server', {}, ({ of }) => of('tool.failed').length === 1 && of('tool.failed')[0].payload.errorCategory === 'tool_error'],
		web_search: ['hosted_connector', {}, ({ text }) => text === 'page of /search'],
		spawn_agent: ['subagent', { objective: 'find it' }, ({ of }) => of('subagent.spawned').length === 1 && of('subagent.completed').length === 1],
	};
	for (const [name, [owner, args, reaches]] of Object.entries(owners)) {
		assert.equal(find(name).runtimeOwner, owner, name);
		const done = await call(name, args);
		assert.equal(done.started.runtimeOwner, owner);
		assert.ok(reaches(done), name);
	}
});
