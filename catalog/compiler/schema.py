"""gen/schema/: one JSON Schema (draft 2020-12) per event, whole envelope, and two per command."""

import json

SCHEMA_VERSION = "lime-profile-0.4.0"
DRAFT = "https://json-schema.org/draft/2020-12/schema"
JSON_TYPES = {"string": "string", "ref": "string", "time": "string", "int": "integer", "num": "number",
              "bool": "boolean", "object": "object", "array": "array"}


def text(value):
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def nested(shape, name_it):
    """A shape where a field names it. A reader takes null for a member that is not there, so each may have it."""
    if name_it:
        return name_it(shape)
    schema = shape_schema(shape, name_it)
    return {"anyOf": [{"type": "string"}, schema]} if shape.or_text else schema


def may_be_null(schema):
    if "enum" in schema:
        return schema | {"enum": schema["enum"] + [None]}
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return schema | {"type": types + ["null"]}
    return {"anyOf": [schema, {"type": "null"}]} if "$ref" in schema else schema


def field_schema(f, name_it=None):
    schema = {"description": f.doc}
    if f.kind == "enum":
        return schema | {"enum": list(f.values.values)}
    types = f.types or ([JSON_TYPES[f.kind]] if f.kind in JSON_TYPES else [])
    if f.nullable:
        types = types + ["null"]
    if types:
        schema["type"] = types[0] if len(types) == 1 else types
    if f.kind == "time":
        schema["format"] = "date-time"
    if f.kind in ("string", "ref"):
        schema |= ({"minLength": f.min} if f.min else {}) | {"maxLength": f.max}
    if f.kind == "int" and not f.signed:
        schema["minimum"] = 0
    if f.kind == "int" and f.max:
        schema["maximum"] = f.max
    if f.of_text:
        schema["items"] = {"type": "string"}
    elif f.of and f.kind == "array":
        schema["items"] = nested(f.of, name_it)
    elif f.of:
        inner = nested(f.of, name_it)
        schema = ({k: v for k, v in schema.items() if k != "type"} if "$ref" in inner else schema) | inner
        schema["description"] = f.doc
    if f.only is not None:
        schema["const"] = f.only
    return schema


def any_required(names):
    return {"anyOf": [{"required": [name]} for name in names]}


def shape_schema(shape, name_it=None):
    """name_it(shape) gives what stands for a shape that a field names; without it the shape itself stands there."""
    properties = {f.name: field_schema(f, name_it) for f in shape.fields}
    if shape.name:
        properties = {f.name: properties[f.name] if f.required else may_be_null(properties[f.name]) for f in shape.fields}
    schema = {"type": "object", "additionalProperties": not shape.closed, "properties": properties}
    if shape.doc:
        schema["description"] = shape.doc
    required = [f.name for f in shape.fields if f.required]
    if required:
        schema["required"] = required
    if shape.oneofs:
        schema["allOf"] = [any_required(names) for names in shape.oneofs]
    return schema


def envelope(catalog, type_schema):
    ids = {s.member: {"description": s.doc, "type": "string", "minLength": 1} for s in catalog.scopes}
    return {
        "type": type_schema,
        "eventId": {"description": "Names the event; equal ids are the same event.", "type": "string", "minLength": 1},
        "timestamp": {"description": "When it happened by the producer's clock.", "type": "string",
                      "format": "date-time"},
        "schemaVersion": {"const": SCHEMA_VERSION},
        "runtimeId": {"description": "Runtime that wrote it.", "type": "string", "minLength": 1},
        "sessionId": {"description": "Session it belongs to.", "type": "string", "minLength": 1},
        **ids,
        "sequence": {"description": "Place in the session: facts count up without gaps, frames carry the head.",
                     "type": "integer", "minimum": 0},
    }


BASE_REQUIRED = ["type", "eventId", "timestamp", "schemaVersion", "runtimeId", "sessionId", "sequence", "payload"]


def event_schema(catalog, e):
    properties = envelope(catalog, {"const": e.name}) | {"payload": shape_schema(e.payload)}
    properties |= {name: {"type": "object"} for name in e.needs}
    schema = {"$schema": DRAFT, "$id": f"urn:agentruntime:event:{e.name}", "title": e.name, "description": e.doc,
              "type": "object", "additionalProperties": True, "properties": properties,
              "required": BASE_REQUIRED + [catalog.scope_member(s) for s in e.scope] + e.needs}
    if e.anyscope:
        schema["allOf"] = [any_required([catalog.scope_member(s) for s in e.anyscope])]
    return schema


def any_event_schema(catalog):
    properties = envelope(catalog, {"enum": [e.name for e in catalog.events]}) | {"payload": {"type": "object"}}
    return {"$schema": DRAFT, "$id": "urn:agentruntime:event", "title": "Any event of the runtime",
            "description": "The envelope with all types, the extended ones among them.", "type": "object",
            "additionalProperties": True, "properties": properties, "required": BASE_REQUIRED}


def input_schema(command):
    schema = shape_schema(command.input) | {"additionalProperties": False}
    return {"$schema": DRAFT, "$id": f"urn:agentruntime:command:{command.name}:input", "title": command.name,
            "description": command.doc} | schema


def result_schema(command):
    return {"$schema": DRAFT, "$id": f"urn:agentruntime:command:{command.name}:result",
            "title": f"{command.name} result", "description": command.doc} | shape_schema(command.output)


def outputs(catalog):
    files = {"schema/event.schema.json": text(any_event_schema(catalog))}
    for e in catalog.events:
        files[f"schema/events/{e.name}.schema.json"] = text(event_schema(catalog, e))
    for c in catalog.commands:
        files[f"schema/commands/{c.name}.input.schema.json"] = text(input_schema(c))
        files[f"schema/commands/{c.name}.result.schema.json"] = text(result_schema(c))
    return files
