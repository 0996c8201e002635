"""layers.txt as tables: which modules there are, what each may include, and the include path that CMake gives it.

The include path repeats cmake/layers.cmake on purpose in one function, so that headers can be tried without a build.
"""
import os

PORT_DIR = "include/agentruntime/port"
API_DIR = "include/agentruntime"
GEN_DIR = "catalog/gen"


def load(root):
    """{module: (granted modules, line number)}. `port` is a module of headers that may use base, `api` is the header of the library."""
    grants = {}
    with open(os.path.join(root, "layers.txt"), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.split("#")[0].strip()
            if line:
                name, _, deps = line.partition(":")
                grants[name.strip()] = (deps.split(), number)
    grants.setdefault("port", (["base"], 0))
    grants.setdefault("api", ([], 0))
    return grants


def folder(module):
    return {"port": PORT_DIR, "api": API_DIR}.get(module, f"src/{module}")


def module_of(path, grants):
    """The module that holds this path, or None. The longest folder wins."""
    best = None
    for module in grants:
        if path.startswith(folder(module) + "/") and (best is None or len(module) > len(best)):
            best = module
    return best


def include_dirs(module, grants):
    """Folders in the order in which the compiler searches them, each with the module that it belongs to."""
    dirs = []
    for dep in [module] + grants[module][0]:
        dirs.append((folder(dep), dep))
        if dep in ("catalog", "host"):
            dirs.append((GEN_DIR, "catalog"))
    return dirs
