/* See acp.h: MCP servers that the editor brings to a session. They are programs of its user, outside of any
 * sandbox, as they are for the editor itself. This file starts and ends them, reads their lines and asks for
 * their tools; tool.c has the calls. */
#include "acp/acp.h"
#include "clock.h"
#include "io/descriptor.h"
#include "mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define VERSION "2025-06-18" /* of the Model Context Protocol */
#define READY_USEC 30000000 /* a prompt waits at most so long for a server that starts */
#define LINE_MAX ((size_t)4 << 20)
#define UNREAD_MAX ((size_t)4 << 20) /* bytes that a server has not read yet */
#define WORDS_MAX 512
#define GRACE_MS 1000
#define PAUSE_MS 10

extern char **environ;

static ar_usec now(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->mono(clock);
}

/* ---- starting ---- */

struct words {
	char *at[WORDS_MAX + 1];
	size_t count;
};

static bool add_word(struct ar_acp *a, struct words *w, struct ar_str text)
{
	if (w->count == WORDS_MAX || ar_str_absent(text) || memchr(text.p, '\0', text.len))
		return false;
	w->at[w->count++] = (char *)ar_ctl_strdup(a->ctl, text);
	return true;
}

/* What the editor sets comes first: the first of two variables with one name counts for getenv. */
static bool read_environment(struct ar_acp *a, struct ar_json config, struct words *env)
{
	bool is_good = true;

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(config, "env")); ar_json_next(&it);) {
		struct ar_str parts[] = { ar_api_str(it.value, "name"), AR_STR("="),
					  ar_api_str(it.value, "value") };

		is_good = is_good && !ar_str_empty(parts[0]) && !memchr(parts[0].p, '=', parts[0].len) &&
			  add_word(a, env, ar_arena_join(&a->ctl->arena, parts, AR_ARRAY_LEN(parts)));
	}
	for (char **e = environ; *e && is_good; e++)
		is_good = add_word(a, env, ar_str_from(*e));
	return is_good;
}

/* False: the editor did not give a program as the protocol has it. */
static bool read_program(struct ar_acp *a, struct ar_json config, struct words *argv, struct words *env)
{
	bool is_good = add_word(a, argv, ar_api_str(config, "command"));

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(config, "args")); ar_json_next(&it);) {
		struct ar_str word = AR_STR_NONE;

		ar_json_str(it.value, &word);
		is_good = is_good && add_word(a, argv, word);
	}
	return is_good && read_environment(a, config, env);
}

/* A group of its own: what it starts ends with it. Its standard error is ours. Returns errno. */
static int spawn_in(struct ar_acp_server *v, const int fds[2], const char *cwd, const struct words *argv,
		    const struct words *env)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t defaults;
	int error;

	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, fds[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&files, fds[1], STDOUT_FILENO);
	posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	posix_spawn_file_actions_addchdir_np(&files, cwd);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	error = posix_spawnp(&v->pid, argv->at[0], &files, &attr, argv->at, env->at);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return error;
}

static int start_program(struct ar_acp_server *v, const char *cwd, const struct words *argv,
			 const struct words *env)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, error;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		error = errno;
	else
		error = spawn_in(v, (int[]){ in[0], out[1] }, cwd, argv, env);
	ar_fd_close(&in[0]);
	ar_fd_close(&out[1]);
	if (error) {
		ar_fd_close(&in[1]);
		ar_fd_close(&out[0]);
		return error;
	}
	v->to = in[1];
	v->from = out[0];
	fcntl(v->to, F_SETFL, O_NONBLOCK);
	fcntl(v->from, F_SETFL, O_NONBLOCK);
	return 0;
}

/* ---- messages ---- */

/* What does not fit into the pipe waits for the next round. */
static void flush_server(struct ar_acp_server *v)
{
	ssize_t n = v->unread.len ? write(v->to, v->unread.p, v->unread.len) : 0;

	if (n > 0)
		ar_buf_eat(&v->unread, (size_t)n);
}

struct ar_jw ar_acp_server_begin(struct ar_acp_server *v, const char *method, int64_t *ret_id)
{
	struct ar_jw w = ar_jw(&v->unread);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "jsonrpc", AR_STR("2.0"));
	if (ret_id) {
		*ret_id = ++v->last_request;
		ar_jw_mint(&w, "id", *ret_id);
	}
	ar_jw_mstr(&w, "method", ar_str_from(method));
	ar_jw_key(&w, "params");
	ar_jw_open(&w);
	return w;
}

