/*
 * extract_text.c - the keys of a text are its n-grams of folded letters: its
 * short and long ones (ngram.h), at every place, inside words and across them.
 *
 * What LIKE and the other operators ask for are pieces of text that must be there
 * letter by letter: the n-grams of the pieces.  Everything else says nothing.  A
 * piece of one or two letters has no n-gram and says nothing either.
 */
#include "pg/keys/extract/ngram.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "pg/base/objects.h"

/*
 * A condition asks for at most this many n-grams of a kind.  That many tell every
 * filter apart that any more would: with 0.3 per n-gram the rate is 0.3^64.
 */
#define MAX_GRAMS 64

/*
 * The rate of false positives per n-gram that suits an index best.  A needle of
 * six letters asks for six n-grams at once; what it finds in vain are mostly
 * texts with all of them in other places.  See ngram.h for the figures, which
 * are those of this rate.
 */
#define GRAM_RATE 0.3

/* ---- letters of a text in the database's encoding ---- */

typedef struct Letters
{
	const unsigned char *next;
	const unsigned char *end;
	int			encoding;
} Letters;

static Letters
LettersOf(const text *string)
{
	const unsigned char *bytes = (const unsigned char *) VARDATA_ANY(string);

	return (Letters) {bytes, bytes + VARSIZE_ANY_EXHDR(string), GetDatabaseEncoding()};
}

/* A name as a text, all other types as they are: a char(n) with its blanks, which LIKE and regular expressions see, too. */
static text *
TextOf(Oid type, Datum value)
{
	return type == NAMEOID ? cstring_to_text(NameStr(*DatumGetName(value))) : DatumGetTextPP(value);
}

/* The same characters as regular expressions know them. */
static pg_wchar
WideLetter(Letters *letters)
{
	int			length = Min(pg_encoding_mblen(letters->encoding, (const char *) letters->next), letters->end - letters->next);
	pg_wchar	wide[2] = {0};

	(void) pg_mb2wchar_with_len((const char *) letters->next, wide, length);
	letters->next += length;
	return wide[0];
}

/* Not to be called at the end. */
static inline pg_wchar
NextLetter(Letters *letters)
{
	/* in the encodings of servers no byte of a longer character looks like ASCII */
	return *letters->next < 0x80 ? *letters->next++ : WideLetter(letters);
}

/* ---- the n-grams of a value ---- */

/*
 * After this many n-grams those of a long text are thinned out to different ones,
 * so that they take 8 MB instead of 16 times the text.
 */
#define MANY_GRAMS (1 << 20)

static void
ExtractText(KeyExtractor *extractor, Datum value, KeyHashes *keys)
{
	text	   *string = TextOf(extractor->type, value);
	Letters		letters = LettersOf(string);
	GramWindow	window = {0};
	uint32		first = keys->n,
				many = MANY_GRAMS;

	while (letters.next < letters.end)
	{
		if (keys->n - first > many)
		{
			CHECK_FOR_INTERRUPTS();
			CompactKeyHashes(keys, first);
			many = Max(MANY_GRAMS, 2 * (keys->n - first));
		}
		PushLetter(&window, FoldLetter(NextLetter(&letters)));
		if (HasShortGram(&window))
			AddKeyHash(keys, HashShortGram(&window));
		if (HasLongGram(&window))
			AddKeyHash(keys, HashLongGram(&window));
	}
	FreeIfDetoasted(string, value);
}

/* ---- the n-grams of a pattern ---- */

typedef struct PatternGrams
{
	GramWindow	window;			/* the present piece */
	KeyHashes	shorts;
	KeyHashes	longs;
} PatternGrams;

static void
AddOnce(KeyHashes *grams, uint64 hash)
{
	if (grams->n >= MAX_GRAMS)
		return;
	for (uint32 i = 0; i < grams->n; i++)
		if (grams->hash[i] == hash)
			return;
	AddKeyHash(grams, hash);
}

static void
AddLetter(PatternGrams *pattern, pg_wchar letter)
{
	PushLetter(&pattern->window, FoldLetter(letter));
	if (HasShortGram(&pattern->window))
		AddOnce(&pattern->shorts, HashShortGram(&pattern->window));
	if (HasLongGram(&pattern->window))
		AddOnce(&pattern->longs, HashLongGram(&pattern->window));
}

/* The long ones first: they are rarer, so a search ends sooner. */
static KeyCondition *
ConditionOfPattern(const PatternGrams *pattern)
{
	KeyCondition *parts[] = {ConditionOfKeys(HAS_ALL, &pattern->longs), ConditionOfKeys(HAS_ALL, &pattern->shorts)};

	return CombineConditions(HAS_ALL, parts, lengthof(parts));
}

