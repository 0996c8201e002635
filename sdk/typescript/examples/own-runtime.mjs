// A runtime of its own instead of a server: `agentd stdio` as a child of this process:  node own-runtime.mjs "Say hello in five words."
import { connectStdio } from 'agentruntime/node';

const client = connectStdio({ command: process.env.AGENTD ?? 'agentd' });
const { status, text } = await client.run(process.argv[2] ?? 'Say hello in five words.').result();
console.log(text);
process.exitCode = status === 'completed' ? 0 : 1;
client.close();
