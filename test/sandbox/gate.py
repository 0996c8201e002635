"""Stands in for the daemon beside a real agent-proxy: gives it a listening socket and rules, prints its port and then every report, one JSON object a line.
gate.py PROGRAM RULE...; ends with its standard input."""
import json, os, select, socket, subprocess, sys

program, rules = sys.argv[1], sys.argv[2:]
ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
listener = socket.create_server(("127.0.0.1", 0))
listener.setblocking(False)


def start():
    os.dup2(its.fileno(), 3)
    os.set_inheritable(3, True)


child = subprocess.Popen([program], pass_fds=(3, its.fileno()), preexec_fn=start, stdin=subprocess.DEVNULL)
its.close()
socket.send_fds(ours, [json.dumps({"open": "proc_x", "rules": rules}).encode()], [listener.fileno()])
print(json.dumps({"port": listener.getsockname()[1], "pid": child.pid}), flush=True)
while True:
    ready, _, _ = select.select([ours, sys.stdin], [], [])
    if ours in ready:
        text = ours.recv(65536)
        if not text:
            break
        print(text.decode(), flush=True)
    if sys.stdin in ready and not sys.stdin.readline():
        break
ours.close()
child.wait(5)