/* Equality ignores the blanks at the end of a char(n). */
static KeyCondition *
ConditionOfText(const text *string, Oid type)
{
	Letters		letters = LettersOf(string);
	PatternGrams pattern = {0};

	if (type == BPCHAROID)
		letters.end = letters.next + bpchartruelen(VARDATA_ANY(string), VARSIZE_ANY_EXHDR(string));

	while (letters.next < letters.end && pattern.longs.n < MAX_GRAMS)
		AddLetter(&pattern, NextLetter(&letters));
	return ConditionOfPattern(&pattern);
}

/*
 * A backslash makes the character after it an ordinary one.  At the end it is an error of
 * the operator's.  Without wildcards all characters are ordinary: lower(text) = lower(string).
 */
static KeyCondition *
ConditionOfLike(const text *string, bool wildcards, bool ignore_case, Oid collation)
{
	LetterCase	letter_case = {0};
	Letters		letters = LettersOf(string);
	PatternGrams pattern = {0};

	if (ignore_case)
		letter_case = LookupLetterCase(collation);
	while (letters.next < letters.end)
	{
		pg_wchar	letter = NextLetter(&letters);
		bool		is_wild = wildcards && (letter == '%' || letter == '_');

		CHECK_FOR_INTERRUPTS();
		if (wildcards && letter == '\\')
		{
			if (letters.next == letters.end)
				break;
			letter = NextLetter(&letters);
			is_wild = false;
		}
		if (is_wild || (ignore_case && !IsCertainLetter(&letter_case, letter)))
			pattern.window.letters = 0; /* the piece ends */
		else
			AddLetter(&pattern, letter);
	}
	return ConditionOfPattern(&pattern);
}

static KeyCondition *
TextCondition(KeyExtractor *extractor, int strategy, Oid type, Datum query)
{
	text	   *pattern = TextOf(type, query);

	switch (strategy)
	{
		case KEYS_EQUAL:
			return ConditionOfText(pattern, type);
		case KEYS_LIKE:
		case KEYS_ILIKE:
			return ConditionOfLike(pattern, true, strategy == KEYS_ILIKE, extractor->collation);
		case KEYS_REGEX:
		case KEYS_IREGEX:
			return ConditionOfRegex(pattern, strategy == KEYS_IREGEX, extractor->collation);
		default:
			elog(ERROR, "unexpected strategy of n-grams: %d", strategy);
	}
}

static KeyExtractor *
MakeTextExtractor(FunctionCallInfo fcinfo)
{
	KeyExtractor *extractor = NewKeyExtractor(fcinfo, sizeof(KeyExtractor), KEYS_NAMED("n-grams"), ExtractText, TextCondition);
	KeyType		key;

	/* refuses nondeterministic collations: texts that differ in their bytes may be equal, and since PostgreSQL 18 LIKE finds them */
	LookupKeyType(&key, extractor->type, extractor->collation, extractor->memory);
	PrepareLetters();
	extractor->rate = GRAM_RATE;
	return extractor;
}

PG_FUNCTION_INFO_V1(bloomx_extract_text_ngram);
Datum
bloomx_extract_text_ngram(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(MakeTextExtractor(fcinfo));
}

/* ---- citext: texts whose operators all ignore case; the class is in the extension bloomx_citext ---- */

/* Equality compares lower cases by the database's collation, whatever the column's. */
static KeyCondition *
CitextCondition(KeyExtractor *extractor, int strategy, Oid type, Datum query)
{
	switch (strategy)
	{
		case KEYS_EQUAL:
			return ConditionOfLike(DatumGetTextPP(query), false, true, DEFAULT_COLLATION_OID);
		case KEYS_LIKE:
			return TextCondition(extractor, KEYS_ILIKE, type, query);
		case KEYS_REGEX:
			return TextCondition(extractor, KEYS_IREGEX, type, query);
		default:
			return TextCondition(extractor, strategy, type, query);
	}
}

PG_FUNCTION_INFO_V1(bloomx_extract_citext_ngram);
Datum
bloomx_extract_citext_ngram(PG_FUNCTION_ARGS)
{
	KeyExtractor *extractor = MakeTextExtractor(fcinfo);

	(void) FunctionOfExtension("citext", "citext_hash", extractor->type);
	extractor->query = CitextCondition;
	PG_RETURN_POINTER(extractor);
}
