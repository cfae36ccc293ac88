/*
 * extract_regex.c - the n-grams that every match of a regular expression has.
 *
 * The server compiles the expression to an automaton and shows its states and
 * arcs (regex/regexport.h).  A text that matches the expression leads along some
 * path from the initial state to the final one.  (Not every such text matches:
 * constraints and back references are not in the automaton.)  An arc takes a
 * character of a set, its "color".  Where the last letters on a path are known,
 * their n-grams are in the text.
 *
 * So the automaton is unfolded to a graph.  A node is a state with the letters
 * that were read last, as far as they are known.  An edge is an arc that reads one
 * letter, folded as in the index, or an arc that reads one of many characters,
 * after which nothing is known.  It carries the n-gram that ends with its letter.
 * The condition of the expression: there is a path all of whose n-grams are in the
 * text.  There is a graph for short n-grams and one for long ones, since ways that
 * differ in letters longer ago meet sooner if fewer letters are remembered.
 *
 * That is made a tree.  A path without loops will do, because the n-grams of a
 * path include those of the same path without its loops.  Some nodes are on every
 * path from the first to the last: the condition is that all the sections between
 * two such nodes can be passed.  A section can be passed if, for one of the edges
 * that leave its first node, the n-grams of the edge are in the text and the rest
 * can be passed without that node, which is the same task for a smaller graph.
 *
 * A section that needs too many steps or n-grams says nothing, as does an
 * expression with too large a graph.
 */
#include "pg/keys/extract/ngram.h"

#include "miscadmin.h"
#include "regex/regex.h"
#include "regex/regexport.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

/*
 * A color of more letters than this is taken for any character.  Each letter is a
 * branch of its own, and an n-gram that may be one of many says little.
 */
#define MAX_LETTERS 4

/* Colors of more characters are not looked at; a letter has few that are folded to it. */
#define MAX_CHARACTERS 32

/* A graph of more nodes or edges is given up: the expression is longer than any needle. */
#define MAX_NODES 2000
#define MAX_EDGES 8000

/* Edges looked at while the tree is made: a few milliseconds. */
#define MAX_STEPS 200000

/* The n-grams of a tree.  More alternatives than this are nearly always met. */
#define MAX_TREE_GRAMS 256

/* ---- colors ---- */

typedef struct ColorLetters
{
	int			n;				/* 0: any character, or one outside the text */
	pg_wchar	letter[MAX_LETTERS];
} ColorLetters;

static void
AddLetterOnce(ColorLetters *color, pg_wchar letter)
{
	for (int i = 0; i < color->n; i++)
		if (color->letter[i] == letter)
			return;
	if (color->n < MAX_LETTERS)
		color->letter[color->n] = letter;
	color->n++;
}

static ColorLetters
LettersOfColor(const regex_t *regex, int number)
{
	int			n = pg_reg_getnumcharacters(regex, number);
	pg_wchar	characters[MAX_CHARACTERS];
	ColorLetters color = {0};

	if (n <= 0 || n > MAX_CHARACTERS)
		return color;
	pg_reg_getcharacters(regex, number, characters, n);
	for (int i = 0; i < n && color.n <= MAX_LETTERS; i++)
		AddLetterOnce(&color, FoldLetter(characters[i]));
	if (color.n > MAX_LETTERS)
		color.n = 0;
	return color;
}

static ColorLetters *
LettersOfColors(const regex_t *regex)
{
	int			n = pg_reg_getnumcolors(regex);
	ColorLetters *colors = palloc0(sizeof(ColorLetters) * Max(n, 1));

	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		colors[i] = LettersOfColor(regex, i);
	}
	return colors;
}

/* ---- the graph ---- */

typedef struct Place
{
	int			state;
	int			n;				/* letters that are known */
	pg_wchar	known[LONG_GRAM - 1];	/* the last one last; unused ones are 0 */
} Place;

typedef struct Edge
{
	int			to;				/* node */
	bool		has_gram;
	uint64		gram;
	struct Edge *next;			/* of the same node */
} Edge;

