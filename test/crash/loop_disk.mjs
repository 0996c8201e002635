// A disk of its own for a test: an ext4 file system in a file, mounted over a loop device. It can lose its power, be full, and turn read-only. Needs
// root. What a test leaves mounted is unmounted when its process ends.
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { newFolder, waitFor } from '../lib/runtime.mjs';

const MB = 1024 * 1024;

// EXT4_IOC_SHUTDOWN with NOLOGFLUSH: from now on nothing reaches the device, as when the power goes.
const SHUTDOWN = `
import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))
`;

const run = (...command) => execFileSync(command[0], command.slice(1), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

export class LoopDisk {
	constructor(megabytes) {
		const folder = newFolder();
		Object.assign(this, { image: join(folder, 'image'), place: join(folder, 'mounted'), isMounted: false });
		mkdirSync(this.place);
		run('truncate', '-s', `${megabytes}M`, this.image);
		run('mkfs.ext4', '-q', this.image);
		process.on('exit', () => this.isMounted && run('umount', '-l', this.place));
	}

	mount() {
		run('mount', '-o', 'loop,errors=remount-ro', this.image, this.place);
		this.isMounted = true;
	}

	/** When no process has a file on it any more; one that was killed may still be ending. */
	async unmount() {
		await waitFor(() => {
			try {
				run('umount', this.place);
				return true;
			} catch {
				return false;
			}
		}, 'the disk to be unmounted');
		this.isMounted = false;
	}

	/** The power goes: what was not synced is lost, and every further call fails until it is mounted again. */
	cutPower() {
		run('python3', '-c', SHUTDOWN, this.place);
	}

	/** The kernel finds an error in the file system: nothing can be written until it was checked and mounted again. */
	turnReadOnly() {
		const device = basename(run('findmnt', '-no', 'SOURCE', this.place).trim());
		const trigger = `/sys/fs/ext4/${device}/trigger_fs_error`;
		if (!existsSync(trigger)) return false;
		writeFileSync(trigger, 'a test');
		return true;
	}

	repair() {
		execFileSync('sh', ['-c', 'e2fsck -fy "$1" >/dev/null 2>&1 || test $? -le 2', 'sh', this.image]);
	}

	/** Not one more block is free, until relieve(). */
	fill() {
		const file = openSync(join(this.place, 'ballast'), 'w');
		for (const piece of [MB, 4096]) {
			try {
				for (;;) writeSync(file, Buffer.alloc(piece));
			} catch (error) {
				if (error.code !== 'ENOSPC') throw error;
			}
		}
		closeSync(file);
	}

	relieve() {
		rmSync(join(this.place, 'ballast'));
	}
}

/** Why there can be no such disk here; null when there can. */
export function whyNoDisk() {
	if (process.getuid() !== 0) return 'a file system of its own needs root';
	if (!existsSync('/dev/loop-control')) return 'this machine has no loop devices';
	try {
		const disk = new LoopDisk(16);
		disk.mount();
		run('umount', disk.place);
		disk.isMounted = false;
		return null;
	} catch (error) {
		return `no ext4 file system can be mounted from a file here: ${String(error.stderr ?? error.message).trim()}`;
	}
}
