// Judges a run from what clients saw and what the quiet cluster says in the end. Pure: no clock, no network, no file. Each rule is
// one function that calls bad(session, sentence) for whatever must not be; checker.test.mjs has a bad history for each.
//
//   history  { calls, readers, problems }                                   see history.mjs
//   final    { logs, copies, problems, shells, rows, sightings, modelCalls }   see final.mjs
import { hashOf } from './history.mjs';

const ENDS = new Set(['turn.completed', 'turn.failed']);

/** Every rule by its name. The numbers are those of README.md. */
export const RULES = {
	'0 nothing fell over': nothingFellOver,
	'1 acknowledged is recorded, once': acknowledgedIsRecorded,
	'1 one end per turn': oneEndPerTurn,
	'1 an interrupt stops its turn': interruptStops,
	'1 one session per creation': oneSessionPerCreation,
	'2 a repeat has the first answer': repeatHasFirstAnswer,
	'3 the log has no gap': logHasNoGap,
	'3 what was seen is in the log': seenIsInLog,
	'4 no read is stale': noStaleRead,
	'5 no effect without intent, none twice': effectsAreIntended,
	'6 one writer at a time': oneWriter,
	'7 turns run in order': turnsInOrder,
};

/** Violations, each { rule, session, text }, in the order of the rules. */
export function check(history, final) {
	const run = prepare(history, final);
	const violations = [];
	for (const [rule, judge] of Object.entries(RULES)) judge(run, (session, text) => violations.push({ rule, session, text }));
	return violations;
}

// What several rules look at, found once: events by session, acknowledged writes, all submitted turns.
function prepare(history, final) {
	const events = new Map([...final.logs].map(([session, log]) => [session, log.map((data) => JSON.parse(data))]));
	const answers = history.calls.filter((call) => call.isAnswer);
	const good = answers.filter((call) => call.status < 300).map((call) => ({ ...call, body: JSON.parse(call.answer) }));
	return { history, final, events, answers, good };
}

function* allEvents({ events }, ...types) {
	for (const [session, log] of events) for (const event of log) if (types.includes(event.type)) yield { session, event };
}

function groupBy(list, key) {
	const groups = new Map();
	for (const item of list) {
		const k = key(item);
		if (!groups.has(k)) groups.set(k, []);
		groups.get(k).push(item);
	}
	return groups;
}

function nothingFellOver({ history, final, answers }, bad) {
	for (const text of [...history.problems, ...final.problems]) bad(null, text);
	for (const call of answers)
		if (call.status >= 300) bad(call.session, `${call.kind} ${call.key ?? ''} at ${call.node} was answered with ${call.status} ${call.answer}`);
}

function acknowledgedIsRecorded(run, bad) {
	const submitted = groupBy(allEvents(run, 'turn.submitted'), ({ event }) => event.turnId);
	for (const [turn, places] of submitted)
		if (places.length > 1) bad(places[0].session, `turn ${turn} was submitted ${places.length} times: ${places.map((p) => `${p.session} ${p.event.sequence}`).join(', ')}`);
	for (const { kind, key, body } of run.good) {
		if (kind !== 'submit' && kind !== 'create') continue;
		const event = run.events.get(body.sessionId)?.[body.sequence - 1];
		if (event?.type !== 'turn.submitted' || event.turnId !== body.turnId)
			bad(body.sessionId, `${kind} ${key} was acknowledged at ${body.sequence}; there is ${event ? `${event.type} ${event.turnId ?? ''}` : 'nothing'}`);
	}
	const sent = new Set(run.history.calls.filter((call) => call.kind === 'submit').map((call) => call.key));
	const made = new Set(run.good.filter((call) => call.kind === 'create').map((call) => call.body.turnId));
	const keys = new Set(run.history.calls.filter((call) => call.kind === 'create').map((call) => call.key));
	const titles = new Map(run.final.shells.map(({ session, title }) => [session, title]));
	for (const [turn, [{ session }]] of submitted)
		if (!sent.has(turn) && !made.has(turn) && !keys.has(titles.get(session))) bad(session, `turn ${turn} was never sent`);
}

