// The client's types as its users' compiler sees them.
// ci: release only
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { folder } from './sdk.mjs';

test('the compiler takes what is right and refuses what is not', () => {
	execFileSync(`${folder}node_modules/.bin/tsc`, ['-p', fileURLToPath(new URL('types', import.meta.url))], { stdio: 'inherit' });
});
