"""gen/openapi.json: OpenAPI 3.1 of the HTTP surface: POST for every command, GET for the reads that have a path, and the other routes.
Every status that an operation may answer is declared, with the error codes that come with it; there is no `default`."""

import json
import re

from .model import CatalogError
from .schema import any_event_schema, field_schema, shape_schema

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
                "retryAfterMs": {"type": "integer", "description": "When it may, where that is known."},
            },
        }
    },
}

ABOUT = ("Every command of the runtime as POST /v1/<command>, reads also as GET, and the routes for operators. x-built says which "
         "commands this version answers, x-emits which events a command may cause, x-origin where the standard names it. "
         "Each event is described by a schema of its own in catalog/gen/schema. A request that is not HTTP as it should be is answered "
         "with 417 or 505 and an Error before there is a route; a path that is not listed with 404, another method with 405.")

SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API token (agentctl token create), or a signed token of a configured issuer."},
    "certificate": {"type": "mutualTLS", "description": "A client certificate whose subject is listed in the settings (certificates)."},
}

HEADERS = {
    "RetryAfter": {"description": "Seconds to wait before the next try.", "schema": {"type": "integer"}},
    "Challenge": {"description": "What has to be shown.", "schema": {"const": "Bearer"}},
    "ETag": {"description": "Changes when the content does.", "schema": {"type": "string"}},
}
SENT_WITH = {"401": ("WWW-Authenticate", "Challenge"), "429": ("Retry-After", "RetryAfter"), "503": ("Retry-After", "RetryAfter")}

MEANING = {101: "The connection is a WebSocket now.", 200: "Done.", 202: "Accepted.", 304: "It has not changed.",
           503: "Not now."}


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def ref(name, kind="schemas"):
    return {"$ref": f"#/components/{kind}/{name}"}


def name_shape(shape):
    return {"anyOf": [{"type": "string"}, ref(camel(shape.name))]} if shape.or_text else ref(camel(shape.name))


def json_content(schema):
    return {"application/json": {"schema": schema}}


# ---- errors ----

def error_response(status, codes):
    narrowed = ref("Error") | {"properties": {"error": {"properties": {"code": {"enum": codes}}}}}
    response = {"description": ", ".join(codes), "content": json_content(narrowed)}
    if status in SENT_WITH:
        name, header = SENT_WITH[status]
        response["headers"] = {name: ref(header, "headers")}
    return response


def by_status(errors):
    groups = {}
    for error in errors:
        groups.setdefault(str(error.http), []).append(error.name)
    return groups


def common(catalog, method):
    return by_status(e for e in catalog.errors if e.asked == "any" or (e.asked == "post" and method == "POST"))


def error_responses(catalog, method, fails):
    """What every request may get stands among the components; what more may come is said with the operation."""
    usual = common(catalog, method)
    asked = {code for codes in usual.values() for code in codes} | set(fails)
    groups = by_status(e for e in catalog.errors if e.name in asked)
    return {status: ref(f"{method.capitalize()}{status}", "responses") if codes == usual.get(status) else error_response(status, codes)
            for status, codes in groups.items()}


def common_responses(catalog):
    return {f"{method.capitalize()}{status}": error_response(status, codes)
            for method in ("GET", "POST") for status, codes in common(catalog, method).items()}


# ---- operations ----

def security(scope):
    """Who may come in, and with which scope; {}: on this machine the kernel may say who it is."""
    return [{"bearer": scope}, {"certificate": scope}, {}]


def in_order(responses):
    return {status: responses[status] for status in sorted(responses)}


STREAM = {"text/event-stream": {"schema": {"type": "string", "description": "Server-sent events: id is the cursor, data an Event."},
                                "x-item-schema": ref("Event")}}


def fails_of(catalog, c):
    taken = {f.name for f in c.input.fields} | ({"key"} if c.key or c.input.find("idempotencyKey") else set())
    taken |= {"*"} if any(f.is_id for f in c.input.fields) else set()
    return c.fails + [e.name for e in catalog.errors if e.asked in taken]