function oneEndPerTurn(run, bad) {
	const ends = groupBy(allEvents(run, ...ENDS), ({ event }) => event.turnId);
	for (const { session, event } of allEvents(run, 'turn.submitted')) {
		const found = ends.get(event.turnId) ?? [];
		if (found.length !== 1) bad(session, `turn ${event.turnId} has ${found.length} ends: ${found.map((e) => `${e.event.type} ${e.event.sequence}`).join(', ')}`);
	}
	for (const [turn, [{ session }]] of ends)
		if (!run.events.get(session).some((e) => e.type === 'turn.submitted' && e.turnId === turn)) bad(session, `turn ${turn} ended and was not submitted`);
}

function interruptStops(run, bad) {
	const asked = new Set(run.history.calls.filter((call) => call.kind === 'interrupt').map((call) => call.turn));
	const wanted = groupBy([...allEvents(run, 'run.status')].filter(({ event }) => event.payload.phase === 'interrupting'), ({ event }) => event.turnId);
	const failed = new Map([...allEvents(run, 'turn.failed')].map(({ session, event }) => [event.turnId, { session, event }]));
	for (const call of run.good.filter((c) => c.kind === 'interrupt' && c.body.result === 'accepted')) {
		const intents = wanted.get(call.turn)?.length ?? 0;
		if (intents !== 1) bad(call.session, `interrupt ${call.key} of ${call.turn} was accepted; the log has ${intents} such intents`);
		if (!failed.has(call.turn)) bad(call.session, `interrupt ${call.key} of ${call.turn} was accepted; the turn was not stopped`);
	}
	for (const [turn, { session, event }] of failed)
		if (!asked.has(turn)) bad(session, `turn ${turn} failed and nobody interrupted it: ${JSON.stringify(event.payload.error ?? event.payload)}`);
}

// Every creation has its own title.
function oneSessionPerCreation(run, bad) {
	const byTitle = groupBy(run.final.shells, (shell) => shell.title);
	for (const [title, shells] of byTitle)
		if (shells.length > 1) bad(shells[0].session, `${shells.length} sessions were made for ${title}: ${shells.map((s) => s.session).join(' ')}`);
	for (const { kind, key, session, body } of run.good) {
		if (kind !== 'create' && !(kind === 'submit' && !session)) continue;
		if (byTitle.get(key)?.[0].session !== body.sessionId) bad(body.sessionId, `the session that ${key} made is not in the list`);
	}
}

function repeatHasFirstAnswer(run, bad) {
	const writes = run.good.filter((call) => ['submit', 'create', 'interrupt'].includes(call.kind));
	for (const [, calls] of groupBy(writes, (call) => `${call.kind} ${call.key}`))
		for (const call of calls)
			if (call.answer !== calls[0].answer)
				bad(call.body.sessionId ?? call.session, `${call.kind} ${call.key}: ${calls[0].node} said ${calls[0].answer}, then ${call.node} said ${call.answer}`);
}

function logHasNoGap({ events, final }, bad) {
	const ids = new Map();
	for (const [session, log] of events) {
		const at = log.findIndex((event, i) => event.sequence !== i + 1);
		if (at >= 0) bad(session, `fact ${at + 1} of the log has sequence ${log[at].sequence}: ${final.logs.get(session)[at]}`);
		for (const event of log) {
			if (ids.has(event.eventId)) bad(session, `${event.eventId} is an event of ${ids.get(event.eventId)} too`);
			ids.set(event.eventId, session);
		}
	}
}

