// Looks for planted secrets in whatever form they may have been written down: as they are, in JSON, in a URL, in base64, and all of it as hex text.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { storeOf } from './runtime.mjs';

/** What `read` gives; nothing when it is gone. */
function ifThere(read) {
	try {
		return read();
	} catch (e) {
		if (e.code !== 'ENOENT') throw e;
		return undefined;
	}
}

/** Files below a folder, sockets and pipes left out; some may go meanwhile. */
export function filesUnder(folder) {
	const found = ifThere(() => readdirSync(folder, { withFileTypes: true })) ?? [];
	return found.flatMap((entry) => {
		const path = join(folder, entry.name);
		if (entry.isDirectory()) return filesUnder(path);
		return statSync(path, { throwIfNoEntry: false })?.isFile() ? [path] : [];
	});
}

/** { assertClean(bytes, where), scanDisk(dataDir) } for these secrets. */
export function planted(secrets) {
	const forms = secrets.flatMap((s) => [s, JSON.stringify(s).slice(1, -1), encodeURIComponent(s), Buffer.from(s).toString('base64').slice(0, -4)]);
	const needles = [...forms, ...forms.map((f) => Buffer.from(f).toString('hex'))].map((f) => Buffer.from(f));

	function assertClean(bytes, where) {
		const hit = needles.find((needle) => Buffer.from(bytes).includes(needle));
		assert.ok(!hit, `${where} holds '${hit}'`);
	}

	function scanDisk(dataDir) {
		const files = filesUnder(join(dataDir, 'data'));
		assert.ok(files.length > 0);
		for (const file of files) assertClean(ifThere(() => readFileSync(file)) ?? '', file);
		const { AGENTD_STORE } = storeOf(dataDir);
		if (AGENTD_STORE) assertClean(execFileSync('pg_dump', ['-d', AGENTD_STORE], { maxBuffer: 1 << 28 }), 'the database');
	}

	return { assertClean, scanDisk };
}
