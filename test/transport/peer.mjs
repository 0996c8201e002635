// A node of the cluster written by hand: reads requests from raw sockets and answers as a test tells it to.
import net from "node:net";
import { onEnd } from "./probe.mjs";

// `answer(request, socket, count)` gets {method, path, headers, body}; what it returns is written, nothing if undefined.
export async function startPeer(answer) {
	const peer = { requests: [], connections: 0, sockets: new Set(), closed: 0 };
	const server = net.createServer((socket) => {
		let text = "";
		peer.connections++;
		peer.sockets.add(socket);
		socket.setEncoding("latin1");
		socket.on("error", () => {});
		socket.on("close", () => { peer.closed++; peer.sockets.delete(socket); });
		socket.on("data", (part) => {
			text += part;
			for (;;) {
				const end = text.indexOf("\r\n\r\n");
				if (end < 0) return;
				const [line, ...fields] = text.slice(0, end).split("\r\n");
				const headers = Object.fromEntries(fields.map((field) => {
					const colon = field.indexOf(":");
					return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
				}));
				const length = Number(headers["content-length"] ?? 0);
				if (text.length < end + 4 + length) return;
				const [method, path] = line.split(" ");
				const request = { method, path, headers, body: text.slice(end + 4, end + 4 + length) };
				text = text.slice(end + 4 + length);
				peer.requests.push(request);
				const reply = answer?.(request, socket, peer.requests.length);
				if (reply !== undefined) socket.write(reply, "latin1");
			}
		});
	});
	await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
	peer.port = server.address().port;
	peer.address = `127.0.0.1:${peer.port}`;
	peer.close = () => {
		server.close();
		for (const socket of peer.sockets) socket.destroy();
	};
	onEnd(peer.close);
	return peer;
}

export function json(status, body, headers = "") {
	return `HTTP/1.1 ${status} Any\r\nContent-Type: application/json\r\n${headers}Content-Length: ${Buffer.byteLength(body, "latin1")}\r\n\r\n${body}`;
}

export const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
