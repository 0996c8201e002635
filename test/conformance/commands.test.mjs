// Commands: the catalogue against the standard's table, and encoded inputs and results against our schemas.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { validateCommandInput, validateCommandResult, validateSnapshot } from "../lib/schemas.mjs";
import { readFixture, readTable, samples } from "./standard.mjs";

const rows = readTable("commands.tsv");
const all = samples(["--commands"]);
const openapi = JSON.parse(readFileSync(new URL("../../catalog/gen/openapi.json", import.meta.url), "utf8"));

const OURS = ["fork_thread", "report_tool_result", "list_actions", "explain", "post_channel_message", "create_token", "list_tokens", "rotate_token", "revoke_token", "see_action", "get_settings", "list_audit", "list_artifacts", "get_artifact", "create_workspace", "list_workspaces", "get_workspace", "update_workspace", "archive_workspace", "inspect_workspace", "list_checkpoints", "diff_checkpoints", "restore_checkpoint", "create_worker", "enrol_worker", "list_workers", "get_worker", "update_worker", "remove_worker", "diff_workspace", "apply_workspace", "discard_workspace", "get_quota", "report_turn", "create_schedule", "update_schedule", "run_schedule", "end_schedule", "get_schedule", "list_schedules", "list_webhooks", "redeliver_webhook", "report_webhook", "report_job", "read_events", "update_session", "record_evidence", "count_events", "report_delivery", "redact_output", "get_usage", "find_tasks", "find_processes", "delegate_task", "report_peer_task", "set_task_push", "remove_task_push", "list_task_pushes"];

test("the catalogue has exactly the 63 commands of the standard, in its order, then our own", () => {
  const names = [...new Set(all.map((sample) => sample.command))];
  assert.equal(rows.length, 63);
  assert.deepEqual(names, [...rows.map((row) => row.command), ...OURS]);
});

/** The least that a schema of a shape allows. */
function least({ anyOf, enum: words, type, format, required = [], properties }) {
  if (anyOf) return least(anyOf[0]);
  if (words) return words[0];
  if (type === "object") return Object.fromEntries(required.map((name) => [name, least(properties[name])]));
  return { array: [], integer: 0, number: 0, boolean: true, string: format ? "2026-01-01T00:00:00Z" : "x" }[type] ?? null;
}

/** Samples of objects and arrays have no shape; those that the catalogue gives one get the least of it. */
function shaped(command, side, sample) {
  const file = new URL(`../../catalog/gen/schema/commands/${command}.${side}.schema.json`, import.meta.url);
  for (const [name, field] of Object.entries(JSON.parse(readFileSync(file, "utf8")).properties))
    if (name in sample && (field.items ?? field.properties)) sample[name] = field.items ? [least(field.items)] : least(field);
  return sample;
}

test("every input and result sample is valid under its schema", () => {
  assert.equal(all.length, 2 * (63 + OURS.length));
  for (const sample of all) {
    validateCommandInput(sample.command, shaped(sample.command, "input", sample.in));
    validateCommandResult(sample.command, shaped(sample.command, "result", sample.out));
  }
});

test("every error that the standard names for a command is one of ours", () => {
  const codes = new Set(openapi.components.schemas.ErrorCode.enum);
  for (const row of rows)
    for (const word of row.errors.replace(/\([^)]*\)|;.*/g, "").split(",").map((s) => s.trim()))
      if (word !== "none") assert.ok(codes.has(word), `${row.command}: ${word}`);
});

/** Events of our own that no command causes: the internal fact that does. */
const INTERNAL = {
  "access.refused": "a request is refused",
  "checkpoint.started": "a turn that may change files begins or ends",
  "checkpoint.created": "the copy of a workspace is there",
  "checkpoint.expired": "the retention of checkpoints",
  "job.reported": "the turn of an item ends",
  "turn.reported": "a turn that another session waits for ends",
  "worker.changed": "a worker connects, is lost or is drained",
  "workspace.inspected": "a turn begins in a folder",
  "workspace.preparing": "a turn begins in a session with files of its own",
  "workspace.prepared": "its files are there",
  "workspace.servers_starting": "a session of a workspace needs its servers",
  "workspace.servers_started": "they are there, or failed",
};

test("OPEN-37 each event is caused by a command that says so, or by an internal fact that is named; each command that the standard lacks is there", () => {
  const operations = Object.values(openapi.paths).flatMap((item) => Object.values(item));
  const emitted = new Set(operations.flatMap((operation) => operation["x-emits"] ?? []));
  const causes = new Map(readTable("events.tsv").map((row) => [row.type, row.caused_by]));
  const types = [...new Set(samples().map((event) => event.type))];
  for (const type of types) assert.ok(emitted.has(type) || causes.get(type) || INTERNAL[type], `nothing causes ${type}`);
  for (const type of emitted) assert.ok(types.includes(type), `${type} is no event`);
  for (const type of Object.keys(INTERNAL)) assert.ok(types.includes(type) && !emitted.has(type) && !causes.has(type), `${type} has a cause elsewhere`);
  const proposed = rows.filter((row) => row.origin.startsWith("proposed"));
  assert.equal(proposed.length, 16);
  for (const { command } of proposed) assert.ok(openapi.paths[`/v1/${command}`].post["x-origin"].startsWith("proposed"), command);
  const missing = operations.filter((operation) => operation["x-built"] === false).map((operation) => operation.operationId);
  assert.deepEqual(missing.filter((name) => !/benchmark/.test(name)), [], "only benchmarks are not there yet");
});

test("OpenAPI has every command, with its kind", () => {
  for (const row of rows) {
    const operation = openapi.paths[`/v1/${row.command}`]?.post;
    assert.ok(operation, row.command);
    assert.deepEqual(operation.tags, [row.kind], row.command);
  }
});

test("input schemas refuse mistyped names, missing members and unmet alternatives", () => {
  validateCommandInput("submit_turn", { sessionId: "s", text: "hi" });
  assert.throws(() => validateCommandInput("submit_turn", { sessionId: "s", text: "hi", txt: 1 }), /txt/);
  assert.throws(() => validateCommandInput("submit_turn", { text: "hi" }), /sessionId/);
  assert.throws(() => validateCommandInput("interrupt_turn", { sessionId: "s" }), /reason/);
});

test("the standard's snapshot fixture validates", () => {
  validateSnapshot(readFixture("thread-read-snapshot.json"));
  assert.throws(() => validateSnapshot({ schemaVersion: "lime-profile-0.4.0", sessionId: "s" }), /threads/);
});
