// kill -9 in the middle of fifty turns, each of two model calls and one tool: all of them finish by themselves after the restart, and the
// service has done nothing twice.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { newFolder, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';
import { holds } from './scenarios/holds.mjs';
import { Play } from './scenarios/runner.mjs';
import { Service, stopServices } from './scenarios/service.mjs';

const TURNS = Number(process.env.AR_TURNS ?? 50);
const PATIENCE = 60000;

after(stopServices);

/** One session of many, as a play of its own: what the servers saw of it, and what it says. */
function view(scenario, { rt, model, service, sessionId, turnId }) {
	const play = new Play(scenario);
	const core = sessionId.slice('sess_'.length);
	const requests = () => service.requests.filter((r) => r.call.includes(core));
	play.nodes = [rt];
	play.kills = ['in the middle'];
	play.model = { log: () => model.log().filter((e) => e.session === sessionId) };
	play.service = { get requests() { return requests(); }, of: (name) => requests().filter((r) => r.name === name) };
	play.names.set('a', { turnId });
	play.follow(sessionId);
	return play;
}

async function fifty(tools) {
	const scenario = { tools, expects: { ends: { a: 'turn.completed' } } };
	const [name] = Object.keys(tools);
	const model = await startModel();
	const service = await new Service(scenario).start();
	const options = { dataDir: newFolder(), model, config: { 'permission.mode': 'bypass', 'model.backoff_ms': 20, 'tools.max_parallel': 64, ...service.settings() } };
	const first = await startAgentd(options);
	const receipts = await Promise.all(Array.from({ length: TURNS }, (_, i) => submit(first, `[[tool ${name} {"q":"${i}"}]]`, { turnId: `turn-${i}` })));
	await waitFor(() => service.requests.length >= TURNS / 2, 'half of the calls', PATIENCE);
	await first.kill9();
	const cut = service.requests.length;
	const rt = await startAgentd(options);
	const plays = receipts.map(({ sessionId, turnId }) => view(scenario, { rt, model, service, sessionId, turnId }));
	for (const play of plays) await play.until(() => play.follower.end(play.names.get('a').turnId), 'the end of a turn');
	for (const play of plays) await play.rest();
	for (const play of plays) await holds(play);
	for (const play of plays) play.close();
	await rt.stop();
	return { plays, service, cut };
}

const keysOf = (service) => new Set(service.requests.map((r) => r.key));

test('kill -9 in the middle of fifty turns: all finish alone, and no tool is done twice', async (t) => {
	const { plays, service, cut } = await fifty({ put: { method: 'PUT', idempotent: true, takesMs: 150 } });
	assert.equal(keysOf(service).size, TURNS, 'one key for each call, whatever was sent again');
	assert.deepEqual(new Set(service.requests.map((r) => r.body)).size, TURNS);
	for (const key of keysOf(service)) assert.equal(new Set(service.requests.filter((r) => r.key === key).map((r) => r.body)).size, 1);
	for (const play of plays) assert.equal(play.facts('tool.result').length, 1, 'every call has its result');
	t.diagnostic(`${cut} calls had arrived, ${service.requests.length - TURNS} were sent again with their key`);
});

test('the same with a tool that may not be repeated: what was cut is said to be unknown, and is not sent again', async (t) => {
	const { plays, service, cut } = await fifty({ order: { takesMs: 150 } });
	assert.equal(keysOf(service).size, service.requests.length, 'no call is sent twice');
	const lost = plays.flatMap((play) => play.facts('tool.failed'));
	for (const e of lost) assert.deepEqual([e.payload.status, e.payload.errorCategory], ['interrupted', lost[0].payload.errorCategory]);
	assert.equal(plays.flatMap((play) => play.facts('tool.result')).length + lost.length, TURNS);
	assert.ok(lost.length > 0 && lost.length <= TURNS, `${lost.length} of ${cut}`);
	t.diagnostic(`${cut} calls had arrived, ${lost.length} of those begun are unknown`);
});
