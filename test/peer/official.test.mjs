// The A2A client against the server of the official SDK: each binding and version, from the card to the end of a task; alone, and as the peer of a real agentd.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { facts } from '../lib/gate.mjs';
import { ok, world } from '../lib/runtime.mjs';
import { ALLOW, delegate, front, status, until } from './delegate.mjs';
import { startOldServer, startServer } from './official.mjs';
import { drive } from './wire.mjs';

for (const [binding, version] of [['JSONRPC', '1.0'], ['HTTP+JSON', '1.0'], ['JSONRPC', '0.3']]) {
	test(`the official server, ${binding} ${version}: card, send, get, list, follow, cancel`, async (t) => {
		const { origin, executor } = await startServer(t, binding, version);
		const card = (await drive('card', origin)).end;
		assert.equal(card.error, 'ok', card.reason);
		assert.equal(card.card.binding, binding);
		const context = randomUUID();
		const sent = (await drive('send', origin, { message: randomUUID(), text: 'work', context })).end;
		assert.equal(sent.error, 'ok', sent.reason);
		const id = sent.tasks[0].task;
		assert.ok(id);
		assert.equal(sent.tasks[0].context, context);
		const listed = (await drive('list', origin, { context })).end;
		if (version === '0.3') assert.equal(listed.error, 'unsupported');
		else assert.deepEqual(listed.tasks.map((u) => u.task), [id]);
		const following = drive('follow', origin, { task: id });
		executor.release();
		const { end, updates } = await following;
		assert.equal(end.error, 'ok', end.reason);
		assert.equal(end.tasks[0].state, 6, 'completed');
		assert.ok(updates.some((u) => u.artifacts.some((a) => a.id === 'a1')), 'the artifact came');
		const got = (await drive('get', origin, { task: id })).end;
		assert.equal(got.tasks[0].artifacts[0].bytes, 'one two'.length);
		assert.equal((await drive('get', origin, { task: 'unknown' })).end.error, 'not_found');
		const late = (await drive('cancel', origin, { task: id })).end;
		assert.equal(late.error, 'refused');
		assert.equal(late.code, -32002);
	});

}

const DELIVERY = { stream: 'streaming', poll: 'polling', push: 'push_notification' };
const servers = [...['JSONRPC', 'HTTP+JSON'].map((binding) => [`${binding} 1.0`, (t) => startServer(t, binding, '1.0')]), ['JSONRPC 0.3', (t) => startServer(t, 'JSONRPC', '0.3')], ['of 0.3', startOldServer]];

for (const [name, begin] of servers) {
	for (const mechanism of Object.keys(DELIVERY)) {
		test(`A2-08 A2-11 agentd hands work on to the official server, ${name}, by ${mechanism}, and is killed meanwhile`, async (t) => {
			const { origin, executor } = await begin(t);
			const gate = await front();
			const w = await world({ config: { ...gate.config, peers: [{ name: 'far', url: origin, poll_ms: 20, idle_ms: 3600000, mechanism }], permission_rules: ALLOW } });
			gate.to(w.rt);
			const { sessionId, taskId } = await delegate(w);
			await until(w, taskId, (x) => x.remoteTask?.status === 'running');
			await w.rt.kill9();
			w.rt = await w.again();
			gate.to(w.rt);
			await until(w, taskId, (x) => x.remoteTask?.status === 'running');
			executor.release();
			assert.equal((await status(w, taskId, 'completed')).remoteTask.deliveryMechanism, DELIVERY[mechanism]);
			const [{ payload }] = await facts(w.rt, sessionId, 'artifact.changed');
			assert.equal((await ok(w.rt, 'read_output', { outputRef: payload.readRef, length: 1000 })).content, 'one two');
			await w.rt.stop();
		});
	}
}
