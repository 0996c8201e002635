// ci: release only
// kill -9 of agentd at every record boundary of the journals of its processes, and at the points where it hands one on: started again, it tells the
// facts of an uninterrupted run, byte for byte, and nothing ran twice. AR_PROCESS_KILLS sets the number of kills.
// ci: alone
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { call, Follower, newFolder, sleep, startAgentd, startModel, waitFor, within } from '../lib/runtime.mjs';
import { dice } from '../crash/world.mjs';
import { configOf, ENDS, foldersOf, kill9, newWorkspace, pidsNaming, recordsIn, shell, shimOf, whole } from './place.mjs';

const KILLS = Number(process.env.AR_PROCESS_KILLS ?? 40);
const SEED = Number(process.env.AR_PROCESS_SEED ?? 1);
const LINES = ['first\n', 'sécond\n', 'third\n'];
const DEADLINE = 60000;
const AT_BARRIER = 2; // records: spawned, applied

// Two lives: one that its call waits for, and one that is written to after its turn. Each leaves a mark per run.
const LIVES = {
	build: (mark) => shell(`echo ${mark} >>runs; for i in 1 2 3 4 5 6; do echo out $i; sleep 0.02; echo err $i >&2; sleep 0.02; done; exit 7`),
	talk: (mark) => shell(`echo ${mark} >>runs; echo ready; while read -r line; do echo "got $line"; sleep 0.02; echo "and $line" >&2; done; exit 3`, { background: true }),
};
const FAULTS = ['engine.process_ready', 'engine.before_go', 'engine.process_end', 'engine.before_tool', 'engine.tool_end'];
const COUNTED = ['engine.before_append', 'engine.after_commit', 'engine.after_publish']; // somewhere between its call and its end
// What a kill may add, apart from what is compared.
const RECOVERY = /^(history\.reconstructed|runtime\.warning|model\.(requested|failed|completed)|cost\.|task\.attempt\.|task\.|routing\.|context\.|tool\.catalog|turn\.|thread\.|run\.status)/;

const roll = dice(SEED);
const kills = { records: new Map(), points: new Map(), total: 0 };
const expected = {};
let model, dataDir, workspace, rt;

before(async () => {
	model = await startModel();
	dataDir = newFolder();
	workspace = newWorkspace();
});

const start = async (fault) => (rt = await startAgentd({ dataDir, model, config: configOf(workspace, { 'model.backoff_ms': 5, 'model.max_attempts': 50 }), fault, mayDie: Boolean(fault) }));

function count(map, key) {
	map.set(key, (map.get(key) ?? 0) + 1);
	kills.total++;
}

/** Asked again until a daemon answered. */
async function insist(command, input) {
	return waitFor(async () => {
		const answer = rt.isGone || !rt.port ? {} : await call(rt, command, input).catch(() => ({}));
		if (answer.status >= 300 && !answer.body.error.retryable) throw new Error(`${command}: ${answer.text}`);
		return answer.status < 300 && answer.body;
	}, `an answer to ${command}`, DEADLINE);
}

// What two streams wrote at about the same time is in no order.
const textOf = (preview) => preview.replace(/after [0-9.]+ s/, '').replaceAll(/proc_\w+/g, 'proc').split('\n').sort();

/** One process from its call to its end, whatever happens to the daemon; what is on record of it. */
class Life {
	constructor(kind, mark) {
		Object.assign(this, { kind, mark, turnId: `turn-${mark}`, before: new Set(foldersOf(dataDir)) });
	}

	async live() {
		const { sessionId } = await insist('submit_turn', { turnId: this.turnId, createPolicy: { title: this.mark }, text: `${LIVES[this.kind](this.mark)}[[then]][[say done]]` });
		this.follower = new Follower(null, sessionId);
		this.follower.stay(() => (rt.port && !rt.isGone ? rt : null));
		const has = (check, what) => this.follower.until(() => this.follower.facts.find((f) => check(f.event)), what, DEADLINE);
		const { event: { processId } } = await has((e) => e.type === 'process.started', 'the start');
		if (this.kind === 'talk') {
			for (const [i, input] of LINES.entries()) {
				await insist('write_process_stdin', { processId, input, idempotencyKey: `${this.mark}-${i}` });
				await this.follower.until(() => this.written(processId, 'stderr').includes(`and ${input}`), `the answer to ${input}`, DEADLINE);
			}
			await insist('write_process_stdin', { processId, input: '', eof: true, idempotencyKey: `${this.mark}-eof` });
		}
		await has((e) => ENDS.includes(e.type), 'the end');
		await this.follower.ended(this.turnId, DEADLINE);
	}

	written(processId, stream) {
		return Buffer.concat(this.follower.outputs.get(`${processId}:${stream}`)?.pieces ?? []).toString();
	}

	/** Most records that the journal of its process has, now. */
	records() {
		return Math.max(0, ...foldersOf(dataDir).filter((f) => !this.before.has(f)).map(recordsIn));
	}

