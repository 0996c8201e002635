/* `agentctl export`: a session in a format that others read. */
#include "export/export.h"
#include "resolve.h"

#include <string.h>

enum { OPT_FORMAT, OPT_INSTANCE };

static const char *const formats[] = { "atif", "swebench" };

static enum ar_exit check_format(struct ar_ctl *c, const char *format)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(formats); i++) {
		if (format && strcmp(format, formats[i]) == 0)
			return AR_EXIT_OK;
	}
	return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("--format is one of: atif, swebench"),
			       format ? "there is no format '%s'" : "a format is needed", format);
}

static enum ar_exit export(struct ar_ctl *c, const struct ar_ctl_args *a) {
	const char *format = a->values[OPT_FORMAT]; enum ar_exit exit = check_format(c, format);
	struct ar_api_reply reply;
	struct ar_str session;
	int64_t until;

	if (exit != AR_EXIT_OK) return exit;
	exit = ar_resolve_read(c, a->words[0], &reply);
	session = ar_arena_str(&c->arena, ar_api_str(reply.doc, "sessionId"));
	until = ar_api_int(reply.doc, "asOfSequence");
	ar_api_fini(&reply);
	if (exit != AR_EXIT_OK) return exit;
	if (strcmp(format, "swebench") == 0) return ar_export_swebench(c, a->values[OPT_INSTANCE], session,
								       until);
	return ar_export_session(c, format, session, until);
}

const struct ar_ctl_command ar_cmd_export = {
	.name = "export",
	.synopsis = "SESSION",
	.summary = "write a session in a format that others read",
	.text = "Writes what the session is now to standard output.\n"
		"  atif      a trajectory, ATIF 1.7: messages, calls and results as steps, child agents "
		"inside\n"
		"  swebench  one line of JSON: instance, model, and the patch of all that was changed\n"
		"Texts over 1 MiB are cut and say so, with the ref of the whole. Secrets that the log "
		"redacts "
		"stay redacted.",
	.examples =
		"agentctl export last --format atif > trajectory.json\n"
		"agentctl export last --format swebench --instance django__django-11001 >> all_preds.jsonl",
	.min = 1,
	.max = 1,
	.options = { [OPT_FORMAT] = { "format", "NAME", "atif or swebench" },
		     [OPT_INSTANCE] = { "instance", "ID",
					"instance_id of the line (swebench); without it the session's id" } },
	.run = export,
};
