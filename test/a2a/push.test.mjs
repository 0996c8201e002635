// Push notifications of the A2A server: what becomes of a task arrives at the receiver in its order, at least once, whatever the receiver does to us and
// however we die; who may ask for them, and where they may go.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ClientFactory, JsonRpcTransportFactory } from 'a2a-js-sdk-03/client';
import { facts } from '../lib/gate.mjs';
import { homeOf } from '../lib/home.mjs';
import { newFolder, ok, refused, request, startAgentd, startModel, storeOf, waitFor } from '../lib/runtime.mjs';
import { receiver } from '../webhook/receiver.mjs';
import { AGENTS, BINDINGS, client, message, raw, start, taskOf } from './peers.mjs';

const server = fileURLToPath(new URL('../tool/modern_server.mjs', import.meta.url));
const asking = { mcp_servers: [{ name: 'm', command: process.execPath, args: [server, 'stdio'], call_timeout_ms: 60000 }] };
const ASK = '[[tool m_slow {"n":1}]][[then]][[say so]]';
const KEY = 'a key of more than sixteen bytes';
const QUICK = { 'a2a.push_key': KEY, 'a2a.push_backoff_ms': 20, 'a2a.push_timeout_ms': 300, 'a2a.push_attempts': 50, 'webhook.report_ms': 20 };
const at = (to) => (Array.isArray(to) ? to : [to]).map((r) => new URL(r.url).origin).join(' ');
const begin = (to, more = {}) => start({ ...more, config: { ...QUICK, 'a2a.push_to': at(to), ...more.config } });
const again = async (w) => { w.rt = await startAgentd({ dataDir: w.dataDir, model: w.model, config: w.settings }); };
const params = (text, push, more = {}) => ({ message: { messageId: more.id ?? `push-${text}-${push?.id ?? ''}`.slice(0, 60), role: 'ROLE_USER', parts: [{ text }] }, configuration: { taskPushNotificationConfig: push, returnImmediately: !more.waits } });
const hook = (to, more = {}) => ({ id: 'one', url: to.url, ...more });
const plain = (options = {}) => receiver({ secret: null, ...options });

/** What a receiver got, each notification once, in the order in which they came first. */
const notices = (to, taken = () => true) => [...new Map(to.got.filter(taken).map((r) => [r.id, r.event])).values()];
const stateOf = (n) => n.task?.status.state ?? n.statusUpdate?.status.state;
const states = (list) => list.map(stateOf).filter((s) => s).map((s) => s.replace('TASK_STATE_', ''));
const hasEnd = (to, taken) => states(notices(to, taken)).includes('COMPLETED');
const ended = (to, taken) => waitFor(() => hasEnd(to, taken), () => `the end among ${states(notices(to, taken))}`);

async function withTools(to, more = {}) {
	const w = await begin(to, { ...more, config: { ...asking, ...more.config } });
	const { sessionId } = await ok(w.rt, 'create_session', {});
	await waitFor(async () => (await ok(w.rt, 'get_tool_inventory', { sessionId })).tools.some((t) => t.toolName === 'm_slow'), 'the tools of the server');
	return w;
}

/** The permission that the task waits for is given by somebody else. */
async function decide(rt, task, decision = 'deny') {
	await waitFor(async () => (await raw(rt, 'GetTask', { id: task.id })).result?.status.state === 'TASK_STATE_AUTH_REQUIRED', 'the question');
	const [action] = (await ok(rt, 'list_actions', { sessionId: task.contextId })).actions;
	await ok(rt, 'respond_action', { actionId: action.actionId, decision });
}

