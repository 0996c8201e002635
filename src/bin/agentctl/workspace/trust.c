/* See workspace.h: what a folder brings for the agent, and whether a person trusts it. What is trusted is
 * what was listed: the server refuses the answer if the files are others by then, and they are listed again.
 * Names of files come from the folder; they are printed escaped. */
#include "resolve.h"
#include "workspace/workspace.h"

#include <termios.h>
#include <unistd.h>

#define ATTEMPTS 3 /* at a folder that changes while it is read */
#define KIND_WIDTH 14
#define BYTES_WIDTH 14
#define NAMED 3 /* items that a note names */

static bool is_used(struct ar_json item)
{
	bool is = false;

	return ar_json_bool(ar_json_get(item, "used"), &is) && is;
}

static void print_item(struct ar_out *o, struct ar_json item)
{
	struct ar_str kind = ar_str_utf8_prefix(ar_api_str(item, "kind"), KIND_WIDTH);
	struct ar_str reason = ar_api_str(item, "reason");
	char size[BYTES_WIDTH + 1] = "size unknown"; /* of one that cannot be read */
	int64_t bytes;

	if (ar_json_i64(ar_json_get(item, "bytes"), &bytes))
		snprintf(size, sizeof(size), "%lld bytes", (long long)bytes);
	ar_out_printf(o, "  ");
	ar_out_line(o, kind);
	ar_out_printf(o, "%*s %*s  %-8s  ", KIND_WIDTH - (int)kind.len, "", BYTES_WIDTH, size,
		      is_used(item) ? "used" : "not used");
	ar_out_line(o, ar_api_str(item, "path"));
	if (!ar_str_empty(reason)) {
		ar_out_printf(o, "  (");
		ar_out_line(o, reason);
		ar_out_printf(o, ")");
	}
	ar_out_printf(o, "\n");
}

/* Who trusts a folder trusts the programs that it starts: they are shown as they would be called. */
static void print_server(struct ar_out *o, struct ar_json server)
{
	struct ar_str reason = ar_api_str(server, "reason");

	ar_out_printf(o, "    server ");
	ar_out_line(o, ar_api_str(server, "name"));
	ar_out_printf(o, ": ");
	ar_out_line(o, ar_api_str(server, "command"));
	if (!ar_str_empty(reason)) {
		ar_out_printf(o, "  (");
		ar_out_line(o, reason);
		ar_out_printf(o, ")");
	}
	ar_out_printf(o, "\n");
}

void ar_workspace_print_items(struct ar_out *o, struct ar_json seen)
{
	struct ar_json items = ar_json_get(seen, "items"), servers = ar_json_get(seen, "servers");

	for (struct ar_json_iter it = ar_json_iter(items); ar_json_next(&it);) {
		print_item(o, it.value);
		if (!ar_str_is(ar_api_str(it.value, "kind"), "mcp_servers"))
			continue;
		for (struct ar_json_iter s = ar_json_iter(servers); ar_json_next(&s);)
			print_server(o, s.value);
	}
}

static size_t count_used(struct ar_json items)
{
	size_t count = 0;

	for (struct ar_json_iter it = ar_json_iter(items); ar_json_next(&it);)
		count += is_used(it.value);
	return count;
}

static bool is_terminal(struct ar_ctl *c)
{
	return c->err.is_tty && isatty(STDIN_FILENO);
}

/* ---- the answer ---- */

static struct ar_str trust_body(struct ar_ctl *c, const struct ar_workspace *w, struct ar_json seen)
{
	struct ar_buf text = { 0 };
	struct ar_jw j = ar_jw(&text);

	ar_jw_open(&j);
	ar_jw_mstr(&j, "workspaceId", w->id);
	ar_jw_mstr(&j, "trust", AR_STR("trusted"));
	ar_jw_mstr(&j, "itemsDigest", ar_api_str(seen, "itemsDigest"));
	ar_jw_close(&j);
	return ar_ctl_take_buf(c, &text);
}

