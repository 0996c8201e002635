// Work that is with a peer when its session goes to another node: that node goes on with it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newFolder, startAgentd, storeOf } from '../lib/runtime.mjs';
import { ALLOW, delegate, native, Peer, STATE, status } from './delegate.mjs';

const skip = !process.env.AR_TEST_POSTGRES && 'a cluster needs PostgreSQL';

test('a node that leaves hands its work over: the task of the peer is not cancelled, and nothing is sent again', { skip, timeout: 180000 }, async (t) => {
	const peer = await new Peer().start(t);
	const env = storeOf(newFolder());
	const config = { 'cluster.lease_ms': 1500, 'cluster.handover_ms': 500, peers: [{ name: 'far', url: peer.origin, poll_ms: 20 }], permission_rules: ALLOW };
	const begin = (name) => startAgentd({ env: { ...env, AGENTD_NODE: name }, config });
	const w = { rt: await begin('one') };
	const works = [];
	for (let i = 0; i < 4; i++) {
		const one = await delegate(w);
		await native(w, one.taskId, STATE('submitted'));
		works.push({ ...one, task: peer.task });
	}
	const other = await begin('two');
	await w.rt.stop(20000);
	w.rt = other;
	for (const { taskId, task } of works) {
		peer.set('working', undefined, task);
		await native(w, taskId, STATE('working'));
		peer.give('result', [{ text: 'done' }], { task });
		peer.set('completed', undefined, task);
		await status(w, taskId, 'completed');
	}
	assert.deepEqual([peer.messages.length, peer.count('CancelTask')], [4, 0]);
	await other.stop(20000);
});
