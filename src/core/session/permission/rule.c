/* Whether a rule is about an act. A rule reads text: paths are brought to one form by their
 * text, links are not followed, and what a command line will come to is not known. The boundary
 * is the sandbox. Pure. */
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

/* ---- arguments ---- */

/* Names of arguments that hold a path. */
static bool names_path(struct ar_str name)
{
	return ar_texts_have(AR_TEXTS(AR_STR("path"), AR_STR("paths"), AR_STR("file"), AR_STR("files"),
				      AR_STR("filePath"), AR_STR("file_path"), AR_STR("filename"),
				      AR_STR("cwd"), AR_STR("dir"), AR_STR("directory"), AR_STR("folder"),
				      AR_STR("from"), AR_STR("to"), AR_STR("root"), AR_STR("source"),
				      AR_STR("destination"), AR_STR("target")),
			     name);
}

/* What `dir` + '/' is: a rule about all that is in a folder is about the folder too. */
static bool folder_fits(struct ar_str pattern, struct ar_str path, char room[static AR_PATH_TEXT_MAX + 1])
{
	memmove(room, path.p, path.len);
	room[path.len] = '/';
	return ar_pattern_fits(pattern, (struct ar_str){ room, path.len + 1 });
}

/* A path is judged as it reads from the workspace and as an absolute one. A rule that allows
 * knows only these two; one that denies or asks also knows the path as it was written. */
static bool path_fits(const struct ar_permission_rule *rule, struct ar_str root, struct ar_str text)
{
	char near_room[AR_PATH_TEXT_MAX + 1], far_room[AR_PATH_TEXT_MAX + 1];
	struct ar_str pattern = rule->matches;
	struct ar_str near_path = ar_path_relative(root, AR_STR_NONE, text, near_room);
	struct ar_str far_path = ar_path_resolve(root, AR_STR_NONE, text, far_room);

	if (ar_str_starts(pattern, AR_STR("./")))
		pattern = ar_str_sub(pattern, 2, pattern.len);
	if (ar_str_absent(far_path)) /* too long to be a path */
		return rule->verdict != AR_ALLOW;
	if (ar_pattern_fits(pattern, near_path) || ar_pattern_fits(pattern, far_path))
		return true;
	return rule->verdict != AR_ALLOW &&
	       (ar_pattern_fits(rule->matches, text) || folder_fits(pattern, near_path, near_room) ||
		folder_fits(pattern, far_path, far_room));
}

struct argument {
	struct ar_str root; /* of the workspace; absent: unknown */
	bool is_path;
};

static bool text_fits(const struct ar_permission_rule *rule, const struct argument *a, struct ar_str text)
{
	if (ar_str_absent(rule->matches))
		return true;
	return a->is_path ? path_fits(rule, a->root, text) : ar_pattern_fits(rule->matches, text);
}

/* A list of texts fits an allow when all do, and a deny or ask when any does: the careful side
 * of both. `of`: what the elements of an array are; the members of an object say that by their
 * names. */
static bool list_fits(const struct ar_permission_rule *rule, struct argument of, struct ar_json list)
{
	bool is_allow = rule->verdict == AR_ALLOW;
	size_t fitting = 0, count = 0;

	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it); count++) {
		struct ar_str text, name;

		if (ar_json_type(list) == AR_JSON_OBJECT)
			of.is_path = ar_json_str(ar_json_name(&it), &name) && names_path(name);
		fitting += ar_json_str(it.value, &text) && text_fits(rule, &of, text);
	}
	return is_allow ? count > 0 && fitting == count : fitting > 0;
}

static bool argument_fits(const struct ar_session *s, const struct ar_permission_rule *rule,
			  const struct ar_act *act)
{
	struct ar_json v, value;
	struct ar_str text, name = rule->argument;
	struct argument of = { act->root, names_path(name) };
	char key[AR_TOOL_NAME_MAX + 1];

	if (ar_str_absent(name) && ar_str_absent(rule->matches))
		return true;
	if (name.len >= sizeof(key) || ar_str_absent(act->args) ||
	    ar_json_parse(s->json, act->args, &v, NULL) != AR_OK)
		return false;
	if (ar_str_absent(name))
		return list_fits(rule, of, v); /* whichever argument it is */
	memcpy(key, name.p, name.len);
	key[name.len] = 0;
	value = ar_json_get(v, key);
	if (ar_json_type(value) == AR_JSON_ARRAY)
		return list_fits(rule, of, value);
	return ar_json_str(value, &text) && text_fits(rule, &of, text);
}

/* ---- commands ---- */

/* A text that is not plain is never allowed by a rule, whatever the rule says. */
static bool command_fits(const struct ar_permission_rule *rule, const struct ar_command_line *c)
{
	if (!c)
		return ar_str_absent(rule->command);
	if (rule->verdict != AR_ALLOW)
		return ar_str_absent(rule->command) || ar_command_mentions(c, rule->command);
	return !c->is_opaque && (ar_str_absent(rule->command) || ar_command_begins(c, rule->command));
}

static bool place_fits(const struct ar_session *s, const struct ar_permission_rule *rule,
		       const struct ar_turn *turn, const struct ar_act *act)
{
	return (ar_str_absent(rule->tool) || ar_pattern_fits(rule->tool, act->name)) &&
	       is_same_or_any(rule->workspace, s->workspace) && is_same_or_any(rule->thread, turn->thread) &&
	       is_same_or_any(rule->turn, turn->id) &&
	       (!rule->only_destructive || (act->tool && act->tool->is_destructive));
}

struct ar_str ar_rule_source(const struct ar_permission_rule *rule)
{
	if (rule->reach == AR_REACH_SESSION)
		return AR_STR("session");
	/* the policy of a workspace is about that one, so its rules name none */
	if (rule->reach == AR_REACH_WORKSPACE && ar_str_absent(rule->workspace))
		return AR_STR("workspace");
	return AR_STR("host");
}

size_t ar_session_rules(const struct ar_session *s, enum ar_reach reach)
{
	size_t n = 0;

	for (size_t i = 0; i < s->rules.count; i++)
		n += ((const struct ar_permission_rule *)s->rules.at[i])->reach == (int64_t)reach;
	return n;
}

bool ar_rule_fits(const struct ar_session *s, const struct ar_permission_rule *rule,
		  const struct ar_turn *turn, const struct ar_act *act)
{
	return place_fits(s, rule, turn, act) && command_fits(rule, act->command) &&
	       argument_fits(s, rule, act);
}

bool ar_rule_may_fit(const struct ar_session *s, const struct ar_permission_rule *rule,
		     const struct ar_turn *turn, const struct ar_act *act)
{
	return act->command && !ar_str_absent(rule->command) &&
	       ar_command_may_mention(act->command, rule->command) && place_fits(s, rule, turn, act) &&
	       argument_fits(s, rule, act);
}
