/* Whether a rule is about an act. A rule reads what the caller wrote, it does not know what a path or a command line will come to: the
 * boundary itself is the sandbox's. Pure. */
#include "command.h"
#include "permission/permission.h"
#include "session.h"

#include <string.h>

bool ar_pattern_fits(struct ar_str pattern, struct ar_str text)
{
	size_t p = 0, t = 0, star = pattern.len, from = 0;

	while (t < text.len) {
		if (p < pattern.len && pattern.p[p] == '*') {
			star = p++;
			from = t;
		} else if (p < pattern.len && (pattern.p[p] == '?' || pattern.p[p] == text.p[t])) {
			p++;
			t++;
		} else if (star < pattern.len) {
			p = star + 1; /* the last star takes one byte more */
			t = ++from;
		} else {
			return false;
		}
	}
	while (p < pattern.len && pattern.p[p] == '*')
		p++;
	return p == pattern.len;
}

static bool is_same_or_any(struct ar_str wanted, struct ar_str got)
{
	return ar_str_absent(wanted) || ar_str_eq(wanted, got);
}

static bool text_fits(const struct ar_permission_rule *rule, struct ar_str text)
{
	return ar_str_absent(rule->matches) || ar_pattern_fits(rule->matches, text);
}

/* A list of texts fits an allow when all do, and a deny or ask when any does: the careful side of both. */
static bool list_fits(const struct ar_permission_rule *rule, struct ar_json list)
{
	bool is_allow = rule->verdict == AR_ALLOW;
	size_t fitting = 0, count = 0;

	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it); count++) {
		struct ar_str text;

		fitting += ar_json_str(it.value, &text) && text_fits(rule, text);
	}
	return is_allow ? count > 0 && fitting == count : fitting > 0;
}

static bool argument_fits(const struct ar_session *s, const struct ar_permission_rule *rule,
			  struct ar_str args)
{
	struct ar_json v, value;
	struct ar_str text, name = rule->argument;
	char key[AR_TOOL_NAME_MAX + 1];

	if (ar_str_absent(name) && ar_str_absent(rule->matches))
		return true;
	if (name.len >= sizeof(key) || ar_str_absent(args) || ar_json_parse(s->json, args, &v, NULL) != AR_OK)
		return false;
	if (ar_str_absent(name))
		return list_fits(rule, v); /* whichever argument it is */
	memcpy(key, name.p, name.len);
	key[name.len] = 0;
	value = ar_json_get(v, key);
	if (ar_json_type(value) == AR_JSON_ARRAY)
		return list_fits(rule, value);
	return ar_json_str(value, &text) && text_fits(rule, text);
}

/* A text that is not plain is never allowed by a rule, whatever the rule says. */
static bool command_fits(const struct ar_permission_rule *rule, const struct ar_command_line *c)
{
	if (!c)
		return ar_str_absent(rule->command);
	if (rule->verdict != AR_ALLOW)
		return ar_str_absent(rule->command) || ar_command_mentions(c, rule->command);
	return !c->is_opaque && (ar_str_absent(rule->command) || ar_command_begins(c, rule->command));
}

bool ar_rule_fits(const struct ar_session *s, const struct ar_permission_rule *rule,
		  const struct ar_turn *turn, const struct ar_act *act)
{
	return (ar_str_absent(rule->tool) || ar_pattern_fits(rule->tool, act->name)) &&
	       is_same_or_any(rule->workspace, s->workspace) && is_same_or_any(rule->thread, turn->thread) &&
	       is_same_or_any(rule->turn, turn->id) &&
	       (!rule->only_destructive || (act->tool && act->tool->is_destructive)) &&
	       command_fits(rule, act->command) && argument_fits(s, rule, act->args);
}
