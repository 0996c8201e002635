/* Decides when the process has to end and takes it through the stages: interrupt, terminate, kill. Every
 * stage has a deadline, so that nothing a command does with its signals keeps it alive; what is written about
 * the end is seal.c. */
#include "termination.h"
#include "clock.h"
#include "seal.h"
#include "shim.h"
#include "signals.h"
#include "tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN_GRACE_MS 1000 /* of a timeout, a full disk, a shutdown */
#define GRACE_MAX_MS (24ull * 3600 * 1000)
#define SETTLE (100 * AR_SHIM_MS) /* descendants that end by themselves in this time are no leftovers */
#define KILL_PAUSE (50 * AR_SHIM_MS)
#define KILL_LIMIT (10000 * AR_SHIM_MS)
#define DRAIN_LIMIT (1000 * AR_SHIM_MS) /* somebody outside holds the other end of a stream */
#define FULL_LIMIT (30000 * AR_SHIM_MS) /* with a full disk it is ended */
#define FULL_LIMIT_GONE \
	(5000 * AR_SHIM_MS) /* and when it has ended, nobody waits longer for its last output */

static const char *const authors[] = {
	"user", "policy", "parent_cancellation", "shutdown", "timeout", "limit"
};

static const char *author_of(struct ar_piece json)
{
	struct ar_piece by = { 0 };

	ar_json_member(json, "by", &by);
	for (size_t i = 0; i < sizeof(authors) / sizeof(authors[0]); i++) {
		if (ar_piece_is(by, authors[i]))
			return authors[i];
	}
	return "user";
}

static void write_signalled(struct ar_shim *s, int number, const char *by, const char *reason)
{
	ar_journal_file_addf(&s->journal, AR_RECORD_SIGNALLED,
			     "{\"signal\":\"%s\",\"by\":\"%s\",\"reason\":\"%s\"}", ar_signal_name(number),
			     by, reason);
}

/* On a terminal the foreground group is the terminal's to know; otherwise it is the command's own. */
static void signal_foreground(struct ar_shim *s, int number)
{
	int tty = s->streams.at[AR_STREAM_TTY].fd;
	pid_t group = 0;

	if (tty >= 0 && ioctl(tty, TIOCSIG, number) == 0)
		return;
	if (tty >= 0 && ioctl(tty, TIOCGPGRP, &group) == 0 && group > 1 && kill(-group, number) == 0)
		return;
	ar_start_signal(s, number);
}

void ar_termination_arm_setup(struct ar_shim *s)
{
	s->termination.barrier_at = ar_shim_mono() + s->options.barrier_ms * AR_SHIM_MS;
}

void ar_termination_arm_barrier(struct ar_shim *s)
{
	ar_termination_arm_setup(s);
}

void ar_termination_arm_timeout(struct ar_shim *s)
{
	s->termination.barrier_at = 0;
	if (s->options.timeout_ms > 0)
		s->termination.timeout_at = s->init.released_at + s->options.timeout_ms * AR_SHIM_MS;
	ar_limits_begin(s);
}

static void set_failed(struct ar_shim *s)
{
	s->termination.has_failed = true;
	s->termination.barrier_at = 0;
	s->termination.settle_at = ar_shim_mono();
}

void ar_termination_fail(struct ar_shim *s, const char *step, int error, const char *message)
{
	struct ar_termination *e = &s->termination;

	if (e->has_failed)
		return;
	snprintf(e->failure, sizeof(e->failure), "{\"step\":\"%s\",\"errno\":%d,\"message\":\"%s\"}", step,
		 error, message);
	set_failed(s);
}

void ar_termination_fail_json(struct ar_shim *s, struct ar_piece json)
{
	struct ar_termination *e = &s->termination;

	if (e->has_failed || s->init.has_exit)
		return;
	if (json.len >= sizeof(e->failure)) {
		ar_termination_fail(s, "init", 0, "agent-init failed with a message that is too long");
		return;
	}
	memcpy(e->failure, json.p, json.len);
	e->failure[json.len] = '\0';
	set_failed(s);
}

