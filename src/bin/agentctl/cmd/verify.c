/* `agentctl verify`: asks the daemon to replay logs and compare them with what it shows, page by page,
 * and prints what differs. What is compared and repaired is the daemon's. One thread. */
#include "pack/checkpoints.h"
#include "resolve.h"

#include <string.h>

#define PAGE 20
#define VERIFY_MS 600000L /* of one page: a long log takes its time */

enum option { OPTION_ALL, OPTION_REPAIR, OPTION_ACCEPT_LOSS, OPTION_CHECKPOINTS, OPTION_KEY };

/* What is asked for. */
struct request {
	struct ar_str session; /* absent: all */
	bool repair, accept_loss;
};

struct tally {
	uint64_t sessions, facts, clean, repaired, left, elsewhere;
};

/* ---- what is printed ---- */

static enum ar_style style_of(struct ar_str status)
{
	if (ar_str_is(status, "ok"))
		return AR_STYLE_GREEN;
	return ar_str_is(status, "repaired") ? AR_STYLE_YELLOW : AR_STYLE_RED;
}

static void print_member(struct ar_ctl *c, struct ar_json f, const char *name, const char *label)
{
	struct ar_str text = ar_api_str(f, name);

	if (ar_str_absent(text))
		return;
	ar_out_printf(&c->out, "  %s", label);
	ar_out_line(&c->out, text);
}

/* One line: session, verdict, what, where, and the two sides. */
static void print_finding(struct ar_ctl *c, struct ar_json session, struct ar_json f)
{
	bool is_repaired = false;
	struct ar_str status = ar_api_str(session, "status");

	if (ar_json_bool(ar_json_get(f, "repaired"), &is_repaired) && is_repaired)
		status = AR_STR("repaired");
	ar_out_line(&c->out, ar_api_str(session, "sessionId"));
	ar_out_printf(&c->out, "  ");
	ar_out_style(&c->out, style_of(status));
	ar_out_printf(&c->out, "%-8.*s", AR_STR_ARG(status));
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	print_member(c, f, "what", "");
	if (ar_api_int(f, "sequence") > 0)
		ar_out_printf(&c->out, "  at fact %lld", (long long)ar_api_int(f, "sequence"));
	print_member(c, f, "id", "");
	print_member(c, f, "message", "");
	print_member(c, f, "stored", "stored: ");
	print_member(c, f, "folded", "log says: ");
	ar_out_printf(&c->out, "\n");
}

static void print_session(struct ar_ctl *c, struct ar_json s)
{
	struct ar_json findings = ar_json_get(s, "findings");
	bool has_more = false;

	for (struct ar_json_iter it = ar_json_iter(findings); ar_json_next(&it);)
		print_finding(c, s, it.value);
	if (ar_str_is(ar_api_str(s, "status"), "failed"))
		print_finding(c, s, s);
	if (ar_json_bool(ar_json_get(s, "moreFindings"), &has_more) && has_more)
		ar_ctl_note(
			c,
			"there are more findings than are shown; verify that session again after --repair");
}

static void show_progress(struct ar_ctl *c, const struct tally *t)
{
	if (c->err.is_tty && !c->is_quiet)
		ar_out_printf(&c->err, "\r%llu sessions, %llu facts replayed ",
			      (unsigned long long)t->sessions, (unsigned long long)t->facts);
}

static void end_progress(struct ar_ctl *c)
{
	if (c->err.is_tty && !c->is_quiet)
		ar_out_printf(&c->err, "\r\033[K");
}

/* ---- asking ---- */

static void count(struct tally *t, struct ar_json s)
{
	struct ar_str status = ar_api_str(s, "status");

	t->sessions++;
	t->facts += (uint64_t)ar_api_int(s, "facts");
	if (ar_str_is(status, "ok"))
		t->clean++;
	else if (ar_str_is(status, "repaired"))
		t->repaired++;
	else
		t->left++;
}

static void take_page(struct ar_ctl *c, const struct ar_api_reply *reply, struct tally *t)
{
	struct ar_json sessions = ar_json_get(reply->doc, "sessions");

	t->elsewhere += (uint64_t)ar_api_int(reply->doc, "elsewhere");
	end_progress(c);
	for (struct ar_json_iter it = ar_json_iter(sessions); ar_json_next(&it);) {
		count(t, it.value);
		if (!c->is_json)
			print_session(c, it.value);
	}
	if (c->is_json)
		ar_api_print(c, reply);
	show_progress(c, t);
}

static struct ar_str body_of(struct ar_ctl *c, const struct request *request, struct ar_str cursor)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", request->session);
	ar_jw_mstr(&w, "cursor", cursor);
	ar_jw_mbool(&w, "repair", request->repair);
	if (request->accept_loss)
		ar_jw_mbool(&w, "acceptLoss", true);
	ar_jw_mint(&w, "limit", PAGE);
	ar_jw_close(&w);
	return ar_ctl_take_buf(c, &text);
}

/* Page after page; a single session is one page. */
static enum ar_exit walk(struct ar_ctl *c, const struct request *request, struct tally *t)
{
	struct ar_str cursor = AR_STR_NONE;
	enum ar_exit exit;

