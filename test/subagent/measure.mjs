// Not a test: what a child agent costs. AR_CHILDREN=500 node test/subagent/measure.mjs
import { ok, sleep, submit, world } from '../lib/runtime.mjs';
import { usageOf } from '../job/laws.mjs';

const COUNT = Number(process.env.AR_CHILDREN ?? 200);
const w = await world({ config: { 'subagents.max_children': 1000, 'subagents.max_running': 16 } });
const { sessionId, threadId, turnId } = await submit(w.rt, '[[hang]]');
let sequence = 0; // of the newest fact that was counted

/** Facts that came since, page by page, so that reading costs little. */
async function seeNew(end) {
	let ends = 0;
	for (let page; !page || page.events.length;) {
		page = await ok(w.rt, 'read_events', { sessionId, fromSequence: sequence + 1, limit: 500 });
		ends += page.events.filter((event) => event.type === end).length;
		sequence = page.events.at(-1)?.sequence ?? sequence;
	}
	return ends;
}

/** CPU of the daemon and facts of the session for one more of what `make` makes; `end` is the fact that says that it is over. */
async function each(name, end, make) {
	await seeNew(end);
	const before = { cpu: usageOf(w.rt).cpu, sequence }, start = Date.now();
	for (let i = 0; i < COUNT; i++) await make(i);
	for (let ends = await seeNew(end); ends < COUNT; ends += await seeNew(end)) await sleep(100);
	const cpu = usageOf(w.rt).cpu - before.cpu;
	console.log(`${name}: ${((cpu / COUNT) * 1e3).toFixed(2)} ms of CPU, ${((sequence - before.sequence) / COUNT).toFixed(2)} facts each; ${COUNT} in ${((Date.now() - start) / 1000).toFixed(1)} s`);
}

await each('turn of a session of its own thread', 'turn.completed', () => submit(w.rt, 'hello', { sessionId, createPolicy: { thread: 'new' } }));
await each('child with one turn', 'subagent.completed', () => ok(w.rt, 'spawn_subagent', { sessionId, threadId, turnId, objective: 'hello' }));
console.log('memory', usageOf(w.rt));
await w.rt.stop();
process.exit(0);
