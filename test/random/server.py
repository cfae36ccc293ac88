"""psql, databases and servers, for the tests that make random statements."""

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time


class Lost(Exception):
    """The connection ended in the middle of a statement."""


class Late(Lost):
    """A statement has not ended in time."""


class Failure(Exception):
    """An SQL error; `state` is its SQLSTATE."""

    def __init__(self, state, message, statement):
        super().__init__(f"{state} {message}\n{statement}")
        self.state = state


class Session:
    """psql, one statement at a time.  Fields of a row are separated by tabs."""

    def __init__(self, database, user=None, port=None, options=""):
        env = dict(os.environ, PGOPTIONS=f"-c client_min_messages=error {options}", PGCLIENTENCODING="UTF8")
        env.update({"PGUSER": user} if user else {}, **{"PGPORT": str(port)} if port else {})
        self.psql = subprocess.Popen(["psql", "-XqAt", "-F", "\t", "-d", database], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, env=env, bufsize=0)
        self.buffer = b""

    def answer(self, statement, seconds=None):
        """Rows, SQLSTATE and message.  Raises Lost, and Late after so many seconds."""
        try:
            self.psql.stdin.write(f"{statement}\n;\n\\echo =end= :SQLSTATE :LAST_ERROR_MESSAGE\n".encode())
        except BrokenPipeError:
            raise Lost("the connection was lost") from None
        deadline = seconds and time.monotonic() + seconds
        rows = []
        while True:
            *lines, self.buffer = self.buffer.split(b"\n")
            for i, line in enumerate(lines):
                if line.startswith(b"=end= "):
                    self.buffer = b"\n".join(lines[i + 1:] + [self.buffer])
                    state, _, message = line[6:].decode("utf-8", "replace").partition(" ")
                    return rows, state, message
                rows.append(line.decode("utf-8", "replace"))
            left = deadline and max(deadline - time.monotonic(), 0)
            if not select.select([self.psql.stdout], [], [], left)[0]:
                raise Late(f"no answer and no cancel in {seconds} s")
            chunk = os.read(self.psql.stdout.fileno(), 65536)
            if not chunk:
                raise Lost("the connection was lost")
            self.buffer += chunk

    def run(self, statement):
        """The rows; an error becomes a Failure."""
        rows, state, message = self.answer(statement)
        if state != "00000":
            if state[:3] in ("57P", "080", ""):
                raise Lost
            raise Failure(state, message, statement)
        return rows

    def value(self, expression):
        """The expression's value as text, or None."""
        return json.loads(self.run(f"SELECT coalesce(to_json(({expression})::text), 'null')")[0])

    def close(self):
        try:
            self.psql.stdin.close()
        except BrokenPipeError:
            pass
        self.psql.wait()


def psql(script, database, options="", stop=False):
    """Runs a script; with `stop`, an error ends the test."""
    done = subprocess.run(["psql", "-XqAt", "-d", database, "-v", f"ON_ERROR_STOP={int(stop)}", "-f", "-"], input=script.encode(), capture_output=True, check=False,
                          env=dict(os.environ, PGOPTIONS=options or os.environ.get("PGOPTIONS", ""), PGCLIENTENCODING="UTF8"))
    done.stdout, done.stderr = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    if stop and done.returncode:
        sys.exit(f"{database}: {done.stderr[-2000:]}\n{script[:500]}")
    return done


def drop(database, *roles):
    psql("\n".join([f"DROP DATABASE IF EXISTS {database};", *(f"DROP ROLE IF EXISTS {role};" for role in roles)]), "postgres", "-c client_min_messages=error")


def make(database, setup, *roles, options=""):
    """A database anew, with what the script makes in it, among it roles."""
    drop(database, *roles)
    psql(f"CREATE DATABASE {database} TEMPLATE template0 {options};", "postgres", stop=True)
    psql("SET client_min_messages = warning;\n" + setup, database, stop=True)


