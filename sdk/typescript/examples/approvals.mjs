// A person decides what may run:  node approvals.mjs "Delete the old logs."
// Here the person is a prompt on the terminal; without a terminal the answer is the word in ANSWER.
import readline from 'node:readline/promises';
import { connect } from './connect.mjs';

async function ask({ decisions, event }) {
	console.log(`${event.payload.prompt ?? event.payload.actionType} (${decisions.join(', ')})`);
	if (!process.stdin.isTTY) return process.env.ANSWER ?? 'deny';
	const prompt = readline.createInterface({ input: process.stdin, output: process.stdout });
	const word = await prompt.question('> ');
	prompt.close();
	return word;
}

const client = connect();
const tools = {
	delete_logs: {
		description: 'Deletes log files that are older than a number of days.',
		inputSchema: { type: 'object', properties: { days: { type: 'number' } }, required: ['days'] },
		isDestructive: true,
		run: ({ days }) => `deleted what is older than ${days} days`,
	},
};
const { text } = await client.run(process.argv[2] ?? 'Delete the logs of last month.', { tools, onQuestion: ask }).result();
console.log(text);
