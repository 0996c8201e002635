"""What is measured. Each function yields rows (name, unit, ours, floor); rounds of ours and of the floor take turns, and a row
is the median over the rounds. `floor` is None where nothing can be compared."""

import json
import os
import shutil
import socket
import subprocess
import time

from harness import BIN, CLIENT_CPU, PATIENCE, SERVER_CPU, median, post, program, tree_of, wait_idle
from rows.checkpoint import checkpoints
from rows.counts import commit_instructions, instructions, postgres_instructions, stored_instructions, tls_instructions
from rows.stores import floor_cpu_ms, stores
from rows.wire import cold_reads, memory, start_postgres, wire, wire_names
from rows.worker import worker_calls

ROUNDS = 5
BODY = 300  # bytes of a request body; JSON is padded with spaces
CONNECTIONS = 64


# ---- the CPU of one request ----

# Whose answer nginx returns too, as ready text, in the same rounds.
BESIDE_NGINX = ("request_cpu_get_task", "request_cpu_thread_read")


def request_cpu(bench):
    model = bench.model()
    agentd = bench.agentd(bench.fresh("request"), model, cpu=SERVER_CPU)
    receipt = post(agentd.port, "submit_turn", {"text": "hello", "createPolicy": {}})
    wait_idle(agentd.port, receipt["sessionId"])
    session = {"sessionId": receipt["sessionId"]}
    thread = {**session, "threadId": receipt["threadId"]}
    commands = {"request_cpu_command": ("interrupt_turn", {**session, "reason": "nothing runs"}),
                "request_cpu_thread_read": ("get_thread_read", thread),
                "request_cpu_get_session": ("get_session", session),
                "request_cpu_get_task": ("get_task", {"taskId": receipt["taskId"]}),
                "request_cpu_list_sessions": ("list_sessions", {"limit": 1})}
    for name, (command, body) in commands.items():
        yield from one_request(bench, name, agentd, command, json.dumps(body).ljust(BODY))
    with open(bench.answers, encoding="utf-8") as lines:
        text = json.dumps({**session, "reason": json.loads(f'"{lines.readline().strip()}"')}, ensure_ascii=False)
    yield from one_request(bench, "request_cpu_text_1k", agentd, "interrupt_turn", text)
    bench.stop(agentd)
    bench.stop(model)


def cost_of(bench, server, command, body, count):
    """(microseconds of its CPU per request, what the client said)"""
    before = server.cpu_us()
    said = bench.run("bench-load", server.port, f"/v1/{command}", body, CONNECTIONS, count, cpu=CLIENT_CPU)
    return (server.cpu_us() - before) / count, said


def one_request(bench, name, agentd, command, body, count=10000):
    _, said = cost_of(bench, agentd, command, body, 1000)
    servers = [agentd, bench.server(program("bench-floor-epoll"), str(said["reply_bytes"]), str(said["head_bytes"]), cpu=SERVER_CPU)]
    if name in BESIDE_NGINX:
        nginx = bench.nginx({f"/v1/{command}": said["reply_bytes"]}, SERVER_CPU)
        servers += [nginx] if nginx else []
    for server in servers[1:]:
        cost_of(bench, server, command, body, 1000)
    rounds = [[cost_of(bench, server, command, body, count)[0] for server in servers] for _ in range(ROUNDS)]
    found = [median(column) for column in zip(*rounds)]
    for server in servers[1:]:
        bench.stop(server)
    yield name, "us", found[0], found[1]
    if len(found) > 2:
        yield name.replace("cpu", "nginx"), "us", found[2], found[1]
    elif name in BESIDE_NGINX:
        print(f"{name.replace('cpu', 'nginx')}: nginx is not installed here, so nothing stands beside ours", flush=True)


# ---- one event to many readers ----

def fanout_readers():
    return int(os.environ.get("AR_FANOUT", "2000"))


