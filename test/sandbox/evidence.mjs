// The attempts as commands of a real agentd, and what has to be on record of each: evidence.tsv has a line for every violation that one of them causes (profile, attempt, class of the
// evidence, what was attempted, how often); of an attempt without a line its result must say why there is nothing to prove.
import assert from 'node:assert/strict';
import { chmodSync, chownSync, copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bin, ok, readLog, startAgentd, startModel, submit, waitFor } from '../lib/runtime.mjs';
import { isExpected, isRoot, LIMITS, makeWorld, readAttempts } from './world.mjs';

const MODES = { read_only: 'read_only', workspace_write: 'write', no_network: 'write', allowlisted_network: 'write', danger_full_access: 'danger' };
const KINDS_MAX = 60; // of one command that are told apart, 64, with some room
const ATTEMPTS_MAX = 150;
const OWN = ['agentd', 'agent-init', 'agent-shim', 'agent-files', 'agent-proxy', 'agent-audit'];

/** Classes that the kernel's audit brings, and those that need nothing. */
export const BY_AUDIT = ['kernel-landlock', 'kernel-mount'];
export const ALWAYS = ['seccomp-notify', 'limit', 'observed', 'enforcer'];

export const attempts = readAttempts();

const lines = readFileSync(join(dirname(fileURLToPath(import.meta.url)), 'evidence.tsv'), 'utf8').trim().split('\n').slice(1).map((line) => {
	const [mode, name, evidence, attempted, count] = line.split('\t');
	return { mode, name, evidence, attempted, count: Number(count) };
});

/** Why nothing is on record of an attempt that ended so. */
const NOTHING = {
	ok: 'it is allowed', ENOENT: 'it is not in the view', ENOTDIR: 'it is not in the view', ESRCH: 'no such process is in its namespace', EBADF: 'no descriptor was passed on',
	ECONNREFUSED: 'nobody is in its network', ENETUNREACH: 'its network leads nowhere', EHOSTUNREACH: 'its network leads nowhere', EADDRNOTAVAIL: 'its network has no such address',
	ENODEV: 'its network has no such device', ENXIO: 'there is no such device', ENOSYS: 'it is answered as by a kernel without the call, which is no attack',
	EPERM: 'the kernel gives it to nobody without privilege', EACCES: 'permissions of files, with Landlock or without', EXDEV: 'a mount has an edge', EINVAL: 'the kernel knows no such id', EOVERFLOW: 'the kernel knows no such id', ETXTBSY: 'a program that runs', ENOTTY: 'there is no such terminal',
	EOPNOTSUPP: 'the file system has no such thing', ENOPROTOOPT: 'the kernel gives it to nobody without privilege', SIGSYS: 'the kernel ended it: the signal tells', ENOSPC: 'the size of /tmp',
	EMFILE: 'a limit of one process, answered by its error', EAGAIN: 'a limit, told by its own count', ENOMEM: 'a limit, told by its own count', SIGKILL: 'a limit, told by its own count',
	SIGXFSZ: 'a limit of one process, answered by its signal', EFBIG: 'a limit of one process, answered by its error', EEXIST: 'an earlier attempt made it',
	EISCONN: 'a pair of sockets stays a pair',
};

/** The same, where audit is not heard. */
const UNHEARD = { EROFS: 'a read-only mount', EBUSY: 'the place of a mount' };

// These look at the flags of a mount and try nothing.
const reason = (name, result, hearsMounts) => NOTHING[result] ?? (hearsMounts && !name.startsWith('writable_') ? undefined : UNHEARD[result]);

const linesOf = (profile, classes) => lines.filter((line) => line.mode === MODES[profile] && classes.includes(line.evidence));

/** Where somebody attacks, and an agentd of root or of anybody there. */
export async function attackedRuntime(backend, profile, settings = {}) {
	const world = await makeWorld(backend, profile);
	const [processes, memory, file, descriptors, tmp] = LIMITS.split(',').map(Number);
	const place = join(world.base, 'agentd');
	mkdirSync(place, { mode: 0o700 });
	for (const name of OWN) copyFileSync(join(bin, name), join(world.helpers, name));
	const uid = isRoot && backend.name === 'rootless' ? backend.uid : undefined;
	if (uid) chownSync(place, uid, uid);
	const rt = await startAgentd({ dataDir: place, model: await startModel(), uid, program: join(world.helpers, 'agentd'), env: { HOST_SECRET: 'escape-secret-4711' },
		config: { 'tools.workspace': world.workspace, 'permission.mode': 'bypass', 'sandbox.profile': profile, 'sandbox.allow_danger': true, 'sandbox.allow_hosts': 'allowed.test',
			'sandbox.env': world.env.join(','), 'sandbox.protected_paths': 'deep/sub/.git/hooks', 'sandbox.max_processes': processes, 'sandbox.memory_bytes': memory << 20,
			'sandbox.file_bytes': file << 20, 'sandbox.open_files': descriptors, 'sandbox.tmp_bytes': tmp << 20, ...settings } });
	return { world, rt };
}

