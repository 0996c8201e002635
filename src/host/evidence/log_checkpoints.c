/* See log_checkpoints.h.
 *
 *   tick -> changed session -> pages of its log into its tree -> line -> next session ... -> write the lines
 *
 * One page and one write are under way at a time; a tick has a budget of pages. Trees of the sessions that
 * changed last are kept, so that only new facts are read; other trees are made again from the first fact. */
#include "evidence/log_checkpoints.h"
#include "base64.h"
#include "crypto/merkle.h"
#include "crypto/note.h"
#include "evidence/checkpoint_post.h"
#include "evidence/checkpoint_sink.h"
#include "host_priv.h"
#include "identity.h"
#include "list.h"
#include "map.h"
#include "mem.h"

#include <string.h>
#include <sys/un.h>

#define PAGE_BYTES ((size_t)256 * 1024)
#define PAGES 64 /* of a tick */
#define PENDING_MAX ((size_t)1024 * 1024) /* bytes that wait to be written: then no more is read */
#define TREES_MAX 1024 /* sessions whose tree is kept */
#define LEAVES_MAX 4096 /* of one checkpoint */
#define LEAF_HEX 16 /* digits: enough to find the place; what proves is the root */

struct entry {
	struct ar_list node; /* of changed or of kept */
	char key[AR_SESSION_KEY_LEN];
	uint64_t head; /* newest fact that is known to be stored */
	bool is_changed, has_checkpoint; /* the latter: of this process */
	struct ar_merkle *tree; /* NULL: not begun */
	struct ar_buf leaves; /* since the last checkpoint, LEAF_HEX each */
};

struct ar_log_checkpoints {
	struct ar_host *host;
	uv_timer_t timer;
	struct ar_map by_key;
	struct ar_list changed, kept; /* oldest first */
	size_t kept_count;
	size_t pages; /* that this tick may still read */
	struct entry *reading; /* whose page is on its way; NULL: none */
	struct ar_store_read read;
	struct ar_checkpoint_sink sink;
	struct ar_checkpoint_post *post; /* NULL: nobody gets them by request */
	bool is_writing, has_failed, is_closing;
};

static void advance(struct ar_log_checkpoints *k);

/* ---- sessions ---- */

static void entry_free(struct ar_log_checkpoints *k, struct entry *e)
{
	ar_map_del(&k->by_key, (struct ar_str){ e->key, AR_SESSION_KEY_LEN });
	ar_list_del(&e->node);
	ar_buf_fini(&e->leaves);
	if (e->tree)
		ar_merkle_fini(e->tree);
	ar_free(e->tree);
	ar_free(e);
}

static void keep_tree(struct ar_log_checkpoints *k, struct entry *e)
{
	e->is_changed = false;
	ar_list_del(&e->node);
	ar_list_push(&k->kept, &e->node);
	if (++k->kept_count <= TREES_MAX)
		return;
	k->kept_count--;
	entry_free(k, AR_CONTAINER_OF(k->kept.next, struct entry, node));
}

void ar_log_checkpoints_committed(struct ar_log_checkpoints *k, const struct ar_session *s)
{
	struct entry *e = ar_map_get(&k->by_key, s->session_key);

	if (!e) {
		e = ar_new0(sizeof(*e));
		memcpy(e->key, s->session_key.p, AR_SESSION_KEY_LEN);
		ar_list_init(&e->node);
		ar_map_put(&k->by_key, (struct ar_str){ e->key, AR_SESSION_KEY_LEN }, e);
	} else if (!e->is_changed) {
		k->kept_count--;
	}
	e->head = s->head;
	if (e->is_changed)
		return;
	e->is_changed = true;
	ar_list_del(&e->node);
	ar_list_push(&k->changed, &e->node);
}

/* ---- a checkpoint ---- */

static struct ar_str note_of(struct ar_log_checkpoints *k, struct entry *e, struct ar_arena *a)
{
	struct ar_hash root = ar_merkle_root(e->tree);
	char now[AR_TIME_TEXT];
	struct ar_str name =
		ar_arena_fmt(a, "agentruntime/%.*s",
			     AR_STR_ARG(
				     ar_id_root(a, "sess", (struct ar_str){ e->key, AR_SESSION_KEY_LEN })));
	struct ar_str text =
		ar_arena_fmt(a, "%.*s\n%llu\n%.*s\ntime %s\n", AR_STR_ARG(name),
			     (unsigned long long)e->tree->size,
			     AR_STR_ARG(ar_base64(a, (struct ar_str){ (const char *)root.b, AR_HASH_LEN })),
			     ar_time_format(ar_clock_system()->wall(ar_clock_system()), now).p);

