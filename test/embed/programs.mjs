// The programs of docs/guide/embed.md, taken from the page as they stand.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Writes each `<!-- file: NAME -->` block into the folder; their names without the ending. */
export function writePrograms(folder) {
	const page = readFileSync(join(root, 'docs/guide/embed.md'), 'utf8');
	const blocks = [...page.matchAll(/<!-- file: (\w+)\.c -->\n```c\n([\s\S]*?)```/g)];
	for (const [, name, text] of blocks) writeFileSync(join(folder, `${name}.c`), text);
	return blocks.map(([, name]) => name);
}