/* *ret_has_changed: the files are others than those that were listed, and nothing was recorded. */
static enum ar_exit record(struct ar_ctl *c, const struct ar_workspace *w, struct ar_json seen,
			   bool *ret_has_changed)
{
	struct ar_error err = { 0 };
	struct ar_api_reply reply;
	enum ar_status st = ar_api_try(c, "update_workspace", trust_body(c, w, seen), &reply, &err);
	struct ar_str code = ar_api_str(ar_json_get(reply.doc, "error"), "code");
	enum ar_exit exit = AR_EXIT_OK;

	*ret_has_changed = st == AR_OK && ar_str_is(code, "version_conflict");
	if (!*ret_has_changed)
		exit = ar_api_explain(c, st, &reply, &err);
	ar_api_fini(&reply);
	return exit;
}

/* What was typed before the list was shown is no answer to it. */
static bool ask_trust(struct ar_ctl *c)
{
	char letter;

	tcflush(STDIN_FILENO, TCIFLUSH);
	ar_out_printf(&c->err, "Trust this folder? [y/N] ");
	fflush(c->err.file);
	letter = ar_ctl_read_letter();
	c->err.is_midline = letter == 0; /* the terminal has echoed the line */
	ar_out_break(&c->err);
	return letter == 'y' || letter == 'Y';
}

static void show(struct ar_ctl *c, const struct ar_workspace *w, struct ar_json seen)
{
	if (c->out.is_tty)
		ar_out_break(&c->out);
	fflush(c->out.file);
	ar_out_line(&c->err, w->root);
	ar_out_printf(&c->err, ar_json_len(ar_json_get(seen, "items")) ? " brings this for the agent:\n"
								       : " brings nothing for the agent\n");
	ar_workspace_print_items(&c->err, seen);
	fflush(c->err.file);
}

enum ar_exit ar_workspace_trust(struct ar_ctl *c, const struct ar_workspace *w, bool is_asked,
				bool *ret_is_trusted)
{
	bool has_changed = true;
	enum ar_exit exit = AR_EXIT_OK;

	*ret_is_trusted = false;
	for (int i = 0; i < ATTEMPTS && has_changed && exit == AR_EXIT_OK; i++) {
		struct ar_api_reply seen;
		bool is_yes = true;

		exit = ar_api_call(c, "inspect_workspace", ar_resolve_body(c, "workspaceId", w->id), &seen);
		if (exit == AR_EXIT_OK) {
			show(c, w, seen.doc);
			is_yes = !is_asked || !is_terminal(c) || ask_trust(c);
		}
		has_changed = false;
		if (exit == AR_EXIT_OK && is_yes)
			exit = record(c, w, seen.doc, &has_changed);
		*ret_is_trusted = exit == AR_EXIT_OK && is_yes && !has_changed;
		ar_api_fini(&seen);
	}
	if (has_changed)
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("try again when nothing writes to them"),
				       "the files that %.*s brings change all the time; it is not trusted",
				       AR_STR_ARG(w->root));
	return exit;
}

/* ---- for a session ---- */

static void note_unused(struct ar_ctl *c, struct ar_json items)
{
	size_t left = count_used(items), named = 0;
	struct ar_buf text = { 0 };

	for (struct ar_json_iter it = ar_json_iter(items); named < NAMED && ar_json_next(&it);) {
		if (!is_used(it.value))
			continue;
		ar_buf_addf(&text, "%s%.*s", named++ ? ", " : "", AR_STR_ARG(ar_api_str(it.value, "path")));
		left--;
	}
	if (left)
		ar_buf_addf(&text, " and %zu more", left);
	ar_ctl_note(
		c,
		"not used, because this folder is not trusted: %.*s; `agentctl workspace trust` or --trust "
		"trusts it",
		AR_STR_ARG(ar_buf_str(&text)));
	ar_buf_fini(&text);
}

/* A folder that cannot be looked into is used without what it brings: that is how an untrusted one is. */
enum ar_exit ar_workspace_offer_trust(struct ar_ctl *c, const struct ar_workspace *w)
{
	struct ar_api_reply reply;
	struct ar_json items;
	bool is_trusted, is_offered = false;

	if (ar_api_try(c, "inspect_workspace", ar_resolve_body(c, "workspaceId", w->id), &reply, NULL) ==
		    AR_OK &&
	    reply.http.status < 400) {
		items = ar_json_get(reply.doc, "items");
		is_offered = count_used(items) > 0 && is_terminal(c);
		if (count_used(items) > 0 && !is_offered)
			note_unused(c, items);
	}
	ar_api_fini(&reply);
	return is_offered ? ar_workspace_trust(c, w, true, &is_trusted) : AR_EXIT_OK;
}
