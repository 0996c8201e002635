/* See repositories.h. The descriptor of the workspace is that of missing.h. */
#include "evidence/repositories.h"
#include "clock.h"
#include "json_text.h"
#include "planted.h"
#include "shim.h"

#include <stdio.h>
#include <string.h>

#define SEARCH_MAX (250 * AR_SHIM_MS)
#define NAMED_MAX 3072 /* bytes of JSON text; longer paths are cut */

void ar_repositories_begin(struct ar_repositories *r)
{
	r->since = ar_shim_file_time();
}

static bool write_violation(struct ar_shim *s, const char *what, const char *path)
{
	char text[NAMED_MAX + AR_JSON_CHARACTER_MAX], character[AR_JSON_CHARACTER_MAX];
	size_t len = 0;

	while (*path && len < NAMED_MAX) {
		path += ar_json_character(path, character);
		memcpy(text + len, character, strlen(character));
		len += strlen(character);
	}
	return ar_journal_file_addf(
		&s->journal, AR_RECORD_VIOLATION,
		"{\"boundary\":\"filesystem\",\"attempted\":\"%s %.*s\",\"effect\":\"logged\","
		"\"evidence\":\"observed\",\"count\":1,\"isLast\":true}",
		what, (int)len, text);
}

static bool on_found(void *arg, const char *what, const char *path)
{
	struct ar_shim *s = arg;
	struct ar_repositories *r = &s->repositories;

	if (r->passed++ < r->reported)
		return true;
	if (!write_violation(s, what, path))
		return false;
	r->reported++;
	return true;
}

static bool is_over(void *arg)
{
	return ar_shim_mono() > ((struct ar_shim *)arg)->repositories.until;
}

bool ar_repositories_finish(struct ar_shim *s)
{
	struct ar_repositories *r = &s->repositories;
	const struct ar_planted_search search = { .workspace = s->missing.seen.workspace,
						  .since = r->since,
						  .is_over = is_over,
						  .found = on_found,
						  .arg = s };

	r->passed = 0;
	r->until = ar_shim_mono() + SEARCH_MAX;
	if (search.workspace < 0 || ar_planted_find(&search))
		return true;
	if (r->passed > r->reported)
		return false;
	return write_violation(
		s, "leave unsearched",
		"a part of the workspace: it has too many files to look for planted repositories");
}
