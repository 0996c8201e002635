/* `agentctl doctor`: looks at everything between this terminal and an answer, and says for each fault
 * what to do. A check writes one verdict; none depends on another, so one fault does not hide the next. */
#include "api.h"
#include "daemon.h"
#include "id.h"
#include "model.h"

#include <errno.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DISK_FAIL ((unsigned long long)64 << 20)
#define DISK_WARN ((unsigned long long)512 << 20)

enum level { LEVEL_OK, LEVEL_WARN, LEVEL_FAIL };

static const struct {
	const char *word;
	enum ar_style style;
} levels[] = {
	[LEVEL_OK] = { "ok", AR_STYLE_GREEN },
	[LEVEL_WARN] = { "warn", AR_STYLE_YELLOW },
	[LEVEL_FAIL] = { "fail", AR_STYLE_RED },
};

struct verdict {
	enum level level;
	struct ar_str message;
	struct ar_str next; /* absent when there is nothing to do */
};

#define VERDICT(lvl, advice, ...) \
	((struct verdict){ \
		.level = (lvl), .message = ar_arena_fmt(&c->arena, __VA_ARGS__), .next = (advice) })

/* ---- the folder ---- */

static struct verdict check_folder(struct ar_ctl *c)
{
	struct stat st;

	if (!c->data_dir)
		return VERDICT(LEVEL_FAIL, AR_STR("set HOME, AGENTD_DATA_DIR or --data-dir"),
			       "the data directory is not set");
	if (stat(c->data_dir, &st) != 0 && errno == ENOENT)
		return VERDICT(LEVEL_OK, AR_STR_NONE, "%s does not exist yet; the first start creates it",
			       c->data_dir);
	if (access(c->data_dir, R_OK | W_OK | X_OK) != 0 || !S_ISDIR(st.st_mode))
		return VERDICT(LEVEL_FAIL, AR_STR("give it to yourself, or name another with --data-dir"),
			       "%s is not a directory that you can write to", c->data_dir);
	if (st.st_mode & 077)
		return VERDICT(LEVEL_WARN, ar_arena_fmt(&c->arena, "chmod 700 %s", c->data_dir),
			       "%s is open to other users", c->data_dir);
	return VERDICT(LEVEL_OK, AR_STR_NONE, "%s", c->data_dir);
}

/* Of the folder or the nearest one above it that exists. */
static bool disk_of(struct ar_ctl *c, struct statvfs *ret)
{
	char *path = (char *)ar_ctl_strdup(c, ar_str_from(c->data_dir));

	while (statvfs(path, ret) != 0) {
		char *slash = strrchr(path, '/');

		if (!slash || slash == path)
			return statvfs("/", ret) == 0;
		*slash = '\0';
	}
	return true;
}

static struct verdict check_disk(struct ar_ctl *c)
{
	struct ar_str advice = AR_STR("free some disk space: without it nothing can be recorded");
	struct statvfs fs;
	unsigned long long room;
	enum level level;

	if (!c->data_dir || !disk_of(c, &fs))
		return VERDICT(LEVEL_WARN, AR_STR_NONE, "the free disk space cannot be read");
	room = (unsigned long long)fs.f_bavail * fs.f_frsize;
	level = room < DISK_FAIL ? LEVEL_FAIL : room < DISK_WARN ? LEVEL_WARN : LEVEL_OK;
	return VERDICT(level, level ? advice : AR_STR_NONE, "%llu MiB are free", room >> 20);
}

/* ---- the daemon ---- */

static struct verdict check_program(struct ar_ctl *c)
{
	const char *program = ar_daemon_program(c);
	struct ar_str says;

	if (!program)
		return VERDICT(LEVEL_WARN, AR_STR("put agentd next to agentctl or into a directory of PATH"),
			       "agentd is not found");
	says = ar_daemon_version(c, program);
	if (ar_str_absent(says))
		return VERDICT(LEVEL_FAIL, AR_STR("install it again"), "%s does not print its version",
			       program);
	if (!ar_str_ends(says, AR_STR(AR_VERSION)))
		return VERDICT(LEVEL_WARN, AR_STR("install both from the same release"),
			       "%s is %.*s, this is agentctl %s", program, AR_STR_ARG(says), AR_VERSION);
	return VERDICT(LEVEL_OK, AR_STR_NONE, "%.*s at %s", AR_STR_ARG(says), program);
}

static const char *group_of(struct ar_ctl *c, gid_t id)
{
	const struct group *g = getgrgid(id);

	return g ? ar_ctl_strdup(c, ar_str_from(g->gr_name))
		 : ar_ctl_strdup(c, ar_arena_fmt(&c->arena, "%u", (unsigned)id));
}

