/* See checkpoints.h. The file is read twice: once for the signed notes, and line by line for the hashes of
 * single facts when a session is at hand; so memory grows with the checkpoints, not with the facts. The facts
 * come over the event stream, byte by byte as they are stored. One thread. */
#include "pack/checkpoints.h"
#include "base64.h"
#include "crypto/merkle.h"
#include "crypto/note.h"
#include "follow.h"
#include "mem.h"
#include "resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "agentruntime/"
#define LEAF_HEX 16 /* digits of the hash of a fact that a line has */

struct checkpoint {
	struct ar_str session, time;
	uint64_t size;
	struct ar_hash root;
	off_t at; /* of its line */
};

struct checkpoints {
	struct ar_ctl *c;
	FILE *file;
	uint8_t key[AR_SIGN_PUBLIC];
	struct ar_json_parser *json;
	char *line;
	size_t line_room;
	struct checkpoint *v;
	size_t count, room;
	size_t bad; /* lines that this key did not sign */
};

/* ---- the file ---- */

/* "agentruntime/SESSION\nSIZE\nROOT\ntime TIME\n" */
static bool parse_text(struct ar_arena *a, struct ar_str text, struct checkpoint *ret)
{
	struct ar_str name, size, root, time, bytes;

	text = ar_str_split(text, '\n', &name);
	text = ar_str_split(text, '\n', &size);
	text = ar_str_split(text, '\n', &root);
	ar_str_split(text, '\n', &time);
	if (!ar_str_starts(name, AR_STR(NAME)) || !ar_str_to_u64(size, &ret->size) || ret->size == 0 ||
	    !ar_base64_decode(a, root, &bytes) || bytes.len != AR_HASH_LEN)
		return false;
	memcpy(ret->root.b, bytes.p, AR_HASH_LEN);
	ret->session = ar_arena_str(a, ar_str_sub(name, sizeof(NAME) - 1, name.len));
	ret->time = ar_arena_str(a, ar_str_starts(time, AR_STR("time ")) ? ar_str_sub(time, 5, time.len)
									 : AR_STR("?"));
	return true;
}

static void add(struct checkpoints *k, const struct checkpoint *p)
{
	if (k->count == k->room) {
		k->room = k->room ? k->room * 2 : 64;
		k->v = ar_grow(k->v, k->room, sizeof(*k->v));
	}
	k->v[k->count++] = *p;
}

/* A line that a crash has cut is none; one with a signature that is not valid is a finding. */
static void take_line(struct checkpoints *k, struct ar_str line, off_t at, uint64_t number,
		      struct ar_str wanted)
{
	struct checkpoint p = { .at = at };
	struct ar_arena scratch = { 0 };
	struct ar_json doc;
	struct ar_str text;

	if (ar_json_parse(k->json, line, &doc, NULL) != AR_OK) {
		ar_ctl_note(k->c, "line %llu is not whole and is left out", (unsigned long long)number);
	} else if (!ar_note_open(&scratch, k->key, ar_api_str(doc, "checkpoint"), &text) ||
		   !parse_text(&k->c->arena, text, &p)) {
		k->bad++;
		ar_out_printf(&k->c->out, "line %llu: this key has not signed it\n",
			      (unsigned long long)number);
	} else if (ar_str_absent(wanted) || ar_str_eq(wanted, p.session)) {
		add(k, &p);
	}
	ar_arena_fini(&scratch);
}