def answer_of(catalog, method, c):
    content = STREAM if c.name == "subscribe_events" else json_content(ref(camel(c.name) + "Result"))
    if c.also:
        content = content | {c.also: {"schema": {"type": "string"}}}
    return in_order({str(c.http): {"description": MEANING[c.http], "content": content}, **error_responses(catalog, method, fails_of(catalog, c))})


def about(c, name):
    return {"operationId": name, "summary": c.doc, "tags": [c.kind], "security": security([c.scope]), "x-scope": c.scope,
            "x-command": c.name, "x-origin": c.origin, "x-built": c.built}


def key_header(c):
    """The idempotencyKey of a write may come as a header instead."""
    if not c.input.find("idempotencyKey"):
        return {}
    return {"parameters": [{"name": "Idempotency-Key", "in": "header", "required": False, "schema": {"type": "string"},
                            "description": "The same as idempotencyKey in the body; both may come if they are equal."}]}


def post(catalog, c):
    return about(c, c.name) | {"x-emits": c.emits, **key_header(c),
                               "requestBody": {"required": True, "content": json_content(ref(camel(c.name) + "Input"))},
                               "responses": answer_of(catalog, "POST", c)}


def parameter(f, where):
    schema = {k: v for k, v in field_schema(f).items() if k != "description"}
    made = {"name": f.name, "in": where, "required": where == "path", "description": f.doc, "schema": schema}
    if f.kind == "array":
        made |= {"style": "form", "explode": False, "schema": {"type": "array", "items": {"type": "string"}}}
    return made


def get(catalog, c, path):
    in_path = re.findall(r"\{(\w+)\}", path)
    parameters = []
    for f in c.input.fields:
        if f.kind in ("object", "json"):
            continue
        if f.name == "sessionId" and f.name not in in_path and " " in c.get:
            continue  # the path that names it is the other one
        parameters.append(parameter(f, "path" if f.name in in_path else "query"))
    if c.name == "subscribe_events":
        parameters.append({"name": "Last-Event-ID", "in": "header", "required": False, "schema": {"type": "string"},
                           "description": "The same as after, as browsers send it."})
    name = f"{c.name}_get" if path == c.get.split()[0] else f"{c.name}_of_all_get"
    return about(c, name) | {"parameters": parameters, "responses": answer_of(catalog, "GET", c)}


def route_answers(r):
    schema = ref(camel(r.name) + "Answer") if r.type == "application/json" else {"type": "string"}
    answers = {str(status): {"description": MEANING[status]} for status in r.answers}
    for status, answer in answers.items():
        if status not in ("101", "304"):
            answer["content"] = {r.type.split(";")[0]: {"schema": schema}}
        if r.name == "openapi":
            answer["headers"] = {"ETag": ref("ETag", "headers")}
    return answers


def merged(catalog, r):
    """An answer and an error may share a status: /ready says with 503 that it is not ready."""
    answers, errors = route_answers(r), error_responses(catalog, r.method, r.fails)
    for status in set(answers) & set(errors):
        error = error_response(status, common(catalog, r.method)[status])
        both = {"anyOf": [answers[status]["content"]["application/json"]["schema"], error["content"]["application/json"]["schema"]]}
        answers[status] = error | {"description": f"{answers[status]['description']} Or: {error['description']}", "content": json_content(both)}
    if r.name == "rpc":
        answers["426"] = {"description": "It is asked without an upgrade to a WebSocket.", "content": json_content(ref("Error"))}
    return in_order(errors | answers)


