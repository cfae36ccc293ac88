"""psql, one statement at a time, for the benchmarks of indexes that need several clients."""
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Client:
    """A session. `run` returns the lines that the statements print, when the last one has ended."""

    def __init__(self):
        self.psql = subprocess.Popen(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1"], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True, bufsize=1)

    def run(self, statements):
        self.psql.stdin.write(statements + ";\n\\echo +\n")
        self.psql.stdin.flush()
        lines = []
        for line in self.psql.stdout:
            if line == "+\n":
                return lines
            lines.append(line.rstrip("\n"))
        raise SystemExit(sys.argv[0] + ": psql ended at: " + statements)

    def close(self):
        self.psql.stdin.close()
        self.psql.wait()


def in_server(script, *settings):
    """Runs the script again, with --server, in a throwaway server; returns the exit status."""
    stage = ["-s", os.environ["BLOOMX_STAGE"]] if "BLOOMX_STAGE" in os.environ else []
    settings = [word for setting in settings for word in ("-c", setting)]
    return subprocess.call([os.path.join(TOP, "scripts/throwaway"), *stage, *settings, os.path.abspath(script), "--server", *sys.argv[1:]])


def option(name, default):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default