function seenIsInLog({ history, final }, bad) {
	const hashes = new Map([...final.logs].map(([session, log]) => [session, log.map(hashOf)]));
	for (const reader of [...history.readers, ...final.copies]) {
		for (const text of reader.faults) bad(reader.session, `${reader.name} ${text}`);
		const log = hashes.get(reader.session) ?? [];
		const problem = firstDifference(reader, log, final.logs.get(reader.session));
		if (problem) bad(reader.session, `${reader.name} ${problem}`);
		else if (reader.isWhole && reader.facts.length !== log.length) bad(reader.session, `${reader.name} has ${reader.facts.length} of ${log.length} facts`);
	}
}

function firstDifference({ facts }, hashes, log = []) {
	for (const [i, { sequence, hash }] of facts.entries()) {
		if (sequence !== i + 1) return `was given fact ${sequence} after ${i === 0 ? 'nothing' : facts[i - 1].sequence}`;
		if (hash !== hashes[i]) return `was given a fact ${sequence} (${hash}) that is not in the log, which has ${log[i] ?? 'nothing'} there`;
	}
	return null;
}

// What was known of a session when: by an acknowledgement, an earlier read or a delivered fact. A read that begins later may
// not say less.
function knownBySession({ history, good }) {
	const points = new Map();
	const add = (session, at, sequence, by) => {
		if (!points.has(session)) points.set(session, []);
		points.get(session).push({ at, sequence, by });
	};
	for (const call of good)
		for (const { session, sequence } of statesIn(call)) add(session, call.end, sequence, `${call.kind} ${call.key ?? ''} at ${call.node}`);
	for (const reader of history.readers)
		for (const fact of reader.facts) add(reader.session, fact.at, fact.sequence, reader.name);
	for (const list of points.values()) {
		list.sort((a, b) => a.at - b.at);
		for (let i = 1; i < list.length; i++) if (list[i].sequence < list[i - 1].sequence) list[i] = { ...list[i - 1], at: list[i].at };
	}
	return points;
}

const STATES = {
	submit: (call) => [{ session: call.body.sessionId, sequence: call.body.sequence }],
	create: (call) => [{ session: call.body.sessionId, sequence: call.body.sequence }],
	get_session: (call) => [{ session: call.body.sessionId, sequence: call.body.asOfSequence }],
	get_task: (call) => [{ session: call.body.sessionId, sequence: call.body.asOfSequence }],
	list_sessions: (call) => call.body.sessions.map((shell) => ({ session: shell.sessionId, sequence: shell.asOfSequence })),
};

const statesIn = (call) => STATES[call.kind]?.(call) ?? [];
const READS = new Set(['get_session', 'get_task', 'list_sessions']);

// How many of a list, whose values rise, are below `limit`.
function countBelow(list, value, limit) {
	let [low, high] = [0, list.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if (value(list[middle]) < limit) low = middle + 1;
		else high = middle;
	}
	return low;
}

// A task may be told as of the last fact about it, however much of its session was known: only facts about it make that stale.
function isUntouched(run, call, { session, sequence }, known) {
	if (call.kind !== 'get_task') return false;
	return !run.events.get(session)?.slice(sequence, known.sequence).some((event) => event.taskId === call.body.taskId);
}

function noStaleRead(run, bad) {
	const points = knownBySession(run);
	for (const call of run.good.filter((c) => READS.has(c.kind)))
		for (const { session, sequence } of statesIn(call)) {
			const list = points.get(session) ?? [];
			const known = list[countBelow(list, (point) => point.at, call.start) - 1];
			if (known && sequence < known.sequence && !isUntouched(run, call, { session, sequence }, known))
				bad(session, `${call.kind} at ${call.node} (${Math.round(call.start)} to ${Math.round(call.end)} ms) said ${sequence}, but ${known.by} had shown ${known.sequence} at ${Math.round(known.at)} ms`);
		}
}

