# PostgreSQL with bloomx: the official image and three files more. The database that it creates has the extension.
#
#     docker build -t bloomx .                            (--build-arg PG_MAJOR=18 for another version, 15 or newer)
#     docker compose run --rm query                       a first query, on a server of its own (compose.yaml)
ARG PG_MAJOR=17

FROM postgres:${PG_MAJOR}-bookworm AS build
RUN apt-get update \
	&& apt-get install -y --no-install-recommends gcc libc6-dev libxxhash-dev make "postgresql-server-dev-$PG_MAJOR" \
	&& rm -rf /var/lib/apt/lists/*
WORKDIR /bloomx
COPY . .
RUN make -s -j "$(nproc)" PG_CONFIG="/usr/lib/postgresql/$PG_MAJOR/bin/pg_config" \
	&& make -s PG_CONFIG="/usr/lib/postgresql/$PG_MAJOR/bin/pg_config" DESTDIR=/stage install

FROM postgres:${PG_MAJOR}-bookworm
COPY --from=build /stage /
COPY packaging/create_extension.sql /docker-entrypoint-initdb.d/
