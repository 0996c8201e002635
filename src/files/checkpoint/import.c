/* See import.h. Commits have no parents: what only forgotten ids hold can go. */
#include "checkpoint/import.h"

#include <string.h>

/* What git calls a tree without entries. */
#define EMPTY_TREE "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"

void ar_import_add_path(struct ar_buf *out, struct ar_str path)
{
	ar_buf_addc(out, '"');
	for (size_t i = 0; i < path.len; i++) {
		unsigned char c = (unsigned char)path.p[i];

		if (c < 0x20 || c == 0x7f || c == '"' || c == '\\')
			ar_buf_addf(out, "\\%03o", c);
		else
			ar_buf_addc(out, (char)c);
	}
	ar_buf_addc(out, '"');
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool ar_import_object(struct ar_str hex, struct ar_hash *ret)
{
	if (hex.len != AR_HASH_HEX)
		return false;
	for (size_t i = 0; i < AR_HASH_LEN; i++) {
		int high = digit(hex.p[2 * i]), low = digit(hex.p[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret->b[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool write_text(struct ar_import *m, const struct ar_buf *text)
{
	return ar_git_child_write(&m->git, ar_buf_str(text));
}

bool ar_import_open(struct ar_import *m, struct ar_store *s, const struct ar_hash *base)
{
	static const char *const args[] = {
		"fast-import", "--quiet", "--done", "--force", "--depth=0", NULL
	};
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };
	char hex[AR_HASH_HEX];

	m->store = s;
	if (!ar_store_git_open(s, args, &m->git))
		return false;
	ar_buf_addf(&text, "commit refs/base%s%s\nmark :1\ncommitter agent-files <> 0 +0000\ndata 0\n",
		    s->label ? "s/" : "", s->label ? s->label : "");
	if (base) {
		ar_hash_hex(base, hex);
		ar_buf_addf(&text, "M 040000 %.*s \"\"\n", AR_HASH_HEX, hex);
	}
	(void)write_text(m, &text); /* one that has ended is noticed at the close */
	return true;
}

bool ar_import_put(struct ar_import *m, const struct ar_tree_entry *e, struct ar_str content)
{
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };

	ar_buf_addf(&text, "M %06o inline ", e->mode);
	ar_import_add_path(&text, e->path);
	ar_buf_addf(&text, "\ndata %zu\n", content.len);
	return write_text(m, &text) && ar_git_child_write(&m->git, content) &&
	       ar_git_child_write(&m->git, AR_STR("\n"));
}

bool ar_import_set(struct ar_import *m, struct ar_str path, uint32_t mode, struct ar_str object)
{
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };

	ar_buf_addf(&text, "M %06o %.*s ", mode, AR_STR_ARG(object));
	ar_import_add_path(&text, path);
	ar_buf_addc(&text, '\n');
	return write_text(m, &text);
}

bool ar_import_delete(struct ar_import *m, struct ar_str path)
{
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };

	ar_buf_addz(&text, "D ");
	ar_import_add_path(&text, path);
	ar_buf_addc(&text, '\n');
	return write_text(m, &text);
}

/* `040000 tree <id>\t`; of a tree without entries `missing `. */
static bool read_tree(struct ar_import *m, struct ar_hash *ret)
{
	struct ar_str line;

	if (!ar_git_child_write(&m->git, AR_STR("ls \"\"\n")) || !ar_git_child_flush(&m->git) ||
	    !ar_git_child_line(&m->git, &line))
		return false;
	if (ar_str_starts(line, AR_STR("missing")))
		line = AR_STR("040000 tree " EMPTY_TREE);
	return ar_str_starts(line, AR_STR("040000 tree ")) &&
	       ar_import_object(ar_str_sub(line, 12, AR_HASH_HEX), ret);
}

static void write_end(struct ar_import *m, bool keeps, const struct ar_hash *tree)
{
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };
	char hex[AR_HASH_HEX];

	ar_hash_hex(tree, hex);
	if (keeps)
		ar_buf_addf(&text, "\nreset refs/checkpoints/%s/%.*s\nfrom :1\n", m->store->session,
			    AR_HASH_HEX, hex);
	ar_buf_addz(&text, "\ndone\n");
	(void)write_text(m, &text);
}

bool ar_import_close(struct ar_import *m, bool keeps, struct ar_hash *ret_tree)
{
	bool is_ok = read_tree(m, ret_tree);

	if (is_ok)
		write_end(m, keeps, ret_tree);
	is_ok = ar_git_child_close(&m->git) && is_ok;
	if (!is_ok)
		ar_store_git_failed(m->store, &m->git);
	ar_git_child_fini(&m->git);
	return is_ok;
}

void ar_import_drop(struct ar_import *m)
{
	ar_git_child_kill(&m->git);
	(void)ar_git_child_close(&m->git);
	ar_git_child_fini(&m->git);
}