// What the outside was asked to do, by kind: the calls it saw, the fact that has to come first, the one that says it was done, and the id
// that all three carry. Nothing records calls of tools yet; a list of them in final.toolCalls is all that is missing.
const EFFECTS = [
	{ what: 'the model', calls: (final) => final.modelCalls, intent: 'model.requested', done: 'model.completed', id: (event) => event.stepId },
	{ what: 'a tool', calls: (final) => final.toolCalls ?? [], intent: 'tool.started', done: 'tool.result', id: (event) => event.toolCallId },
];

function effectsAreIntended(run, bad) {
	for (const effect of EFFECTS) if (effect.calls(run.final).length > 0) judgeEffects(run, effect, bad);
}

function judgeEffects(run, { what, calls, intent, done, id }, bad) {
	const asked = new Map([...allEvents(run, intent)].map(({ session, event }) => [id(event), { session, turn: event.turnId }]));
	const seen = groupBy(calls(run.final), (call) => call.step);
	for (const [step, list] of seen) {
		const wanted = asked.get(step);
		if (!wanted) bad(list[0].session, `${what} was called for ${step} of ${list[0].turn}, which no fact requested`);
		else if (wanted.turn !== list[0].turn) bad(wanted.session, `${what} was called for ${step} as of ${list[0].turn}, requested by ${wanted.turn}`);
		if (list.length > 1) bad(list[0].session, `${what} was called ${list.length} times for ${step} of ${list[0].turn}`);
	}
	for (const { session, event } of allEvents(run, done))
		if (!seen.has(id(event))) bad(session, `${id(event)} was completed without a call`);
}

// Along a session a node's epochs never go back, and no row was written by whoever was seen not to be allowed to.
function oneWriter({ final }, bad) {
	for (const [session, rows] of groupBy(final.rows, (row) => row.session)) {
		const epochs = new Map();
		for (const [i, row] of rows.entries()) {
			if (i > 0 && row.first !== rows[i - 1].last + 1) bad(session, `the row of ${row.first} follows ${rows[i - 1].last}`);
			if (row.epoch < (epochs.get(row.node) ?? 0)) bad(session, `fact ${row.first} was written by ${row.node} in epoch ${row.epoch}, after one of its epoch ${epochs.get(row.node)}`);
			epochs.set(row.node, Math.max(row.epoch, epochs.get(row.node) ?? 0));
			const why = whyNotAllowed(row, final.sightings);
			if (why) bad(session, `fact ${row.first} was written by ${row.node} in epoch ${row.epoch}, ${why}`);
		}
	}
}

// By the transaction's number: it began after the last look with a smaller one. The fence row is locked until the writer's
// commit, so the end of its epoch cannot be seen before. An owner that two looks show with the same version of its row owned
// the partition all the time between them.
function whyNotAllowed(row, sightings) {
	const at = countBelow(sightings, (sight) => sight.xmax, row.xid + 1) - 1;
	if (at < 0) return null;
	const [before, after] = [sightings[at], sightings[at + 1]];
	if (row.epoch < (before.epochs[row.node] ?? 0)) return `when its epoch was ${before.epochs[row.node]} already`;
	const owner = before.owners[row.partition];
	if (!owner || owner !== after?.owners[row.partition] || owner.startsWith(' ')) return null;
	return owner.startsWith(`${row.node} ${row.epoch} `) ? null : `when the owner was ${owner}`;
}

function turnsInOrder({ events }, bad) {
	for (const [session, log] of events) {
		const order = log.filter((e) => e.type === 'turn.submitted').map((e) => e.turnId);
		const started = log.filter((e) => e.type === 'turn.started').map((e) => e.turnId);
		const at = started.findIndex((turn, i) => turn !== order[i]);
		if (at >= 0) bad(session, `turn ${started[at]} was started as number ${at + 1}, submitted as ${order.indexOf(started[at]) + 1}`);
		let open = null;
		for (const event of log) {
			if (event.type === 'turn.started' && open) bad(session, `turn ${event.turnId} was started while ${open} ran`);
			if (event.type === 'turn.started') open = event.turnId;
			if (ENDS.has(event.type) && event.turnId === open) open = null;
		}
	}
}