/* The daemon of the machine, say: whom it lets in is its own to judge (auth.socket). */
static struct verdict judge_other_socket(struct ar_ctl *c, const struct stat *st)
{
	const char *group = group_of(c, st->st_gid);

	if (access(c->socket, R_OK | W_OK) == 0)
		return VERDICT(LEVEL_OK, AR_STR_NONE,
			       "%s belongs to user %u and group %s, and you can open it", c->socket,
			       (unsigned)st->st_uid, group);
	return VERDICT(LEVEL_FAIL,
		       ar_arena_fmt(&c->arena, "join group %s and log in again, or use --url with a token",
				    group),
		       "%s belongs to user %u and group %s, and you cannot open it", c->socket,
		       (unsigned)st->st_uid, group);
}

static struct verdict check_socket(struct ar_ctl *c)
{
	struct stat st;

	if (!c->socket)
		return VERDICT(LEVEL_OK, AR_STR_NONE, "not used: %s", c->url);
	if (lstat(c->socket, &st) != 0)
		return VERDICT(LEVEL_OK, AR_STR_NONE, "%s does not exist; a daemon creates it", c->socket);
	if (!S_ISSOCK(st.st_mode))
		return VERDICT(LEVEL_FAIL, AR_STR("remove it, or name another with --socket"),
			       "%s is not a socket", c->socket);
	if (st.st_uid != getuid())
		return judge_other_socket(c, &st);
	if (st.st_mode & 07)
		return VERDICT(LEVEL_FAIL, ar_arena_fmt(&c->arena, "chmod 600 %s", c->socket),
			       "every user can open %s", c->socket);
	if (st.st_mode & 070)
		return VERDICT(LEVEL_OK, AR_STR_NONE, "%s; group %s can open it", c->socket,
			       group_of(c, st.st_gid));
	return VERDICT(LEVEL_OK, AR_STR_NONE, "%s", c->socket);
}

/* What it says itself of why it is not ready, and what helps against that. */
static struct verdict judge_unready(struct ar_ctl *c, const char *where, const struct ar_http_reply *reply)
{
	static const struct {
		const char *word, *next;
		enum level level;
	} rows[] = {
		{ "the store",
		  "check the free disk space, the database and the network to it; the log of agentd has the "
		  "cause",
		  LEVEL_FAIL },
		{ "memory",
		  "raise limits.memory_bytes, MemoryMax= or ulimit -v of agentd, or stop what runs; see "
		  "agentctl top",
		  LEVEL_FAIL },
		{ "joining", "ask again after a lease; agentctl node list shows who has what", LEVEL_WARN },
		{ "", "wait until it has stopped, then start it again", LEVEL_WARN },
	};
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_str reason = AR_STR_NONE;
	struct ar_json doc;
	size_t i = 0;

	if (ar_json_parse(parser, ar_buf_str(&reply->body), &doc, NULL) == AR_OK)
		reason = ar_arena_str(&c->arena, ar_api_str(doc, "reason"));
	ar_json_parser_free(parser);
	if (ar_str_absent(reason))
		reason = AR_STR("draining");
	while (!ar_str_starts(reason, ar_str_from(rows[i].word)))
		i++;
	return VERDICT(rows[i].level, ar_str_from(rows[i].next), "answers at %s, but is not ready: %.*s",
		       where, AR_STR_ARG(reason));
}

static struct verdict check_daemon(struct ar_ctl *c)
{
	struct verdict unready;
	struct ar_http_request r = ar_api_request(c, "/ready");
	struct ar_http_reply reply;
	struct ar_error err = { 0 };
	const char *where = c->socket ? c->socket : c->url;
	enum ar_status st;

	r.total_ms = 5000;
	st = ar_http_run(&r, &reply, &err);
	unready =
		st == AR_OK && reply.status != 200 ? judge_unready(c, where, &reply) : (struct verdict){ 0 };
	ar_buf_fini(&reply.body);
	if (st == AR_OK && reply.status == 200)
		return VERDICT(LEVEL_OK, AR_STR_NONE, "answers at %s and is ready", where);
	if (st == AR_OK)
		return unready;
	if (st == AR_E_UNAVAILABLE && c->socket && ar_daemon_program(c))
		return VERDICT(LEVEL_WARN, AR_STR("agentctl run starts it"), "none runs at %s", where);
	return VERDICT(LEVEL_FAIL, AR_STR("start agentd, or correct the address"), "%s: %s", where, err.msg);
}

/* ---- the settings ---- */

static void add_sentence(struct ar_buf *all, struct ar_str sentence)
{
	if (all->len > 0)
		ar_buf_addz(all, "; ");
	ar_buf_adds(all, sentence);
}

