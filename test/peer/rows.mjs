// The memory of official_process.mjs: a line of JSON each; one that a kill cut off is none.
import { existsSync, readFileSync } from 'node:fs';

export function readRows(file) {
	const rows = [];
	for (const line of existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []) {
		try {
			if (line) rows.push(JSON.parse(line));
		} catch {
			continue;
		}
	}
	return rows;
}
