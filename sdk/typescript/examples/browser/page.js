// Asks and shows the answer as it is written. The page and the server have one origin here (serve.mjs sees to that); `?url=` names another
// address, or several with commas, whose `http.origins` has the origin of this page; `?token=` is what it shows there. `?ws` takes a WebSocket,
// `?ask=` asks at once.
import { AgentRuntime, WebSocketTransport } from 'agentruntime';

const query = new URLSearchParams(location.search);
const url = query.get('url')?.split(',') ?? location.origin;
const token = query.get('token') ?? undefined;
const client = new AgentRuntime({ url, token, ...(query.has('ws') ? { transport: new WebSocketTransport({ token }) } : {}) });
window.client = client; // for the console
const form = document.querySelector('form');
const answer = document.querySelector('#answer');
const status = document.querySelector('#status');

async function ask(question) {
	status.dataset.state = 'running';
	const turn = client.run(question);
	status.dataset.sessionId = (await turn.receipt()).sessionId;
	for await (const event of turn) {
		answer.textContent = turn.text;
		status.textContent = event.type;
	}
	const { text, turnId, status: outcome } = await turn.result();
	answer.textContent = text;
	Object.assign(status.dataset, { state: outcome, turnId });
}

form.addEventListener('submit', (event) => {
	event.preventDefault();
	ask(new FormData(form).get('question')).catch((error) => (status.textContent = error.message));
});

if (query.has('ask')) {
	form.elements.question.value = query.get('ask');
	form.requestSubmit();
}