void ar_acp_server_end(struct ar_acp_server *v, struct ar_jw *w)
{
	ar_jw_close(w);
	ar_jw_close(w);
	ar_buf_addc(&v->unread, '\n');
	flush_server(v);
}

static void say_hello(struct ar_acp_server *v)
{
	struct ar_jw w = ar_acp_server_begin(v, "initialize", &v->hello);

	ar_jw_mstr(&w, "protocolVersion", AR_STR(VERSION));
	ar_jw_key(&w, "capabilities");
	ar_jw_open(&w);
	ar_jw_close(&w);
	ar_jw_key(&w, "clientInfo");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "name", AR_STR("agentctl"));
	ar_jw_mstr(&w, "version", AR_STR(AR_VERSION));
	ar_jw_close(&w);
	ar_acp_server_end(v, &w);
}

static void ask_tools(struct ar_acp_server *v, struct ar_str cursor)
{
	struct ar_jw w = ar_acp_server_begin(v, "tools/list", &v->list);

	ar_jw_mstr(&w, "cursor", cursor);
	ar_acp_server_end(v, &w);
}

static void on_hello(struct ar_acp_server *v)
{
	struct ar_jw w = ar_acp_server_begin(v, "notifications/initialized", NULL);

	ar_acp_server_end(v, &w);
	ask_tools(v, AR_STR_NONE);
}

static void on_tools(struct ar_acp_session *s, struct ar_acp_server *v, struct ar_json result)
{
	struct ar_str next = ar_api_str(result, "nextCursor");
	bool has_room = true;

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(result, "tools")); ar_json_next(&it);)
		has_room = ar_acp_tool_add(s, v, it.value);
	v->is_ready = ar_str_empty(next) || !has_room || !ar_json_len(ar_json_get(result, "tools"));
	if (!v->is_ready)
		ask_tools(v, next);
}

/* We offer nothing to servers but that we are there. */
static void answer_server(struct ar_acp_server *v, struct ar_json id, struct ar_str method)
{
	struct ar_jw w = ar_jw(&v->unread);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "jsonrpc", AR_STR("2.0"));
	ar_jw_key(&w, "id");
	ar_json_print(id, &v->unread);
	w.comma = true;
	if (ar_str_is(method, "ping"))
		ar_jw_mraw(&w, "result", AR_STR("{}"));
	else
		ar_jw_mraw(&w, "error", AR_STR("{\"code\":-32601,\"message\":\"not supported\"}"));
	ar_jw_close(&w);
	ar_buf_addc(&v->unread, '\n');
	flush_server(v);
}

/* What is no message is passed over: many servers print to standard output. */
static void take_line(struct ar_acp_session *s, struct ar_acp_server *v, struct ar_str line)
{
	struct ar_json doc, id;
	struct ar_str method;
	int64_t number = 0;

	if (ar_json_parse(v->parser, line, &doc, NULL) != AR_OK)
		return;
	id = ar_json_get(doc, "id");
	method = ar_api_str(doc, "method");
	ar_json_i64(id, &number);
	if (!ar_str_absent(method) && ar_json_type(id) != AR_JSON_NONE)
		answer_server(v, id, method);
	else if (number && number == v->hello)
		on_hello(v);
	else if (number && number == v->list && !v->is_ready)
		on_tools(s, v, ar_json_get(doc, "result"));
	else if (number)
		ar_acp_tool_answer(s, v, number, doc);
}

static void take_bytes(struct ar_acp_session *s, struct ar_acp_server *v, struct ar_str bytes)
{
	while (bytes.len) {
		const char *end = memchr(bytes.p, '\n', bytes.len);
		struct ar_str piece = ar_str_sub(bytes, 0, end ? (size_t)(end - bytes.p) : bytes.len);

		ar_buf_adds(&v->line, piece);
		if (!end)
			return;
		take_line(s, v, ar_buf_str(&v->line));
		ar_buf_clear(&v->line);
		bytes = ar_str_sub(bytes, piece.len + 1, bytes.len);
	}
}

