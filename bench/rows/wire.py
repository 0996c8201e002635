"""A turn as a user gets it: over HTTP, a model that asks for one tool (HTTP too) and then streams 200 words in 40 pieces, and a reader of
the session that takes every event. Both stores; 1, 8 and 64 sessions; the pieces at once, or one each 10 ms.

Turns per second and p50 are times: they move with the machine. CPU is compared with that of the floor which writes the same rows in
the same minute. Bytes and calls of the kernel are counts."""

import json
import subprocess
import time

from harness import cpu_of, io_of, median, post, program
from rows.stores import Sqlite, floor_cpu_ms, stores

PACE_MS = 10
ROUNDS = 3
ROUNDS_WITH_BUDGET = 5
# (sessions, turns of each, milliseconds before a piece)
SHAPES = ((1, 30, 0), (8, 10, 0), (64, 6, 0), (1, 6, PACE_MS), (8, 2, PACE_MS), (64, 2, PACE_MS))


class Look:
    """What the kernel has counted of agentd and of the database so far; those of one moment taken from those of a later one."""

    def __init__(self, agentd, store):
        self.cpu_us = agentd.cpu_us()
        self.io = io_of(agentd.child.pid)
        self.database = {}
        for pid in store.pids():
            try:
                self.database[pid] = (cpu_of(pid), io_of(pid)["write_bytes"])
            except (FileNotFoundError, ProcessLookupError):
                pass  # a process of the database that cleans up ends when it likes

    def since(self, before):
        """{figure: number}; a process of the database that is new began at nothing."""
        begin = {pid: before.database.get(pid, (0, 0)) for pid in self.database}
        return {"cpu_us": self.cpu_us - before.cpu_us,
                "device": self.io["write_bytes"] - before.io["write_bytes"] + sum(v[1] - begin[p][1] for p, v in self.database.items()),
                "writes": self.io["syscw"] - before.io["syscw"],
                "database_us": sum(v[0] - begin[p][0] for p, v in self.database.items())}


