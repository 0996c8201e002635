// agentctl replay: a recorded case runs again against its recorded answers, in a daemon and a workspace of its own; facts are compared, and each difference is named.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok } from '../lib/runtime.mjs';
import { documentOf } from '../evidence/packs.mjs';
import { ctl, must, place, turn } from './session.mjs';

const TURNS = 20;
const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;
let w, file, recorded, files, sessionId;

/** What the model does in the turn of that number. */
const inputs = [
	(i) => `${call('write_file', { path: `f${i}.txt`, content: `line ${i}\n` })}[[then]]${call('read_file', { path: `f${i}.txt` })}[[then]][[say Wrote ${i}.]]`,
	(i) => `${call('shell', { command: `echo ${i} >> note.txt; pwd; wc -l < note.txt; exit ${i % 3}` })}[[then]][[say Ran ${i}.]]`,
	(i) => `${call('read_file', { path: 'note.txt' })}${call('read_file', { path: `absent${i}` })}[[then]][[say Read ${i}.]]`,
	(i) => `${call('shell', { command: `rm -rf f${i - 3}.txt` })}[[then]][[say Removed ${i}.]]`,
];

before(async () => {
	w = await place();
	files = newFolder();
	execFileSync('cp', ['-a', `${w.root}/.`, files]);
	({ sessionId } = await ok(w.rt, 'create_session', { workspaceId: w.workspaceId }));
	for (let i = 0; i < TURNS; i++) await turn(w, sessionId, inputs[i % inputs.length](i), i % 8 === 3 ? 'deny' : 'allow');
	file = join(newFolder(), 'case.json');
	writeFileSync(file, await must(w, 'export', sessionId, '--format', 'replay'));
	recorded = JSON.parse(readFileSync(file, 'utf8'));
});

const changed = (change) => {
	const copy = structuredClone({ ...recorded, turns: recorded.turns.slice(0, 4) }), path = join(newFolder(), 'case.json');
	change(copy);
	writeFileSync(path, JSON.stringify(copy));
	return path;
};
const left = () => readdirSync('/tmp').filter((name) => name.startsWith('agentctl-replay-'));

test('the case alone is enough: inputs, answers, tools, facts; no screen and no final prose', () => {
	assert.equal(recorded.turns.length, TURNS);
	assert.ok(recorded.tools.includes('shell') && recorded.permissionMode === 'on_request');
	const facts = recorded.turns.flatMap((t) => t.facts), calls = facts.filter((f) => f.call);
	assert.equal(calls.length, TURNS / 4 * 6);
	assert.ok(calls.some((f) => f.exit === '1') && calls.some((f) => f.status === 'denied' && f.decision === 'deny') && calls.some((f) => f.category === 'not_found') && calls.some((f) => f.decision === 'allow'));
	assert.ok(facts.filter((f) => f.end).every((f) => f.end === 'completed'));
	assert.ok(!JSON.stringify(facts).includes(realpathSync(w.root)) && !JSON.stringify(facts).includes(recorded.sessionId.slice(5)), 'nothing of this run alone');
});

test('EX-05 20 recorded turns with tools run again: every fact is equal, and nothing stays', async () => {
	const was = left();
	const { code, out, err } = await ctl(w, 'replay', file, '--files', files);
	assert.equal(code, 0, `${out}${err}`);
	assert.match(out.toString(), new RegExp(`^${TURNS} turns, \\d+ facts: equal\n$`));
	assert.deepEqual(left().filter((name) => !was.includes(name)), []);
	assert.equal(readFileSync(join(files, 'note.txt'), 'utf8'), 'one\ntwo\nthree\n', 'the files that were given are as they were');
	assert.ok(!existsSync(join(files, 'f0.txt')));
});

