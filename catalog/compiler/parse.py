"""Reads the .cat files. A declaration starts at column 0, its lines are indented, `#` starts a comment.

A line inside an event is a field when its second word is a type, else it is an attribute of the event; so a payload
may well have a field called `scope`. In a command the fields carry `in` or `out` in front."""

import re
import shlex

from .model import (ACCESS, DEFAULT_MAX, SCOPES, TARGETS, Attribute, Catalog, CatalogError, Command, ConfigKey, ConfigList, Enum, Error, Event, Field, Join,
                    Machine, Metric, Route, Scope, Shape, Span, State)

TYPE = re.compile(r"^(id|string|ref|int|sint|num|bool|time|object|array|json|enum\([^)]*\)|enum:[a-z_]+)([!?]?)$")
MAX_FIELDS = 64  # the codec keeps the fields it has seen in one 64-bit word


def words(line):
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.quotes = '"'
    lexer.commenters = "#"
    return list(lexer)


def blocks(path):
    """Yields (location, head words, [(location, words)]) for each declaration of one file."""
    head, body, where = None, [], ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        tokens = words(line)
        if not tokens:
            continue
        at = f"{path.name}:{number}"
        if line[0] in " \t":
            if head is None:
                raise CatalogError(f"{at}: an indented line without a declaration above it")
            body.append((at, tokens))
            continue
        if head is not None:
            yield where, head, body
        head, body, where = tokens, [], at
    if head is not None:
        yield where, head, body


def options(tokens):
    return dict(t.split("=", 1) if "=" in t else (t, "") for t in tokens)


def is_field(tokens):
    return len(tokens) > 1 and TYPE.match(tokens[1])


def parse_of(catalog, at, f, name):
    f.of, f.of_text = catalog.shapes.get(name), name == "text"
    if f.kind == "array" and f.of_text and not f.raw:
        return
    if f.kind not in ("object", "array") or not f.of:
        raise CatalogError(f"{at}: of= names the shape of an object or of the entries of an array, or text for an array of texts")


def parse_field(catalog, at, tokens):
    match = TYPE.match(tokens[1]) if len(tokens) > 1 else None
    if not match:
        raise CatalogError(f"{at}: '{' '.join(tokens)}' is not a field: name type[!] [options] \"doc\"")
    kind, doc, opts = match.group(1), tokens[-1], options(tokens[2:-1])
    if not doc.endswith("."):
        raise CatalogError(f"{at}: field {tokens[0]} needs a sentence as its last word")
    f = Field(tokens[0], kind, doc, required=match.group(2) == "!")
    if kind.startswith("enum("):
        f.kind, f.values = "enum", Enum("", kind[5:-1].split(","))
    elif kind.startswith("enum:"):
        f.kind, f.values = "enum", catalog.enums[kind[5:]]
    elif kind == "id":
        f.kind, f.is_id, f.max = "string", True, 128
    elif kind == "sint":
        f.kind, f.signed = "int", True
    f.max = int(opts.pop("max", f.max or DEFAULT_MAX.get(f.kind, 0)))
    f.nullable = opts.pop("nullable", None) is not None
    f.types = opts.pop("types").split(",") if "types" in opts else None
    f.raw = opts.pop("raw", "")
    if "of" in opts:
        parse_of(catalog, at, f, opts.pop("of"))
    elif f.kind in ("object", "array", "json") and not f.raw.endswith("."):
        raise CatalogError(f"{at}: {f.name} names a shape (of=), or says in a sentence why it has none (raw=)")
    if "is" in opts:
        text = opts.pop("is")
        f.only = text == "true" if f.kind == "bool" else int(text)
    if opts:
        raise CatalogError(f"{at}: unknown option {sorted(opts)}")
    if f.nullable and f.kind not in ("string", "ref", "time", "object", "array", "json"):
        raise CatalogError(f"{at}: {f.kind} cannot be nullable")
    return f


def add_field(catalog, shape, at, tokens):
    f = parse_field(catalog, at, tokens)
    if shape.find(f.name):
        raise CatalogError(f"{at}: field {f.name} is declared twice")
    shape.fields.append(f)
    if len(shape.fields) > MAX_FIELDS:
        raise CatalogError(f"{at}: more than {MAX_FIELDS} fields")


def add_oneof(shape, at, names):
    for name in names:
        if not shape.find(name):
            raise CatalogError(f"{at}: oneof names {name}, which is not declared above it")
    shape.oneofs.append(names)


def parse_shape(catalog, at, head, body):
    options = head[2:-1]
    shape = Shape(name=head[1], doc=head[-1], closed="closed" in options, or_text="or=string" in options,
                  content="content" in options)
    for at, tokens in body:
        add_field(catalog, shape, at, tokens)
    catalog.shapes[shape.name] = shape


