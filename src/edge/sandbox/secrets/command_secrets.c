/* See command_secrets.h. */
#include "secrets/command_secrets.h"

#include "buf.h"
#include "hash.h"
#include "init_wire.h"
#include "text/env_name.h"

#include <string.h>

#define VALUE_MIN 8 /* shorter ones could not be masked */
#define PLACED_MIN 16 /* and these could be guessed from their placeholder */
#define VALUE_MAX 65536
#define PLACED_MAX 1024
#define NAME_MAX_LEN 64
#define PLACEHOLDER_CHARS 26

static bool is_header_text(struct ar_str value)
{
	for (size_t i = 0; i < value.len; i++) {
		if ((unsigned char)value.p[i] < ' ' || value.p[i] == 0x7f)
			return false;
	}
	return true;
}

static const char *fault_of(const struct ar_command_secret *s)
{
	if (s->name.len > NAME_MAX_LEN || !ar_env_is_name(s->name))
		return "its name is not a valid name of a variable";
	if (!ar_env_may_be_requested(s->name))
		return "this variable changes how programs run, so it cannot be set here";
	if (s->value.len < (s->is_proxied ? PLACED_MIN : VALUE_MIN))
		return "its value is too short: 8 bytes at least, 16 where the proxy gives it";
	if (s->value.len > (s->is_proxied ? PLACED_MAX : VALUE_MAX))
		return "its value is too long: 65536 bytes at most, 1024 where the proxy gives it";
	if (s->is_proxied && !is_header_text(s->value))
		return "its value has bytes that no header can carry; give it as a file";
	return NULL;
}

static void copy(struct ar_command_secret *to, const struct ar_command_secret *from, struct ar_arena *a)
{
	struct ar_str *commands = ar_arena_alloc(a, (from->command_count + 1) * sizeof(*commands));

	for (size_t i = 0; i < from->command_count; i++)
		commands[i] = ar_arena_str(a, from->commands[i]);
	*to = (struct ar_command_secret){ .name = ar_arena_str(a, from->name),
					  .value = ar_arena_str(a, from->value),
					  .commands = commands,
					  .command_count = from->command_count,
					  .is_proxied = from->is_proxied };
}

enum ar_status ar_command_secrets_copy(struct ar_command_secrets *ret,
				       const struct ar_command_secret *secrets, size_t count,
				       struct ar_arena *a, struct ar_error *err)
{
	struct ar_command_secret *all;

	if (count > AR_PLAN_GIVEN_MAX)
		return ar_fail(err, AR_E_LIMIT, "command_secrets: more than %d of them", AR_PLAN_GIVEN_MAX);
	all = ar_arena_alloc(a, (count + 1) * sizeof(*all));
	for (size_t i = 0; i < count; i++) {
		const char *fault = fault_of(&secrets[i]);

		if (fault)
			return ar_fail(err, AR_E_INVALID, "command_secrets: '%.*s': %s",
				       AR_STR_ARG(ar_str_utf8_prefix(secrets[i].name, NAME_MAX_LEN)), fault);
		copy(&all[i], &secrets[i], a);
	}
	*ret = (struct ar_command_secrets){ all, count };
	return AR_OK;
}

/* Whole words: "git" is no beginning of "gitk". */
static bool begins_with(struct ar_str command, struct ar_str words)
{
	return ar_str_starts(command, words) &&
	       (command.len == words.len || command.p[words.len] == ' ' || command.p[words.len] == '\n');
}

static bool is_for(const struct ar_command_secret *s, struct ar_str command)
{
	for (size_t i = 0; i < s->command_count; i++) {
		if (begins_with(command, s->commands[i]))
			return true;
	}
	return s->command_count == 0;
}

struct ar_str ar_command_secret_placeholder(struct ar_str name, struct ar_str value, struct ar_arena *a)
{
	struct ar_buf text = { 0 };
	char digits[AR_HASH_TEXT];
	struct ar_hash hash;

	ar_buf_addz(&text, "agentruntime placeholder\n");
	ar_buf_adds(&text, name);
	ar_buf_addz(&text, "\n");
	ar_buf_adds(&text, value);
	hash = ar_hash_of(ar_buf_str(&text));
	ar_buf_fini(&text);
	ar_hash_text(&hash, digits);
	return ar_arena_fmt(a, "art_secret_%.*s", PLACEHOLDER_CHARS, digits);
}

/* What stands for one inside: its placeholder, or the path of its file. */
static struct ar_str shown_as(const struct ar_command_secret *s, struct ar_given *g, struct ar_arena *a)
{
	if (s->is_proxied)
		return ar_command_secret_placeholder(s->name, s->value, a);
	g->at[g->count] = s->value;
	return ar_arena_fmt(a, "/proc/self/fd/%zu", AR_INIT_GIVEN_FD + g->count++);
}

/* Under its own name, and under those that the workspace has for it. */
static bool put_secret(struct ar_env_vector *env, const struct ar_command_secret *s,
		       const struct ar_process_spec *spec, struct ar_str shown)
{
	bool is_put = ar_env_put(env, ar_arena_fmt(env->arena, "%.*s%s=%.*s", AR_STR_ARG(s->name),
						   s->is_proxied ? "" : "_FILE", AR_STR_ARG(shown)));

	for (size_t i = 0; is_put && i < spec->secret_count; i++) {
		if (ar_str_eq(spec->secrets[i].secret, s->name))
			is_put = ar_env_put(env, ar_arena_fmt(env->arena, "%.*s=%.*s",
							      AR_STR_ARG(spec->secrets[i].variable),
							      AR_STR_ARG(shown)));
	}
	return is_put;
}

enum ar_status ar_command_secrets_apply(const struct ar_command_secrets *s,
					const struct ar_process_spec *spec, bool uses_proxy,
					struct ar_env_vector *env, struct ar_given *ret, struct ar_error *err)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct ar_command_secret *one = &s->at[i];

		if (spec->withheld >> i & 1 || !is_for(one, spec->command) ||
		    (one->is_proxied && !uses_proxy))
			continue;
		if (!put_secret(env, one, spec, shown_as(one, ret, env->arena)))
			return ar_fail(err, AR_E_LIMIT, "more than %d environment variables",
				       AR_PLAN_ENV_MAX);
	}
	return AR_OK;
}