def fanout(bench, rounds=11):
    """AR_FANOUT readers (2000) of one session; a hundred of them stuck for the last row, where both figures are ours."""
    readers = fanout_readers()
    agentd = bench.agentd(bench.fresh("fanout"), cpu=SERVER_CPU)
    session = post(agentd.port, "create_session", {})["sessionId"]
    path = f"/v1/sessions/{session}/events?after=now"

    def deliver(protocol, count=readers, stuck=0, text=100, times=rounds):
        body = json.dumps({"sessionId": session, "objective": "x" * text, "draft": True})
        where = session if protocol == "ws" else path
        return bench.run("bench-fanout", agentd.child.pid, agentd.port, protocol, count, stuck, times, where, "/v1/create_task", body,
                         cpu=CLIENT_CPU)

    first = deliver("h1")
    floor = bench.server(program("bench-floor-fanout"), str(first["event_bytes"]), cpu=SERVER_CPU)
    runs = {name: [] for name in ("h1", "floor", "h2", "ws")}
    for _ in range(3):
        runs["h1"].append(deliver("h1"))
        runs["floor"].append(bench.run("bench-fanout", floor.child.pid, floor.port, "h1", readers, 0, rounds, "/", "/", "{}",
                                       cpu=CLIENT_CPU))
        bench.stop(floor)
        floor = bench.server(program("bench-floor-fanout"), str(first["event_bytes"]), cpu=SERVER_CPU)
        runs["h2"].append(deliver("h2"))
        runs["ws"].append(deliver("ws"))
    cost = {name: median([run["cpu_us"] for run in all_runs]) for name, all_runs in runs.items()}
    wall = {name: median([run["wall_ms"] for run in all_runs]) for name, all_runs in runs.items()}
    yield "fanout_h1_cpu", "us", cost["h1"], cost["floor"]
    yield "fanout_h1_last", "ms", wall["h1"], wall["floor"]
    yield "fanout_h2_cpu", "us", cost["h2"], cost["floor"]
    yield "fanout_h2_last", "ms", wall["h2"], wall["floor"]
    yield "fanout_ws_cpu", "us", cost["ws"], cost["floor"]
    yield "fanout_ws_last", "ms", wall["ws"], wall["floor"]
    yield "fanout_reader_h1", "B", first["reader_bytes"], None
    stuck = [(deliver("h1", 1000, 100, 8000, 41)["cpu_us"], deliver("h1", 1000, 0, 8000, 41)["cpu_us"]) for _ in range(3)]
    yield "fanout_100_stuck", "us", median([s[0] for s in stuck]), median([s[1] for s in stuck])
    bench.stop(floor)
    bench.stop(agentd)
    yield from reader_of(bench, readers, "h2")
    yield from reader_of(bench, readers, "ws")


def fanout_tls(bench, rounds=11):
    """A quarter of the readers over TLS beside as many in the clear, both ours, each with a server of its own."""
    readers = fanout_readers() // 4
    options, context = bench.tls_settings()
    servers = {"h1": (bench.agentd(bench.fresh("clear"), cpu=SERVER_CPU), None),
               "tls": (bench.agentd(bench.fresh("tls"), cpu=SERVER_CPU, options=options), context)}
    runs = {"h1": [], "tls": []}
    sessions = {name: post(server.port, "create_session", {}, tls)["sessionId"] for name, (server, tls) in servers.items()}
    for _ in range(3):
        for name, (server, _) in servers.items():
            body = json.dumps({"sessionId": sessions[name], "objective": "x" * 100, "draft": True})
            runs[name].append(bench.run("bench-fanout", server.child.pid, server.port, name, readers, 0, rounds,
                                        f"/v1/sessions/{sessions[name]}/events?after=now", "/v1/create_task", body, cpu=CLIENT_CPU))
    figure = {name: {what: median([run[what] for run in all_runs]) for what in all_runs[0]} for name, all_runs in runs.items()}
    for server, _ in servers.values():
        bench.stop(server)
    yield "fanout_tls_cpu", "us", figure["tls"]["cpu_us"], figure["h1"]["cpu_us"]
    yield "fanout_tls_last", "ms", figure["tls"]["wall_ms"], figure["h1"]["wall_ms"]
    yield "fanout_reader_tls", "B", runs["tls"][0]["reader_bytes"], None


