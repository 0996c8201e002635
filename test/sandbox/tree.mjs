// What is under a folder as one line per entry: name, kind, mode, owner, size, time of change of content, and the content's hash. Two listings that
// are equal mean that nothing was made, removed, renamed, written, or changed in mode or owner.
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

function content(path, st) {
	if (st.isSymbolicLink()) return readlinkSync(path);
	if (!st.isFile()) return '-';
	return createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 16);
}

function describe(path, name) {
	const st = lstatSync(path, { bigint: true });
	const size = st.isFile() ? st.size : 0n;
	return [name, st.mode.toString(8), st.uid, st.gid, size, st.mtimeNs, content(path, st)].join(' ');
}

/** Lines of everything under `folder` but for the names in `left`, which are relative to it. */
export function listTree(folder, left = []) {
	const lines = [];
	const visit = (name) => {
		if (left.includes(name)) return;
		const path = join(folder, name);
		lines.push(describe(path, name || '.'));
		if (!lstatSync(path).isDirectory()) return;
		for (const entry of readdirSync(path).sort()) visit(name ? `${name}/${entry}` : entry);
	};
	visit('');
	return lines;
}

/** What is in one listing and not in the other. */
export function changes(before, after) {
	return [...before.filter((line) => !after.includes(line)).map((line) => `- ${line}`),
		...after.filter((line) => !before.includes(line)).map((line) => `+ ${line}`)];
}
