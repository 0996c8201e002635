/* See hooks.h. */
#include "hooks.h"

#define POINT(word) [AR_CONFIG_HOOKS_POINT_##word] = AR_HOOK_STARTED_HOOK_POINT_##word

static const int point_of[] = {
	POINT(SESSION_START), POINT(USER_PROMPT_SUBMIT), POINT(PRE_TOOL_USE),  POINT(PERMISSION_REQUEST),
	POINT(POST_TOOL_USE), POINT(POST_TOOL_FAILURE),	 POINT(POST_SAMPLING), POINT(STOP),
};

static const enum ar_hook_on_failure on_failure_of[] = {
	[AR_CONFIG_HOOKS_ON_FAILURE_AUTO] = AR_HOOK_FAIL_AUTO,
	[AR_CONFIG_HOOKS_ON_FAILURE_OPEN] = AR_HOOK_FAIL_OPEN,
	[AR_CONFIG_HOOKS_ON_FAILURE_CLOSED] = AR_HOOK_FAIL_CLOSED,
};

static struct ar_str unless_empty(const char *text)
{
	return text && *text ? ar_str_from(text) : AR_STR_NONE;
}

enum ar_status ar_host_hooks_read(const struct ar_config *c, struct ar_arena *a, struct ar_host_hooks *ret,
				  struct ar_error *err)
{
	ret->rules = ar_arena_alloc(a, (c->hooks_count + 1) * sizeof(*ret->rules));
	ret->handlers = ar_arena_alloc(a, (c->hooks_count + 1) * sizeof(*ret->handlers));
	ret->count = c->hooks_count;
	for (size_t i = 0; i < c->hooks_count; i++) {
		const struct ar_config_hooks *h = &c->hooks[i];
		struct ar_str command = unless_empty(h->command), url = unless_empty(h->url);

		if (ar_str_absent(command) == ar_str_absent(url))
			return ar_fail(err, AR_E_INVALID,
				       "hooks[%zu] (%s): it needs a command or a url, and only one of them",
				       i, h->name);
		ret->rules[i] = (struct ar_hook_rule){ .name = ar_str_from(h->name),
						       .tool = unless_empty(h->match),
						       .point = point_of[h->point],
						       .timeout_ms = h->timeout_ms,
						       .on_failure = on_failure_of[h->on_failure],
						       .is_policy = h->policy };
		ret->handlers[i] = (struct ar_hook_handler){ ar_str_from(h->name), command, url };
	}
	return AR_OK;
}
