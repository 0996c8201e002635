/* `agentctl pack` and `agentctl verify-pack`. */
#include "pack/checkpoints.h"
#include "pack/unjoined.h"
#include "resolve.h"

#include <fcntl.h>

#define EXPORT_MS 3600000L /* a long log takes its time */

enum { OPT_OUT, OPT_TURN, OPT_TASK, OPT_SEQUENCE, OPT_WITHOUT };
enum { OPT_KEY, OPT_CHECKPOINTS };

static struct ar_str body_of(struct ar_ctl *c, const struct ar_ctl_args *a, struct ar_str session)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", session);
	ar_jw_mstr(&w, "turnId", ar_str_from(a->values[OPT_TURN]));
	ar_jw_mstr(&w, "taskId", ar_str_from(a->values[OPT_TASK]));
	if (a->values[OPT_SEQUENCE])
		ar_jw_mraw(&w, "sequence", ar_str_from(a->values[OPT_SEQUENCE]));
	if (a->values[OPT_WITHOUT])
		ar_jw_mstr(&w, "redactionPolicy", AR_STR("without_contents"));
	ar_jw_close(&w);
	return ar_ctl_take_buf(c, &body);
}

static void print_gaps(struct ar_ctl *c, struct ar_json gaps)
{
	for (struct ar_json_iter it = ar_json_iter(gaps); ar_json_next(&it);)
		ar_ctl_note(c, "not in the pack: %.*s: %.*s", AR_STR_ARG(ar_api_str(it.value, "part")),
			    AR_STR_ARG(ar_api_str(it.value, "reason")));
}

static enum ar_exit run_pack(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	uint64_t sequence;
	struct ar_api_reply reply;
	struct ar_str session, ref;
	enum ar_exit exit;
	const char *folder;

	if (a->values[OPT_SEQUENCE] && !ar_str_to_u64(ar_str_from(a->values[OPT_SEQUENCE]), &sequence))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE, "--sequence is a number");
	exit = ar_resolve_session(c, a->words[0], &session);
	if (exit != AR_EXIT_OK)
		return exit;
	folder = a->values[OPT_OUT] ? a->values[OPT_OUT]
				    : ar_arena_fmt(&c->arena, "evidence-%.*s", AR_STR_ARG(session)).p;
	ar_ctl_note(c, "the daemon reads the log of %.*s", AR_STR_ARG(session));
	exit = ar_api_call_within(c, "export_evidence", body_of(c, a, session), EXPORT_MS, &reply);
	if (exit == AR_EXIT_OK) {
		ref = ar_arena_str(&c->arena, ar_api_str(reply.doc, "packRef"));
		print_gaps(c, ar_json_get(reply.doc, "knownGaps"));
		if (c->is_json)
			ar_api_print(c, &reply);
		exit = ar_pack_download(c, ref, folder);
	}
	ar_api_fini(&reply);
	if (exit == AR_EXIT_OK && !c->is_json)
		ar_out_printf(&c->out, "%s\n", folder);
	return exit;
}

const struct ar_ctl_command ar_cmd_pack = {
	.name = "pack",
	.synopsis = "SESSION",
	.summary = "write signed evidence of a session into a folder",
	.text = "Exports the facts of a session with the contents that they name, digests of all of it and "
		"a\n"
		"signature, and downloads it. A download that was cut goes on when the command is repeated "
		"with\n"
		"the same --sequence. What is missing is said. docs/evidence.md describes the files.",
	.examples = "agentctl pack last --out /tmp/evidence\n"
		    "agentctl verify-pack /tmp/evidence",
	.min = 1,
	.max = 1,
	.options = { [OPT_OUT] = { "out", "DIR", "the folder; without it evidence-SESSION, here" },
		     [OPT_TURN] = { "turn", "ID", "only this turn" },
		     [OPT_TASK] = { "task", "ID", "only this task" },
		     [OPT_SEQUENCE] = { "sequence", "N", "the session as it was at this fact" },
		     [OPT_WITHOUT] = { "without-contents", NULL, "facts and digests, no contents" } },
	.run = run_pack,
};

/* Which ids were judged, and join. */
static const struct {
	const char *word, *line;
} joined[] = {
	[AR_EXTENT_SESSION] = { "session", "each joins a fact" },
	[AR_EXTENT_TURN] = { "turn",
			     "those of calls and steps of the turn join a fact; of others it cannot say" },
	[AR_EXTENT_PART] = { "none", "whether each joins a fact cannot be said of this pack" },
};

