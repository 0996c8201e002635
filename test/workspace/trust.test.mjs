// What the files of a workspace bring: listed before it is trusted, off until then, read without following links, a fact when it changes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { before, test } from 'node:test';
import { newFolder, ok, refused, submit, waitFor, world } from '../lib/runtime.mjs';
import { validateEvent } from '../lib/schemas.mjs';
import { factsOf } from '../tenant/tenants.mjs';

const isRoot = process.getuid() === 0;
const isCluster = Boolean(process.env.AR_TEST_POSTGRES); // whose nodes do not have each other's folders
const needsRoots = { skip: isCluster && 'no root is named on a cluster' };
const sha = (text) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
let w;

/** A folder with these files; as root of a user, because the sandbox does not write to folders of root. */
function folderWith(files) {
	const root = realpathSync(newFolder());
	put(root, files);
	return root;
}

function put(root, files) {
	for (const [name, text] of Object.entries(files)) {
		mkdirSync(dirname(join(root, name)), { recursive: true });
		writeFileSync(join(root, name), text);
	}
	if (isRoot) execFileSync('chown', ['-R', '1000:1000', root]);
}

const create = async (root) => (await ok(w.rt, 'create_workspace', { root })).workspace;
const inspect = (workspaceId) => ok(w.rt, 'inspect_workspace', { workspaceId });

async function trust(workspaceId) {
	const { itemsDigest } = await inspect(workspaceId);
	return (await ok(w.rt, 'update_workspace', { workspaceId, trust: 'trusted', itemsDigest })).workspace;
}

/** A turn in a new session of the workspace, or in one that is there: its facts, and the system texts of its first request. */
async function turn(where, text = 'hello') {
	const { sessionId, turnId } = await submit(w.rt, text, where.sessionId ? { sessionId: where.sessionId } : { createPolicy: { workspaceId: where.workspaceId } });
	const facts = await waitFor(async () => {
		const log = (await factsOf(w.rt, undefined, sessionId)).filter((f) => f.turnId === turnId);
		return log.some((f) => /^turn\.(completed|failed)$/.test(f.type)) && log;
	}, 'the end of the turn');
	const system = w.model.log(turnId)[0].body.messages.filter((m) => m.role === 'system').map((m) => m.content).join('\n');
	return { sessionId, facts, system, inspected: facts.filter((f) => f.type === 'workspace.inspected') };
}

before(async () => {
	w = await world({ config: { 'workspaces.dir': realpathSync(newFolder()) } });
});

test('what a folder brings is listed with its digests, and is off until the workspace is trusted', needsRoots, async () => {
	const root = folderWith({ 'AGENTS.md': 'Say ahoy.', '.mcp.json': '{}', '.agents/skills/tea/SKILL.md': 'tea', '.claude/skills/b/SKILL.md': 'b', '.claude/skills/a/SKILL.md': 'a', 'README.md': 'x' });
	const workspace = await create(root);
	assert.equal(workspace.trust, 'untrusted');
	const seen = await inspect(workspace.workspaceId);
	assert.equal(seen.trust, 'untrusted');
	assert.deepEqual(seen.items.map((i) => [i.kind, i.path, i.bytes, i.digest, i.used]), [
		['instructions', 'AGENTS.md', 9, sha('Say ahoy.'), true],
		['mcp_servers', '.mcp.json', 2, sha('{}'), false],
		['skill', '.agents/skills/tea/SKILL.md', 3, sha('tea'), false],
		['skill', '.claude/skills/a/SKILL.md', 1, sha('a'), false],
		['skill', '.claude/skills/b/SKILL.md', 1, sha('b'), false],
	]);
	for (const item of seen.items) assert.equal(Boolean(item.reason), !item.used);
	const before = await turn(workspace);
	assert.ok(!before.system.includes('ahoy'), before.system);
	assert.deepEqual(before.inspected, []);

	const trusted = await trust(workspace.workspaceId);
	assert.deepEqual([trusted.trust, trusted.trustedBy, trusted.itemsDigest], ['trusted', 'local', seen.itemsDigest]);
	const after = await turn(workspace);
	assert.ok(after.system.includes('Say ahoy.'), after.system);
	assert.equal(after.inspected.length, 1);
	assert.deepEqual([after.inspected[0].payload.instructions.file, after.inspected[0].payload.instructions.bytes, after.inspected[0].payload.itemsDigest], ['AGENTS.md', 9, seen.itemsDigest]);
	for (const fact of after.facts) validateEvent(fact);
	const late = await turn({ sessionId: before.sessionId });
	assert.ok(!late.system.includes('ahoy'), 'a session keeps what it was bound with');
});

