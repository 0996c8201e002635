// Plays one scenario against a real agentd that may be killed in the middle of it. A scenario is data:
//   config    settings, or a function of { model } that gives them          tools, hooks   what the service beside the runtime is
//   steps     what the client does, one after another; each of them can be done again when the process died meanwhile:
//             { submit: turnId, in: thread, ...input of submit_turn }   { answer: decision, of: tool that must not have run yet }
//             { send: command, input, gives }    { until: type of fact, turn, count }    { ended: turnId }
//             { report: tool of the client, output }       { refused: code, send: command, input }       { workspace: true }
//   expects   ends: { turnId: type }, says: { turnId: pattern of its answer }, effects: { tool: how many },
//             facts: { type: how many in an undisturbed run }, always and never: types that are or are not there, disturbed or not
//   takeover  { when: type of fact that must be there, hold: tool that does not answer then }: where another node takes over
//   lost      what a person decides about a write whose end a kill has lost (skip)
//   check     what else must be so at the end: a function of the play and whether it was disturbed
// The client of a play is stubborn: it sends until it has an answer, to whatever process lives. `play.kills` says what killed it.
import assert from 'node:assert/strict';
import { call, Follower, newFolder, sleep, startAgentd, startEmbedded, startModel, storeOf, waitFor } from '../../lib/runtime.mjs';
import { Service } from './service.mjs';
import { table } from '../../job/cluster.mjs';

const PATIENCE = Number(process.env.AR_DEADLINE_MS ?? 60000);
const LEASE_MS = 1500;
const LOST = 'completion_override'; // the question about a call whose end was lost
const NEVER_READY = 40; // passings of a point before agentd answers

let plays = 0;

export class Play {
	constructor(scenario) {
		Object.assign(this, { scenario, kills: [], nodes: [], isOver: false, names: new Map(), sessionId: null, prefix: `p${++plays}-` });
	}

	get rt() {
		return this.nodes.find((node) => !node.isGone);
	}

	/** The id of the turn that the scenario calls so. */
	id(name) {
		return `${this.prefix}${name}`;
	}

	async begin() {
		const { config = {} } = this.scenario;
		this.model = await startModel();
		this.service = await new Service(this.scenario).start();
		if (this.holding) this.service.held.add(this.holding);
		const own = typeof config === 'function' ? config(this) : config;
		this.config = { 'model.backoff_ms': 20, ...this.service.settings(), ...own };
		this.dataDir = newFolder();
		this.env = storeOf(this.dataDir);
	}

	start(more = {}) {
		const begin = this.isEmbedded ? startEmbedded : startAgentd;
		return begin({ dataDir: this.dataDir, model: this.model, config: this.config, ...more });
	}

	/** A process that dies at the point ("name", or "name:N" for its N-th passing) when the scenario comes by; what happens there before it
	 * answers is passed. "engine.recover" is only come by at a start, where death is what is wanted. */
	async startArmed(point) {
		const [name, passing = 1] = point.split(':');
		for (let n = Number(passing); n < NEVER_READY; n++) {
			const rt = await this.start({ fault: `${name}:${n}`, mayDie: true });
			if (!rt.isGone || name === 'engine.recover') return rt;
		}
		throw new Error(`${point}: agentd is never ready`);
	}

	/** Keeps one process alive; the first one dies at the first point, and so on. */
	async keep(points) {
		const [point, ...rest] = points;
		const rt = point ? await this.startArmed(point) : await this.start();
		this.nodes = [rt];
		rt.gone.then(async ({ signal }) => {
			if (this.isOver) return;
			if (signal !== 'SIGKILL') this.broken = new Error(`agentd ended by itself:\n${rt.stderr}`);
			this.kills.push(point);
			await this.keep(rest).catch((error) => (this.broken = error));
		});
	}

	/** Verification is no command, so a runtime inside another program does not offer it: a daemon takes the data over. */
	async handToDaemon() {
		if (!this.isEmbedded) return;
		this.isOver = true;
		await this.rt.end('SIGKILL', 10000);
		this.isEmbedded = false;
		this.nodes = [await this.start()];
	}