def reader_of(bench, readers, protocol):
    """Memory of a reader over another protocol, in a process that has had no other readers."""
    agentd = bench.agentd(bench.fresh(f"fanout-{protocol}"), cpu=SERVER_CPU)
    session = post(agentd.port, "create_session", {})["sessionId"]
    body = json.dumps({"sessionId": session, "objective": "x", "draft": True})
    where = session if protocol == "ws" else f"/v1/sessions/{session}/events?after=now"
    said = bench.run("bench-fanout", agentd.child.pid, agentd.port, protocol, readers, 0, 1, where, "/v1/create_task", body)
    bench.stop(agentd)
    yield f"fanout_reader_{protocol}", "B", said["reader_bytes"], None


# ---- from submit to its receipt ----

def submit_ack(bench, count=150, pause_us=300):
    for store in stores():
        yield one_submit_ack(bench, store, count, pause_us)


def one_submit_ack(bench, store, count, pause_us):
    """Its turns never end: a daemon that is asked to stop would wait for them, so it is killed."""
    model = bench.model("--hang")
    body = json.dumps({"idempotencyKey": "k-@@@@@@@@@@", "text": "Say something about the sea. " * 4, "createPolicy": {}})
    before = store.fresh(bench, "ack_before")
    agentd = bench.agentd(store.folder(before), model, env=store.env(before))
    bench.run("bench-load", agentd.port, "/v1/submit_turn", body, 1, count)
    bench.kill(agentd)
    rounds = []
    for _ in range(ROUNDS):
        place = store.fresh(bench, "ack")
        agentd = bench.agentd(store.folder(place), model, env=store.env(place))
        rounds.append(bench.run(store.ack, agentd.port, body, store.source(before), store.target(bench, "ack_floor"), count,
                                pause_us))
        bench.kill(agentd)
    bench.stop(model)
    return (f"submit_ack_{store.prefix}p50", "us", median([r["ours_us"] for r in rounds]),
            median([r["floor_us"] for r in rounds]))


# ---- facts per second ----

def facts_rate(bench, sessions=64, turns=20, rounds=2):
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
    """The floor of the CPU is that of the floor which writes the same rows, right after: a slow machine is slow for both."""
    for store in stores():
        for sessions, turns in ((1, 200), (16, 60), (64, 40)):
            said, floors = [], []
            for _ in range(rounds if sessions == 64 else 1):  # the others have no budget
                place = store.fresh(bench, "tools")
                said.append(bench.run("bench-engine", place, sessions, turns, bench.answers, "tool"))
                if sessions == 64:
                    floors.append(floor_cpu_ms(bench, store, place) / said[-1]["turns"])
            yield f"tool_turns_{store.prefix}{sessions}", "/s", median([r["turns"] / r["seconds"] for r in said]), None
        yield f"tool_turn_cpu_{store.prefix}64", "ms", median([r["cpu_ms"] for r in said]), median(floors)
        yield f"tool_turn_bytes_{store.prefix}64", "B", store.size(place) / said[-1]["turns"], None


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
    many = bench.many_sessions(sessions)
    empty = bench.fresh("empty")
    times = {empty: [], many: [], None: []}
    memory = []
    for _ in range(2 * ROUNDS + 1):
        for data in (empty, many):
            agentd = bench.agentd(data)
            times[data].append(agentd.ready_ms)
            time.sleep(0.05)
            memory.append((data, agentd.rss_mb(), agentd.rss_mb("RssAnon")))
            bench.stop(agentd)
        begin = time.perf_counter()
        subprocess.run(["true"], check=True)
        times[None].append((time.perf_counter() - begin) * 1000)
    floor = median(times[None])
    yield "start_empty", "ms", median(times[empty]), floor
    yield "start_10k_sessions", "ms", median(times[many]), floor
    for name, data in (("idle_empty", empty), ("idle_10k_sessions", many)):
        # The least: the kernel maps pages of programs and libraries beside those that are used, and how many depends on its
        # cache. What the daemon allocated does not: that is what has a budget.
        yield "rss_" + name, "MB", min(rss for d, rss, _ in memory if d == data), None
        yield "own_" + name, "MB", min(own for d, _, own in memory if d == data), None


# ---- a command behind its boundary ----

