/* `agentctl export`: a session in a format that others read. */
#include "export/export.h"
#include "resolve.h"

#include <string.h>

enum { OPT_FORMAT, OPT_INSTANCE };

static const char *const formats[] = { "atif", "swebench", "markdown", "html", "otlp", "replay" };

static enum ar_exit check_format(struct ar_ctl *c, const char *format)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(formats); i++) {
		if (format && strcmp(format, formats[i]) == 0)
			return AR_EXIT_OK;
	}
	return ar_ctl_complain(c, AR_EXIT_USAGE,
			       AR_STR("--format is one of: atif, swebench, markdown, html, otlp, replay"),
			       format ? "there is no format '%s'" : "a format is needed", format);
}

static enum ar_exit write_session(struct ar_ctl *c, const char *word, const char *format,
				  const char *instance)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_resolve_read(c, word, &reply);
	struct ar_str session = ar_arena_str(&c->arena, ar_api_str(reply.doc, "sessionId"));
	int64_t until = ar_api_int(reply.doc, "asOfSequence");

	ar_api_fini(&reply);
	if (exit != AR_EXIT_OK)
		return exit;
	if (strcmp(format, "swebench") == 0)
		return ar_export_swebench(c, instance, session, until);
	return ar_export_session(c, format, session, until, c->out.file);
}

static enum ar_exit run_export(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	enum ar_exit exit = check_format(c, a->values[OPT_FORMAT]);

	return exit == AR_EXIT_OK
		       ? write_session(c, a->words[0], a->values[OPT_FORMAT], a->values[OPT_INSTANCE])
		       : exit;
}

static enum ar_exit run_review(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return write_session(c, a->words[0], "html", NULL);
}

static enum ar_exit run_transcript(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return write_session(c, a->words[0], "markdown", NULL);
}

const struct ar_ctl_command ar_cmd_export = {
	.name = "export",
	.synopsis = "SESSION",
	.summary = "write a session in a format that others read",
	.text = "Writes what the session is now to standard output.\n"
		"  atif      a trajectory, ATIF 1.7: messages, calls and results as steps, child agents "
		"inside\n"
		"  swebench  one line of JSON: instance, model, and the patch of all that was changed\n"
		"  markdown  all turns with their calls, results and questions, as text (agentctl "
		"transcript)\n"
		"  html      the same as one page to read and print, which loads nothing (agentctl review)\n"
		"  otlp      the spans that telemetry sends of the session, as lines of OTLP/JSON\n"
		"  replay    a case that `agentctl replay` runs again: inputs, answers of the model, facts\n"
		"Texts over 1 MiB are cut and say so, with the ref of the whole. Secrets that the log "
		"redacts "
		"stay redacted.",
	.examples =
		"agentctl export last --format atif > trajectory.json\n"
		"agentctl export last --format swebench --instance django__django-11001 >> all_preds.jsonl",
	.min = 1,
	.max = 1,
	.options = { [OPT_FORMAT] = { "format", "NAME", "atif, swebench, markdown, html, otlp or replay" },
		     [OPT_INSTANCE] = { "instance", "ID",
					"instance_id of the line (swebench); without it the session's id" } },
	.run = run_export,
};

const struct ar_ctl_command ar_cmd_review = {
	.name = "review",
	.synopsis = "SESSION",
	.summary = "write a session as a page to read and print",
	.text = "Writes one HTML file to standard output: turns with messages, calls, results, questions and "
		"who "
		"answered,\n"
		"changes of files, failures, limits and cost, each with the id of its event. The page has no "
		"script and\n"
		"loads nothing; text of models and tools is shown, never obeyed. It judges nothing.",
	.examples = "agentctl review last > page.html",
	.min = 1,
	.max = 1,
	.run = run_review,
};

const struct ar_ctl_command ar_cmd_transcript = {
	.name = "transcript",
	.synopsis = "SESSION",
	.summary = "write a session as text to read",
	.text = "Writes Markdown to standard output: all turns with their messages, calls, results and "
		"questions, as\n"
		"agentctl export --format markdown does.",
	.examples = "agentctl transcript last | less\n"
		    "agentctl transcript last > session.md",
	.min = 1,
	.max = 1,
	.run = run_transcript,
};
