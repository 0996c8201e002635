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
    model = bench.model("--hang")
    body = json.dumps({"idempotencyKey": "k-@@@@@@@@@@", "text": "Say something about the sea. " * 4, "createPolicy": {}})
    before = bench.fresh("ack-before")
    agentd = bench.agentd(before, model)
    bench.run("bench-load", agentd.port, "/v1/submit_turn", body, 1, count)
    bench.stop(agentd)
    rounds = []
    for _ in range(ROUNDS):
        agentd = bench.agentd(bench.fresh("ack"), model)
        target = os.path.join(bench.fresh("ack-floor"), "floor.db")
        rounds.append(bench.run("bench-ack", agentd.port, body, os.path.join(before, "agentd.db"), target, count, pause_us))
        bench.stop(agentd)
    bench.stop(model)
    yield "submit_ack_p50", "us", median([r["ours_us"] for r in rounds]), median([r["floor_us"] for r in rounds])


# ---- facts per second ----

def facts_rate(bench, sessions, turns, rounds=5):
    rows = {"http": ([], []), "engine": ([], [])}
    for _ in range(rounds):
        for name, run in (("http", through_http), ("engine", through_engine)):
            data, seconds, syncs = run(bench, sessions, turns)
            facts, floor = replay(bench, data, syncs)
            rows[name][0].append(facts / seconds)
            rows[name][1].append(floor)
    for name, (ours, floor) in rows.items():
        yield f"facts_rate_{name}_{sessions}", "/s", median(ours), median(floor)


def through_http(bench, sessions, turns):
    data, count = bench.fresh("rate"), bench.path("syncs")
    model = bench.model()
    agentd = bench.agentd(data, model, syncs=count)
    said = bench.run("bench-turns", agentd.port, sessions, turns, bench.prompts)
    bench.stop(agentd)
    bench.stop(model)
    return data, said["seconds"], int(open(count).read())


def through_engine(bench, sessions, turns):
    data, count = bench.fresh("rate"), bench.path("syncs")
    env = {"LD_PRELOAD": program("bench-count-sync.so"), "BENCH_SYNC_COUNT": count}
    said = bench.run("bench-engine", data, sessions, turns, bench.answers, env=env)
    return data, said["seconds"], int(open(count).read())


def replay(bench, data, syncs):
    """The same rows by the floor, with as many appends per commit as ours had; (facts, floor's facts per second)."""
    source = os.path.join(data, "agentd.db")
    store = sqlite3.connect(source)
    appends = store.execute("SELECT count(*) FROM log").fetchone()[0]
    store.close()
    target = os.path.join(bench.fresh("rate-floor"), "floor.db")
    said = bench.run("bench-floor-sqlite", source, target, max(1, round(appends / syncs)))
    return said["facts"], said["facts"] / said["seconds"]


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
    ("submit_ack_p50", submit_ack),
    ("facts_rate_http_64 facts_rate_engine_64", lambda bench: facts_rate(bench, 64, 20)),
    ("facts_rate_http_256 facts_rate_engine_256", lambda bench: facts_rate(bench, 256, 8)),
    ("disk_per_transcript disk_per_text", disk),
)


def rows(bench, wanted):
    """Every row whose name contains one of the wanted words; all of them when there are none."""
    for names, measure in GROUPS:
        if wanted and not any(word in names for word in wanted):
            continue
        for row in measure(bench):
            if not wanted or any(word in row[0] for word in wanted):
                yield row