	do {
		struct ar_api_reply reply;

		exit = ar_api_call_within(c, "verify", body_of(c, request, cursor), VERIFY_MS, &reply);
		if (exit == AR_EXIT_OK) {
			take_page(c, &reply, t);
			cursor = ar_arena_str(&c->arena, ar_api_str(reply.doc, "nextCursor"));
		}
		ar_api_fini(&reply);
	} while (exit == AR_EXIT_OK && !ar_str_absent(cursor));
	end_progress(c);
	return exit;
}

static enum ar_exit sum_up(struct ar_ctl *c, const struct tally *t, bool repair)
{
	if (!c->is_json)
		ar_out_printf(&c->out,
			      "%llu verified, %llu facts: %llu ok, %llu repaired, %llu with findings\n",
			      (unsigned long long)t->sessions, (unsigned long long)t->facts,
			      (unsigned long long)t->clean, (unsigned long long)t->repaired,
			      (unsigned long long)t->left);
	if (t->elsewhere > 0)
		ar_ctl_note(c, "%llu belong to other nodes: run this on each of them",
			    (unsigned long long)t->elsewhere);
	if (t->left == 0)
		return AR_EXIT_OK;
	return ar_ctl_complain(c, AR_EXIT_FAILED,
			       repair ? AR_STR("restore the lost data from a backup; see docs/operate.md")
				      : AR_STR("agentctl verify --repair writes the data again from the log"),
			       "stored data differs from the log");
}

static enum ar_exit verify_checkpoints(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_str session = AR_STR_NONE;

	if (!a->values[OPTION_KEY])
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl verify --help"),
				       "--checkpoints needs --key: the public key that signed them");
	/* An id as it is: the session may be one that is gone. */
	if (a->count == 1 && strncmp(a->words[0], "sess_", 5) == 0)
		session = ar_str_from(a->words[0]);
	else if (a->count == 1 && ar_resolve_session(c, a->words[0], &session) != AR_EXIT_OK)
		return AR_EXIT_FAILED;
	return ar_checkpoints_verify(c, a->values[OPTION_CHECKPOINTS], a->values[OPTION_KEY], session);
}

static enum ar_exit verify(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	bool all = a->values[OPTION_ALL];
	struct request request = { .repair = a->values[OPTION_REPAIR],
				   .accept_loss = a->values[OPTION_ACCEPT_LOSS] };
	struct tally t = { 0 };
	enum ar_exit exit = AR_EXIT_OK;

	if (a->values[OPTION_CHECKPOINTS])
		return verify_checkpoints(c, a);
	if (all == (a->count == 1))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl verify --help"),
				       "verify needs a SESSION or --all");
	if (all && request.accept_loss)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl verify SESSION --accept-loss"),
				       "--accept-loss needs one session");
	if (!all)
		exit = ar_resolve_session(c, a->words[0], &request.session);
	if (exit == AR_EXIT_OK)
		exit = walk(c, &request, &t);
	return exit == AR_EXIT_OK ? sum_up(c, &t, request.repair || request.accept_loss) : exit;
}

const struct ar_ctl_command ar_cmd_verify = {
	.name = "verify",
	.synopsis = "SESSION | --all | --checkpoints FILE",
	.summary = "replay logs and compare the stored data with them",
	.text = "Replays the whole log of a session and compares the result with the stored snapshot, index "
		"rows, tasks\n"
		"and blobs. Prints one line per finding. The session can be used in the meantime.\n"
		"--repair writes data that differs again from the log and records it (snapshot.repaired).\n"
		"A gap in the log (corrupt) and lost blobs are always reported; such a session answers "
		"storage_corrupt.\n"
		"If only the end of its log is lost, --accept-loss lets it continue from what is left: the "
		"log records\n"
		"it, and new facts use the lost sequences again. Look for them in a backup first.\n"
		"--checkpoints compares logs with what agentd signed and wrote elsewhere "
		"(evidence.checkpoint_file): a fact\n"
		"that was changed, dropped or put elsewhere since then is named. Give SESSION for one, "
		"nothing for all.\n"
		"Exits with 0 if there are no findings left, 1 otherwise.",
	.examples = "agentctl verify last\n"
		    "agentctl verify --all\n"
		    "agentctl verify --all --repair\n"
		    "agentctl verify --checkpoints /backup/checkpoints.ndjson --key /backup/evidence.pem\n"
		    "agentctl verify --all --json | jq '.sessions[] | select(.status != \"ok\")'",
	.min = 0,
	.max = 1,
	.options = { [OPTION_ALL] = { "all", NULL, "every session of this node, newest first" },
		     [OPTION_REPAIR] = { "repair", NULL, "write data that differs again from the log" },
		     [OPTION_ACCEPT_LOSS] = { "accept-loss", NULL, "continue without the lost end of a log" },
		     [OPTION_CHECKPOINTS] = { "checkpoints", "FILE", "compare logs with these checkpoints" },
		     [OPTION_KEY] = { "key", "FILE", "the public key (PEM) that signed them" } },
	.run = verify,
};
