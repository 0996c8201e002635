// JSON Schema checks for tests: our generated schemas (catalog/gen/schema) and the standard's own four, which are read
// from the folder that AR_STANDARD names. Every function throws with the faults and the value when something is wrong.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import addFormats from "ajv-formats";
import Ajv2020 from "ajv/dist/2020.js";

const here = dirname(fileURLToPath(import.meta.url));
const generated = resolve(here, "../../catalog/gen/schema");

/** Folder of the standard: schemas/, fixtures/, events.tsv, commands.tsv. */
export const standardDir = process.env.AR_STANDARD ?? resolve(here, "../../../shared/standard");
if (!existsSync(join(standardDir, "schemas")))
  throw new Error(`the standard is not at ${standardDir}; set AR_STANDARD to the folder with its schemas and tables`);

function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}

function makeAjv(options) {
  const ajv = new Ajv2020({ allErrors: true, ...options });
  addFormats(ajv);
  return ajv;
}

// The profile schemas refer to the public ones relative to their own address, but those carry another: both are mapped.
const PROFILE_BASE = "https://limecloud.github.io/agentruntime/schemas/";

function loadOfficial() {
  const ajv = makeAjv({ strict: false });
  for (const kind of ["event", "snapshot"]) {
    const name = `agentruntime-${kind}.schema.json`;
    const schema = readJson(join(standardDir, "schemas", name));
    ajv.addSchema(schema);
    ajv.addSchema({ ...schema, $id: PROFILE_BASE + name });
    ajv.addSchema(readJson(join(standardDir, "schemas", `agentruntime-lime-profile-${kind}.schema.json`)));
  }
  return (kind) => [
    ajv.getSchema(`https://agentruntime.example/schemas/agentruntime-${kind}.schema.json`),
    ajv.getSchema(`${PROFILE_BASE}agentruntime-lime-profile-${kind}.schema.json`),
  ];
}

const official = loadOfficial();
const ours = makeAjv({ strict: true, strictRequired: false, strictTypes: false });
const compiled = new Map();

function ourSchema(path) {
  if (!compiled.has(path)) {
    const file = join(generated, path);
    if (!existsSync(file)) throw new Error(`the catalogue has no schema ${path}`);
    compiled.set(path, ours.compile(readJson(file)));
  }
  return compiled.get(path);
}

function check(validate, value, label) {
  if (validate(value)) return;
  const faults = validate.errors.map((e) => `  ${e.instancePath || "/"} ${e.message} ${JSON.stringify(e.params)}`);
  throw new Error(`${label}:\n${faults.join("\n")}\n  in ${JSON.stringify(value)}`);
}

const officialTypes = new Set(
  readJson(join(standardDir, "schemas/agentruntime-event.schema.json")).properties.type.enum,
);

/** Whether the type is in the standard's own schema; the few others go out on the extended view only. */
export function isOfficialType(type) {
  return officialTypes.has(type);
}

/** The standard's public and profile event schemas. */
export function validateOfficialEvent(event) {
  for (const validate of official("event")) check(validate, event, `${event.type} under ${validate.schema.$id}`);
}

/** Our schema of its type, and the standard's two when the type is one of theirs. */
export function validateEvent(event) {
  check(ourSchema(`events/${event?.type}.schema.json`), event, `${event?.type} under our schema`);
  if (isOfficialType(event.type)) validateOfficialEvent(event);
}

export function validateCommandInput(name, input) {
  check(ourSchema(`commands/${name}.input.schema.json`), input, `input of ${name}`);
}

export function validateCommandResult(name, result) {
  check(ourSchema(`commands/${name}.result.schema.json`), result, `result of ${name}`);
}

/** The standard's public and profile snapshot schemas, for get_session and get_thread_read. */
export function validateSnapshot(snapshot) {
  for (const validate of official("snapshot")) check(validate, snapshot, `snapshot under ${validate.schema.$id}`);
}
