// A tool that runs here, in this process, for a model that runs elsewhere:  node client-tool.mjs "What time is it in Zurich?"
import { connect } from './connect.mjs';

const client = connect();
const tools = {
	local_time: {
		description: 'The time in a time zone, such as Europe/Zurich.',
		inputSchema: { type: 'object', properties: { zone: { type: 'string' } }, required: ['zone'] },
		isReadOnly: true,
		run({ zone }) {
			console.log(`[the model asks for the time in ${zone}]`);
			return new Date().toLocaleTimeString('en-GB', { timeZone: zone });
		},
	},
};
const { text } = await client.run(process.argv[2] ?? 'What time is it in Zurich?', { tools }).result();
console.log(text);