def parse_event(catalog, family, at, head, body):
    event = Event(int(head[1]), head[2], family, payload=Shape())
    known = {s.name for s in catalog.scopes}
    for at, tokens in body:
        key, rest = tokens[0], tokens[1:]
        if len(tokens) == 1:
            event.doc = key
        elif is_field(tokens):
            add_field(catalog, event.payload, at, tokens)
        elif key in ("scope", "anyscope"):
            if set(rest) - known:
                raise CatalogError(f"{at}: unknown scope {set(rest) - known}")
            setattr(event, key, rest)
        elif key == "needs":
            event.needs = rest
        elif key == "keep" and rest[0] in ("durable", "frame"):
            event.keep = rest[0]
        elif key == "class" and rest[0] in ("standard", "expanded", "extended"):
            event.klass = rest[0]
        elif key == "emitted" and rest == ["no"]:
            event.emitted = False
        elif key == "oneof":
            add_oneof(event.payload, at, rest)
        else:
            raise CatalogError(f"{at}: cannot read '{' '.join(tokens)}'")
    if not (event.doc and event.klass and event.payload.fields):
        raise CatalogError(f"{at}: {event.name} needs a sentence, a class and fields")
    catalog.events.append(event)


def parse_command(catalog, at, head, body):
    command = Command(int(head[1]), head[2], input=Shape(), output=Shape())
    sides = {"in": command.input, "out": command.output}
    for at, tokens in body:
        key, rest = tokens[0], tokens[1:]
        if len(tokens) == 1:
            command.doc = key
        elif key in sides and rest[0] == "oneof":
            add_oneof(sides[key], at, rest[1:])
        elif key in sides:
            add_field(catalog, sides[key], at, rest)
        elif key in ("emits", "fails"):
            getattr(command, key).extend(rest)
        elif key in ("kind", "scope", "origin", "key", "get", "repeat"):
            setattr(command, key, " ".join(rest))
        elif key == "target":
            end = rest.index("else") if "else" in rest else len(rest)
            command.target, command.target_error = rest[:end], "".join(rest[end + 1:])
        elif key == "built":
            command.built = rest == ["yes"]
        elif key == "audit":
            command.is_quiet = rest == ["no"]
        elif key == "http":
            command.http = int(rest[0])
        elif key == "also":
            command.also = rest[0]
        else:
            raise CatalogError(f"{at}: cannot read '{' '.join(tokens)}'")
    if command.kind not in ("read", "write") or not command.doc:
        raise CatalogError(f"{at}: {command.name} needs a sentence and kind read or write")
    if command.scope not in SCOPES or (command.kind == "read" and command.scope not in ("read", "admin")):
        raise CatalogError(f"{at}: {command.name} needs a scope, one of {', '.join(SCOPES)}; a read has read or admin")
    catalog.commands.append(command)


def parse_route(catalog, at, head, body):
    route = Route(*head[1:])
    sides = {"in": route.input, "out": route.output}
    for at, tokens in body:
        key, rest = tokens[0], tokens[1:]
        if len(tokens) == 1:
            route.doc = key
        elif key in sides:
            add_field(catalog, sides[key], at, rest)
        elif key == "answers":
            route.answers = [int(status) for status in rest]
        elif key == "fails":
            route.fails = rest
        elif key in ("access", "type", "writes"):
            setattr(route, key, rest[0])
        else:
            raise CatalogError(f"{at}: cannot read '{' '.join(tokens)}'")
    if not route.doc or route.access not in ACCESS or route.method not in ("GET", "POST"):
        raise CatalogError(f"{at}: {route.name} needs a sentence, a method and access, one of {', '.join(ACCESS)}")
    if (route.method == "POST") != bool(route.writes):
        raise CatalogError(f"{at}: {route.name}: what is POSTed says what it writes, and nothing else does")
    catalog.routes.append(route)


def parse_machine(catalog, at, head, body):
    machine = Machine(head[1], head[2])
    for at, tokens in body:
        if tokens[0] == "state":
            machine.states.append(State(tokens[1], "final" in tokens[2:-1], tokens[-1]))
        elif tokens[0] == "on" and "->" in tokens:
            arrow = tokens.index("->")
            machine.transitions.append((tokens[1], tokens[2:arrow], tokens[arrow + 1]))
        else:
            raise CatalogError(f"{at}: cannot read '{' '.join(tokens)}'")
    catalog.machines.append(machine)