	/** Two nodes on one database. */
	async keepTwo() {
		for (const name of ['a', 'b'])
			this.nodes.push(await startAgentd({ model: this.model, env: { ...this.env, AGENTD_NODE: name }, config: { ...this.config, 'cluster.lease_ms': LEASE_MS } }));
		// Until then a session that began at the first node may be moved to the second, and the kill would not concern it.
		for (const node of this.nodes)
			await waitFor(async () => (await table(node)).filter((n) => n.partitions > 400).length === 2, 'a fair share for each', PATIENCE);
	}

	close() {
		this.isOver = true;
		this.follower?.stop();
	}

	async end() {
		this.close();
		for (const node of this.nodes) if (!node.isGone) await node.end('SIGKILL', 10000);
	}

	// ---- the client ----

	/** Sends until there is an answer that is not for trying again, or the `wanted` refusal; what is not answered may have happened. */
	async insist(command, input, wanted) {
		for (const deadline = Date.now() + PATIENCE; Date.now() < deadline; await sleep(10)) {
			if (this.broken) throw this.broken;
			const { rt } = this;
			if (!rt?.port) continue;
			const answer = await call(rt, command, input).catch((error) => ({ error }));
			if (answer.error?.code === 'ERR_ASSERTION') throw answer.error;
			// The port of a process that was killed may be somebody else's by now, who knows no token of ours.
			if (answer.body?.error?.code === 'auth_failed' && (await sleep(200), rt.isGone)) continue;
			if (answer.status && (!answer.body.error?.retryable || answer.body.error.code === wanted)) return answer;
		}
		throw new Error(`${command}: no answer within ${PATIENCE} ms`);
	}

	async must(command, input) {
		const { status, body } = await this.insist(command, input);
		assert.ok(status < 300, `${command}: ${JSON.stringify(body)}`);
		return body;
	}

	follow(sessionId) {
		this.sessionId = sessionId;
		this.follower = new Follower(null, sessionId);
		this.follower.stay(() => this.rt);
		this.decideLost().catch((error) => (this.broken = error));
	}

	/** What a kill leaves unknown is put to a person, who is not part of the scenario. */
	async decideLost() {
		const decided = new Set();
		const isNew = (e) => e.payload.actionType === LOST && !decided.has(e.actionId);
		for (; !this.isOver; await sleep(10)) {
			const { actionId } = this.facts('action.required').find(isNew) ?? {};
			if (!actionId) continue;
			decided.add(actionId);
			await this.insist('respond_action', { actionId, decision: this.scenario.lost ?? 'skip' });
		}
	}

	/** What people were asked as the scenario has it. */
	questions() {
		return this.facts('action.required').filter((e) => e.payload.actionType !== LOST);
	}

	until(check, label) {
		return this.follower.until(check, label, PATIENCE);
	}

	facts(...types) {
		return this.follower.facts.map((f) => f.event).filter((e) => !types.length || types.includes(e.type));
	}

	async bytes(outputRef) {
		let text = '';
		for (;;) {
			const { content, sizeBytes } = await this.must('read_output', { outputRef, offset: Buffer.byteLength(text), length: 1048576 });
			text += content;
			if (Buffer.byteLength(text) >= sizeBytes) return text;
		}
	}

	async thread(name) {
		const { threads } = await this.must('get_session', { sessionId: this.sessionId });
		return threads.find((t) => !name || t.threadId === this.names.get(name).threadId);
	}

	async step(step) {
		const kind = ['workspace', 'submit', 'answer', 'report', 'refused', 'send', 'until', 'ended'].find((name) => name in step);
		await this[`do_${kind}`](step);
	}

	/** Where a turn goes: a new session for the first, then the first thread; or a new one, or that of another turn. */
	place(name) {
		if (!this.sessionId) return { createPolicy: this.workspaceId ? { workspaceId: this.workspaceId } : {} };
		if (name === 'new thread') return { sessionId: this.sessionId, createPolicy: { thread: 'new' } };
		return { sessionId: this.sessionId, ...(name ? { threadId: this.names.get(name).threadId } : {}) };
	}

	/** The session that the first turn makes works in a workspace of its own. */
	async do_workspace() {
		this.workspaceId = (await this.must('create_workspace', { idempotencyKey: `${this.prefix}workspace` })).workspace.workspaceId;
	}

