// Outgoing webhooks: every event that matches is delivered at least once, each under one id, signed; what a receiver does to us, and what a crash does to it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newFolder, ok, refused, startAgentd, startModel, waitFor } from '../lib/runtime.mjs';
import { ask, must } from '../tenant/tenants.mjs';
import { entry, receiver, SECRET } from './receiver.mjs';

const QUICK = { 'webhook.report_ms': 20 };

async function start(webhooks, more = {}) {
	const model = more.model ?? (await startModel());
	const dataDir = more.dataDir ?? newFolder();
	const rt = await startAgentd({ dataDir, model, config: { ...QUICK, ...more.config, webhooks } });
	return { rt, model, dataDir };
}

/** A turn that has ended; its ids. */
async function turn(rt, text = 'hello', token) {
	const made = await must(rt, token, 'submit_turn', { createPolicy: {}, text });
	await waitFor(async () => (await eventsOf(rt, made.sessionId, token)).some((e) => ['turn.completed', 'turn.failed'].includes(e.type)), 'the end of the turn');
	return made;
}

const eventsOf = async (rt, sessionId, token) => (await must(rt, token, 'get_session', { sessionId, limit: 500 })).history.events;
const webhookOf = async (rt, name) => (await ok(rt, 'list_webhooks', {})).webhooks.find((w) => w.name === name);
const isMissing = (to, events) => events.find((e) => !to.got.some((r) => r.event?.eventId === e.eventId));

/** The cursor of all sessions behind an event. */
async function cursorAfter(rt, event) {
	const stream = await fetch(`${rt.url}/v1/events`);
	let text = '';
	for await (const piece of stream.body) {
		text += Buffer.from(piece).toString();
		const frame = text.split('\n\n').slice(0, -1).find((f) => f.includes(`"eventId":"${event.eventId}"`));
		if (frame) return /^id: ?(.*)$/m.exec(frame)[1];
	}
}

/** Waits until the receiver has every event; then each came under one id of its own. */
async function hasAll(to, events) {
	await waitFor(() => !isMissing(to, events), () => `event ${JSON.stringify(isMissing(to, events))}`);
	assert.deepEqual(to.bad, []);
	const idOf = new Map();
	for (const { id, event } of to.got) {
		assert.match(id, /^msg_[0-9a-z]{26}$/);
		assert.equal(idOf.get(event.eventId) ?? id, id, 'an event has two ids');
		idOf.set(event.eventId, id);
	}
	assert.equal(new Set(idOf.values()).size, idOf.size, 'two events have one id');
}

test('an event that matches is sent signed, as the API gives it; others are not', async () => {
	const all = await receiver(), ends = await receiver();
	const { rt } = await start([entry('all', all), entry('ends', ends, { events: ['turn.completed', 'task.*'] })]);
	await waitFor(async () => (await webhookOf(rt, 'ends')).cursor !== undefined && (await webhookOf(rt, 'all')).cursor !== undefined, 'the first positions');
	const { sessionId } = await turn(rt);
	const events = await eventsOf(rt, sessionId);
	await hasAll(all, events);
	await hasAll(ends, events.filter((e) => e.type === 'turn.completed'));
	assert.ok(ends.got.every((r) => r.event.type === 'turn.completed' || r.event.type.startsWith('task.')), 'only what matches');
	for (const { event, method, headers } of all.got) {
		assert.equal(method, 'POST');
		assert.equal(headers['content-type'], 'application/json');
		assert.deepEqual(event, events.find((e) => e.eventId === event.eventId), 'the event is that of the log');
	}
	assert.notEqual(all.got.find((r) => r.event.type === 'turn.completed').id, ends.got.find((r) => r.event.type === 'turn.completed').id, 'webhooks have ids of their own');
});