test('a changed file reaches the next turn as one fact; an unchanged one adds none, also after kill -9', needsRoots, async () => {
	const root = folderWith({ 'AGENTS.md': 'first text' });
	const workspace = await create(root);
	await trust(workspace.workspaceId);
	const one = await turn(workspace);
	assert.ok(one.system.includes('first text'));
	const two = await turn(one);
	assert.deepEqual([two.inspected.length, two.system.includes('first text')], [0, true]);
	put(root, { 'AGENTS.md': 'second text' });
	const three = await turn(one);
	assert.deepEqual([three.inspected.length, three.system.includes('second text'), three.system.includes('first text')], [1, true, false]);
	await w.rt.kill9();
	w.rt = await w.again();
	assert.equal((await ok(w.rt, 'get_workspace', { workspaceId: workspace.workspaceId })).workspace.trust, 'trusted');
	const four = await turn(one);
	assert.deepEqual([four.inspected.length, four.system.includes('second text')], [0, true]);
	rmSync(join(root, 'AGENTS.md'));
	const five = await turn(one);
	assert.match(five.inspected[0].payload.instructions.reason, /^not_found:/);
	assert.ok(!five.system.includes('second text'));
	assert.deepEqual(five.facts.find((f) => f.type === 'context.resolved').payload.omissions.map((o) => [o.ref, o.reason.split(':')[0]]), [['AGENTS.md', 'not_found']]);
});

test('instructions of the repository above are used too, nearest first, and end at its root', needsRoots, async () => {
	const top = folderWith({ 'AGENTS.md': 'outside the repository', 'repo/.git/HEAD': 'ref: refs/heads/main', 'repo/AGENTS.md': 'of the repository', 'repo/a/b/AGENTS.md': 'of the part' });
	const workspace = await create(join(top, 'repo/a/b'));
	const seen = await trust(workspace.workspaceId).then(() => inspect(workspace.workspaceId));
	assert.deepEqual(seen.items.map((i) => i.path), ['AGENTS.md', '../../AGENTS.md']);
	const { system } = await turn(workspace);
	assert.ok(system.indexOf('of the part') >= 0 && system.indexOf('of the part') < system.indexOf('of the repository'), system);
	assert.ok(!system.includes('outside'));
	const alone = await create(folderWith({ 'x/AGENTS.md': 'alone', 'AGENTS.md': 'above' }) + '/x');
	assert.deepEqual((await inspect(alone.workspaceId)).items.map((i) => i.path), ['AGENTS.md'], 'without a repository nothing above counts');
});

test('trust is refused for what was not seen, and is taken back', needsRoots, async () => {
	const root = folderWith({ 'AGENTS.md': 'as it was shown' });
	const { workspaceId } = await create(root);
	const { itemsDigest } = await inspect(workspaceId);
	put(root, { 'AGENTS.md': 'as it is now' });
	await refused(w.rt, 'version_conflict', 'update_workspace', { workspaceId, trust: 'trusted', itemsDigest });
	await refused(w.rt, 'invalid_input', 'update_workspace', { workspaceId, trust: 'trusted' });
	await refused(w.rt, 'invalid_input', 'update_workspace', { workspaceId });
	await trust(workspaceId);
	const back = (await ok(w.rt, 'update_workspace', { workspaceId, trust: 'untrusted' })).workspace;
	assert.deepEqual([back.trust, back.trustedBy, back.trustedAt, back.itemsDigest], ['untrusted', undefined, undefined, undefined]);
	assert.ok(!(await turn({ workspaceId })).system.includes('as it is now'));
	await refused(w.rt, 'workspace_not_found', 'inspect_workspace', { workspaceId: 'ws_0000000000jqqqqqqqqqqqqqqq' });
});

