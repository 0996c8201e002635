/* See definition.h. */
#include "workspace/definition.h"

#include "beneath.h"
#include "io/descriptor.h"
#include "text/front_matter.h"
#include "tool.h"
#include "workspace/read_text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REASON_MAX 200 /* bytes of a sentence of the reader */

static const char *refusal(struct ar_arena *a, const char *sentence)
{
	return ar_arena_fmt(a, "invalid: %.*s", REASON_MAX, sentence).p;
}

/* ".agents/skills/tea/SKILL.md" is tea, ".agents/agents/reviewer.md" is reviewer. */
static struct ar_str name_of_path(enum ar_inspect_kind kind, struct ar_str path)
{
	struct ar_str rest = path, part = path, before = path;

	while (!ar_str_absent(rest)) {
		before = part;
		rest = ar_str_split(rest, '/', &part);
	}
	return kind == AR_INSPECT_SKILL ? before : ar_str_sub(part, 0, part.len - strlen(".md"));
}

/* A description of several lines is one for the model. */
static struct ar_str as_line(struct ar_arena *a, struct ar_str text)
{
	struct ar_str copy = ar_arena_str(a, ar_str_trim(text, " \t\r\n"));
	char *p = ar_str_empty(copy) ? NULL : ar_arena_alloc(a, copy.len + 1);

	for (size_t i = 0; p && i < copy.len; i++)
		p[i] = copy.p[i] == '\n' || copy.p[i] == '\t' || copy.p[i] == '\r' ? ' ' : copy.p[i];
	return p ? (struct ar_str){ p, copy.len } : copy;
}

/* An empty one says nothing. */
static struct ar_str word(const struct ar_front_matter *f, const char *key)
{
	struct ar_str value = ar_front_matter_get(f, key);

	return ar_str_empty(value) ? AR_STR_NONE : value;
}

static const char *check_words(const struct ar_definition *d)
{
	struct ar_str words[] = { d->model, d->mode };

	if (!ar_tool_is_name(d->name))
		return "invalid: a name has 1 to 64 letters, digits, _ or -";
	if (ar_str_empty(d->description))
		return "invalid: the front matter has no description";
	if (!ar_str_is_line(d->description, AR_DEFINITION_DESCRIPTION_MAX))
		return "invalid: a description has at most 1024 bytes and no control characters";
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (!ar_str_absent(words[i]) && !ar_str_is_line(words[i], AR_DEFINITION_WORD_MAX))
			return "invalid: model and mode are one word each";
	}
	/* A child that is to be kept apart is not let into the folder of its parent because of a new word. */
	if (!ar_str_absent(d->isolation) && !ar_str_is(d->isolation, AR_DEFINITION_WORKTREE))
		return "invalid: isolation is worktree, or is not there";
	for (size_t i = 0; i < d->tools.count; i++) {
		if (!ar_str_is_line(d->tools.at[i], AR_DEFINITION_WORD_MAX))
			return "invalid: the names of tools have at most 128 bytes and no control characters";
	}
	return NULL;
}

/* Paths in a skill are relative to its folder, which the model has to know. One of the settings is in a
 * folder that it cannot reach. */
static struct ar_str text_of(enum ar_inspect_kind kind, struct ar_str path, struct ar_str body,
			     struct ar_arena *a)
{
	struct ar_str folder = ar_str_sub(path, 0, path.len - strlen("/SKILL.md"));

	body = ar_str_trim(body, " \t\r\n");
	if (kind == AR_INSPECT_AGENT || ar_str_starts(path, AR_STR("/")))
		return ar_arena_str(a, body);
	return ar_arena_fmt(a, "Paths in this skill are relative to %.*s.\n\n%.*s", AR_STR_ARG(folder),
			    AR_STR_ARG(body));
}

const char *ar_definition_read(enum ar_inspect_kind kind, struct ar_str path, struct ar_str file,
			       struct ar_arena *a, struct ar_definition *ret)
{
	struct ar_definition d = { .kind = kind, .path = path };
	struct ar_error err = { 0 };
	struct ar_front_matter f;
	const char *reason;

