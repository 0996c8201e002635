"""Instructions, counted by callgrind: the same on a slow machine as on a fast one, beside neighbours as alone, so that a budget a few
percent above the last figure holds everywhere. What the kernel and the database do is not in them.

A daemon is counted in sections: GET /metrics ends one, because callgrind is told to write down what it has when that function is entered.
A section that only asks for the metrics is what asking costs. Work is given one piece at a time: what is gathered does not depend on who is faster.
What timers do (output is saved each 250 ms) only adds, and more the slower it goes: of some rounds the least is what the work costs."""

import http.client
import json
import os
import shutil
import socket
import subprocess
import threading

from harness import PATIENCE, post, program
from rows.stores import Postgres, stores

MARK = "ar_scrape_write"
REQUESTS = 100
FEW, MANY = 2, 62  # pieces of a turn
# 900 characters as people write them, with names and numbers. Always the same: what a text costs depends on what is in it.
TEXT = ("Please look at the report of the night build before you start: two of 4,408 tests failed, both in \"transport/forward\", and the log in "
        "/var/tmp/nightly/2026-11-16 names the reader that fell behind. Compare it with the run of the week before (http://127.0.0.1:8080/runs/1183), "
        "find out whether the limit of 64 KB or the pause of 250 ms comes first, and write down what you changed. Do not touch the settings of the "
        "cluster; node-2 and node-3 are in use until 18:30. If a command needs more than the workspace, ask. ") * 2
TURNS = 2  # of a conversation
ROUNDS = 8
DELIVERIES = 4  # how often each of two counts is taken; the lowest stands
CONVERSATIONS = 8  # a timer falls into most of them


def callgrind(out, mark):
    path = shutil.which("valgrind")
    if not path:
        raise SystemExit("bench: valgrind is not installed; the counts need it")
    return [path, "-q", "--tool=callgrind", f"--callgrind-out-file={out}", f"--dump-before={mark}"]


def total_of(path):
    """The last line of what callgrind wrote; the file is of no more use."""
    with open(path, "rb") as dump:
        dump.seek(-200, os.SEEK_END)
        total = int(dump.read().rsplit(b"totals:", 1)[1])
    os.unlink(path)
    return total


class Counted:
    """agentd under callgrind. `start` is what it took to be ready."""

    def __init__(self, bench, name, data, model=None, env=None, options=(), tls=None):
        self.bench, self.tls, self.sections = bench, tls, 0
        self.out = os.path.join(bench.fresh(f"counted-{name}"), "out")
        self.agentd = bench.agentd(data, model, env=env, options=options, before=callgrind(self.out, MARK))
        self.port, self.asking = self.agentd.port, 0
        self.start = self.section()
        self.count_asking()

    def count_asking(self):
        """Again once more series have values: the text of the metrics is then longer."""
        self.asking = 0
        self.asking = min(self.section() for _ in range(3))

    def section(self):
        """Instructions since the last section ended."""
        self.sections += 1
        connection = (http.client.HTTPSConnection("localhost", self.port, context=self.tls, timeout=PATIENCE) if self.tls
                      else http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE))
        connection.request("GET", "/metrics")
        connection.getresponse().read()
        connection.close()
        path = f"{self.out}.{self.sections}"
        if not os.path.exists(path):
            raise SystemExit(f"bench: callgrind wrote no section; is {MARK}() still what answers GET /metrics?")
        return total_of(path) - self.asking

    def requests(self, command, body, count=REQUESTS):
        """Instructions of one, all on one connection; its first ones are taken off."""
        self.section()
        few, many = (min(self.load(command, body, n) for _ in range(ROUNDS)) for n in (10, 10 + count))
        return (many - few) / count

    def load(self, command, body, count):
        self.bench.run("bench-load", self.port, f"/v1/{command}", body, 1, count)
        return self.section()

    def stop(self):
        self.bench.stop(self.agentd)