test('only the session of the settings', async () => {
	const to = await receiver();
	const first = await start([]);
	const one = await must(first.rt, null, 'create_session', { title: 'one' });
	await first.rt.stop();
	const { rt } = await start([entry('one', to, { session: one.sessionId })], first);
	await waitFor(async () => (await webhookOf(rt, 'one')).cursor !== undefined, 'the first position');
	await turn(rt);
	await must(rt, null, 'submit_turn', { sessionId: one.sessionId, text: 'hi' });
	await waitFor(() => to.got.some((r) => r.event.type === 'turn.completed'), 'the end of the turn');
	assert.ok(to.got.every((r) => r.event.sessionId === one.sessionId));
});

test('500, silence and broken connections are repeated with the same id, and hold up nobody else', async () => {
	const tries = new Map();
	const bad = await receiver({ answer: ({ id }) => {
		const n = tries.get(id) ?? 0;
		tries.set(id, n + 1);
		return [500, 'hang', 'cut', 204][Math.min(n, 3)];
	} });
	const dead = await receiver({ answer: () => 'hang' });
	const good = await receiver();
	const { rt } = await start([entry('dead', dead, { timeout_ms: 60000 }), entry('bad', bad, { parallel: 8 }), entry('good', good)]);
	await waitFor(async () => (await ok(rt, 'list_webhooks', {})).webhooks.every((w) => w.cursor !== undefined), 'the first positions');
	const { sessionId } = await turn(rt);
	const events = await eventsOf(rt, sessionId);
	await hasAll(good, events);
	await hasAll(bad, events);
	await waitFor(() => events.every((e) => bad.got.filter((r) => r.event.eventId === e.eventId).length >= 4), 'four attempts of each');
	const shown = await webhookOf(rt, 'dead');
	assert.ok(shown.waiting > 0 && shown.waitingSince, 'what waits is shown');
	assert.deepEqual(good.got.length, new Set(good.got.map((r) => r.id)).size, 'the good one gets each once');
	await rt.stop(); // nor does it hold up the end
});

test('kill -9 while a receiver fails: every event arrives, each under one id', async () => {
	const to = await receiver({ answer: () => 500 });
	const first = await start([entry('hook', to, { parallel: 2 })]);
	await waitFor(async () => (await webhookOf(first.rt, 'hook')).cursor !== undefined, 'the first position');
	const one = await turn(first.rt);
	const events = await eventsOf(first.rt, one.sessionId);
	await waitFor(() => to.got.length > 0, 'an attempt');
	await first.rt.kill9();
	to.answer = () => (to.got.length % 3 ? 204 : 503);
	const second = await start([entry('hook', to, { parallel: 2 })], first);
	const two = await turn(second.rt);
	await waitFor(() => to.got.length > 12, 'some more attempts');
	await second.rt.kill9();
	const third = await start([entry('hook', to)], first);
	await hasAll(to, [...events, ...(await eventsOf(third.rt, two.sessionId))]);
});

test('the position stays before an event that waits, whatever was delivered after it', async () => {
	const to = await receiver({ answer: ({ event }) => (event.type === 'turn.started' ? 500 : 204) });
	const hook = entry('hook', to, { max_attempts: 100 });
	const first = await start([hook]);
	await waitFor(async () => (await webhookOf(first.rt, 'hook')).cursor !== undefined, 'the first position');
	const { sessionId } = await turn(first.rt);
	const events = await eventsOf(first.rt, sessionId);
	await hasAll(to, events);
	const before = await cursorAfter(first.rt, events[events.findIndex((e) => e.type === 'turn.started') - 1]);
	await waitFor(async () => (await webhookOf(first.rt, 'hook')).waiting === 1, 'one event waits');
	await waitFor(async () => (await webhookOf(first.rt, 'hook')).cursor === before, 'the position before it');
	await first.rt.kill9();
	to.answer = () => 204;
	to.got.length = 0;
	await start([hook], first);
	await hasAll(to, events.filter((e) => e.type === 'turn.started'));
});

