"""A checkpoint of a workspace of 50,000 files, through the sandbox, beside `git stash create` on the same folder."""

import os
import subprocess

from harness import BIN

FILES, FOLDERS = 50000, 500


def make_repository(folder):
    """Committed as a whole; ten of its files are at the top. It belongs to an unprivileged user."""
    os.chmod(folder, 0o755)
    for n in range(FOLDERS):
        os.makedirs(os.path.join(folder, f"src/part{n % 25}/d{n}"))
    for i in range(FILES):
        name = f"f{i:05}" if i < 10 else f"src/part{i % FOLDERS % 25}/d{i % FOLDERS}/f{i:05}"
        with open(os.path.join(folder, name), "w", encoding="ascii") as out:
            out.write(f"/* file {i} */\n" + "int x;\n" * (i % 300))
    git = ["git", "-C", folder, "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], check=True)
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", "1000:1000", folder], check=True)


def checkpoints(bench, rounds=15):
    os.chmod(bench.folder, 0o755)
    folder, stores = bench.fresh("files"), bench.fresh("stores")
    make_repository(folder)
    said = bench.run("bench-checkpoint", BIN, folder, stores, rounds)
    stash = said["stash"]
    yield "checkpoint_10_of_50k", "ms", said["save"]["us"] / 1000, stash["us"] / 1000
    yield "checkpoint_10_of_50k_cpu", "ms", said["save"]["cpu_us"] / 1000, stash["cpu_us"] / 1000
    yield "checkpoint_unchanged_50k", "ms", said["unchanged"]["us"] / 1000, stash["us"] / 1000
    yield "checkpoint_first_50k", "ms", said["first"]["us"] / 1000, None
