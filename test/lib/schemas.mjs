// JSON Schema checks for tests: our generated schemas (catalog/gen/schema) and the standard's own four, which are read
// from the folder that AR_STANDARD names. Every function throws with the faults and the value when something is wrong.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { digestOf, makeAjv, validatorOf } from "./validators.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const generated = resolve(here, "../../catalog/gen/schema");

/** Folder of the standard: schemas/, fixtures/, events.tsv, commands.tsv. */
export const standardDir = process.env.AR_STANDARD ?? resolve(here, "../../../shared/standard");
if (!existsSync(join(standardDir, "schemas")))
  throw new Error(`the standard is not at ${standardDir}; set AR_STANDARD to the folder with its schemas and tables`);

const read = (path) => readFileSync(path, "utf8");

// The profile schemas refer to the public ones relative to their own address, but those carry another: both are mapped.
const PROFILE_BASE = "https://limecloud.github.io/agentruntime/schemas/";
const KINDS = ["event", "snapshot"];
const addresses = (kind) => [
  `https://agentruntime.example/schemas/agentruntime-${kind}.schema.json`,
  `${PROFILE_BASE}agentruntime-lime-profile-${kind}.schema.json`,
];

const officialTexts = KINDS.flatMap((kind) =>
  ["", "lime-profile-"].map((part) => read(join(standardDir, "schemas", `agentruntime-${part}${kind}.schema.json`))),
);
const officialDigest = digestOf(...officialTexts);
let officialAjv; // only where one is not compiled yet

function compileOfficial() {
  const ajv = makeAjv({ strict: false });
  const schemas = officialTexts.map((text) => JSON.parse(text));
  for (const [at, kind] of KINDS.entries()) {
    ajv.addSchema(schemas[2 * at]);
    ajv.addSchema({ ...schemas[2 * at], $id: `${PROFILE_BASE}agentruntime-${kind}.schema.json` });
    ajv.addSchema(schemas[2 * at + 1]);
  }
  return ajv;
}

const compiled = new Map();

/** The validator of this name, made by the first who asks. */
function once(name, make) {
  if (!compiled.has(name)) compiled.set(name, make());
  return compiled.get(name);
}

function officialSchema(address) {
  return once(address, () =>
    validatorOf([address, officialDigest], () => {
      officialAjv ??= compileOfficial();
      return [officialAjv, officialAjv.getSchema(address)];
    }),
  );
}

const OUR_OPTIONS = { strict: true, strictRequired: false, strictTypes: false };
let ourAjv;

function compileOurs(text) {
  ourAjv ??= makeAjv(OUR_OPTIONS);
  return [ourAjv, ourAjv.compile(JSON.parse(text))];
}

function ourSchema(path) {
  return once(path, () => {
    const file = join(generated, path);
    if (!existsSync(file)) throw new Error(`the catalogue has no schema ${path}`);
    const text = read(file);
    return validatorOf([JSON.stringify(OUR_OPTIONS), text], () => compileOurs(text));
  });
}

function check(validate, value, label) {
  if (validate(value)) return;
  const faults = validate.errors.map((e) => `  ${e.instancePath || "/"} ${e.message} ${JSON.stringify(e.params)}`);
  throw new Error(`${label}:\n${faults.join("\n")}\n  in ${JSON.stringify(value)}`);
}

const officialTypes = new Set(JSON.parse(officialTexts[0]).properties.type.enum);

/** Whether the type is in the standard's own schema; the few others go out on the extended view only. */
export function isOfficialType(type) {
  return officialTypes.has(type);
}

/** The standard's public and profile event schemas. */
export function validateOfficialEvent(event) {
  for (const address of addresses("event")) check(officialSchema(address), event, `${event.type} under ${address}`);
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
  for (const address of addresses("snapshot")) check(officialSchema(address), snapshot, `snapshot under ${address}`);
}
