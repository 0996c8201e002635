/* The names of mechanisms, and the self-test's answer about them. See assess.h. */
#include "json.h"
#include "path_list.h"
#include "assess.h"

static const char *const names[AR_MECH_COUNT] = {
	[AR_MECH_LANDLOCK] = "landlock",
	[AR_MECH_MOUNT_VIEW] = "mount_view",
	[AR_MECH_PINS] = "pins",
	[AR_MECH_IDMAP] = "idmap",
	[AR_MECH_PID_NAMESPACE] = "pid_namespace",
	[AR_MECH_NETWORK_NAMESPACE] = "network_namespace",
	[AR_MECH_IPC_NAMESPACE] = "ipc_namespace",
	[AR_MECH_USER_NAMESPACE] = "user_namespace",
	[AR_MECH_SECCOMP] = "seccomp",
	[AR_MECH_SECCOMP_NOTIFY] = "seccomp_notify",
	[AR_MECH_CAPABILITIES] = "capabilities",
	[AR_MECH_FD_HYGIENE] = "fd_hygiene",
	[AR_MECH_CGROUP_KILL] = "cgroup_kill",
	[AR_MECH_CGROUP_PIDS] = "cgroup_pids",
	[AR_MECH_CGROUP_MEMORY] = "cgroup_memory",
	[AR_MECH_PTY] = "pty",
};

const char *ar_mechanism_name(enum ar_mechanism m)
{
	return names[m];
}

static int find_mechanism(struct ar_str name)
{
	for (int i = 0; i < AR_MECH_COUNT; i++) {
		if (ar_str_is(name, names[i]))
			return i;
	}
	return -1;
}

struct ar_str ar_mechanisms_unknown(struct ar_str list)
{
	struct ar_str name;

	while (ar_path_next(&list, ",\n", &name)) {
		if (find_mechanism(name) < 0)
			return name;
	}
	return AR_STR_NONE;
}

static void read_row(struct ar_json row, struct ar_arena *a, struct ar_mechanisms *ret)
{
	struct ar_str name, detail = AR_STR_NONE;
	bool works = false;
	int i;

	if (!ar_json_str(ar_json_get(row, "mechanism"), &name) || (i = find_mechanism(name)) < 0)
		return;
	ar_json_bool(ar_json_get(row, "isWorking"), &works);
	ar_json_str(ar_json_get(row, "detail"), &detail);
	ret->works[i] = works;
	ret->detail[i] = ar_arena_str(a, ar_str_utf8_prefix(detail, 200));
}

enum ar_status ar_mechanisms_read(struct ar_str text, struct ar_arena *a, struct ar_mechanisms *ret,
				  struct ar_error *err)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json top = { 0 };
	enum ar_status rc;

	*ret = (struct ar_mechanisms){ 0 };
	rc = ar_json_parse(parser, text, &top, err);
	if (rc == AR_OK && ar_json_type(top) == AR_JSON_OBJECT)
		top = ar_json_get(top, "mechanisms");
	if (rc == AR_OK && ar_json_type(top) != AR_JSON_ARRAY)
		rc = ar_fail(err, AR_E_INVALID, "the self-test of agent-init printed no list");
	for (struct ar_json_iter it = ar_json_iter(top); rc == AR_OK && ar_json_next(&it);)
		read_row(it.value, a, ret);
	ar_json_parser_free(parser);
	return rc;
}
