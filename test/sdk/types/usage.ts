// What the compiler has to accept and to refuse; test/sdk/types.test.mjs compiles it. Nothing of it is run.
import { AgentRuntime, RefusedError, type AnyEvent, type ErrorCode, type SubmitTurnInput, type TaskStatus } from "agentruntime";

declare const client: AgentRuntime;
declare const event: AnyEvent;

export async function accepts(): Promise<void> {
	const { turnId, position } = await client.submitTurn({ createPolicy: {}, text: "x" }, { timeoutMs: 1000, deadline: new Date() });
	const place: number | undefined = position;
	await client.call("get_session", { sessionId: turnId });
	await client.listSessions();
	if (event.type === "model.delta") event.payload.delta.toUpperCase();
	if (event.type === "action.required") event.payload.decisions.length;
	for await (const one of client.events({ sessionId: "s", types: ["turn.completed", "turn.failed"] })) one.payload.status satisfies "completed" | "failed" | "cancelled" | "timed_out" | "lost";
	const status: TaskStatus = "waiting_input";
	const code: ErrorCode = "overloaded";
	void [place, status, code];
}

export async function refuses(error: unknown): Promise<void> {
	// @ts-expect-error: there is no such member
	await client.submitTurn({ createPolicy: {}, txt: "x" });
	// @ts-expect-error: sessionId is required
	await client.getSession({});
	// @ts-expect-error: not a word of the enum
	const input: SubmitTurnInput = { busyPolicy: "drop" };
	// @ts-expect-error: no such command
	await client.call("submit_tern", {});
	// @ts-expect-error: a subscription is a stream
	await client.subscribeEvents({ sessionId: "s" });
	// @ts-expect-error: no such event type
	client.events({ sessionId: "s", types: ["turn.finished"] });
	// @ts-expect-error: another event has no delta that is a text
	if (event.type === "turn.started") event.payload.delta.toUpperCase();
	// @ts-expect-error: no such code
	if (error instanceof RefusedError && error.code === "overlaoded") return;
	void input;
}