def parse_error(catalog, at, head, body):
    opts = options(head[3:-1])
    catalog.errors.append(Error(int(head[1]), head[2], int(opts["http"]), int(opts["rpc"]), "retry" in opts, head[-1],
                                next((word for word in ("any", "post", "key") if word in opts), opts.get("id", ""))))


CONFIG_TYPE = re.compile(r"^(string|int|bool|decimal|enum|strings)(?:\(([^)]*)\))?(!?)$")

ZERO = {"int": "0", "bool": "false"}

UNITS = ("none", "ms", "s", "days", "bytes", "percent")


def unit_of(key):
    """What the end of its name says: cluster.lease_ms, limits.ring_bytes."""
    end = key.name.rpartition("_")[2]
    return end if key.kind == "int" and end in UNITS else "none"



def config_key(at, tokens):
    """name type [options] "doc."; the type of a list's field may also be strings, and end with ! when it must be given."""
    match = CONFIG_TYPE.match(tokens[1]) if len(tokens) > 2 else None
    if not match or (match.group(1) == "enum" and not match.group(2)):
        raise CatalogError(f"{at}: '{' '.join(tokens)}' is not a setting: name type [options] \"doc.\"")
    opts = options(tokens[2:-1])
    key = ConfigKey(tokens[0], match.group(1), opts.pop("default", ZERO.get(match.group(1), "")), tokens[-1], opts.pop("env", ""))
    key.values = match.group(2).split(",") if match.group(2) else None
    key.required = match.group(3) == "!"
    key.secret = opts.pop("secret", None) is not None
    key.lines = opts.pop("lines", None) is not None
    key.fixed = opts.pop("fixed", None) is not None
    key.unique = opts.pop("unique", None) is not None
    key.unit = opts.pop("unit", unit_of(key))
    key.min, key.max = int(opts.pop("min", 0)), int(opts.pop("max", 0))
    if (key.lines or key.fixed) and not key.secret:
        raise CatalogError(f"{at}: lines and fixed are for secrets")
    if opts or key.unit not in UNITS or (key.unit != "none" and key.kind != "int") or not key.doc.endswith("."):
        raise CatalogError(f"{at}: cannot read setting {key.name}")
    return key


def parse_config(catalog, at, head, body):
    key = config_key(at, head[1:])
    if body or key.kind == "strings" or key.required or key.unique:
        raise CatalogError(f"{at}: {key.name} is what only a field of a list can be")
    catalog.config.append(key)


def parse_list(catalog, at, head, body):
    made = ConfigList(head[1], head[-1])
    for at, tokens in body:
        key = config_key(at, tokens)
        if key.env:
            raise CatalogError(f"{at}: an entry of a list has no environment variable of its own")
        made.fields.append(key)
    if not made.fields or any(k.name.split(".")[0] == made.name for k in catalog.config):
        raise CatalogError(f"{at}: list {made.name} needs fields and a name that no section has")
    catalog.lists.append(made)


def parse_enum(catalog, at, head, body):
    catalog.enums[head[1]] = Enum(head[1], head[2:-1], head[-1])


def parse_scope(catalog, at, head, body):
    scope = Scope(head[1], head[2], head[3])
    for at, tokens in body:
        key, rest = tokens[0], tokens[1:]
        if key == "from" and rest and set(opts := options(rest[1:])) <= {"at", "begins", "when", "ahead"}:
            path = opts["at"].split(".") if "at" in opts else []
            scope.joins.append(Join(rest[0], path, opts.get("begins", ""), opts.get("when", ""), "ahead" in opts))
        elif key == "as" and len(rest) == 1:
            scope.of = rest[0]
        elif tokens == ["within", "turn"]:
            scope.within_turn = True
        else:
            raise CatalogError(f"{at}: cannot read '{' '.join(tokens)}'")
    catalog.scopes.append(scope)


def split_words(text):
    return text.split(",") if text else []


def parse_metric(catalog, at, head, body):
    opts = options(head[4:-1])
    made = Metric(head[1], head[2], head[3], head[-1], split_words(opts.pop("labels", "")), split_words(opts.pop("buckets", "")))
    if opts or body or not made.doc.endswith(".") or len(made.labels) > 2:
        raise CatalogError(f"{at}: cannot read metric {made.name}")
    if made.kind not in ("counter", "gauge", "histogram") or (made.kind == "histogram") != bool(made.buckets):
        raise CatalogError(f"{at}: metric {made.name} is a counter, a gauge, or a histogram with buckets")
    if sorted(made.buckets, key=float) != made.buckets:
        raise CatalogError(f"{at}: the buckets of {made.name} do not rise")
    catalog.metrics.append(made)