@contextlib.contextmanager
def compiled(source):
    """A library for LOAD or CREATE FUNCTION, made of one file in C, while it is needed."""
    with tempfile.TemporaryDirectory(prefix="bloomx_library.") as directory:
        os.chmod(directory, 0o755)
        library = os.path.join(directory, os.path.basename(source).replace(".c", ".so"))
        include = subprocess.run([os.environ.get("PG_CONFIG", "pg_config"), "--includedir-server"], capture_output=True, text=True, check=True).stdout.strip()
        subprocess.run(["cc", "-fPIC", "-shared", "-D_GNU_SOURCE", f"-I{include}", "-o", library, source], check=True)
        yield library


def as_server(*command):
    """Runs a command as the user of the server."""
    prefix = ["setpriv", "--reuid=nobody", f"--regid={os.stat(os.environ['PGDATA']).st_gid}", "--clear-groups"] if os.getuid() == 0 else []
    return subprocess.run([*prefix, *command], cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def start(data):
    return as_server("pg_ctl", "-D", data, "-l", os.environ["BLOOMX_LOG"], "-s", "-w", "-t", "600", "start").returncode == 0


def state(pid):
    """The state of a process, by the letter that ps prints."""
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "gone"


def kill(data=None, port=None):
    """SIGKILL for all processes of a server.

    The postmaster is stopped before and dies last.  So it starts no process that would be overlooked, and cannot tidy up
    after the others; and none of these sees it die, which a server with assertions takes badly in a parallel transaction.
    """
    pid_file = os.path.join(data or os.environ["PGDATA"], "postmaster.pid")
    with open(pid_file, encoding="ascii") as file:
        postmaster = int(file.readline())
    os.kill(postmaster, signal.SIGSTOP)
    while state(postmaster) not in ("T", "Z", "gone"):  # until then it may start one more process
        time.sleep(0.001)
    with open(f"/proc/{postmaster}/task/{postmaster}/children", encoding="ascii") as file:
        pids = [*map(int, file.read().split()), postmaster]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    while any(state(pid) not in ("Z", "gone") for pid in pids):
        time.sleep(0.01)
    # Where the first process of the machine does not wait for the dead, the next postmaster believes that this one lives.
    for file in (pid_file, os.path.join(os.environ["PGHOST"], f".s.PGSQL.{port or os.environ['PGPORT']}.lock")):
        os.unlink(file)


class Standby:
    """A server beside the one at hand that follows it."""
    port = 5433

    def __init__(self):
        self.data = os.path.join(os.path.dirname(os.environ["PGDATA"]), "replica")

    def start(self, settings, *options):
        shutil.rmtree(self.data, ignore_errors=True)
        environment = [f"{v}={os.environ[v]}" for v in ("PGHOST", "PGPORT", "PGUSER")]
        done = as_server("env", *environment, "pg_basebackup", "-D", self.data, "-R", "-c", "fast", "-X", "stream", *options)
        if done.returncode:
            sys.exit("pg_basebackup: " + done.stdout)
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="ascii") as file:
            file.write(f"port = {self.port}\nmax_standby_streaming_delay = -1\n{settings}")
        if not start(self.data):
            sys.exit("the standby does not start")

    def stop(self):
        if os.path.exists(self.data):
            as_server("pg_ctl", "-D", self.data, "-s", "-w", "-m", "immediate", "stop")
            shutil.rmtree(self.data, ignore_errors=True)


class Checks:
    """Counts checks; has a server beside the one at hand, and a pgbench script if `load` is one."""

    def __init__(self, database, options, load=None):
        self.database, self.session_options = database, options
        self.passed = self.failed = 0
        self.replica = Standby()
        if load is not None:
            self.script = tempfile.NamedTemporaryFile("w", suffix=".sql", delete=False)
            self.script.write(load)
            self.script.close()
            os.chmod(self.script.name, 0o644)

    def ok(self, name, problem=None):
        print(f"{'not ok' if problem else 'ok'}  {name}" + (f": {problem}" if problem else ""), flush=True)
        self.passed += not problem
        self.failed += bool(problem)

    def session(self, port=None):
        return Session(self.database, port=port, options=self.session_options)

    def one(self, statement, port=None):
        session = self.session(port)
        try:
            return session.run(statement)[0]
        finally:
            session.close()
