// The checker finds what it is there for: a run without fault has no violation, and each fault that a cluster could have is found
// by its rule. Runs are made by hand; each test spoils the good one in one place.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check, RULES } from './checker.mjs';
import { hashOf } from './history.mjs';
import { partitionOf } from './takeover.mjs';

const S = 'sess_a';

// Two turns of one session, the second interrupted; written by n1 in its epoch 1 and n2 in its epoch 1.
const LOG = [
	{ type: 'session.created' },
	{ type: 'turn.submitted', turnId: 'c0-0', taskId: 'task_1' },
	{ type: 'turn.started', turnId: 'c0-0', taskId: 'task_1' },
	{ type: 'model.requested', turnId: 'c0-0', stepId: 'step_1' },
	{ type: 'turn.submitted', turnId: 'c0-1', taskId: 'task_2' },
	{ type: 'model.completed', turnId: 'c0-0', stepId: 'step_1' },
	{ type: 'turn.completed', turnId: 'c0-0', taskId: 'task_1' },
	{ type: 'turn.started', turnId: 'c0-1', taskId: 'task_2' },
	{ type: 'model.requested', turnId: 'c0-1', stepId: 'step_2' },
	{ type: 'run.status', turnId: 'c0-1', payload: { phase: 'interrupting' } },
	{ type: 'turn.failed', turnId: 'c0-1', taskId: 'task_2', payload: {} },
];

const texts = (events) => events.map((event, i) => JSON.stringify({ eventId: `evt_${i + 1}`, sequence: i + 1, ...event }));
const call = (kind, key, start, body, more = {}) =>
	({ kind, key, client: 'c0', node: 'n1', session: S, start, end: start + 5, status: 202, isAnswer: true, answer: JSON.stringify(body), ...more });
const receipt = (turnId, sequence) => ({ sessionId: S, turnId, sequence });
const readerOf = (name, log, upTo = log.length) =>
	({ name, session: S, faults: [], facts: log.slice(0, upTo).map((data, i) => ({ sequence: i + 1, hash: hashOf(data), at: 100 * (i + 1) })) });

const sight = (xmax, epochs, ...owners) => ({ xmax, epochs, owners });

function goodRun(events = LOG) {
	const log = texts(events);
	const calls = [
		call('submit', 'c0-0', 10, receipt('c0-0', 2), { session: undefined }),
		call('submit', 'c0-1', 300, receipt('c0-1', 5)),
		call('submit', 'c0-1', 400, receipt('c0-1', 5), { node: 'n2' }),
		call('get_session', undefined, 550, { sessionId: S, asOfSequence: 6 }, { status: 200 }),
		call('get_task', undefined, 1150, { sessionId: S, taskId: 'task_1', asOfSequence: 7 }, { status: 200 }),
		call('list_sessions', undefined, 1160, { sessions: [{ sessionId: S, asOfSequence: 11 }] }, { status: 200, session: undefined }),
		call('interrupt', 'c0-i0', 900, { result: 'accepted' }, { turn: 'c0-1', status: 200 }),
	];
	const rows = [[1, 4, 'n1', 1, 10], [5, 7, 'n1', 1, 20], [8, 11, 'n2', 1, 30]]
		.map(([first, last, node, epoch, xid]) => ({ session: 'a', partition: 0, first, last, node, epoch, xid }));
	return {
		history: { calls, readers: [readerOf('c0.r0', log), readerOf('c0.r1', log, 8)], problems: [] },
		final: { logs: new Map([[S, log]]), copies: [{ ...readerOf('final read at n2', log), isWhole: true }], problems: [],
			shells: [{ session: S, title: 'c0-0' }], rows, 
			sightings: [sight(5, { n1: 1, n2: 1 }, 'n1 1 3'), sight(15, { n1: 1, n2: 1 }, 'n1 1 3'), sight(25, { n1: 2, n2: 1 }, 'n2 1 24'), sight(50, { n1: 2, n2: 1 }, 'n2 1 24')],
			modelCalls: [{ session: S, turn: 'c0-0', step: 'step_1' }, { session: S, turn: 'c0-1', step: 'step_2' }] },
	};
}

const rulesBroken = ({ history, final }) => [...new Set(check(history, final).map((v) => v.rule[0]))].join('');
const withEvents = (change) => {
	const events = LOG.map((event) => ({ ...event }));
	return goodRun(change(events) ?? events);
};

