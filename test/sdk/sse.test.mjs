// The client's reader of server-sent events, by itself.
// ci: release only
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SseParser } from '../../sdk/typescript/dist/sse.js';

const messages = (parser) => {
	const all = [];
	for (let m; (m = parser.next());) all.push(m);
	return all;
};

const read = (...pieces) => {
	const parser = new SseParser();
	const all = [];
	for (const piece of pieces) {
		parser.push(piece);
		all.push(...messages(parser));
	}
	return all;
};

const TEXT = ': beat\n\nid: 1\ndata: é😀\n\nid: 2.1:5\nevent: x\ndata: a\ndata:b\ndata\nretry: 1\n\nid: 3\n\ndata: last\n\n';
const WANTED = [
	{ id: '1', event: 'message', data: 'é😀' },
	{ id: '2.1:5', event: 'x', data: 'a\nb\n' },
	{ id: '3', event: 'message', data: 'last' },
];

for (const [name, ending] of [['LF', '\n'], ['CRLF', '\r\n'], ['CR', '\r']]) {
	test(`lines that end with ${name}, split at every byte and at every two`, () => {
		const bytes = Buffer.from(TEXT.replaceAll('\n', ending));
		assert.deepEqual(read(bytes), WANTED);
		assert.deepEqual(read(...[...bytes].map((byte) => Buffer.from([byte]))), WANTED);
		for (let at = 1; at < bytes.length; at++) assert.deepEqual(read(bytes.subarray(0, at), bytes.subarray(at)), WANTED, `split at ${at}`);
	});
}

test('a byte order mark is no part of the first name; a message without its end is none', () => {
	assert.deepEqual(read(Buffer.from('\ufeffdata: x\n\ndata: y\n')), [{ id: '', event: 'message', data: 'x' }]);
});

test('an id with a NUL is not taken', () => {
	assert.equal(read(Buffer.from('id: 1\nid: a\0b\ndata: x\n\n'))[0].id, '1');
});

test('a message without end is refused before memory is', () => {
	const parser = new SseParser();
	const piece = Buffer.from(`data: ${'x'.repeat(1024 * 1024)}\n`);
	assert.throws(() => {
		for (let i = 0; i < 20; i++) parser.push(piece);
	}, RangeError);
});
