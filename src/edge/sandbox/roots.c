/* See roots.h. Touches the file system to see what exists; loop thread, at start. */
#include "roots.h"

#include "compiler.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYSTEM_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static const char *const system_roots[] = {
	"/usr",
	"/bin",
	"/sbin",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/opt",
	"/nix/store",
	"/etc/alternatives",
	"/etc/bash.bashrc",
	"/etc/ca-certificates",
	"/etc/ca-certificates.conf",
	"/etc/chromium",
	"/etc/chromium.d",
	"/etc/debian_version",
	"/etc/fonts",
	"/etc/gitconfig",
	"/etc/group",
	"/etc/host.conf",
	"/etc/hosts",
	"/etc/inputrc",
	"/etc/java-*",
	"/etc/ld.so.cache",
	"/etc/ld.so.conf",
	"/etc/ld.so.conf.d",
	"/etc/locale.alias",
	"/etc/locale.conf",
	"/etc/localtime",
	"/etc/lsb-release",
	"/etc/magic",
	"/etc/mime.types",
	"/etc/nsswitch.conf",
	"/etc/os-release",
	"/etc/passwd",
	"/etc/perl",
	"/etc/pki/ca-trust",
	"/etc/pki/tls/certs",
	"/etc/profile",
	"/etc/protocols",
	"/etc/python3*",
	"/etc/services",
	"/etc/ssl/certs",
	"/etc/ssl/openssl.cnf",
	"/etc/terminfo",
	"/etc/timezone",
	"/etc/vim",
};

/* Folders of a home that hold programs and nothing secret; .cargo as a whole holds keys of registries. */
static const struct {
	const char *folder;
	const char *bin[2]; /* below the folder; for PATH */
	const char *variable;
} toolchains[] = {
	{ ".pyenv", { "/shims", "/bin" }, "PYENV_ROOT" },
	{ ".rbenv", { "/shims", "/bin" }, "RBENV_ROOT" },
	{ ".cargo/bin", { "", NULL }, NULL },
	{ ".rustup", { NULL, NULL }, "RUSTUP_HOME" },
	{ ".nvm", { NULL, NULL }, "NVM_DIR" },
};

const char *ar_roots_secret_in(const struct ar_roots *r, struct ar_str real)
{
	if (r->state_dir.p && (ar_path_is_in(r->state_dir, real) || ar_path_is_in(real, r->state_dir)))
		return "the runtime's own state folder";
	if (r->home.p && ar_path_is_in(r->home, real))
		return "a whole home folder";
	return NULL;
}

bool ar_roots_is_system(struct ar_str real)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(system_roots); i++) {
		if (ar_path_is_in(ar_str_from(system_roots[i]), real))
			return true;
	}
	return false;
}

/* What the system has and is not there is no mistake; one that would show our state is left out. */
static bool add_usual(struct ar_roots *r, const char *path, struct ar_arena *a)
{
	struct ar_str real = ar_path_real(ar_str_from(path), a);

	if (ar_str_absent(real) || ar_roots_secret_in(r, real))
		return false;
	return ar_path_add(&r->read, ar_str_from(path), a);
}

static void add_pattern(struct ar_roots *r, const char *pattern, struct ar_arena *a)
{
	glob_t found;

	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			add_usual(r, found.gl_pathv[i], a);
	}
	globfree(&found);
}

static void add_toolchains(struct ar_roots *r, struct ar_str home, struct ar_arena *a)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(toolchains); i++) {
		struct ar_str folder = ar_arena_fmt(a, "%.*s/%s", AR_STR_ARG(home), toolchains[i].folder);

		if (!ar_str_is_plain_path(folder) || !add_usual(r, folder.p, a))
			continue;
		for (size_t j = 0; j < 2 && toolchains[i].bin[j]; j++)
			r->path = ar_arena_fmt(a, "%s%s:%s", folder.p, toolchains[i].bin[j], r->path.p);
		if (toolchains[i].variable)
			r->variables[r->variable_count++] =
				ar_arena_fmt(a, "%s=%s", toolchains[i].variable, folder.p);
	}
}

/* One list of the settings, for the sentences: which it is. */
struct setting {
	const char *key;
	struct ar_str value;
	struct ar_plan_paths *list;
};

static enum ar_status add_root(const struct ar_roots *r, const struct setting *s, struct ar_str path,
			       struct ar_arena *a, struct ar_error *err)
{
	struct ar_str real;
	const char *secret;

	if (path.len > 1 && path.p[path.len - 1] == '/')
		path.len--;
	if (!ar_str_is_plain_path(path))
		return ar_fail(err, AR_E_INVALID,
			       "%s: '%.*s' is not an absolute path without . and .. (and not / itself)",
			       s->key, AR_STR_ARG(path));
	real = ar_path_real(path, a);
	if (ar_str_absent(real))
		return ar_fail(err, AR_E_INVALID, "%s: '%.*s' does not exist", s->key, AR_STR_ARG(path));
	secret = ar_roots_secret_in(r, real);
	if (secret)
		return ar_fail(err, AR_E_INVALID, "%s: '%.*s' would show %s; name another directory", s->key,
			       AR_STR_ARG(path), secret);
	if (!ar_path_add(s->list, path, a))
		return ar_fail(err, AR_E_LIMIT, "%s: more than %d paths", s->key, AR_PLAN_PATHS_MAX);
	return AR_OK;
}

static enum ar_status add_setting(const struct ar_roots *r, struct setting s, struct ar_arena *a,
				  struct ar_error *err)
{
	enum ar_status rc = AR_OK;
	struct ar_str path;

	while (rc == AR_OK && ar_path_next(&s.value, ":\n", &path))
		rc = add_root(r, &s, path, a, err);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum ar_status ar_roots_find(const struct ar_roots_options *o, struct ar_arena *a, struct ar_roots *ret,
			     struct ar_error *err)
{
	enum ar_status rc;

	*ret = (struct ar_roots){ .path = AR_STR(SYSTEM_PATH) };
	if (!ar_str_empty(o->state_dir))
		ret->state_dir = ar_path_future(o->state_dir, a);
	if (o->home.len > 1)
		ret->home = ar_path_real(o->home, a);
	for (size_t i = 0; i < AR_ARRAY_LEN(system_roots); i++)
		add_pattern(ret, system_roots[i], a);
	if (!ar_str_absent(ret->home))
		add_toolchains(ret, ret->home, a);
	rc = add_setting(ret, (struct setting){ "sandbox.read_roots", o->read_roots, &ret->read }, a, err);
	if (rc == AR_OK)
		rc = add_setting(ret, (struct setting){ "sandbox.write_roots", o->write_roots, &ret->write },
				 a, err);
	if (rc != AR_OK)
		return rc;
	qsort(ret->read.at, ret->read.count, sizeof(ret->read.at[0]), by_name);
	qsort(ret->write.at, ret->write.count, sizeof(ret->write.at[0]), by_name);
	return AR_OK;
}
