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
