// The pages for newcomers name only commands, options and words of the chat that exist.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bin } from '../lib/runtime.mjs';

const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const ctl = (...words) => execFileSync(join(bin, 'agentctl'), words, { encoding: 'utf8' });
const slash = new Set([...read('src/bin/agentctl/chat/slash.c').matchAll(/^\t\{ "([a-z]+)", "/gm)].map(([, name]) => name));

for (const page of ['docs/guide/getting-started.md', 'docs/guide/coming-from.md']) {
	const text = read(page);
	// Columns of other programs are not ours to check: of the first table only the last.
	const ours = text.split('\n').map((line) => (/^\|(.*\|){4}$/.test(line) ? line.split('|').at(-2) : line)).join('\n');

	test(`${page}: every agentctl command and option is there`, () => {
		const named = [...ours.matchAll(/(?:`|^)agentctl ([a-z]+)([^`\n]*)/gm)];
		assert.ok(named.length >= 5);
		for (const [, command, rest] of named) {
			const help = ctl('help', command);
			for (const [option] of rest.matchAll(/--[a-z-]+/g)) assert.ok(help.includes(option) || ctl('help').includes(option), `agentctl ${command} ${option}`);
		}
	});

	test(`${page}: every word of the chat is there`, () => {
		const named = [...ours.matchAll(/`\/([a-z]+)[ `]/g)].map(([, name]) => name);
		assert.ok(named.length > 0);
		for (const name of named) assert.ok(slash.has(name), `/${name}`);
	});
}
