#!/usr/bin/env bash
# Check that PostgreSQL and clients/python read each other's filters: see interop.py.
#
# Uses the server that the PG* environment names, where the user must be able to
# create a database and the extension. Creates a scratch database and drops it.
# Prints TAP-like output; the exit status is 0 if all checks passed.
set -euo pipefail
cd "$(dirname "$0")"

database="bloomx_interop_$$"
psql -X -q -v ON_ERROR_STOP=1 -d "${PGDATABASE:-postgres}" \
	-c "CREATE DATABASE $database TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"
trap 'psql -X -q -d "${PGDATABASE:-postgres}" -c "DROP DATABASE IF EXISTS $database"' EXIT

PGDATABASE_SCRATCH=$database "${PYTHON:-python3}" interop.py
