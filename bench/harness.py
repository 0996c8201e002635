"""Starts and ends the programs of a bench run and reads what the kernel knows about them. Every process started here is ended
by `Bench.close`, by its id; all files are in one folder that goes with it."""

import glob
import http.client
import json
import os
import random
import shutil
import socket
import ssl
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.path.abspath(os.environ.get("AR_BIN", os.path.join(ROOT, "build/release/bin")))
CPUS = sorted(os.sched_getaffinity(0))
SERVER_CPU, CLIENT_CPU = CPUS[0], CPUS[-1]
TEXTS = 4000
PATIENCE = 600  # seconds: only ends what hangs. A machine may get a tenth of a processor, and a program may run under callgrind
CHAT_SETTINGS = """permission:
  mode: bypass
http_tools:
  - name: look
    description: Looks something up.
    method: GET
    url: http://127.0.0.1:{port}/look
    read_only: true
"""


def program(name):
    return os.path.join(BIN, name)


def median(values):
    return statistics.median(values)


def post(port, command, body, tls=None):
    """tls: a context of ssl, where the server speaks it."""
    connection = http.client.HTTPSConnection("localhost", port, context=tls) if tls else http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", f"/v1/{command}", json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    value = json.loads(answer.read())
    connection.close()
    return value


def tree_of(pid):
    """A process and all below it; none when it has ended meanwhile."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            return [pid, *(p for child in children.read().split() for p in tree_of(int(child)))]
    except FileNotFoundError:
        return []


def cpu_of(pid):
    """Microseconds of CPU of all its threads."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path, encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total / 1000


def io_of(pid):
    """What the kernel counts of its reading and writing: {name: number}."""
    with open(f"/proc/{pid}/io", encoding="ascii") as f:
        return {name: int(value) for name, value in (line.split(": ") for line in f)}


def wait_idle(port, session):
    while post(port, "get_session", {"sessionId": session})["status"] != "idle":
        time.sleep(0.01)