test('A2-08 the changes of a task are pushed in their order: the task first, the output before the end, with the token and the credentials that the caller chose', async () => {
	const to = await plain();
	const { rt } = await begin(to);
	const card = JSON.parse((await request(rt, { method: 'GET', path: '/.well-known/agent-card.json' })).text);
	assert.equal(card.capabilities.pushNotifications, true);
	const { result } = await raw(rt, 'SendMessage', params('[[say the answer]]', hook(to, { token: 'tok 1', authentication: { scheme: 'Bearer', credentials: 'secret-1' } }), { waits: true }));
	assert.equal(result.task.status.state, 'TASK_STATE_COMPLETED');
	await ended(to);
	const list = notices(to);
	assert.ok(list[0].task && list.slice(1).every((n) => !n.task && Object.keys(n).length === 1), 'one StreamResponse each');
	assert.ok(list.every((n) => (n.task?.id ?? Object.values(n)[0].taskId) === result.task.id));
	const [artifact] = list.filter((n) => n.artifactUpdate);
	assert.equal(artifact.artifactUpdate.artifact.parts[0].text, 'the answer');
	assert.equal(list.indexOf(artifact), list.length - 2);
	assert.equal(stateOf(list.at(-1)), 'TASK_STATE_COMPLETED');
	const times = list.map((n) => (n.task ?? n.statusUpdate)?.status.timestamp).filter((t) => t);
	assert.deepEqual(times, [...times].sort());
	for (const { headers, method } of to.got)
		assert.deepEqual([method, headers['content-type'], headers['x-a2a-notification-token'], headers.authorization, headers['webhook-signature']], ['POST', 'application/a2a+json', 'tok 1', 'Bearer secret-1', undefined]);
	await rt.stop();
});

test('A2-08 a receiver that fails, hangs or cuts, and kill -9 of the server in between, lose nothing and change no order; another receiver is not held up', async () => {
	const bad = await plain(), good = await plain();
	const w = await withTools([bad, good]);
	const answers = [500, 'hang', 'cut', 503];
	bad.answer = () => answers[bad.got.length % answers.length];
	const { result: { task } } = await raw(w.rt, 'SendMessage', params(ASK, hook(bad, { id: 'bad' })));
	const second = await raw(w.rt, 'CreateTaskPushNotificationConfig', { taskId: task.id, ...hook(good, { id: 'good' }) });
	assert.equal(second.result.id, 'good', JSON.stringify(second));
	await waitFor(() => states(notices(good)).includes('AUTH_REQUIRED') && bad.got.length > 4, 'the question at the good one, and failures of the other');
	assert.equal(bad.ids().size, 1, 'the first has to arrive before the second is sent');
	await w.rt.kill9();
	await again(w);
	const before = bad.got.length;
	await waitFor(() => bad.got.length > before, 'attempts go on');
	const died = bad.got.length;
	bad.answer = () => 204;
	await waitFor(() => states(notices(bad)).includes('AUTH_REQUIRED'), 'what was due');
	await w.rt.kill9();
	await again(w);
	await decide(w.rt, task);
	await Promise.all([ended(bad), ended(good)]);
	assert.ok(died > 1);
	const [one, two] = [notices(bad), notices(good)];
	assert.ok(one[0].task && two[0].task);
	assert.equal(states(one)[0], 'SUBMITTED');
	assert.deepEqual(states(one).slice(-3), ['AUTH_REQUIRED', 'WORKING', 'COMPLETED']);
	assert.deepEqual(states(two).slice(-3), ['AUTH_REQUIRED', 'WORKING', 'COMPLETED']);
	assert.deepEqual(one.filter((n) => n.artifactUpdate), two.filter((n) => n.artifactUpdate), 'the output, also after the crash');
	const order = one.map((n) => (n.task ?? n.statusUpdate)?.status.timestamp).filter((t) => t);
	assert.deepEqual(order, [...order].sort());
	await w.rt.stop();
});

test('a notification that no attempt could deliver is given up as a fact, and the next ones come', async () => {
	const to = await plain();
	const { rt } = await begin(to, { config: { 'a2a.push_attempts': 2 } });
	const first = () => to.got[0]?.id;
	to.answer = (r) => (r.id === first() ? 500 : 204);
	const { result: { task } } = await raw(rt, 'SendMessage', params('[[say x]]', hook(to)));
	await ended(to, (r) => r.id !== first());
	assert.equal(to.got.filter((r) => r.id === first()).length, 2);
	const failed = await facts(rt, homeOf('local'), 'webhook.failed');
	assert.deepEqual(failed.map((e) => [e.payload.failure.attempts, e.payload.failure.httpStatus, e.payload.failure.deliveryId]), [[2, 500, first()]]);
	const [{ payload: added }] = await facts(rt, homeOf('local'), 'webhook.added');
	assert.deepEqual([added.push.taskId, added.push.configId, added.push.address], [task.id, 'one', new URL(to.url).origin]);
	await rt.stop();
});

