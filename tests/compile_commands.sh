#!/usr/bin/env bash
# tools/compile_commands names every source of the library and the tools, with commands that compile it.
# usage: tests/compile_commands.sh [options for Bazel]
set -euo pipefail
cd "$(dirname "$0")/.."

tools/compile_commands "$@"
python3 - << 'END'
import json
import subprocess
import sys

with open("compile_commands.json", encoding="utf-8") as file:
    commands = {each["file"]: each for each in json.load(file)}
tracked = subprocess.run(["git", "ls-files", "lci/*.cc", "lct/*.cc", "tools/*.cc"], capture_output=True, text=True, check=True)
sources = tracked.stdout.split()
problems = ["%s is missing" % source for source in sources if source not in commands]
# A source without dependencies, one that includes a header that the build makes, and a test with a library of others.
for source in ("lci/base/strings.cc", "tools/info/main.cc", "lci/base/strings_test.cc"):
    command = commands[source] if source in commands else None
    if command and subprocess.run(command["arguments"] + ["-fsyntax-only"], cwd=command["directory"], check=False).returncode:
        problems.append("the command of %s fails; see above" % source)
# Found by chance where the system has the same headers.
for each in commands.values():
    relative = [word for word in each["arguments"] if word.startswith(("external/", "bazel-out/"))]
    if relative:
        problems.append("%s: %s is no path in the sources" % (each["file"], relative[0]))
        break
for problem in problems:
    print("compile_commands: " + problem, file=sys.stderr)
if not sources or problems:
    sys.exit(1)
print("passed: %d sources, of which %d are of the library and the tools" % (len(commands), len(sources)))
END