def chat(bench, agentd, store, sessions, turns):
    """Runs the turns; what the client and the kernel say of them."""
    client = subprocess.Popen([program("bench-chat"), str(agentd.port), str(sessions), str(turns), bench.prompts],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        client.stdout.readline()
        before = Look(agentd, store)
        client.stdin.write("\n")
        client.stdin.flush()
        said = json.loads(client.stdout.readline())
        return {**said, **Look(agentd, store).since(before)}
    finally:
        client.kill()
        client.wait()


def one_round(bench, store, shape, with_floor):
    """A run of one shape on a new store, and the floor's CPU for the rows that it left."""
    sessions, turns, pause_ms = shape
    place = store.fresh(bench, "wire")
    model, options = bench.chat_model(pause_ms)
    agentd = bench.agentd(store.folder(place), model, env=store.env(place), options=options)
    empty = store.size(place)
    said = chat(bench, agentd, store, sessions, turns)
    bench.stop(agentd)  # the last connection to close folds SQLite's WAL in
    bench.stop(model)
    said["size"] = (store.size(place) - empty) / (sessions * (turns + 1))
    said["floor_ms"] = floor_cpu_ms(bench, store, place) / (sessions * (turns + 1)) if with_floor else None
    return said


def wire_names():
    """Names of the rows; those of one figure may be asked for by a part of them."""
    shapes = [f"{store}{'paced_' if pause else ''}{sessions}" for store in ("", "pg_") for sessions, _, pause in SHAPES]
    figures = ("turns", "cpu", "database_cpu", "p50", "stream_bytes", "stream_events", "writes", "device_per_text", "disk_per_text")
    return " ".join(f"wire_{figure}_{shape}" for figure in figures for shape in shapes)


def wire(bench):
    for store in stores():
        for shape in SHAPES:
            yield from shape_rows(bench, store, shape)


def shape_rows(bench, store, shape):
    sessions, _, pause_ms = shape
    is_full, is_alone = shape[0] == 64 and not pause_ms, shape[0] == 1 and not pause_ms
    rounds = 1 if pause_ms else ROUNDS_WITH_BUDGET if is_full else ROUNDS
    said = [one_round(bench, store, shape, is_full) for _ in range(rounds)]
    name = f"{store.prefix}{'paced_' if pause_ms else ''}{sessions}"

    def per_turn(figure, scale=1):
        return median([r[figure] / r["turns"] / scale for r in said])

    yield f"wire_turns_{name}", "/s", median([r["turns"] / r["seconds"] for r in said]), None
    # Other work on the machine only adds to CPU time: the cheapest round of each is what they cost.
    cpu_ms = min(r["cpu_us"] / r["turns"] for r in said) / 1e3
    yield f"wire_cpu_{name}", "ms", cpu_ms, min(r["floor_ms"] for r in said) if is_full else None
    if store.pids():
        yield f"wire_database_cpu_{name}", "ms", per_turn("database_us", 1e3), None
    if is_alone:
        yield f"wire_p50_{name}", "ms", median([r["p50_us"] for r in said]) / 1e3, None
        yield f"wire_stream_bytes_{name}", "B", per_turn("stream_bytes"), None
        yield f"wire_stream_events_{name}", "", per_turn("stream_events"), None
    if sessions == 1:
        yield f"wire_writes_{name}", "", per_turn("writes"), None
    if not pause_ms and sessions != 8:
        yield f"wire_device_per_text_{name}", "B/B", per_turn("device") / text_bytes(bench), None
    if is_full:
        yield f"wire_disk_per_text_{name}", "B/B", median([r["size"] for r in said]) / text_bytes(bench), None


def text_bytes(bench):
    """What is said in a turn: a prompt, 200 bytes of the tool's, an answer; the mean."""
    sizes = [sum(len(line) - 1 for line in lines) / len(lines) for lines in (open(path, "rb").readlines() for path in (bench.prompts, bench.words))]
    return sum(sizes) + 200


# ---- memory ----

def memory(bench, runs=10, sessions=100):
    """After a thousand sessions, a hundred at a time."""
    model, options = bench.chat_model()
    agentd = bench.agentd(bench.fresh("memory"), model, options=options)
    for _ in range(runs):
        chat(bench, agentd, Sqlite(), sessions, 1)
    yield "rss_1000_sessions", "MB", agentd.rss_mb(), None
    bench.stop(agentd)
    bench.stop(model)


# ---- sessions that are not in memory ----

def cold_reads(bench, sessions=10000, count=150, rounds=3):
    """CPU of get_session of one that nobody looked at since the start, beside the same read again. Both ours."""
    cold, warm = [], []
    for _ in range(rounds):
        agentd = bench.agentd(bench.many_sessions(sessions))
        ids = [s["sessionId"] for s in post(agentd.port, "list_sessions", {"limit": count})["sessions"]]
        for found in (cold, warm):
            before = agentd.cpu_us()
            for session in ids:
                post(agentd.port, "get_session", {"sessionId": session, "limit": 1})
            found.append((agentd.cpu_us() - before) / count)
        bench.stop(agentd)
    yield "request_cpu_cold", "us", median(cold), median(warm)


# ---- a start on PostgreSQL ----

def start_postgres(bench, rounds=5):
    store = next(s for s in stores() if s.prefix)
    place = store.fresh(bench, "start")
    times, plain = [], []
    for _ in range(rounds + 1):  # the first one makes the tables
        agentd = bench.agentd(store.folder(place), env=store.env(place))
        times.append(agentd.ready_ms)
        bench.stop(agentd)
        began = time.perf_counter()
        subprocess.run(["true"], check=True)
        plain.append((time.perf_counter() - began) * 1000)
    yield "start_pg", "ms", median(times[1:]), median(plain)