	return ar_note_sign(a, ar_evidence_key_use(&k->host->evidence_key), name, text);
}

static void add_line(struct ar_buf *out, struct ar_str note, struct ar_str leaves, char end)
{
	ar_checkpoint_write(out, note, leaves);
	ar_buf_addc(out, end);
}

static void make_checkpoint(struct ar_log_checkpoints *k, struct entry *e)
{
	struct ar_arena a = { 0 };
	struct ar_str note = note_of(k, e, &a);

	if (*k->sink.file)
		add_line(&k->sink.lines, note, ar_buf_str(&e->leaves), '\n');
	if (*k->sink.socket)
		add_line(&k->sink.messages, note, AR_STR(""), '\0');
	if (k->post)
		ar_checkpoint_post_add(k->post, note, ar_buf_str(&e->leaves));
	ar_buf_clear(&e->leaves);
	e->has_checkpoint = true;
	ar_arena_fini(&a);
}

/* ---- facts ---- */

/* Of a log that this process has not seen before, hashes of the older facts are not written again. */
static void add_fact(struct ar_log_checkpoints *k, struct entry *e, struct ar_str line)
{
	struct ar_hash leaf = ar_merkle_leaf(e->tree, line);
	char hex[AR_HASH_HEX];

	if (e->leaves.len >= (size_t)LEAVES_MAX * LEAF_HEX) {
		if (e->has_checkpoint)
			make_checkpoint(k, e);
		ar_buf_clear(&e->leaves);
	}
	ar_merkle_add(e->tree, &leaf);
	ar_hash_hex(&leaf, hex);
	ar_buf_add(&e->leaves, hex, LEAF_HEX);
}

/* False: it does not follow what the tree has. */
static bool add_row(struct ar_log_checkpoints *k, struct entry *e, const struct ar_store_row *row)
{
	struct ar_str rest = row->body, line;
	uint64_t sequence = row->first_seq;

	if (sequence > e->tree->size + 1)
		return false;
	while (!ar_str_empty(rest)) {
		rest = ar_str_split(rest, '\n', &line);
		if (ar_str_empty(line))
			continue;
		if (sequence++ > e->tree->size)
			add_fact(k, e, line);
	}
	return true;
}

static void add_page(struct ar_log_checkpoints *k, struct entry *e)
{
	uint64_t before = e->tree->size;

	for (size_t i = 0; i < k->read.row_count; i++) {
		if (!add_row(k, e, &k->read.rows[i]))
			break;
	}
	if (e->tree->size > before)
		return;
	/* Not there, though it was committed: a reader of it reports the damage. */
	ar_log_line(&k->host->start->log, "error", "a log has no checkpoint: facts of it are missing", NULL);
	entry_free(k, e);
}

static void on_page(struct ar_store_op *op)
{
	struct ar_log_checkpoints *k = AR_CONTAINER_OF(op, struct ar_log_checkpoints, read.op);
	struct entry *e = k->reading;

	k->reading = NULL;
	if (!k->is_closing && op->status == AR_OK)
		add_page(k, e);
	else if (!k->is_closing && op->status == AR_E_NOT_FOUND)
		entry_free(k, e); /* removed by retention */
	else
		k->pages = 0; /* the store is out: at the next tick */
	ar_store_op_fini(op);
	if (!k->is_closing)
		advance(k);
}

static void read_page(struct ar_log_checkpoints *k, struct entry *e)
{
	if (!e->tree)
		e->tree = ar_new0(sizeof(*e->tree));
	k->pages--;
	k->reading = e;
	k->read = (struct ar_store_read){ .op = { .kind = AR_STORE_READ, .done = on_page },
					  .session = { e->key, AR_SESSION_KEY_LEN },
					  .from = e->tree->size + 1,
					  .max_bytes = PAGE_BYTES };
	ar_store_submit(k->host->store, &k->read.op);
}

/* ---- what is next ---- */

