// Imported first by what attacks: as root, the whole test file runs again in a process namespace of its own, so that a launcher that is wrong (the forced
// absences and the mutants make it so on purpose) cannot signal a process of the machine. Process numbers there begin where no sandbox's own reach.
import { spawnSync } from 'node:child_process';

const NUMBERS_FROM = 30000;

if (process.getuid() === 0 && !process.env.AR_ESCAPE_ISOLATED) {
	const start = `echo ${NUMBERS_FROM} > /proc/sys/kernel/ns_last_pid && exec "$@"`;
	const done = spawnSync('unshare', ['--pid', '--fork', '--mount-proc', '--kill-child', 'sh', '-c', start, 'sh', process.execPath, process.argv[1]],
		{ stdio: 'inherit', env: { ...process.env, AR_ESCAPE_ISOLATED: '1' } });
	process.exit(done.status ?? 1);
}
