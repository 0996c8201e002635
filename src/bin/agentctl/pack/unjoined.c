/* See unjoined.h. One pass, line by line; of each id that a fact introduces 16 bytes are kept. */
#include "pack/unjoined.h"
#include "crypto/id_set.h"
#include "describe.h"
#include "io/descriptor.h"
#include "joins.h"
#include "pack/lines.h"

#include <fcntl.h>

#define NAMED_MAX 20
#define IDS_MAX ((size_t)4000000) /* 128 MiB, half as much again while the set grows */

struct unjoined {
	struct ar_ctl *c;
	struct ar_str session; /* of the pack */
	enum ar_pack_extent judged;
	struct ar_id_set known; /* ids that were introduced, each with its scope */
	struct ar_sha256 sha;
	int64_t sequence; /* of the fact at hand */
	struct ar_str type, time;
	uint64_t facts, found; /* that were read; findings about them */
	struct ar_arena scratch; /* for one fact */
};

static void add_finding(struct unjoined *u, struct ar_str what)
{
	if (u->found++ < NAMED_MAX)
		ar_ctl_complain(u->c, AR_EXIT_FAILED, AR_STR_NONE, "fact %lld (%.*s): %.*s",
				(long long)u->sequence, AR_STR_ARG(u->type), AR_STR_ARG(what));
}

/* An id that the facts from here on carry may have been introduced all the same. */
static void give_up(struct unjoined *u, const char *why)
{
	if (u->judged != AR_EXTENT_PART)
		ar_ctl_note(u->c, "ids are not judged from fact %lld (%.*s) on: %s", (long long)u->sequence,
			    AR_STR_ARG(u->type), why);
	u->judged = AR_EXTENT_PART;
}

/* Of an id that facts of the time at hand alone may carry (`is_ahead`), or all. */
static struct ar_hash key_of(struct unjoined *u, int scope, struct ar_str id, bool is_ahead)
{
	const char words[] = { (char)scope, (char)is_ahead };

	ar_sha256_add(&u->sha, (struct ar_str){ words, sizeof(words) });
	ar_sha256_add(&u->sha, id);
	if (is_ahead)
		ar_sha256_add(&u->sha, u->time);
	return ar_sha256_end(&u->sha);
}

static void keep_id(void *arg, const struct ar_join *j)
{
	struct unjoined *u = arg;
	struct ar_hash key = key_of(u, (int)j->scope, j->id, j->is_ahead);

	if (ar_id_set_add(&u->known, &key, IDS_MAX) == AR_ID_FULL)
		give_up(u, "there are too many ids before it");
}

static bool is_known(struct unjoined *u, int scope, struct ar_str id)
{
	struct ar_hash key = key_of(u, scope, id, false), ahead;

	if (ar_id_set_has(&u->known, &key))
		return true;
	ahead = key_of(u, scope, id, true);
	return ar_id_set_has(&u->known, &ahead);
}

static void judge_id(void *arg, const struct ar_join *j)
{
	const struct ar_scope_desc *d = &ar_scope_descs[j->scope];
	struct unjoined *u = arg;

	if (u->judged == AR_EXTENT_SESSION || (u->judged == AR_EXTENT_TURN && d->is_within_turn)) {
		if (!is_known(u, d->of, j->id))
			add_finding(u, ar_arena_fmt(&u->scratch, "%s %.*s joins nothing",
						    ar_scope_names[j->scope], AR_STR_ARG(j->id)));
	}
}

static void judge_fact(struct unjoined *u, struct ar_json fact)
{
	const struct ar_event_desc *d;
	const char *lacking;

	u->type = ar_api_str(fact, "type");
	u->time = ar_api_str(fact, "timestamp");
	u->sequence = ar_api_int(fact, "sequence");
	d = ar_event_find(u->type);
	if (!d) {
		give_up(u, "this agentctl does not know its type");
		return;
	}
	if (!ar_str_eq(ar_api_str(fact, "sessionId"), u->session))
		add_finding(u, AR_STR("its sessionId is not that of the pack"));
	lacking = ar_joins_lacking(d, fact);
	if (lacking)
		add_finding(u, ar_arena_fmt(&u->scratch, "it has no %s", lacking));
	if (u->judged == AR_EXTENT_PART)
		return;
	ar_joins_introduced(d, fact, keep_id, u);
	ar_joins_carried(fact, judge_id, u);
}

static void judge_facts(struct unjoined *u, int folder)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_pack_lines events;
	struct ar_str line;
	struct ar_json fact;

	if (ar_pack_lines_open(&events, folder, "events.ndjson")) {
		while (ar_pack_lines_next(&events, &line) &&
		       ar_json_parse(json, line, &fact, NULL) == AR_OK) {
			judge_fact(u, fact);
			u->facts++;
			ar_arena_reset(&u->scratch);
		}
	}
	ar_pack_lines_close(&events);
	ar_json_parser_free(json);
}

enum ar_exit ar_pack_unjoined(struct ar_ctl *c, const char *path, const struct ar_pack_checked *pack,
			      enum ar_pack_extent *ret_judged)
{
	AR_AUTO(ar_fd_close) int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct unjoined u = { .c = c, .session = pack->session, .judged = pack->extent };

	judge_facts(&u, folder);
	ar_id_set_fini(&u.known);
	ar_sha256_fini(&u.sha);
	ar_arena_fini(&u.scratch);
	*ret_judged = u.judged;
	if (u.facts != pack->facts)
		return ar_ctl_complain(
			c, AR_EXIT_FAILED, AR_STR_NONE,
			"events.ndjson: %llu facts can be read, but the statement says that it has %llu",
			(unsigned long long)u.facts, (unsigned long long)pack->facts);
	if (u.found == 0)
		return AR_EXIT_OK;
	return ar_ctl_complain(
		c, AR_EXIT_FAILED,
		AR_STR("compare with an earlier pack or with checkpoints, see docs/evidence.md; if "
		       "they agree, agentd recorded it so: report that"),
		"%llu ids of facts are missing or join nothing%s", (unsigned long long)u.found,
		u.found > NAMED_MAX ? "; the first are named above" : "");
}
