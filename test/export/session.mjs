// One session with what an export has to show: tools that succeed and fail, a question that a person answered, a violation, a child agent,
// a compaction, text of a model that attacks its reader; and agentctl against its daemon.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, newFolder, ok, submit, waitFor, world } from '../lib/runtime.mjs';
import { factsOf } from '../tenant/tenants.mjs';

export const HOSTILE = '<script>fetch("http://127.0.0.1:9/stolen")</script><img src="http://127.0.0.1:9/x.png" onerror="alert(1)">&lt;b&gt; </details></pre> \u001b[31mred\u0007 \u202Eevil';
const call = (name, args) => `[[tool ${name} ${JSON.stringify(args)}]]`;

/** A daemon whose sessions work in a folder of their own. */
export async function place(config = {}) {
	const root = realpathSync(newFolder());
	writeFileSync(join(root, 'note.txt'), 'one\ntwo\nthree\n');
	if (process.getuid() === 0) execFileSync('chown', ['-R', '1000:1000', root]);
	const w = await world({ config: { 'permission.mode': 'on_request', 'workspaces.dir': realpathSync(newFolder()), 'subagents.tools': true, 'budget.on_limit': 'stop', ...config } });
	const { workspace } = await ok(w.rt, 'create_workspace', { root });
	return { ...w, root, workspaceId: workspace.workspaceId };
}

export const facts = (w, sessionId) => factsOf(w.rt, undefined, sessionId);

/** A turn to its end; its questions are answered with `decision`. */
export async function turn(w, sessionId, text, decision = 'allow') {
	const receipt = await submit(w.rt, text, { sessionId });
	const end = await waitFor(async () => {
		for (const { actionId } of (await ok(w.rt, 'get_session', { sessionId })).threads.flatMap((t) => t.pendingRequests)) await ok(w.rt, 'respond_action', { actionId, decision });
		return (await facts(w, sessionId)).find((f) => f.turnId === receipt.turnId && /^turn\.(completed|failed)$/.test(f.type));
	}, 'the end of the turn');
	await waitFor(async () => (await ok(w.rt, 'get_session', { sessionId })).threads.every((t) => t.status === 'idle'), 'threads that do nothing');
	return { ...receipt, end };
}

export async function richSession(w) {
	const { sessionId } = await ok(w.rt, 'create_session', { workspaceId: w.workspaceId, title: 'Everything & <more>' });
	const turns = [];
	const add = async (text, decision) => turns.push(await turn(w, sessionId, text, decision));
	await add(`Say this. [[reasoning I think <b>hard</b>]][[say ${HOSTILE}]]`);
	await add(`${call('read_file', { path: 'note.txt' })}${call('shell', { command: 'printf "out <i>put</i>"; exit 3' })}[[then]]${call('edit_file', { path: 'note.txt', oldText: 'two', newText: 'TWO & <2>' })}[[then]]${call('read_file', { path: 'absent' })}[[then]][[say Edited.]]`);
	await add(`${call('shell', { command: 'rm -rf made' })}[[then]][[say Asked.]]`);
	await add(`${call('shell', { command: 'rm -rf other' })}[[then]][[say Refused.]]`, 'deny');
	await add(`${call('shell', { command: 'cat /etc/shadow; echo x > /usr/y; true' })}[[then]][[tool spawn_agent {"objective":"[[say I am the child\\u005d\\u005d"}]][[then]][[say All done.]]`);
	await add('[[http 400 message=<b>refused</b>]]');
	await ok(w.rt, 'compact_thread', { sessionId, threadId: turns[0].threadId });
	await waitFor(async () => (await facts(w, sessionId)).some((f) => f.type === 'context.compaction.completed'), 'the compaction');
	await add('And after it. [[say Still here.]]');
	return { sessionId, threadId: turns[0].threadId, turns };
}

/** agentctl, run to its end; its output is bytes. */
export function ctl(w, ...args) {
	const env = { PATH: process.env.PATH, HOME: '/nonexistent', ...Object.fromEntries(Object.entries(process.env).filter(([name]) => name.endsWith('SAN_OPTIONS'))) };
	const child = spawn(join(bin, 'agentctl'), ['--socket', w.rt.socket, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
	const out = [];
	let err = '';
	child.stdout.on('data', (piece) => out.push(piece));
	child.stderr.on('data', (text) => (err += text));
	return new Promise((done, fail) => child.on('error', fail).on('close', (code) => done({ code, out: Buffer.concat(out), err })));
}

/** The same; it has to succeed. */
export async function must(w, ...args) {
	const { code, out, err } = await ctl(w, ...args);
	assert.equal(code, 0, err);
	return out.toString('utf8');
}