async function bytes(rt, outputRef) {
	let text = '';
	for (;;) {
		const { content, sizeBytes } = await ok(rt, 'read_output', { outputRef, offset: Buffer.byteLength(text), length: 1048576 });
		text += content;
		if (Buffer.byteLength(text) >= sizeBytes) return text;
	}
}

/** One command that tries these: the result of each by its name, and the violations on record, each kind once with its last count. */
async function tryThese({ world, rt }, names) {
	const { sessionId } = await submit(rt, `[[tool shell ${JSON.stringify({ command: `./escape-attempts ${names.join(' ')}` })}]]`);
	const log = await waitFor(async () => {
		const facts = (await readLog(rt, sessionId)).map((f) => f.event);
		return facts.some((e) => /^turn\.(completed|failed|canceled)$/.test(e.type)) && facts;
	}, 'the end of the turn', 90000);
	const of = (type) => log.filter((e) => e.type === type).map((e) => e.payload);
	const written = (await Promise.all(of('tool.result').map((p) => bytes(rt, p.outputRef)))).join('\n');
	const results = new Map(written.split('\n').filter((line) => /^\w+ \w+$/.test(line)).map((line) => line.split(' ')));
	const named = (text) => text.replaceAll(world.workspace, '$WS').replaceAll(world.base, '$BASE');
	const kinds = new Map(of('sandbox.violation').map((v) => [`${v.evidence}\t${named(v.attempted)}`, v]));
	const end = log.findIndex((e) => /^process\.(completed|failed|terminated)$/.test(e.type));
	assert.ok(log.slice(end).every((e) => e.type !== 'sandbox.violation'), 'all of them before its end');
	return { results, kinds, applied: of('sandbox.applied'), log };
}

/** Groups that stay below what one command's violations are told apart by. */
function groups(names, profile, classes) {
	const all = [[]];
	let kinds = new Set();
	for (const name of names) {
		const more = linesOf(profile, classes).filter((line) => line.name === name).map((line) => line.attempted);
		if (new Set([...kinds, ...more]).size > KINDS_MAX || all.at(-1).length === ATTEMPTS_MAX) {
			all.push([]);
			kinds = new Set();
		}
		all.at(-1).push(name);
		more.forEach((kind) => kinds.add(kind));
	}
	return all;
}

/** What was expected of a command with these attempts. */
function expected(names, profile, classes) {
	const sums = new Map();
	for (const line of linesOf(profile, classes)) {
		if (!names.includes(line.name)) continue;
		const kind = `${line.evidence}\t${line.attempted}`;
		sums.set(kind, (sums.get(kind) ?? 0) + line.count);
	}
	return sums;
}

/** Runs the attempts and gives one sentence for each thing that is not as it has to be. */
export async function judge(where, names, profile, classes) {
	const wrong = [];
	const isBounded = profile !== 'danger_full_access';
	const proven = new Set(linesOf(profile, classes).map((line) => line.name));
	for (const group of groups(names, profile, classes)) {
		const { results, kinds, applied } = await tryThese(where, group);
		assert.equal(applied.length, 1);
		// Limits of a single process are told by their error; only those of control groups are counted.
		const hasGroups = applied[0].processLimits.enforcedBy === 'cgroup';
		const sums = expected(group, profile, classes.filter((name) => hasGroups || name !== 'limit'));
		for (const [kind, v] of kinds) {
			if (v.count !== sums.get(kind)) wrong.push(`${kind}: ${v.count} on record, not ${sums.get(kind) ?? 'any'}`);
			if (v.effect !== (v.evidence === 'observed' ? 'logged' : 'blocked')) wrong.push(`${kind}: ${v.effect}`);
		}
		for (const [kind, count] of sums) if (!kinds.has(kind)) wrong.push(`${kind}: not on record, ${count} expected`);
		for (const name of group) {
			const result = results.get(name) ?? 'no result';
			if (!isExpected(attempts.find((a) => a.name === name).expected[profile], result)) wrong.push(`${name}: ${result}`);
			if (isBounded && !proven.has(name) && !reason(name, result, classes.includes('kernel-mount'))) wrong.push(`${name}: ${result}, and nothing says why there is no evidence`);
		}
	}
	return wrong;
}
