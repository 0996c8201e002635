// What a request is made of, when every kind of source there is has something for it.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { ended, facts } from '../lib/gate.mjs';
import { newFolder, ok, submit, waitFor, world } from '../lib/runtime.mjs';

test('CX-01 seven sources: a summary, a skill, the workspace, a page, the policy, instructions and what was left out are each named by context.resolved', async (t) => {
	const [workspace, skills] = [newFolder(), newFolder()];
	const service = http.createServer((request, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('news of the day'));
	await new Promise((done) => service.listen(0, '127.0.0.1', done));
	writeFileSync(join(workspace, 'AGENTS.md'), 'Answer in German.');
	mkdirSync(join(skills, 'tea'));
	writeFileSync(join(skills, 'tea', 'SKILL.md'), '---\nname: tea\ndescription: Use it to make tea.\n---\nBoil water.\n');
	const w = await world({ config: { 'permission.mode': 'bypass', 'model.system_prompt': 'Be kind.', 'context.window_tokens': 4000, 'tools.workspace': workspace, skills: [{ dir: skills }],
		http_tools: [{ name: 'open_page', description: 'Opens a page.', url: `http://127.0.0.1:${service.address().port}/`, method: 'GET', read_only: true, browser: true }] } });
	t.after(async () => {
		await w.rt.stop();
		service.closeAllConnections();
		service.close();
	});
	const read = async (outputRef) => (await ok(w.rt, 'read_output', { outputRef })).content;
	const { sessionId, threadId, turnId } = await submit(w.rt, 'my name is Ada [[tokens 400]]');
	await ended(w.rt, sessionId, turnId);
	await ok(w.rt, 'compact_thread', { sessionId, threadId });
	const [{ payload: compacted }] = await waitFor(async () => {
		const found = await facts(w.rt, sessionId, 'context.compaction.completed');
		return found.length && found;
	}, 'the summary');

	const next = await submit(w.rt, '[[tool open_page {}]]', { sessionId });
	await ended(w.rt, sessionId, next.turnId);
	const mine = (await facts(w.rt, sessionId)).filter((e) => e.turnId === next.turnId);
	const [first, second, ...more] = mine.filter((e) => e.type === 'context.resolved').map((e) => e.payload);
	const [result] = mine.filter((e) => e.type === 'tool.result').map((e) => e.payload);
	assert.deepEqual(more, []);
	assert.deepEqual([first.browserRefs, second.browserRefs], [[], [result.outputRef]], 'the page is in the second request only');
	assert.equal(await read(second.browserRefs[0]), 'news of the day');
	assert.deepEqual(second.memoryRefs, [compacted.summaryRef]);
	assert.equal(second.knowledgeRefs.length, 1);
	assert.match(await read(second.knowledgeRefs[0]), /tea.*Use it to make tea/s);
	assert.deepEqual(second.workspaceRefs, ['workspace:/']);
	assert.deepEqual(second.policyFacts[0], { fact: 'permissionMode', mode: 'bypass' });
	assert.deepEqual((await Promise.all(second.instructionRefs.map(read))).slice(0, 2), ['Be kind.', 'Answer in German.']);
	assert.match(second.omissions[0].reason, /^compacted/);
	const lists = ['memoryRefs', 'knowledgeRefs', 'workspaceRefs', 'browserRefs', 'policyFacts', 'instructionRefs', 'omissions'];
	assert.deepEqual(lists.filter((name) => second[name].length === 0), []);
});
