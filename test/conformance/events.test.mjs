// Events: the catalogue against the standard's table, and what the real encoder writes against all schemas.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isOfficialType, standardDir, validateCommandResult, validateEvent, validateOfficialEvent, validateSnapshot } from "../lib/schemas.mjs";
import { readFixture, readTable, samples } from "./standard.mjs";

const rows = readTable("events.tsv");
const all = samples();
const types = [...new Set(all.map((event) => event.type))];
const own = types.slice(126);
const schemaOf = (type) =>
  JSON.parse(readFileSync(new URL(`../../catalog/gen/schema/events/${type}.schema.json`, import.meta.url), "utf8"));
const expectRefused = (event, words) => assert.throws(() => validateEvent(event), words);

test("the catalogue has exactly the 126 types of the standard, in its order", () => {
  assert.deepEqual(types.slice(0, 126), rows.map((row) => row.type));
});

test("types of our own come after those of the standard, and only the extended view shows them", () => {
  assert.deepEqual(own, ["access.refused", "access.changed", "channel.acked", "workspace.created", "workspace.updated", "workspace.archived", "workspace.bound", "workspace.inspected", "checkpoint.started", "checkpoint.created", "checkpoint.failed", "checkpoint.restoring", "checkpoint.restored", "checkpoint.expired", "worker.created", "worker.enrolled", "worker.updated", "worker.removed", "worker.changed", "workspace.preparing", "workspace.prepared", "workspace.applying", "workspace.applied", "workspace.conflicted", "workspace.failed", "turn.reported", "schedule.created", "schedule.updated", "schedule.fired", "schedule.missed", "schedule.run_changed", "schedule.ended", "webhook.progressed", "webhook.failed", "webhook.redelivering", "webhook.redelivered", "job.reported", "workspace.removing", "workspace.removed", "workspace.servers_starting", "workspace.servers_started", "delivery.requested", "job.delivery", "webhook.added", "webhook.removed"]);
  const reference = readFileSync(new URL("../../docs/reference/events.md", import.meta.url), "utf8");
  for (const type of own) {
    assert.equal(isOfficialType(type), false, type);
    assert.match(reference.split(`### ${type}\n`)[1].split("\n##")[0], /class extended/);
  }
});

test("exactly the types outside the standard's schema are extended", () => {
  const inSchema = rows.filter((row) => row.in_schema_enum === "yes").map((row) => row.type);
  for (const { type } of rows) assert.equal(isOfficialType(type), inSchema.includes(type), type);
  assert.equal(rows.length - inSchema.length, 6);
});

test("every type has a full and a minimal sample, valid under our schema and the standard's", () => {
  assert.equal(all.length, 2 * types.length);
  for (const event of all) validateEvent(event);
});

test("every member that the standard marks as required is required by ours", () => {
  for (const { type, payload_fields: text } of rows) {
    const required = schemaOf(type).properties.payload.required ?? [];
    const plain = text.replace(/\(or /g, " or (").replace(/\([^)]*\)|\{[^}]*\}|<[^>]*>/g, "");
    for (const part of plain.split(/[,;]/).map((s) => s.trim())) {
      const match = /^(\w+):[^*]*\*$/.exec(part);
      if (match && !part.includes(" or ")) assert.ok(required.includes(match[1]), `${type}: ${match[1]}`);
    }
  }
});

test("every scope id that the standard asks for is required by ours", () => {
  for (const { type, scope_ids_required: text } of rows)
    for (const part of text.replace(/highest available.*/, "").split(",").filter((s) => !s.includes(" or "))) {
      const match = /^(\w+(?:Id|Ref))\b/.exec(part.trim());
      if (match && match[1] !== "traceId") // EV-08: there when something traces
        assert.ok(schemaOf(type).required.includes(match[1]), `${type}: ${match[1]}`);
    }
});

test("our schemas refuse what they should", () => {
  const good = all.find((event) => event.type === "turn.submitted");
  expectRefused({ ...good, turnId: undefined, payload: good.payload }, /turnId/);
  expectRefused({ ...good, payload: { ...good.payload, status: "done" } }, /status/);
  expectRefused({ ...good, payload: { ...good.payload, inputRef: null } }, /inputRef/);
  expectRefused({ ...good, payload: { ...good.payload, position: -1 } }, /position/);
  expectRefused({ ...good, schemaVersion: "0.1.0" }, /schemaVersion/);
  const tool = all.find((event) => event.type === "tool.started");
  expectRefused({ ...tool, payload: { ...tool.payload, safeArgs: undefined, inputRef: undefined } }, /inputRef/);
  const routing = all.find((event) => event.type === "routing.not_possible");
  expectRefused({ ...routing, payload: { ...routing.payload, candidateCount: 1 } }, /candidateCount/);
});

const fixtures = readdirSync(join(standardDir, "fixtures")).filter((name) => name.endsWith("-event.json"));

test("OPEN-19 all seven fixtures of the standard validate with no network", () => {
  assert.equal(fixtures.length, 5);
  for (const name of fixtures) validateOfficialEvent(readFixture(name));
  validateSnapshot(readFixture("thread-read-snapshot.json"));
  // The standard has no schema for a pack: it is held against that of the command which gives one, and says what was masked.
  validateCommandResult("export_benchmark_trial", { ...readFixture("benchmark-trial-pack.json"), redactionManifest: {} });
  assert.equal(readdirSync(join(standardDir, "fixtures")).length, 7);
});

