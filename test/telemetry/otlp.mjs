// A strict reader of OTLP protobuf by the field table of opentelemetry-proto 1.x, and a collector: an unknown field, a wrong wire type, text that is not UTF-8
// or a byte too many is an error, not something to skip.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';

const any = { 1: ['stringValue', 'text'], 3: ['intValue', 'int'], 4: ['doubleValue', 'double'], 5: ['arrayValue', () => ({ 1: ['values', () => any, true] })] };
const pair = { 1: ['key', 'text'], 2: ['value', () => any] };
const scope = { 1: ['name', 'text'], 2: ['version', 'text'] };
const around = (record) => ({ 1: ['resources', () => ({
	1: ['resource', () => ({ 1: ['attributes', () => pair, true] })],
	2: ['scopes', () => ({ 1: ['scope', () => scope], 2: ['records', () => record, true], 3: ['schemaUrl', 'text'] }), true],
	3: ['schemaUrl', 'text'],
}), true] });
const link = { 1: ['traceId', 'bytes'], 2: ['spanId', 'bytes'], 6: ['flags', 'fixed32'] };
const span = {
	1: ['traceId', 'bytes'], 2: ['spanId', 'bytes'], 4: ['parentSpanId', 'bytes'], 5: ['name', 'text'], 6: ['kind', 'int'], 7: ['start', 'fixed64'], 8: ['end', 'fixed64'],
	9: ['attributes', () => pair, true], 13: ['links', () => link, true], 15: ['status', () => ({ 3: ['code', 'int'] })], 16: ['flags', 'fixed32'],
};
const log = {
	1: ['time', 'fixed64'], 2: ['severityNumber', 'int'], 3: ['severityText', 'text'], 5: ['body', () => any], 6: ['attributes', () => pair, true], 8: ['flags', 'fixed32'],
	9: ['traceId', 'bytes'], 10: ['spanId', 'bytes'], 11: ['observed', 'fixed64'], 12: ['eventName', 'text'],
};
const number = { 2: ['start', 'fixed64'], 3: ['time', 'fixed64'], 4: ['double', 'double'], 6: ['int', 'fixed64'], 7: ['attributes', () => pair, true] };
const histogram = {
	2: ['start', 'fixed64'], 3: ['time', 'fixed64'], 4: ['count', 'fixed64'], 5: ['sum', 'double'], 6: ['bucketCounts', 'packed64'], 7: ['explicitBounds', 'packedDouble'], 9: ['attributes', () => pair, true],
};
const metric = {
	1: ['name', 'text'], 2: ['description', 'text'],
	5: ['gauge', () => ({ 1: ['points', () => number, true] })],
	7: ['sum', () => ({ 1: ['points', () => number, true], 2: ['temporality', 'int'], 3: ['isMonotonic', 'int'] })],
	9: ['histogram', () => ({ 1: ['points', () => histogram, true], 2: ['temporality', 'int'] })],
};
const REQUESTS = { traces: around(span), metrics: around(metric), logs: around(log) };
const WIRES = { int: 0, fixed64: 1, double: 1, fixed32: 5 };

function reader(bytes) {
	let at = 0;
	const varint = () => {
		let value = 0n;
		for (let i = 0n; ; i++) {
			assert.ok(i < 10n && at < bytes.length, 'a varint ends');
			const byte = bytes[at++];
			value |= BigInt(byte & 0x7f) << (7n * i);
			if (!(byte & 0x80)) return value;
		}
	};
	const take = (n) => {
		assert.ok(at + n <= bytes.length, 'a field ends inside its message');
		return bytes.subarray(at, (at += n));
	};
	return { varint, take, isOver: () => at === bytes.length };
}

const eights = (bytes, read) => Array.from({ length: bytes.length / 8 }, (_, i) => read(bytes.subarray(8 * i, 8 * i + 8)));

function value(r, wire, type) {
	if (type === 'int') return BigInt.asIntN(64, r.varint());
	if (type === 'fixed32') return r.take(4).readUInt32LE();
	if (type === 'fixed64') return r.take(8).readBigUInt64LE();
	if (type === 'double') return r.take(8).readDoubleLE();
	const bytes = r.take(Number(r.varint()));
	if (type === 'bytes') return bytes.toString('hex');
	if (type === 'text') return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
	if (type === 'packed64') return eights(bytes, (b) => b.readBigUInt64LE());
	if (type === 'packedDouble') return eights(bytes, (b) => b.readDoubleLE());
	return decode(bytes, type());
}

