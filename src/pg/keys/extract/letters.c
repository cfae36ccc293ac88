/*
 * letters.c - which letters the server may call the same.
 *
 * ILIKE compares lower(text) with lower(pattern), and ~* takes for each letter of
 * the pattern its lower and its upper case.  Both depend on the collation: its
 * language, its provider and the version of Unicode.  The keys of an index must
 * not.  So a fixed table folds letters, and what a pattern asks for is a key only
 * if no collation can disagree with the table:
 *
 * - A regular expression, compiled by the server, says which letters it takes at
 *   a place.  A key is asked for if the table folds all of them to one letter, or
 *   to a few, each of which is an alternative.
 * - Of an ILIKE pattern a letter counts if it is of a script without cases or in
 *   the table, and if every letter whose lower case it is, or may be, in any
 *   language, is folded to the same letter: the "certain" letters.  The others
 *   count as `_` or as nothing, like the sharp s, letters with more than one letter
 *   as their lower case, and titlecase digraphs.
 *
 * The Turkish letters with and without a dot and the English I are one letter, so
 * are the three sigmas, and the Kelvin sign is a k.  This lets a few more rows
 * through, which the condition itself sorts out.
 *
 * In Turkish, Azerbaijani and Lithuanian ICU's lower case of a letter also depends
 * on accents that follow: a dot above comes or goes.  Such collations are found by
 * asking lower() itself.  Under them only ASCII letters other than i and j are
 * certain, for no dot comes or goes beside those.
 *
 * In other encodings than UTF-8 only ASCII letters are folded.  There another
 * character may have i, k or s as its lower or upper case (the Turkish letters of
 * LATIN5), which are not certain then.
 */
#include "pg/keys/extract/ngram.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

/* ---- the table ---- */

/* How the upper case letters of a range become lower case, if not by adding a number: none is so large. */
#define EVEN_IS_UPPER	0x200000	/* pairs, the upper case first */
#define ODD_IS_UPPER	0x200001

static const struct
{
	uint16		first;
	uint16		last;
	int32		how;			/* or what to add */
}			upper_case[] =
{
	{'A', 'Z', 'a' - 'A'},
	{0xB5, 0xB5, 0x3BC - 0xB5}, /* micro sign */
	{0xC0, 0xD6, 32}, {0xD8, 0xDE, 32},
	{0x100, 0x12F, EVEN_IS_UPPER},
	{0x130, 0x130, 'i' - 0x130}, {0x131, 0x131, 'i' - 0x131},	/* Turkish */
	{0x132, 0x137, EVEN_IS_UPPER}, {0x139, 0x148, ODD_IS_UPPER}, {0x14A, 0x177, EVEN_IS_UPPER},
	{0x178, 0x178, 0xFF - 0x178}, {0x179, 0x17E, ODD_IS_UPPER},
	{0x17F, 0x17F, 's' - 0x17F},	/* long s */
	{0x345, 0x345, 0x3B9 - 0x345},	/* iota below */
	{0x386, 0x386, 38}, {0x388, 0x38A, 37}, {0x38C, 0x38C, 64}, {0x38E, 0x38F, 63}, {0x391, 0x3A1, 32}, {0x3A3, 0x3AB, 32},
	{0x3C2, 0x3C2, 1},			/* sigma at the end of a word */
	/* symbols that are Greek letters */
	{0x3D0, 0x3D0, 0x3B2 - 0x3D0}, {0x3D1, 0x3D1, 0x3B8 - 0x3D1}, {0x3D5, 0x3D5, 0x3C6 - 0x3D5}, {0x3D6, 0x3D6, 0x3C0 - 0x3D6},
	{0x3F0, 0x3F0, 0x3BA - 0x3F0}, {0x3F1, 0x3F1, 0x3C1 - 0x3F1}, {0x3F4, 0x3F4, 0x3B8 - 0x3F4}, {0x3F5, 0x3F5, 0x3B5 - 0x3F5},
	{0x400, 0x40F, 80}, {0x410, 0x42F, 32}, {0x460, 0x481, EVEN_IS_UPPER}, {0x48A, 0x4BF, EVEN_IS_UPPER},
	{0x4C0, 0x4C0, 15}, {0x4C1, 0x4CE, ODD_IS_UPPER}, {0x4D0, 0x52F, EVEN_IS_UPPER},
	{0x531, 0x556, 48},
	/* old shapes of Cyrillic letters */
	{0x1C80, 0x1C80, 0x432 - 0x1C80}, {0x1C81, 0x1C81, 0x434 - 0x1C81}, {0x1C82, 0x1C82, 0x43E - 0x1C82},
	{0x1C83, 0x1C84, 0x441 - 0x1C83}, {0x1C85, 0x1C85, 0x442 - 0x1C85}, {0x1C86, 0x1C86, 0x44A - 0x1C86},
	{0x1C87, 0x1C87, 0x463 - 0x1C87},
	{0x1E00, 0x1E95, EVEN_IS_UPPER}, {0x1E9B, 0x1E9B, 0x1E61 - 0x1E9B}, {0x1E9E, 0x1E9E, 0xDF - 0x1E9E}, {0x1EA0, 0x1EFF, EVEN_IS_UPPER},
	{0x1FBE, 0x1FBE, 0x3B9 - 0x1FBE},	/* iota beside */
	{0x2126, 0x2126, 0x3C9 - 0x2126}, {0x212A, 0x212A, 'k' - 0x212A}, {0x212B, 0x212B, 0xE5 - 0x212B},	/* ohm, kelvin, angstrom */
};