static void read_server(struct ar_acp_session *s, struct ar_acp_server *v)
{
	char bytes[65536];
	ssize_t n = read(v->from, bytes, sizeof(bytes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		take_bytes(s, v, (struct ar_str){ bytes, (size_t)n });
	if (n <= 0 || v->line.len > LINE_MAX || v->unread.len > UNREAD_MAX)
		ar_acp_server_stop(s, v);
}

/* ---- life ---- */

static const char *start_one(struct ar_acp_session *s, struct ar_acp_server *v, struct ar_json config)
{
	struct words *argv = ar_arena_alloc(&s->acp->ctl->arena, sizeof(*argv));
	struct words *env = ar_arena_alloc(&s->acp->ctl->arena, sizeof(*env));
	struct ar_str type = ar_api_str(config, "type"), name = ar_api_str(config, "name");
	int error;

	if (!ar_str_absent(type) && !ar_str_is(type, "stdio"))
		return "it is no program: only servers on standard input and output are supported";
	if (ar_str_empty(name) || !read_program(s->acp, config, argv, env))
		return "name, command, args and env are needed, without NUL bytes, at most 512 together";
	error = start_program(v, ar_ctl_strdup(s->acp->ctl, ar_buf_str(&s->cwd)), argv, env);
	if (error)
		return strerror(error);
	ar_buf_adds(&v->name, name);
	v->parser = ar_json_parser_new();
	v->until = now() + READY_USEC;
	say_hello(v);
	return NULL;
}

const char *ar_acp_servers_start(struct ar_acp_session *s, struct ar_json configs)
{
	const char *reason = NULL;
	size_t count = 0;

	ar_acp_servers_stop(s);
	if (s->acp->ignores_servers)
		return NULL;
	if (ar_json_len(configs) > AR_ACP_SERVERS)
		return "a session has at most 8 MCP servers";
	for (struct ar_json_iter it = ar_json_iter(configs); !reason && ar_json_next(&it); count++)
		reason = start_one(s, &s->servers[count], it.value);
	if (reason)
		ar_acp_servers_stop(s);
	return reason;
}

static void end_process(pid_t pid)
{
	int left = GRACE_MS;

	kill(-pid, SIGTERM);
	while (waitpid(pid, NULL, WNOHANG) == 0 && left > 0) {
		poll(NULL, 0, PAUSE_MS);
		left -= PAUSE_MS;
	}
	kill(-pid, SIGKILL);
	if (left <= 0)
		waitpid(pid, NULL, 0);
}

void ar_acp_server_stop(struct ar_acp_session *s, struct ar_acp_server *v)
{
	if (!v->pid)
		return;
	close(v->to);
	close(v->from);
	end_process(v->pid);
	v->pid = 0;
	ar_acp_tools_fail(s, v);
	ar_json_parser_free(v->parser);
	ar_buf_fini(&v->line);
	ar_buf_fini(&v->unread);
}

void ar_acp_servers_stop(struct ar_acp_session *s)
{
	for (size_t i = 0; i < AR_ACP_SERVERS; i++) {
		ar_acp_server_stop(s, &s->servers[i]);
		ar_acp_tools_free(&s->servers[i]);
		ar_buf_fini(&s->servers[i].name);
		s->servers[i] = (struct ar_acp_server){ 0 };
	}
}

bool ar_acp_servers_wait(const struct ar_acp_session *s)
{
	for (size_t i = 0; i < AR_ACP_SERVERS; i++) {
		if (s->servers[i].pid && !s->servers[i].is_ready && s->servers[i].until > now())
			return true;
	}
	return false;
}

size_t ar_acp_servers_watch(struct ar_acp *a, struct ar_http_watch *to, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < AR_ACP_SESSIONS * AR_ACP_SERVERS && count < max; i++) {
		struct ar_acp_session *s = a->sessions[i / AR_ACP_SERVERS];
		struct ar_acp_server *v = s ? &s->servers[i % AR_ACP_SERVERS] : NULL;

		if (v && v->pid)
			to[count++] = (struct ar_http_watch){ .fd = v->from };
	}
	return count;
}

void ar_acp_servers_read(struct ar_acp *a)
{
	for (size_t i = 0; i < AR_ACP_SESSIONS * AR_ACP_SERVERS; i++) {
		struct ar_acp_session *s = a->sessions[i / AR_ACP_SERVERS];
		struct ar_acp_server *v = s ? &s->servers[i % AR_ACP_SERVERS] : NULL;

		if (!v || !v->pid)
			continue;
		flush_server(v);
		read_server(s, v);
	}
}
