/*
 * remotesql.c - one more condition in the query that postgres_fdw has written for a
 * table.
 *
 * Such a query is
 *
 *     SELECT columns FROM table [WHERE (condition) AND ...] [ORDER BY ...] [FOR ...]
 *
 * with its keywords in upper case and outside of parentheses.  The condition is put
 * where the others are, so that the remote planner can do with it what it does with
 * them, and the order of the rows stays what it was.  (Around the query as a subquery,
 * both would depend on how the remote planner treats subqueries.)  A query that looks
 * different in any way is left alone, and so is one that locks rows: it would lock
 * fewer.
 */
#include "postgres.h"

#include "runtimefilter/remote/sentkeys.h"

/* Keywords that the query of a table does not have, or that say what must not change. */
static const char *const refused[] = {
	" FOR ", " LIMIT ", " OFFSET ", " FETCH ", " GROUP BY ", " HAVING ", " WINDOW ",
	" UNION ", " INTERSECT ", " EXCEPT ", " JOIN ", " TABLESAMPLE "
};

static bool
Begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* The end of a literal or a quoted identifier; NULL if there is none, or if a literal has backslashes without an E. */
static const char *
EndOfQuoted(const char *begin, bool has_escapes)
{
	for (const char *s = begin + 1; *s != '\0'; s++)
	{
		if (*s == '\\' && *begin == '\'')
		{
			if (!has_escapes || *++s == '\0')
				return NULL;
		}
		else if (*s == *begin)
		{
			/* twice: the quote itself */
			if (s[1] != *begin)
				return s + 1;
			s++;
		}
	}
	return NULL;
}

/* The parts of a query, as pointers into it; NULL: it has no such part. */
typedef struct QueryParts
{
	const char *from,
			   *where,
			   *order_by;
} QueryParts;

/* Takes note of a keyword outside of parentheses.  False if it does not belong there. */
static bool
TakeKeyword(QueryParts *parts, const char *s)
{
	const char **part = Begins(s, " FROM ") ? &parts->from :
		Begins(s, " WHERE ") ? &parts->where : Begins(s, " ORDER BY ") ? &parts->order_by : NULL;

	for (int i = 0; i < lengthof(refused); i++)
		if (Begins(s, refused[i]))
			return false;
	if (part == NULL)
		return true;
	/* each once, and in this order */
	if (*part != NULL || parts->order_by != NULL || (part != &parts->from && parts->from == NULL))
		return false;
	*part = s;
	return part != &parts->where || Begins(s, " WHERE (");
}

/* False if it is not the query of a table. */
static bool
SplitQuery(const char *query, QueryParts *parts)
{
	int			depth = 0;
	const char *s = query;

	*parts = (QueryParts) {.from = NULL};
	if (!Begins(query, "SELECT "))
		return false;
	while (*s != '\0')
	{
		if (*s == '\'' || *s == '"')
		{
			s = EndOfQuoted(s, s[-1] == 'E');
			if (s == NULL)
				return false;
			continue;
		}
		depth += (*s == '(') - (*s == ')');
		if (depth < 0 || (depth == 0 && *s == ' ' && !TakeKeyword(parts, s)))
			return false;
		s++;
	}
	return depth == 0 && parts->from != NULL;
}

bool
TakesCondition(const char *query)
{
	QueryParts	parts;

	return SplitQuery(query, &parts);
}

char *
AddCondition(const char *query, const char *condition)
{
	QueryParts	parts;
	const char *end;

	if (!SplitQuery(query, &parts))
		elog(ERROR, "not the query of a foreign table: %s", query);
	end = parts.order_by != NULL ? parts.order_by : query + strlen(query);
	return psprintf("%.*s%s(%s)%s", (int) (end - query), query, parts.where != NULL ? " AND " : " WHERE ",
					condition, end);
}
