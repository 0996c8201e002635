// What other systems call the things that we name: a request of a provider, a call at an MCP server, a task of a peer. Each has both names in one fact.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ended, facts } from '../lib/gate.mjs';
import { newFolder, submit } from '../lib/runtime.mjs';
import { OFFICIAL } from '../tool/mcp.mjs';
import { start } from './delegate.mjs';

const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;

test('ID-19 one provider call, one MCP tool and one peer: the id that each of them gave stands beside ours, and they lead from one to the next', async (t) => {
	const received = join(newFolder(), 'mcp.log');
	const sent = (m, task) => {
		w.peer.give('note', [{ text: 'looked at' }], { task });
		w.peer.set('completed', undefined, task);
	};
	const w = await start(t, { sent }, { config: { permission_rules: [{ name: 'all', effect: 'allow', tool: '*' }], mcp_servers: [{ name: 'srv', ...OFFICIAL.scripted('--log', received) }] } });
	const { sessionId, turnId } = await submit(w.rt, `${call('srv_echo', { text: 'x' })}${call('srv_refuse', { code: -32602 })}${call('delegate_to_peer', { peer: 'far', message: 'look' })}`);
	assert.equal((await ended(w.rt, sessionId, turnId)).type, 'turn.completed');
	const log = await facts(w.rt, sessionId);
	const ofType = (type) => log.filter((e) => e.type === type);
	const started = (toolName) => ofType('tool.started').find((e) => e.payload.toolName === toolName);

	const answers = w.model.log().filter((r) => r.turn === turnId);
	assert.deepEqual(ofType('model.completed').map((e) => [e.requestId, e.modelRequestId]), answers.map((r) => [`req_${r.n}`, r.requestId]), 'the provider');
	const [{ modelRequestId, payload: { toolCalls } }] = ofType('model.completed');
	assert.ok(modelRequestId && toolCalls.length === 3);
	for (const name of ['srv_echo', 'srv_refuse', 'delegate_to_peer']) {
		const { toolCallId, payload } = started(name);
		assert.equal(payload.providerCallId, `call_${answers[0].n}_${toolCalls.findIndex((c) => c.toolCallId === toolCallId)}`, 'its id of the call');
	}

	const requests = readFileSync(received, 'utf8').trim().split('\n').map((line) => JSON.parse(line)).filter((m) => m.method === 'tools/call');
	for (const [tool, type, native] of [['srv_echo', 'tool.result', 'echo'], ['srv_refuse', 'tool.failed', 'refuse']]) {
		const end = ofType(type).find((e) => e.toolCallId === started(tool).toolCallId);
		assert.equal(end.requestId, String(requests.find((m) => m.params.name === native).id), 'the MCP server');
	}

	const [linked] = ofType('channel.peer_task.linked');
	const peer = started('delegate_to_peer');
	assert.deepEqual([linked.taskId, linked.toolCallId, linked.channelId], [peer.taskId, peer.toolCallId, 'peer:far']);
	assert.deepEqual([linked.payload.remoteTaskId, linked.payload.remoteContextId], [w.peer.task.id, w.peer.task.contextId], 'the peer');
	assert.equal(ofType('tool.result').find((e) => e.toolCallId === peer.toolCallId).requestId, undefined, 'its task has the id, not a request');
	await w.rt.stop();
});
