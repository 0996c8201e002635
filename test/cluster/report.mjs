// The table at the end of a run, for people: what was done, how much was seen, how long sessions stood still.

function countBy(list, key) {
	const counts = new Map();
	for (const item of list) counts.set(key(item), (counts.get(key(item)) ?? 0) + 1);
	return counts;
}

const words = (counts) => [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, n]) => `${name} ${n}`).join(', ');
const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(0);

const reasonOf = ({ error, status, answer }) => error ?? `${status} ${/"code":"(\w+)"/.exec(answer)?.[1] ?? ''}`;

function repeats(calls) {
	const writes = calls.filter((call) => call.key !== undefined);
	return writes.length - new Set(writes.map((call) => `${call.kind} ${call.key}`)).size;
}

function takeoverLine(kind, times, leaseMs) {
	if (times.length === 0) return `takeover after ${kind}: none was measured alone`;
	const p99 = Number(at(times, 0.99));
	return `takeover after ${kind}: ${times.length} sessions, p50 ${at(times, 0.5)}, p95 ${at(times, 0.95)}, p99 ${p99}, max ${times.at(-1).toFixed(0)} ms ` +
		`(lease ${leaseMs} ms, p99 is ${(p99 / leaseMs).toFixed(1)} of it)`;
}

export function report({ history, nodes, actors, sides, takeovers, leaseMs }, final, kinds) {
	const { calls, faults, readers } = history;
	const facts = [...final.logs.values()].reduce((n, log) => n + log.length, 0);
	const answered = calls.filter((call) => call.isAnswer).length;
	const connections = actors.flatMap((actor) => actor.readers).reduce((n, reader) => n + reader.connections, 0);
	return [
		`${nodes.length} nodes, ${actors.length} sessions with clients and ${sides.size} made by key; ${Math.round(history.now() / 1000)} s`,
		`${faults.length} faults: ${words(countBy(faults, (fault) => fault.fault))}`,
		...kinds.filter((kind) => ['failover', 'fillDisk'].includes(kind)).map((kind) => `  ${kind}: ${faults.filter((f) => f.fault === kind).map((f) => f.detail).join('; ')}`),
		`calls: ${calls.length}, ${answered} answered; ${words(countBy(calls, (call) => call.kind))}; ${repeats(calls)} repeated`,
		`no answer: ${words(countBy(calls.filter((call) => !call.isAnswer), (call) => reasonOf(call)))}`,
		`facts: ${facts} in ${final.logs.size} logs (${final.rows.length} rows), ${history.facts} deliveries to ${readers.length} readers over ${connections} connections`,
		`model calls: ${final.modelCalls.length}`,
		...['kill9', 'stop'].map((kind) => takeoverLine(kind, takeovers.times(kind, faults), leaseMs)),
	];
}