def ask(connection, command, body, count):
    for _ in range(count):
        connection.request("POST", f"/v1/{command}", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise SystemExit(f"bench: {command}: {text[:300]!r}")


# ---- a model and a reader, one step at a time ----

class StepModel(threading.Thread):
    """Streams so many pieces of five words; the next one is sent when the reader has the last. `pieces` and `reader` may be changed between turns."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pieces, self.reader, self.sent = 1, None, 0
        self.has_answered = threading.Event()
        self.start()

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        """Requests of one connection, until the other side ends it."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = connection.makefile("rb")
        while True:
            length, line = 0, stream.readline()
            if not line:
                return
            while line.strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
                line = stream.readline()
            stream.read(length)
            self.answer(connection)

    def answer(self, connection):
        """What belongs together is one send(): otherwise it would depend on the machine how often the other side reads."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        for _ in range(self.pieces):
            self.sent += 1
            word = f"w{self.sent:07}"
            connection.sendall(head + self.chunk({"choices": [{"index": 0, "delta": {"content": f"five plain words and {word} "}, "finish_reason": None}]}))
            self.reader.wait_for(word.encode())
            head = b""
        connection.sendall(self.chunk({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}) +
                           self.chunk({"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 220, "total_tokens": 260}}) +
                           b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        self.has_answered.set()

    @staticmethod
    def chunk(document):
        event = b"data: " + json.dumps({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "stub", **document}).encode() + b"\n\n"
        return b"%x\r\n%s\r\n" % (len(event), event)


class StepReader:
    """Reads the events of one session. The model's thread waits here for its pieces, and when it has answered ours for the turn's end."""

    def __init__(self, port, session):
        self.connection = send_request(port, "subscribe_events", {"sessionId": session})
        self.text = b""
        self.wait_for(b"session.created")

    def wait_for(self, word):
        """Reads on until the word has come; drops what stands before it."""
        while word not in self.text:
            part = self.connection.recv(65536)
            if not part:
                raise SystemExit("bench: agentd ended the stream")
            self.text += part
        self.text = self.text[self.text.index(word) + len(word):]

    def close(self):
        self.connection.close()


def send_request(port, command, body):
    """In one send(), on a connection of its own."""
    body = json.dumps(body).encode()
    connection = socket.create_connection(("127.0.0.1", port), PATIENCE)
    connection.sendall(b"POST /v1/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                       % (command.encode(), len(body), body))
    return connection


def submit(port, session):
    connection = send_request(port, "submit_turn", {"text": "Say something about the sea.", "sessionId": session})
    answer = connection.recv(65536)
    if not answer.startswith(b"HTTP/1.1 202"):
        raise SystemExit(f"bench: submit_turn: {answer[:300]!r}")
    connection.close()


def turn(port, model, session, reader):
    """One turn to its end, as the reader sees it."""
    model.has_answered.clear()
    submit(port, session)
    if not model.has_answered.wait(PATIENCE):
        raise SystemExit("bench: the model was not asked, or a piece did not come")
    reader.wait_for(b'"type":"turn.completed"')


def conversation(counted, model, pieces):
    """(instructions of a reader of a new session and its turns of so many pieces each, its id)"""
    session = post(counted.port, "create_session", {})["sessionId"]
    model.pieces = pieces
    counted.section()
    model.reader = reader = StepReader(counted.port, session)
    for _ in range(TURNS):
        turn(counted.port, model, session, reader)
    reader.close()
    return counted.section(), session


# ---- rows ----

def instructions(bench):
    model = StepModel()
    counted = Counted(bench, "sqlite", bench.fresh("counted"), model)
    yield "start_instructions", "k", counted.start / 1e3, None
    conversation(counted, model, 40)
    counted.count_asking()
    rounds = [(conversation(counted, model, FEW), conversation(counted, model, MANY)) for _ in range(CONVERSATIONS)]
    few, many = (min(count for count, _ in column) for column in zip(*rounds))
    session = rounds[-1][1][1]
    yield "delta_instructions", "k", (many - few) / (MANY - FEW) / TURNS / 1e3, None
    yield "turn_instructions", "k", few / TURNS / 1e3, None
    yield from requests(counted, session)
    yield from fanout(bench, counted)
    counted.stop()


def requests(counted, session):
    told = {"sessionId": session}
    state = post(counted.port, "get_session", told)
    thread = state["threads"][0]
    commands = (("command", "interrupt_turn", {**told, "reason": "nothing runs"}),
                ("text_1k", "interrupt_turn", {**told, "reason": TEXT[:900]}),
                ("thread_read", "get_thread_read", {**told, "threadId": thread["threadId"]}),
                ("get_session", "get_session", told),
                ("get_task", "get_task", {"taskId": thread["turns"][0]["taskId"]}),
                ("list_sessions", "list_sessions", {"limit": 1}))
    for name, command, body in commands:
        yield f"request_instructions_{name}", "k", counted.requests(command, json.dumps(body)) / 1e3, None


def fanout(bench, counted):
    """Of one event to one of a hundred readers."""
    for protocol in ("h1", "h2", "ws"):
        yield f"fanout_instructions_{protocol}", "k", delivery(bench, counted, protocol, 100) / 1e3, None


def delivery(bench, counted, protocol, readers):
    counted.section()
    few, many = (min(delivered(bench, counted, (protocol, readers), events) for _ in range(DELIVERIES)) for events in (2, 12))
    return (many - few) / 10 / readers


def delivered(bench, counted, readers, events):
    """In a session of its own: what it costs to create a task depends on how many there are."""
    session = post(counted.port, "create_session", {}, counted.tls)["sessionId"]
    body = json.dumps({"sessionId": session, "objective": "x" * 100, "draft": True})
    where = session if readers[0] == "ws" else f"/v1/sessions/{session}/events?after=now"
    bench.run("bench-fanout", counted.agentd.child.pid, counted.port, *readers, 0, events, where, "/v1/create_task", body)
    return counted.section()


def tls_instructions(bench):
    """The same over TLS."""
    options, context = bench.tls_settings()
    counted = Counted(bench, "tls", bench.fresh("counted-tls-data"), options=options, tls=context)
    yield "fanout_instructions_tls", "k", delivery(bench, counted, "tls", 20) / 1e3, None
    counted.stop()


def stored_instructions(bench, sessions=10000):
    """A start on a store with many sessions, and reads of sessions that are not in memory."""
    data = bench.many_sessions(sessions)
    counted = Counted(bench, "many", data)
    yield "start_instructions_10k", "k", counted.start / 1e3, None
    ids = [s["sessionId"] for s in post(counted.port, "list_sessions", {"limit": 2 * REQUESTS})["sessions"]]
    connection = http.client.HTTPConnection("127.0.0.1", counted.port, timeout=PATIENCE)
    for half in (ids[:REQUESTS], ids[REQUESTS:]):  # the first half warms what is not the session's
        counted.section()
        for session in half:
            ask(connection, "get_session", json.dumps({"sessionId": session, "limit": 1}), 1)
        found = counted.section() / REQUESTS
    counted.stop()
    yield "request_instructions_cold", "k", found / 1e3, None


def postgres_instructions(bench):
    store = Postgres()
    place = store.fresh(bench, "counted")
    bench.stop(bench.agentd(store.folder(place), env=store.env(place)))  # it makes the tables
    counted = Counted(bench, "postgres", store.folder(place), env=store.env(place))
    counted.stop()
    yield "start_instructions_pg", "k", counted.start / 1e3, None


def commit_instructions(bench, warm=4, turns=24):
    """A turn of two model calls and one tool inside one process: decide, encode, pack, commit; no HTTP."""
    for store in stores():
        place, out = store.fresh(bench, "counted"), os.path.join(bench.fresh("counted-engine"), "out")
        subprocess.run([*callgrind(out, "bench_mark"), program("bench-engine"), place, "1", str(turns), bench.answers, "tool"], check=True,
                       stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=PATIENCE)
        yield f"commit_instructions{store.suffix}", "k", total_of(f"{out}.2") / (turns - warm) / 1e3, None