static void on_written(struct ar_checkpoint_sink *s)
{
	struct ar_log_checkpoints *k = AR_CONTAINER_OF(s, struct ar_log_checkpoints, sink);
	bool has_failed = s->why[0] != '\0';

	k->is_writing = false;
	if (k->is_closing)
		return;
	if (has_failed && !k->has_failed)
		ar_log_line(&k->host->start->log, "error", "checkpoints of logs cannot be written", s->why);
	if (!has_failed && k->has_failed)
		ar_log_line(&k->host->start->log, "info", "checkpoints of logs are written again", NULL);
	k->has_failed = has_failed;
	if (!has_failed)
		advance(k);
}

static void advance(struct ar_log_checkpoints *k)
{
	while (!k->reading && !k->is_writing && !ar_list_empty(&k->changed) && k->pages > 0 &&
	       k->sink.lines.len + k->sink.messages.len < PENDING_MAX) {
		struct entry *e = AR_CONTAINER_OF(k->changed.next, struct entry, node);

		if (!e->tree || e->tree->size < e->head) {
			read_page(k, e);
			return;
		}
		make_checkpoint(k, e);
		keep_tree(k, e);
	}
	if (!k->reading && !k->is_writing && k->sink.lines.len + k->sink.messages.len > 0) {
		k->is_writing = true;
		ar_checkpoint_sink_write(&k->sink, k->host->loop);
	}
	if (!k->reading && k->post)
		ar_checkpoint_post_send(k->post);
}

static void on_tick(uv_timer_t *timer)
{
	struct ar_log_checkpoints *k = timer->data;

	k->pages = PAGES;
	advance(k);
}

/* ---- life ---- */

enum ar_status ar_log_checkpoints_check(const struct ar_config *c, struct ar_error *err)
{
	const char *file = c->evidence.checkpoint_file, *socket = c->evidence.checkpoint_syslog;

	if ((*file && *file != '/') || (*socket && *socket != '/'))
		return ar_fail(err, AR_E_INVALID,
			       "evidence.checkpoint_file and evidence.checkpoint_syslog are whole paths, "
			       "from / on");
	if (strlen(socket) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return ar_fail(err, AR_E_INVALID, "the path of evidence.checkpoint_syslog is too long");
	return ar_checkpoint_post_check(c, err);
}

enum ar_status ar_log_checkpoints_open(struct ar_host *r, const struct ar_config *c, struct ar_error *err)
{
	struct ar_log_checkpoints *k;
	uint64_t every = (uint64_t)c->evidence.checkpoint_interval_ms;

	if (ar_log_checkpoints_check(c, err) != AR_OK)
		return err->status;
	if (!*c->evidence.checkpoint_file && !*c->evidence.checkpoint_syslog && !*c->evidence.checkpoint_url)
		return AR_OK;
	if (*c->evidence.checkpoint_url && !*c->evidence.checkpoint_secret)
		return ar_fail(err, AR_E_INVALID, "evidence.checkpoint_url needs evidence.checkpoint_secret");
	k = r->log_checkpoints = ar_new0(sizeof(*k));
	k->host = r;
	k->sink.file = c->evidence.checkpoint_file;
	k->sink.socket = c->evidence.checkpoint_syslog;
	k->sink.done = on_written;
	if (*c->evidence.checkpoint_url)
		k->post = ar_checkpoint_post_open(r->loop, &r->start->log, c);
	ar_list_init(&k->changed);
	ar_list_init(&k->kept);
	uv_timer_init(r->loop, &k->timer);
	k->timer.data = k;
	uv_timer_start(&k->timer, on_tick, every, every);
	return AR_OK;
}

void ar_log_checkpoints_close(struct ar_log_checkpoints *k)
{
	if (!k)
		return;
	k->is_closing = true;
	uv_close((uv_handle_t *)&k->timer, NULL);
	ar_checkpoint_post_close(k->post);
}

static void free_all(struct ar_log_checkpoints *k, struct ar_list *list)
{
	while (!ar_list_empty(list))
		entry_free(k, AR_CONTAINER_OF(list->next, struct entry, node));
}

void ar_log_checkpoints_free(struct ar_log_checkpoints *k)
{
	if (!k)
		return;
	free_all(k, &k->changed);
	free_all(k, &k->kept);
	ar_map_fini(&k->by_key);
	ar_store_op_fini(&k->read.op);
	ar_checkpoint_sink_fini(&k->sink);
	ar_checkpoint_post_free(k->post);
	ar_free(k);
}
