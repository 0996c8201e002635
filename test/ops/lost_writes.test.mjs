// A write that was cut when the process died, in a mode in which nobody is asked: the log of the daemon says so, and so does a fact.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, test } from 'node:test';
import { ok, readLog, submit, waitFor, world } from '../lib/runtime.mjs';

let calls = 0;
const service = http.createServer(() => { calls++; }); // never answers
await new Promise((done) => service.listen(0, '127.0.0.1', done));
after(() => {
	service.closeAllConnections();
	service.close();
});

const MESSAGE = 'a write may have happened and nobody is asked about it';
const lines = (rt) => rt.stderr.split('\n').filter((l) => l.startsWith('{')).map((l) => JSON.parse(l));

for (const [mode, isAsked] of [['bypass', false], ['auto', true]]) {
	test(`a write is lost in mode ${mode}: ${isAsked ? 'a person is asked, the log has no line' : 'nobody is asked, and the log says so'}`, async () => {
		const rules = isAsked ? [{ name: 'all', effect: 'allow', tool: '*' }] : [];
		const url = `http://127.0.0.1:${service.address().port}/`;
		const w = await world({ config: { 'permission.mode': mode, permission_rules: rules, http_tools: [{ name: 'order', description: 'Orders.', url }] } });
		const before = calls;
		const { sessionId } = await submit(w.rt, '[[tool order {}]][[tool order {}]]');
		await waitFor(() => calls > before, 'the call');
		await w.rt.kill9();
		const rt = await w.again();
		const log = await waitFor(async () => {
			const facts = (await readLog(rt, sessionId)).map((f) => f.event);
			return facts.some((e) => e.type === 'tool.failed') && facts;
		}, 'the end of the lost call');
		const warnings = log.filter((e) => e.type === 'runtime.warning' && e.payload.code === 'lost_write_not_asked');
		const said = () => lines(rt).filter((l) => l.message === MESSAGE);
		const { actions } = await ok(rt, 'list_actions', { sessionId });
		assert.deepEqual([warnings.length, actions.map((a) => a.actionType)], isAsked ? [0, ['completion_override']] : [1, []]);
		if (isAsked) assert.deepEqual(said(), []);
		else {
			const [line, ...more] = await waitFor(() => said().length > 0 && said(), 'the line');
			assert.deepEqual([line.level, more], ['warning', []]);
			assert.ok(line.detail.startsWith(`${sessionId}: order was cut after it began and may have taken effect; in permission mode bypass nobody is asked`), line.detail);
		}
		await rt.kill9();
	});
}
