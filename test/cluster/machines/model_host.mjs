// The scripted model as a program on a machine of its own, which no fault touches, so that model calls go on while the
// database is away. Every call is in its file from the moment it arrives.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const program = join(dirname(fileURLToPath(import.meta.url)), '../../model/scripted.mjs');
const PORT = 8080;

export class ModelHost {
	constructor({ name, address, folder, network }) {
		Object.assign(this, { name, address, network, file: join(folder, 'model-calls.ndjson') });
		this.url = `http://${address}:${PORT}/v1`;
	}

	start() {
		const [command, ...args] = [...this.network.on(this.name), process.execPath, program, '--host', this.address, '--port', PORT, '--calls', this.file];
		this.child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
		return new Promise((done, fail) => {
			this.child.stdout.once('data', done);
			this.child.once('exit', () => fail(new Error('the model server ended')));
		});
	}

	/** Every call so far: { turn, session, step, startedAt }. */
	calls() {
		if (!existsSync(this.file)) return [];
		return readFileSync(this.file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
	}

	stop() {
		this.child?.kill('SIGKILL');
	}
}
