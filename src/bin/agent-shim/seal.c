/* Writes the last records of a journal, each once, in the order that readers rely on: a reader of EXIT
 * has all output, a reader of SEALED has all that there will ever be. When nobody knows how the command
 * ended, there is no EXIT and no seal. */
#include "seal.h"
#include "clock.h"
#include "shim.h"
#include "signals.h"
#include "tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

static bool has_run(const struct ar_shim *s)
{
	return s->init.is_released && !s->termination.has_failed;
}

static bool write_tail(struct ar_shim *s)
{
	return ar_streams_write_tail(s, s->termination.has_failed || s->termination.full_since > 0);
}

static bool write_violations(struct ar_shim *s)
{
	return ar_notify_finish(s);
}

static bool write_missing(struct ar_shim *s)
{
	return ar_missing_paths_finish(s);
}

static bool write_repositories(struct ar_shim *s)
{
	return ar_repositories_finish(s);
}

static bool write_limits(struct ar_shim *s)
{
	return ar_limits_finish(s);
}

static bool write_leftovers(struct ar_shim *s)
{
	uint64_t alive = s->termination.is_gone ? 0 : ar_tree_count(s->init.first);

	if (s->termination.leftovers == 0 && alive == 0)
		return true;
	return ar_journal_file_addf(&s->journal, AR_RECORD_LEFTOVERS, "{\"count\":%llu,\"alive\":%llu}",
				    (unsigned long long)s->termination.leftovers, (unsigned long long)alive);
}

static bool write_sums(struct ar_shim *s)
{
	const struct ar_stream *at = s->streams.at;

	return ar_journal_file_addf(&s->journal, AR_RECORD_OUTPUT_END,
				    "{\"stdout\":%llu,\"stderr\":%llu,\"tty\":%llu}",
				    (unsigned long long)at[AR_STREAM_STDOUT].total,
				    (unsigned long long)at[AR_STREAM_STDERR].total,
				    (unsigned long long)at[AR_STREAM_TTY].total);
}

/* Everything was killed before agent-init could tell: then it is known how the command ended, and by whom. */
static void conclude_kill(struct ar_shim *s)
{
	if (s->termination.exit_by)
		return;
	if (s->termination.stage != AR_TERMINATION_NONE)
		s->termination.exit_by = s->termination.by;
	else if (s->limits.hits[AR_LIMIT_MEMORY] > 0)
		s->termination.exit_by = "limit";
	if (s->termination.exit_by)
		s->init.exit_signal = SIGKILL;
}

/* The kind of limit that ended it, or NULL. */
static const char *limit_of(struct ar_shim *s)
{
	if (s->init.exit_signal == SIGKILL && s->limits.hits[AR_LIMIT_MEMORY] > 0 &&
	    s->termination.stage == AR_TERMINATION_NONE)
		return "memory";
	if (s->init.exit_signal == SIGXFSZ)
		return "file_size";
	return NULL;
}

static bool write_file_size(struct ar_shim *s)
{
	if (s->init.exit_signal != SIGXFSZ)
		return true;
	return ar_journal_file_addf(&s->journal, AR_RECORD_LIMIT,
				    "{\"kind\":\"file_size\",\"count\":1,\"evidence\":\"kernel-limit\"}");
}

static bool write_exit(struct ar_shim *s)
{
	const struct ar_init_child *c = &s->init;
	uint64_t end = c->exited_at ? c->exited_at : ar_shim_mono();
	char how[64];

	conclude_kill(s);
	if (!s->termination.exit_by)
		return true;
	if (limit_of(s))
		s->termination.exit_by = "limit";
	if (c->exit_signal)
		snprintf(how, sizeof(how), "\"signal\":\"%s\"", ar_signal_name(c->exit_signal));
	else
		snprintf(how, sizeof(how), "\"code\":%d", c->exit_code);
	return ar_journal_file_addf(
		&s->journal, AR_RECORD_EXIT,
		"{%s,\"by\":\"%s\",\"limit\":%s%s%s,\"durationMs\":%llu,\"userMs\":%llu,\"systemMs\":%llu,"
		"\"maxRssKb\":%llu}",
		how, s->termination.exit_by, limit_of(s) ? "\"" : "", limit_of(s) ? limit_of(s) : "null",
		limit_of(s) ? "\"" : "", (unsigned long long)((end - c->released_at) / AR_SHIM_MS),
		(unsigned long long)c->user_ms, (unsigned long long)c->system_ms,
		(unsigned long long)c->max_rss_kb);
}

static bool write_failure(struct ar_shim *s)
{
	return !s->termination.has_failed ||
	       ar_journal_file_addf(&s->journal, AR_RECORD_SPAWN_FAILED, "%s", s->termination.failure);
}

static bool sync_all(struct ar_shim *s)
{
	return ar_journal_file_sync(&s->journal) || errno != EINTR;
}

static bool write_sealed(struct ar_shim *s)
{
	if (!s->termination.has_failed && !s->termination.exit_by)
		return true;
	return ar_journal_file_addf(&s->journal, AR_RECORD_SEALED, "{}");
}

static const struct {
	bool (*write)(struct ar_shim *s);
	bool only_if_run; /* it was let go and ran */
} steps[] = {
	{ write_tail, true },	      { write_violations, false }, { write_missing, true },
	{ write_repositories, true }, { write_limits, true },	   { write_file_size, true },
	{ write_leftovers, true },    { write_sums, true },	   { write_exit, true },
	{ write_failure, false },     { sync_all, false },	   { write_sealed, false },
};

void ar_seal_step(struct ar_shim *s)
{
	struct ar_termination *e = &s->termination;

	for (; e->step < sizeof(steps) / sizeof(steps[0]); e->step++) {
		if (steps[e->step].only_if_run && !has_run(s))
			continue;
		if (!steps[e->step].write(s))
			return;
	}
	ar_journal_file_trim(&s->journal);
	e->is_over = true;
}
