// A question and its answer:  node first-answer.mjs "Say hello in five words."
import { connect } from './connect.mjs';

const client = connect();
const { status, text } = await client.run(process.argv[2] ?? 'Say hello in five words.').result();
console.log(text);
process.exitCode = status === 'completed' ? 0 : 1;