def route(catalog, r):
    scope = [] if r.access == "any" else [r.access]
    made = {"operationId": r.name, "summary": r.doc, "tags": ["operate"], "security": [] if r.access == "public" else security(scope)}
    if r.writes:
        made["x-writes"] = r.writes
    names = [part[1:-1] for part in r.path.split("/") if part.startswith("{")]
    if names:
        made["parameters"] = [{"name": n, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}} for n in names]
    if r.method == "POST":
        made["requestBody"] = {"required": False, "content": json_content(ref(camel(r.name) + "Question"))}
    return made | {"responses": merged(catalog, r)}


# ---- the document ----

def paths(catalog):
    made = {}
    for c in catalog.commands:
        made.setdefault(f"/v1/{c.name}", {})["post"] = post(catalog, c)
        for path in c.get.split():
            made.setdefault(path, {})["get"] = get(catalog, c, path)
    for r in catalog.routes:
        if r.access != "node":
            made.setdefault(r.path, {})[r.method.lower()] = route(catalog, r)
    return made


def event(catalog):
    return {k: v for k, v in any_event_schema(catalog).items() if not k.startswith("$")}


def answered_shapes(catalog):
    """Shapes that a command or route takes or answers; those of events only stand in the schemas of events."""
    found = {}

    def walk(shape):
        for f in shape.fields:
            if f.of and f.of.name not in found:
                found[f.of.name] = f.of
                walk(f.of)

    for c in catalog.commands:
        walk(c.input)
        if c.name != "subscribe_events":
            walk(c.output)
    for r in catalog.routes:
        if r.access != "node":
            walk(r.input)
            walk(r.output)
    return [s for s in catalog.shapes.values() if s.name in found]


def schemas(catalog):
    made = {"Error": ERROR, "ErrorCode": {"type": "string", "enum": [e.name for e in catalog.errors]}, "Event": event(catalog)}
    for shape in answered_shapes(catalog):
        if camel(shape.name) in made:
            raise CatalogError(f"shape {shape.name} would be called {camel(shape.name)}, which the document has already")
        made[camel(shape.name)] = shape_schema(shape, name_shape)
    for c in catalog.commands:
        made[camel(c.name) + "Input"] = shape_schema(c.input, name_shape) | {"additionalProperties": False}
        if c.name != "subscribe_events":
            made[camel(c.name) + "Result"] = shape_schema(c.output, name_shape)
    for r in catalog.routes:
        if r.access == "node":
            continue
        if r.method == "POST":
            made[camel(r.name) + "Question"] = shape_schema(r.input, name_shape)
        if r.output.fields:
            made[camel(r.name) + "Answer"] = shape_schema(r.output, name_shape)
    return made


def document(catalog):
    listen = next(k.default for k in catalog.config if k.name == "listen")
    return {
        "openapi": "3.1.0",
        "info": {"title": "Agent Runtime", "version": "1", "description": ABOUT,
                 "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "servers": [{"url": "/", "description": "The server that gave this document."},
                    {"url": f"http://{listen}", "description": "agentd with default settings, as a service. One that agentctl starts has a unix socket only."}],
        "security": security([]),
        "tags": [{"name": "read", "description": "Commands that change nothing."},
                 {"name": "write", "description": "Commands that add facts."},
                 {"name": "operate", "description": "The server as a whole."}],
        "paths": paths(catalog),
        "components": {"securitySchemes": SCHEMES, "headers": HEADERS, "responses": common_responses(catalog), "schemas": schemas(catalog)},
    }


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def section(members):
    """An object with a member per line: a change is a line in a diff, and the whole stays small enough to serve."""
    return "{\n" + ",\n".join(f"{compact(name)}:{value}" for name, value in members.items()) + "\n}"


def text(catalog):
    whole = document(catalog)
    lines = {name: compact(value) for name, value in whole.items()}
    lines["paths"] = section({name: compact(value) for name, value in whole["paths"].items()})
    lines["components"] = section({kind: section({name: compact(value) for name, value in all_of.items()})
                                   for kind, all_of in whole["components"].items()})
    return section(lines) + "\n"


def outputs(catalog):
    return {"openapi.json": text(catalog)}
