// Not a test: what a long job costs. AR_ITEMS=30000 node test/job/measure.mjs
import { ok, readLog, sleep, world } from '../lib/runtime.mjs';
import { usageOf } from './laws.mjs';

const count = Number(process.env.AR_ITEMS ?? 10000);
const w = await world({ config: { 'limits.max_body_bytes': 134217728 } });
const stat = () => usageOf(w.rt);
const input = Array.from({ length: count }, (_, i) => `[[burst]]item ${i}`).join('\n');
console.log('before', stat());
const start = Date.now();
const { jobId, sessionId } = await ok(w.rt, 'create_job', { instruction: 'Do it.', input, concurrency: 32 });
console.log('created', Date.now() - start, 'ms', stat());
for (let job = { status: 'running' }; job.status === 'running'; await sleep(5000)) {
	job = await ok(w.rt, 'get_job', { jobId, limit: 1 });
	console.log(((Date.now() - start) / 1000).toFixed(0), 's', job.counts.completed, stat());
}
const end = stat();
console.log('per item', ((end.cpu / count) * 1e6).toFixed(0), 'us CPU;', 'rate', (count / ((Date.now() - start) / 1000)).toFixed(0), 'items/s');
if (count <= 20000) console.log('facts of the job per item', (await readLog(w.rt, sessionId)).length / count);
await w.rt.stop();
process.exit(0);
