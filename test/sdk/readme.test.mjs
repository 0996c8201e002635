// The code of the client's README, run as it stands; only the address of the WebSocket is another one. The daemon is the one that agentctl started.
// ci: release only
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { folder, marked, program } from './sdk.mjs';
import { bin, newFolder, startModel, submit, world } from '../lib/runtime.mjs';

/** A home in which `agentctl` has started a daemon; it ends with the test. */
async function homeWithDaemon(t) {
	const model = await startModel();
	const env = { PATH: `${bin}:${process.env.PATH}`, OPENAI_BASE_URL: model.url, HOME: newFolder(), AGENTD_SHUTDOWN_GRACE_MS: '0' };
	const agentctl = (...args) => promisify(execFile)(join(bin, 'agentctl'), args, { env });
	t.after(() => agentctl('stop'));
	await agentctl('run', 'Hello.');
	return env;
}

test('the README\'s code, in its order, finds the daemon that agentctl started', async (t) => {
	const env = await homeWithDaemon(t);
	const { rt } = await world();
	await submit(rt, 'somebody was here');
	const page = readFileSync(`${folder}README.md`, 'utf8');
	const blocks = ['first', 'commands', 'events', 'turn', 'websocket', 'stdio'].map((name) => marked(page, name));
	const script = [...blocks, 'console.log(answer.status, receipt.status, stream.cursor.length > 0, sessions.length, greeting);'].join('\n').replaceAll('http://127.0.0.1:7717', rt.url).replace("'state'", `'${newFolder()}'`);
	const { code, out, err } = await program(script.replace('What is 17 + 25?', '[[tool add {"a":17,"b":25}]]'), env);
	assert.equal(code, 0, err);
	const lines = out.trim().split('\n');
	assert.equal(lines[0], 'completed You said: Say hello in five words.');
	assert.match(lines[1], /^task_not_found 404 false No task has this id/);
	assert.match(out, /\n\d+ turn.submitted turn_\w+\n\d+ turn.completed turn_\w+\ngo on later after \d+\n/);
	assert.deepEqual(lines.slice(-2), ['The tool said: 42', 'completed accepted true 1 You said: Say hello.']);
});
