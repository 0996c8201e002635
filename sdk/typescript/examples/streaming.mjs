// The answer as it is written:  node streaming.mjs "Tell me a story."
import { connect } from './connect.mjs';

const client = connect();
const turn = client.run(process.argv[2] ?? 'Tell me a story.');
for await (const event of turn) {
	if (event.type === 'model.delta') process.stdout.write(event.payload.delta);
	// The model's stream broke, or its node died: the next attempt says it again from the beginning.
	if (event.type === 'model.failed') process.stdout.write(`\n[${event.payload.error.category}; trying again]\n`);
	if (event.type === 'turn.failed') process.exitCode = 1;
}
process.stdout.write('\n');
const { usage } = await turn.result();
console.error(usage);