class Server:
    """A program that says in its first line of output that it is ready, and where it listens if it does."""

    def __init__(self, command, env=None, cpu=None):
        pin = (lambda: os.sched_setaffinity(0, {cpu})) if cpu is not None else None
        started = time.perf_counter()
        self.child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, preexec_fn=pin,
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **(env or {})})
        line = self.child.stdout.readline()
        self.ready_ms = (time.perf_counter() - started) * 1000
        if not line:
            raise SystemExit(f"bench: {command[0]} ended at start")
        said = json.loads(line)
        self.port = said.get("port") or ("listen" in said and int(said["listen"].rsplit(":", 1)[1]))

    def cpu_us(self):
        return cpu_of(self.child.pid)

    def rss_mb(self, kind="VmRSS"):
        with open(f"/proc/{self.child.pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith(kind + ":")) / 1024

    def stop(self):
        self.child.terminate()
        try:
            self.child.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


class Nginx(Server):
    """One process of nginx that returns texts of given sizes, {path: bytes}; everything of it is in the folder. A word of its settings
    has 4 KB at most, so a longer text is several times the same thousand bytes, and a rest."""

    CONF = """daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 1000000000; tcp_nodelay on; default_type application/json;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; set $thousand '{thousand}'; {locations} }}
}}
"""

    def __init__(self, path, folder, answers, cpu):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        locations = " ".join(f"location = {at} {{ return 200 '{'$thousand' * (size // 1000)}{'-' * (size % 1000)}'; }}"
                             for at, size in answers.items())
        with open(os.path.join(folder, "conf"), "w", encoding="ascii") as conf:
            conf.write(self.CONF.format(folder=folder, port=self.port, thousand="x" * 1000, locations=locations))
        self.child = subprocess.Popen(
            [path, "-p", folder, "-e", os.path.join(folder, "errors"), "-c", os.path.join(folder, "conf")], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        self.wait_for_port()

    def wait_for_port(self):
        for _ in range(PATIENCE * 20):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        self.stop()
        raise SystemExit("bench: nginx did not start")


def prose_words():
    """Of our own pages."""
    pages = sorted(p for pattern in ("*.md", "docs/**/*.md", "src/**/*.md")
                   for p in glob.glob(os.path.join(ROOT, pattern), recursive=True))
    return [word for page in pages for word in open(page, encoding="utf-8").read().split()]


class Bench:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="ar-bench-")
        self.servers = []
        self.prompts = self.write_texts("prompts", 120)
        self.answers = self.write_texts("answers", 900)
        self.words = self.write_words("words", 200)

    def close(self):
        for server in self.servers:
            server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def fresh(self, name):
        """An empty folder of that name."""
        shutil.rmtree(self.path(name), ignore_errors=True)
        os.mkdir(self.path(name), 0o700)
        return self.path(name)

    def write_texts(self, name, size):
        """Lines of so many characters of prose, as they stand inside JSON."""
        prose = " ".join(prose_words())
        return self.write_lines(name, size, len(prose), lambda at: prose[at:at + size])

    def write_words(self, name, count):
        """Lines of so many words."""
        words = prose_words()
        return self.write_lines(name, count, len(words), lambda at: " ".join(words[at:at + count]))

    def write_lines(self, name, size, room, cut):
        """At random but always the same places."""
        places = random.Random(size)
        with open(self.path(name), "w", encoding="utf-8") as out:
            for _ in range(TEXTS):
                out.write(json.dumps(cut(places.randrange(room - size)), ensure_ascii=False)[1:-1] + "\n")
        return self.path(name)

    def server(self, *command, env=None, cpu=None):
        server = Server(command, env=env, cpu=cpu)
        self.servers.append(server)
        return server

    def model(self, *options, cpu=None):
        return self.server(program("bench-model-stub"), self.answers, *options, cpu=cpu)

    def chat_model(self, pause_ms=0):
        """A model that asks for a tool and then streams 200 words in 40 pieces, and the settings that name it and its tool."""
        model = self.server(program("bench-chat-model"), self.words, str(pause_ms))
        settings = self.path("chat.yaml")
        with open(settings, "w", encoding="ascii") as out:
            out.write(CHAT_SETTINGS.format(port=model.port))
        return model, ("--config", settings)

    def tls_settings(self):
        """Options of an agentd that speaks TLS, and the context of a client that trusts it."""
        certificate, key, settings = self.path("certificate.pem"), self.path("key.pem"), self.path("tls.yaml")
        if not os.path.exists(settings):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                            "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate], check=True,
                           stderr=subprocess.DEVNULL)
            with open(settings, "w", encoding="ascii") as out:
                out.write(f"tls:\n  certificate: {certificate}\n  key: {key}\n")
        return ("--config", settings), ssl.create_default_context(cafile=certificate)

    def many_sessions(self, count):
        """A folder with a store of so many sessions of 15 facts; made once."""
        data = self.path("many")
        if not os.path.exists(data):
            self.fresh("many")
            subprocess.run([program("ar-make-session"), "--store", os.path.join(data, "agentd.db"), "--facts", "15", "--sessions", str(count)],
                           check=True, stdout=subprocess.DEVNULL)
        return data

    def nginx(self, answers, cpu):
        """nginx with answers of these sizes, {path: bytes}; None where there is no nginx."""
        path = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
        if not path:
            return None
        server = Nginx(path, self.fresh("nginx"), answers, cpu)
        self.servers.append(server)
        return server

    def agentd(self, data, model=None, cpu=None, syncs=None, env=None, options=(), before=()):
        # Sizes are those of the runtime's own work: the standard prompt would be in each of them.
        env = {"AGENTD_SYSTEM_PROMPT": "none", **(env or {})}
        if model:
            env["OPENAI_BASE_URL"] = f"http://127.0.0.1:{model.port}/v1"
        if syncs:
            env.update(LD_PRELOAD=program("bench-count-sync.so"), BENCH_SYNC_COUNT=syncs)
        return self.server(*before, program("agentd"), "--data-dir", data, "--listen", "127.0.0.1:0", *options, env=env, cpu=cpu)

    def stop(self, server):
        self.servers.remove(server)
        server.stop()

    def kill(self, server):
        server.child.kill()
        self.stop(server)

    def run(self, *command, cpu=None, env=None):
        """Runs a program to its end; the JSON that it prints."""
        pin = (lambda: os.sched_setaffinity(0, {cpu})) if cpu is not None else None
        done = subprocess.run([program(command[0]), *map(str, command[1:])], stdout=subprocess.PIPE, check=True,
                              stdin=subprocess.DEVNULL, preexec_fn=pin, env={**os.environ, **(env or {})}, timeout=PATIENCE)
        return json.loads(done.stdout.splitlines()[0])
