// What users import.
export { AgentRuntime, type ClientOptions, type PendingAction } from "./client.js";
export type { CallOptions } from "./call.js";
export { AgentRuntimeError, ConnectionError, DeadlineError, RefusedError, StartError, type Refusal } from "./errors.js";
export { HttpTransport, type Fetch, type HttpOptions } from "./http.js";
export { EventStream, type EventOptions } from "./stream.js";
export type { Frame, Subscription, Token, Transport } from "./transport.js";
export { Turn, type Answer, type ClientTool, type FollowOptions, type Question, type RunOptions, type TurnResult } from "./turn.js";
export { WebSocketTransport, type WebSocketOptions } from "./websocket.js";
export * from "./gen/commands.js";
export * from "./gen/enums.js";
export * from "./gen/errors.js";
export * from "./gen/events.js";
