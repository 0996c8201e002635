/* What is said of a command before it runs: the commands inside it, whether its effect can be undone, and which paths it names that lie
 * elsewhere. Told for readers; what a path really leads to is the kernel's to decide. Pure. */
#include "command.h"
#include "process/record.h"

#define WORDS_MAX 16384 /* bytes of all commands; of more only the programs are told */
#define PROGRAMS_MAX 64
#define PATHS_MAX 32
#define PATH_BYTES 256

/* ---- the commands ---- */

/* `... -c -- TEXT` is what a shell reads; all else are words as they are. */
static struct ar_command_line line_of(struct ar_decision *d, const struct ar_process_launched *p)
{
	const struct ar_str *argv = p->argv;
	size_t argc = p->argc;
	struct ar_command_line line;

	if (argc >= 4 && ar_str_is(argv[argc - 3], "-c") && ar_str_is(argv[argc - 2], "--"))
		ar_command_parse(argv[argc - 1], d->arena, &line);
	else
		ar_command_of_argv(argv, argc, d->arena, &line);
	return line;
}

static struct ar_str programs_of(struct ar_decision *d, const struct ar_command_line *line)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open_array(&w);
	for (size_t i = 0; i < line->seen_count && i < PROGRAMS_MAX; i++) {
		ar_jw_open(&w);
		ar_jw_key(&w, "words");
		ar_jw_open_array(&w);
		ar_jw_str(&w, ar_str_utf8_prefix(line->seen[i].words[0], PATH_BYTES));
		ar_jw_close_array(&w);
		ar_jw_mbool(&w, "isShortened", true);
		ar_jw_close(&w);
	}
	ar_jw_close_array(&w);
	return ar_decide_json_end(d);
}

static struct ar_str subcommands_of(struct ar_decision *d, const struct ar_command_line *line)
{
	struct ar_jw w = ar_decide_json(d);
	struct ar_str text;

	ar_command_words_json(line, &w);
	text = ar_decide_json_end(d);
	return text.len <= WORDS_MAX ? text : programs_of(d, line);
}

/* ---- the paths ---- */

static bool is_below(struct ar_str path, struct ar_str root)
{
	return root.len > 0 && ar_str_starts(path, root) &&
	       (path.len == root.len || path.p[root.len] == '/' || root.p[root.len - 1] == '/');
}

static bool climbs(struct ar_str path)
{
	for (size_t i = 0; i + 1 < path.len; i++) {
		if (path.p[i] == '.' && path.p[i + 1] == '.')
			return true;
	}
	return false;
}

static bool is_below_any(struct ar_str path, struct ar_json roots)
{
	for (struct ar_json_iter it = ar_json_iter(roots); ar_json_next(&it);) {
		struct ar_str root;

		if (ar_json_str(it.value, &root) && is_below(path, root))
			return true;
	}
	return false;
}

/* By its text alone: links and what a shell makes of it are not known. NULL: it names nothing elsewhere. */
static const char *place_of(struct ar_str word, struct ar_json write_roots)
{
	if (ar_str_empty(word))
		return NULL;
	if (word.p[0] == '~')
		return "home";
	if (word.p[0] == '/')
		return climbs(word) ? "unknown" : is_below_any(word, write_roots) ? "inside" : "outside";
	return ar_str_starts(word, AR_STR("../")) || climbs(word) ? "unknown" : NULL;
}

static bool name_path(struct ar_jw *w, struct ar_str word, struct ar_json write_roots)
{
	const char *place = place_of(word, write_roots);

	if (!place)
		return false;
	ar_jw_open(w);
	ar_jw_mstr(w, "path", ar_str_utf8_prefix(word, PATH_BYTES));
	ar_jw_mstr(w, "place", ar_str_from(place));
	ar_jw_close(w);
	return true;
}

static struct ar_str paths_of(struct ar_decision *d, const struct ar_command_line *line,
			      struct ar_str write_roots)
{
	struct ar_jw w = ar_decide_json(d);
	struct ar_json roots = { 0 };
	size_t named = 0;

	if (ar_str_empty(write_roots) || ar_json_parse(d->json, write_roots, &roots, NULL) != AR_OK)
		roots = (struct ar_json){ 0 };
	ar_jw_open(&w);
	ar_jw_mstr(&w, "enforcedBy", AR_STR("sandbox"));
	ar_jw_key(&w, "named");
	ar_jw_open_array(&w);
	for (size_t i = 0; i < line->seen_count; i++) {
		for (size_t n = 0; n < line->seen[i].count && named < PATHS_MAX; n++)
			named += name_path(&w, line->seen[i].words[n], roots);
	}
	ar_jw_close_array(&w);
	ar_jw_close(&w);
	return ar_decide_json_end(d);
}

struct ar_process_words ar_process_policy_words(struct ar_decision *d, const struct ar_process_launched *p)
{
	struct ar_command_line line = line_of(d, p);

	return (struct ar_process_words){ .subcommands = subcommands_of(d, &line),
					  .paths = paths_of(d, &line, p->ready.write_roots),
					  .is_destructive = ar_command_is_destructive(&line) };
}