	async do_submit({ submit: name, in: place, ...input }) {
		const turnId = this.id(name);
		const receipt = await this.must('submit_turn', { ...this.place(place), turnId, ...input });
		this.names.set(name, receipt);
		if (!this.sessionId) this.follow(receipt.sessionId);
	}

	async do_answer({ answer: decision, of, ...more }) {
		const open = () => this.questions().find((e) => !this.facts('action.resolved').some((r) => r.actionId === e.actionId));
		const { actionId } = await this.until(open, 'a question');
		if (of) assert.equal(this.service.of(of).length, 0, `${of} ran before it was allowed`);
		const { status, body } = await this.insist('respond_action', { actionId, decision, ...more });
		assert.ok(status < 300 || body.error.code === 'already_resolved', JSON.stringify(body));
		await this.until(() => this.facts('action.resolved').some((e) => e.actionId === actionId), 'the answer as a fact');
	}

	async do_send({ send: command, input, gives }) {
		const key = { idempotencyKey: `${this.prefix}${command}` };
		const given = typeof input === 'function' ? input(this) : input;
		const body = await this.must(command, { sessionId: this.sessionId, ...given, ...key });
		if (gives) this.names.set(gives, body);
	}

	async do_refused({ refused: code, send: command, input }) {
		const { body } = await this.insist(command, { sessionId: this.sessionId, ...input }, code);
		assert.equal(body.error?.code, code, JSON.stringify(body));
	}

	async do_report({ report: tool, output }) {
		const mine = (e) => e.payload.toolName === tool && e.payload.runtimeOwner === 'client';
		const { toolCallId } = await this.until(() => this.facts('tool.started').find(mine), `a call of ${tool}`);
		await this.must('report_tool_result', { toolCallId, output, idempotencyKey: `${this.prefix}${tool}` });
	}

	do_until({ until: type, turn, count = 1 }) {
		const turnId = turn && (this.names.get(turn)?.turnId ?? this.id(turn));
		return this.until(() => this.facts(type).filter((e) => !turn || e.turnId === turnId).length >= count, `${count} ${type}`);
	}

	do_ended({ ended: name }) {
		const { turnId } = this.names.get(name);
		return this.until(() => this.follower.end(turnId), `the end of ${name}`);
	}

	async rest() {
		for (const name of this.names.keys()) if (this.names.get(name).turnId) await this.do_ended({ ended: name });
		const settled = async () => {
			const { threads, asOfSequence } = await this.must('get_session', { sessionId: this.sessionId });
			return threads.every((t) => ['idle', 'blocked', 'failed'].includes(t.status)) && this.follower.last >= asOfSequence;
		};
		await waitFor(settled, 'threads at rest', PATIENCE);
	}
}

async function perform(p, begin, act) {
	await p.begin();
	try {
		await begin();
		await act();
		await p.rest();
		return p;
	} catch (error) {
		await p.end();
		throw error;
	}
}

/** Plays a scenario to its end, with a kill at each of the points in turn; embedded: against a runtime inside another program. */
export function play(scenario, points = [], { isEmbedded = false } = {}) {
	const p = new Play(scenario);
	p.isEmbedded = isEmbedded;
	const act = async () => {
		for (const step of scenario.steps) await p.step(step);
	};
	return perform(p, () => p.keep(points), act);
}

/** Plays it on two nodes; the one that has the session is killed at the scenario's moment, the other one finishes. */
export function playTakeover(scenario) {
	const p = new Play(scenario);
	const { when, hold } = scenario.takeover;
	const isTime = () => (hold ? p.service.of(hold).length > 0 : p.follower && p.facts(when).length > 0);
	const act = async () => {
		const killing = waitFor(isTime, 'the moment of the kill', PATIENCE).then(() => p.nodes[0].kill9());
		for (const step of scenario.steps) {
			if ('answer' in step || 'report' in step) await killing;
			await p.step(step);
		}
		await killing;
		p.kills.push('takeover');
	};
	if (hold) p.holding = hold;
	return perform(p, () => p.keepTwo(), act);
}