static void print_checked(struct ar_ctl *c, const struct ar_pack_checked *p, enum ar_pack_extent judged)
{
	if (c->is_json) {
		ar_out_printf(
			&c->out,
			"{\"sessionId\":\"%.*s\",\"facts\":%llu,\"treeSize\":%llu,\"treeRoot\":\"%.*s\","
			"\"keyFingerprint\":\"%.*s\",\"files\":%llu,\"knownGaps\":%llu,\"joined\":\"%s\"}\n",
			AR_STR_ARG(p->session), (unsigned long long)p->facts, (unsigned long long)p->size,
			AR_STR_ARG(p->root), AR_STR_ARG(p->fingerprint), (unsigned long long)p->files,
			(unsigned long long)p->gaps, joined[judged].word);
		return;
	}
	ar_out_printf(&c->out, "ok: %llu facts and %llu files of ", (unsigned long long)p->facts,
		      (unsigned long long)p->files);
	ar_out_line(&c->out, p->session);
	ar_out_printf(&c->out, "\ntree: %llu facts, root %.*s\nsigned by: %.*s\nids: %s\n",
		      (unsigned long long)p->size, AR_STR_ARG(p->root), AR_STR_ARG(p->fingerprint),
		      joined[judged].line);
	if (p->gaps > 0)
		ar_out_printf(&c->out, "known gaps: %llu (summary.json)\n", (unsigned long long)p->gaps);
}

static enum ar_exit compare(struct ar_ctl *c, const struct ar_ctl_args *a, struct ar_str key,
			    const struct ar_pack_checked *p)
{
	struct ar_pack_checked earlier;
	enum ar_exit exit = ar_pack_check(c, a->words[1], key, &earlier);

	if (exit != AR_EXIT_OK)
		return exit;
	if (!ar_str_eq(earlier.session, p->session) || earlier.size > p->size)
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("name the later pack first"),
				       "the second pack is not an earlier one of the same session");
	return ar_pack_compare(c, a->words[0], &earlier);
}

static enum ar_exit run_verify(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_str key = AR_STR_NONE;
	enum ar_pack_extent judged;
	struct ar_pack_checked p;
	enum ar_exit exit;

	if (a->values[OPT_CHECKPOINTS] && !a->values[OPT_KEY])
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE,
				       "--checkpoints needs --key: the public key that signed them");
	if (a->values[OPT_KEY] && !ar_pack_read(c, AT_FDCWD, a->values[OPT_KEY], &key))
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR_NONE, "%s cannot be read",
				       a->values[OPT_KEY]);
	exit = ar_pack_check(c, a->words[0], key, &p);
	if (exit == AR_EXIT_OK && a->count == 2)
		exit = compare(c, a, key, &p);
	if (exit == AR_EXIT_OK && a->values[OPT_CHECKPOINTS])
		exit = ar_checkpoints_verify_pack(c, a->values[OPT_CHECKPOINTS], a->values[OPT_KEY],
						  a->words[0], &p);
	if (exit == AR_EXIT_OK)
		exit = ar_pack_unjoined(c, a->words[0], &p, &judged);
	if (exit == AR_EXIT_OK)
		print_checked(c, &p, judged);
	return exit;
}

const struct ar_ctl_command ar_cmd_verify_pack = {
	.name = "verify-pack",
	.synopsis = "DIR [EARLIER]",
	.summary = "check a folder that `agentctl pack` wrote",
	.text = "Checks the signature, the digest of every file and the hash tree over the facts. Needs no\n"
		"daemon. With a second folder, an earlier pack of the same session: also that its facts are "
		"the\n"
		"beginning of those of the first. The key is that of the pack unless --key names one: "
		"compare\n"
		"the fingerprint that is printed with one that you got another way. --checkpoints also "
		"compares the\n"
		"facts with what agentd signed when they were new (evidence.checkpoint_file). Last, facts "
		"whose ids\n"
		"join nothing are named: a call, a turn, a task that no fact before them introduced.",
	.examples = "agentctl verify-pack evidence --key evidence.pem\n"
		    "agentctl verify-pack evidence-today evidence-yesterday\n"
		    "agentctl verify-pack evidence --key evidence.pem --checkpoints checkpoints.ndjson",
	.min = 1,
	.max = 2,
	.is_offline = true,
	.options = { [OPT_KEY] = { "key", "FILE", "the public key (PEM) that must have signed it" },
		     [OPT_CHECKPOINTS] = { "checkpoints", "FILE",
					   "compare the facts with these checkpoints" } },
	.run = run_verify,
};