test('what was delivered is not sent again after its position is recorded', async () => {
	const to = await receiver();
	const first = await start([entry('hook', to)]);
	await waitFor(async () => (await webhookOf(first.rt, 'hook')).cursor !== undefined, 'the first position');
	const { sessionId } = await turn(first.rt);
	await hasAll(to, await eventsOf(first.rt, sessionId));
	const end = await cursorAfter(first.rt, (await eventsOf(first.rt, sessionId)).at(-1));
	await waitFor(async () => (await webhookOf(first.rt, 'hook')).cursor === end, 'the position behind all');
	await first.rt.kill9();
	const before = to.got.length;
	const second = await start([entry('hook', to)], first);
	const two = await turn(second.rt);
	await hasAll(to, await eventsOf(second.rt, two.sessionId));
	assert.ok(to.got.slice(before).every((r) => r.event.sessionId === two.sessionId), 'only what is new');
});

test('an event that is given up is a fact of the home, the webhook goes on, and it can be sent again', async () => {
	const to = await receiver({ answer: ({ event }) => (event.type === 'turn.started' ? 500 : 204) });
	const hook = entry('hook', to, { events: ['turn.*'], max_attempts: 3 });
	const first = await start([hook]);
	await waitFor(async () => (await webhookOf(first.rt, 'hook')).cursor !== undefined, 'the first position');
	await turn(first.rt);
	const given = await waitFor(async () => (await webhookOf(first.rt, 'hook')).failures[0], 'a failure');
	const attempts = to.got.filter((r) => r.event.type === 'turn.started');
	assert.equal(attempts.length, 3);
	assert.deepEqual({ id: given.deliveryId, type: given.eventType, attempts: given.attempts, http: given.httpStatus, reason: given.reason }, { id: attempts[0].id, type: 'turn.started', attempts: 3, http: 500, reason: 'the receiver answered with status 500' });
	await waitFor(() => to.got.some((r) => r.event.type === 'turn.completed'), 'the webhook goes on');

	await refused(first.rt, 'not_found', 'redeliver_webhook', { name: 'hook', deliveryId: 'msg_00000000000000000000000000' });
	await refused(first.rt, 'not_found', 'redeliver_webhook', { name: 'none', deliveryId: given.deliveryId });
	await ok(first.rt, 'redeliver_webhook', { name: 'hook', deliveryId: given.deliveryId });
	await waitFor(async () => to.got.filter((r) => r.event.type === 'turn.started').length === 6 && !(await webhookOf(first.rt, 'hook')).failures[0].redelivering, 'three more attempts in vain');
	assert.equal((await webhookOf(first.rt, 'hook')).failureCount, 1);

	// Asked for, and killed before it was done: the next start does it.
	to.answer = () => 'hang';
	await ok(first.rt, 'redeliver_webhook', { name: 'hook', deliveryId: given.deliveryId });
	await first.rt.kill9();
	to.answer = () => 204;
	const before = to.got.length;
	const second = await start([hook], first);
	await waitFor(async () => (await webhookOf(second.rt, 'hook')).failures.length === 0, 'the failure is gone');
	assert.deepEqual([...new Set(to.got.slice(before).filter((r) => r.event.type === 'turn.started').map((r) => r.id))], [given.deliveryId]);
	assert.deepEqual(to.bad, []);
});