test('a hostile folder: links, hard links, fifos, large and binary files are listed, and nothing of them is read', needsRoots, async () => {
	const secret = join(folderWith({ secret: 'TOP-SECRET' }), 'secret');
	const cases = {
		'a link out': (root) => symlinkSync(secret, join(root, 'AGENTS.md')),
		'a hard link': (root) => linkSync(secret, join(root, 'AGENTS.md')),
		'a fifo': (root) => execFileSync('mkfifo', [join(root, 'AGENTS.md')]),
		'a folder': (root) => mkdirSync(join(root, 'AGENTS.md')),
		'65 KiB': (root) => writeFileSync(join(root, 'AGENTS.md'), 'x'.repeat(65 * 1024)),
		'no text': (root) => writeFileSync(join(root, 'AGENTS.md'), Buffer.from([0x61, 0, 0xff])),
	};
	for (const [name, make] of Object.entries(cases)) {
		const root = realpathSync(newFolder());
		make(root);
		if (isRoot) execFileSync('chown', ['-h', '-R', '1000:1000', root]);
		const { workspaceId } = await create(root);
		const { items } = await inspect(workspaceId);
		assert.deepEqual(items.map((i) => [i.path, i.used, i.digest]), [['AGENTS.md', false, undefined]], name);
		assert.match(items[0].reason, /^(unreadable|too_large):/, name);
		await trust(workspaceId);
		const { system } = await turn({ workspaceId });
		assert.ok(!system.includes('TOP-SECRET') && !system.includes('xxxx'), name);
	}
	const linked = realpathSync(newFolder()), with_one = folderWith({ 'SKILL.md': 'TOP-SECRET' }), without = folderWith({ other: 'x' });
	mkdirSync(join(linked, '.claude/skills'), { recursive: true });
	symlinkSync(with_one, join(linked, '.claude/skills/a'));
	symlinkSync(without, join(linked, '.claude/skills/b'));
	if (isRoot) execFileSync('chown', ['-h', '-R', '1000:1000', linked]);
	const behind = (await inspect((await create(linked)).workspaceId)).items.map((i) => [i.path, i.digest, i.used]);
	assert.deepEqual(behind, ['a', 'b'].map((n) => [`.claude/skills/${n}/SKILL.md`, undefined, false]), 'whether there is something behind a link is not told');
	const skills = realpathSync(newFolder());
	mkdirSync(join(skills, '.claude'));
	symlinkSync(dirname(secret), join(skills, '.claude/skills'));
	if (isRoot) execFileSync('chown', ['-h', '-R', '1000:1000', skills]);
	assert.deepEqual((await inspect((await create(skills)).workspaceId)).items, [], 'a folder of skills behind a link is not read');
});

test('a root that became a link, or is gone, brings nothing, and the turn goes on', needsRoots, async () => {
	const top = folderWith({ 'here/AGENTS.md': 'of the folder', 'other/AGENTS.md': 'of another' });
	const workspace = await create(join(top, 'here'));
	await trust(workspace.workspaceId);
	const one = await turn(workspace);
	assert.ok(one.system.includes('of the folder'));
	renameSync(join(top, 'here'), join(top, 'moved'));
	symlinkSync(join(top, 'other'), join(top, 'here'));
	const two = await turn(one);
	assert.ok(!two.system.includes('of another') && two.system.includes('of the folder'), 'what was known stays');
	await refused(w.rt, 'unavailable', 'inspect_workspace', { workspaceId: workspace.workspaceId });
});

test('secrets in instructions are masked before they are stored', needsRoots, async () => {
	const key = `sk-ant-api03-${'a1B2c3D4'.repeat(12)}`;
	const workspace = await create(folderWith({ 'AGENTS.md': `Use the key ${key} for all.` }));
	await trust(workspace.workspaceId);
	const { system } = await turn(workspace);
	assert.ok(system.includes('Use the key') && !system.includes(key), system);
});

test('a workspace that the runtime made can be inspected and trusted, also on a cluster', async () => {
	const { workspace } = await ok(w.rt, 'create_workspace', {});
	const seen = await inspect(workspace.workspaceId);
	assert.deepEqual(seen.items, []);
	assert.equal((await trust(workspace.workspaceId)).trust, 'trusted');
	assert.match((await turn(workspace)).inspected[0].payload.instructions.reason, /^not_found:/);
});