const proven = new Set();

/** One test: the good run, spoiled, breaks this rule; `text` is in the sentence. */
function finds(rule, what, text, spoil) {
	test(`rule ${rule}: ${what}`, () => {
		const run = spoil(goodRun());
		const found = check(run.history, run.final).filter((v) => v.rule.startsWith(rule));
		assert.ok(found.some((v) => v.text.includes(text)), `no violation of ${rule} says "${text}": ${JSON.stringify(check(run.history, run.final))}`);
		for (const v of found) proven.add(v.rule);
	});
}

const spoiled = (change) => (run) => {
	change(run);
	return run;
};

test('a run without fault has no violation', () => assert.deepEqual(check(goodRun().history, goodRun().final), []));

finds('0', 'a node that ends by itself', 'n2 ended by itself', spoiled((run) => run.history.problems.push('n2 ended by itself (1)')));
finds('0', 'an answer that is a refusal', '404', spoiled((run) => run.history.calls.push(call('get_session', undefined, 700, { error: { code: 'session_not_found' } }, { status: 404 }))));
finds('0', 'a log that a node does not give', 'n3 has no', spoiled((run) => run.final.problems.push('n3 has no sess_a')));

finds('1', 'an acknowledged turn that is not in the log', 'there is nothing', spoiled((run) => run.history.calls.push(call('submit', 'c0-9', 500, receipt('c0-9', 12)))));
finds('1', 'an acknowledged turn that another fact took the place of', 'there is turn.completed', spoiled((run) => run.history.calls.push(call('submit', 'c0-9', 500, receipt('c0-9', 7)))));
finds('1', 'a turn that is recorded twice', 'was submitted 2 times', () => withEvents((events) => [...events, { type: 'turn.submitted', turnId: 'c0-1' }]));
finds('1', 'a turn that nobody sent', 'was never sent', () => withEvents((events) => [...events, { type: 'turn.submitted', turnId: 'ghost' }, { type: 'turn.completed', turnId: 'ghost' }]));
finds('1', 'a turn without an end', 'has 0 ends', () => withEvents((events) => events.slice(0, -1)));
finds('1', 'a turn with two ends', 'has 2 ends', () => withEvents((events) => [...events, { type: 'turn.completed', turnId: 'c0-0' }]));
finds('1', 'an end without a turn', 'was not submitted', () => withEvents((events) => [...events, { type: 'turn.completed', turnId: 'ghost' }]));
finds('1', 'an accepted interrupt that left no trace', '0 such intents', () => withEvents((events) => events.filter((e) => e.type !== 'run.status')));
finds('1', 'an accepted interrupt of a turn that ran to its end', 'was not stopped', () => withEvents((events) => void (events[10].type = 'turn.completed')));
finds('1', 'a turn that failed without a reason', 'nobody interrupted it', spoiled((run) => run.history.calls.pop()));
finds('1', 'two sessions for one creation', '2 sessions were made', spoiled((run) => run.final.shells.push({ session: 'sess_b', title: 'c0-0' })));
finds('1', 'a created session that is not listed', 'not in the list', spoiled((run) => run.final.shells.pop()));

finds('2', 'a repeat with another receipt', 'n2 said', spoiled((run) => (run.history.calls[2].answer = JSON.stringify(receipt('c0-1', 9)))));

finds('3', 'a gap in the log', 'has sequence 4', () => withEvents((events) => void (events[2].sequence = 4)));
finds('3', 'an event id that is used twice', 'is an event of', () => withEvents((events) => void (events[2].eventId = 'evt_1')));
finds('3', 'a fact that was shown and is not in the log', 'that is not in the log', spoiled((run) => (run.history.readers[1].facts[7].hash = hashOf('{"type":"other"}'))));
finds('3', 'a fact that was shown beyond the end of the log', 'which has nothing there', spoiled((run) => run.history.readers[0].facts.push({ sequence: 12, hash: 'x', at: 1200 })));
finds('3', 'a reader that missed a fact', 'fact 4 after 2', spoiled((run) => run.history.readers[0].facts.splice(2, 1)));
finds('3', 'a reader that was given a fact twice', 'fact 3 after 3', spoiled((run) => run.history.readers[0].facts.splice(2, 0, run.history.readers[0].facts[2])));
finds('3', 'output that does not continue', 'bytes were there', spoiled((run) => run.history.readers[0].faults.push('model.delta at 7, 3 bytes were there')));
finds('3', 'a node whose log ends early', 'has 10 of 11 facts', spoiled((run) => run.final.copies[0].facts.pop()));