def spawn(bench, rounds=300):
    """workspace_write through agent-init, warm and cold, beside the same command started plainly, and beside bubblewrap."""
    workspace, truth = owned_workspace(bench)
    bubblewrap = shutil.which("bwrap")
    said = bench.run("bench-spawn", BIN, workspace, truth, rounds, *([bubblewrap] if bubblewrap else []))
    plain = said["plain"]
    yield "spawn_sandboxed", "us", said["warm"]["us"], plain["us"]
    yield "spawn_sandboxed_cpu", "us", said["warm"]["cpu_us"], plain["cpu_us"]
    yield "spawn_cold", "us", said["cold"]["us"], plain["us"]
    yield "spawn_cold_cpu", "us", said["cold"]["cpu_us"], plain["cpu_us"]
    yield "spawn_ungrouped", "us", said["cold_ungrouped"]["us"], plain["us"]
    yield "spawn_ungrouped_cpu", "us", said["cold_ungrouped"]["cpu_us"], plain["cpu_us"]
    if bubblewrap:
        yield "spawn_vs_bubblewrap", "us", said["cold_ungrouped"]["us"], said["bwrap"]["us"]
    yield "rss_shim", "MB", shim_rss(bench, workspace), None
    yield "memory_prewarmed", "MB", prewarmed_memory(bench), None


def owned_workspace(bench):
    """A workspace that may be written by an unprivileged user, with a repository and the command in it."""
    os.chmod(bench.folder, 0o755)
    workspace = bench.fresh("workspace")
    os.chmod(workspace, 0o755)
    for name in (".git/hooks", ".vscode"):
        os.makedirs(os.path.join(workspace, name))
    open(os.path.join(workspace, ".git/config"), "w").close()
    truth = shutil.copy(program("bench-true"), workspace)
    if os.getuid() == 0:
        for path in [workspace, *(os.path.join(w, n) for w, d, f in os.walk(workspace) for n in d + f)]:
            os.chown(path, 1000, 1000)
    return workspace, truth


