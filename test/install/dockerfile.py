#!/usr/bin/env python3
"""Carry out the steps of a Dockerfile in chroots, where there is no Docker.

    test/install/dockerfile.py CONTEXT BASE DIRECTORY NAME=VALUE ...

CONTEXT contains the Dockerfile and what it copies. BASE is a directory with the root file system that stands for the
image after every FROM; NAME=VALUE are its environment and the build arguments. Each stage becomes a copy of BASE
in DIRECTORY, the last one DIRECTORY/image. Only the instructions that bloomx's Dockerfile has are known; any other is an
error. Needs root, and namespaces of its own (unshare --mount --pid), since it mounts /proc.
"""
import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import sys


def instructions(path):
    """(name, arguments) of each instruction, with continued lines joined."""
    with open(path, encoding="utf-8") as file:
        text = "".join(line for line in file if not line.lstrip().startswith("#"))
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        if line.strip():
            name, _, arguments = line.strip().partition(" ")
            yield name.upper(), arguments.strip()


def expand(text, variables):
    return re.sub(r"\$\{(\w+)\}|\$(\w+)", lambda m: variables[m.group(1) or m.group(2)], text)


class Build:
    def __init__(self, context, base, directory, environment):
        self.context, self.base, self.directory, self.environment = context, base, directory, environment
        self.arguments = {}
        self.stages = {}
        self.stage = None
        self.workdir = "/"

    def ARG(self, rest):
        if self.stage:
            raise ValueError("ARG is known before the first FROM only")
        name, _, value = rest.partition("=")
        self.arguments[name] = self.environment.get(name, value)

    def FROM(self, rest):
        words = expand(rest, self.arguments).split()
        if len(words) not in (1, 3) or not re.fullmatch(r"[a-z./-]+:[\w.-]+", words[0]):
            raise ValueError("FROM needs an image with a tag, and perhaps AS a name")
        self.stage = os.path.join(self.directory, words[2] if len(words) == 3 else "image")
        if words[1:]:
            self.stages[words[2]] = self.stage
        subprocess.run(["cp", "-a", self.base, self.stage], check=True)
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name}", f"{self.stage}/etc/{name}")
        subprocess.run(["mount", "-t", "proc", "proc", f"{self.stage}/proc"], check=True)
        self.workdir = "/"

    def WORKDIR(self, rest):
        self.workdir = os.path.join(self.workdir, rest)
        os.makedirs(self.stage + self.workdir, exist_ok=True)

    def RUN(self, rest):
        environment = dict(self.environment, PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME="/root")
        script = f"cd {shlex.quote(self.workdir)} && {{ {rest}\n}}"
        print("RUN", rest, flush=True)
        subprocess.run(["chroot", self.stage, "/bin/sh", "-c", script], check=True, env=environment)

    def ignored(self, path):
        """True if .dockerignore names the path, or a directory above it."""
        with open(os.path.join(self.context, ".dockerignore"), encoding="utf-8") as file:
            patterns = [line.strip() for line in file if line.strip()]
        parts = path.split(os.sep)
        return any(fnmatch.fnmatch(parts[-1] if pattern.startswith("**/") else os.sep.join(parts[:n]), pattern.removeprefix("**/"))
                   for pattern in patterns for n in range(1, len(parts) + 1))

    def COPY(self, rest):
        *options, source, target = rest.split()
        target = os.path.join(self.workdir, target)
        if options:
            stage = self.stages[re.fullmatch(r"--from=(\w+)", *options).group(1)]
            subprocess.run(["cp", "-a", f"{stage}/{source}/.", f"{self.stage}/{target}"], check=True)
        elif os.path.isdir(os.path.join(self.context, source)):
            for root, _, files in os.walk(os.path.join(self.context, source)):
                for name in files:
                    path = os.path.relpath(os.path.join(root, name), self.context)
                    if not self.ignored(path):
                        os.makedirs(os.path.dirname(f"{self.stage}/{target}/{path}"), exist_ok=True)
                        shutil.copy2(os.path.join(root, name), f"{self.stage}/{target}/{path}")
        else:
            directory = f"{self.stage}/{target}"
            os.makedirs(directory if target.endswith("/") else os.path.dirname(directory), exist_ok=True)
            shutil.copy2(os.path.join(self.context, source), directory)


def main():
    context, base, directory, *environment = sys.argv[1:]
    build = Build(context, base, directory, dict(pair.split("=", 1) for pair in environment))
    for name, rest in instructions(os.path.join(context, "Dockerfile")):
        if name not in ("ARG", "FROM", "WORKDIR", "RUN", "COPY"):
            raise ValueError(f"{name} is not known here")
        getattr(build, name)(rest)


if __name__ == "__main__":
    main()