typedef struct PlaceNumber
{
	Place		place;			/* first, as the key of a hash table */
	int			number;
} PlaceNumber;

typedef struct Graph
{
	const regex_t *regex;
	int			gram;			/* SHORT_GRAM or LONG_GRAM */
	ColorLetters *colors;
	int			n_colors;
	int			final;			/* state */
	HTAB	   *numbers;		/* of places */
	Place	   *places;
	Edge	  **edges;			/* that leave a node */
	int			n_nodes;
	int			n_edges;
	/* while the tree is made */
	bool	   *removed;		/* nodes that the path has left */
	int			steps;
	int			grams;
	int			most_steps;		/* of the present section */
	int			most_grams;
} Graph;

/* The node of a place, which may be new. */
static int
NodeOf(Graph *graph, const Place *place)
{
	bool		found;
	PlaceNumber *node = hash_search(graph->numbers, place, HASH_ENTER, &found);

	if (!found)
	{
		node->number = graph->n_nodes++;
		if (node->number < MAX_NODES)
			graph->places[node->number] = *place;
	}
	return node->number;
}

static void
AddEdge(Graph *graph, int from, const Place *to, bool has_gram, uint64 gram)
{
	int			node = NodeOf(graph, to);
	Edge	   *edge;

	/* a loop adds nothing to a path */
	if (node == from)
		return;
	edge = palloc(sizeof(Edge));
	edge->to = node;
	edge->has_gram = has_gram;
	edge->gram = gram;
	edge->next = graph->edges[from];
	graph->edges[from] = edge;
	graph->n_edges++;
}

/* The final state is one node, whatever was read last. */
static Place
PlaceAt(const Graph *graph, int state)
{
	Place		place;

	memset(&place, 0, sizeof place);
	place.state = state;
	return place;
}

static void
AddEdgeOfLetter(Graph *graph, int from, int state, pg_wchar letter)
{
	const Place *before = &graph->places[from];
	Place		to = PlaceAt(graph, state);
	GramWindow	window = {0};
	bool		has_gram;
	int			kept = Min(before->n, graph->gram - 2);

	for (int i = 0; i < before->n; i++)
		PushLetter(&window, before->known[i]);
	PushLetter(&window, letter);
	has_gram = window.letters == graph->gram;
	if (state != graph->final)
	{
		memcpy(to.known, before->known + before->n - kept, kept * sizeof(pg_wchar));
		to.known[kept] = letter;
		to.n = kept + 1;
	}
	AddEdge(graph, from, &to, has_gram, graph->gram == LONG_GRAM ? HashLongGram(&window) : HashShortGram(&window));
}

static void
AddEdgesOfArc(Graph *graph, int from, const regex_arc_t *arc)
{
	const ColorLetters *color = arc->co >= 0 && arc->co < graph->n_colors ? &graph->colors[arc->co] : NULL;
	Place		unknown = PlaceAt(graph, arc->to);

	if (color == NULL || color->n == 0)
		AddEdge(graph, from, &unknown, false, 0);
	else
		for (int i = 0; i < color->n; i++)
			AddEdgeOfLetter(graph, from, arc->to, color->letter[i]);
}

static void
AddEdgesOf(Graph *graph, int node)
{
	int			state = graph->places[node].state;
	int			n = pg_reg_getnumoutarcs(graph->regex, state);
	regex_arc_t *arcs = palloc(sizeof(regex_arc_t) * Max(n, 1));

	pg_reg_getoutarcs(graph->regex, state, arcs, n);
	for (int i = 0; i < n && graph->n_edges <= MAX_EDGES && graph->n_nodes <= MAX_NODES; i++)
		AddEdgesOfArc(graph, node, &arcs[i]);
	pfree(arcs);
}