static int by_session(const void *a, const void *b)
{
	const struct checkpoint *x = a, *y = b;
	int order = ar_str_cmp(x->session, y->session);

	if (order != 0)
		return order;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void read_file(struct checkpoints *k, struct ar_str wanted)
{
	uint64_t number = 0;
	off_t at = 0;
	ssize_t len;

	while ((len = getline(&k->line, &k->line_room, k->file)) > 0) {
		take_line(k, ar_str_trim((struct ar_str){ k->line, (size_t)len }, "\n"), at, ++number,
			  wanted);
		at += len;
	}
	if (k->count > 1)
		qsort(k->v, k->count, sizeof(*k->v), by_session);
}

/* ---- one session ---- */

struct run {
	struct checkpoints *k;
	const struct checkpoint *v; /* of the session, by size */
	size_t count, next; /* next: that the log has not come to */
	struct ar_merkle tree; /* of a log; that of a pack is its reader's */
	uint64_t seen; /* facts */
	struct ar_str leaves; /* of the next one */
	uint64_t until; /* facts that are read */
	uint64_t good; /* up to here the log is what it was */
	uint64_t first_other; /* fact with another hash; 0: none was seen */
	bool differs;
	bool is_unread; /* the rest of the log cannot be read: nothing is known of it */
	bool is_left; /* Ctrl-C */
};

static void load_leaves(struct run *r)
{
	struct checkpoints *k = r->k;
	struct ar_json doc;
	ssize_t len;

	r->leaves = AR_STR("");
	if (r->next == r->count || fseeko(k->file, r->v[r->next].at, SEEK_SET) != 0)
		return;
	len = getline(&k->line, &k->line_room, k->file);
	if (len > 0 && ar_json_parse(k->json, (struct ar_str){ k->line, (size_t)len }, &doc, NULL) == AR_OK &&
	    !ar_str_absent(ar_api_str(doc, "leaves")))
		r->leaves = ar_api_str(doc, "leaves");
}

/* What the checkpoint at hand has kept of this fact. */
static void compare_leaf(struct run *r, uint64_t sequence, const struct ar_hash *leaf)
{
	uint64_t size = r->v[r->next].size, listed = r->leaves.len / LEAF_HEX;
	char hex[AR_HASH_HEX];

	if (r->first_other || sequence > size || size - sequence >= listed)
		return;
	ar_hash_hex(leaf, hex);
	if (memcmp(r->leaves.p + (listed - 1 - (size - sequence)) * LEAF_HEX, hex, LEAF_HEX) != 0)
		r->first_other = sequence;
}

/* The tree has one fact more, with this hash. */
static void on_fact(void *arg, struct ar_merkle *tree, const struct ar_hash *leaf)
{
	struct run *r = arg;
	struct ar_hash root;

	if (r->differs || r->next == r->count)
		return;
	r->seen = tree->size;
	compare_leaf(r, tree->size, leaf);
	while (r->next < r->count && r->v[r->next].size == tree->size) {
		root = ar_merkle_root(tree);
		if (memcmp(root.b, r->v[r->next].root.b, AR_HASH_LEN) != 0) {
			r->differs = true;
			return;
		}
		r->good = tree->size;
		r->first_other = 0; /* the root is what was signed */
		r->next++;
		load_leaves(r);
	}
}

static bool on_event(void *arg, const struct ar_ctl_event *e)
{
	struct run *r = arg;
	struct ar_hash leaf;

	if (e->is_frame)
		return true;
	leaf = ar_merkle_leaf(&r->tree, e->json);
	ar_merkle_add(&r->tree, &leaf);
	on_fact(r, &r->tree, &leaf);
	return !r->differs && r->tree.size < r->until && r->next < r->count;
}

static bool on_interrupt(void *arg AR_UNUSED)
{
	return false;
}

/* How many facts the log has now; a session that does not exist has none. */
static void find_head(struct run *r)
{
	struct ar_ctl *c = r->k->c;
	struct ar_api_reply reply;
	struct ar_error err = { 0 };
	enum ar_status st =
		ar_api_try(c, "get_session", ar_resolve_body(c, "sessionId", r->v[0].session), &reply, &err);

	if (st == AR_OK && reply.http.status == 200)
		r->until = (uint64_t)ar_api_int(reply.doc, "asOfSequence");
	else if (st != AR_OK ||
		 !ar_str_is(ar_api_str(ar_json_get(reply.doc, "error"), "code"), "session_not_found"))
		r->is_unread = true;
	if (r->is_unread)
		ar_ctl_note(c, "%.*s: %.*s", AR_STR_ARG(r->v[0].session),
			    AR_STR_ARG(st == AR_OK ? ar_api_str(ar_json_get(reply.doc, "error"), "message")
						   : ar_str_from(err.msg)));
	ar_api_fini(&reply);
}

static void read_log(struct run *r)
{
	struct ar_ctl_follow f = { .ctl = r->k->c,
				   .session = r->v[0].session,
				   .is_extended = true,
				   .event = on_event,
				   .interrupted = on_interrupt,
				   .arg = r };

	if (r->until > 0) {
		enum ar_exit exit = ar_ctl_follow_run(&f);

		r->is_left = exit == AR_EXIT_INTERRUPTED;
		r->is_unread = exit != AR_EXIT_OK;
	}
	ar_ctl_follow_fini(&f);
}

static void print_result(struct run *r)
{
	struct ar_out *out = &r->k->c->out;
	const struct checkpoint *p = &r->v[r->next];

	ar_out_line(out, r->v[0].session);
	if (r->next == r->count) {
		ar_out_printf(out, "  ok  %zu checkpoints, %llu facts\n", r->count,
			      (unsigned long long)r->good);
		return;
	}
	if (!r->differs && r->is_unread)
		ar_out_printf(out, "  unknown  the log cannot be read beyond fact %llu; %llu were there at ",
			      (unsigned long long)r->seen, (unsigned long long)p->size);
	else if (!r->differs && r->seen == 0)
		ar_out_printf(out, "  gone  it had %llu facts at ", (unsigned long long)p->size);
	else if (!r->differs)
		ar_out_printf(out, "  differs  facts %llu to %llu are gone, which were there at ",
			      (unsigned long long)r->seen + 1, (unsigned long long)p->size);
	else if (r->first_other)
		ar_out_printf(out, "  differs  fact %llu is not the one that was there at ",
			      (unsigned long long)r->first_other);
	else
		ar_out_printf(out, "  differs  facts %llu to %llu are not those that were there at ",
			      (unsigned long long)r->good + 1, (unsigned long long)p->size);
	ar_out_line(out, p->time);
	ar_out_printf(out, "\n");
}

/* Whether the log begins as each of these says; false in *ret_goes_on: the user wants no more. */
static bool check_session(struct checkpoints *k, const struct checkpoint *v, size_t count, bool *ret_goes_on)
{
	struct run r = { .k = k, .v = v, .count = count };

	find_head(&r);
	load_leaves(&r);
	read_log(&r);
	if (!r.is_left)
		print_result(&r);
	ar_merkle_fini(&r.tree);
	*ret_goes_on = !r.is_left;
	return r.next == r.count;
}

/* ---- all of them ---- */

static enum ar_exit check_all(struct checkpoints *k)
{
	size_t sessions = 0, wrong = 0;
	bool goes_on = true;

	for (size_t from = 0, to; goes_on && from < k->count; from = to) {
		for (to = from + 1; to < k->count && ar_str_eq(k->v[to].session, k->v[from].session);)
			to++;
		sessions++;
		wrong += !check_session(k, k->v + from, to - from, &goes_on);
	}
	if (!goes_on)
		return AR_EXIT_INTERRUPTED;
	ar_out_printf(&k->c->out, "%zu sessions, %zu checkpoints: %zu ok, %zu with findings\n", sessions,
		      k->count, sessions - wrong, wrong);
	if (wrong + k->bad == 0)
		return AR_EXIT_OK;
	return ar_ctl_complain(k->c, AR_EXIT_FAILED, AR_STR("compare with a backup; see docs/evidence.md"),
			       wrong ? "logs are not what their checkpoints say"
				     : "lines of the file are not signed by this key");
}

/* The file and the key, opened; else why not has been said. */
static enum ar_exit open_file(struct checkpoints *k, struct ar_ctl *c, const char *file, const char *key)
{
	struct ar_str pem;

	*k = (struct checkpoints){ .c = c, .file = fopen(file, "re") };
	if (!k->file)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE, "'%s' cannot be read: %s", file,
				       strerror(errno));
	k->json = ar_json_parser_new();
	if (ar_pack_read(c, AT_FDCWD, key, &pem) && ar_sign_pem_read(pem, k->key))
		return AR_EXIT_OK;
	return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("name a copy of evidence.pem"),
			       "'%s' is no Ed25519 public key", key);
}