static struct verdict judge_sentences(struct ar_ctl *c, const struct ar_buf *all, enum level level)
{
	if (all->len == 0)
		return VERDICT(LEVEL_OK, AR_STR_NONE, "no problem was found");
	return VERDICT(level, AR_STR("correct it; `agentd check --secrets --config FILE` looks again"),
		       "%.*s", AR_STR_ARG(ar_buf_str(all)));
}

/* No daemon runs: its program says what one would start with. */
static struct verdict check_unused_settings(struct ar_ctl *c, const char *program)
{
	AR_AUTO(ar_buf_fini) struct ar_buf errors = { 0 };
	AR_AUTO(ar_buf_fini) struct ar_buf warnings = { 0 };
	bool is_good = false;
	struct ar_str rest = ar_daemon_check(c, program, &is_good), line;

	while (!ar_str_absent(rest) && rest.len > 0) {
		rest = ar_str_split(rest, '\n', &line);
		if (ar_str_starts(line, AR_STR("error: ")))
			add_sentence(&errors, ar_str_sub(line, strlen("error: "), line.len));
		else if (ar_str_starts(line, AR_STR("warning: ")))
			add_sentence(&warnings, ar_str_sub(line, strlen("warning: "), line.len));
	}
	if (errors.len == 0 && !is_good)
		return VERDICT(LEVEL_WARN, AR_STR_NONE, "agentd could not check them");
	return errors.len > 0 ? judge_sentences(c, &errors, LEVEL_FAIL)
			      : judge_sentences(c, &warnings, LEVEL_WARN);
}

static struct verdict check_settings(struct ar_ctl *c)
{
	AR_AUTO(ar_buf_fini) struct ar_buf all = { 0 };
	const char *program = ar_daemon_program(c);
	struct ar_api_reply reply;
	struct ar_error err = { 0 };
	enum ar_status st = ar_api_try(c, "get_settings", AR_STR("{}"), &reply, &err);
	struct verdict v = VERDICT(LEVEL_OK, AR_STR_NONE, "not checked: only the operator can read them");

	if (st == AR_OK && reply.http.status == 200) {
		for (struct ar_json_iter it = ar_json_iter(ar_json_get(reply.doc, "warnings"));
		     ar_json_next(&it);) {
			struct ar_str sentence;

			if (ar_json_str(it.value, &sentence))
				add_sentence(&all, sentence);
		}
		v = judge_sentences(c, &all, LEVEL_WARN);
	} else if (st == AR_E_UNAVAILABLE && c->socket && c->data_dir && program) {
		v = check_unused_settings(c, program);
	}
	ar_api_fini(&reply);
	return v;
}

/* ---- the other nodes ---- */

static struct verdict judge_nodes(struct ar_ctl *c, struct ar_json doc)
{
	struct ar_json nodes = ar_json_get(doc, "nodes");
	bool is_settled = false;
	int64_t owned = 0;

	if (ar_json_len(nodes) == 0)
		return VERDICT(LEVEL_OK, AR_STR_NONE, "the daemon is not part of a cluster");
	for (struct ar_json_iter it = ar_json_iter(nodes); ar_json_next(&it);)
		owned += ar_api_int(it.value, "partitions");
	ar_json_bool(ar_json_get(doc, "settled"), &is_settled);
	if (!is_settled)
		return VERDICT(LEVEL_FAIL, AR_STR("check the database and the network to it"),
			       "this node has not reached its database for a lease");
	if (owned < AR_PARTITIONS)
		return VERDICT(LEVEL_WARN,
			       AR_STR("ask again after a lease; `agentctl node list` shows who has what"),
			       "%lld of %d partitions have no owner", (long long)(AR_PARTITIONS - owned),
			       AR_PARTITIONS);
	return VERDICT(LEVEL_OK, AR_STR_NONE, "%zu, and every partition has an owner", ar_json_len(nodes));
}

static struct verdict check_nodes(struct ar_ctl *c)
{
	struct ar_api_reply reply;
	struct ar_error err = { 0 };
	struct verdict v = VERDICT(LEVEL_OK, AR_STR_NONE, "not checked: the daemon does not answer");

	if (ar_api_try(c, "nodes", AR_STR_NONE, &reply, &err) == AR_OK && reply.http.status == 200)
		v = judge_nodes(c, reply.doc);
	ar_api_fini(&reply);
	return v;
}

/* ---- the model ---- */