def parse_convention(catalog, at, head, body):
    if len(head) != 3 or body or catalog.convention:
        raise CatalogError(f"{at}: cannot read the convention")
    catalog.convention = (head[1], head[2])


def parse_span(catalog, at, head, body):
    if len(head) != 5 or body or head[2] not in ("internal", "client") or not head[4].endswith("."):
        raise CatalogError(f"{at}: cannot read the span")
    catalog.spans.append(Span(head[1], head[2], head[3], head[4]))


def parse_attribute(catalog, at, head, body):
    if len(head) != 4 or body or not head[3].endswith(".") or head[2] in (a.name for a in catalog.attributes):
        raise CatalogError(f"{at}: cannot read the attribute, or its name is taken")
    catalog.attributes.append(Attribute(head[1], head[2], head[3]))


PARSERS = {"command": parse_command, "route": parse_route, "shape": parse_shape, "machine": parse_machine, "error": parse_error, "config": parse_config,
           "list": parse_list, "enum": parse_enum, "scope": parse_scope, "metric": parse_metric,
           "convention": parse_convention, "span": parse_span, "attribute": parse_attribute}
FILES = ("enums", "shapes/common", "shapes/work", "shapes/conversation", "shapes/act", "scopes", "errors", "commands", "routes", "machines", "config", "metrics", "telemetry")


def load(root):
    catalog = Catalog()
    for path in [root / f"{name}.cat" for name in FILES] + sorted(root.glob("events/**/*.cat")):
        for at, head, body in blocks(path):
            if head[0] == "event":
                parse_event(catalog, path.stem, at, head, body)
            elif head[0] in PARSERS:
                PARSERS[head[0]](catalog, at, head, body)
            else:
                raise CatalogError(f"{at}: unknown declaration '{head[0]}'")
    catalog.events.sort(key=lambda e: e.id)
    catalog.commands.sort(key=lambda c: c.id)
    catalog.errors.sort(key=lambda e: e.id)
    check(catalog)
    return catalog


def leads(shape, path):
    """Whether the shape has these members, each in the one before it."""
    for name in path:
        member = shape.find(name) if shape else None
        if not member:
            return False
        shape = member.of
    return len(path) < 4


def check_joins(catalog):
    events = {e.name: e for e in catalog.events}
    scopes = {s.name: s for s in catalog.scopes}
    for scope in catalog.scopes:
        if scope.of and (scope.joins or scope.of not in scopes or not scopes[scope.of].joins):
            raise CatalogError(f"scope {scope.name}: {scope.of} is no scope whose ids it could have")
        for join in scope.joins:
            event = events.get(join.event)
            if not event or not all(leads(event.payload, path) for path in (join.at, split_words(join.when))):
                raise CatalogError(f"scope {scope.name}: {join.event} has no id that it could introduce")


def check(catalog):
    """Ids are dense and never reused; every name that refers to another declaration finds it."""
    for kind in (catalog.events, catalog.commands, catalog.errors):
        if [x.id for x in kind] != list(range(1, len(kind) + 1)):
            raise CatalogError(f"ids of {type(kind[0]).__name__} are not 1..{len(kind)}")
        names = [x.name for x in kind]
        if len(set(names)) != len(names):
            raise CatalogError(f"a {type(kind[0]).__name__} name is used twice")
    events = {e.name for e in catalog.events}
    silent = {e.name for e in catalog.events if not e.emitted}
    errors = {e.name for e in catalog.errors}
    for route in catalog.routes:
        if set(route.fails) - errors:
            raise CatalogError(f"route {route.name} names {sorted(set(route.fails) - errors)}, which is not declared")
    for command in catalog.commands:
        unknown = (set(command.emits) - events) | (set(command.fails) - errors)
        if unknown:
            raise CatalogError(f"command {command.name} names {sorted(unknown)}, which is not declared")
        if command.built and set(command.emits) & silent:
            raise CatalogError(f"command {command.name} is built and names {sorted(set(command.emits) & silent)}, which is not emitted")
        if command.target and (command.target[0] not in TARGETS or not all(command.input.find(m) for m in command.target[1:])):
            raise CatalogError(f"command {command.name}: target {' '.join(command.target)} is none")
        if command.target_error and command.target_error not in command.fails:
            raise CatalogError(f"command {command.name}: {command.target_error} is not in fails")
        if command.key and not command.input.find(command.key):
            raise CatalogError(f"command {command.name}: key {command.key} is no input")
    check_joins(catalog)
    for machine in catalog.machines:
        states = {s.name for s in machine.states} | {"none"}
        for event, sources, target in machine.transitions:
            if event not in events or set(sources) - states or target not in states:
                raise CatalogError(f"machine {machine.name}: bad transition on {event}")
