-- The whole demo: psql -d DATABASE -f demo/all.sql
-- It makes tables in the schema bloomx_demo; DROP SCHEMA bloomx_demo CASCADE removes them.
\ir 1_breached_passwords.sql
\ir 2_segments.sql
\ir 3_semijoin.sql
\ir 4_union_over_days.sql
\ir 5_smaller_filters.sql
\ir 6_logs.sql
\ir 7_partitions.sql
\echo
\echo 'All checks of the demo hold.'