test("the standard's fixtures come through our codec with nothing lost or changed", () => {
  const events = fixtures.map(readFixture);
  const back = samples(["--recode"], events.map((event) => JSON.stringify(event)).join("\n"));
  for (const [i, event] of events.entries()) {
    assert.equal(Date.parse(back[i].timestamp), Date.parse(event.timestamp));
    assert.deepEqual({ ...back[i], timestamp: event.timestamp }, event);
  }
});

test("OPEN-18 a fact stands in the payload: beside it are ids, refs and what the standard has there only, and of those nothing but ids is said inside as well", () => {
  const official = JSON.parse(readFileSync(join(standardDir, "schemas/agentruntime-event.schema.json"), "utf8"));
  const beside = /(Id|Ref)$|^(type|timestamp|schemaVersion|sequence|payload|refs|status|phase|statusReason|nativeStatus|benchmark|trajectory|reward|comparison)$/;
  const typed = Object.keys(official.properties).filter((name) => !beside.test(name));
  assert.ok(typed.includes("routingDecision") && typed.includes("taskAttempt") && typed.length > 15, typed.join());
  for (const event of all) {
    for (const name of Object.keys(event)) assert.match(name, beside, `${event.type} has ${name} beside its payload`);
    for (const name of Object.keys(event.payload)) // channel.acked and evidence.changed are about another sequence than their own
      if (name in event && name !== "sequence") assert.match(name, /(Id|Ref)$/, `${event.type} says ${name} twice`);
  }
});

test("EV-14 the payload of our own events is an object, where the public schema takes every form", () => {
  const { payload: declared } = JSON.parse(readFileSync(join(standardDir, "schemas/agentruntime-event.schema.json"), "utf8")).properties;
  assert.deepEqual([...declared.type].sort(), ["array", "boolean", "null", "number", "object", "string"]);
  const good = readFixture("submit-turn-event.json");
  for (const event of all) assert.equal(Object.prototype.toString.call(event.payload), "[object Object]", event.type);
  for (const payload of [[1], "text", 7, true, null]) expectRefused({ ...good, payload }, /payload/);
});

test("EV-11 members that nobody knows, beside the payload and in it, are taken and kept", () => {
  const event = readFixture("submit-turn-event.json");
  const more = { ...event, xVendor: { a: [1] }, payload: { ...event.payload, xNote: "n" } };
  validateOfficialEvent(more);
  const [back] = samples(["--recode"], JSON.stringify(more));
  assert.deepEqual({ ...back, timestamp: event.timestamp }, more);
});

test("PF-07 PF-09 OPEN-15 an event of a family that needs a scope id is refused without it, each type of each family", () => {
  const needs = [
    [/^(turn|model|reasoning|tool|action|permission|sandbox|hook|context|routing|cost|rate_limit|quota)\./, ["threadId", "turnId"]],
    [/^thread\./, ["threadId"]],
    [/^tool\./, ["stepId", "toolCallId"]],
    [/^task\./, ["taskId"]],
    [/^task\.attempt\./, ["runId"]],
    [/^action\./, ["actionId"]],
    [/^subagent\./, ["subagentId"]],
    [/^evidence\.changed$/, ["evidenceId"]],
    [/^process\./, ["processId"]],
    [/^output\./, ["outputRef"]],
    [/^job\./, ["jobId"]],
    [/^job\.item\./, ["jobItemId"]],
    [/^channel\./, ["channelId"]],
    [/^(queue\.changed$|history\.|context\.)/, ["threadId"]],
    [/^(model\.|cost\.recorded$)/, ["modelRequestId"]],
  ];
  for (const [family, ids] of needs) {
    const found = rows.map((row) => row.type).filter((type) => family.test(type));
    assert.ok(found.length > 0, String(family));
    for (const type of found) {
      const sample = all.find((event) => event.type === type);
      if (isOfficialType(type)) validateOfficialEvent(sample);
      for (const id of ids) {
        assert.ok(sample[id], `${type} has ${id}`);
        const { [id]: _, ...without } = sample;
        expectRefused(without, new RegExp(id));
      }
    }
  }
});

test("EV-01 EV-03 EV-16 what an envelope must have, and of which kind, is asked by our schema and by the standard's", () => {
  const good = all.find((event) => event.type === "turn.submitted");
  const refuse = (event, what) => {
    expectRefused(event, /./);
    assert.throws(() => validateOfficialEvent(event), undefined, what);
  };
  validateOfficialEvent(good);
  for (const name of ["type", "eventId", "timestamp"]) {
    const { [name]: _, ...without } = good;
    refuse(without, `an event without ${name}`);
  }
  refuse({ ...good, timestamp: "yesterday" }, "a day as a time");
  for (const name of ["nativeStatus", "status", "phase", "statusReason", "schemaVersion", "runtimeId", "traceId", "spanId"]) refuse({ ...good, [name]: 7 }, `a number as ${name}`);
});