static void kill_now(struct ar_shim *s)
{
	struct ar_termination *e = &s->termination;
	uint64_t now = ar_shim_mono();

	if (!e->is_counted && !e->has_failed && !s->init.is_empty) {
		uint64_t living = ar_tree_count(s->init.first);

		/* The command itself is no leftover. */
		e->leftovers = living - (living > 0 && !s->init.has_exit);
	}
	e->is_counted = true;
	if (e->give_up_at == 0)
		e->give_up_at = now + KILL_LIMIT;
	ar_tree_kill(s);
	e->kill_at = now + KILL_PAUSE;
}

static void enter_stage(struct ar_shim *s, enum ar_termination_stage stage)
{
	struct ar_termination *e = &s->termination;
	static const int signals[] = { 0, SIGINT, SIGTERM, SIGKILL };

	e->stage = stage;
	e->next_at = stage < AR_TERMINATION_KILLED ? ar_shim_mono() + e->grace : 0;
	write_signalled(s, signals[stage], e->by, e->reason);
	if (stage == AR_TERMINATION_KILLED) {
		kill_now(s);
		return;
	}
	signal_foreground(s, signals[stage]);
	/* A stopped process gets no signal until it continues. */
	if (stage == AR_TERMINATION_TERMINATED)
		ar_start_signal(s, SIGCONT);
}

static void shorten_grace(struct ar_termination *e, uint64_t grace)
{
	uint64_t at = ar_shim_mono() + grace;

	if (grace >= e->grace)
		return;
	e->grace = grace;
	if (e->next_at > at)
		e->next_at = at;
}

static void begin_stages(struct ar_shim *s, const char *by, struct ar_piece reason, uint64_t grace_ms)
{
	struct ar_termination *e = &s->termination;
	uint64_t grace = grace_ms * AR_SHIM_MS;

	if (!s->init.is_released) {
		ar_termination_fail(s, "barrier", 0, "it was ended before it was started");
		return;
	}
	if (e->stage != AR_TERMINATION_NONE) {
		shorten_grace(e, grace);
		return;
	}
	snprintf(e->by, sizeof(e->by), "%s", by);
	/* Too long to keep: not cut, the cut could fall into an escape. */
	if (reason.len < sizeof(e->reason))
		snprintf(e->reason, sizeof(e->reason), "%.*s", (int)reason.len, reason.p);
	e->grace = grace;
	enter_stage(s, grace > 0 ? AR_TERMINATION_INTERRUPTED : AR_TERMINATION_KILLED);
}

void ar_termination_request(struct ar_shim *s, struct ar_piece json)
{
	struct ar_piece reason = { "", 0 };
	uint64_t grace_ms = ar_json_number(json, "graceMs", OWN_GRACE_MS);

	ar_json_member(json, "reason", &reason);
	begin_stages(s, author_of(json), reason, grace_ms < GRACE_MAX_MS ? grace_ms : GRACE_MAX_MS);
}

static void begin_by_itself(struct ar_shim *s, const char *by, const char *reason)
{
	begin_stages(s, by, (struct ar_piece){ reason, strlen(reason) }, OWN_GRACE_MS);
}

void ar_termination_shut_down(struct ar_shim *s)
{
	begin_by_itself(s, "shutdown", "agent-shim was asked to end");
}

void ar_termination_signal(struct ar_shim *s, struct ar_piece json)
{
	struct ar_piece name = { "", 0 }, reason = { "", 0 };
	char text[1024];
	int number;

	ar_json_member(json, "signal", &name);
	ar_json_member(json, "reason", &reason);
	number = ar_signal_number(name);
	if (number == 0 || !s->init.is_released || reason.len >= sizeof(text))
		return;
	snprintf(text, sizeof(text), "%.*s", (int)reason.len, reason.p);
	write_signalled(s, number, author_of(json), text);
	signal_foreground(s, number);
}

void ar_termination_command_ended(struct ar_shim *s)
{
	struct ar_termination *e = &s->termination;

	e->exit_by = e->stage == AR_TERMINATION_NONE ? "itself" : e->by;
	e->timeout_at = s->options.keeps_leftovers ? e->timeout_at : 0;
	if (!s->options.keeps_leftovers)
		e->settle_at = ar_shim_mono() + SETTLE;
}