function decode(bytes, fields) {
	const r = reader(bytes), found = {};
	while (!r.isOver()) {
		const tag = Number(r.varint()), field = tag >> 3, wire = tag & 7;
		const [name, type, isList] = fields[field] ?? assert.fail(`field ${field} is not in the table`);
		assert.equal(wire, WIRES[type] ?? 2, `wire type of ${name}`);
		const got = value(r, wire, type);
		if (isList) (found[name] ??= []).push(got);
		else {
			assert.ok(!(name in found), `${name} comes once`);
			found[name] = got;
		}
	}
	return found;
}

const plain = (v) => (v.arrayValue ? v.arrayValue.values.map(plain) : (v.stringValue ?? (v.intValue !== undefined ? Number(v.intValue) : v.doubleValue)));
const attributesOf = (list = []) => {
	const names = list.map((p) => p.key);
	assert.equal(new Set(names).size, names.length, `each attribute once: ${names}`);
	return Object.fromEntries(list.map((p) => [p.key, plain(p.value)]));
};

/** The records of a request, each with its attributes as an object, and the resource. */
export function readRequest(signal, bytes) {
	return flat(signal, decode(bytes, REQUESTS[signal]));
}

function flat(signal, { resources }) {
	return resources.flatMap(({ resource, scopes }) => scopes.flatMap((s) => (s.records ?? []).map((record) => {
		const whole = { ...record, resource: attributesOf(resource.attributes), scope: s.scope.name, schemaUrl: s.schemaUrl };
		return signal === 'metrics' ? whole : { ...whole, attributes: attributesOf(record.attributes) };
	})));
}

// The same in the JSON of protobuf: 64-bit numbers are decimal texts, ids hexadecimal, and a member that the table does not have is an error.
const JSON_NAMES = { start: 'startTimeUnixNano', end: 'endTimeUnixNano', resources: 'resourceSpans', scopes: 'scopeSpans', records: 'spans' };

function fromJson(doc, fields) {
	const found = {}, left = new Set(Object.keys(doc));
	for (const [name, type, isList] of Object.values(fields)) {
		const key = JSON_NAMES[name] ?? name;
		if (!left.delete(key)) continue;
		const one = (v) => {
			if (typeof type === 'function') return fromJson(v, type());
			const isText = ['text', 'bytes', 'fixed64'].includes(type) || (type === 'int' && name === 'intValue');
			assert.equal(typeof v, isText ? 'string' : 'number', key);
			return type === 'int' || type === 'fixed64' ? BigInt(v) : v;
		};
		found[name] = isList ? doc[key].map(one) : one(doc[key]);
	}
	assert.deepEqual([...left], [], 'members that the table does not have');
	return found;
}

/** The spans of a file of OTLP/JSON, each line a request. */
export function readJson(text) {
	const lines = text.split('\n');
	assert.equal(lines.pop(), '');
	return lines.flatMap((line) => flat('traces', fromJson(JSON.parse(line), REQUESTS.traces)));
}

/** A collector; answer(signal, n) gives { status, headers, delay, body } for the n-th request of all, or nothing for 200. */
export async function collector({ answer = () => undefined } = {}) {
	const got = { traces: [], metrics: [], logs: [], requests: [], raw: [], bad: [] };
	const server = createServer((req, res) => {
		const pieces = [];
		req.on('data', (piece) => pieces.push(piece)).on('error', () => {});
		req.on('end', () => {
			const signal = /^\/v1\/(traces|metrics|logs)$/.exec(req.url)?.[1], body = Buffer.concat(pieces);
			const { status = 200, headers = {}, delay = 0, body: answer = '' } = got.answer(signal, got.requests.length) ?? {};
			got.requests.push({ signal, url: req.url, headers: req.headers, status, at: performance.now() });
			try {
				assert.ok(signal, req.url);
				assert.equal(req.headers['content-type'], 'application/x-protobuf');
				const records = readRequest(signal, body);
				if (status === 200) {
					got.raw.push({ signal, body });
					got[signal].push(...records);
				}
			} catch (error) {
				got.bad.push(error);
			}
			setTimeout(() => res.writeHead(status, headers).end(answer), delay).unref();
		});
	});
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	server.unref();
	got.answer = answer;
	got.url = `http://127.0.0.1:${server.address().port}`;
	got.stop = () => (server.closeAllConnections(), new Promise((done) => server.close(done)));
	return got;
}