test('tenants get their own events and see their own webhooks', async () => {
	const acme = await receiver(), zeta = await receiver({ answer: () => 500 });
	const { rt } = await start([entry('of-acme', acme, { tenant: 'acme' }), entry('of-zeta', zeta, { tenant: 'zeta', max_attempts: 1, events: ['turn.started'] })]);
	const tokens = {};
	for (const tenant of ['acme', 'zeta']) tokens[tenant] = (await ok(rt, 'create_token', { tenant, name: tenant, scopes: ['admin', 'read', 'submit'] })).token;
	const list = async (tenant) => (await must(rt, tokens[tenant], 'list_webhooks', {})).webhooks;
	await waitFor(async () => (await list('acme'))[0].cursor !== undefined && (await list('zeta'))[0].cursor !== undefined, 'the first positions');
	const ours = await turn(rt, 'ours', tokens.acme), theirs = await turn(rt, 'theirs', tokens.zeta);
	await turn(rt, 'of nobody');
	await hasAll(acme, await eventsOf(rt, ours.sessionId, tokens.acme));
	const failure = await waitFor(async () => (await list('zeta'))[0].failures[0], 'a failure of zeta');
	assert.ok(acme.got.every((r) => r.event.sessionId === ours.sessionId));
	assert.ok(zeta.got.every((r) => r.event.sessionId === theirs.sessionId));
	assert.deepEqual((await list('acme')).map((w) => w.name), ['of-acme']);
	assert.deepEqual((await ok(rt, 'list_webhooks', {})).webhooks, [], 'the tenant local has none');
	const [foreign, none] = [await ask(rt, tokens.acme, 'redeliver_webhook', { name: 'of-zeta', deliveryId: failure.deliveryId }), await ask(rt, tokens.acme, 'redeliver_webhook', { name: 'of-none', deliveryId: failure.deliveryId })];
	assert.equal(foreign.status, 404);
	assert.equal(foreign.text.replace('of-zeta', 'of-none'), none.text);
});

test('nobody but the runtime reports, and administrators alone look', async () => {
	const to = await receiver();
	const { rt } = await start([entry('hook', to)]);
	await refused(rt, 'not_authorized', 'report_webhook', { name: 'hook', cursor: 't1:999999' });
	const { token } = await ok(rt, 'create_token', { name: 'reader', scopes: ['read', 'submit'] });
	for (const [name, input] of [['list_webhooks', {}], ['redeliver_webhook', { name: 'hook', deliveryId: 'msg_1' }]])
		assert.equal((await ask(rt, token, name, input)).status, 403);
	const shown = JSON.stringify([await ok(rt, 'list_webhooks', {}), await ok(rt, 'get_settings', {})]);
	assert.ok(!shown.includes(SECRET) && !shown.includes(SECRET.slice(6)), 'the secret is not shown');
	assert.ok(!JSON.stringify(await ok(rt, 'list_webhooks', {})).includes('/hook"'), 'nor the path of the address');
});

test('settings that cannot work are refused at the start', async () => {
	const to = await receiver();
	const wrong = [
		[{ url: 'http://example.com/hook' }, /neither https nor an address of this machine/],
		[{ url: 'http://127.0.0.1@example.com/' }, /neither https nor an address of this machine/],
		[{ events: ['turn.ended'] }, /there is no event type 'turn.ended'/],
		[{ secret: 'short' }, /secret of 'hook'/],
		[{ name: 'a b' }, /name 'a b'/],
	];
	for (const [more, why] of wrong) {
		const rt = await startAgentd({ config: { webhooks: [entry('hook', to, more)] }, mayDie: true });
		assert.ok(rt.isGone);
		assert.match(rt.stderr, why);
	}
});

test('a receiver that asks for patience gets it: Retry-After holds back the next attempt; the metrics count what was delivered, failed and given up', async () => {
	const times = [];
	const patient = await receiver({ answer: () => (times.push(performance.now()) === 1 ? { status: 429, headers: { 'Retry-After': '1' } } : 204) });
	const dead = await receiver({ answer: () => 500 });
	const events = ['turn.completed'];
	const { rt } = await start([entry('patient', patient, { events }), entry('dead', dead, { events, max_attempts: 2 })]);
	await waitFor(async () => (await webhookOf(rt, 'patient')).cursor !== undefined && (await webhookOf(rt, 'dead')).cursor !== undefined, 'the first positions');
	await turn(rt);
	await waitFor(() => times.length === 2, 'the second attempt');
	assert.ok(times[1] - times[0] >= 950, `it came after ${times[1] - times[0]} ms`);
	await waitFor(async () => (await webhookOf(rt, 'dead')).failureCount === 1, 'the end of the other');
	const text = await (await fetch(`${rt.url}/metrics`)).text();
	const count = (outcome) => Number(new RegExp(`^agentd_webhook_attempts_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(text)?.[1]);
	assert.deepEqual(['delivered', 'failed', 'dead'].map(count), [1, 2, 1]);
});
