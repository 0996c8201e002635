// agentctl task graph: what waits for what, drawn in the terminal, with the state of each; in plain characters where there are no others.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { bin, Running } from '../ctl/place.mjs';
import { ok, world } from '../lib/runtime.mjs';

let w, sessionId;
const call = (command, input) => ok(w.rt, command, input);
const make = async (title, more = {}) => (await call('create_task', { sessionId, objective: 'x', title, ...more })).taskId;
const short = (id) => id.slice(id.lastIndexOf('_') + 1);
const ctl = (words, env = {}) => new Running(join(bin, 'agentctl'), ['--socket', w.rt.socket, ...words], { env: { PATH: process.env.PATH, ...env } }).within();
const drawn = async (env, ...more) => {
	const { code, out, err } = await ctl(['task', 'graph', sessionId, ...more], env);
	assert.equal(code, 0, err);
	return out.split('\n').filter(Boolean);
};

before(async () => {
	w = await world();
	({ sessionId } = await call('create_session', {}));
});

test('a session without tasks says so', async () => {
	assert.deepEqual(await drawn({ LANG: 'C' }), ['the session has no tasks of its own']);
});

test('a diamond, a part and a lone task: each once, under what it waits for, with its state', async () => {
	const [a, b, c, d] = [await make('Parse'), await make('Compile'), await make('Lint'), await make('Ship \u001b[31m\u202e')];
	for (const [sourceId, targetId] of [[a, b], [a, c], [b, d], [c, d]]) await call('link_tasks', { sourceId, targetId, kind: 'blocks' });
	const part = await make('Half', { parentTaskId: c });
	const lone = await make('Alone');
	for (const taskId of [a, b, lone]) await call('start_task', { taskId, worker: { kind: 'worker', id: 'w' } });
	await call('complete_task', { taskId: a, acceptance: [] });
	await call('fail_task', { taskId: lone, error: { category: 'c', message: 'm' } });
	const lines = await drawn({ LANG: 'C' });
	const at = (id) => lines.findIndex((line) => line.includes(` ${short(id)}  `));
	assert.equal(lines.length, 6, lines.join('\n'));
	assert.ok(lines[at(a)].startsWith(`+ ${short(a)}  completed  Parse`), lines[at(a)]);
	assert.ok(lines[at(b)].startsWith(`|- > ${short(b)}  running  Compile`), lines[at(b)]);
	assert.match(lines[at(d)], new RegExp(`^\\|  \`- # ${short(d)}  blocked  Ship .*also after ${short(c)}$`));
	assert.ok(at(a) < at(b) && at(b) < at(d) && at(d) < at(c) && at(c) < at(part));
	assert.match(lines[at(part)], /^ {3}`- .*\(part\)$/);
	assert.ok(lines[at(lone)].startsWith(`x ${short(lone)}  failed  Alone`));
	assert.ok(lines.every((line) => !/[\u001b\u202e]/.test(line)), 'a title is text, not a command for the terminal');
	assert.ok(lines.every((line) => /^[\x20-\x7e]*$/.test(line)), 'plain characters');
	const wide = await drawn({ LANG: 'en_US.UTF-8' });
	assert.ok(wide.some((line) => line.startsWith('├─ ▶ ')), wide.join('\n'));
	assert.deepEqual(await drawn({ LANG: 'en_US.UTF-8' }, '--ascii'), lines);
	assert.equal(JSON.parse((await ctl(['task', 'graph', sessionId, '--json'])).out).edges.length, 5);
	assert.equal((await ctl(['task', 'draw'])).code, 2);
});

test('a chain that is longer than a line is wide', async () => {
	({ sessionId } = await call('create_session', {}));
	let before;
	for (let i = 0; i < 60; i++) {
		const taskId = await make(`step ${i}`);
		if (before) await call('link_tasks', { sourceId: before, targetId: taskId, kind: 'blocks' });
		before = taskId;
	}
	const lines = await drawn({ LANG: 'C' });
	assert.equal(lines.length, 60);
	assert.match(lines[59], /\(level 59\) .*step 59$/);
	assert.ok(lines[59].length < 150);
});
