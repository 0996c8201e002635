"""What the catalogue consists of once parsed: plain records, one class per kind of declaration."""

import re
from dataclasses import dataclass, field

# Bytes a value may take when its line names no `max`.
DEFAULT_MAX = {"string": 1024, "ref": 512, "object": 262144, "array": 262144, "json": 262144}
KINDS = ("string", "ref", "int", "num", "bool", "enum", "time", "object", "array", "json")
SCOPES = ("read", "submit", "decide", "worker", "admin")  # of commands, in the order of enum ar_right
TARGETS = ("none", "session", "any", "action", "process", "task", "own", "workspace", "worker", "subagent", "schedule", "job")  # of writes, as values of enum ar_target_kind
ACCESS = ("public", "any", "read", "admin", "node")  # of routes
TEXT_KINDS = ("string", "ref", "object", "array", "json")


class CatalogError(Exception):
    """A line of the catalogue that cannot be meant."""


@dataclass
class Enum:
    name: str
    values: list
    doc: str = ""


@dataclass
class Field:
    name: str
    kind: str
    doc: str
    required: bool = False
    nullable: bool = False
    signed: bool = False
    is_id: bool = False
    max: int = 0
    only: object = None  # the single value an int or bool may have
    values: Enum = None
    types: list = None  # JSON types a `json` field may take
    of: "Shape" = None  # what an object is, or each entry of an array
    of_text: bool = False  # an array of texts
    raw: str = ""  # why C keeps its JSON text

    @property
    def nested(self):
        """The shape that C has as a struct; None: a scalar, texts or JSON text."""
        return self.of if not self.raw else None

    @property
    def min(self):
        return 1 if self.is_id or self.kind == "ref" else 0

    @property
    def member(self):
        return c_name(snake(self.name))


@dataclass
class Shape:
    """The members of one JSON object and the rules between them. Those that fields refer to have a name."""

    name: str = ""
    doc: str = ""
    closed: bool = False
    or_text: bool = False
    content: bool = False   # of a text behind a ref: a struct in C, although no field refers to it
    fields: list = field(default_factory=list)
    oneofs: list = field(default_factory=list)

    def find(self, name):
        return next((f for f in self.fields if f.name == name), None)


@dataclass
class Join:
    """A fact that introduces ids of a scope."""

    event: str
    at: list  # members of the payload that lead to them, three at most; empty: the id that the fact carries
    begins: str
    when: str  # a member that the payload must have
    ahead: bool  # for facts of the same time alone


@dataclass
class Scope:
    name: str
    member: str
    doc: str
    joins: list = field(default_factory=list)
    of: str = ""  # the scope whose ids these are; empty: its own
    within_turn: bool = False


@dataclass
class Event:
    id: int
    name: str
    family: str
    doc: str = ""
    scope: list = field(default_factory=list)
    anyscope: list = field(default_factory=list)
    needs: list = field(default_factory=list)
    keep: str = "durable"
    klass: str = ""
    emitted: bool = True
    payload: Shape = field(default_factory=Shape)


@dataclass
class Command:
    id: int
    name: str
    doc: str = ""
    kind: str = ""
    scope: str = ""
    origin: str = ""
    built: bool = False
    is_quiet: bool = False
    http: int = 200
    also: str = ""
    key: str = ""
    target: list = field(default_factory=list)  # kind, members of the input
    target_error: str = ""
    get: str = ""
    repeat: str = ""
    emits: list = field(default_factory=list)
    fails: list = field(default_factory=list)
    input: Shape = field(default_factory=Shape)
    output: Shape = field(default_factory=Shape)


@dataclass
class Route:
    """What is answered beside the commands."""

    name: str
    method: str
    path: str
    doc: str = ""
    access: str = ""
    type: str = "application/json"
    writes: str = ""
    answers: list = field(default_factory=lambda: [200])
    fails: list = field(default_factory=list)
    input: Shape = field(default_factory=Shape)
    output: Shape = field(default_factory=Shape)


@dataclass
class State:
    name: str
    final: bool
    doc: str


@dataclass
class Machine:
    name: str
    doc: str = ""
    states: list = field(default_factory=list)
    transitions: list = field(default_factory=list)  # (event name, [from states], to state)


@dataclass
class Error:
    id: int
    name: str
    http: int
    rpc: int
    retryable: bool
    doc: str
    asked: str = ""  # every request may get it (any), those with a body (post), commands that take a key (key) or this member


@dataclass
class ConfigKey:
    name: str
    kind: str
    default: str
    doc: str
    env: str = ""
    secret: bool = False    # may be a reference
    lines: bool = False     # of a secret: may have several lines
    fixed: bool = False     # of a secret: a renewed value is used after a restart
    min: int = 0
    max: int = 0
    values: list = None
    required: bool = False  # of a list's field
    unique: bool = False    # of a list's field
    unit: str = "none"      # of an int: one of UNITS


@dataclass
class ConfigList:
    name: str
    doc: str
    fields: list = field(default_factory=list)


@dataclass
class Span:
    word: str  # kind of the standard, with _ in the place of its point
    kind: str
    name: str
    doc: str


@dataclass
class Attribute:
    word: str
    name: str
    doc: str


@dataclass
class Metric:
    name: str
    kind: str
    unit: str
    doc: str
    labels: list = field(default_factory=list)
    buckets: list = field(default_factory=list)  # upper bounds as they are written, in the unit

    @property
    def scale(self):
        """What is held as whole numbers for one of the unit."""
        return {"seconds": 1000000, "money": 1000000000}.get(self.unit, 1)

    @property
    def scraped(self):
        """The name under which it is scraped."""
        unit = f"_{self.unit}" if self.unit in ("seconds", "bytes") else ""
        prefix = "" if self.name.startswith("process_") else "agentd_"
        return prefix + self.name + unit + ("_total" if self.kind == "counter" else "")


@dataclass
class Catalog:
    enums: dict = field(default_factory=dict)
    scopes: list = field(default_factory=list)
    shapes: dict = field(default_factory=dict)
    events: list = field(default_factory=list)
    commands: list = field(default_factory=list)
    routes: list = field(default_factory=list)
    machines: list = field(default_factory=list)
    errors: list = field(default_factory=list)
    config: list = field(default_factory=list)
    lists: list = field(default_factory=list)
    metrics: list = field(default_factory=list)
    convention: tuple = ()  # version and schema URL of the names of telemetry
    spans: list = field(default_factory=list)
    attributes: list = field(default_factory=list)

    def event(self, name):
        return next(e for e in self.events if e.name == name)

    def scope_member(self, name):
        return next(s.member for s in self.scopes if s.name == name)


RESERVED = set(
    "auto break case char const continue default do double else enum extern float for goto if inline int long "
    "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
    "class delete explicit export friend namespace new operator private protected public template this throw try "
    "catch typename using virtual bool true false".split()
)


def snake(name):
    return re.sub(r"([A-Z])", lambda m: "_" + m.group(1).lower(), name)


def c_name(name):
    name = re.sub(r"[^A-Za-z0-9]", "_", name)
    return name + "_" if name in RESERVED else name


def upper(name):
    return re.sub(r"[^A-Za-z0-9]", "_", snake(name)).upper()