/*
 * Ranges of certain letters: in them every letter whose lower case is a letter of
 * the range is folded to the same one.  Scripts without cases are there as a whole.
 */
static const struct
{
	pg_wchar	first;
	pg_wchar	last;
}			certain[] =
{
	{0x01, 0x7F},
	{0xA0, 0xB4}, {0xB6, 0xDE}, {0xE0, 0x12F}, {0x131, 0x148}, {0x14A, 0x17F},
	{0x386, 0x386}, {0x388, 0x38A}, {0x38C, 0x38C}, {0x38E, 0x38F}, {0x391, 0x3A1}, {0x3A3, 0x3AF}, {0x3B1, 0x3CE},	/* Greek */
	{0x400, 0x481}, {0x48A, 0x52F}, /* Cyrillic */
	{0x531, 0x556}, {0x561, 0x586}, /* Armenian */
	{0x5D0, 0x109F},			/* Hebrew, Arabic, the scripts of India and its neighbours */
	{0x1100, 0x137F},			/* Hangul, Ethiopic */
	{0x1780, 0x18AF},			/* Khmer, Mongolian */
	{0x1E00, 0x1E95}, {0x1EA0, 0x1EFF}, /* Latin, with the letters of Vietnamese */
	{0x2010, 0x2027}, {0x2030, 0x205E}, {0x20A0, 0x20BF}, {0x2190, 0x23FF}, {0x2500, 0x27BF},	/* punctuation, currencies, symbols */
	{0x3001, 0xA4CF}, {0xAC00, 0xD7A3}, {0xF900, 0xFAFF}, {0x20000, 0x3FFFF},	/* Chinese, Japanese, Korean */
	{0x1F300, 0x1FAFF},			/* pictures */
};

static pg_wchar
FoldUnicode(pg_wchar letter)
{
	for (size_t i = 0; i < lengthof(upper_case); i++)
		if (letter >= upper_case[i].first && letter <= upper_case[i].last)
			switch (upper_case[i].how)
			{
				case EVEN_IS_UPPER:
					return letter | 1;
				case ODD_IS_UPPER:
					return letter + (letter & 1);
				default:
					return letter + upper_case[i].how;
			}
	return letter;
}

uint16		folded_letters[LAST_FOLDED + 1];

/* The encoding of a process's database does not change. */
void
PrepareLetters(void)
{
	if (folded_letters['A'] == 0)
		for (pg_wchar i = LAST_FOLDED + 1; i-- > 0;)
			folded_letters[i] = GetDatabaseEncoding() == PG_UTF8 || i < 0x80 ? FoldUnicode(i) : i;
}

/* ---- the collation ---- */

LetterCase
LookupLetterCase(Oid collation)
{
	LetterCase	result = {.is_unicode = GetDatabaseEncoding() == PG_UTF8};

	if (result.is_unicode)
	{
		/* I, and an I with a grave accent; a collation without their lower cases leaves them */
		char	   *small = text_to_cstring(DatumGetTextPP(DirectFunctionCall1Coll(lower, collation,
																					CStringGetTextDatum("I\xC3\x8C"))));
		bool		is_plain = small[0] == 'i' || small[0] == 'I';

		small++;
		result.by_context = !is_plain || (strcmp(small, "\xC3\xAC") != 0 && strcmp(small, "\xC3\x8C") != 0);
	}
	return result;
}

bool
IsCertainLetter(const LetterCase *of, pg_wchar letter)
{
	pg_wchar	folded = FoldLetter(letter);

	if (!of->is_unicode)
		return letter < 0x80 && folded != 'i' && folded != 'k' && folded != 's';
	if (of->by_context)
		return letter < 0x80 && folded != 'i' && folded != 'j';
	for (size_t i = 0; i < lengthof(certain); i++)
		if (letter >= certain[i].first && letter <= certain[i].last)
			return true;
	return false;
}
