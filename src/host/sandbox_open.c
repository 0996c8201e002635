/* See sandbox_open.h. */
#include "sandbox_open.h"

#include "secrets/command_secrets.h"

#include <stdlib.h>

enum ar_sandbox_profile ar_host_sandbox_profile(const struct ar_config *c)
{
	static const enum ar_sandbox_profile profiles[] = {
		[AR_CONFIG_SANDBOX_PROFILE_READ_ONLY] = AR_SANDBOX_READ_ONLY,
		[AR_CONFIG_SANDBOX_PROFILE_WORKSPACE_WRITE] = AR_SANDBOX_WORKSPACE_WRITE,
		[AR_CONFIG_SANDBOX_PROFILE_NO_NETWORK] = AR_SANDBOX_NO_NETWORK,
		[AR_CONFIG_SANDBOX_PROFILE_ALLOWLISTED_NETWORK] = AR_SANDBOX_ALLOWLISTED_NETWORK,
		[AR_CONFIG_SANDBOX_PROFILE_DANGER_FULL_ACCESS] = AR_SANDBOX_DANGER_FULL_ACCESS,
	};

	return profiles[c->sandbox.profile];
}

static const struct ar_str *texts_of(const struct ar_config_strings *list, struct ar_arena *a)
{
	struct ar_str *texts = ar_arena_alloc(a, (list->count + 1) * sizeof(*texts));

	for (size_t i = 0; i < list->count; i++)
		texts[i] = ar_str_from(list->v[i]);
	return texts;
}

static const struct ar_command_secret *secrets_of(const struct ar_config *c, struct ar_arena *a)
{
	struct ar_command_secret *all = ar_arena_alloc(a, (c->command_secrets_count + 1) * sizeof(*all));

	for (size_t i = 0; i < c->command_secrets_count; i++) {
		const struct ar_config_command_secrets *s = &c->command_secrets[i];

		all[i] = (struct ar_command_secret){ .name = ar_str_from(s->name),
						     .value = ar_str_from(s->value),
						     .commands = texts_of(&s->commands, a),
						     .command_count = s->commands.count,
						     .is_proxied = s->give ==
								   AR_CONFIG_COMMAND_SECRETS_GIVE_PROXY };
	}
	return all;
}

/* One that nobody would ever put in its place would only look as if it were given. */
static enum ar_status check_hosts(const struct ar_config *c, struct ar_error *err)
{
	for (size_t i = 0; i < c->command_secrets_count; i++) {
		const struct ar_config_command_secrets *s = &c->command_secrets[i];
		bool is_proxied = s->give == AR_CONFIG_COMMAND_SECRETS_GIVE_PROXY;

		if (is_proxied != (s->hosts.count > 0))
			return ar_fail(err, AR_E_INVALID,
				       "command_secrets: '%.64s': give: proxy needs hosts, and hosts need "
				       "give: proxy",
				       s->name);
		if (is_proxied && !*c->sandbox.allow_hosts)
			return ar_fail(err, AR_E_INVALID,
				       "command_secrets: '%.64s': there is no proxy; list its hosts in "
				       "sandbox.allow_hosts too",
				       s->name);
	}
	return AR_OK;
}

size_t ar_host_sandbox_hidden(const struct ar_config *c, struct ar_arena *a,
			      const struct ar_egress_hidden **ret)
{
	struct ar_egress_hidden *all = ar_arena_alloc(a, (c->command_secrets_count + 1) * sizeof(*all));
	size_t count = 0;

	for (size_t i = 0; i < c->command_secrets_count; i++) {
		const struct ar_config_command_secrets *s = &c->command_secrets[i];
		struct ar_str name = ar_str_from(s->name), value = ar_str_from(s->value);

		if (s->give != AR_CONFIG_COMMAND_SECRETS_GIVE_PROXY)
			continue;
		all[count++] =
			(struct ar_egress_hidden){ .placeholder =
							   ar_command_secret_placeholder(name, value, a),
						   .value = value,
						   .hosts = texts_of(&s->hosts, a),
						   .host_count = s->hosts.count };
	}
	*ret = all;
	return count;
}

/* Its text goes to the model as instructions of the operator: no command may write them. */
static struct ar_str protected_of(const struct ar_config *c, struct ar_arena *a)
{
	return ar_arena_fmt(a, "%s\n%s", c->context.instructions, c->sandbox.protected_paths);
}

enum ar_status ar_host_sandbox_open(const struct ar_config *c, struct ar_sandbox **ret, struct ar_error *err)
{
	struct ar_arena a = { 0 };
	enum ar_status rc;
	struct ar_sandbox_options o = {
		.helpers = ar_str_from(c->sandbox.helpers),
		.state_dir = ar_str_from(c->data_dir),
		.home = ar_str_from(getenv("HOME")),
		.read_roots = ar_str_from(c->sandbox.read_roots),
		.write_roots = ar_str_from(c->sandbox.write_roots),
		.protected_paths = protected_of(c, &a),
		.env = ar_str_from(c->sandbox.env),
		.without = ar_str_from(c->sandbox.without),
		.secrets = secrets_of(c, &a),
		.secret_count = c->command_secrets_count,
		.allows_danger = c->sandbox.allow_danger,
		.has_proxy = *c->sandbox.allow_hosts != 0,
		.uid_first = (uint32_t)c->sandbox.uid_first,
		.uid_last = (uint32_t)c->sandbox.uid_last,
		.limits = { .processes = (uint64_t)c->sandbox.max_processes,
			    .memory_bytes = (uint64_t)c->sandbox.memory_bytes,
			    .cpu_percent = (uint64_t)c->sandbox.cpu_percent,
			    .file_bytes = (uint64_t)c->sandbox.file_bytes,
			    .open_files = (uint64_t)c->sandbox.open_files,
			    .tmp_bytes = (uint64_t)c->sandbox.tmp_bytes },
	};

	rc = check_hosts(c, err);
	if (rc == AR_OK)
		rc = ar_sandbox_open(&o, ret, err);
	ar_arena_fini(&a);
	return rc;
}
