"""What is measured. Each function yields rows (name, unit, ours, floor); rounds of ours and of the floor take turns, and a row
is the median over the rounds. `floor` is None where nothing can be compared."""

import http.client
import json
import os
import sqlite3
import subprocess
import time

from harness import CLIENT_CPU, SERVER_CPU, median, program

ROUNDS = 7
BODY = 300  # bytes of a request body; JSON is padded with spaces
CONNECTIONS = 64


def post(port, command, body):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", f"/v1/{command}", json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    value = json.loads(answer.read())
    connection.close()
    return value


def wait_idle(port, session):
    while post(port, "get_session", {"sessionId": session})["status"] != "idle":
        time.sleep(0.01)


# ---- the CPU of one request ----

def request_cpu(bench):
    model = bench.model()
    agentd = bench.agentd(bench.fresh("request"), model, cpu=SERVER_CPU)
    receipt = post(agentd.port, "submit_turn", {"text": "hello", "createPolicy": {}})
    wait_idle(agentd.port, receipt["sessionId"])
    thread = {"sessionId": receipt["sessionId"], "threadId": receipt["threadId"]}
    commands = {"request_cpu_command": ("interrupt_turn", {"sessionId": receipt["sessionId"], "reason": "nothing runs"}),
                "request_cpu_thread_read": ("get_thread_read", thread),
                "request_cpu_get_task": ("get_task", {"taskId": receipt["taskId"]}),
                "request_cpu_list_sessions": ("list_sessions", {"limit": 1})}
    for name, (command, body) in commands.items():
        yield one_request(bench, name, agentd, command, json.dumps(body).ljust(BODY))
    bench.stop(agentd)
    bench.stop(model)


def one_request(bench, name, agentd, command, body, count=10000):
    def cost(server, n):
        before = server.cpu_us()
        said = bench.run("bench-load", server.port, f"/v1/{command}", body, CONNECTIONS, n, cpu=CLIENT_CPU)
        return (server.cpu_us() - before) / n, said["reply_bytes"]

    _, reply = cost(agentd, 1000)
    floor = bench.server(program("bench-floor-epoll"), str(reply), cpu=SERVER_CPU)
    cost(floor, 1000)
    rounds = [(cost(agentd, count)[0], cost(floor, count)[0]) for _ in range(ROUNDS)]
    bench.stop(floor)
    return name, "us", median([r[0] for r in rounds]), median([r[1] for r in rounds])


# ---- from submit to its receipt ----

def submit_ack(bench, count=150, pause_us=300):
    for store in stores():
        yield one_submit_ack(bench, store, count, pause_us)


def one_submit_ack(bench, store, count, pause_us):
    model = bench.model("--hang")
    body = json.dumps({"idempotencyKey": "k-@@@@@@@@@@", "text": "Say something about the sea. " * 4, "createPolicy": {}})
    before = store.fresh(bench, "ack_before")
    agentd = bench.agentd(store.folder(before), model, env=store.env(before))
    bench.run("bench-load", agentd.port, "/v1/submit_turn", body, 1, count)
    bench.stop(agentd)
    rounds = []
    for _ in range(ROUNDS):
        place = store.fresh(bench, "ack")
        agentd = bench.agentd(store.folder(place), model, env=store.env(place))
        rounds.append(bench.run(store.ack, agentd.port, body, store.source(before), store.target(bench, "ack_floor"), count,
                                pause_us))
        bench.stop(agentd)
    bench.stop(model)
    return (f"submit_ack_{store.prefix}p50", "us", median([r["ours_us"] for r in rounds]),
            median([r["floor_us"] for r in rounds]))


# ---- facts per second ----

def facts_rate(bench, sessions, turns, rounds=5):
    """Through HTTP and inside one process, on each engine; the floor of each run right after it."""
    ways = [(store, name, run) for store in stores() for name, run in (("http", through_http), ("engine", through_engine))]
    found = {(store, name): ([], []) for store, name, _ in ways}
    for _ in range(rounds):
        for store, name, run in ways:
            place, syncs = store.fresh(bench, "rate"), bench.path("syncs")
            seconds = run(bench, store, place, syncs, sessions, turns)
            facts, floor = replay(bench, store, place, syncs)
            found[store, name][0].append(facts / seconds)
            found[store, name][1].append(floor)
    for (store, name), (ours, floor) in found.items():
        yield f"facts_rate_{store.prefix}{name}_{sessions}", "/s", median(ours), median(floor)


