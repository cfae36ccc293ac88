"""Other ways to the answer of a query, for the tests that make random ones.

Each gives SQL that must agree with the query whatever plan it gets, and that leads to other plans: an index or a filter that
drops a row in one of them does so hardly in the others.

- Ternary logic partitioning (Rigger and Su, OOPSLA 2020): the rows of which p is true, false and NULL are all rows.
- Non-optimizing reference engine construction (the same, ESEC/FSE 2020): as many rows meet p as say so if p is an output.
"""


def conjunction(terms):
    return " WHERE " + " AND ".join(f"({t})" for t in terms) if terms else ""


def partitioned(select, source, where, p):
    """SELECT ... FROM source WHERE ... in three parts."""
    return " UNION ALL ".join(f"{select} FROM {source}{conjunction(where + [part])}" for part in (p, f"NOT ({p})", f"({p}) IS NULL"))


def counted(source, where, p):
    """The number of rows, by a condition and by an output."""
    return (f"SELECT count(*) AS n FROM {source}{conjunction(where + [p])}",
            f"SELECT coalesce(sum(({p})::int), 0) AS n FROM {source}{conjunction(where)}")


def makes_whole(table, p):
    """A boolean expression: the parts of the table are the table, and the counts agree."""
    by_condition, by_output = counted(table, [], p)
    parts = partitioned("SELECT id", table, [], p)
    return (f"(SELECT count(*) || ' ' || sum(id) FROM {table}) IS NOT DISTINCT FROM (SELECT count(*) || ' ' || sum(id) FROM ({parts}) parts) "
            f"AND ({by_condition}) = ({by_output})")
