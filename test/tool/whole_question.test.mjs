// People see what they approve: a question says first what is dangerous, marks what it leaves out, and cannot be approved by a client that
// has not read the whole of it. The tools are real shells, and each question stands before anything ran.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { before, test } from 'node:test';
import { digestOf, ended, facts, pending, seen } from '../lib/gate.mjs';
import { connectWs } from '../lib/rpc.mjs';
import { newFolder, ok, refused, submit, waitFor, world } from '../lib/runtime.mjs';

const shell = (command) => `[[tool shell ${JSON.stringify({ command })}]]`;
const hiding = (fill) => `echo ${fill.repeat(4000)}; rm -rf old`;

let w;

before(async () => {
	w = await world({ config: { 'tools.workspace': newFolder(), 'permission.mode': 'default' } });
});

async function asked(command) {
	const { sessionId } = await submit(w.rt, shell(command));
	const [action] = await pending(w.rt, sessionId);
	const [{ payload }] = await facts(w.rt, sessionId, 'action.required');
	return { sessionId, actionId: action.actionId, action, payload };
}

const whole = async ({ payload }) => (await ok(w.rt, 'read_output', { outputRef: payload.promptRef })).content;
const notRun = async ({ sessionId }) => assert.equal((await facts(w.rt, sessionId, 'tool.started')).length, 0);