def shim_rss(bench, workspace):
    """Of the supervisor of one process that runs, after it is let go."""
    folder = bench.fresh("shim")
    plan = ["mode danger", "network host", *whose(), f"cwd {workspace}", "arg /bin/sleep", "arg 60", "end"]
    write_text(os.path.join(folder, "plan"), plan)
    write_text(os.path.join(folder, "shim"), [f"init {program('agent-init')}", "timeout_ms 0", "output_bytes 1048576", "leftovers kill", "barrier_ms 10000"])
    child, ours = start_shim(folder)
    try:
        ours.recv(4096)
        ours.send(b"G")
        time.sleep(0.5)
        with open(f"/proc/{child.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024
    finally:
        ours.send(b'E{"by":"user","reason":"measured","graceMs":0}')
        child.wait(timeout=PATIENCE)
        ours.close()


def prewarmed_memory(bench):
    """Of all processes of one boundary that waits for its command: anonymous, for the pages of the programs are those of every command."""
    folder = bench.fresh("prewarmed")
    write_text(os.path.join(folder, "base"), ["prewarmed yes", "mode read_only", "network none", *whose(), "cwd /", "read /usr", "landlock yes", "end"])
    write_text(os.path.join(folder, "prewarmed"), [f"init {program('agent-init')}"])
    child, ours = start_shim(folder, "prewarmed")
    try:
        give_up = time.monotonic() + PATIENCE
        while len(tree_of(child.pid)) < 3:
            if time.monotonic() > give_up:
                raise RuntimeError("a prewarmed sandbox was not made")
            time.sleep(0.05)
        time.sleep(1)  # until they wait
        return sum(anonymous_of(pid) for pid in tree_of(child.pid)) / 1024
    finally:
        ours.close()
        child.wait(timeout=PATIENCE)


def anonymous_of(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rows:
        return next(int(line.split()[1]) for line in rows if line.startswith("Pss_Anon:"))


def whose():
    """The lines of a plan that say how privilege is given up."""
    root = os.getuid() == 0
    ids = (1000, 1000) if root else (os.getuid(), os.getgid())
    return [f"backend {'root' if root else 'userns'}", f"uid {ids[0]}", f"gid {ids[1]}"]


def start_shim(*words):
    """A supervisor, and our end of its control connection."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    child = subprocess.Popen([program("agent-shim"), *words], preexec_fn=lambda: os.dup2(theirs.fileno(), 3, inheritable=True) if theirs.fileno() != 3
                             else os.set_inheritable(3, True), close_fds=False, stdin=subprocess.DEVNULL, cwd=words[0])
    theirs.close()
    ours.settimeout(PATIENCE)
    return child, ours


def write_text(path, lines):
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")


# What each measurement yields, so that a run of some rows does not measure the others, and whether it needs PostgreSQL.
GROUPS = (
    ("start_instructions delta_instructions turn_instructions request_instructions_command request_instructions_text_1k "
     "request_instructions_thread_read request_instructions_get_session request_instructions_get_task request_instructions_list_sessions "
     "fanout_instructions_h1 fanout_instructions_h2 fanout_instructions_ws", instructions, False),
    ("commit_instructions commit_instructions_pg", commit_instructions, True),
    ("start_instructions_10k request_instructions_cold", stored_instructions, False),
    ("start_instructions_pg", postgres_instructions, True),
    ("fanout_instructions_tls", tls_instructions, False),
    ("start_empty start_10k_sessions rss_idle_empty rss_idle_10k_sessions own_idle_empty own_idle_10k_sessions", start, False),
    ("start_pg", start_postgres, True),
    ("rss_1000_sessions", memory, False),
    (wire_names(), wire, True),
    ("request_cpu_command request_cpu_thread_read request_cpu_get_session request_cpu_get_task request_cpu_list_sessions request_cpu_text_1k "
     "request_nginx_thread_read request_nginx_get_task", request_cpu, False),
    ("request_cpu_cold", cold_reads, False),
    ("fanout_h1_cpu fanout_h1_last fanout_h2_cpu fanout_h2_last fanout_ws_cpu fanout_ws_last fanout_reader_h1 fanout_reader_h2 fanout_reader_ws "
     "fanout_100_stuck", fanout, False),
    ("fanout_tls_cpu fanout_tls_last fanout_reader_tls", fanout_tls, False),
    ("submit_ack_p50 submit_ack_pg_p50", submit_ack, True),
    ("facts_rate_http_64 facts_rate_engine_64 facts_rate_pg_http_64 facts_rate_pg_engine_64",
     facts_rate, True),
    ("tool_turns_1 tool_turns_16 tool_turns_64 tool_turn_cpu_64 tool_turn_bytes_64 "
     "tool_turns_pg_1 tool_turns_pg_16 tool_turns_pg_64 tool_turn_cpu_pg_64 tool_turn_bytes_pg_64", tool_turns, True),
    ("disk_per_transcript disk_per_text", disk, False),
    ("spawn_sandboxed spawn_sandboxed_cpu spawn_cold spawn_cold_cpu spawn_ungrouped spawn_ungrouped_cpu spawn_vs_bubblewrap rss_shim memory_prewarmed",
     spawn, False),
    ("checkpoint_10_of_50k checkpoint_10_of_50k_cpu checkpoint_unchanged_50k checkpoint_first_50k", checkpoints, False),
    ("worker_read_file worker_read_file_cpu worker_read_file_own_cpu worker_shell worker_shell_cpu worker_shell_own_cpu", worker_calls, False),
)


def is_wanted(names, wanted):
    return not wanted or any(word in names for word in wanted)


def needs_postgres(wanted):
    return any(on_postgres and is_wanted(names, wanted) for names, _, on_postgres in GROUPS)


def rows(bench, wanted):
    """Every row whose name contains one of the wanted words; all of them when there are none. A measurement ends with the last row that is wanted."""
    for names, measure, _ in GROUPS:
        if not is_wanted(names, wanted):
            continue
        left = {name for name in names.split() if is_wanted(name, wanted)}
        began = time.monotonic()
        for row in measure(bench):
            if is_wanted(row[0], wanted):
                left.discard(row[0])
                yield row
            if wanted and not left:
                break
        print(f"{'':30}{time.monotonic() - began:12.0f} s", flush=True)
