/* What is said of a command before it runs: the commands inside it, whether its effect can be
 * undone, and which paths it names that lie elsewhere. Told for readers; what a path really
 * leads to is the kernel's to decide. Pure. */
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

static struct ar_shape_subcommand_list programs_of(struct ar_decision *d, const struct ar_command_line *line)
{
	size_t count = line->seen_count < PROGRAMS_MAX ? line->seen_count : PROGRAMS_MAX;
	struct ar_shape_subcommand *list = ar_arena_alloc(d->arena, (count + 1) * sizeof(*list));
	struct ar_str *words = ar_arena_alloc(d->arena, (count + 1) * sizeof(*words));

	for (size_t i = 0; i < count; i++) {
		words[i] = ar_str_utf8_prefix(line->seen[i].words[0], PATH_BYTES);
		list[i] = (struct ar_shape_subcommand){ .words = { &words[i], 1 },
							.is_shortened = AR_OPT_BOOL(true) };
	}
	return (struct ar_shape_subcommand_list){ list, count };
}

static bool is_too_long(struct ar_decision *d, const struct ar_command_line *line)
{
	struct ar_jw w = ar_decide_json(d);

	ar_command_words_json(line, &w);
	return d->scratch.len > WORDS_MAX;
}

static struct ar_shape_subcommand_list subcommands_of(struct ar_decision *d,
						      const struct ar_command_line *line)
{
	const struct ar_command_argv *argv = line->is_opaque ? line->seen : line->commands;
	size_t count = line->is_opaque ? line->seen_count : line->count;
	struct ar_shape_subcommand *list;

	if (is_too_long(d, line))
		return programs_of(d, line);
	list = ar_arena_alloc(d->arena, (count + 1) * sizeof(*list));
	for (size_t i = 0; i < count; i++)
		list[i] = (struct ar_shape_subcommand){ .words = { argv[i].words, argv[i].count },
							.join = ar_command_join_word(argv[i].join),
							.opaque = { true, line->is_opaque } };
	return (struct ar_shape_subcommand_list){ list, count };
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

static bool is_below_any(struct ar_str path, struct ar_texts roots)
{
	for (size_t i = 0; i < roots.count; i++) {
		if (is_below(path, roots.at[i]))
			return true;
	}
	return false;
}

/* By its text alone: links and what a shell makes of it are not known. NULL: it names nothing elsewhere. */
static const char *place_of(struct ar_str word, struct ar_texts write_roots)
{
	if (ar_str_empty(word))
		return NULL;
	if (word.p[0] == '~')
		return "home";
	if (word.p[0] == '/')
		return climbs(word) ? "unknown" : is_below_any(word, write_roots) ? "inside" : "outside";
	return ar_str_starts(word, AR_STR("../")) || climbs(word) ? "unknown" : NULL;
}

static const struct ar_shape_path_validation *paths_of(struct ar_decision *d,
						       const struct ar_command_line *line,
						       struct ar_str write_roots)
{
	struct ar_shape_path_validation *v = ar_arena_alloc(d->arena, sizeof(*v));
	struct ar_shape_named_path *named = ar_arena_alloc(d->arena, PATHS_MAX * sizeof(*named));
	struct ar_texts roots = ar_process_roots(d, write_roots);
	size_t count = 0;

	for (size_t i = 0; i < line->seen_count; i++) {
		for (size_t n = 0; n < line->seen[i].count && count < PATHS_MAX; n++) {
			struct ar_str word = line->seen[i].words[n];
			const char *place = place_of(word, roots);

			if (place)
				named[count++] =
					(struct ar_shape_named_path){ .path = ar_str_utf8_prefix(word,
												 PATH_BYTES),
								      .place = ar_str_from(place) };
		}
	}
	*v = (struct ar_shape_path_validation){ .enforced_by = AR_STR("sandbox"), .named = { named, count } };
	return v;
}

struct ar_process_words ar_process_policy_words(struct ar_decision *d, const struct ar_process_launched *p)
{
	struct ar_command_line line = line_of(d, p);

	return (struct ar_process_words){ .subcommands = subcommands_of(d, &line),
					  .paths = paths_of(d, &line, p->ready.write_roots),
					  .is_destructive = ar_command_is_destructive(&line) };
}
