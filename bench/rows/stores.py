"""The two engines, as places where rows stand: where a store is made, what it takes, which processes work for it."""

import itertools
import os
import resource
import sqlite3
import subprocess

from harness import tree_of


class Sqlite:
    """A place is a folder. A commit is an fsync, counted by what is preloaded."""
    prefix, suffix, floor, ack = "", "", "bench-floor-sqlite", "bench-ack"
    cpu_batch = 16  # appends of a commit where the floor's CPU is measured

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

    def pids(self):
        """Processes of the database."""
        return []

    def written(self, place, syncs):
        store = sqlite3.connect(self.source(place))
        appends = store.execute("SELECT count(*) FROM log").fetchone()[0]
        store.close()
        with open(syncs) as count:
            return appends, int(count.read())


class Postgres:
    """A place is a database of the server that test/lib/postgres made. A commit is a transaction that wrote to the log."""
    prefix, suffix, floor, ack = "pg_", "_pg", "bench-floor-postgres", "bench-ack-postgres"
    cpu_batch = 100000  # one commit: contents that sessions share come before all that names them
    made = itertools.count()

    def sql(self, place, *statements):
        words = [word for statement in statements for word in ("-c", statement)]
        return subprocess.run(["psql", "-qAtd", place, *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True).stdout

    def fresh(self, bench, name):
        server = os.environ["AR_TEST_POSTGRES"]
        name = f"{name}_{next(self.made)}"  # none is dropped: the checkpoint of each would take seconds; all go with the server
        self.sql(f"{server} dbname=postgres", f"CREATE DATABASE {name}")
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

    def pids(self):
        with open(os.path.join(os.environ["AR_TEST_POSTGRES_DIR"], "data/postmaster.pid"), encoding="ascii") as f:
            return tree_of(int(f.readline()))

    def written(self, place, syncs):
        return map(int, self.sql(place, "SELECT count(*), count(DISTINCT xmin::text) FROM log").split("|"))


def stores():
    return Sqlite(), Postgres()


def floor_cpu_ms(bench, store, place):
    """CPU of the floor's own process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    bench.run(store.floor, store.source(place), store.target(bench, "tools_floor"), store.cpu_batch)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000