test('a long command: the danger and the reason come first, its end is there, and what is left out is counted', async () => {
	const q = await asked(hiding('x'));
	const { prompt, isTruncated } = q.payload;
	assert.match(prompt, /^This cannot be undone\. It is asked because it looks like recursive_delete \(rm -rf\); mode default asks for it/);
	assert.match(prompt, /; rm -rf old"\}\?$/);
	const [mark, count] = /\[\.\.\. ([0-9,]+) bytes not shown \.\.\.\]/.exec(prompt);
	const text = await whole(q);
	assert.equal(isTruncated, true);
	assert.equal(Number(count.replaceAll(',', '')), text.length - (prompt.length - mark.length));
	const [head, tail] = prompt.split(mark);
	assert.ok(text.startsWith(head) && text.endsWith(tail) && text.includes(JSON.stringify(hiding('x'))));
	const [line] = (await ok(w.rt, 'list_actions', { sessionId: q.sessionId })).actions;
	for (const shown of [line, q.action]) assert.deepEqual([shown.title, shown.isTruncated, shown.promptRef], [prompt, true, q.payload.promptRef]);
});

test('a client that has not read the whole cannot approve: over HTTP, from the host, over a WebSocket, after a restart', async () => {
	const q = await asked(hiding('y'));
	const { actionId } = q;
	const message = (await refused(w.rt, 'not_shown', 'respond_action', { actionId, decision: 'allow' })).message;
	assert.match(message, /promptDigest.*promptRef/);
	const guesses = [undefined, '', 'x', digestOf(actionId, q.payload.prompt), q.payload.promptCheck, digestOf(actionId, ''), createHash('sha256').update(await whole(q)).digest('hex')];
	const peer = await connectWs(w.rt.url);
	const all = async () => {
		for (const promptDigest of guesses) {
			const with_ = promptDigest === undefined ? {} : { promptDigest };
			await refused(w.rt, 'not_shown', 'respond_action', { actionId, decision: 'allow', ...with_ });
			await refused(w.rt, 'not_shown', 'resolve_permission', { actionId, decision: 'allowed', ...with_ });
		}
	};
	await all();
	for (const promptDigest of guesses.slice(1))
		await assert.rejects(peer.call('respond_action', { actionId, decision: 'allow', promptDigest }), (e) => e.data.code === 'not_shown');
	await w.rt.kill9();
	w.rt = await w.again();
	await all();
	await notRun(q);
	const again = await connectWs(w.rt.url);
	await again.call('respond_action', { actionId, decision: 'allow', promptDigest: digestOf(actionId, await whole(q)) });
	await seen(w.rt, q.sessionId, 'tool.started');
});

test('a no needs no reading', async () => {
	const { actionId } = await asked(hiding('z'));
	await ok(w.rt, 'respond_action', { actionId, decision: 'deny' });
});

test('the digest of one question approves no other, whatever little was changed', async () => {
	const first = await asked(hiding('a'));
	const old = digestOf(first.actionId, await whole(first));
	await ok(w.rt, 'respond_action', { actionId: first.actionId, decision: 'allow', promptDigest: old });
	const changed = await asked(`${hiding('a')}er`);
	const same = await asked(hiding('a'));
	for (const q of [changed, same]) {
		await refused(w.rt, 'not_shown', 'respond_action', { actionId: q.actionId, decision: 'allow', promptDigest: old });
		await notRun(q);
	}
});

test('a question that is shown whole needs no digest, but a wrong one is refused', async () => {
	const q = await asked('rm -rf old');
	assert.deepEqual([q.payload.isTruncated, q.payload.promptRef], [undefined, undefined]);
	await refused(w.rt, 'not_shown', 'respond_action', { actionId: q.actionId, decision: 'allow', promptDigest: digestOf(q.actionId, 'another') });
	await ok(w.rt, 'respond_action', { actionId: q.actionId, decision: 'allow', promptDigest: digestOf(q.actionId, q.payload.prompt) });
});

test('always is neither offered nor taken for what destroys', async () => {
	for (const command of ['rm -rf old', 'git push --force', 'mkfs.ext4 /dev/sda1', 'psql -c "DROP TABLE users"', 'make && rm -rf old 2>&1 | tail']) {
		const { actionId, sessionId, payload } = await asked(command);
		assert.deepEqual([payload.destructive, payload.decisions], [true, ['allow', 'deny']], command);
		assert.match((await refused(w.rt, 'invalid_decision', 'respond_action', { actionId, decision: 'allow_session' })).message, /once at a time/);
		await refused(w.rt, 'invalid_decision', 'respond_action', { actionId, decision: 'allow', payload: { scope: 'session' } });
		await refused(w.rt, 'invalid_decision', 'resolve_permission', { actionId, decision: 'allowed', scope: 'session' });
		await notRun({ sessionId });
	}
});

test('always is offered for a composed command that can be recognised again, and is for exactly that one', async () => {
	const command = 'echo tested 2>&1 | tail';
	const first = await asked(command);
	assert.deepEqual(first.payload.decisions, ['allow', 'allow_session', 'deny']);
	const { sessionId } = first;
	await ok(w.rt, 'respond_action', { actionId: first.actionId, decision: 'allow_session' });
	await ended(w.rt, sessionId);
	const verdictOn = async (text) => {
		const { turnId } = await submit(w.rt, shell(text), { sessionId });
		const [{ payload }] = await waitFor(async () => {
			const found = (await facts(w.rt, sessionId, 'permission.evaluated')).filter((e) => e.turnId === turnId);
			return found.length > 0 && found;
		}, 'the verdict');
		if (payload.decision === 'ask') await ok(w.rt, 'respond_action', { actionId: payload.approvalActionId, decision: 'deny' });
		await ended(w.rt, sessionId, turnId);
		return payload.decision;
	};
	assert.equal(await verdictOn(command), 'allow');
	for (const other of ['echo tested 2>&1 | head', 'echo tested | tail', 'echo tested 2>&1 | tail; true', 'echo tested  2>&1 | tail']) assert.equal(await verdictOn(other), 'ask', other);
	for (const opaque of ['echo $HOME 2>&1 | tail', 'echo x 2>&1 > out', 'echo "$(id) 2>&1 "', 'echo a 2>&1 & sleep 1', 'cat < /etc/passwd 2>&1'])
		assert.deepEqual((await asked(opaque)).payload.decisions, ['allow', 'deny'], opaque);
});
