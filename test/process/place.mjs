// What tests about processes of a real agentd share: a workspace that a sandbox may have, one process from its call to its end, its journal, and who
// is left of it.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { facts, seen } from '../lib/gate.mjs';
import { newFolder, ok, waitFor } from '../lib/runtime.mjs';
import { isAlive } from './shim.mjs';

const OWNER = 1000; // a workspace of root's is not given to a sandbox

export const ENDS = ['process.completed', 'process.failed', 'process.terminated'];

export const shell = (command, more = {}) => `[[tool shell ${JSON.stringify({ command, ...more })}]]`;

export function newWorkspace() {
	const folder = newFolder();
	chmodSync(folder, 0o755);
	const workspace = join(folder, 'work');
	mkdirSync(workspace);
	if (process.getuid() === 0) execFileSync('chown', [`${OWNER}:${OWNER}`, workspace]);
	return workspace;
}

export const configOf = (workspace, more = {}) => ({
	'tools.workspace': workspace, 'permission.mode': 'bypass', 'process.grace_ms': 300, 'recovery.max_restarts': 10000, 'log.level': 'error', ...more,
});

export const startOf = async (rt, { sessionId }) => (await seen(rt, sessionId, 'process.started'))[0];

/** How the one process of a session ended, once it has. */
export const endOf = (rt, { sessionId }) => waitFor(async () => (await facts(rt, sessionId, ...ENDS))[0], 'the end of the process');

/** All bytes behind a ref. */
export async function whole(rt, ref) {
	const parts = [];
	for (let offset = 0, size = 1; offset < size;) {
		const got = await ok(rt, 'read_output', { outputRef: ref, offset, length: 1000000 });
		const bytes = Buffer.from(got.content, got.encoding === 'base64' ? 'base64' : 'utf8');
		if (bytes.length === 0) break;
		parts.push(bytes);
		size = got.sizeBytes;
		offset += bytes.length;
	}
	return Buffer.concat(parts);
}

// ---- what is on the disk ----

export const foldersOf = (dataDir) => readdirSync(join(dataDir, 'data', 'processes')).map((name) => join(dataDir, 'data', 'processes', name));

/** Whole records in the journal of a folder; 0 when it is not there (any more). */
export function recordsIn(folder) {
	let bytes, count = 0;
	try {
		bytes = readFileSync(join(folder, 'journal'));
	} catch {
		return 0;
	}
	for (let at = 0; at + 32 <= bytes.length; count++) {
		at += 32 + bytes.readUInt32LE(at + 8);
		if (at > bytes.length) break;
	}
	return count;
}

// ---- who is left ----

/** Ids of living processes whose arguments or environment have this text; of that program alone, if it is named. */
export function pidsNaming(text, program = '') {
	const has = (pid, file) => readFileSync(`/proc/${pid}/${file}`, 'latin1').includes(text);
	return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid).map(Number).filter((pid) => {
		try {
			return (has(pid, 'cmdline') || has(pid, 'environ')) && readFileSync(`/proc/${pid}/comm`, 'latin1').startsWith(program) && isAlive(pid);
		} catch {
			return false; // it ended meanwhile
		}
	});
}

/** The supervisor that works in a folder. */
export const shimOf = (folder) => pidsNaming(folder, 'agent-shim')[0];

export function kill9(pid) {
	try {
		process.kill(pid, 'SIGKILL');
	} catch {
		// it ended meanwhile
	}
}
