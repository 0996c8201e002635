// ci: release only
// The official conformance tool in client role: every scenario it knows passes, or is listed here with the reason why it does not apply.
// ci: first
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { packageFile } from './mcp.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const run = promisify(execFile);
const TOOL = ['--import', path.join(here, 'newer_fs.mjs'), packageFile('@modelcontextprotocol/conformance', 'dist/index.js')];
const LEGACY = '2025-11-25';
const MODERN = '2026-07-28';

const PASSES = {
	initialize: [LEGACY],
	tools_call: [LEGACY, MODERN],
	'elicitation-sep1034-client-defaults': [LEGACY],
	'sse-retry': [LEGACY],
	'request-metadata': [MODERN],
	'sep-2322-client-request-state': [MODERN],
	'http-standard-headers': [MODERN],
	'http-custom-headers': [MODERN],
	'http-invalid-tool-headers': [MODERN],
	'json-schema-ref-no-deref': [MODERN],
	'json-schema-2020-12-preservation': [LEGACY, MODERN],
};

// What is not part of this client, by the beginning of the name.
const NOT_OFFERED = {
	'auth/': 'there is no OAuth login: a token is configured as a header, and a server that wants more is refused with that advice',
	'sep-2640-': 'an extension for files of skills: resources are not read',
};

let folder;
before(() => (folder = mkdtempSync(path.join(os.tmpdir(), 'ar-mcp-'))));
after(() => rmSync(folder, { recursive: true, force: true }));

test('every scenario is either run or listed with a reason', async () => {
	const { stdout } = await run(process.execPath, [...TOOL, 'list', '--client']);
	const names = [...stdout.matchAll(/^ +- (\S+)/gm)].map((match) => match[1]);
	assert.ok(names.length > 40, stdout);
	for (const name of names) {
		const left = Object.keys(NOT_OFFERED).some((prefix) => name.startsWith(prefix));
		assert.ok(PASSES[name] || left, `scenario ${name} is new: run it or say why not`);
	}
});

test('conformance', { concurrency: 2 }, async (t) => {
	const runs = Object.entries(PASSES).flatMap(([name, versions]) => versions.map((version) => [name, version]));
	const all = runs.map(([name, version]) =>
		t.test(`${name} at ${version}`, async () => {
			const command = `${process.execPath} ${path.join(here, 'conformance_client.mjs')}`;
			const args = ['client', '--command', command, '--scenario', name, '--spec-version', version, '-o', folder];
			const { stdout, stderr } = await run(process.execPath, [...TOOL, ...args]).catch((error) => error);
			assert.match(`${stdout}${stderr}`, /OVERALL: PASSED/, `${stdout}${stderr}`);
			assert.match(`${stdout}${stderr}`, /Passed: [1-9]\d*\/\d+, 0 failed, 0 warnings/);
		}),
	);
	await Promise.all(all);
});
