/* See suggest.h. Optimal string alignment over three rows. */
#include "text/suggest.h"

#include <string.h>

#define LONGEST 64 /* longer words are no typing errors of known ones */

static char folded(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Both have at most LONGEST characters. */
static unsigned distance(struct ar_str a, struct ar_str b)
{
	unsigned rows[3][LONGEST + 1] = { 0 };

	for (unsigned j = 0; j <= b.len; j++)
		rows[0][j] = j;
	for (unsigned i = 1; i <= a.len; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];

		row[0] = i;
		for (unsigned j = 1; j <= b.len; j++) {
			char x = folded(a.p[i - 1]), y = folded(b.p[j - 1]);

			row[j] = least(least(row[j - 1], above[j]) + 1, above[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == folded(b.p[j - 2]) && y == folded(a.p[i - 2]))
				row[j] = least(row[j], two_above[j - 2] + 1);
		}
	}
	return rows[a.len % 3][b.len];
}

void ar_suggest(struct ar_suggestion *best, struct ar_str word, const char *candidate)
{
	struct ar_str known = ar_str_from(candidate);
	bool is_longer = known.len > word.len;
	size_t longer = is_longer ? known.len : word.len, most = (longer + 2) / 3;
	unsigned d;

	/* Each character that one has more is an edit. */
	if (longer > LONGEST || longer == 0 || longer - (is_longer ? word.len : known.len) > most)
		return;
	d = distance(word, known);
	if (d > most || d >= longer || (best->word && d >= best->distance))
		return;
	*best = (struct ar_suggestion){ candidate, d };
}
