#!/usr/bin/env python3
"""check_store.py STORE JOURNAL [--final]: holds a SQLite store against what clients were told, with no code of the runtime.

The journal has a line of JSON for each question, answer and fact: {"sent": turnId} before a turn is submitted, {"receipt": {...}} when it was accepted,
{"refused": turnId} when the answer was that it was not, {"fact": {...}} for a fact that a client was given. Turn ids are unique.
STORE is the file agentd.db as a process left it that is gone; a copy of it and of its WAL is read. With --final all work is done: every turn has
its end, and no turn is there that nobody was told of. Prints {"violations": [...], "turns": n, ...}; rows and content are unpacked with libzstd."""
import collections
import ctypes
import hashlib
import json
import os
import shutil
import sqlite3
import sys
import tempfile

ENDS = ('turn.completed', 'turn.failed')

zstd = ctypes.CDLL('libzstd.so.1')
zstd.ZSTD_createDCtx.restype = ctypes.c_void_p
zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
zstd.ZSTD_decompress_usingDict.restype = ctypes.c_size_t


class Unpacker:
    """The first byte of a value says how it is packed: 0 raw, 1 zstd, 1 + n zstd with dictionary n."""

    def __init__(self, db):
        self.dictionaries = dict(db.execute('SELECT number, content FROM dictionary'))
        self.context = ctypes.c_void_p(zstd.ZSTD_createDCtx())

    def unpack(self, value):
        how, body = value[0], value[1:]
        if how == 0:
            return body
        length = zstd.ZSTD_getFrameContentSize(body, ctypes.c_size_t(len(body)))
        dictionary = self.dictionaries[how - 1] if how > 1 else b''
        out = ctypes.create_string_buffer(length or 1)
        got = zstd.ZSTD_decompress_usingDict(self.context, out, ctypes.c_size_t(length), body, ctypes.c_size_t(len(body)),
                                             dictionary, ctypes.c_size_t(len(dictionary)))
        if got != length:
            raise ValueError(f'a value of {len(value)} bytes cannot be unpacked')
        return out.raw[:length]


class Check:
    def __init__(self, db, is_final):
        self.db, self.is_final, self.unpacker = db, is_final, Unpacker(db)
        self.violations, self.counts = [], collections.Counter()
        self.facts = collections.defaultdict(dict)  # sessionId -> sequence -> fact
        self.submitted = collections.defaultdict(list)  # (sessionId, turnId) -> facts
        self.ends = collections.Counter()
        self.told, self.unanswered = set(), collections.Counter()  # by (sessionId, turnId); by turnId

    def violation(self, text):
        self.violations.append(text)

    def read_row(self, session, first, last, body, expected):
        if first != expected:
            self.violation(f'{session}: a row begins with fact {first} where {expected} is due')
        lines = self.unpacker.unpack(body).decode().splitlines()
        facts = [json.loads(line) for line in lines]
        if [f['sequence'] for f in facts] != list(range(first, last + 1)):
            self.violation(f'{session}: the row {first} to {last} has facts {[f["sequence"] for f in facts]}')
        for fact in facts:
            self.take(fact)

    def take(self, fact):
        session = fact['sessionId']
        self.counts['facts'] += 1
        self.facts[session][fact['sequence']] = fact
        if fact['type'] == 'turn.submitted':
            self.submitted[session, fact['turnId']].append(fact)
        if fact['type'] in ENDS:
            self.ends[session, fact['turnId']] += 1

    def read_log(self):
        due = {}
        for session, first, last, body in self.db.execute('SELECT session, first_seq, last_seq, body FROM log ORDER BY session, first_seq'):
            self.read_row(session.hex(), first, last, body, due.get(session, 1))
            due[session] = last + 1
        ids = collections.Counter(f['eventId'] for log in self.facts.values() for f in log.values())
        for event, n in ids.items():
            if n > 1:
                self.violation(f'{event} is there {n} times')

    def read_content(self):
        for digest, body in self.db.execute('SELECT hash, body FROM blob'):
            self.counts['contents'] += 1
            if hashlib.sha256(self.unpacker.unpack(body)).digest() != digest:
                self.violation(f'the content {digest.hex()} is not what its hash says')

    def check_receipt(self, receipt):
        key = receipt['sessionId'], receipt['turnId']
        found = self.submitted.get(key, [])
        if len(found) != 1:
            self.violation(f'{key}: acknowledged, and {len(found)} times in the log')
            return
        told = {name: receipt[name] for name in ('threadId', 'taskId', 'sequence')}
        if told != {name: found[0].get(name) for name in told}:
            self.violation(f'{key}: the receipt says {told}, the log {found[0]}')

    def check_fact(self, fact):
        stored = self.facts[fact['sessionId']].get(fact['sequence'])
        if stored != fact:
            self.violation(f'a client saw {json.dumps(fact)}, the log has {json.dumps(stored)}')

    def check_entry(self, entry):
        if 'receipt' in entry:
            self.told.add((entry['receipt']['sessionId'], entry['receipt']['turnId']))
            self.check_receipt(entry['receipt'])
        elif 'fact' in entry:
            self.counts['seen'] += 1
            self.check_fact(entry['fact'])
        elif 'sent' in entry:
            self.unanswered[entry['sent']] += 1
        else:
            self.unanswered[entry['refused']] -= 1
            self.counts['refused'] += 1

    def check_unsaid(self):
        """Turns without a receipt: there when the work is done, or refused each time they were sent."""
        for key in self.submitted:
            if key not in self.told and (self.is_final or self.unanswered.get(key[1]) == 0):
                self.violation(f'{key}: it is in the log, and nobody was told so')

    def check_journal(self, path):
        with open(path, encoding='utf8') as journal:
            for line in journal:
                self.check_entry(json.loads(line))
        self.counts['turns'] = len(self.told)
        self.check_unsaid()

    def check_ends(self):
        for key in self.submitted:
            n = self.ends[key]
            if n > 1 or (self.is_final and n == 0):
                self.violation(f'{key}: {n} ends')

    def run(self, journal):
        said = self.db.execute('PRAGMA integrity_check').fetchone()[0]
        if said != 'ok':
            self.violation(f'integrity_check: {said}')
        self.read_log()
        self.read_content()
        self.check_journal(journal)
        self.check_ends()
        return {'violations': self.violations, **self.counts}


def main():
    store, journal = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        for suffix in ('', '-wal'):
            if os.path.exists(store + suffix):
                shutil.copyfile(store + suffix, f'{folder}/copy.db{suffix}')
        db = sqlite3.connect(f'{folder}/copy.db')
        print(json.dumps(Check(db, '--final' in sys.argv).run(journal)))
        db.close()


main()