	/** The facts without what is new in every run: ids, times; refs are replaced by the bytes. */
	async facts() {
		const { facts } = this.follower, out = [];
		const anew = new Set(); // calls that began, of which nothing ran
		const log = facts.map((f) => f.event);
		log.forEach((e, i) => {
			if (e.type !== 'tool.failed' || e.payload.errorCategory !== 'not_begun') return;
			anew.add(i);
			for (let at = i - 1; at >= 0; at--)
				if (log[at].type === 'tool.started' && log[at].toolCallId === e.toolCallId && !anew.has(at)) {
					anew.add(at);
					break;
				}
		});
		for (const [i, e] of log.entries()) {
			if (anew.has(i)) continue;
			if (e.type === 'tool.started') out.push([e.type, e.payload.toolName]);
			else if (e.type === 'sandbox.applied') out.push([e.type, e.payload.mode]);
			else if (e.type === 'process.started') out.push([e.type, e.payload.safeCommand.replace(this.mark, 'mark'), e.payload.hasInput]);
			else if (e.type === 'process.input') out.push([e.type, e.payload.number, e.payload.bytes, e.payload.eof, e.payload.preview ?? (await whole(rt, e.payload.inputRef)).toString()]);
			else if (ENDS.includes(e.type)) {
				const outputs = [];
				for (const { stream, offset, length, ref } of e.payload.outputs) outputs.push([stream, offset, length, (await whole(rt, ref)).toString()]);
				out.push([e.type, e.payload.exitCode, e.payload.status, outputs]);
			} else if (e.type === 'tool.result') out.push([e.type, ...textOf(e.payload.preview)]);
			else if (/^(process|tool\.(?!catalog)|sandbox|output|snapshot|action|permission)/.test(e.type)) out.push([e.type, JSON.stringify(e.payload.decision ?? e.payload)]);
			else if (e.type === 'turn.completed' || e.type === 'turn.failed') out.push([e.type]);
		}
		// What a process does in the background and what its turn does meanwhile are in no order.
		const group = (type) => ['tool', 'process', 'turn'].findIndex((g) => type.startsWith(g) || (g === 'process' && type.startsWith('sandbox')));
		return out.toSorted(([a], [b]) => group(a) - group(b));
	}

	async check(what) {
		this.follower.stop();
		this.follower.check();
		const have = await this.facts();
		expected[this.kind] ??= have;
		assert.deepEqual(have, expected[this.kind], what);
		const processId = this.follower.of('process.started')[0].processId;
		for (const stream of ['stdout', 'stderr']) {
			const end = this.follower.facts.find((f) => ENDS.includes(f.type)).event;
			const kept = end.payload.outputs.find((o) => o.stream === stream);
			assert.equal(this.written(processId, stream), (await whole(rt, kept.ref)).toString(), `${what}: ${stream}, as it was followed`);
		}
		const odd = this.follower.facts.map((f) => f.type).filter((type) => !RECOVERY.test(type) && !/^(process|tool|sandbox|permission|session)\./.test(type));
		assert.deepEqual(odd, [], what);
		assert.equal(readFileSync(join(workspace, 'runs'), 'utf8').split('\n').filter((line) => line === this.mark).length, 1, `${what}: it ran once`);
	}
}

/** Those that nobody will ever let go wait at their barrier for a while: nothing of them ran. All others are gone. */
function endWaiting() {
	for (const folder of foldersOf(dataDir)) {
		const pid = shimOf(folder);
		if (!pid) continue;
		assert.ok(recordsIn(folder) <= AT_BARRIER, `${folder} has ${recordsIn(folder)} records and still runs`);
		kill9(pid);
	}
}

let marks = 0;
const newLife = (kind) => new Life(kind, `m${marks++}-${process.pid}`);

/** kill -9 whenever the journal has so many records; again at once after the last kill if it has them already. */
async function killAt(life, boundaries) {
	for (const n of boundaries) {
		while (!life.isOver && life.records() < n) await sleep(0);
		if (life.isOver) return;
		count(kills.records, life.records());
		await rt.kill9();
		await start();
	}
}

async function roundOfRecords(kind, boundaries) {
	const life = newLife(kind);
	const living = life.live().finally(() => (life.isOver = true));
	await Promise.all([living, killAt(life, boundaries)]);
	await life.check(`${kind}, killed at records ${boundaries}`);
}

async function roundOfFault(kind, fault) {
	await rt.kill9();
	await start(fault);
	const life = newLife(kind);
	const living = life.live().finally(() => (life.isOver = true));
	const died = await within(Promise.race([rt.gone, living]), 20000);
	if (rt.isGone && died) count(kills.points, fault.replace(/:.*/, ''));
	else await rt.kill9();
	await start();
	await living;
	await life.check(`${kind}, killed at ${fault}`);
}

test('PR-06 kill -9 at every record boundary of processes: the facts of an uninterrupted run, and nothing ran twice', async (t) => {
	await start();
	for (const kind of Object.keys(LIVES)) {
		const life = newLife(kind);
		await life.live();
		await life.check('undisturbed');
		t.diagnostic(`${kind}: ${expected[kind].map(([type]) => type).join(' ')}`);
	}
	const last = { build: 20, talk: 19 }; // records of a whole journal
	const startedAt = Date.now();
	for (let round = 0; kills.total < KILLS; round++) {
		const kind = round % 2 ? 'build' : 'talk';
		if (round % 4 < 2) {
			const step = 1 + roll(7);
			await roundOfRecords(kind, Array.from({ length: 4 }, (_, i) => 1 + ((round + i * step) % last[kind])).sort((a, b) => a - b));
		} else {
			const point = roll(2) ? FAULTS[roll(FAULTS.length)] : COUNTED[roll(COUNTED.length)];
			await roundOfFault(kind, `${point}:${FAULTS.includes(point) ? 1 : 3 + roll(9)}`);
		}
	}
	t.diagnostic(`${kills.total} kills in ${Date.now() - startedAt} ms, ${marks} processes`);
	t.diagnostic(`by records: ${[...kills.records].sort(([a], [b]) => a - b).map(([n, k]) => `${n}: ${k}`).join(', ')}`);
	t.diagnostic(`by point: ${[...kills.points].map(([n, k]) => `${n} ${k}`).join(', ')}`);
	endWaiting();
	await waitFor(() => pidsNaming(dataDir).every((pid) => pid === rt.pid), 'the last supervisor to be gone');
});