/* False if the graph is too large.  The initial state is node 0, the final one node 1. */
static bool
MakeGraph(Graph *graph, const regex_t *regex, int gram)
{
	HASHCTL		control = {.keysize = sizeof(Place), .entrysize = sizeof(PlaceNumber), .hcxt = CurrentMemoryContext};
	Place		initial,
				final;

	*graph = (Graph) {
		.regex = regex,
		.gram = gram,
		.colors = LettersOfColors(regex),
		.n_colors = pg_reg_getnumcolors(regex),
		.final = pg_reg_getfinalstate(regex),
		.numbers = hash_create("regular expression", 256, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT),
		.places = palloc(sizeof(Place) * MAX_NODES),
		.edges = palloc0(sizeof(Edge *) * MAX_NODES),
		.removed = palloc0(sizeof(bool) * MAX_NODES),
		.most_steps = MAX_STEPS,
		.most_grams = MAX_TREE_GRAMS,
	};
	initial = PlaceAt(graph, pg_reg_getinitialstate(regex));
	final = PlaceAt(graph, graph->final);
	(void) NodeOf(graph, &initial);
	(void) NodeOf(graph, &final);
	for (int node = 0; node < graph->n_nodes; node++)
	{
		CHECK_FOR_INTERRUPTS();
		if (graph->places[node].state != graph->final)
			AddEdgesOf(graph, node);
		if (graph->n_nodes > MAX_NODES || graph->n_edges > MAX_EDGES)
			return false;
	}
	return true;
}

/* ---- nodes on every path ---- */

/*
 * One path between two nodes, without removed ones: its nodes, from first to
 * last.  Returns their number, 0 if there is no path, or -1 if it took too long.
 */
static int
FindPath(Graph *graph, int first, int last, int *path)
{
	int		   *from = palloc(sizeof(int) * graph->n_nodes);
	int		   *queue = palloc(sizeof(int) * graph->n_nodes);
	int			head = 0,
				tail = 0,
				n = 0;

	memset(from, -1, sizeof(int) * graph->n_nodes);
	from[first] = first;
	queue[tail++] = first;
	while (head < tail && from[last] < 0)
	{
		int			node = queue[head++];

		for (const Edge *edge = graph->edges[node]; edge != NULL; edge = edge->next)
		{
			graph->steps++;
			if (from[edge->to] < 0 && !graph->removed[edge->to])
			{
				from[edge->to] = node;
				queue[tail++] = edge->to;
			}
		}
	}
	if (from[last] >= 0)
	{
		for (int node = last; node != first; node = from[node])
			n++;
		n++;
		for (int i = n, node = last; i-- > 0; node = from[node])
			path[i] = node;
	}
	pfree(from);
	pfree(queue);
	return graph->steps > graph->most_steps ? -1 : n;
}

/*
 * Keeps of a path the nodes that are on every path between its ends.  A node is
 * not, if some way leaves the path before it and comes back after it.  So walk
 * along the path, follow each way that leaves it until it comes back, and note
 * the farthest place where one did.
 */
static int
KeepNecessary(Graph *graph, int *path, int n)
{
	int		   *position = palloc(sizeof(int) * graph->n_nodes); /* on the path, or -1 */
	bool	   *seen = palloc0(sizeof(bool) * graph->n_nodes);
	int		   *stack = palloc(sizeof(int) * graph->n_nodes);
	int			farthest = 0,
				kept = 0;

	memset(position, -1, sizeof(int) * graph->n_nodes);
	for (int i = 0; i < n; i++)
		position[path[i]] = i;
	for (int i = 0; i < n; i++)
	{
		int			top = 0;

		if (i >= farthest)
			path[kept++] = path[i];
		stack[top++] = path[i];
		while (top > 0)
			for (const Edge *edge = graph->edges[stack[--top]]; edge != NULL; edge = edge->next)
			{
				graph->steps++;
				if (position[edge->to] >= 0)
					farthest = Max(farthest, position[edge->to]);
				else if (!seen[edge->to] && !graph->removed[edge->to])
				{
					seen[edge->to] = true;
					stack[top++] = edge->to;
				}
			}
	}
	pfree(position);
	pfree(seen);
	pfree(stack);
	return kept;
}

/* ---- the tree ---- */

static KeyCondition *PathCondition(Graph *graph, int first, int last);

