// The wire format of a provider ends at its adapter: the same conversation gives the same facts, whoever answered.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { follow, ok, readLog, startAgentd, startModel, submit } from '../lib/runtime.mjs';

const WIRES = ['openai-chat', 'openai-responses', 'anthropic', 'gemini'];
const TOOL = { name: 'look', description: 'Looks.', inputSchema: { type: 'object' }, isReadOnly: true };
let model, rt;

before(async () => {
	model = await startModel();
	const base = { 'openai-chat': model.url, 'openai-responses': model.url, anthropic: model.origin, gemini: model.origin };
	const models = WIRES.map((provider) => ({ name: provider, provider, model: 'm', base_url: base[provider], api_key: 'k', capabilities: ['tools', 'json', 'reasoning'] }));
	rt = await startAgentd({ config: { models, 'model.backoff_ms': 20, 'model.max_attempts': 1 } });
});

async function run(wire, text) {
	const { sessionId } = await submit(rt, text, { options: { model: wire, tools: [TOOL] } });
	const f = await follow(rt, sessionId, { deltas: true });
	await f.until(() => f.of('turn.completed')[0] ?? f.of('turn.failed')[0] ?? f.of('tool.started')[0], 'an end');
	for (const { toolCallId } of f.of('tool.started')) await ok(rt, 'report_tool_result', { toolCallId, output: 'seen' });
	await f.until(() => f.of('turn.completed')[0] ?? f.of('turn.failed')[0], 'an end');
	f.stop();
	return { sessionId, log: (await readLog(rt, sessionId)).map(({ event }) => event) };
}

// Ids, times and the names of who answered are their own, and so is what a server counts, wants back and calls its calls; everything else has to be the same.
const OWN = /^(eventId|traceId|timestamp|candidates|inputSnapshotRef|\w+At|fallbackChain|modelRequestRef|latencyMs|ttftMs|durationMs|\w*[tT]okens|usage|echoRef|requestId|providerCallId|requestRef|toolCalls|costState|safeArgs|\w*Hash|answerRef)$/;
const shape = (value) => {
	if (Array.isArray(value)) return value.map(shape);
	if (!value || typeof value !== 'object') return value;
	return Object.fromEntries(Object.entries(value).filter(([name]) => !OWN.test(name)).map(([name, v]) => [name, shape(v)]));
};
// Some show a summary of their reasoning, which is a fact more (test/session/items): the numbers of those behind it are one higher.
const common = (log) => log.filter((e) => e.type !== 'reasoning.summary').map((e, i) => ({ ...e, sequence: i + 1 }));
const plain = ({ sessionId, log }, wire) =>
	common(log).map((e) => JSON.parse(JSON.stringify(shape(e)).replaceAll(sessionId.slice(5), 'S').replaceAll(`"${wire}"`, '"P"')));

async function isSame(text) {
	const first = await run(WIRES[0], text);
	for (const wire of WIRES.slice(1)) {
		const other = await run(wire, text);
		assert.deepEqual(common(other.log).map((e) => e.type), common(first.log).map((e) => e.type), wire);
		assert.deepEqual(plain(other, wire), plain(first, WIRES[0]), wire);
	}
}

test('EV-30 OW-03 OW-11 every wire format gives the same facts', async () => {
	await isSame('hello');
	await isSame('[[reasoning because]][[say so]]');
	await isSame('[[tool look {}]]');
});

test('EV-31 OW-03 a failure in the words of its provider is behind a ref, never on the stream', async () => {
	for (const wire of WIRES) {
		const { log } = await run(wire, '[[http 400 message=native-words-of-the-provider]]');
		const failed = log.find((e) => e.type === 'model.failed');
		const ref = failed.payload.rawProviderRef ?? failed.refs?.rawProviderRef;
		assert.ok(ref, `${wire}: ${JSON.stringify(failed.payload)}`);
		const { content } = await ok(rt, 'read_output', { outputRef: ref });
		assert.match(content, /native-words-of-the-provider/);
		for (const e of log) assert.doesNotMatch(e.type, /chunk|content_block|candidates\[/, wire);
	}
});
