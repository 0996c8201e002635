/* See inspector.h. */
#include "workspace/inspector.h"

#include "arena.h"
#include "beneath.h"
#include "hash.h"
#include "io/descriptor.h"
#include "mem.h"
#include "secrets.h"
#include "workspace/definition.h"
#include "workspace/mcp_file.h"
#include "workspace/read_text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEVELS_MAX 8 /* above the folder, to the root of its repository */
#define ENTRIES_MAX 24 /* of one folder of skills or agents */
#define TICK_MS 100

/* One run on its way through a thread, which writes only the second part. */
struct look {
	struct ar_list node;
	struct ar_host_inspector *owner;
	struct ar_inspect_run *run; /* NULL: answered before the thread was done */
	uint64_t started; /* of the loop's clock */
	uv_work_t work;
	char folder[PATH_MAX];
	struct ar_texts variables; /* of the workspace, in the arena */

	struct ar_arena arena;
	struct ar_inspect_item items[AR_INSPECT_ITEMS_MAX];
	size_t count;
	struct ar_buf text; /* of all instructions */
	size_t texts; /* files in it */
	const char *reason; /* why the nearest file is not used */
	struct ar_definition definitions[AR_INSPECT_ITEMS_MAX];
	size_t definition_count;
	size_t definition_bytes; /* of their texts */
	struct ar_server servers[AR_SERVERS_MAX];
	size_t server_count;
	struct ar_str servers_digest;
	bool is_read; /* the folder could be opened */
};

/* ---- one file ---- */

static struct ar_str digest_of(struct ar_arena *a, struct ar_str bytes)
{
	struct ar_hash hash = ar_hash_of(bytes);
	char hex[AR_HASH_HEX];

	ar_hash_hex(&hash, hex);
	return ar_arena_fmt(a, "sha256:%.*s", AR_HASH_HEX, hex);
}