static struct verdict judge_model(struct ar_ctl *c, const struct ar_model_endpoint *m,
				  const struct ar_http_reply *reply)
{
	if (reply->status == 401 || reply->status == 403)
		return VERDICT(LEVEL_FAIL,
			       ar_arena_fmt(&c->arena, "set %s to a key that is valid there",
					    m->key_variable),
			       "%s refuses the key (HTTP %ld)", m->base_url, reply->status);
	if (reply->status != 200)
		return VERDICT(LEVEL_WARN,
			       ar_arena_fmt(&c->arena, "check %s%s", m->url_variable,
					    strcmp(m->url_variable, "OPENAI_BASE_URL") == 0
						    ? ": it goes up to and with /v1"
						    : ""),
			       "the list of models at %s answers HTTP %ld", m->base_url, reply->status);
	if (m->name && !ar_model_is_listed(ar_buf_str(&reply->body), m->name))
		return VERDICT(LEVEL_WARN, AR_STR("correct AGENTD_MODEL, or load that model"),
			       "%s does not list the model %s", m->base_url, m->name);
	return VERDICT(LEVEL_OK, AR_STR_NONE, "%s answers%s%s", m->base_url, m->name ? ", model " : "",
		       m->name ? m->name : "");
}

static struct verdict check_model(struct ar_ctl *c)
{
	struct ar_model_endpoint m;
	struct ar_http_reply reply;
	struct ar_error err = { 0 };
	struct verdict v;

	if (!ar_model_endpoint(c, &m))
		return VERDICT(
			LEVEL_WARN,
			AR_STR("set OPENAI_BASE_URL, OPENAI_API_KEY, ANTHROPIC_API_KEY or "
			       "GEMINI_API_KEY, then agentctl stop; or set model.base_url in the settings of "
			       "agentd"),
			"the environment names no model server");
	if (ar_model_list(c, &m, &reply, &err) == AR_OK)
		v = judge_model(c, &m, &reply);
	else
		v = VERDICT(LEVEL_FAIL,
			    ar_arena_fmt(&c->arena,
					 "start the model server, or correct %s and then agentctl stop",
					 m.url_variable),
			    "%s does not answer: %s", m.base_url, err.msg);
	ar_buf_fini(&reply.body);
	return v;
}

/* ---- together ---- */

static const struct {
	const char *name;
	struct verdict (*check)(struct ar_ctl *c);
} checks[] = {
	{ "folder", check_folder }, { "disk", check_disk },	{ "agentd", check_program },
	{ "socket", check_socket }, { "daemon", check_daemon }, { "settings", check_settings },
	{ "nodes", check_nodes },   { "model", check_model },
};

static void print_verdict(struct ar_ctl *c, const char *name, const struct verdict *v)
{
	ar_out_style(&c->out, levels[v->level].style);
	ar_out_printf(&c->out, "%-4s", levels[v->level].word);
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	ar_out_printf(&c->out, "  %-8s ", name);
	ar_out_line(&c->out, v->message);
	if (!ar_str_empty(v->next)) {
		ar_out_printf(&c->out, "\n      next: ");
		ar_out_line(&c->out, v->next);
	}
	ar_out_printf(&c->out, "\n");
}

static void add_verdict(struct ar_jw *w, const char *name, const struct verdict *v)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "name", ar_str_from(name));
	ar_jw_mstr(w, "status", ar_str_from(levels[v->level].word));
	ar_jw_mstr(w, "message", v->message);
	ar_jw_mstr(w, "next", v->next);
	ar_jw_close(w);
}

static enum ar_exit doctor(struct ar_ctl *c, const struct ar_ctl_args *a AR_UNUSED)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);
	bool has_failed = false;

	ar_jw_open(&w);
	ar_jw_key(&w, "checks");
	ar_jw_open_array(&w);
	for (size_t i = 0; i < AR_ARRAY_LEN(checks); i++) {
		struct verdict v = checks[i].check(c);

		has_failed = has_failed || v.level == LEVEL_FAIL;
		if (!c->is_json)
			print_verdict(c, checks[i].name, &v);
		add_verdict(&w, checks[i].name, &v);
	}
	ar_jw_close_array(&w);
	ar_jw_mbool(&w, "ok", !has_failed);
	ar_jw_close(&w);
	ar_buf_addc(&text, '\n');
	if (c->is_json)
		ar_out_text(&c->out, ar_buf_str(&text));
	else
		ar_ctl_note(c, "agentctl verify --all compares the stored sessions with their logs");
	ar_buf_fini(&text);
	return has_failed ? AR_EXIT_FAILED : AR_EXIT_OK;
}

const struct ar_ctl_command ar_cmd_doctor = {
	.name = "doctor",
	.synopsis = "",
	.summary = "check directory, disk, daemon, socket, settings, nodes and model",
	.text = "Checks everything that an answer needs, one line each: ok, warn or fail, and what to do "
		"next. If no\n"
		"daemon runs, it resolves secret references as a start would. It calls the model from here "
		"with the\n"
		"variables of this shell; a running daemon has those of its start. It does not check the "
		"stored sessions:\n"
		"use agentctl verify --all for that. Exits 1 if a check failed.",
	.examples = "agentctl doctor\n"
		    "agentctl doctor --json | jq '.checks[] | select(.status != \"ok\")'",
	.run = doctor,
};
