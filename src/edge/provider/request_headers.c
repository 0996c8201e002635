/* Key, version, correlation ids and what else a model server wants to hear before the body. Pure. */
#include "request_headers.h"

#include "buf.h"

static bool has_control(struct ar_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
			return true;
	}
	return false;
}

static void add(struct curl_slist **list, const char *name, struct ar_str value)
{
	struct ar_buf line = { 0 };

	if (ar_str_absent(value) || has_control(value))
		return;
	ar_buf_addf(&line, "%s%.*s", name, AR_STR_ARG(value));
	ar_buf_addc(&line, '\0');
	*list = curl_slist_append(*list, line.p);
	ar_buf_fini(&line);
}

struct curl_slist *ar_request_headers(const struct ar_wire *wire, const struct ar_model_request *r,
				      struct ar_str api_key, struct ar_str version)
{
	struct curl_slist *list = NULL;

	add(&list, "Content-Type: ", AR_STR("application/json"));
	add(&list, "Accept: ", AR_STR("text/event-stream"));
	add(&list, "User-Agent: ", AR_STR("agent-runtime/" AR_VERSION));
	/* Without this a long body would wait for a "100 Continue" that many servers never send. */
	add(&list, "Expect:", AR_STR(""));
	add(&list, wire->key_header, api_key);
	if (wire->version_header)
		add(&list, wire->version_header, version);
	add(&list, "X-Request-Id: ", r->model_request_id);
	add(&list, "X-AR-Session: ", r->session_id);
	add(&list, "X-AR-Turn: ", r->turn_id);
	add(&list, "X-AR-Step: ", r->step_id);
	add(&list, "traceparent: ", r->trace_parent);
	return list;
}