def through_http(bench, store, place, syncs, sessions, turns):
    model = bench.model()
    agentd = bench.agentd(store.folder(place), model, syncs=syncs, env=store.env(place))
    said = bench.run("bench-turns", agentd.port, sessions, turns, bench.prompts)
    bench.stop(agentd)
    bench.stop(model)
    return said["seconds"]


def through_engine(bench, store, place, syncs, sessions, turns):
    env = {"LD_PRELOAD": program("bench-count-sync.so"), "BENCH_SYNC_COUNT": syncs}
    return bench.run("bench-engine", place, sessions, turns, bench.answers, env=env)["seconds"]


def replay(bench, store, place, syncs):
    """The same rows by the floor, with as many appends per commit as ours had; (facts, floor's facts per second)."""
    appends, commits = store.written(place, syncs)
    said = bench.run(store.floor, store.source(place), store.target(bench, "rate_floor"), max(1, round(appends / commits)))
    return said["facts"], said["facts"] / said["seconds"]


# ---- a turn of two model calls and one tool ----

def tool_turns(bench, rounds=3):
    for store in stores():
        for sessions, turns in ((1, 200), (16, 60), (64, 40)):
            said = []
            for _ in range(rounds):
                place = store.fresh(bench, "tools")
                said.append(bench.run("bench-engine", place, sessions, turns, bench.answers, "tool"))
            yield f"tool_turns_{store.prefix}{sessions}", "/s", median([r["turns"] / r["seconds"] for r in said]), None
        yield f"tool_turn_cpu_{store.prefix}64", "ms", median([r["cpu_ms"] for r in said]), None
        yield f"tool_turn_bytes_{store.prefix}64", "B", store.size(place) / said[-1]["turns"], None


# ---- the engines ----

class Sqlite:
    """A place is a folder. A commit is an fsync, counted by what is preloaded."""
    prefix, floor, ack = "", "bench-floor-sqlite", "bench-ack"

    def fresh(self, bench, name):
        return bench.fresh(name)

    def folder(self, place):
        return place

    def env(self, place):
        return {}

    def source(self, place):
        return os.path.join(place, "agentd.db")

    def target(self, bench, name):
        return os.path.join(bench.fresh(name), "floor.db")

    def size(self, place):
        return sum(os.path.getsize(os.path.join(place, name)) for name in os.listdir(place) if name.startswith("agentd.db"))

    def written(self, place, syncs):
        store = sqlite3.connect(self.source(place))
        appends = store.execute("SELECT count(*) FROM log").fetchone()[0]
        store.close()
        with open(syncs) as count:
            return appends, int(count.read())


