// Which server the examples talk to: the addresses in AGENT_URL (several, with commas, are nodes of one cluster), else the daemon of this user.
import { AgentRuntime } from 'agentruntime';
import { connectLocal } from 'agentruntime/node';

export function connect() {
	const urls = process.env.AGENT_URL?.split(',');
	return urls ? new AgentRuntime({ url: urls, token: process.env.AGENT_TOKEN }) : connectLocal();
}
