/*
 * ngram.h - the n-grams of texts, for extract_text.c and extract_regex.c.
 *
 *   letters.c        which letters the server may call the same
 *   extract_text.c   the n-grams of a text, and of LIKE patterns
 *   extract_regex.c  the n-grams that every match of a regular expression has
 */
#pragma once

#include "pg/keys/extract/extract.h"

#include "mb/pg_wchar.h"

#include "core/base/hash.h"

#pragma GCC visibility push(hidden)

/*
 * A text has two kinds of n-grams as keys.  The short ones find needles of three
 * letters.  The long ones tell texts apart: on 60 MB of program sources, with a
 * filter of 8.8 MB per 100 MB of text, needles of 6 to 12 letters that are in at
 * most 20 places led to 1.9 % of the ranges of 8 pages in vain, to 3.7 % with
 * n-grams of four letters alone, and to 8 % (in ranges of 4 pages) with three.
 */
#define SHORT_GRAM 3
#define LONG_GRAM 5

/* 21 bits hold a code point.  Characters of other encodings may lose bits, so different ones may be the same letter. */
#define LETTER_BITS 21
#define LETTER_MASK ((UINT64CONST(1) << LETTER_BITS) - 1)

/* The last letters of a text: its last three, the three before its last letter, and the three before its last two. */
typedef struct GramWindow
{
	uint64		three;
	uint64		before;
	uint64		before_that;
	uint32		letters;		/* how many were pushed */
} GramWindow;

static inline void
PushLetter(GramWindow *window, pg_wchar letter)
{
	window->before_that = window->before;
	window->before = window->three;
	window->three = (window->three << LETTER_BITS | (letter & LETTER_MASK)) & ((UINT64CONST(1) << SHORT_GRAM * LETTER_BITS) - 1);
	window->letters++;
}

static inline bool
HasShortGram(const GramWindow *window)
{
	return window->letters >= SHORT_GRAM;
}

static inline bool
HasLongGram(const GramWindow *window)
{
	return window->letters >= LONG_GRAM;
}

/* The hash of the n-gram that ends with the last letter. */
static inline uint64
HashShortGram(const GramWindow *window)
{
	return blx_hash_int64(window->three, SHORT_GRAM);
}

/* The five letters are the three before the last two, and the last three. */
static inline uint64
HashLongGram(const GramWindow *window)
{
	uint64		words[2] = {blx_to_le64(window->before_that), blx_to_le64(window->three)};

	return blx_hash_bytes(words, sizeof words, LONG_GRAM);
}

/* ---- letters.c ---- */

/* Letters above this one are folded to themselves. */
#define LAST_FOLDED 0x212B

extern uint16 folded_letters[LAST_FOLDED + 1];

/* Fills the table, before the first letter is folded. */
extern void PrepareLetters(void);

/* One letter for all those that the server may call the same. */
static inline pg_wchar
FoldLetter(pg_wchar letter)
{
	return letter <= LAST_FOLDED ? folded_letters[letter] : letter;
}

/* How the server compares letters without regard to case, under a collation. */
typedef struct LetterCase
{
	bool		is_unicode;
	bool		by_context;		/* a letter's lower case depends on its neighbours, or on the language */
} LetterCase;

extern LetterCase LookupLetterCase(Oid collation);

/* True if a letter of a pattern stands for letters that FoldLetter makes the same, and for one letter of the text each. */
extern bool IsCertainLetter(const LetterCase *of, pg_wchar letter);

/* ---- extract_regex.c ---- */
extern KeyCondition *ConditionOfRegex(text *pattern, bool ignore_case, Oid collation);

#pragma GCC visibility pop
