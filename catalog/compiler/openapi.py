"""gen/openapi.json: OpenAPI 3.1 of the HTTP surface, POST for every command and GET for the reads that have a path."""

import re

from .schema import shape_schema, text

ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "additionalProperties": True,
            "required": ["code", "message", "retryable", "next"],
            "properties": {
                "code": {"$ref": "#/components/schemas/ErrorCode"},
                "message": {"type": "string", "description": "What went wrong here, for people."},
                "retryable": {"type": "boolean", "description": "Whether the same call may succeed later."},
                "next": {"type": "string", "description": "What this code means and what to do about it."},
            },
        }
    },
}


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def ref(name):
    return {"$ref": f"#/components/schemas/{name}"}


def json_content(schema):
    return {"application/json": {"schema": schema}}


def responses(catalog, command, ok):
    groups = {}
    for error in catalog.errors:
        if error.name in command.fails:
            groups.setdefault(str(error.http), []).append(error.name)
    out = {"200": {"description": "Done.", "content": ok}}
    for status in sorted(groups):
        out[status] = {"description": ", ".join(groups[status]), "content": json_content(ref("Error"))}
    out["default"] = {"description": "Any other error.", "content": json_content(ref("Error"))}
    return out


def key_header(c):
    """The idempotencyKey of a write may come as a header instead."""
    if not any(f.name == "idempotencyKey" for f in c.input.fields):
        return {}
    return {"parameters": [{"name": "Idempotency-Key", "in": "header", "required": False, "schema": {"type": "string"},
                            "description": "The same as idempotencyKey in the body; both may come if they are equal."}]}


def post(catalog, c):
    return {"operationId": c.name, "summary": c.doc, "tags": [c.kind], "x-scope": c.scope, "x-built": c.built, "x-emits": c.emits, **key_header(c),
            "requestBody": {"required": True, "content": json_content(ref(camel(c.name) + "Input"))},
            "responses": responses(catalog, c, json_content(ref(camel(c.name) + "Result")))}


# Reads whose answer over GET is not a JSON object.
GET_CONTENT = {
    "subscribe_events": {"text/event-stream": {"schema": {"type": "string"}}},
    "read_output": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}


def get(catalog, c, path):
    in_path = re.findall(r"\{(\w+)\}", path)
    properties = shape_schema(c.input)["properties"]
    parameters = []
    for f in c.input.fields:
        if f.kind in ("object", "json"):
            continue
        if f.name == "sessionId" and f.name not in in_path and " " in c.get:
            continue  # the path that names it is the other one
        where = "path" if f.name in in_path else "query"
        parameters.append({"name": f.name, "in": where, "required": where == "path", "description": f.doc,
                           "schema": {k: v for k, v in properties[f.name].items() if k != "description"}})
    content = GET_CONTENT.get(c.name) or json_content(ref(camel(c.name) + "Result"))
    name = f"{c.name}_get" if path == c.get.split()[0] else f"{c.name}_of_all_get"
    return {"operationId": name, "summary": c.doc, "tags": [c.kind], "x-scope": c.scope, "x-built": c.built,
            "parameters": parameters, "responses": responses(catalog, c, content)}


def outputs(catalog):
    schemas = {"Error": ERROR, "ErrorCode": {"type": "string", "enum": [e.name for e in catalog.errors]}}
    paths = {}
    for c in catalog.commands:
        schemas[camel(c.name) + "Input"] = shape_schema(c.input) | {"additionalProperties": False}
        schemas[camel(c.name) + "Result"] = shape_schema(c.output)
        paths.setdefault(f"/v1/{c.name}", {})["post"] = post(catalog, c)
        for path in c.get.split():
            paths.setdefault(path, {})["get"] = get(catalog, c, path)
    return {"openapi.json": text({
        "openapi": "3.1.0",
        "info": {"title": "Agent Runtime", "version": "1",
                 "description": "Every command of the runtime over HTTP. x-built says which ones this version answers."},
        "paths": paths,
        "components": {"schemas": schemas},
    })}