static KeyCondition *
EdgeCondition(Graph *graph, const Edge *edge)
{
	if (!edge->has_gram || graph->grams >= graph->most_grams)
		return MakeKeyCondition(ANY_VALUE, 0);
	graph->grams++;
	return ConditionOfKey(edge->gram);
}

/* From one necessary node to the next one. */
static KeyCondition *
SectionCondition(Graph *graph, int first, int last)
{
	KeyCondition **ways;
	uint32		n = 0;

	for (const Edge *edge = graph->edges[first]; edge != NULL; edge = edge->next)
		n++;
	ways = palloc(sizeof(KeyCondition *) * Max(n, 1));
	n = 0;
	graph->removed[first] = true;
	for (const Edge *edge = graph->edges[first]; edge != NULL; edge = edge->next)
	{
		KeyCondition *parts[2];

		if (graph->removed[edge->to])
			continue;
		parts[0] = EdgeCondition(graph, edge);
		parts[1] = edge->to == last ? MakeKeyCondition(ANY_VALUE, 0) : PathCondition(graph, edge->to, last);
		ways[n] = CombineConditions(HAS_ALL, parts, lengthof(parts));
		if (ways[n++]->kind == ANY_VALUE)
			break;
	}
	graph->removed[first] = false;
	return CombineConditions(HAS_ANY, ways, n);
}

/* A section, which may take its share of what is left for this one and those after it. */
static KeyCondition *
SectionWithinShare(Graph *graph, int first, int last, int sections)
{
	int			most_steps = graph->most_steps,
				most_grams = graph->most_grams,
				grams = graph->grams;
	KeyCondition *condition;

	graph->most_steps = graph->steps + (most_steps - graph->steps) / sections;
	graph->most_grams = grams + (most_grams - grams) / sections;
	condition = SectionCondition(graph, first, last);
	if (condition->kind == ANY_VALUE)
		graph->grams = grams;
	graph->most_steps = most_steps;
	graph->most_grams = most_grams;
	return condition;
}

/* Each call looks at a smaller graph, but there may be as many as paths. */
static KeyCondition *
PathCondition(Graph *graph, int first, int last)
{
	int		   *path = palloc(sizeof(int) * graph->n_nodes);
	int			n = FindPath(graph, first, last, path);
	KeyCondition **sections;
	KeyCondition *condition;

	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	if (n <= 0)
		return MakeKeyCondition(n == 0 ? NO_VALUE : ANY_VALUE, 0);
	n = KeepNecessary(graph, path, n);
	sections = palloc(sizeof(KeyCondition *) * n);
	for (int i = 0; i + 1 < n; i++)
		sections[i] = SectionWithinShare(graph, path[i], path[i + 1], n - 1 - i);
	condition = CombineConditions(HAS_ALL, sections, n - 1);
	pfree(path);
	return condition;
}

/* What the n-grams of one length say. */
static KeyCondition *
ConditionOfGrams(const regex_t *regex, int gram)
{
	MemoryContext temporary = AllocSetContextCreate(CurrentMemoryContext, "bloomx regular expression", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(temporary);
	KeyCondition *condition;
	Graph		graph;
	bool		is_small = MakeGraph(&graph, regex, gram);

	MemoryContextSwitchTo(old);
	condition = is_small ? PathCondition(&graph, 0, 1) : MakeKeyCondition(ANY_VALUE, 0);
	MemoryContextDelete(temporary);
	/* to find out that nothing matches is left to the server */
	return condition->kind == NO_VALUE ? MakeKeyCondition(ANY_VALUE, 0) : condition;
}

KeyCondition *
ConditionOfRegex(text *pattern, bool ignore_case, Oid collation)
{
	/* as the operators compile it, so that the server has to do it only once */
	const regex_t *regex = RE_compile_and_cache(pattern, REG_ADVANCED | REG_NOSUB | (ignore_case ? REG_ICASE : 0), collation);
	KeyCondition *parts[] = {ConditionOfGrams(regex, LONG_GRAM), ConditionOfGrams(regex, SHORT_GRAM)};

	return CombineConditions(HAS_ALL, parts, lengthof(parts));
}
