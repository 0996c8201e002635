// Several conversations at once, each followed on its own:  node many-sessions.mjs "Name a colour." "Name a river."
import { connect } from './connect.mjs';

const client = connect();
const questions = process.argv.slice(2);
const facts = { total: 0 };

async function follow(question) {
	const { sessionId } = await client.createSession({ title: question });
	const ended = new AbortController();
	const watching = (async () => {
		for await (const event of client.events({ sessionId, deltas: false, signal: ended.signal })) {
			facts.total++;
			if (event.type === 'thread.updated' && event.payload.reason === 'turn_ended') ended.abort();
		}
	})();
	const { text } = await client.run(question, { sessionId }).result();
	await watching;
	console.log(`${question} -> ${text}`);
}

await Promise.all((questions.length > 0 ? questions : ['Name a colour.', 'Name a river.']).map(follow));
console.log(`${facts.total} facts`);
