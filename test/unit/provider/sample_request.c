/* See sample_request.h. */
#include "sample_request.h"
#include "transcript.h"

static const struct ar_tool_use uses[] = {
	{ AR_STR("c1"), AR_STR("add"), AR_STR("{\"a\": 1}") },
	{ AR_STR("c2"), AR_STR("now"), AR_STR("{oops") },
};

static struct ar_message messages[] = {
	{ .role = AR_ROLE_SYSTEM, .text = AR_STR("be \"brief\"") },
	{ .role = AR_ROLE_USER,
	  .is_parts = true,
	  .text = AR_STR("[{\"type\":\"text\",\"text\":\"see\"},"
			 "{\"type\":\"image\",\"data\":\"QUJD\",\"mimeType\":\"image/jpeg\"},"
			 "{\"type\":\"image\",\"url\":\"https://x/y.png\"},"
			 "{\"type\":\"file\",\"name\":\"a\"}]") },
	{ .role = AR_ROLE_ASSISTANT, .text = AR_STR("let me"), .uses = uses, .use_count = 2 },
	{ .role = AR_ROLE_TOOL, .text = AR_STR("2"), .tool_call_id = AR_STR("c1") },
	{ .role = AR_ROLE_TOOL, .tool_call_id = AR_STR("c2") },
	{ .role = AR_ROLE_SYSTEM, .text = AR_STR("hurry") },
	{ .role = AR_ROLE_USER, .text = AR_STR("and?") },
	{ .role = AR_ROLE_USER, .text = AR_STR("") },
};

static const struct ar_tool tools[] = {
	{ .name = AR_STR("add"),
	  .description = AR_STR("adds"),
	  .schema = AR_STR("{\"type\": \"object\", \"required\": [\"a\"]}") },
	{ .name = AR_STR("now") },
};

const struct ar_model_request *sample_request(struct ar_str echo, struct ar_str options)
{
	static struct ar_model_request r;

	messages[2].echo = echo;
	r = (struct ar_model_request){
		.model = AR_STR("m"),
		.messages = messages,
		.count = AR_ARRAY_LEN(messages),
		.options = options,
		.tools = tools,
		.tool_count = AR_ARRAY_LEN(tools),
	};
	return &r;
}

static const struct ar_message no_array = { .role = AR_ROLE_USER,
					    .is_parts = true,
					    .text = AR_STR("{\"a\":1}") };
static const struct ar_message broken = { .role = AR_ROLE_USER, .is_parts = true, .text = AR_STR("[") };
static const struct ar_tool list = { .name = AR_STR("t"), .schema = AR_STR("[]") };
static const struct ar_tool torn = { .name = AR_STR("t"), .schema = AR_STR("{") };

static const struct ar_model_request refusals[] = {
	{ .model = AR_STR("m"), .options = AR_STR("[]") },
	{ .model = AR_STR("m"), .options = AR_STR("{") },
	{ .model = AR_STR("m"), .messages = &no_array, .count = 1 },
	{ .model = AR_STR("m"), .messages = &broken, .count = 1 },
	{ .model = AR_STR("m"), .tools = &list, .tool_count = 1 },
	{ .model = AR_STR("m"), .tools = &torn, .tool_count = 1 },
};

void assert_sample_refused(const char *format)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(refusals); i++)
		assert_refused(format, &refusals[i]);
}
