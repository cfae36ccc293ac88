--
-- Errors: what is refused, with which SQLSTATE and message.
--

-- Runs a statement and returns how it failed
CREATE FUNCTION attempt(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    message text; detail text; hint text;
BEGIN
    EXECUTE statement;
    RETURN NEXT 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = message_text, detail = pg_exception_detail, hint = pg_exception_hint;
    RETURN NEXT sqlstate || ': ' || message;
    IF detail <> '' THEN RETURN NEXT '  detail: ' || detail; END IF;
    -- (the number of keys that fit comes from floating-point arithmetic, and is hidden here)
    IF hint <> '' THEN RETURN NEXT '  hint: ' || regexp_replace(hint, 'at most \d{9} keys', 'at most N keys'); END IF;
END $$;
\pset tuples_only on
\pset format unaligned

-- bloom_empty and bloom_plan: capacity
SELECT attempt('SELECT bloom_empty(0)');
SELECT attempt('SELECT bloom_empty(-1)');
SELECT attempt('SELECT bloom_plan(0)');

-- ... false positive rate: both ends excluded
SELECT attempt('SELECT bloom_empty(100, 0)');
SELECT attempt('SELECT bloom_empty(100, 1)');
SELECT attempt('SELECT bloom_empty(100, 1.5)');
SELECT attempt('SELECT bloom_empty(100, -0.5)');
SELECT attempt('SELECT bloom_empty(100, ''NaN'')');
SELECT attempt('SELECT bloom_empty(100, ''Infinity'')');
SELECT attempt('SELECT bloom_plan(100, ''-Infinity'')');
SELECT attempt('SELECT bloom_empty(100, 0.999999) IS NOT NULL');

-- ... layout
SELECT attempt('SELECT bloom_empty(100, 0.01, ''nonsense'')');
SELECT attempt('SELECT bloom_empty(100, 0.01, '''')');
SELECT attempt('SELECT bloom_empty(100, 0.01, ''hashes'')');
SELECT attempt('SELECT bloom_empty_bits(1000, 4, ''Standart'')');
SELECT attempt('SELECT bloom_plan(100, 0.01, ''nonsense'')');
-- A long name is cut between characters.
DO $$
BEGIN
    PERFORM bloom_empty(100, 0.01, 'x' || repeat('ä', 100));
EXCEPTION WHEN invalid_parameter_value THEN
    IF getdatabaseencoding() = 'UTF8' THEN PERFORM convert_from(convert_to(SQLERRM, 'UTF8'), 'UTF8'); END IF;
END $$;

-- ... filters larger than 1 GB, and rates that no filter reaches
SELECT attempt('SELECT bloom_empty(9223372036854775807)');
SELECT attempt('SELECT bloom_empty(10000000000, 0.01, ''standard'')');
SELECT attempt('SELECT bloom_empty(2000000000)');
SELECT attempt('SELECT bloom_empty(1, 1e-300)');

-- bloom_empty_bits: bits
SELECT attempt('SELECT bloom_empty_bits(0, 4)');
SELECT attempt('SELECT bloom_empty_bits(-64, 4)');
SELECT attempt('SELECT bloom_empty_bits(255, 4)');
SELECT attempt('SELECT bloom_empty_bits(256, 4) IS NOT NULL');
SELECT attempt('SELECT bloom_empty_bits(3, 4, ''partitioned'')');
SELECT attempt('SELECT bloom_empty_bits(511, 4, ''blocked'')');
SELECT attempt('SELECT bloom_empty_bits(1, 4, ''standard'') IS NOT NULL');
SELECT attempt('SELECT bloom_empty_bits(8589934592, 4)');
SELECT attempt('SELECT bloom_empty_bits(9223372036854775807, 4, ''standard'')');

-- ... k
SELECT attempt('SELECT bloom_empty_bits(10000, 0)');
SELECT attempt('SELECT bloom_empty_bits(10000, 65)');
SELECT attempt('SELECT bloom_empty_bits(10000, 2.5, ''standard'')');
SELECT attempt('SELECT bloom_empty_bits(10000, -1, ''blocked'')');
SELECT attempt('SELECT bloom_empty_bits(10000, ''NaN'')');
SELECT attempt('SELECT bloom_empty_bits(10000, ''Infinity'')');

-- bloom_agg: a NULL or impossible size or template; the first row's arguments count
SELECT attempt('SELECT bloom_agg(1, 10, NULL)');
SELECT attempt('SELECT bloom_agg(1, NULL::bloomfilter)');
SELECT attempt('SELECT bloom_agg(1, 0)');
SELECT attempt('SELECT bloom_agg(1, 0, 0)');
SELECT attempt('SELECT bloom_agg(1, 10, 1)');
SELECT attempt('SELECT bloom_agg(1, 2000000000)');

-- The functions behind aggregates are not for direct calls
SELECT attempt('SELECT bloomx_agg_transfn(NULL, 1)');
SELECT attempt('SELECT bloomx_agg_transfn(bloom_empty(10), 1)');
SELECT attempt('SELECT bloomx_agg_transfn(bloom_empty(10), 1, 10)');
SELECT attempt('SELECT bloomx_agg_transfn(bloom_empty(10), 1, bloom_empty(10))');
SELECT attempt('SELECT bloomx_union_transfn(bloom_empty(10), bloom_empty(10))');
SELECT attempt('SELECT bloomx_intersection_transfn(bloom_empty(10), bloom_empty(10))');

-- Calls that PostgreSQL refuses before bloomx sees them, in the words of docs/operations.md, and what it says to write
SELECT line FROM (VALUES
    ('SELECT bloom_agg(i, 0.001) FROM generate_series(1, 10) i'), ('SELECT bloom_agg(i, NULL, 0.001) FROM generate_series(1, 10) i'),
    ('SELECT bloom_agg(i, 10, fpr => 0.001) FROM generate_series(1, 10) i'), ('SELECT bloom_agg(i, 10, 0.001) FROM generate_series(1, 10) i'),
    ('SELECT bloom_empty(1000, ''scalable'')'), ('SELECT bloom_empty(1000, layout => ''scalable'')'),
    ('SELECT bloom_agg(i) ?| ARRAY[7] FROM generate_series(1, 10) i'), ('SELECT bloom_contains_any(bloom_agg(i), ARRAY[7]) FROM generate_series(1, 10) i'),
    ('SELECT ''x'' = ANY (SELECT bloom_agg(''x''::text))'), ('SELECT ''x'' <@ ANY (SELECT bloom_agg(''x''::text))')) s(statement), attempt(statement) line
WHERE line !~ '^  (detail|hint)';	-- PostgreSQL's, which differ by version

-- Filters that do not combine: the error names the field
CREATE TABLE pairs (n int, what text, a bloomfilter, b bloomfilter);
INSERT INTO pairs VALUES
    (1, 'seed', bloom_empty(10), bloom_empty(10, seed => 7)),
    (2, 'layout', bloom_empty(10), bloom_empty(10, layout => 'standard')),
    (3, 'bits', bloom_empty_bits(1000, 4, 'standard'), bloom_empty_bits(3000, 4, 'standard')),
    (4, 'k', bloom_empty_bits(1000, 4, 'standard'), bloom_empty_bits(1000, 5, 'standard')),
    (5, 'blocks', bloom_empty_bits(1024, 4, 'blocked'), bloom_empty_bits(1536, 4, 'blocked')),
    (6, 'k of blocks', bloom_empty_bits(1024, 4, 'blocked'), bloom_empty_bits(1024, 5, 'blocked')),
    (7, 'bits of parts', bloom_empty_bits(400, 4, 'partitioned'), bloom_empty_bits(1200, 4, 'partitioned')),
    (8, 'key type', bloom_add(bloom_empty(10), 1), bloom_add(bloom_empty(10), 'a'));
SELECT what, attempt(format('SELECT a | b FROM pairs WHERE n = %s', n)) FROM pairs ORDER BY n;
-- ... the same for every function of two filters
SELECT function, count(*) AS pairs, count(*) FILTER (WHERE error = expected) AS same_error
    FROM unnest(ARRAY['bloom_union', 'bloom_intersection', 'bloom_disjoint', 'bloom_overlaps', 'bloom_union_cardinality',
            'bloom_intersection_cardinality', 'bloom_jaccard', 'bloom_compare']) WITH ORDINALITY AS u(function, o), pairs,
        LATERAL (SELECT string_agg(e, ' ') FROM attempt(format('SELECT %s(a, b) FROM pairs WHERE n = %s', function, n)) e) x(error),
        LATERAL (SELECT string_agg(e, ' ') FROM attempt(format('SELECT a | b FROM pairs WHERE n = %s', n)) e) y(expected)
    GROUP BY function, o ORDER BY o;
SELECT aggregate, count(*) AS pairs, count(*) FILTER (WHERE error ~ '^42804') AS refused
    FROM unnest(ARRAY['bloom_union_agg', 'bloom_intersection_agg']) WITH ORDINALITY AS u(aggregate, o), pairs,
        LATERAL (SELECT string_agg(e, ' ') FROM attempt(format('SELECT %s(f) FROM pairs, unnest(ARRAY[a, b]) f WHERE n = %s', aggregate, n)) e) x(error)
    GROUP BY aggregate, o ORDER BY o;
DROP TABLE pairs;

-- Prefix: no more parts than there are, at least one
SELECT attempt('SELECT bloom_prefix(bloom_empty_bits(1024, 4), 0)');
SELECT attempt('SELECT bloom_prefix(bloom_empty_bits(1024, 4), -1)');
SELECT attempt('SELECT bloom_prefix(bloom_empty_bits(1024, 4), 5)');
SELECT attempt('SELECT bloom_prefix(bloom_empty_bits(1024, 4), 4) IS NOT NULL');
SELECT attempt('SELECT bloom_prefix(bloom_empty_bits(1024, 4, ''standard''), 2)');

-- Fold: not beyond one block or an odd number of bits, not backwards
SELECT attempt('SELECT bloom_fold(bloom_empty_bits(1024, 4), 3)');
SELECT attempt('SELECT bloom_fold(bloom_empty_bits(1024, 4), 2) IS NOT NULL');
SELECT attempt('SELECT bloom_fold(bloom_empty_bits(1024, 4), -1)');
SELECT attempt('SELECT bloom_fold(bloom_empty_bits(1020, 4, ''partitioned''))');
SELECT attempt('SELECT bloom_fold(bloom_empty_bits(1025, 4, ''standard''))');
SELECT attempt('SELECT bloom_fold(bloom_empty_bits(1024, 4, ''variable_blocked''))');

-- Shrink: the rate must be possible, and not below the filter's own
SELECT attempt('SELECT bloom_shrink(bloom_empty(10), 0)');
SELECT attempt('SELECT bloom_shrink(bloom_empty(10), ''NaN'')');
SELECT attempt('SELECT bloom_shrink(bloom_empty(10, layout => ''scalable''), 0.1)');
SELECT regexp_replace(attempt('SELECT bloom_shrink(bloom_agg(x), 1e-9) FROM generate_series(1, 1000) x'), 'already [0-9.e-]+', 'already X');

-- Text that is not a filter
SELECT attempt('SELECT ''''::bloomfilter');
SELECT attempt('SELECT ''hello, world''::bloomfilter');
SELECT attempt('SELECT ''QkxY''::bloomfilter');
SELECT attempt('SELECT ''QkxYA''::bloomfilter');
SELECT attempt('SELECT ''\x424c5801''::bloomfilter');
SELECT attempt(format('SELECT %L::bloomfilter', replace(bloom_empty(10)::text, 'QkxY', 'Qk!Y')));
SELECT attempt(format('SELECT %L::bloomfilter', replace(bloom_empty(10)::text, 'QkxY', 'AAAA')));
-- (base64 without line breaks, which encode() makes)
SELECT attempt($$SELECT encode(bloom_empty(100)::bytea, 'base64')::bloomfilter$$);

-- Bytes that are not a filter: a valid one (64 bits, a key of a named type) and each way to break it
CREATE TABLE good AS SELECT bloom_add(bloom_empty_bits(64, 1), '{}'::jsonb)::bytea AS bytes;
SELECT length(g.bytes), layout, key_type FROM good g, bloom_info(g.bytes::bloomfilter);
CREATE TABLE broken (n int GENERATED ALWAYS AS IDENTITY, what text, bytes bytea);
INSERT INTO broken (what, bytes)
    SELECT what, overlay(bytes PLACING value FROM at + 1) FROM good, (VALUES
        ('another magic', 0, 'X'::bytea), ('version 0', 3, '\x00'), ('version 2', 3, '\x02'),
        ('layout 0 with a geometry', 4, '\x00'), ('layout 255', 4, '\xff'),
        ('key type 21', 5, '\x15'), ('key type 1 with a name', 5, '\x01'), ('no key type with a name', 5, '\x00'),
        ('no name', 6, '\x00'), ('a longer name', 6, '\x06'), ('a name of 64 bytes', 6, '\x40'), ('a name of 255 bytes', 6, '\xff'),
        ('hashing', 7, '\x01'), ('capacity 2^63', 20, '\x0000000000000080'),
        ('no blocks', 8, '\x00000000'), ('3 blocks', 8, '\x03000000'), ('2 blocks', 8, '\x02000000'), ('2^32 - 1 blocks', 8, '\xffffffff'), ('2^31 blocks', 8, '\x00000080'),
        ('part bits 0', 28, '\x0000000000000000'), ('part bits 63', 28, '\x3f00000000000000'), ('part bits 128', 28, '\x8000000000000000'), ('part bits 2^64 - 1', 28, '\xffffffffffffffff'),
        ('no parts', 36, '\x0000'), ('2 parts', 36, '\x0200'), ('65 parts', 36, '\x4100'), ('65535 parts', 36, '\xffff'),
        ('no probes', 38, '\x0000'), ('2 probes', 38, '\x0200'), ('65535 probes', 38, '\xffff'),
        ('fraction', 40, '\x0100'),
        ('expanded once, of one block', 42, '\x01'), ('expanded 64 times', 42, '\x40'), ('expanded 255 times', 42, '\xff'),
        ('unfinished 2', 43, '\x02'),
        ('a zero in the name', 45, '\x00'), ('a name beyond its length', 50, 'x'), ('a name in no encoding', 44, '\xff')) v(what, at, value);
INSERT INTO broken (what, bytes) SELECT 'empty', '' FROM good;
INSERT INTO broken (what, bytes) SELECT 'cut in the header', substr(bytes, 1, 43) FROM good;
INSERT INTO broken (what, bytes) SELECT 'cut in the name', substr(bytes, 1, 50) FROM good;
INSERT INTO broken (what, bytes) SELECT 'cut in the body', substr(bytes, 1, length(bytes) - 1) FROM good;
INSERT INTO broken (what, bytes) SELECT 'cut by a word', substr(bytes, 1, length(bytes) - 8) FROM good;
INSERT INTO broken (what, bytes) SELECT 'a byte too long', bytes || '\x00' FROM good;
INSERT INTO broken (what, bytes) SELECT 'a word too long', bytes || '\x0000000000000000' FROM good;
INSERT INTO broken (what, bytes) SELECT 'spare bits', set_byte(b, length(b) - 1, 128) FROM CAST(bloom_empty_bits(65, 3, 'standard') AS bytea) b;
INSERT INTO broken (what, bytes) SELECT 'a block of 608 bits', overlay(b PLACING '\x60' FROM 29) FROM CAST(bloom_empty_bits(512, 3, 'blocked') AS bytea) b;
INSERT INTO broken (what, bytes) SELECT 'two blocks of standard', overlay(b PLACING '\x02' FROM 9) FROM CAST(bloom_empty_bits(64, 3, 'standard') AS bytea) b;
INSERT INTO broken (what, bytes) SELECT 'probes in a partitioned one', overlay(b PLACING '\x02' FROM 39) FROM CAST(bloom_empty_bits(64, 2, 'partitioned') AS bytea) b;
-- An open set of hashes, which only parallel aggregation makes: the count, then the hashes in ascending order
CREATE TABLE open_state AS SELECT '\x424c5801'::bytea || '\x00010000' || decode(repeat('00', 36), 'hex') AS header;
SELECT layout, key_type, cardinality FROM open_state, bloom_info((header || '\x0200000000000000' || '\x0500000000000000' || '\x0600000000000000')::bloomfilter);
INSERT INTO broken (what, bytes)
    SELECT what, header || body FROM open_state, (VALUES
        ('hashes without a count', '\x'::bytea), ('fewer hashes than counted', '\x02000000000000000500000000000000'), ('more hashes than counted', '\x00000000000000000500000000000000'),
        ('2^64 - 1 hashes', '\xffffffffffffffff0500000000000000'), ('2^61 hashes', '\x00000000000000200500000000000000'),
        ('a hash twice', '\x020000000000000005000000000000000500000000000000'), ('hashes not in order', '\x020000000000000006000000000000000500000000000000')) v(what, body);
INSERT INTO broken (what, bytes) SELECT 'unplanned hashes with a geometry', set_byte(header, 8, 1) || '\x0000000000000000' FROM open_state;
INSERT INTO broken (what, bytes) SELECT 'planned hashes without a geometry', set_byte(header, 43, 4) || '\x0000000000000000' FROM open_state;
INSERT INTO broken (what, bytes) SELECT 'expanded hashes', set_byte(header, 42, 1) || '\x0000000000000000' FROM open_state;

-- ... as bytea
SELECT what || ' -> ' || (SELECT string_agg(e, ' /') FROM attempt(format('SELECT %L::bytea::bloomfilter', bytes)) e) FROM broken ORDER BY n;
-- ... as text: the same message, another SQLSTATE
SELECT count(*) AS broken, count(*) FILTER (WHERE as_text = regexp_replace(as_bytea, '^22P03', '22P02')) AS same
    FROM broken,
        LATERAL (SELECT string_agg(e, ' ') FROM attempt(format('SELECT %L::bytea::bloomfilter', bytes)) e) x(as_bytea),
        LATERAL (SELECT string_agg(e, ' ') FROM attempt(format('SELECT %L::bloomfilter', translate(encode(bytes, 'base64'), E'\n', ''))) e) y(as_text);

-- ... as the binary form that a client sends: bytea and bloomfilter look the same in a binary COPY
\set VERBOSITY default
\set SHOW_CONTEXT never
\getenv builddir PG_ABS_BUILDDIR
\set file :builddir '/results/bloomx_errors.bin'
\set load '\\copy received FROM ' :'file' ' WITH (FORMAT binary)'
CREATE TABLE received (f bloomfilter);
\set store '\\copy (SELECT bytes FROM good) TO ' :'file' ' WITH (FORMAT binary)'
:store
:load
SELECT f::bytea = bytes FROM received, good;
\set store '\\copy (SELECT bytes FROM broken WHERE what = ''version 2'') TO ' :'file' ' WITH (FORMAT binary)'
:store
:load
\set store '\\copy (SELECT bytes FROM broken WHERE what = ''2 parts'') TO ' :'file' ' WITH (FORMAT binary)'
:store
:load
\set store '\\copy (SELECT bytes FROM broken WHERE what = ''cut in the body'') TO ' :'file' ' WITH (FORMAT binary)'
:store
:load
\set store '\\copy (SELECT bytes FROM broken WHERE what = ''2^61 hashes'') TO ' :'file' ' WITH (FORMAT binary)'
:store
:load
\set store '\\copy (SELECT bytes FROM broken WHERE what = ''empty'') TO ' :'file' ' WITH (FORMAT binary)'
:store
:load
SELECT count(*) FROM received;
DROP TABLE received, broken, open_state, good;

-- Ten thousand filters with changed, missing or added bytes: each is refused with a proper error, or is a
-- valid filter, which then works (its key type may have changed)
SET bloomx.overfill = off;
CREATE FUNCTION mutate(original bytea, n int) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
    r bytea := decode(md5(n::text) || md5('x' || n::text), 'hex');
    result bytea := original;
    at int;
BEGIN
    IF get_byte(r, 0) < 25 THEN
        result := substr(result, 1, (get_byte(r, 1) * 256 + get_byte(r, 2)) % length(result));
    ELSIF get_byte(r, 0) < 40 THEN
        result := result || substr(r, 1, 1 + get_byte(r, 1) % 16);
    END IF;
    FOR i IN 1 .. 1 + get_byte(r, 3) % 4 LOOP
        -- half of the changes hit the header
        at := CASE WHEN get_byte(r, 4 * i) < 128 THEN get_byte(r, 4 * i + 1) % 52
            ELSE get_byte(r, 4 * i + 1) * 256 + get_byte(r, 4 * i + 2) END % greatest(length(result), 1);
        IF length(result) > 0 THEN
            -- half of these flip one bit
            result := CASE WHEN get_byte(r, 20 + i) < 128 THEN set_byte(result, at, get_byte(result, at) # (1 << get_byte(r, 4 * i + 3) % 8))
                ELSE set_byte(result, at, get_byte(r, 4 * i + 3)) END;
        END IF;
    END LOOP;
    RETURN result;
END $$;
DO $$
DECLARE
    originals bytea[] := ARRAY(SELECT bloom_add_all(bloom_empty(30, 0.01, layout), ARRAY(SELECT generate_series(1, 30)))::bytea
        FROM unnest(ARRAY['standard', 'partitioned', 'blocked', 'partitioned_blocked']) layout)
        || bloom_add(bloom_empty(10), '{}'::jsonb)::bytea
        || ('\x424c5801'::bytea || '\x00010000' || decode(repeat('00', 36), 'hex') || '\x0200000000000000' || '\x0500000000000000' || '\x0600000000000000');
    bytes bytea;
    f bloomfilter;
    other bloomfilter := bloom_add(bloom_empty(20), 1);
    info record;
    refused int := 0;
    accepted int := 0;
    disorderly int := 0;
BEGIN
    FOR i IN 1 .. 10000 LOOP
        bytes := mutate(originals[1 + i % 6], i);
        BEGIN
            IF i % 3 = 0 THEN
                f := translate(encode(bytes, 'base64'), E'\n', '')::bloomfilter;
            ELSE
                f := bytes::bloomfilter;
            END IF;
        EXCEPTION
            WHEN invalid_text_representation OR invalid_binary_representation OR program_limit_exceeded
                OR character_not_in_repertoire THEN
                refused := refused + 1;
                CONTINUE;
        END;
        accepted := accepted + 1;
        IF f::bytea <> bytes AND f::bytea <> bytes::bloomfilter::bytea THEN
            RAISE NOTICE 'no. % does not come back as it was', i;
        END IF;
        info := bloom_info(f);
        IF info.fill NOT BETWEEN 0 AND 1 OR info.fpr NOT BETWEEN 0 AND 1 OR info.cardinality < 0 THEN
            RAISE NOTICE 'no. % has an impossible estimate: %', i, info;
        END IF;
        BEGIN
            PERFORM f @> 1, f | f, f & f, f !&& f, f | other, other | f, bloom_add(f, 2), f & other, other !&& f, bloom_fold(f), bloom_shrink(f, 0.9);
        EXCEPTION WHEN datatype_mismatch OR feature_not_supported OR invalid_parameter_value OR program_limit_exceeded THEN
            NULL;
        END;
        PERFORM bloom_contains_hash(f, 12345), bloom_add_hash(f, 12345), bloomfilter_hash(f), f = other, f < other;
    END LOOP;
    RAISE NOTICE 'all %: accepted some: %, refused most: %', accepted + refused, accepted > 100, refused > 5000;
END $$;
DROP FUNCTION mutate;
RESET bloomx.overfill;

-- A stored value that is not a filter (here a path, stored as if it were one) is noticed before it is used
CREATE CAST (path AS bloomfilter) WITHOUT FUNCTION;
CREATE TABLE damaged (n int, f bloomfilter);
INSERT INTO damaged VALUES (1, '((1,2),(3,4))'::path::bloomfilter);
INSERT INTO damaged SELECT 2, ('(' || string_agg(format('(%s,%s)', i, i * i), ',') || ')')::path::bloomfilter FROM generate_series(1, 1100) i;
SELECT expression, (SELECT string_agg(e, ' /') FROM attempt(format('SELECT %s FROM damaged WHERE n = %s', expression, n)) e)
    FROM generate_series(1, 2) n, unnest(ARRAY['f', 'f::bytea', 'f @> 1', 'bloom_contains_hash(f, 1)', 'bloom_contains_any(f, ARRAY[1])', 'bloom_add(f, 1)', 'f | bloom_empty(10)',
        'bloom_empty(10) & f', 'f = f', 'bloomfilter_hash(f)', 'bloom_info(f)', 'bloom_header(f)', 'bloom_fpr(f)', 'bloom_union_agg(f)', 'bloom_agg(1, f)', 'bloom_fold(f)', 'bloom_prefix(f, 1)']) WITH ORDINALITY AS u(expression, o)
    ORDER BY n, o;
DROP TABLE damaged;
DROP CAST (path AS bloomfilter);

\pset tuples_only off
\pset format aligned
DROP FUNCTION attempt;
