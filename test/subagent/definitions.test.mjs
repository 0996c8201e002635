// Agent definitions: a child made from one has its instructions, and of its tools, mode and model only what its parent could ask for.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, refused, submit, waitFor, world } from '../lib/runtime.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox
let w, workspace;
const run = (command, input) => ok(w.rt, command, input);
const list = async (sessionId) => (await run('list_subagents', { sessionId, depth: 'descendants' })).subagents;
const ended = (sessionId, n) => waitFor(async () => ((all) => all.length === n && all.every((r) => ['completed', 'failed'].includes(r.status)) && all)(await list(sessionId)), 'the ends');
const inner = (text) => JSON.stringify(text).replaceAll(']', '\\u005d').slice(1, -1);
const bodies = (turnId) => w.model.log().filter((e) => !turnId || e.turn === turnId).map((e) => JSON.stringify(e.body));

before(async () => {
	const folder = realpathSync(newFolder()), dir = realpathSync(newFolder());
	workspace = join(folder, 'work');
	chmodSync(folder, 0o755);
	mkdirSync(workspace);
	if (process.getuid() === 0) execFileSync('chown', ['-R', `${OWNER}:${OWNER}`, workspace]);
	writeFileSync(join(dir, 'reviewer.md'), '---\nname: reviewer\ndescription: Reviews changes.\ntools: [read_file, no_such_tool]\nmode: plan\nmodel: elsewhere-9\n---\nReview like SIGN-OF-THE-BODY.\n');
	writeFileSync(join(dir, 'loose.md'), '---\nname: loose\ndescription: Wants all.\nmode: bypass\n---\nDo all.\n');
	w = await world({ config: { 'tools.workspace': workspace, 'permission.mode': 'untrusted', 'subagents.tools': true, agents: [{ dir }] } });
});

test('a model makes a child from a definition: its instructions go along, its tools and mode bind, the tool lists it', async () => {
	const objective = '[[tool write_file {"path":"made.txt","content":"x"}]]';
	const { sessionId, turnId } = await submit(w.rt, `[[tool spawn_agent {"agent":"reviewer","objective":"${inner(objective)}"}]]`);
	const [r] = await ended(sessionId, 1);
	assert.deepEqual([r.definition, r.options.tools, r.options.mode, r.isolation.permission, r.modelPolicy.inherit], ['reviewer', ['read_file'], 'plan', 'plan', true]);
	assert.equal((await run('read_output', { outputRef: r.instructionsRef })).content.trim(), 'Review like SIGN-OF-THE-BODY.');
	assert.ok(!existsSync(join(workspace, 'made.txt')));
	const all = bodies();
	assert.ok(all.some((b) => b.includes('SIGN-OF-THE-BODY')), 'the child is told');
	assert.ok(!bodies(turnId).some((b) => b.includes('SIGN-OF-THE-BODY')), 'its parent is not');
	assert.ok(bodies(turnId).some((b) => b.includes('reviewer: Reviews changes.')), 'the tool lists the definitions');
});

test('a definition grants nothing: a looser mode does not count; an unknown name is refused', async () => {
	const p = await submit(w.rt, '[[hang]]');
	const at = { sessionId: p.sessionId, threadId: p.threadId, turnId: p.turnId };
	await run('spawn_subagent', { ...at, objective: '[[say x]]', definition: 'loose' });
	const [r] = await ended(p.sessionId, 1);
	assert.deepEqual([r.definition, r.options.mode, r.isolation.permission], ['loose', undefined, 'inherit']);
	const { message } = await refused(w.rt, 'invalid_input', 'spawn_subagent', { ...at, objective: 'x', definition: 'nobody' });
	assert.match(message, /nobody/);
});
