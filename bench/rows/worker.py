"""A tool call on a worker, over a link on this machine, beside the same call in a workspace of the daemon's own. Its time is that between the
facts of its beginning and its end. Its CPU is that of the daemon, the worker and all processes that they started and waited for; the own CPU is that
of the daemon and the worker alone, with the turn around the call: decisions, facts, a request to the model."""

import datetime
import http.server
import json
import os
import re
import threading

from harness import cpu_of, median, post, program, wait_idle

CALLS, ROUNDS = 50, 6
CLOCK = os.sysconf("SC_CLK_TCK")
SETTINGS = """permission:
  mode: bypass
workspaces:
  dir: {folder}
  checkpoints: 0
"""


class Model(http.server.BaseHTTPRequestHandler):
    """Asks for the tool that the first message names, so often as it says, and then stops."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        messages = json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"]
        last = max(i for i, m in enumerate(messages) if m["role"] == "user")
        text = messages[last]["content"]
        text = text if isinstance(text, str) else text[0]["text"]
        name, count, args = re.match(r"(\w+) (\d+) (.*)", text, re.S).groups()
        done = sum(m["role"] == "tool" for m in messages[last:])
        delta, reason = ({"content": "done"}, "stop") if done >= int(count) else (
            {"tool_calls": [{"index": 0, "id": f"c{done}", "type": "function", "function": {"name": name, "arguments": args}}]}, "tool_calls")
        lines = [{"choices": [{"index": 0, "delta": delta}]}, {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}]
        body = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())


class ModelServer:
    def __init__(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()


def cpu_ms(pids):
    """(of these processes, of those that they have waited for)"""
    waited = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            waited += sum(map(int, f.read().rsplit(")", 1)[1].split()[13:15]))
    return sum(map(cpu_of, pids)) / 1000, waited * 1000 / CLOCK


def time_of(event):
    return datetime.datetime.fromisoformat(event["timestamp"].replace("Z", "+00:00")).timestamp()


def call_times(port, session):
    """Milliseconds of each tool call of the session's newest page."""
    events = post(port, "get_session", {"sessionId": session, "limit": 500})["history"]["events"]
    began = {e["toolCallId"]: time_of(e) for e in events if e["type"] == "tool.started"}
    ends = {e["toolCallId"]: e for e in events if e["type"] in ("tool.result", "tool.failed")}
    for e in ends.values():
        if e["type"] == "tool.failed":
            raise SystemExit(f"bench: a call failed: {e['payload']}")
    return [(time_of(e) - began[i]) * 1000 for i, e in ends.items() if i in began]


class Place:
    """A workspace, and what calls in it cost: {tool: [ms of rounds]} and {tool: [(CPU ms of a call, that of children with it) of rounds]}."""

    def __init__(self, agentd, pids, worker=None):
        self.port, self.pids = agentd.port, pids
        made = post(self.port, "create_workspace", {"name": worker or "here", **({"worker": worker} if worker else {})})
        self.workspace = made["workspace"]["workspaceId"]
        self.times, self.cpu = {}, {}
        self.run("write_file", 1, {"path": "note.txt", "content": "a line of text\n" * 40})

    def run(self, tool, count, args):
        before = cpu_ms(self.pids)
        session = post(self.port, "submit_turn", {"createPolicy": {"workspaceId": self.workspace}, "text": f"{tool} {count} {json.dumps(args)}"})["sessionId"]
        wait_idle(self.port, session)
        self.times.setdefault(tool, []).append(median(call_times(self.port, session)))
        own, waited = (now - then for now, then in zip(cpu_ms(self.pids), before))
        self.cpu.setdefault(tool, []).append((own / count, (own + waited) / count))

    def cpu_per_call(self, tool):
        """Of the cheapest round: a file system that has just deleted many files makes the next ones at several times the cost, now on one side, now on the
        other."""
        return min(self.cpu[tool])


def start_worker(bench, agentd):
    made = post(agentd.port, "create_worker", {"name": "bench"})
    path = bench.path("enrolment")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as out:
        out.write(made["enrolmentToken"] + "\n")
    worker = bench.server(program("agentd"), "worker", "--dir", bench.fresh("worker"), "--join", f"http://127.0.0.1:{agentd.port}", "--token-file", path)
    return worker, made["worker"]["workerId"]


def worker_calls(bench):
    os.chmod(bench.folder, 0o755)
    model, settings = ModelServer(), bench.path("worker.yaml")
    with open(settings, "w", encoding="ascii") as out:
        out.write(SETTINGS.format(folder=bench.fresh("workspaces")))
    agentd = bench.agentd(bench.fresh("worker-daemon"), model, options=("--config", settings))
    worker, worker_id = start_worker(bench, agentd)
    pids = [agentd.child.pid, worker.child.pid]
    here, there = Place(agentd, pids), Place(agentd, pids, worker_id)
    for _ in range(ROUNDS):
        for place in (here, there):
            place.run("read_file", CALLS, {"path": "note.txt"})
            place.run("shell", CALLS, {"command": "echo hello"})
    for tool, name in (("read_file", "worker_read_file"), ("shell", "worker_shell")):
        yield name, "ms", median(there.times[tool]), median(here.times[tool])
        far, near = there.cpu_per_call(tool), here.cpu_per_call(tool)
        yield f"{name}_cpu", "ms", far[1], near[1]
        yield f"{name}_own_cpu", "ms", far[0], near[0]
    bench.stop(worker)
    bench.stop(agentd)
    model.stop()
