/* See tree.h. */
#include "tree.h"

#include "mem.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct tree *tree_new(const struct ar_local_options *o)
{
	struct tree *t = ar_new0(sizeof(*t));
	const char *tmp = getenv("TMPDIR");

	snprintf(t->base, sizeof(t->base), "%s/ar-tool-XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	assert_non_null(mkdtemp(t->base));
	snprintf(t->root, sizeof(t->root), "%s/root", t->base);
	assert_int_equal(mkdir(t->root, 0755), 0);
	assert_int_equal(uv_loop_init(&t->loop), 0);
	t->source = ar_local_tools_new(&t->loop, o ? o : &(struct ar_local_options){ 0 });
	assert_null(t->source->trouble);
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
	*c = (struct call){ 0 };
}

void tree_free(struct tree *t)
{
	if (t->source)
		t->source->v->close(t->source);
	uv_run(&t->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&t->loop), 0);
	for (size_t i = 0; i < TREE_CALLS; i++)
		clear(&t->calls[i]);
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

static void on_done(struct ar_tool_call *call, const struct ar_tool_result *r)
{
	struct call *c = AR_CONTAINER_OF(call, struct call, call);

	c->done++;
	c->outcome = r->outcome;
	assert_true(ar_str_is_utf8(r->text));
	keep(&c->text, r->text);
	keep(&c->category, r->category);
	keep(&c->advice, r->advice);
	keep(&c->mime, r->image_count ? r->images[0].mime : AR_STR(""));
	keep(&c->data, r->image_count ? r->images[0].data : AR_STR(""));
}

static const struct ar_tool_call_vtable vtable = { .on_done = on_done };

static const struct ar_tool *find(const struct ar_tool_source *s, const char *name)
{
	for (size_t i = 0; i < s->tool_count; i++) {
		if (ar_str_is(s->tools[i].name, name))
			return &s->tools[i];
	}
	fail_msg("no tool '%s'", name);
	return NULL;
}

struct call *tree_start(struct tree *t, size_t i, const char *tool, const char *args)
{
	struct call *c = &t->calls[i];

	clear(c);
	c->call = (struct ar_tool_call){ .v = &vtable,
					 .tool = find(t->source, tool),
					 .args = ar_str_from(args),
					 .scope = { .workspace = ar_str_from(*t->root ? t->root : NULL) } };
	t->source->v->start(t->source, &c->call);
	assert_int_equal(c->done, 0);
	return c;
}

void tree_wait(struct tree *t)
{
	uv_run(&t->loop, UV_RUN_DEFAULT);
}

const char *tree_call(struct tree *t, const char *tool, const char *args)
{
	struct call *c = tree_start(t, 0, tool, args);

	tree_wait(t);
	assert_int_equal(c->done, 1);
	if (c->outcome != AR_TOOL_OK)
		print_error("%s\n", c->text.p);
	assert_int_equal(c->outcome, AR_TOOL_OK);
	return c->text.p;
}

const char *tree_fails(struct tree *t, const char *tool, const char *args, const char *category)
{
	struct call *c = tree_start(t, 0, tool, args);

	tree_wait(t);
	assert_int_equal(c->done, 1);
	assert_int_equal(c->outcome, AR_TOOL_ERROR);
	assert_string_equal(c->category.p, category);
	assert_true(c->advice.len > 1);
	assert_non_null(strstr(c->text.p, c->advice.p));
	return c->text.p;
}
