#!/usr/bin/env python3
"""A service manager for tests: listens, starts a program with the sockets passed as systemd passes them, and tells what the program says.

    activate.py [--tcp] [--unix PATH] [--notify PATH] [--watchdog-ms N] [--for-other] PROGRAM [ARGUMENT...]

Prints {"tcp": port} first, then {"news": [...]} for every message, among the program's own lines. Ends with the program; SIGTERM goes to it.
--for-other passes the sockets under the id of another process, which makes them none of the program's business.
"""

import argparse
import json
import os
import select
import signal
import socket
import sys


def say(what):
    os.write(1, (json.dumps(what) + "\n").encode())


def open_sockets(args):
    sockets = []
    if args.tcp:
        sockets.append(socket.create_server(("127.0.0.1", 0)))
        say({"tcp": sockets[-1].getsockname()[1]})
    if args.unix:
        sockets.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        sockets[-1].bind(args.unix)
        sockets[-1].listen(16)
    return sockets


def become(args, sockets):
    """In the child: the sockets from descriptor 3 on, the words in the environment, then the program."""
    copies = [os.dup2(s.fileno(), 100 + i) for i, s in enumerate(sockets)]
    for i, fd in enumerate(copies):
        os.dup2(fd, 3 + i, inheritable=True)
    env = dict(os.environ)
    if sockets:
        env |= {"LISTEN_FDS": str(len(sockets)), "LISTEN_PID": str(os.getppid() if args.for_other else os.getpid())}
    if args.notify:
        env["NOTIFY_SOCKET"] = args.notify
    if args.watchdog_ms:
        env |= {"WATCHDOG_USEC": str(args.watchdog_ms * 1000), "WATCHDOG_PID": str(os.getpid())}
    os.closerange(3 + len(sockets), 200)
    os.execve(args.program[0], args.program, env)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tcp", action="store_true")
    parser.add_argument("--unix")
    parser.add_argument("--notify")
    parser.add_argument("--watchdog-ms", type=int, default=0)
    parser.add_argument("--for-other", action="store_true")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    news = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    if args.notify:
        news.bind("\0" + args.notify[1:] if args.notify.startswith("@") else args.notify)
    sockets = open_sockets(args)
    pid = os.fork()
    if pid == 0:
        become(args, sockets)
    for s in sockets:
        s.close()
    signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
    status = None
    while status is None:
        if args.notify and select.select([news], [], [], 0.05)[0]:
            say({"news": news.recv(4096).decode().split()})
            continue
        done, code = os.waitpid(pid, 0 if not args.notify else os.WNOHANG)
        if done:
            status = os.waitstatus_to_exitcode(code)
    sys.exit(status if status >= 0 else 128 - status)


main()
