// The code of the client's README, run as it stands; only the server's address is another one.
// ci: release only
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { bin, newFolder, world } from '../lib/runtime.mjs';
import { folder, marked, program } from './sdk.mjs';

test('the README\'s code, in its order', async () => {
	const { rt, model } = await world();
	const env = { PATH: `${bin}:${process.env.PATH}`, OPENAI_BASE_URL: model.url };
	const page = readFileSync(`${folder}README.md`, 'utf8');
	const blocks = ['first', 'commands', 'events', 'turn', 'websocket', 'stdio'].map((name) => marked(page, name));
	const script = [...blocks, 'console.log(answer.status, receipt.status, stream.cursor.length > 0, sessions.length, greeting);'].join('\n').replaceAll('http://127.0.0.1:7717', rt.url).replace("'state'", `'${newFolder()}'`);
	const { code, out, err } = await program(script.replace('What is 17 + 25?', '[[tool add {"a":17,"b":25}]]'), env);
	assert.equal(code, 0, err);
	const lines = out.trim().split('\n');
	assert.equal(lines[0], 'completed You said: Say hello in five words.');
	assert.match(lines[1], /^task_not_found 404 false No task has this id/);
	assert.match(out, /\n\d+ turn.submitted turn_\w+\n\d+ turn.completed turn_\w+\ngo on later after \d+\n/);
	assert.deepEqual(lines.slice(-2), ['The tool said: 42', 'completed accepted true 2 You said: Say hello.']);
});
