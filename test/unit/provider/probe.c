/* Runs model calls through a provider and prints every callback as a line of JSON, so that a script can judge
 * the provider against real servers. One argument, a JSON object:
 *   baseUrl, prompt   required
 *   format            the wire format, openai-chat unless given; version  of its API
 *   apiKey, caFile, connectMs, firstByteMs, idleMs, totalMs, maxOutputBytes as in struct
 *   ar_http_provider_options
 *   turn              turn id; with several calls "-<n>" is appended
 *   options           options of the turn, as a string
 *   tools             with one tool for the model; echo what the answer before the tool's result wanted back
 *   toolResult        adds an assistant message with a tool call and this answer to it
 *   calls, oneByOne   how many calls, and whether each waits for the one before
 *   cancelAfter       cancels from inside the n-th output;  cancelAtMs  cancels from a timer
 *   closeAtMs         closes the provider with its calls open
 *   stallMs           blocks the loop that long inside the 12th output of the last call
 *   padBytes          lengthens the prompt with that many spaces
 * It aborts when the provider breaks its contract: a callback before start() returned, an output after
 * cancel(), a second end, a call without end. */
#include "http_provider.h"
#include "json.h"
#include "mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct probe_call {
	struct ar_model_call call;
	struct ar_model_request request;
	struct probe *owner;
	char turn[64];
	int64_t number, outputs;
	bool started, cancelled, done;
};

struct probe {
	struct ar_provider *provider;
	uv_loop_t loop;
	uv_timer_t timer;
	struct ar_json config;
	struct ar_buf prompt;
	struct ar_message messages[3];
	struct ar_tool_use use;
	struct ar_tool tool;
	struct probe_call *calls;
	int64_t count, next, ended;
	bool one_by_one;
};

static const char *const outcome_names[] = {
	[AR_MODEL_COMPLETED] = "completed", [AR_MODEL_REJECTED] = "rejected",
	[AR_MODEL_FAILED] = "failed",	    [AR_MODEL_CUT] = "cut",
	[AR_MODEL_TIMEOUT] = "timeout",	    [AR_MODEL_CANCELLED] = "cancelled",
	[AR_MODEL_GARBLED] = "garbled",	    [AR_MODEL_UNREACHABLE] = "unreachable",
};

static const char *const kind_names[] = {
	[AR_OUT_TEXT] = "text",
	[AR_OUT_REASONING] = "reasoning",
	[AR_OUT_TOOL_ARGS] = "args",
};

static int64_t number(const struct probe *p, const char *name, int64_t otherwise)
{
	ar_json_i64(ar_json_get(p->config, name), &otherwise);
	return otherwise;
}

static struct ar_str text(const struct probe *p, const char *name)
{
	struct ar_str s = AR_STR_NONE;

	ar_json_str(ar_json_get(p->config, name), &s);
	return s;
}

static struct ar_jw line_open(struct ar_buf *line, const struct probe_call *c, const char *on)
{
	struct ar_jw w = ar_jw(line);

	AR_ASSERT(c->started && !c->done);
	ar_jw_open(&w);
	ar_jw_mint(&w, "call", c->number);
	ar_jw_mstr(&w, "on", ar_str_from(on));
	return w;
}

static void line_close(struct ar_jw *w, struct ar_buf *line)
{
	ar_jw_close(w);
	ar_buf_addc(line, '\n');
	fwrite(line->p, 1, line->len, stdout);
	ar_buf_fini(line);
}

static void cancel(struct probe_call *c)
{
	c->cancelled = true;
	c->owner->provider->v->cancel(c->owner->provider, &c->call);
}

static void count_output(struct probe_call *c)
{
	AR_ASSERT(!c->cancelled);
	if (++c->outputs == 12 && c->number == c->owner->count - 1 && number(c->owner, "stallMs", 0) > 0)
		usleep((unsigned)number(c->owner, "stallMs", 0) * 1000);
	if (c->outputs == number(c->owner, "cancelAfter", 0))
		cancel(c);
}

static void on_tool(struct ar_model_call *call, uint32_t index, struct ar_str id, struct ar_str name)
{
	struct probe_call *c = AR_CONTAINER_OF(call, struct probe_call, call);
	struct ar_buf line = { 0 };
	struct ar_jw w = line_open(&line, c, "tool");

	ar_jw_mint(&w, "index", index);
	ar_jw_mstr(&w, "id", id);
	ar_jw_mstr(&w, "name", name);
	line_close(&w, &line);
	count_output(c);
}

