// A reader of one session's events that trusts nothing: it checks every frame, and notes what a correct server never does.
// Started and ended through runtime.mjs, which also stops what a test left open.
import assert from 'node:assert/strict';
import http from 'node:http';
import { validateEvent } from './schemas.mjs';

// Content goes by ref and output in pieces: nothing on the stream is larger, whatever a model says.
const EVENT_MAX = 128 * 1024;

export const DELTAS = new Set(['model.delta', 'reasoning.delta', 'tool.args']);
export const TERMINAL = new Set(['turn.completed', 'turn.failed']);

/** How long a wait lasts that names no time of its own. */
export const DEADLINE = Number(process.env.AR_DEADLINE_MS ?? 60000);

const followers = new Set();

export function stopFollowers() {
	for (const follower of followers) follower.stop();
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Follows one session over any number of connections and processes. What a correct server never does (a gap, a frame
 * twice, a cursor that goes back, bytes that do not continue) is noted in `faults`. */
export class Follower {
	constructor(rt, sessionId, { after: cursor = '', view = 'extended', via, channelId, from = 0 } = {}) {
		Object.assign(this, { rt, sessionId, cursor, view, via, channelId });
		Object.assign(this, { facts: [], faults: [], frames: 0, connections: 0, isOpen: false, isStopped: false });
		this.args = []; // tool.args without bytes: those of a call are complete
		this.outputs = new Map(); // step:kind:index -> { length, pieces }: what arrived, in order
		this.ends = new Map(); // turnId -> its end
		this.last = Number.parseInt(cursor, 10) || from;
		this.watchers = new Set();
		followers.add(this);
	}

	fault(text) {
		this.faults.push(`${this.sessionId} after ${this.cursor}: ${text}`);
	}

	/** Path and headers of its stream. */
	where() {
		const query = `view=${this.view}${this.channelId ? `&channelId=${this.channelId}` : ''}`;
		return { path: `/v1/sessions/${this.sessionId}/events?${query}`, headers: this.cursor ? { 'last-event-id': this.cursor } : {} };
	}

	/** Connects; resolves when the stream is open. Rejects with the answer when it is none, or none came. */
	open() {
		if (this.rt.stream) return this.openDirect();
		return new Promise((done, fail) => {
			const late = setTimeout(() => req.destroy(new Error(`the stream of ${this.sessionId}: no answer within ${DEADLINE} ms`)), DEADLINE);
			const req = http.get({ ...this.rt.where(this.via), ...this.where(), agent: false }, (res) => {
				clearTimeout(late);
				if (res.statusCode !== 200) return this.refuse(res, fail);
				this.isOpen = true;
				this.connections++;
				let rest = '';
				res.setEncoding('utf8');
				res.on('data', (text) => (rest = this.take(rest + text))).on('error', () => {});
				res.on('close', () => this.closed());
				done(this);
			});
			this.req = req;
			req.on('error', fail).on('close', () => clearTimeout(late));
		});
	}

	/** The same with a runtime that is inside another program: frames come one by one. */
	async openDirect() {
		await this.rt.stream(this, (frame) => this.take(`${frame}\n\n`), () => this.closed());
		this.isOpen = true;
		this.connections++;
		return this;
	}

	refuse(res, fail) {
		let text = '';
		res.on('data', (piece) => (text += piece)).on('end', () => fail(Object.assign(new Error(text), { status: res.statusCode })));
	}

	closed() {
		this.isOpen = false;
		this.wake();
	}

	wake() {
		for (const watcher of this.watchers) watcher();
	}

	/** Takes whole frames off the text and returns what is left. */
	take(text) {
		for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) this.frame(text.slice(0, end));
		this.wake();
		return text;
	}

	frame(text) {
		const fields = {};
		for (const line of text.split('\n')) {
			const at = line.indexOf(':');
			if (at > 0) fields[line.slice(0, at)] = line.slice(at + 1).replace(/^ /, '');
		}
		if (fields.data === undefined) return; // heartbeat or retry
		this.frames++;
		const event = JSON.parse(fields.data);
		if (fields.data.length > EVENT_MAX) this.fault(`${event.type} has ${fields.data.length} characters`);
		try {
			validateEvent(event);
		} catch (error) {
			this.fault(error.message);
		}
		if (event.type === 'tool.args' && event.payload.complete) this.args.push(event);
		else if (DELTAS.has(event.type)) this.delta(event);
		else if (event.type === 'process.output') this.output(event);
		else if (event.type !== 'tool.progress') this.fact(event, fields);
		this.cursor = fields.id;
	}

	fact(event, { id, data }) {
		const isNext = this.view === 'extended' ? event.sequence === this.last + 1 : event.sequence > this.last;
		if (!isNext) this.fault(`fact ${event.sequence} (${event.type}) follows ${this.last}`);
		if (Number.parseInt(id, 10) !== event.sequence) this.fault(`cursor ${id} with fact ${event.sequence}`);
		this.last = event.sequence;
		this.facts.push({ sequence: event.sequence, type: event.type, event, data });
		if (TERMINAL.has(event.type) && !this.ends.has(event.turnId)) this.ends.set(event.turnId, event);
	}

	delta({ type, stepId, toolCallId, sequence, payload }) {
		const bytes = Buffer.from(payload.delta ?? payload.argsDelta);
		const key = `${stepId}:${type}:${toolCallId ?? payload.contentIndex ?? 0}`;
		const have = this.outputs.get(key) ?? { length: 0, pieces: [] };
		if (sequence !== this.last) this.fault(`${type} says sequence ${sequence} after fact ${this.last}`);
		if (payload.offset !== have.length)
			this.fault(`${type} of ${stepId} at ${payload.offset}, ${have.length} bytes were there`);
		have.length += bytes.length;
		have.pieces.push(bytes);
		this.outputs.set(key, have);
	}

	/** What a process wrote, by stream; it may begin later or have a gap where less is kept than was written. */
	output({ processId, sequence, payload }) {
		const key = `${processId}:${payload.stream}`;
		const have = this.outputs.get(key) ?? { length: 0, pieces: [] };
		if (sequence !== this.last) this.fault(`process.output says sequence ${sequence} after fact ${this.last}`);
		if (payload.offset < have.length) this.fault(`process.output of ${key} at ${payload.offset}, ${have.length} bytes were there`);
		have.length = payload.offset + payload.length;
		have.pieces.push(Buffer.from(payload.preview ?? '', payload.encoding === 'base64' ? 'base64' : 'utf8'));
		this.outputs.set(key, have);
	}

	/** Text that arrived of a step as deltas. */
	text(stepId, type = 'model.delta') {
		return Buffer.concat(this.outputs.get(`${stepId}:${type}:0`)?.pieces ?? []).toString('utf8');
	}

	of(type, turnId) {
		return this.facts.filter((f) => f.type === type && (!turnId || f.event.turnId === turnId)).map((f) => f.event);
	}

	types(turnId) {
		return this.facts.filter((f) => !turnId || f.event.turnId === turnId).map((f) => f.type);
	}

	end(turnId) {
		return this.ends.get(turnId);
	}

	/** Waits until `check` is true of what has arrived. */
	until(check, label, ms = DEADLINE) {
		return new Promise((done, fail) => {
			const look = () => {
				const value = check(this);
				if (!value) return;
				leave();
				done(value);
			};
			const leave = () => {
				clearTimeout(timer);
				this.watchers.delete(look);
			};
			const timer = setTimeout(() => {
				leave();
				const tail = this.facts.slice(-6).map((f) => `  ${f.data}`);
				fail(new Error(`${label}: not within ${ms} ms; the stream ends so:\n${tail.join('\n')}`));
			}, ms);
			this.watchers.add(look);
			look();
		});
	}

	ended(turnId, ms) {
		return this.until(() => this.end(turnId), `the end of ${turnId}`, ms);
	}

	/** Breaks the connection, in the middle of whatever is on its way. */
	cut() {
		this.req?.destroy();
	}

	/** Goes on where it was, perhaps with another process. */
	async resume(rt = this.rt) {
		this.cut();
		await this.until(() => !this.isOpen, 'the cut');
		this.rt = rt;
		return this.open();
	}

	/** Stays connected to whatever process `current()` names, until stop(). */
	async stay(current) {
		while (!this.isStopped) {
			this.rt = current();
			if (this.rt && !this.rt.isGone) {
				await this.open().catch(() => {});
				if (this.isOpen) await this.untilClosed();
			}
			await sleep(10);
		}
	}

	untilClosed() {
		return new Promise((done) => {
			const look = () => {
				if (this.isOpen) return;
				this.watchers.delete(look);
				done();
			};
			this.watchers.add(look);
			look();
		});
	}

	stop() {
		this.isStopped = true;
		this.cut();
		followers.delete(this);
	}

	check() {
		assert.deepEqual(this.faults, []);
	}
}
