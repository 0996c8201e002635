/* See http_tools.h. */
#include "http_tools.h"

#include "mem.h"
#include "schema.h"
#include "tool_http.h"

static const char *const methods[] = {
	[AR_CONFIG_HTTP_TOOLS_METHOD_GET] = "GET",	 [AR_CONFIG_HTTP_TOOLS_METHOD_POST] = "POST",
	[AR_CONFIG_HTTP_TOOLS_METHOD_PUT] = "PUT",	 [AR_CONFIG_HTTP_TOOLS_METHOD_PATCH] = "PATCH",
	[AR_CONFIG_HTTP_TOOLS_METHOD_DELETE] = "DELETE",
};

static struct ar_tool_http tool_of(const struct ar_config_http_tools *e)
{
	return (struct ar_tool_http){ .name = e->name,
				      .description = e->description,
				      .method = methods[e->method],
				      .url = e->url,
				      .schema = e->schema,
				      .headers = e->headers.v,
				      .header_count = e->headers.count,
				      .timeout_ms = (uint32_t)e->timeout_ms,
				      .is_read_only = e->read_only,
				      .is_destructive = e->destructive,
				      .is_idempotent = e->idempotent,
				      .is_browser = e->browser };
}

/* A schema that does not compile would check nothing: the operator means it to. */
static enum ar_status check_schema(const struct ar_config_http_tools *e, struct ar_json_parser *p,
				   struct ar_error *err)
{
	struct ar_schema *s = NULL;
	struct ar_error why = { 0 };

	if (!*e->schema)
		return AR_OK;
	if (ar_schema_compile(ar_str_from(e->schema), p, NULL, &s, &why) != AR_OK)
		return ar_fail(err, AR_E_INVALID, "http_tools: the schema of '%.64s' cannot be used: %.120s",
			       e->name, why.msg);
	ar_schema_free(s);
	return AR_OK;
}

static enum ar_status check_schemas(const struct ar_config *c, struct ar_error *err)
{
	struct ar_json_parser *p = ar_json_parser_new();
	enum ar_status status = AR_OK;

	for (size_t i = 0; i < c->http_tools_count && status == AR_OK; i++)
		status = check_schema(&c->http_tools[i], p, err);
	ar_json_parser_free(p);
	return status;
}

enum ar_status ar_http_tools_open(uv_loop_t *loop, const struct ar_config *c, struct ar_tool_source **ret,
				  struct ar_error *err)
{
	AR_AUTO(ar_freep) struct ar_tool_http *tools = NULL;
	struct ar_tool_source *s;

	*ret = NULL;
	if (c->http_tools_count == 0)
		return AR_OK;
	if (check_schemas(c, err) != AR_OK)
		return err->status;
	tools = ar_grow(NULL, c->http_tools_count, sizeof(*tools));
	for (size_t i = 0; i < c->http_tools_count; i++)
		tools[i] = tool_of(&c->http_tools[i]);
	s = ar_tool_http_open(loop, tools, c->http_tools_count, &(struct ar_tool_http_options){ 0 });
	if (s->trouble) {
		ar_fail(err, AR_E_INVALID, "http_tools: %s", s->trouble);
		s->v->close(s);
		return AR_E_INVALID;
	}
	*ret = s;
	return AR_OK;
}
