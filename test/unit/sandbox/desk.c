/* See desk.h. */
#include "desk.h"

#include "mem.h"
#include "path_list.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct ar_str argv[] = { { "true", 4 } };

struct desk *desk_new(void)
{
	struct desk *d = ar_new0(sizeof(*d));

	snprintf(d->base, sizeof(d->base), "/tmp/ar-sandbox.XXXXXX");
	assert_non_null(mkdtemp(d->base));
	assert_int_equal(chmod(d->base, 0755), 0);
	snprintf(d->workspace, sizeof(d->workspace), "%s/ws", d->base);
	desk_folder(d, "ws/");
	desk_folder(d, "state/");
	desk_folder(d, "home/");
	if (geteuid() == 0)
		assert_int_equal(chown(d->workspace, 1000, 1000), 0);
	desk_probe(d, "");
	d->options = (struct ar_sandbox_options){ .helpers = ar_str_from(desk_path(d, "bin")),
						  .state_dir = ar_str_from(desk_path(d, "state")),
						  .home = ar_str_from(desk_path(d, "home")),
						  .limits = { .processes = 64, .memory_bytes = 1u << 28 } };
	d->spec = (struct ar_process_spec){ .argv = argv,
					    .argc = 1,
					    .session_id = AR_STR("sess_one"),
					    .call_id = AR_STR("call_one"),
					    .workspace = ar_str_from(d->workspace) };
	return d;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

void desk_free(struct desk *d)
{
	if (d->launch.plan)
		ar_sandbox_release(d->sandbox, &d->launch);
	ar_sandbox_close(d->sandbox);
	ar_arena_fini(&d->arena);
	nftw(d->base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	ar_free(d);
}

const char *desk_path(struct desk *d, const char *fmt, ...)
{
	struct ar_str tail;
	va_list ap;

	va_start(ap, fmt);
	tail = ar_arena_vfmt(&d->arena, fmt, ap);
	va_end(ap);
	return ar_arena_fmt(&d->arena, "%s/%s", d->base, tail.p).p;
}

void desk_folder(struct desk *d, const char *path)
{
	char *whole = (char *)(uintptr_t)desk_path(d, "%s", path);

	for (char *at = strchr(whole + strlen(d->base) + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		assert_true(mkdir(whole, 0755) == 0 || errno == EEXIST);
		*at = '/';
	}
}

void desk_file(struct desk *d, const char *path, const char *text)
{
	int fd;

	desk_folder(d, path);
	fd = open(desk_path(d, "%s", path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

void desk_link(struct desk *d, const char *path, const char *target)
{
	desk_folder(d, path);
	assert_int_equal(symlink(target, desk_path(d, "%s", path)), 0);
}

static bool lists(const char *names, const char *name)
{
	struct ar_str rest = ar_str_from(names), one;

	while (ar_path_next(&rest, ",", &one)) {
		if (ar_str_is(one, name))
			return true;
	}
	return false;
}

void desk_probe(struct desk *d, const char *without)
{
	struct ar_buf text = { 0 };

	ar_buf_addz(&text, "#!/bin/sh\ncat <<'end'\n[");
	for (int i = 0; i < AR_MECH_COUNT; i++) {
		const char *name = ar_mechanism_name((enum ar_mechanism)i);

		ar_buf_addf(&text, "%s{\"mechanism\":\"%s\",\"isWorking\":%s,\"detail\":\"fake\"}",
			    i ? "," : "", name, lists(without, name) ? "false" : "true");
	}
	ar_buf_addz(&text, "]\nend\n");
	ar_buf_addc(&text, '\0');
	desk_file(d, "bin/agent-init", text.p);
	ar_buf_fini(&text);
}

void desk_open(struct desk *d)
{
	if (ar_sandbox_open(&d->options, &d->sandbox, &d->err) != AR_OK)
		fail_msg("%s", d->err.msg);
}

enum ar_status desk_plan(struct desk *d, enum ar_sandbox_profile profile)
{
	enum ar_status rc;

	if (!d->sandbox)
		desk_open(d);
	if (d->launch.plan)
		ar_sandbox_release(d->sandbox, &d->launch);
	d->launch = (struct ar_launch){ 0 };
	d->spec.profile = profile;
	rc = ar_sandbox_plan(d->sandbox, &d->spec, &d->arena, &d->launch, &d->err);
	if (rc == AR_OK)
		d->err.msg[0] = '\0';
	return rc;
}

bool desk_has(const struct ar_plan_paths *list, const char *path)
{
	return ar_path_has(list, ar_str_from(path));
}

const char *desk_env(const struct ar_plan *p, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < p->env_count; i++) {
		if (strncmp(p->env[i], name, len) == 0 && p->env[i][len] == '=')
			return p->env[i] + len + 1;
	}
	return NULL;
}