for (const binding of BINDINGS) {
	test(`A2-08 ${binding}: configurations are set, read, listed and removed by the official client; one that is removed gets nothing more`, async () => {
		const to = await plain();
		const { rt } = await withTools(to);
		const c = await client(rt, binding);
		const task = taskOf(await c.sendMessage(message(ASK, { configuration: { acceptedOutputModes: [], returnImmediately: true } })));
		const config = (id, more = {}) => ({ tenant: '', taskId: task.id, id, url: to.url, token: 'tok', authentication: { scheme: 'Bearer', credentials: 's' }, ...more });
		const made = await c.createTaskPushNotificationConfig(config('a'));
		assert.deepEqual([made.id, made.taskId, made.url, made.authentication?.scheme], ['a', task.id, to.url, 'Bearer']);
		const nameless = await c.createTaskPushNotificationConfig(config('', { url: `${to.url}?q=1` }));
		assert.equal(nameless.id, task.id, 'one without an id has that of the task');
		const read = await c.getTaskPushNotificationConfig({ tenant: '', taskId: task.id, id: 'a' });
		assert.deepEqual([read.id, read.url, read.token, read.authentication?.credentials || ''], ['a', to.url, '', ''], 'without what is secret');
		await c.createTaskPushNotificationConfig(config('a', { url: `${to.url}/second` }));
		const list = async () => (await c.listTaskPushNotificationConfig({ tenant: '', taskId: task.id, pageSize: 0, pageToken: '' })).configs.map((p) => [p.id, p.url]);
		assert.deepEqual(await list(), [[task.id, `${to.url}?q=1`], ['a', `${to.url}/second`]], 'the same id replaces');
		await waitFor(() => states(notices(to, (r) => r.path === '/hook?q=1' && r.headers.authorization)).includes('AUTH_REQUIRED'), 'it is sent to');
		await c.deleteTaskPushNotificationConfig({ tenant: '', taskId: task.id, id: task.id });
		await c.deleteTaskPushNotificationConfig({ tenant: '', taskId: task.id, id: task.id });
		assert.deepEqual(await list(), [['a', `${to.url}/second`]]);
		await assert.rejects(c.getTaskPushNotificationConfig({ tenant: '', taskId: task.id, id: task.id }), /no such push/);
		const removed = to.got.filter((r) => r.path === '/hook?q=1').length;
		await decide(rt, task);
		await waitFor(() => hasEnd(to, (r) => r.path === '/hook/second'), 'the end at the other');
		assert.equal(to.got.filter((r) => r.path === '/hook?q=1').length, removed);
		assert.deepEqual(await list(), [['a', `${to.url}/second`]], 'it is shown after the end too');
		await rt.stop();
	});
}

test('A2-08 0.3: the official client of that version sets and lists; each notification is the task', async () => {
	const to = await plain();
	const { rt } = await begin(to);
	const fetchImpl = (url, init) => fetch(String(url).replace(/^http:\/\/127\.0\.0\.1\//, `${rt.url}/`), init);
	const card = JSON.parse((await request(rt, { method: 'GET', path: '/a2a/builder/.well-known/agent-card.json' })).text);
	const c = await new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl })] }).createFromAgentCard(card);
	const task = await c.sendMessage({ message: { kind: 'message', messageId: 'old-1', role: 'user', parts: [{ kind: 'text', text: '[[say the answer]]' }] }, configuration: { blocking: true, pushNotificationConfig: { id: 'old', url: to.url, token: 'tok' } } });
	assert.equal(task.status.state, 'completed');
	await waitFor(() => notices(to).some((t) => t.status.state === 'completed'), 'the end');
	const list = notices(to);
	assert.ok(list.every((t) => t.kind === 'task' && t.id === task.id), JSON.stringify(list));
	assert.equal(list.at(-1).artifacts[0].parts[0].text, 'the answer');
	assert.ok(to.got.every((r) => r.headers['content-type'] === 'application/json' && r.headers['x-a2a-notification-token'] === 'tok'));
	await c.setTaskPushNotificationConfig({ taskId: task.id, pushNotificationConfig: { url: to.url } });
	assert.equal((await c.getTaskPushNotificationConfig({ id: task.id })).pushNotificationConfig.url, to.url);
	assert.deepEqual((await c.listTaskPushNotificationConfig({ id: task.id })).map((p) => p.pushNotificationConfig.id), ['old', task.id]);
	await c.deleteTaskPushNotificationConfig({ id: task.id, pushNotificationConfigId: 'old' });
	assert.equal((await c.listTaskPushNotificationConfig({ id: task.id })).length, 1);
	await rt.stop();
});

