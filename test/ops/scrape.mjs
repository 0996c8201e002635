// Reading GET /metrics in tests: the text as a map from series to value, and what must hold of every scrape.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { request } from '../lib/runtime.mjs';

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (-?[0-9.]+)$/;

/** The text of one scrape. */
export async function scrapeText(rt, via) {
	const { status, headers, text } = await request(rt, { method: 'GET', path: '/metrics', via });
	assert.equal(status, 200);
	assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
	return text;
}

/** One scrape as { 'name{labels}': value }; every line has the form of the format. */
export async function scrape(rt, via) {
	const values = {};
	for (const line of (await scrapeText(rt, via)).split('\n')) {
		if (line === '' || line.startsWith('# HELP ') || line.startsWith('# TYPE ')) continue;
		const match = LINE.exec(line);
		assert.ok(match, `not a line of the format: ${line}`);
		assert.ok(!(`${match[1]}${match[2] ?? ''}` in values), `twice: ${line}`);
		values[`${match[1]}${match[2] ?? ''}`] = Number(match[3]);
	}
	return values;
}

/** What has changed between two scrapes. */
export function moved(before, after) {
	return Object.fromEntries(Object.keys(after).filter((k) => after[k] !== (before[k] ?? 0)).map((k) => [k, after[k] - (before[k] ?? 0)]));
}

export function has(program) {
	try {
		execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
		return true;
	} catch {
		return false;
	}
}