class Postgres:
    """A place is a database of the server that test/lib/postgres made. A commit is a transaction that wrote to the log."""
    prefix, floor, ack = "pg_", "bench-floor-postgres", "bench-ack-postgres"

    def sql(self, place, *statements):
        words = [word for statement in statements for word in ("-c", statement)]
        return subprocess.run(["psql", "-qAtd", place, *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True).stdout

    def fresh(self, bench, name):
        server = os.environ["AR_TEST_POSTGRES"]
        self.sql(f"{server} dbname=postgres", f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name}")
        self.data = bench.fresh("data")  # agentd's socket stands there
        return f"{server} dbname={name}"

    target = fresh

    def folder(self, place):
        return self.data

    def env(self, place):
        return {"AGENTD_STORE": place}

    def source(self, place):
        return place

    def size(self, place):
        return int(self.sql(place, "SELECT pg_database_size(current_database()) - (SELECT pg_database_size('template1'))"))

    def written(self, place, syncs):
        return map(int, self.sql(place, "SELECT count(*), count(DISTINCT xmin::text) FROM log").split("|"))


def stores():
    return Sqlite(), Postgres()


# ---- bytes on disk ----

def disk(bench, sessions=200, turns=10):
    data = bench.fresh("disk")
    model = bench.model()
    agentd = bench.agentd(data, model)
    bench.run("bench-turns", agentd.port, sessions, turns, bench.prompts)
    facts = sum(fact_bytes(agentd.port, s["sessionId"]) for s in all_sessions(agentd.port))
    bench.stop(agentd)  # the last connection to close folds the WAL in
    bench.stop(model)
    size = sum(os.path.getsize(os.path.join(data, name)) for name in os.listdir(data) if name.startswith("agentd.db"))
    text = text_bytes(bench, sessions * turns)
    yield "disk_per_transcript", "B/B", size / (facts + text), None
    yield "disk_per_text", "B/B", size / text, None


def all_sessions(port):
    cursor = {}
    while cursor is not None:
        page = post(port, "list_sessions", {"limit": 200, **cursor})
        yield from page["sessions"]
        cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None


def fact_bytes(port, session):
    """The facts of a session as lines of JSON, without their contents."""
    total, more = 0, {"limit": 500}
    while more:
        history = post(port, "get_session", {"sessionId": session, **more})["history"]
        total += sum(len(json.dumps(e, ensure_ascii=False, separators=(",", ":")).encode()) + 1 for e in history["events"])
        more = {"limit": 500, "cursor": history["cursor"]} if "cursor" in history else None
    return total


def text_bytes(bench, turns):
    """What was said: as many prompts and answers as there were turns, as they stand in JSON."""
    return sum(len(line) - 1 for path in (bench.prompts, bench.answers) for line in open(path, "rb").readlines()[:turns])


# ---- at rest and at start ----

def start(bench, sessions=10000):
    many = bench.fresh("many")
    with open(os.devnull, "w") as nothing:
        subprocess.run([program("ar-make-session"), "--store", os.path.join(many, "agentd.db"), "--facts", "15",
                        "--sessions", str(sessions)], check=True, stdout=nothing)
    empty = bench.fresh("empty")
    times = {empty: [], many: [], None: []}
    memory = []
    for _ in range(2 * ROUNDS + 1):
        for data in (empty, many):
            agentd = bench.agentd(data)
            times[data].append(agentd.ready_ms)
            time.sleep(0.05)
            memory.append((data, agentd.rss_mb()))
            bench.stop(agentd)
        begin = time.perf_counter()
        subprocess.run(["true"], check=True)
        times[None].append((time.perf_counter() - begin) * 1000)
    floor = median(times[None])
    yield "start_empty", "ms", median(times[empty]), floor
    yield "start_10k_sessions", "ms", median(times[many]), floor
    for name, data in (("rss_idle_empty", empty), ("rss_idle_10k_sessions", many)):
        yield name, "MB", median([mb for d, mb in memory if d == data]), None


# What each measurement yields, so that a run of some rows does not measure the others.
GROUPS = (
    ("start_empty start_10k_sessions rss_idle_empty rss_idle_10k_sessions", start),
    ("request_cpu_command request_cpu_thread_read request_cpu_get_task request_cpu_list_sessions", request_cpu),
    ("submit_ack_p50 submit_ack_pg_p50", submit_ack),
    ("facts_rate_http_64 facts_rate_engine_64 facts_rate_pg_http_64 facts_rate_pg_engine_64",
     lambda bench: facts_rate(bench, 64, 20)),
    ("facts_rate_http_256 facts_rate_engine_256 facts_rate_pg_http_256 facts_rate_pg_engine_256",
     lambda bench: facts_rate(bench, 256, 8)),
    ("tool_turns_1 tool_turns_16 tool_turns_64 tool_turn_cpu_64 tool_turn_bytes_64 "
     "tool_turns_pg_1 tool_turns_pg_16 tool_turns_pg_64 tool_turn_cpu_pg_64 tool_turn_bytes_pg_64", tool_turns),
    ("disk_per_transcript disk_per_text", disk),
)


def is_wanted(names, wanted):
    return not wanted or any(word in names for word in wanted)


def needs_postgres(wanted):
    return any("_pg_" in names and is_wanted(names, wanted) for names, _ in GROUPS)


def rows(bench, wanted):
    """Every row whose name contains one of the wanted words; all of them when there are none."""
    for names, measure in GROUPS:
        if not is_wanted(names, wanted):
            continue
        for row in measure(bench):
            if is_wanted(row[0], wanted):
                yield row