/* Without a link on the way: what is behind one must not show. */
static bool is_there(int folder, const char *path)
{
	AR_AUTO(ar_fd_close) int fd = ar_beneath_open(folder, path, O_PATH | O_NOFOLLOW, false);

	return fd >= 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* What exists is listed, also if it cannot be read. NULL: it is not there, or the list is full. */
static struct ar_inspect_item *add_file(struct look *l, int folder, enum ar_inspect_kind kind,
					const char *path, struct ar_buf *ret)
{
	struct ar_inspect_item *item = &l->items[l->count];
	const char *reason;

	if (l->count == AR_INSPECT_ITEMS_MAX || !is_there(folder, path))
		return NULL;
	reason = ar_read_text(folder, path, ret);
	*item = (struct ar_inspect_item){ .kind = kind,
					  .path = ar_arena_str(&l->arena, ar_str_from(path)),
					  .bytes = (int64_t)ret->len };
	if (reason)
		item->reason = ar_str_from(reason);
	else
		item->digest = digest_of(&l->arena, ar_buf_str(ret));
	l->count++;
	return item;
}

static bool has_usable_server(const struct look *l)
{
	for (size_t i = 0; i < l->server_count; i++) {
		if (ar_str_absent(l->servers[i].reason))
			return true;
	}
	return false;
}

static void add_servers(struct look *l, int folder)
{
	AR_AUTO(ar_buf_fini) struct ar_buf bytes = { 0 };
	struct ar_inspect_item *item = add_file(l, folder, AR_INSPECT_MCP_SERVERS, ".mcp.json", &bytes);

	if (!item || !ar_str_absent(item->reason))
		return;
	l->servers_digest = item->digest;
	item->reason = ar_str_from(
		ar_mcp_file_read(ar_buf_str(&bytes), l->variables, &l->arena, l->servers, &l->server_count));
	if (ar_str_absent(item->reason) && !has_usable_server(l))
		item->reason = AR_STR("unusable: none of its servers can be started");
}

/* ---- instructions ---- */

/* Of several files each has a heading, so that the model can tell them apart. */
static void join_text(struct look *l, struct ar_str path, struct ar_str text)
{
	if (l->texts > 0)
		ar_buf_addf(&l->text, "\n\nInstructions of %.*s, further up:\n\n", AR_STR_ARG(path));
	ar_buf_adds(&l->text, text);
	l->texts++;
}

static void add_instructions(struct look *l, int folder, unsigned level)
{
	AR_AUTO(ar_buf_fini) struct ar_buf bytes = { 0 };
	struct ar_inspect_item *item = add_file(l, folder, AR_INSPECT_INSTRUCTIONS, l->owner->file, &bytes);

	if (!item)
		return;
	for (unsigned i = 0; i < level; i++)
		item->path = ar_arena_fmt(&l->arena, "../%.*s", AR_STR_ARG(item->path));
	if (ar_str_absent(item->reason) && l->text.len + bytes.len > AR_INSPECT_TEXT_MAX)
		item->reason = AR_STR("too_large: 64 KiB is allowed for all of them");
	if (ar_str_absent(item->reason))
		join_text(l, item->path, ar_buf_str(&bytes));
	else if (!l->reason)
		l->reason = item->reason.p;
}

static bool has_repository(int folder)
{
	struct stat st;

	return fstatat(folder, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The folder above, if it is of the same owner; -1: it is not, or there is none. */
static int open_above(int folder, uid_t owner)
{
	int fd = openat(folder, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat above, here;

	if (fd < 0)
		return -1;
	if (fstat(fd, &above) == 0 && fstat(folder, &here) == 0 && above.st_uid == owner &&
	    (above.st_dev != here.st_dev || above.st_ino != here.st_ino))
		return fd;
	ar_fd_close(&fd);
	return -1;
}

/* How many folders up the repository begins; 0: here, or there is none. */
static unsigned levels_to_repository(int folder, uid_t owner)
{
	AR_AUTO(ar_fd_close) int at = fcntl(folder, F_DUPFD_CLOEXEC, 0);

	for (unsigned level = 0; at >= 0 && level <= LEVELS_MAX; level++) {
		int above;

		if (has_repository(at))
			return level;
		above = open_above(at, owner);
		ar_fd_close(&at);
		at = above;
	}
	return 0;
}

static void add_all_instructions(struct look *l, int folder, uid_t owner)
{
	unsigned levels = levels_to_repository(folder, owner);
	AR_AUTO(ar_fd_close) int at = fcntl(folder, F_DUPFD_CLOEXEC, 0);

	for (unsigned level = 0; at >= 0 && level <= levels; level++) {
		int above;

		add_instructions(l, at, level);
		above = level < levels ? open_above(at, owner) : -1;
		ar_fd_close(&at);
		at = above;
	}
}

/* ---- skills and agents ---- */

static bool has_definition(const struct look *l, const struct ar_definition *d)
{
	for (size_t i = 0; i < l->definition_count; i++) {
		if (l->definitions[i].kind == d->kind && ar_str_eq(l->definitions[i].name, d->name))
			return true;
	}
	return false;
}

/* NULL: it is used. */
static const char *add_definition(struct look *l, const struct ar_inspect_item *item, struct ar_str file)
{
	struct ar_definition *d = &l->definitions[l->definition_count];
	const char *reason = ar_definition_read(item->kind, item->path, file, &l->arena, d);

	if (reason)
		return reason;
	if (has_definition(l, d))
		return "duplicate: another one before it has its name";
	if (l->definition_bytes + d->text.len > AR_INSPECT_DEFINITIONS_MAX)
		return "too_large: 512 KiB is allowed for all of them";
	l->definition_bytes += d->text.len;
	l->definition_count++;
	return NULL;
}

static void add_definition_file(struct look *l, int folder, enum ar_inspect_kind kind, const char *path)
{
	AR_AUTO(ar_buf_fini) struct ar_buf bytes = { 0 };
	struct ar_inspect_item *item = add_file(l, folder, kind, path, &bytes);

	if (item && ar_str_absent(item->reason))
		item->reason = ar_str_from(add_definition(l, item, ar_buf_str(&bytes)));
}

/* At most ENTRIES_MAX of them, in the order of the folder. */
static void add_definitions(struct look *l, int folder, enum ar_inspect_kind kind, const char *path)
{
	int fd = ar_beneath_open(folder, path, O_RDONLY | O_DIRECTORY, false);
	const char *names[ENTRIES_MAX];
	size_t count = fd < 0 ? 0 : ar_definition_names(fd, &l->arena, names, ENTRIES_MAX);

	for (size_t i = 0; i < count; i++) {
		const char *file = kind == AR_INSPECT_SKILL ? "/SKILL.md" : "";

		if (ar_definition_is_file(kind, names[i]))
			add_definition_file(l, folder, kind,
					    ar_arena_fmt(&l->arena, "%s/%s%s", path, names[i], file).p);
	}
}

/* ---- the thread ---- */

static void work(uv_work_t *w)
{
	struct look *l = AR_CONTAINER_OF(w, struct look, work);
	AR_AUTO(ar_fd_close) int fd = ar_fd_open_folder(l->folder);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return;
	l->is_read = true;
	if (*l->owner->file)
		add_all_instructions(l, fd, st.st_uid);
	add_servers(l, fd);
	add_definitions(l, fd, AR_INSPECT_SKILL, ".agents/skills");
	add_definitions(l, fd, AR_INSPECT_SKILL, ".claude/skills");
	add_definitions(l, fd, AR_INSPECT_AGENT, ".agents/agents");
	add_definitions(l, fd, AR_INSPECT_AGENT, ".claude/agents");
}

/* ---- the answer ---- */

static struct ar_str digest_of_items(struct look *l)
{
	AR_AUTO(ar_buf_fini) struct ar_buf all = { 0 };

	for (size_t i = 0; i < l->count; i++)
		ar_buf_addf(&all, "%d\t%.*s\t%.*s\n", (int)l->items[i].kind, AR_STR_ARG(l->items[i].path),
			    AR_STR_ARG(ar_str_absent(l->items[i].digest) ? l->items[i].reason
									 : l->items[i].digest));
	return digest_of(&l->arena, ar_buf_str(&all));
}

static const char *why_no_instructions(const struct look *l)
{
	if (l->reason)
		return l->reason;
	return *l->owner->file ? "not_found: there is no such file" : "off: context.instructions is empty";
}

static struct ar_str mask(struct look *l, struct ar_str text)
{
	if (ar_str_absent(text))
		return text;
	return ar_secrets_mask(l->owner->redactor, ar_arena_str(&l->arena, text).p, &l->arena);
}

/* The thread must not: the redactor is the loop's. */
static void mask_definitions(struct look *l)
{
	for (size_t i = 0; i < l->definition_count; i++) {
		struct ar_definition *d = &l->definitions[i];

		d->description = ar_str_utf8_prefix(mask(l, d->description), AR_DEFINITION_DESCRIPTION_MAX);
		d->text = mask(l, d->text);
	}
}

static void show_servers(struct look *l)
{
	for (size_t i = 0; i < l->server_count; i++) {
		struct ar_server *s = &l->servers[i];
		AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };

		ar_buf_adds(&text, ar_str_absent(s->command) ? s->url : s->command);
		for (size_t k = 0; k < s->args.count; k++)
			ar_buf_addf(&text, " %.*s", AR_STR_ARG(s->args.at[k]));
		s->shown = ar_str_utf8_prefix(mask(l, ar_buf_str(&text)), AR_SERVER_SHOWN_MAX);
	}
}

static void answer(struct look *l, const char *failure)
{
	struct ar_inspect_run *run = l->run;
	struct ar_inspected found = { .file = ar_str_from(l->owner->file) };

	if (failure) {
		found.reason = ar_str_from(failure);
	} else {
		found.items = l->items;
		found.count = l->count;
		found.digest = digest_of_items(l);
		mask_definitions(l);
		found.definitions = l->definitions;
		found.definition_count = l->definition_count;
		show_servers(l);
		found.servers = l->servers;
		found.server_count = l->server_count;
		found.servers_digest = l->servers_digest;
	}
	if (!failure && l->texts > 0) {
		ar_buf_addc(&l->text, 0);
		found.instructions = ar_secrets_mask(l->owner->redactor, l->text.p, &l->arena);
	} else if (!failure) {
		found.reason = ar_str_from(why_no_instructions(l));
	}
	l->run = NULL;
	run->on_done(run, &found);
}

static void on_worked(uv_work_t *w, int status AR_UNUSED)
{
	struct look *l = AR_CONTAINER_OF(w, struct look, work);

	if (l->run)
		answer(l, l->is_read ? NULL : "the folder cannot be opened, or a link is on its path");
	ar_list_del(&l->node);
	if (ar_list_empty(&l->owner->looks))
		uv_timer_stop(&l->owner->timer);
	ar_buf_fini(&l->text);
	ar_arena_fini(&l->arena);
	ar_free(l);
}

/* A file system that does not answer holds a thread, not the turn. */
static void on_tick(uv_timer_t *timer)
{
	struct ar_host_inspector *h = timer->data;

	AR_LIST_FOR_SAFE (it, &h->looks) {
		struct look *l = AR_CONTAINER_OF(it, struct look, node);

		if (l->run && uv_now(h->loop) - l->started >= AR_INSPECT_MS - TICK_MS)
			answer(l, "the folder did not answer in time");
	}
}

static void start(struct ar_inspector *i, struct ar_inspect_run *r)
{
	struct ar_host_inspector *h = AR_CONTAINER_OF(i, struct ar_host_inspector, port);
	struct look *l = ar_new0(sizeof(*l));

	l->owner = h;
	l->run = r;
	l->started = uv_now(h->loop);
	l->variables = ar_arena_texts(&l->arena, r->variables);
	if (r->folder.len < sizeof l->folder)
		memcpy(l->folder, r->folder.p, r->folder.len);
	if (ar_list_empty(&h->looks))
		uv_timer_start(&h->timer, on_tick, TICK_MS, TICK_MS);
	ar_list_push(&h->looks, &l->node);
	AR_ASSERT(uv_queue_work(h->loop, &l->work, work, on_worked) == 0);
}

/* ---- life ---- */

static void close_inspector(struct ar_inspector *i)
{
	struct ar_host_inspector *h = AR_CONTAINER_OF(i, struct ar_host_inspector, port);

	if (!h->loop)
		return;
	while (!ar_list_empty(&h->looks))
		uv_run(h->loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)&h->timer, NULL);
	h->loop = NULL;
}

static const struct ar_inspector_vtable vtable = { .start = start, .close = close_inspector };

void ar_host_inspector_open(uv_loop_t *loop, const char *file, const struct ar_redactor *redactor,
			    struct ar_host_inspector *ret)
{
	*ret = (struct ar_host_inspector){
		.port = { &vtable }, .loop = loop, .redactor = redactor, .file = file
	};
	ar_list_init(&ret->looks);
	uv_timer_init(loop, &ret->timer);
	ret->timer.data = ret;
}