static void on_output(struct ar_model_call *call, enum ar_output_kind kind, uint32_t index,
		      struct ar_str bytes)
{
	struct probe_call *c = AR_CONTAINER_OF(call, struct probe_call, call);
	struct ar_buf line = { 0 };
	struct ar_jw w = line_open(&line, c, kind_names[kind]);

	AR_ASSERT(ar_str_is_utf8(bytes));
	ar_jw_mint(&w, "index", index);
	ar_jw_mstr(&w, "bytes", bytes);
	line_close(&w, &line);
	count_output(c);
}

static void write_limits(struct ar_jw *w, const struct ar_rate_limit *limits)
{
	static const char *const names[] = { "requests", "tokens", "inputTokens", "outputTokens" };

	ar_jw_key(w, "limits");
	ar_jw_open(w);
	for (size_t i = 0; i < AR_RATE_KINDS; i++) {
		if (!limits[i].limit.set)
			continue;
		ar_jw_key(w, names[i]);
		ar_jw_open_array(w);
		ar_jw_int(w, limits[i].limit.v);
		ar_jw_int(w, limits[i].remaining.v);
		ar_jw_int(w, limits[i].reset_ms.v);
		ar_jw_close_array(w);
	}
	ar_jw_close(w);
}

static void start_next(struct probe *p);

static void on_done(struct ar_model_call *call, const struct ar_model_result *r)
{
	struct probe_call *c = AR_CONTAINER_OF(call, struct probe_call, call);
	struct ar_buf line = { 0 };
	struct ar_jw w = line_open(&line, c, "done");

	ar_jw_mstr(&w, "outcome", ar_str_from(outcome_names[r->outcome]));
	ar_jw_mstr(&w, "category", r->category);
	ar_jw_mstr(&w, "message", r->message);
	ar_jw_mbool(&w, "retryable", r->retryable);
	ar_jw_mint(&w, "http", r->http);
	ar_jw_mint(&w, "retryAfterMs", r->retry_after_ms);
	ar_jw_mbool(&w, "hasUsage", r->has_usage);
	ar_jw_mint(&w, "inputTokens", r->input_tokens);
	ar_jw_mint(&w, "outputTokens", r->output_tokens);
	ar_jw_mint(&w, "cachedTokens", r->cached_tokens);
	ar_jw_mint(&w, "cacheWriteTokens", r->cache_write_tokens);
	ar_jw_mint(&w, "reasoningTokens", r->reasoning_tokens);
	ar_jw_mstr(&w, "stopReason", r->stop_reason);
	ar_jw_mstr(&w, "model", r->model);
	ar_jw_mstr(&w, "requestId", r->request_id);
	ar_jw_mstr(&w, "payload", r->payload);
	ar_jw_mstr(&w, "echo", r->echo);
	write_limits(&w, r->limits);
	ar_jw_mint(&w, "ttftMs", r->ttft_ms);
	ar_jw_mint(&w, "latencyMs", r->latency_ms);
	line_close(&w, &line);
	c->done = true;
	c->owner->ended++;
	/* Harmless by contract. */
	c->owner->provider->v->cancel(c->owner->provider, call);
	if (c->owner->one_by_one)
		start_next(c->owner);
	if (c->owner->ended == c->owner->count)
		uv_timer_stop(&c->owner->timer);
}

static const struct ar_model_call_vtable vtable = { on_tool, on_output, on_done };

static void start_next(struct probe *p)
{
	struct probe_call *c;

	if (p->next == p->count)
		return;
	c = &p->calls[p->next];
	c->owner = p;
	c->number = p->next++;
	c->call.v = &vtable;
	c->call.request = &c->request;
	snprintf(c->turn, sizeof(c->turn), p->count > 1 ? "%.*s-%d" : "%.*s", AR_STR_ARG(text(p, "turn")),
		 (int)c->number);
	c->request = (struct ar_model_request){
		.model = AR_STR("test-model"),
		.messages = p->messages,
		.count = ar_str_absent(text(p, "toolResult")) ? 1 : 3,
		.session_id = AR_STR("sess_probe"),
		.turn_id = ar_str_from(c->turn),
		.step_id = AR_STR("step_probe"),
		.model_request_id = AR_STR("mreq_probe"),
		.options = text(p, "options"),
		.tools = &p->tool,
		.tool_count = ar_json_type(ar_json_get(p->config, "tools")) == AR_JSON_NONE ? 0 : 1,
	};
	p->provider->v->start(p->provider, &c->call);
	c->started = true;
}