	if (ar_front_matter_read(file, a, &f, &err) != AR_OK ||
	    (kind == AR_INSPECT_AGENT && ar_front_matter_list(&f, "tools", a, &d.tools, &err) != AR_OK))
		return refusal(a, err.msg);
	d.name =
		ar_str_empty(word(&f, "name")) ? ar_arena_str(a, name_of_path(kind, path)) : word(&f, "name");
	d.description = as_line(a, word(&f, "description"));
	if (kind == AR_INSPECT_AGENT) {
		d.model = word(&f, "model");
		d.mode = word(&f, "mode");
		d.isolation = word(&f, "isolation");
	}
	reason = check_words(&d);
	if (reason)
		return reason;
	d.text = text_of(kind, path, f.body, a);
	*ret = d;
	return NULL;
}

/* ---- directories ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t ar_definition_names(int fd, struct ar_arena *a, const char **ret, size_t max)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;
	size_t count = 0;

	if (!dir) {
		ar_fd_close(&fd);
		return 0;
	}
	while (count < max && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && ar_str_is_text(ar_str_from(entry->d_name)))
			ret[count++] = ar_arena_str(a, ar_str_from(entry->d_name)).p;
	}
	closedir(dir);
	qsort(ret, count, sizeof(*ret), by_name);
	return count;
}

bool ar_definition_is_file(enum ar_inspect_kind kind, const char *name)
{
	return kind == AR_INSPECT_SKILL ||
	       (strlen(name) > strlen(".md") && ar_str_ends(ar_str_from(name), AR_STR(".md")));
}

/* One of the directory; *ret_is_there: false if the folder has no SKILL.md. */
static const char *read_one(int folder, const char *name, struct ar_arena *a, struct ar_definition *ret,
			    bool *ret_is_there)
{
	AR_AUTO(ar_buf_fini) struct ar_buf bytes = { 0 };
	const char *reason = ar_read_text(folder, name, &bytes);

	*ret_is_there = !reason || !ar_str_starts(ar_str_from(reason), AR_STR("not_found:"));
	return reason ? reason : ar_definition_read(ret->kind, ret->path, ar_buf_str(&bytes), a, ret);
}

enum ar_status ar_definition_dir(enum ar_inspect_kind kind, const char *dir, struct ar_arena *a,
				 struct ar_definition *ret, size_t *ret_count, struct ar_error *err)
{
	AR_AUTO(ar_fd_close) int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *names[AR_DEFINITION_DIR_MAX];
	size_t count;

	*ret_count = 0;
	if (folder < 0)
		return ar_fail(err, AR_E_INVALID, "directory '%.100s' cannot be opened: %s", dir,
			       strerror(errno));
	count = ar_definition_names(fcntl(folder, F_DUPFD_CLOEXEC, 0), a, names, AR_DEFINITION_DIR_MAX);
	if (count == AR_DEFINITION_DIR_MAX)
		return ar_fail(err, AR_E_INVALID, "directory '%.100s' has %d entries or more", dir,
			       AR_DEFINITION_DIR_MAX);
	for (size_t i = 0; i < count; i++) {
		struct ar_str name =
			ar_arena_fmt(a, "%s%s", names[i], kind == AR_INSPECT_SKILL ? "/SKILL.md" : "");
		bool is_there = true;
		const char *reason;

		if (!ar_definition_is_file(kind, names[i]))
			continue;
		ret[*ret_count] =
			(struct ar_definition){ .kind = kind, .path = ar_arena_fmt(a, "%s/%s", dir, name.p) };
		reason = read_one(folder, name.p, a, &ret[*ret_count], &is_there);
		if (reason && is_there)
			return ar_fail(err, AR_E_INVALID, "'%.100s/%.100s' cannot be used: %.200s", dir,
				       name.p, reason);
		*ret_count += is_there;
	}
	return AR_OK;
}
