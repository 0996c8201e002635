/* See tree.h. */
#include "tree.h"

#include "json.h"
#include "mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct tree *tree_new(void)
{
	struct tree *t = ar_new0(sizeof(*t));
	const char *tmp = getenv("TMPDIR");

	snprintf(t->base, sizeof(t->base), "%s/ar-tool-XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	assert_non_null(mkdtemp(t->base));
	snprintf(t->root, sizeof(t->root), "%s/root", t->base);
	assert_int_equal(mkdir(t->root, 0755), 0);
	return t;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

static void clear(struct call *c)
{
	ar_buf_fini(&c->text);
	ar_buf_fini(&c->mime);
	ar_buf_fini(&c->data);
	ar_buf_fini(&c->category);
	ar_buf_fini(&c->advice);
	ar_buf_fini(&c->changes);
	ar_buf_fini(&c->versions);
	ar_buf_fini(&c->id);
	ar_buf_fini(&c->diff);
	ar_buf_fini(&c->base);
	ar_buf_fini(&c->method);
	ar_buf_fini(&c->conflicts);
	*c = (struct call){ 0 };
}

void tree_free(struct tree *t)
{
	clear(&t->last);
	nftw(t->base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	ar_free(t);
}

const char *tree_path(const struct tree *t, const char *path)
{
	static char out[8192];

	snprintf(out, sizeof(out), "%s/%s", t->root, path);
	return out;
}

static void make_folders(const char *path)
{
	char part[8192];

	for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
		assert_true(mkdir(part, 0755) == 0 || errno == EEXIST);
	}
}

void tree_file(struct tree *t, const char *path, const char *bytes, size_t len)
{
	const char *full = tree_path(t, path);

	make_folders(full);
	FILE *f = fopen(full, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	fclose(f);
}

static void keep(struct ar_buf *b, struct ar_str s)
{
	ar_buf_clear(b);
	ar_buf_adds(b, s);
	ar_buf_addc(b, '\0');
}

static struct ar_str text_of(struct ar_json v)
{
	struct ar_str s = AR_STR("");

	ar_json_str(v, &s);
	return s;
}

static void read_checkpoint(struct call *c, struct ar_json v)
{
	keep(&c->id, text_of(ar_json_get(v, "id")));
	keep(&c->diff, text_of(ar_json_get(v, "diff")));
	keep(&c->base, text_of(ar_json_get(v, "base")));
	keep(&c->method, text_of(ar_json_get(v, "method")));
	ar_buf_clear(&c->conflicts);
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(v, "conflicts")); ar_json_next(&it);)
		ar_buf_addf(&c->conflicts, "%.*s\n", AR_STR_ARG(text_of(it.value)));
	ar_buf_addc(&c->conflicts, '\0');
	ar_json_i64(ar_json_get(v, "files"), &c->files);
	ar_json_i64(ar_json_get(v, "bytes"), &c->bytes);
	ar_json_i64(ar_json_get(v, "leftOut"), &c->left_out);
	ar_json_i64(ar_json_get(v, "changed"), &c->changed);
	ar_json_bool(ar_json_get(v, "isCut"), &c->is_cut);
}

static void read_answer(struct call *c, struct ar_json v)
{
	int64_t outcome = 0;

	assert_true(ar_json_i64(ar_json_get(v, "outcome"), &outcome));
	c->outcome = (enum ar_tool_outcome)outcome;
	keep(&c->text, text_of(ar_json_get(v, "text")));
	if (c->outcome != AR_TOOL_OK) {
		ar_buf_clear(&c->text);
		ar_buf_adds(&c->text, text_of(ar_json_get(v, "message")));
		ar_buf_addc(&c->text, ' ');
		ar_buf_adds(&c->text, text_of(ar_json_get(v, "advice")));
		ar_buf_addc(&c->text, '\0');
	}
	keep(&c->category, text_of(ar_json_get(v, "category")));
	keep(&c->advice, text_of(ar_json_get(v, "advice")));
	keep(&c->mime, text_of(ar_json_get(ar_json_get(v, "image"), "mimeType")));
	keep(&c->data, text_of(ar_json_get(ar_json_get(v, "image"), "data")));
	if (ar_json_type(ar_json_get(v, "changes")) == AR_JSON_ARRAY)
		ar_json_print(ar_json_get(v, "changes"), &c->changes);
	ar_buf_addc(&c->changes, '\0');
	if (ar_json_type(ar_json_get(v, "versions")) == AR_JSON_ARRAY)
		ar_json_print(ar_json_get(v, "versions"), &c->versions);
	ar_buf_addc(&c->versions, '\0');
	read_checkpoint(c, ar_json_get(v, "checkpoint"));
}

struct call *tree_run(struct tree *t, const char *tool, const char *args)
{
	AR_AUTO(ar_buf_fini) struct ar_buf request = { 0 };
	AR_AUTO(ar_buf_fini) struct ar_buf answer = { 0 };
	struct ar_json_parser *p = ar_json_parser_new();
	struct ar_json v;

	ar_files_write_request(&(struct ar_files_request){ .tool = ar_str_from(tool),
							   .args = ar_str_from(args),
							   .workspace =
								   ar_str_from(*t->root ? t->root : NULL),
							   .max_bytes = t->max_bytes,
							   .max_ms = t->max_ms },
			       &request);
	ar_files_serve(ar_buf_str(&request), &answer);
	clear(&t->last);
	assert_int_equal(ar_json_parse(p, ar_buf_str(&answer), &v, NULL), AR_OK);
	read_answer(&t->last, v);
	ar_json_parser_free(p);
	return &t->last;
}

const char *tree_call(struct tree *t, const char *tool, const char *args)
{
	struct call *c = tree_run(t, tool, args);

	if (c->outcome != AR_TOOL_OK)
		print_error("%s\n", c->text.p);
	assert_int_equal(c->outcome, AR_TOOL_OK);
	return c->text.p;
}

const char *tree_fails(struct tree *t, const char *tool, const char *args, const char *category)
{
	struct call *c = tree_run(t, tool, args);

	if (c->outcome == AR_TOOL_OK)
		print_error("%s\n", c->text.p);
	assert_int_equal(c->outcome, AR_TOOL_ERROR);
	assert_string_equal(c->category.p, category);
	assert_true(c->advice.len > 1);
	return c->text.p;
}

const char *tree_read(const struct tree *t, const char *path)
{
	static char out[65536];
	FILE *f = fopen(tree_path(t, path), "r");

	if (!f)
		return NULL;
	size_t len = fread(out, 1, sizeof(out) - 1, f);

	out[len] = '\0';
	fclose(f);
	return out;
}

size_t tree_count(const struct tree *t, const char *path)
{
	DIR *d = opendir(tree_path(t, path));
	size_t count = 0;

	assert_non_null(d);
	for (struct dirent *e = readdir(d); e; e = readdir(d))
		count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return count;
}

static void *swap(void *arg)
{
	struct tree_swap *s = arg;

	while (!atomic_load(&s->stop))
		renameat2(AT_FDCWD, s->one, AT_FDCWD, s->two, RENAME_EXCHANGE);
	return NULL;
}

void tree_swap_start(struct tree_swap *s, const struct tree *t, const char *one, const char *two)
{
	snprintf(s->one, sizeof(s->one), "%s/%s", t->root, one);
	snprintf(s->two, sizeof(s->two), "%s/%s", t->root, two);
	atomic_init(&s->stop, false);
	assert_int_equal(pthread_create(&s->thread, NULL, swap, s), 0);
}

void tree_swap_stop(struct tree_swap *s)
{
	atomic_store(&s->stop, true);
	pthread_join(s->thread, NULL);
}
