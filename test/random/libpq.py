"""A session by libpq, in each of its protocols, and the processor time that its server process takes."""
import ctypes
import ctypes.util
import sys

libpq = ctypes.CDLL(ctypes.util.find_library("pq") or "libpq.so.5")
for name, result, *arguments in (
        ("PQconnectdb", ctypes.c_void_p, ctypes.c_char_p), ("PQstatus", ctypes.c_int, ctypes.c_void_p), ("PQerrorMessage", ctypes.c_char_p, ctypes.c_void_p),
        ("PQexec", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p), ("PQfinish", None, ctypes.c_void_p), ("PQclear", None, ctypes.c_void_p),
        ("PQexecParams", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, *[ctypes.c_void_p] * 4, ctypes.c_int),
        ("PQprepare", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p),
        ("PQexecPrepared", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, *[ctypes.c_void_p] * 3, ctypes.c_int),
        ("PQresultStatus", ctypes.c_int, ctypes.c_void_p), ("PQgetvalue", ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int),
        ("PQntuples", ctypes.c_int, ctypes.c_void_p), ("PQbackendPID", ctypes.c_int, ctypes.c_void_p)):
    function = getattr(libpq, name)
    function.restype, function.argtypes = result, arguments


def values(parameters):
    return (ctypes.c_char_p * max(len(parameters), 1))(*[str(value).encode() for value in parameters])


class Session:
    def __init__(self, database, **settings):
        self.connection = libpq.PQconnectdb(f"dbname={database}".encode())
        if libpq.PQstatus(self.connection):
            raise SystemExit(libpq.PQerrorMessage(self.connection).decode())
        self.pid = libpq.PQbackendPID(self.connection)
        self.prepared = set()
        for setting, value in settings.items():
            self.run(f"LOAD '{value}'" if setting == "load" else f"SET {setting.replace('__', '.')} = {value}")

    def rows(self, result):
        """The number of rows, and the first value."""
        if libpq.PQresultStatus(result) not in (1, 2):
            sys.exit(libpq.PQerrorMessage(self.connection).decode())
        n = libpq.PQntuples(result)
        first = libpq.PQgetvalue(result, 0, 0).decode() if n else None
        libpq.PQclear(result)
        return n, first

    def run(self, statement):
        return self.rows(libpq.PQexec(self.connection, statement.encode()))

    def extended(self, statement, parameters):
        return self.rows(libpq.PQexecParams(self.connection, statement.encode(), len(parameters), None, values(parameters), None, None, 0))

    def execute(self, statement, parameters):
        if statement not in self.prepared:
            self.rows(libpq.PQprepare(self.connection, b"s", statement.encode(), 0, None))
            self.prepared.add(statement)
        return self.rows(libpq.PQexecPrepared(self.connection, b"s", len(parameters), values(parameters), None, None, 0))

    def cpu(self):
        """Milliseconds of the processor that the server process has had."""
        with open(f"/proc/{self.pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e6

    def close(self):
        libpq.PQfinish(self.connection)