static void close_file(struct checkpoints *k)
{
	if (!k->file)
		return;
	ar_json_parser_free(k->json);
	ar_free(k->line);
	ar_free(k->v);
	fclose(k->file);
}

enum ar_exit ar_checkpoints_verify(struct ar_ctl *c, const char *file, const char *key, struct ar_str session)
{
	struct checkpoints k;
	enum ar_exit exit = open_file(&k, c, file, key);

	if (exit == AR_EXIT_OK) {
		read_file(&k, session);
		exit = k.count + k.bad ? check_all(&k)
				       : ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR_NONE,
							 "the file has no checkpoint of that");
	}
	close_file(&k);
	return exit;
}

/* ---- a pack ---- */

/* Those of facts that the pack has; they are in the order of their sizes. */
static size_t within(const struct checkpoints *k, uint64_t size)
{
	size_t count = 0;

	while (count < k->count && k->v[count].size <= size)
		count++;
	return count;
}

static enum ar_exit check_pack(struct checkpoints *k, int folder, uint64_t size)
{
	struct run r = { .k = k, .v = k->v, .count = within(k, size) };
	struct ar_pack_watch watch = { on_fact, &r };
	char root[AR_HASH_HEX];
	uint64_t seen;

	if (r.count < k->count)
		ar_ctl_note(k->c, "%zu checkpoints are of later facts than the pack has", k->count - r.count);
	if (r.count == 0 && k->bad == 0)
		return ar_ctl_complain(k->c, AR_EXIT_FAILED, AR_STR_NONE,
				       "the file has no checkpoint of facts that the pack has");
	load_leaves(&r);
	r.is_unread = !ar_pack_tree(folder, 0, &watch, root, &seen);
	if (r.count > 0 && (!k->c->is_json || r.next < r.count))
		print_result(&r);
	if (r.next == r.count && k->bad == 0)
		return AR_EXIT_OK;
	return ar_ctl_complain(k->c, AR_EXIT_FAILED, AR_STR("compare with a backup; see docs/evidence.md"),
			       r.next < r.count ? "the facts of the pack are not those of its checkpoints"
						: "lines of the file are not signed by this key");
}

enum ar_exit ar_checkpoints_verify_pack(struct ar_ctl *c, const char *file, const char *key, const char *path,
					const struct ar_pack_checked *pack)
{
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct checkpoints k = { 0 };
	enum ar_exit exit;

	if (folder < 0)
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR_NONE, "'%s' cannot be read: %s", path,
				       strerror(errno));
	exit = open_file(&k, c, file, key);
	if (exit == AR_EXIT_OK) {
		read_file(&k, pack->session);
		exit = check_pack(&k, folder, pack->size);
	}
	close_file(&k);
	close(folder);
	return exit;
}