test('without a2a.push_to nothing is offered, and the card says so', async () => {
	const { rt } = await start();
	const card = JSON.parse((await request(rt, { method: 'GET', path: '/.well-known/agent-card.json' })).text);
	assert.equal(card.capabilities.pushNotifications, false);
	for (const method of ['Create', 'Get', 'Delete'])
		assert.equal((await raw(rt, `${method}TaskPushNotificationConfig`, { taskId: 'x', id: 'y', url: 'https://example.com' })).error.data[0].reason, 'PUSH_NOTIFICATION_NOT_SUPPORTED');
	assert.equal((await raw(rt, 'SendMessage', params('x', { url: 'https://example.com/' }))).error.code, -32003);
	assert.deepEqual((await ok(rt, 'list_sessions', {})).sessions, [], 'and it starts nothing');
	await rt.stop();
});

test('hostile addresses are refused, by default and with every public one allowed; a redirect is not followed', async () => {
	const inside = await plain(), open = await plain();
	open.answer = () => ({ status: 302, headers: { location: inside.url } });
	const w = await withTools(open, { config: { 'a2a.push_to': `*, ${at(open)}`, 'a2a.push_attempts': 2 } });
	const { result: { task } } = await raw(w.rt, 'SendMessage', params(ASK));
	const set = (url, more = {}) => raw(w.rt, 'CreateTaskPushNotificationConfig', { taskId: task.id, id: 'x', url, ...more });
	const figures = ['127.0.0.1', '127.1', '0x7f000001', '2130706433', '0', '10.0.0.1', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1', '100.100.100.200', '168.63.129.16', '[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:a9fe:a9fe]', '[fe80::1]', '[fd00:ec2::254]', '[fc00::1]', '[64:ff9b::a9fe:a9fe]', '224.0.0.1'];
	const hostile = [
		...figures.map((f) => `https://${f}/`), inside.url, inside.url.replace('127.0.0.1', 'localhost'), 'https://localhost/', 'http://example.com/', 'https://user@example.com/', `http://${new URL(open.url).host}@example.com/`,
		`${at(open)}@example.com/`, `${at(open)}.example.com/`, 'ftp://example.com/', 'file:///etc/passwd', 'gopher://example.com/', 'javascript:alert(1)', '//example.com/', 'https:///', 'x', 'https://example.com/\r\nX: y', 'https://ex ample.com/', 'https://exämple.com/', 'https://example.com/\t',
	];
	for (const url of hostile) {
		const { error } = await set(url);
		assert.deepEqual([error?.code, error?.data?.[0].fieldViolations?.[0].field], [-32602, 'url'], url);
	}
	const long = (n) => 'x'.repeat(n), fine = `${at(open)}/hook`;
	for (const [more, field] of [[{ url: `${fine}?${long(1024)}` }, 'url'], [{ url: '' }, 'url'], [{ url: 7 }, 'url'], [{ token: long(257) }, 'token'], [{ token: 'a\r\nb' }, 'token'], [{ token: ['x'] }, 'token'], [{ id: long(129) }, 'id'], [{ id: '../x' }, 'id'],
		[{ authentication: { scheme: 'Bearer\n', credentials: 'x' } }, 'authentication.scheme'], [{ authentication: { scheme: long(33) } }, 'authentication.scheme'], [{ authentication: { scheme: 'Basic', credentials: long(2049) } }, 'authentication.credentials'], [{ authentication: { credentials: 'x' } }, 'authentication.credentials'], [{ authentication: { scheme: 'Basic', credentials: 'a\u0000b' } }, 'authentication.credentials']]) {
		const { error } = await set(fine, more);
		assert.deepEqual([error?.code, error?.data?.[0].fieldViolations?.[0].field], [-32602, field], JSON.stringify(more).slice(0, 80));
	}
	const sent = await raw(w.rt, 'SendMessage', params('x', { url: 'https://169.254.169.254/' }, { id: 'hostile' }));
	assert.equal(sent.error.code, -32602);
	assert.equal((await raw(w.rt, 'ListTasks', {})).result.tasks.length, 1, 'a message with a hostile one starts nothing');
	assert.equal((await set('https://hooks.invalid:8443/hook')).result.url, 'https://hooks.invalid:8443/hook', 'a public one is taken');
	assert.equal((await set(fine)).result.id, 'x');
	await waitFor(async () => (await facts(w.rt, homeOf('local'), 'webhook.failed')).some((e) => e.payload.failure.httpStatus === 302), 'the redirect is a failure');
	assert.deepEqual(inside.got, []);
	for (let i = 1; i < 8; i++) assert.ok((await set(fine, { id: `n${i}` })).result, `number ${i + 1}`);
	assert.match((await set(fine, { id: 'n8' })).error.message, /8 push configurations/);
	await w.rt.stop();
});

test('a name that stands for an address inside is not dialled, however it got there', async () => {
	const inside = await plain(), named = await plain();
	const { rt } = await begin(named, { config: { 'a2a.push_to': '*', 'a2a.push_attempts': 1 } });
	const port = new URL(inside.url).port;
	const { result } = await raw(rt, 'SendMessage', params('[[say x]]', { id: 'one', url: `https://inside.localhost:${port}/` }));
	assert.ok(result.task, JSON.stringify(result));
	await waitFor(async () => (await facts(rt, homeOf('local'), 'webhook.failed')).length > 0, 'the failure');
	const [failed] = await facts(rt, homeOf('local'), 'webhook.failed');
	assert.match(failed.payload.failure.reason, /not dialled/);
	assert.deepEqual(inside.got, []);
	await rt.stop();
});

test('a task of another caller, tenant or agent has no configurations: TaskNotFound, and nothing is sent', async () => {
	const to = await plain();
	const { rt } = await begin(to, { config: { 'auth.required': true, a2a_agents: ['builder', 'other'].map((name) => ({ name, description: 'Builds.', tenants: ['*'] })) } });
	const [ann, bob, gus, eve] = await Promise.all([['acme', 'ann', ['read', 'submit']], ['acme', 'bob', ['read', 'submit']], ['globex', 'gus', ['read', 'submit']], ['acme', 'eve', ['read']]].map(async ([tenant, name, scopes]) => (await ok(rt, 'create_token', { tenant, name, scopes }, { via: 'socket' })).token));
	const { result: { task } } = await raw(rt, 'SendMessage', params('[[hang]]', hook(to, { id: 'mine' })), { token: ann });
	const pushes = [['Create', { taskId: task.id, id: 'theirs', url: to.url }], ['Get', { taskId: task.id, id: 'mine' }], ['List', { taskId: task.id }], ['Delete', { taskId: task.id, id: 'mine' }]];
	const method = (name) => (name === 'List' ? 'ListTaskPushNotificationConfigs' : `${name}TaskPushNotificationConfig`);
	for (const [name, input] of pushes) {
		for (const who of [{ token: bob }, { token: gus }, { token: ann, agent: 'other' }])
			assert.equal((await raw(rt, method(name), input, who)).error.data[0].reason, 'TASK_NOT_FOUND', name);
		assert.equal((await raw(rt, method(name), { ...input, taskId: 'task_00000000000000000000000000_1' }, { token: ann })).error.data[0].reason, 'TASK_NOT_FOUND', name);
	}
	assert.ok((await raw(rt, method('Create'), pushes[0][1], { token: eve })).error, 'the right to read is not enough');
	assert.deepEqual((await raw(rt, method('List'), { taskId: task.id }, { token: ann })).result.configs.map((p) => p.id), ['mine']);
	for (const [command, input] of [['set_task_push', { taskId: task.id, configId: 'x', url: to.url, version: '1.0', begin: 0 }], ['remove_task_push', { taskId: task.id, configId: 'mine' }], ['list_task_pushes', { taskId: task.id }]])
		await refused(rt, 'not_authorized', command, input, { via: 'socket' });
	await waitFor(() => to.got.length > 0, 'what the owner asked for');
	assert.ok(to.got.every((r) => r.event.task?.id === task.id || Object.values(r.event)[0].taskId === task.id));
	await rt.stop();
});

test('what is secret of a configuration is nowhere in the data of the server, and under another key it is not used', async () => {
	const to = await plain();
	const w = await withTools(to, { dataDir: newFolder() });
	const secret = { token: 'tok-9d1f47c2e6b8', authentication: { scheme: 'Bearer', credentials: 'cred-5b0c9a7e3d12' } };
	const { result: { task } } = await raw(w.rt, 'SendMessage', params(ASK, hook(to, { url: `${to.url}?key=query-77aa41`, ...secret })));
	await waitFor(() => states(notices(to)).includes('AUTH_REQUIRED'), 'the question');
	for (const text of [JSON.stringify(await facts(w.rt, homeOf('local'))), JSON.stringify(await ok(w.rt, 'list_audit', {}))])
		assert.ok(text.length > 100 && !/tok-9d1f|cred-5b0c|query-77aa/.test(text), 'nor in what the log and the audit trail show');
	await w.rt.kill9();
	const files = (dir) => readdirSync(dir).flatMap((name) => { const path = join(dir, name); return statSync(path).isDirectory() ? files(path) : statSync(path).isFile() ? [path] : []; });
	for (const path of files(w.dataDir)) {
		const bytes = readFileSync(path);
		for (const text of ['tok-9d1f47c2e6b8', 'cred-5b0c9a7e3d12', 'query-77aa41']) assert.ok(!bytes.includes(text), `${text} in ${path}`);
	}
	w.settings = { ...w.settings, 'a2a.push_key': 'quite another key, as long as it has to be' };
	await again(w);
	const { result } = await raw(w.rt, 'ListTaskPushNotificationConfigs', { taskId: task.id });
	assert.deepEqual(result.configs.map((p) => [p.id, p.url]), [['one', new URL(to.url).origin]]);
	const count = to.got.length;
	await decide(w.rt, task);
	await waitFor(async () => (await raw(w.rt, 'GetTask', { id: task.id })).result.status.state === 'TASK_STATE_COMPLETED', 'the end');
	await w.rt.kill9();
	assert.equal(to.got.length, count);
	w.settings = { ...w.settings, 'a2a.push_key': KEY };
	await again(w);
	await ended(to);
	await w.rt.stop();
});

test('on a cluster the node that has the home of the tenant sends, whichever works on the task; when one is killed the other goes on', { skip: !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL', timeout: 180000 }, async () => {
	const to = await plain();
	const env = storeOf(newFolder()), model = await startModel();
	const node = (name) => startAgentd({ model, env: { ...env, AGENTD_NODE: name }, config: { ...QUICK, ...asking, 'a2a.push_to': at(to), 'a2a.url': 'http://127.0.0.1', a2a_agents: AGENTS, 'cluster.lease_ms': 1500 } });
	const nodes = [await node('a'), await node('b')];
	const table = async (rt) => JSON.parse((await request(rt, { method: 'GET', path: '/v1/nodes' })).text).nodes;
	for (const rt of nodes) await waitFor(async () => (await table(rt)).length === 2 && (await table(rt)).every((n) => n.partitions > 400), 'a share for each');
	const { sessionId } = await ok(nodes[0], 'create_session', {});
	await waitFor(async () => (await ok(nodes[0], 'get_tool_inventory', { sessionId })).tools.some((t) => t.toolName === 'm_slow'), 'the tools of the server');
	const tasks = [];
	for (let i = 0; i < 6; i++) // some on each node
		tasks.push((await raw(nodes[i % 2], 'SendMessage', params(ASK, hook(to), { id: `m${i}` }))).result.task);
	const of = (task) => (r) => (r.event.task?.id ?? Object.values(r.event)[0].taskId) === task.id;
	const lacks = (state) => tasks.filter((t) => !states(notices(to, of(t))).includes(state)).length;
	await waitFor(() => !lacks('AUTH_REQUIRED'), () => `${lacks('AUTH_REQUIRED')} questions are not pushed`, 60000);
	await nodes[0].kill9();
	for (const task of tasks) {
		const action = await waitFor(async () => (await ok(nodes[1], 'list_actions', { sessionId: task.contextId }).catch(() => ({}))).actions?.[0], 'the question at the other node', 60000);
		await waitFor(() => ok(nodes[1], 'respond_action', { actionId: action.actionId, decision: 'deny' }).catch(() => null), 'the answer', 60000);
	}
	await waitFor(() => !lacks('COMPLETED'), () => `${lacks('COMPLETED')} ends are not pushed`, 60000);
	for (const task of tasks) assert.deepEqual(states(notices(to, of(task))).slice(-3), ['AUTH_REQUIRED', 'WORKING', 'COMPLETED']);
	await nodes[1].stop();
});