finds('4', 'a session that is older than an acknowledgement', 'submit c0-1', spoiled((run) => {
	run.history.readers = [];
	run.history.calls[3].answer = JSON.stringify({ sessionId: S, asOfSequence: 4 });
}));
finds('4', 'a session that is older than what a reader has', 'c0.r', spoiled((run) => (run.history.calls[3].answer = JSON.stringify({ sessionId: S, asOfSequence: 4 }))));
finds('4', 'a session that is older than an earlier read', 'get_session', spoiled((run) => {
	run.history.readers = [];
	run.history.calls.push(call('get_session', undefined, 600, { sessionId: S, asOfSequence: 5 }, { status: 200 }));
}));
finds('4', 'a task without a fact that was known', 'get_task', spoiled((run) => (run.history.calls[4].answer = JSON.stringify({ sessionId: S, taskId: 'task_1', asOfSequence: 6 }))));
finds('4', 'a list that is older than what a reader has', 'list_sessions', spoiled((run) => (run.history.calls[5].answer = JSON.stringify({ sessions: [{ sessionId: S, asOfSequence: 10 }] }))));

finds('5', 'a step that was called twice', 'called 2 times', spoiled((run) => run.final.modelCalls.push(run.final.modelCalls[0])));
finds('5', 'a call that no fact requested', 'no fact requested', spoiled((run) => run.final.modelCalls.push({ session: S, turn: 'c0-0', step: 'step_9' })));
finds('5', 'a call for the wrong turn', 'requested by c0-0', spoiled((run) => (run.final.modelCalls[0].turn = 'c0-1')));
finds('5', 'an end without a call', 'without a call', spoiled((run) => run.final.modelCalls.shift()));

finds('5', 'a tool that was called twice', 'a tool was called 2 times', spoiled((run) => (run.final.toolCalls = Array(2).fill({ session: S, turn: 'c0-0', step: 'call_1' }))));

finds('6', 'rows that do not join', 'follows 4', spoiled((run) => (run.final.rows[1].first = 6)));
finds('6', 'an old epoch after a newer one', 'after one of its epoch 2', spoiled((run) => {
	run.final.rows[0].epoch = 2;
}));
finds('6', 'a writer whose epoch had been ended', 'already', spoiled((run) => (run.final.rows[2] = { ...run.final.rows[2], node: 'n1', epoch: 1 })));

finds('6', 'a writer who was not the owner', 'when the owner was n2 1 24', spoiled((run) => (run.final.rows[2] = { ...run.final.rows[2], node: 'n3', epoch: 1 })));

finds('7', 'a turn that overtook another', 'submitted as 2', () => withEvents((events) => void ([events[2].turnId, events[7].turnId] = ['c0-1', 'c0-0'])));
finds('7', 'two turns at once', 'while c0-0 ran', () => withEvents((events) => {
	const [started] = events.splice(7, 1);
	events.splice(5, 0, started);
}));

test('a read that began before the write was acknowledged may be without it', () => {
	const run = goodRun();
	run.history.readers = [];
	run.history.calls[3] = call('get_session', undefined, 302, { sessionId: S, asOfSequence: 4 }, { status: 200 });
	assert.equal(rulesBroken(run), '');
});

test('a partition that was given away and came back in the same epoch is no violation', () => {
	const run = goodRun();
	run.final.sightings = [sight(5, { n1: 1, n2: 1 }, 'n1 1 3'), sight(45, { n1: 1, n2: 1 }, 'n1 1 35')];
	run.final.rows[2] = { ...run.final.rows[2], first: 8, last: 9 };
	run.final.rows.push({ session: 'a', partition: 0, first: 10, last: 11, node: 'n1', epoch: 1, xid: 40 });
	assert.equal(rulesBroken(run), '');
});

test('every rule was seen to be broken', () => assert.deepEqual(Object.keys(RULES).filter((rule) => !proven.has(rule)), []));

test('the partition of a session is that of the runtime', () => {
	assert.equal(partitionOf('sess_00000000000000000000000000'), 221); // as in test/unit/base/test_id.c
});