test('CP-37 EX-04 the document of export_replay is the same case, and runs from that file alone; so does one turn of it', async () => {
	const assertions = [{ type: 'turn.completed' }], graderInstructions = 'Look at the exits.';
	const replayOf = async (scope) => documentOf(w.rt, (await ok(w.rt, 'export_replay', { sessionId, assertions, graderInstructions, sequence: recorded.facts, ...scope })).replayRef);
	const { evidence, assertions: kept, graderInstructions: how, ...whole } = await replayOf({});
	assert.deepEqual(whole, recorded, 'one writer');
	assert.deepEqual([kept, how, evidence.scope.sessionId, evidence.tree.size], [assertions, graderInstructions, sessionId, recorded.facts]);
	const { turnId } = recorded.turns[1], one = await replayOf({ turnId }), path = join(newFolder(), 'case.json');
	assert.deepEqual(one.turns, [recorded.turns[1]]);
	assert.ok(one.hasWorkspace && one.permissionMode === 'on_request' && one.tools.includes('shell') && one.turns[0].toolInventory.eventId && one.turns[0].context.eventId);
	writeFileSync(path, JSON.stringify(one));
	const again = await ctl(w, 'replay', path, '--files', files);
	assert.deepEqual([again.code, again.out.toString()], [0, '1 turns, 4 facts: equal\n'], again.err);
	one.turns[0].facts[1].exit = '0';
	writeFileSync(path, JSON.stringify(one));
	assert.match((await ctl(w, 'replay', path, '--files', files)).out.toString(), /^turn 1, step 1, call shell: exit was "0", is "1"\n/);
});

test('a changed answer of a tool, of the model and of a person are differences, each named by turn, step and call', async () => {
	const one = changed((c) => (c.turns[1].facts.find((f) => f.call === 'shell').result += 'x'));
	const tool = await ctl(w, 'replay', one, '--files', files);
	assert.equal(tool.code, 1, tool.err);
	assert.match(tool.out.toString(), /^turn 2, step 1, call shell: result was ".*x", is ".*"\n4 turns, \d+ facts: 1 differences\n$/);
	const two = changed((c) => {
		c.turns[0].answers[0].calls[0].arguments = '{"path":"f0.txt","content":"another\\n"}';
		c.turns[3].facts.find((f) => f.decision).decision = 'allow';
		for (const t of c.turns) for (const f of t.facts) delete f.result;
	});
	const { code, out } = await ctl(w, 'replay', two, '--files', files), text = out.toString();
	assert.equal(code, 1);
	assert.match(text, /^turn 1, step 1, call write_file: arguments was .*line 0.*, is .*another/m);
	assert.match(text, /^turn 1, step 1, call write_file: version was /m);
	assert.match(text, /^turn 4, step 1, call shell: status was "denied", is "ok"$/m);
});

test('a hostile case gets no further than the sandbox, whatever mode and profile it names', async () => {
	const outside = newFolder(), answers = (command) => [{ text: '', calls: [{ name: 'shell', arguments: JSON.stringify({ command }) }] }, { text: 'Done.', calls: [] }];
	if (process.getuid() === 0) execFileSync('chmod', ['777', outside]);
	const run = (options) => {
		const path = join(newFolder(), 'case.json');
		const turn = { input: 'go', options, answers: answers(`echo x > ${outside}/pwned; cat ${files}/note.txt; echo ended`), facts: [{ step: 1, model: 'completed' }, { step: 1, call: 'shell', decision: 'allow', result: 'so \u001b[2J' }] };
		writeFileSync(path, JSON.stringify({ ...recorded, permissionMode: 'bypass', turns: [turn] }));
		return ctl(w, 'replay', path);
	};
	const inside = await run({ mode: 'bypass' });
	assert.equal(inside.code, 1, inside.err);
	assert.match(inside.out.toString(), /turn 1, step 1, call shell: result was .*, is .*ended/);
	assert.ok(!inside.out.includes('three') && !inside.out.includes('\u001b'), inside.out.toString());
	const asked = await run({ mode: 'bypass', sandbox: 'danger_full_access' });
	assert.equal(asked.code, 1);
	assert.ok(!`${asked.out}${asked.err}`.includes('ended') && asked.err.length > 0, `${asked.out}${asked.err}`);
	assert.deepEqual(readdirSync(outside), []);
});

test('what is no case is refused before anything starts', async () => {
	const bad = join(newFolder(), 'bad.json');
	for (const [content, words] of [['{}', /not a case/], ['no json', /not a case/], [JSON.stringify({ ...recorded, childAgents: 1 }), /child agents/], [JSON.stringify({ ...recorded, turns: [] }), /no turn/]]) {
		writeFileSync(bad, content);
		const { code, err } = await ctl(w, 'replay', bad);
		assert.notEqual(code, 0);
		assert.match(err, words);
	}
	assert.match((await ctl(w, 'replay', join(newFolder(), 'none'))).err, /cannot be read/);
	assert.match((await ctl(w, 'replay', file, '--files', '/nonexistent')).err, /not a folder/);
});
