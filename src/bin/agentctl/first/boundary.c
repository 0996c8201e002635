/* See boundary.h. The mode is the daemon's own word (get_settings); a setting that cannot be read is not
 * guessed. */
#include "first/boundary.h"
#include "api.h"
#include "daemon.h"

#include <sys/stat.h>
#include <unistd.h>

static bool is_own_daemon(const struct ar_ctl *c)
{
	struct stat st;

	return c->socket && lstat(c->socket, &st) == 0 && st.st_uid == geteuid();
}

/* What becomes of commands here. */
enum boundary {
	NOT_KNOWN,
	NONE, /* the profile is not enforced: they do not run */
	OPEN, /* they run without a sandbox */
	CONFINED,
};

/* ---- the sandbox ---- */

static struct ar_json find_profile(struct ar_json report)
{
	struct ar_str wanted = ar_api_str(report, "profile");
	struct ar_json_iter it = ar_json_iter(ar_json_get(report, "profiles"));

	while (ar_json_next(&it)) {
		if (ar_str_eq(ar_api_str(it.value, "name"), wanted))
			return it.value;
	}
	return (struct ar_json){ 0 };
}

static void print_word(struct ar_out *o, const char *before, struct ar_str word)
{
	if (ar_str_empty(word))
		return;
	ar_out_printf(o, "%s", before);
	ar_out_line(o, word);
}

static enum boundary print_profile(struct ar_ctl *c, struct ar_json report)
{
	struct ar_json profile = find_profile(report), guarantees = ar_json_get(profile, "guarantees");
	struct ar_str name = ar_api_str(profile, "name");
	bool is_available = false, is_confined = !ar_str_is(name, "danger_full_access");

	ar_json_bool(ar_json_get(profile, "isAvailable"), &is_available);
	print_word(&c->out, "sandbox: ", name);
	if (is_available && is_confined) {
		print_word(&c->out, ", tested now: files by ", ar_api_str(guarantees, "files"));
		print_word(&c->out, ", network ", ar_api_str(guarantees, "network"));
		print_word(&c->out, ", system calls ", ar_api_str(guarantees, "systemCalls"));
	} else if (is_available) {
		ar_out_printf(&c->out, ": commands are not confined");
	} else {
		print_word(&c->out, " cannot be enforced here: ", ar_api_str(profile, "reason"));
		ar_out_printf(&c->out, "; agentctl sandbox check tells what to do");
	}
	ar_out_printf(&c->out, "\n");
	if (!is_available)
		return NONE;
	return is_confined ? CONFINED : OPEN;
}

static enum boundary print_sandbox(struct ar_ctl *c)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_str text = ar_daemon_sandbox(c);
	struct ar_json report = { 0 };
	enum boundary found = NOT_KNOWN;

	if (!ar_str_absent(text) && ar_json_parse(parser, text, &report, NULL) == AR_OK)
		found = print_profile(c, report);
	ar_json_parser_free(parser);
	return found;
}

/* ---- the mode ---- */

static const struct {
	const char *mode, *confined, *open;
} meanings[] = {
	{ "on_request", "commands in the sandbox run without a question, what reaches further asks",
	  "without a sandbox everything that does more than read asks" },
	{ "on_failure", "commands in the sandbox run without a question, what reaches further asks",
	  "without a sandbox everything that does more than read asks" },
	{ "bypass", "nothing asks", "nothing asks" },
	{ "plan", "only what reads runs", "only what reads runs" },
	{ "never", "only what reads runs, nobody is asked", "only what reads runs, nobody is asked" },
	{ "", "everything that does more than read asks", "everything that does more than read asks" },
};

static void print_mode(struct ar_ctl *c, struct ar_json settings, enum boundary found)
{
	for (struct ar_json_iter it = ar_json_iter(settings); ar_json_next(&it);) {
		struct ar_str mode = ar_api_str(it.value, "value");
		size_t i = 0;

		if (!ar_str_is(ar_api_str(it.value, "key"), "permission.mode"))
			continue;
		while (meanings[i].mode[0] && !ar_str_is(mode, meanings[i].mode))
			i++;
		print_word(&c->out, "permission mode: ", mode);
		if (found == NONE)
			ar_out_printf(&c->out, "; commands and edits do not run without the sandbox");
		else if (found != NOT_KNOWN)
			ar_out_printf(&c->out, ": %s",
				      found == CONFINED ? meanings[i].confined : meanings[i].open);
		ar_out_printf(&c->out, "\n");
	}
}

void ar_boundary_print(struct ar_ctl *c)
{
	struct ar_api_reply reply;

	if (!is_own_daemon(c))
		return;
	if (ar_api_try(c, "get_settings", AR_STR("{}"), &reply, NULL) == AR_OK && reply.http.status == 200)
		print_mode(c, ar_json_get(reply.doc, "settings"), print_sandbox(c));
	ar_api_fini(&reply);
}