static void reap_children(struct ar_shim *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == s->init.pid) {
			s->init.pid = 0;
			s->init.status = status;
		}
	}
	if (pid == 0 || errno != ECHILD || s->termination.is_gone)
		return;
	s->termination.is_gone = true;
	s->termination.drain_until = ar_shim_mono() + DRAIN_LIMIT;
	ar_start_read(s);
	ar_stdin_close(&s->input);
}

/* agent-init went without a word before anything was let go. */
static void check_early_end(struct ar_shim *s)
{
	if (s->termination.is_gone && !s->init.is_released && !s->termination.has_failed)
		ar_termination_fail(s, "init", 0, "agent-init ended before it was ready");
	/* It holds the namespace together: what is left behind it has nobody. */
	if (s->init.pid == 0 && !s->termination.is_gone && s->termination.settle_at == 0)
		s->termination.settle_at = ar_shim_mono();
}

static bool is_due(uint64_t at, uint64_t now)
{
	return at > 0 && at <= now;
}

static void watch_disk(struct ar_shim *s, uint64_t now)
{
	struct ar_termination *e = &s->termination;

	if (!s->journal.is_full) {
		e->full_since = 0;
		return;
	}
	if (e->full_since == 0)
		e->full_since = now;
	if (now - e->full_since < (e->is_gone ? FULL_LIMIT_GONE : FULL_LIMIT))
		return;
	ar_streams_stop_keeping(s);
	if (e->is_gone)
		return;
	if (e->stage == AR_TERMINATION_NONE)
		ar_journal_file_addf(&s->journal, AR_RECORD_LIMIT, "{\"kind\":\"output\",\"count\":1}");
	begin_by_itself(s, "limit", "the disk is full, its output cannot be kept");
}

static void check_deadlines(struct ar_shim *s)
{
	struct ar_termination *e = &s->termination;
	uint64_t now = ar_shim_mono();

	if (is_due(e->barrier_at, now))
		ar_termination_fail(s, s->init.is_ready ? "barrier" : "setup", ETIMEDOUT,
				    s->init.is_ready ? "agentd did not start it in time"
						     : "agent-init was not ready in time");
	if (is_due(e->timeout_at, now)) {
		e->timeout_at = 0;
		ar_journal_file_addf(&s->journal, AR_RECORD_LIMIT, "{\"kind\":\"timeout\",\"count\":1}");
		begin_by_itself(s, "timeout", "its time limit has passed");
	}
	if (is_due(e->next_at, now))
		enter_stage(s, e->stage + 1);
	if (is_due(e->settle_at, now) || is_due(e->kill_at, now)) {
		e->settle_at = 0;
		kill_now(s);
	}
	watch_disk(s, now);
}

static bool is_drained(struct ar_shim *s)
{
	struct ar_termination *e = &s->termination;

	if (!e->is_gone)
		return is_due(e->give_up_at, ar_shim_mono());
	if (ar_streams_drain(s))
		return true;
	if (!is_due(e->drain_until, ar_shim_mono()) || s->journal.is_full)
		return false;
	ar_streams_close(&s->streams);
	return true;
}

void ar_termination_step(struct ar_shim *s)
{
	struct ar_termination *e = &s->termination;

	if (e->step == 0) {
		reap_children(s);
		check_early_end(s);
		if (!e->is_gone)
			check_deadlines(s);
		else
			watch_disk(s, ar_shim_mono());
		if (!is_drained(s))
			return;
	}
	ar_seal_step(s);
}

void ar_termination_watch(struct ar_shim *s, struct ar_loop *l)
{
	const struct ar_termination *e = &s->termination;

	if (!e->is_gone) {
		ar_loop_until(l, e->barrier_at);
		ar_loop_until(l, e->timeout_at);
		ar_loop_until(l, e->next_at);
		ar_loop_until(l, e->settle_at);
		ar_loop_until(l, e->kill_at);
		return;
	}
	/* What is left is the rest of the output, or a disk that has to get room. */
	ar_loop_until(l, ar_shim_mono() + (s->journal.is_full ? 250 : 10) * AR_SHIM_MS);
}
