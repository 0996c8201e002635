// What clients saw, in the order in which they saw it: every call with its answer, every delivered fact, every fault. Kept in
// memory for the checker and in an NDJSON file for people; a fact's bytes are written once, later deliveries name their hash.
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';

export const hashOf = (data) => createHash('sha1').update(data).digest('base64').slice(0, 16);

export class History {
	constructor(path) {
		Object.assign(this, { path, calls: [], readers: [], faults: [], problems: [], known: new Set(), facts: 0 });
		this.file = createWriteStream(path);
		this.startedAt = performance.now();
	}

	/** Milliseconds since the beginning. */
	now() {
		return performance.now() - this.startedAt;
	}

	write(kind, record) {
		this.file.write(`${JSON.stringify({ record: kind, ...record })}\n`);
	}

	/** A call that ended: { kind, client, key, session, node, start, end, status, answer | error }. */
	call(record) {
		this.calls.push(record);
		this.write('call', record);
	}

	/** A new reader: { name, session, facts: [{ sequence, hash, at }], faults: [] }. */
	reader(name, session) {
		const reader = { name, session, facts: [], faults: [] };
		this.readers.push(reader);
		return reader;
	}

	delivered(reader, { sequence, eventId, data, node }) {
		const hash = hashOf(data);
		const at = this.now();
		reader.facts.push({ sequence, hash, at });
		this.facts++;
		const isNew = !this.known.has(hash);
		this.known.add(hash);
		this.write('fact', { reader: reader.name, session: reader.session, sequence, eventId, hash, node, at: Math.round(at), ...(isNew ? { data } : {}) });
	}

	fault(record) {
		this.faults.push(record);
		this.write('fault', record);
	}

	/** Something that must not happen and that no log shows, such as an agentd that ends by itself. */
	problem(text) {
		this.problems.push(text);
		this.write('problem', { at: Math.round(this.now()), text });
	}

	close() {
		return new Promise((done) => this.file.end(done));
	}
}
