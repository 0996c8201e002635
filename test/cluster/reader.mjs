// A reader of one session's events who changes nodes: it stays for a while, is cut or cuts itself, and goes on elsewhere after the
// last whole frame it has. It writes down what it is given; the checker judges the facts, only the pieces of output
// are judged here, because they are in no log.
import http from 'node:http';
import { DELTAS, sleep, TERMINAL } from '../lib/runtime.mjs';

const SILENCE_MS = 20000; // longer than the pause between two heartbeats
const OPEN_MS = 5000;

export class Reader {
	/** choose() gives the node for the next connection. */
	constructor({ world, name, session, roll, choose }) {
		Object.assign(this, { world, session, roll, choose, cursor: '', last: 0, node: null, isStopped: false, connections: 0 });
		this.lengths = new Map(); // step:kind:index -> bytes so far
		this.ends = new Set(); // turns that ended
		this.running = null; // the turn at work
		this.record = world.history.reader(name, session);
	}

	async stay() {
		while (!this.isStopped) {
			this.node = this.choose();
			await this.connect();
			await sleep(20 + this.roll(60));
		}
	}

	/** One connection, from the first byte to whatever ends it. */
	connect() {
		return new Promise((done) => {
			const headers = this.cursor ? { 'last-event-id': this.cursor } : {};
			const path = `/v1/sessions/${this.session}/events?view=extended`;
			const req = http.get({ ...this.node.where(), path, headers, agent: false }, (res) => this.listen(req, res));
			this.req = req;
			this.watch(OPEN_MS);
			req.on('error', () => {});
			req.on('close', () => {
				clearTimeout(this.silence);
				clearTimeout(this.leaving);
				done();
			});
		});
	}

	watch(ms) {
		clearTimeout(this.silence);
		this.silence = setTimeout(() => this.req.destroy(), ms);
	}

	listen(req, res) {
		if (res.statusCode !== 200) return this.refused(res);
		this.connections++;
		let rest = '';
		this.leaving = setTimeout(() => req.destroy(), 10000 + this.roll(40000));
		res.setEncoding('utf8');
		res.on('error', () => {}).on('data', (text) => {
			this.watch(SILENCE_MS);
			rest = this.take(rest + text);
		});
	}

	refused(res) {
		let text = '';
		res.setEncoding('utf8');
		res.on('error', () => {}).on('data', (piece) => (text += piece)).on('end', () => {
			if (![421, 502, 503].includes(res.statusCode)) this.fault(`${this.node.name} refused the stream: ${res.statusCode} ${text}`);
		});
	}

	take(text) {
		for (let end; (end = text.indexOf('\n\n')) >= 0; text = text.slice(end + 2)) this.frame(text.slice(0, end));
		return text;
	}

	frame(text) {
		const at = text.indexOf('data: ');
		if (at < 0) return; // a heartbeat
		const data = text.slice(at + 6);
		const event = this.parse(data);
		if (!event) return;
		if (DELTAS.has(event.type)) event.payload.complete || this.delta(event);
		else this.fact(event, data);
		this.cursor = /^id: (.*)$/m.exec(text)[1];
	}

	parse(data) {
		try {
			return JSON.parse(data);
		} catch {
			this.fault(`no JSON: ${data.slice(0, 200)}`);
			return null;
		}
	}

	fact(event, data) {
		this.last = event.sequence;
		this.world.history.delivered(this.record, { sequence: event.sequence, eventId: event.eventId, data, node: this.node.name });
		if (event.type === 'turn.started') this.running = event.turnId;
		if (TERMINAL.has(event.type)) this.ends.add(event.turnId);
		if (event.type.startsWith('model.') && event.type !== 'model.requested') this.forget(event.stepId);
		this.world.moved(this.session);
	}

	delta({ type, stepId, toolCallId, payload }) {
		const key = `${stepId}:${type}:${toolCallId ?? payload.contentIndex ?? 0}`;
		const have = this.lengths.get(key) ?? 0;
		if (payload.offset !== have) this.fault(`${type} of ${stepId} at ${payload.offset}, ${have} bytes were there`);
		this.lengths.set(key, payload.offset + Buffer.byteLength(payload.delta ?? payload.argsDelta));
	}

	forget(step) {
		for (const key of this.lengths.keys()) if (key.startsWith(`${step}:`)) this.lengths.delete(key);
	}

	fault(text) {
		this.record.faults.push(`after ${this.cursor || 'nothing'}, at ${this.node.name}: ${text}`);
	}

	stop() {
		this.isStopped = true;
		this.req?.destroy();
	}
}
