// find_tasks and find_processes: what is open in any session of a tenant, by the page; what ended on request; nothing of another tenant, whatever a cursor says.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { bin, newFolder, ok, waitFor, world } from '../lib/runtime.mjs';
import { ask, coreOf, factsOf, must } from '../tenant/tenants.mjs';

const who = {};
const made = { acme: [], zeta: [] }; // { sessionId, taskIds }, oldest first
let w;

const find = (tenant, input = {}) => must(w.rt, who[tenant], 'find_tasks', input);
const ids = ({ tasks }) => tasks.map((t) => t.taskId);
const ctl = (...words) => execFileSync(join(bin, 'agentctl'), ['--socket', w.rt.socket, ...words], { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C.UTF-8' } });

async function pages(tenant, input, limit) {
	const all = [];
	for (let cursor, n = 0; n < 50; n++) {
		const page = await find(tenant, { ...input, limit, ...(cursor ? { cursor } : {}) });
		assert.ok(page.tasks.length <= limit);
		all.push(...ids(page));
		if (!(cursor = page.nextCursor)) return all;
	}
	assert.fail('the pages do not end');
}

async function session(tenant, count, more = {}) {
	const { sessionId } = await must(w.rt, who[tenant], 'create_session', more);
	const taskIds = [];
	for (let i = 0; i < count; i++) taskIds.push((await must(w.rt, who[tenant], 'create_task', { sessionId, objective: `${tenant} ${i}` })).taskId);
	made[tenant].push({ sessionId, taskIds });
	return { sessionId, taskIds };
}

/** As the list has them: newest session first, tasks of one in the order of creation. */
const expected = (tenant, but = []) => [...made[tenant]].reverse().flatMap((s) => s.taskIds).filter((id) => !but.includes(id));

before(async () => {
	const folder = newFolder();
	chmodSync(folder, 0o755);
	const workspace = join(folder, 'work');
	mkdirSync(workspace);
	if (process.getuid() === 0) execFileSync('chown', ['1000:1000', workspace]);
	w = await world({ config: { 'tools.workspace': workspace, 'tools.workspace_shared_by_tenants': true, 'permission.mode': 'bypass' } });
	for (const name of ['acme', 'zeta']) ({ token: who[name] } = await ok(w.rt, 'create_token', { tenant: name, name, scopes: ['admin'] }));
	await session('acme', 3, { workspaceId: 'red' });
	await session('acme', 0);
	await session('zeta', 2);
	await session('acme', 4);
	await session('acme', 1, { workspaceId: 'red' });
});

test('open tasks of all sessions come by the page, each once, and after a kill -9', async () => {
	for (let again = 0; again < 2; again++) {
		assert.deepEqual(ids(await find('acme')), expected('acme'));
		for (const limit of [1, 2, 3, 5]) assert.deepEqual(await pages('acme', {}, limit), expected('acme'), `pages of ${limit}`);
		assert.deepEqual(ids(await find('acme', { workspaceId: 'red' })), [...made.acme[3].taskIds, ...made.acme[0].taskIds]);
		const [task] = (await find('acme')).tasks;
		assert.deepEqual(task, (await must(w.rt, who.acme, 'list_tasks', { sessionId: made.acme[3].sessionId })).tasks[0], 'the record is that of list_tasks');
		await w.rt.kill9();
		w.rt = await w.again();
	}
});

test('a task that ended is left out, and found on request; a session without open ones is not looked at', async () => {
	const [first, second] = made.acme[2].taskIds, [only] = made.acme[3].taskIds;
	for (const taskId of [first, only]) await must(w.rt, who.acme, 'cancel_task', { taskId, reason: 'not needed' });
	await waitFor(async () => ids(await find('acme')).length === expected('acme').length - 2, 'both are over');
	assert.deepEqual(ids(await find('acme')), expected('acme', [first, only]));
	assert.deepEqual(ids(await find('acme', { withEnded: true })), expected('acme'));
	assert.deepEqual(await pages('acme', { withEnded: true }, 2), expected('acme'));
	assert.deepEqual(ids(await find('acme', { status: 'cancelled' })), [only, first]);
	await must(w.rt, who.acme, 'pause_task', { taskId: second, reason: 'later' });
	assert.deepEqual(ids(await find('acme', { status: 'paused' })), [second]);
	assert.ok(ids(await find('acme')).includes(second), 'one that is paused is open');
});

test('the task of a turn is internal: listed on request, while it is at work', async () => {
	const { sessionId, turnId, taskId } = await must(w.rt, who.acme, 'submit_turn', { createPolicy: {}, text: '[[hang]]' });
	await waitFor(async () => (await factsOf(w.rt, who.acme, sessionId)).some((f) => f.type === 'model.requested'), 'the call');
	assert.ok(!ids(await find('acme')).includes(taskId));
	assert.equal(ids(await find('acme', { withInternal: true }))[0], taskId);
	await must(w.rt, who.acme, 'interrupt_turn', { sessionId, turnId, reason: 'enough' });
	await waitFor(async () => !ids(await find('acme', { withInternal: true })).includes(taskId), 'it is over');
});

test('hidden tasks are not shown', async () => {
	const { sessionId } = made.acme[1];
	const { taskId } = await must(w.rt, who.acme, 'create_task', { sessionId, objective: 'quiet', visibility: 'hidden' });
	assert.ok(!ids(await find('acme', { withInternal: true, withEnded: true })).includes(taskId));
	await must(w.rt, who.acme, 'cancel_task', { taskId, reason: 'not needed' });
});

test('a cursor that names sessions of another tenant leads to nothing of it', async () => {
	const [own] = made.acme, [other] = made.zeta;
	for (const cursor of [`.${coreOf(other.sessionId)}.0`, `${coreOf(other.sessionId)}.${coreOf(other.sessionId)}.0`, `.${coreOf(other.sessionId)}.1`]) {
		for (const command of ['find_tasks', 'find_processes']) {
			const { text } = await ask(w.rt, who.acme, command, { cursor, withEnded: true });
			assert.ok(!text.includes(coreOf(other.sessionId)), text);
		}
	}
	assert.deepEqual(ids(await find('zeta')), expected('zeta'));
	for (const cursor of ['x', `${coreOf(own.sessionId)}`, `.${coreOf(own.sessionId)}.`, `.${coreOf(own.sessionId)}.-1`, `!.${coreOf(own.sessionId)}.1`]) {
		assert.equal((await ask(w.rt, who.acme, 'find_tasks', { cursor })).body.error?.code, 'invalid_cursor', cursor);
		assert.equal((await ask(w.rt, who.acme, 'find_processes', { cursor })).body.error?.code, 'invalid_cursor', cursor);
	}
});

test('processes that run in any session are found, and those that ended on request', async () => {
	const start = async (command) => {
		const { sessionId } = await ok(w.rt, 'submit_turn', { createPolicy: {}, text: `[[tool shell ${JSON.stringify({ command, background: true })}]]` });
		const fact = await waitFor(async () => (await factsOf(w.rt, undefined, sessionId)).find((f) => f.type === 'process.started'), 'a process');
		await waitFor(async () => (await factsOf(w.rt, undefined, sessionId)).some((f) => f.type === 'turn.completed'), 'the end of the turn'); // from its call's end on it is in the background
		return { sessionId, processId: fact.processId };
	};
	const processes = async (input = {}) => (await ok(w.rt, 'find_processes', input)).processes;
	const first = await start('sleep 300'), second = await start('sleep 300');
	const listed = await waitFor(async () => { const all = await processes(); return all.length === 2 && all; }, 'both');
	assert.deepEqual(listed.map((p) => [p.sessionId, p.processId, p.status]), [second, first].map((p) => [p.sessionId, p.processId, 'running']));
	const environment = await ok(w.rt, 'get_execution_environment', { sessionId: first.sessionId });
	const { sessionId, ...record } = listed[1];
	assert.deepEqual(record, environment.activeProcesses.find((p) => p.processId === first.processId), 'the record is that of the session');
	assert.deepEqual(await processes({ limit: 1 }), [listed[0]]);
	const { nextCursor } = await ok(w.rt, 'find_processes', { limit: 1 });
	assert.deepEqual((await ok(w.rt, 'find_processes', { limit: 1, cursor: nextCursor })).processes, [listed[1]]);
	for (const token of [who.acme, who.zeta]) assert.deepEqual((await must(w.rt, token, 'find_processes', { withEnded: true })).processes, []);
	assert.equal(JSON.parse(ctl('ps', '--json')).length, 2);

	await ok(w.rt, 'terminate_process', { processId: second.processId, reason: 'enough' });
	await waitFor(async () => (await processes()).length === 1, 'one is over');
	const all = await processes({ withEnded: true });
	assert.deepEqual(all.map((p) => [p.processId, p.status]), [[second.processId, 'terminated'], [first.processId, 'running']]);
	await ok(w.rt, 'terminate_process', { processId: first.processId, reason: 'enough' });
	await waitFor(async () => (await processes()).length === 0, 'all are over');
});

test('agentctl task list: open tasks of all sessions, of one, and those that ended', async () => {
	const { sessionId } = await ok(w.rt, 'create_session', {});
	const { taskId } = await ok(w.rt, 'create_task', { sessionId, objective: 'write the page' });
	const { taskId: over } = await ok(w.rt, 'create_task', { sessionId, objective: 'throw it away' });
	await ok(w.rt, 'cancel_task', { taskId: over, reason: 'no' });
	const open = await waitFor(async () => { const text = ctl('task', 'list'); return !text.includes(over) && text; }, 'the list');
	assert.match(open, new RegExp(`^STATUS +TASK +OBJECTIVE\n\\w+ +${taskId} +write the page\n$`));
	assert.ok(new RegExp(`cancelled +${over} +throw it away`).test(ctl('task', 'list', '--all')));
	const lines = ctl('task', 'list', sessionId, '--json').trim().split('\n').map((l) => JSON.parse(l).taskId);
	assert.deepEqual(lines, [taskId, over]);
});
