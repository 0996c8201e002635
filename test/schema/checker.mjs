// Asks bin/ar-schema-check about many schemas in one go.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { bin } from '../lib/runtime.mjs';

/** [{schema, values}] -> [{error} | {results: [null | {pointer, message}]}], in the same order. */
export function check(asks) {
	const input = asks.map((ask) => JSON.stringify(ask)).join('\n') + '\n';
	const done = spawnSync(path.join(bin, 'ar-schema-check'), { input, maxBuffer: 1 << 28, encoding: 'utf8' });

	if (done.status !== 0) throw new Error(`ar-schema-check: ${done.error ?? done.signal ?? done.status}\n${done.stderr}`);
	return done.stdout.trimEnd().split('\n').map((line) => JSON.parse(line));
}