static void on_timer(uv_timer_t *timer)
{
	struct probe *p = timer->data;

	if (number(p, "closeAtMs", 0) > 0) {
		p->provider->v->close(p->provider);
		p->provider = NULL;
		return;
	}
	for (int64_t i = 0; i < p->next; i++) {
		if (!p->calls[i].done)
			cancel(&p->calls[i]);
	}
}

static void set_messages(struct probe *p)
{
	p->use = (struct ar_tool_use){ AR_STR("call_1"), AR_STR("add"), AR_STR("{\"a\":1}") };
	p->tool = (struct ar_tool){ .name = AR_STR("add"),
				    .description = AR_STR("adds"),
				    .schema = AR_STR("{\"type\":\"object\"}") };
	ar_buf_adds(&p->prompt, text(p, "prompt"));
	for (int64_t i = 0; i < number(p, "padBytes", 0); i++)
		ar_buf_addc(&p->prompt, ' ');
	p->messages[0] = (struct ar_message){ .role = AR_ROLE_USER, .text = ar_buf_str(&p->prompt) };
	p->messages[1] = (struct ar_message){
		.role = AR_ROLE_ASSISTANT, .uses = &p->use, .use_count = 1, .echo = text(p, "echo")
	};
	p->messages[2] = (struct ar_message){ .role = AR_ROLE_TOOL,
					      .text = text(p, "toolResult"),
					      .tool_call_id = p->use.id };
}

static void open_provider(struct probe *p)
{
	char *url = ar_str_dup(text(p, "baseUrl")), *key = ar_str_dup(text(p, "apiKey"));
	char *ca_file = ar_str_dup(text(p, "caFile")), *version = ar_str_dup(text(p, "version"));
	struct ar_str format = text(p, "format");
	struct ar_http_provider_options o = {
		.wire = ar_wire_find(ar_str_absent(format) ? AR_STR("openai-chat") : format),
		.base_url = url,
		.version = version,
		.api_key = key,
		.ca_file = ca_file,
		.connect_timeout_ms = (uint32_t)number(p, "connectMs", 0),
		.first_byte_timeout_ms = (uint32_t)number(p, "firstByteMs", 0),
		.idle_timeout_ms = (uint32_t)number(p, "idleMs", 0),
		.total_timeout_ms = (uint32_t)number(p, "totalMs", 0),
		.max_output_bytes = (uint32_t)number(p, "maxOutputBytes", 0),
	};

	p->provider = ar_http_provider_new(&p->loop, &o);
	ar_free(url);
	ar_free(key);
	ar_free(ca_file);
	ar_free(version);
}

static void run(struct probe *p)
{
	int64_t timer_ms = number(p, "closeAtMs", number(p, "cancelAtMs", 0));

	uv_loop_init(&p->loop);
	uv_timer_init(&p->loop, &p->timer);
	p->timer.data = p;
	open_provider(p);
	if (timer_ms > 0)
		uv_timer_start(&p->timer, on_timer, (uint64_t)timer_ms, 0);
	for (int64_t i = 0; i < (p->one_by_one ? 1 : p->count); i++)
		start_next(p);
	uv_run(&p->loop, UV_RUN_DEFAULT);
	AR_ASSERT(p->ended == p->count);
	if (p->provider)
		p->provider->v->close(p->provider);
	uv_close((uv_handle_t *)&p->timer, NULL);
	uv_run(&p->loop, UV_RUN_DEFAULT);
	AR_ASSERT(uv_loop_close(&p->loop) == 0);
}

int main(int argc, char **argv)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct probe p = { 0 };
	struct ar_error err;

	if (argc != 2 || ar_json_parse(json, ar_str_from(argv[1]), &p.config, &err) != AR_OK) {
		fprintf(stderr, "usage: provider-probe '{\"baseUrl\":...,\"prompt\":...}'\n");
		return 2;
	}
	p.count = number(&p, "calls", 1);
	ar_json_bool(ar_json_get(p.config, "oneByOne"), &p.one_by_one);
	p.calls = ar_new0((size_t)p.count * sizeof(*p.calls));
	set_messages(&p);
	run(&p);
	ar_buf_fini(&p.prompt);
	ar_free(p.calls);
	ar_json_parser_free(json);
	return 0;
}
