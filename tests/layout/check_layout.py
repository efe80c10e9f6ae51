#!/usr/bin/env python3
"""Checks that includes between the modules of src/ point down the order, never up.

    check_layout.py [ROOT]       exit 1 and name each include that breaks the layout
    check_layout.py --self-test  plant violations and see that each is found
"""

import os
import re
import sys
import tempfile

# Ground first. A module may include itself and those before it.
ORDER = [
    "base", "net", "crypto", "http", "wire",
    "guard", "route", "upstream", "content", "record",
    "jobs", "edge", "admin", "config", "probe", "measure", "programs",
    "fastcrypto",  # a module of its own, which the program loads
]

# These do not know each other: only edge (and jobs, for their background work) ties them.
STRANGERS = ["guard", "route", "upstream", "content", "record"]

# Where the order alone would allow too much: all that the module may include.
ONLY = {
    "probe": ["base", "net", "crypto", "http", "wire", "jobs"],
    "measure": ["base", "net", "crypto", "http", "wire", "jobs"],
    "fastcrypto": [],
}

# Generated in the build tree: path as included -> module it belongs to.
GENERATED = {"base/version.h": "base"}

SOURCE = re.compile(r"\.(cc|cpp|c|h|hpp|inc)$")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)


def allowed(module, other):
    """None if `module` may include `other`, else the reason why not."""
    if module == other:
        return None
    if ORDER.index(other) > ORDER.index(module):
        return f"{other} is above {module} in the layout"
    if module in STRANGERS and other in STRANGERS:
        return f"{module} and {other} do not know each other"
    if module in ONLY and other not in ONLY[module]:
        return f"{module} may include only {', '.join(ONLY[module])}"
    return None


def includes(text):
    """(line number, path, quoted) of each include."""
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        yield line, match.group(2), match.group(1) == '"'


def check(root):
    """All violations under root/src as (path, line, message), and the number of files read."""
    src = os.path.join(root, "src")
    problems = []
    count = 0
    for folder, folders, files in os.walk(src):
        folders.sort()
        for name in sorted(files):
            if not SOURCE.search(name):
                continue
            count += 1
            path = os.path.join(folder, name)
            inside = os.path.relpath(path, src)
            shown = os.path.relpath(path, root)
            module = inside.split(os.sep)[0]
            if module not in ORDER or os.sep not in inside:
                problems.append((shown, 1, "belongs to no module of the layout"))
                continue
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            for line, target, quoted in includes(text):
                problem = check_include(src, inside, module, target, quoted)
                if problem:
                    problems.append((shown, line, f'"{target}": {problem}'))
    return problems, count


def check_include(src, inside, module, target, quoted):
    parts = target.split("/")
    if not quoted:
        # <...> is for the system's headers, so a module's header in it would escape this check.
        if len(parts) > 1 and os.path.exists(os.path.join(src, target)):
            return "a header of src/ is included with quotes"
        return None
    if ".." in parts or "." in parts:
        return "paths are written from src/, without '.' or '..'"
    if target in GENERATED:
        return allowed(module, GENERATED[target])
    if parts[0] in ORDER and len(parts) > 1:
        if not os.path.exists(os.path.join(src, target)):
            return "there is no such file in src/"
        return allowed(module, parts[0])
    # The rest could be beside the file, or be a header of a library.
    if os.path.exists(os.path.join(src, os.path.dirname(inside), target)):
        return f"paths are written from src/: \"{os.path.dirname(inside)}/{target}\""
    return "not found in src/; headers of libraries are included with <>"


def self_test():
    good = {
        "src/base/bytes.h": "#pragma once\n#include <span>\n",
        "src/base/about.cc": '#include "base/version.h"\n',
        "src/net/loop.h": '#include "base/bytes.h"\n',
        "src/guard/waf/waf.h": '#include "base/bytes.h"\n#include "guard/waf/rules.h"\n',
        "src/guard/waf/rules.h": "",
        "src/route/match.h": '#include "net/loop.h"\n',
        "src/content/cache.h": "",
        "src/jobs/dns.h": '#include "route/match.h"\n',
        "src/edge/steps.cc": '#include "guard/waf/waf.h"\n#include "content/cache.h"\n',
        "src/measure/live.cc": '#include "jobs/dns.h"\n#include "net/loop.h"\n',
        "src/programs/pqedge.cc": '#include "edge/steps.h"\n',
        "src/edge/steps.h": "",
    }
    planted = {
        "up the order": ("src/net/up.h", '#include "edge/steps.h"\n'),
        "between strangers": ("src/guard/peek.h", '#include "route/match.h"\n'),
        "between strangers, the other way": ("src/content/peek.h", '#include "guard/waf/waf.h"\n'),
        "measure into the edge": ("src/measure/bad.cc", '#include "edge/steps.h"\n'),
        "measure into the guard": ("src/measure/bad.cc", '#include "guard/waf/waf.h"\n'),
        "spaces in the directive": ("src/base/odd.h", '#pragma once\n  #  include  "net/loop.h"\n'),
        "with angle brackets": ("src/base/angle.h", "#include <net/loop.h>\n"),
        "by a relative path": ("src/base/dots.h", '#include "../net/loop.h"\n'),
        "by a path beside the file": ("src/guard/waf/near.h", '#include "rules.h"\n'),
        "a file that is not there": ("src/net/gone.h", '#include "base/gone.h"\n'),
        "a library with quotes": ("src/net/lib.h", '#include "openssl/ssl.h"\n'),
        "an unknown module": ("src/stray/a.h", ""),
        "a file beside the modules": ("src/stray.h", ""),
    }
    failures = 0

    def try_tree(files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as file:
                    file.write(text)
            return check(root)[0]

    clean = try_tree(good)
    if clean:
        print(f"FAIL: the clean tree was refused: {clean}")
        failures += 1
    for what, (path, text) in planted.items():
        found = [p for p in try_tree({**good, path: text}) if p[0] == path]
        if len(found) != 1:
            print(f"FAIL: {what}: expected one violation in {path}, found {found}")
            failures += 1
    print(f"{len(planted) + 1 - failures} passed, {failures} failed")
    return 1 if failures else 0


def main():
    arguments = sys.argv[1:]
    if arguments == ["--self-test"]:
        return self_test()
    here = os.path.dirname(os.path.abspath(__file__))
    root = arguments[0] if arguments else os.path.dirname(os.path.dirname(here))
    problems, count = check(root)
    for path, line, message in problems:
        print(f"{path}:{line}: {message}")
    if count == 0:
        print(f"no source files under {root}/src")
        return 1
    print(f"{count} files, {len(problems)} includes that break the layout")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
