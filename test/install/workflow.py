#!/usr/bin/env python3
"""Print what a workflow or a compose file would run, as a shell script.

    test/install/workflow.py steps FILE JOB NAME=VALUE ...     the `run` steps of a job, with these values of its matrix
    test/install/workflow.py compose FILE                      the command of the service `query`, against a server on this machine

Needs python3-yaml. What a step `uses` is left out: the checkout is there already.
"""
import re
import shlex
import sys

import yaml


def steps(path, job, *pairs):
    matrix = dict(pair.split("=", 1) for pair in pairs)
    with open(path, encoding="utf-8") as file:
        definition = yaml.safe_load(file)["jobs"][job]
    for name, values in definition["strategy"]["matrix"].items():
        if name not in matrix:
            sys.exit(f"workflow: no value for {name}")
        if name != "machine" and matrix[name] not in map(str, values):
            sys.exit(f"workflow: {name} is never {matrix[name]}")

    def fill(text):
        return re.sub(r"\$\{\{ *matrix\.(\w+) *\}\}", lambda m: matrix[m.group(1)], text)

    fill(definition["name"])
    for name, value in definition.get("env", {}).items():
        print(f"export {name}={shlex.quote(fill(value))}")
    for step in definition["steps"]:
        if "run" in step:
            print(f"echo {shlex.quote('== ' + step['name'])}\n(\n{fill(step['run']).rstrip()}\n)")


def compose(path):
    with open(path, encoding="utf-8") as file:
        services = yaml.safe_load(file)["services"]
    query = services["query"]
    if query["depends_on"] != {"db": {"condition": "service_healthy"}} or "healthcheck" not in services["db"]:
        sys.exit("compose: the query must wait for the database")
    environment = dict(query["environment"], PGHOST="127.0.0.1")
    for name, value in environment.items():
        print(f"export {name}={shlex.quote(value)}")
    print(shlex.join(services["db"]["healthcheck"]["test"][1:]))
    print(shlex.join(query["command"]))


if __name__ == "__main__":
    {"steps": steps, "compose": compose}[sys.argv[1]](*sys.argv[2:])
