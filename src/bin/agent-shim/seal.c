/* Writes what is said when everything is over, each record once, in the order that readers rely on: whoever sees EXIT has all output, whoever
 * sees SEALED has all that there will ever be. When nobody knows how the command ended, there is no EXIT and no seal. */
#include "seal.h"
#include "clock.h"
#include "shim.h"
#include "signals.h"
#include "tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

static bool is_told(const struct ar_shim *s)
{
	return s->init.is_released && !s->ending.has_failed;
}

static bool say_tail(struct ar_shim *s)
{
	return ar_streams_write_tail(s, s->ending.has_failed || s->ending.full_since > 0);
}

static bool say_violations(struct ar_shim *s)
{
	return ar_notify_finish(s);
}

static bool say_missing(struct ar_shim *s)
{
	return ar_missing_finish(s);
}

static bool say_repositories(struct ar_shim *s)
{
	return ar_repositories_finish(s);
}

static bool say_limits(struct ar_shim *s)
{
	return ar_limits_finish(s);
}

static bool say_leftovers(struct ar_shim *s)
{
	uint64_t alive = s->ending.is_gone ? 0 : ar_tree_count(s->init.first);

	if (s->ending.leftovers == 0 && alive == 0)
		return true;
	return ar_journal_file_say(&s->journal, AR_RECORD_LEFTOVERS, "{\"count\":%llu,\"alive\":%llu}",
				   (unsigned long long)s->ending.leftovers, (unsigned long long)alive);
}

static bool say_sums(struct ar_shim *s)
{
	const struct ar_stream *at = s->streams.at;

	return ar_journal_file_say(&s->journal, AR_RECORD_OUTPUT_END,
				   "{\"stdout\":%llu,\"stderr\":%llu,\"tty\":%llu}",
				   (unsigned long long)at[AR_STREAM_STDOUT].total,
				   (unsigned long long)at[AR_STREAM_STDERR].total,
				   (unsigned long long)at[AR_STREAM_TTY].total);
}

/* Everything was killed before agent-init could tell: then it is known how the command ended, and by whom. */
static void conclude_kill(struct ar_shim *s)
{
	if (s->ending.exit_by)
		return;
	if (s->ending.stage != AR_ENDING_NONE)
		s->ending.exit_by = s->ending.by;
	else if (s->limits.hits[AR_LIMIT_MEMORY] > 0)
		s->ending.exit_by = "limit";
	if (s->ending.exit_by)
		s->init.exit_signal = SIGKILL;
}

/* The kind of limit that ended it, or NULL. */
static const char *limit_of(struct ar_shim *s)
{
	if (s->init.exit_signal == SIGKILL && s->limits.hits[AR_LIMIT_MEMORY] > 0 &&
	    s->ending.stage == AR_ENDING_NONE)
		return "memory";
	if (s->init.exit_signal == SIGXFSZ)
		return "file_size";
	return NULL;
}

static bool say_file_size(struct ar_shim *s)
{
	if (s->init.exit_signal != SIGXFSZ)
		return true;
	return ar_journal_file_say(&s->journal, AR_RECORD_LIMIT,
				   "{\"kind\":\"file_size\",\"count\":1,\"evidence\":\"kernel-limit\"}");
}

static bool say_exit(struct ar_shim *s)
{
	const struct ar_init_child *c = &s->init;
	uint64_t end = c->exited_at ? c->exited_at : ar_shim_mono();
	char how[64];

	conclude_kill(s);
	if (!s->ending.exit_by)
		return true;
	if (limit_of(s))
		s->ending.exit_by = "limit";
	if (c->exit_signal)
		snprintf(how, sizeof(how), "\"signal\":\"%s\"", ar_signal_name(c->exit_signal));
	else
		snprintf(how, sizeof(how), "\"code\":%d", c->exit_code);
	return ar_journal_file_say(
		&s->journal, AR_RECORD_EXIT,
		"{%s,\"by\":\"%s\",\"limit\":%s%s%s,\"durationMs\":%llu,\"userMs\":%llu,\"systemMs\":%llu,"
		"\"maxRssKb\":%llu}",
		how, s->ending.exit_by, limit_of(s) ? "\"" : "", limit_of(s) ? limit_of(s) : "null",
		limit_of(s) ? "\"" : "", (unsigned long long)((end - c->released_at) / AR_SHIM_MS),
		(unsigned long long)c->user_ms, (unsigned long long)c->system_ms,
		(unsigned long long)c->max_rss_kb);
}

static bool say_failure(struct ar_shim *s)
{
	return !s->ending.has_failed ||
	       ar_journal_file_say(&s->journal, AR_RECORD_SPAWN_FAILED, "%s", s->ending.failure);
}

static bool sync_all(struct ar_shim *s)
{
	return ar_journal_file_sync(&s->journal) || errno != EINTR;
}

static bool say_sealed(struct ar_shim *s)
{
	if (!s->ending.has_failed && !s->ending.exit_by)
		return true;
	return ar_journal_file_say(&s->journal, AR_RECORD_SEALED, "{}");
}

static const struct {
	bool (*say)(struct ar_shim *s);
	bool only_when_told; /* it was let go and ran */
} steps[] = {
	{ say_tail, true },   { say_violations, false }, { say_missing, true },	  { say_repositories, true },
	{ say_limits, true }, { say_file_size, true },	 { say_leftovers, true }, { say_sums, true },
	{ say_exit, true },   { say_failure, false },	 { sync_all, false },	  { say_sealed, false },
};

void ar_seal_step(struct ar_shim *s)
{
	struct ar_ending *e = &s->ending;

	for (; e->step < sizeof(steps) / sizeof(steps[0]); e->step++) {
		if (steps[e->step].only_when_told && !is_told(s))
			continue;
		if (!steps[e->step].say(s))
			return;
	}
	ar_journal_file_give_back(&s->journal);
	e->is_over = true;
}
