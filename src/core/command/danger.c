/* What words are harmful: tables of programs with the subcommand and the option that make them so, of
 * phrases, and of parts of words. A program is looked for at every place of a command, since anything
 * may run it for something else (env, xargs, find -exec, sudo). Pure. */
#include "danger.h"

#include <string.h>

#define RECURSIVE_DELETE AR_DANGER_RECURSIVE_DELETE
#define HISTORY_REWRITE AR_DANGER_HISTORY_REWRITE
#define DEVICE_WRITE AR_DANGER_DEVICE_WRITE
#define DATABASE_DROP AR_DANGER_DATABASE_DROP
#define PUBLISH_DEPLOY AR_DANGER_PUBLISH_DEPLOY
#define OPEN_PERMISSIONS AR_DANGER_OPEN_PERMISSIONS
#define CREDENTIAL_READ AR_DANGER_CREDENTIAL_READ
#define PRIVILEGE_CHANGE AR_DANGER_PRIVILEGE_CHANGE
#define HOST_CONTROL AR_DANGER_HOST_CONTROL
#define UNREADABLE AR_DANGER_UNREADABLE

/* When an argument that is not known asks. */
enum unknown {
	NEVER, /* only a subcommand that is not known asks */
	ASKS, /* it could be one of the options */
	ASKS_BESIDE, /* the same, when another operand stands beside it */
	ASKS_AFTER, /* the same, after the first operand and not after an option */
};

/* Alternatives are separated by blanks. A trailing * fits any end; -x fits -axb too; a long option fits
 * when shortened. NULL: none is needed. */
struct program {
	const char *names, *subcommands, *options;
	enum ar_danger danger;
};

static const struct program programs[] = {
	{ "rm", NULL, "-r -R --recursive --no-preserve-root", RECURSIVE_DELETE },
	{ "find", NULL, "-delete", RECURSIVE_DELETE },
	{ "find", "rm unlink shred rmdir", "-exec -execdir -ok -okdir", RECURSIVE_DELETE },
	{ "git", "clean", "-f -d -x -X --force", RECURSIVE_DELETE },
	{ "git", "worktree", "remove --force", RECURSIVE_DELETE },
	{ "rsync", NULL, "--del*", RECURSIVE_DELETE },
	{ "rimraf trash del-cli wipe srm", NULL, NULL, RECURSIVE_DELETE },
	{ "git", "push", "-f -d --force* --mirror --delete --prune +* :*", HISTORY_REWRITE },
	{ "git", "reset", "--hard --merge --keep", HISTORY_REWRITE },
	{ "git", "filter-branch filter-repo", NULL, HISTORY_REWRITE },
	{ "git-filter-repo bfg", NULL, NULL, HISTORY_REWRITE },
	{ "git", "branch", "-D --delete --force", HISTORY_REWRITE },
	{ "git", "reflog", "expire delete", HISTORY_REWRITE },
	{ "git", "stash", "drop clear", HISTORY_REWRITE },
	{ "git", "gc prune", "--prune* --expire*", HISTORY_REWRITE },
	{ "git", "update-ref", "-d", HISTORY_REWRITE },
	{ "git", "checkout switch", "-f --force --discard-changes", HISTORY_REWRITE },
	{ "dd", NULL, "of=*", DEVICE_WRITE },
	{ "mkfs* shred wipefs blkdiscard fdisk cfdisk sfdisk gdisk sgdisk parted mkswap mke2fs", NULL, NULL,
	  DEVICE_WRITE },
	{ "cryptsetup lvremove vgremove pvremove mdadm hdparm badblocks", NULL, NULL, DEVICE_WRITE },
	{ "zpool zfs", "destroy", NULL, DEVICE_WRITE },
	{ "truncate", NULL, "-s --size", DEVICE_WRITE },
	{ "dropdb dropuser", NULL, NULL, DATABASE_DROP },
	{ "redis-cli", "flushall flushdb FLUSHALL FLUSHDB", NULL, DATABASE_DROP },
	{ "prisma", "reset", NULL, DATABASE_DROP },
	{ "rails rake artisan", "db:drop* db:reset* db:purge* db:wipe migrate:fresh migrate:reset", NULL,
	  DATABASE_DROP },
	{ "npm yarn pnpm bun cargo poetry flit hatch uv pdm lerna", "publish unpublish yank", NULL,
	  PUBLISH_DEPLOY },
	{ "twine", "upload", NULL, PUBLISH_DEPLOY },
	{ "gem docker podman helm nuget skopeo crane oras", "push copy", NULL, PUBLISH_DEPLOY },
	{ "terraform tofu terragrunt pulumi cdk", "apply destroy up deploy import taint state", NULL,
	  PUBLISH_DEPLOY },
	{ "kubectl oc", "delete apply drain replace scale patch rollout create edit cordon", NULL,
	  PUBLISH_DEPLOY },
	{ "helm", "install upgrade uninstall delete rollback", NULL, PUBLISH_DEPLOY },
	{ "gh", "release", "create delete upload edit", PUBLISH_DEPLOY },
	{ "gh", "repo", "delete archive rename", PUBLISH_DEPLOY },
	{ "gh", "pr", "merge", PUBLISH_DEPLOY },
	{ "vercel netlify fly flyctl wrangler firebase serverless sls sam copilot eb render railway heroku",
	  "deploy publish destroy delete --prod", NULL, PUBLISH_DEPLOY },
	{ "aws gcloud az doctl oci",
	  "rm rb delete* terminate* remove* destroy* deploy* put-* update-* create*", NULL, PUBLISH_DEPLOY },
	{ "mvn gradle gradlew sbt", "deploy publish release*", NULL, PUBLISH_DEPLOY },
	{ "ansible-playbook goreleaser semantic-release cap", NULL, NULL, PUBLISH_DEPLOY },
	{ "chmod", "777 0777 666 0666 a+w o+w a+rw a+rwx o+rwx ugo+rwx ugo+w +rwx +s u+s g+s ug+s 4* 04* 6*",
	  NULL, OPEN_PERMISSIONS },
	{ "chown chgrp", NULL, "-R --recursive", OPEN_PERMISSIONS },
	{ "setfacl setcap", NULL, NULL, OPEN_PERMISSIONS },
	{ "gpg gpg2", NULL, "--export-secret*", CREDENTIAL_READ },
	{ "security", "find-generic-password find-internet-password dump-keychain", NULL, CREDENTIAL_READ },
	{ "gh gcloud", "auth", "token print-access-token", CREDENTIAL_READ },
	{ "pass secret-tool vault op bw", "show lookup read get kv", NULL, CREDENTIAL_READ },
	{ "sudo su doas pkexec runuser setpriv nsenter chroot newgrp", NULL, NULL, PRIVILEGE_CHANGE },
	{ "shutdown reboot halt poweroff telinit insmod rmmod modprobe kexec", NULL, NULL, HOST_CONTROL },
	{ "systemctl service launchctl", "stop disable mask poweroff reboot halt kill isolate unload", NULL,
	  HOST_CONTROL },
	{ "crontab", NULL, "-r -e -", HOST_CONTROL },
	{ "sysctl", NULL, "-w --write", HOST_CONTROL },
	{ "iptables ip6tables nft ufw", NULL, NULL, HOST_CONTROL },
	{ "kill", NULL, "-1", HOST_CONTROL },
	{ "tar gtar bsdtar", NULL,
	  "--to-command --checkpoint-action --use-compress-program --rsh-command --info-script "
	  "--new-volume-script -I -F",
	  UNREADABLE },
	{ "zip", NULL, "--unzip-command -TT", UNREADABLE },
	{ "scp sftp", NULL, "-S", UNREADABLE },
	{ "sort", NULL, "--compress-program", UNREADABLE },
	{ "git", "grep", "-O --open-files-in-pager", UNREADABLE },
	{ "git", NULL, "--upload-pack --receive-pack", UNREADABLE },
	{ "make gmake", NULL, "--eval SHELL=* .SHELLFLAGS=*", UNREADABLE },
};

/* Programs that an argument makes harmful which is not known. */
struct risk {
	struct program program;
	enum unknown unknown;
};

static const struct risk risks[] = {
	{ { "rm", NULL, "-r -R --recursive --no-preserve-root", RECURSIVE_DELETE }, ASKS_BESIDE },
	{ { "find", NULL, "-delete", RECURSIVE_DELETE }, ASKS_AFTER },
	{ { "git", "clean", "-f -d -x -X --force", RECURSIVE_DELETE }, ASKS },
	{ { "git", "push", "-f -d --force* --mirror --delete --prune +* :*", HISTORY_REWRITE }, ASKS },
	{ { "git", "reset", "--hard --merge --keep", HISTORY_REWRITE }, ASKS },
	{ { "dd", NULL, "of=*", DEVICE_WRITE }, ASKS },
};

/* Words that follow each other, in any case. */
struct phrase {
	const char *words[2];
	enum ar_danger danger;
};

static const struct phrase phrases[] = {
	{ { "drop", "table" }, DATABASE_DROP },	    { { "drop", "database" }, DATABASE_DROP },
	{ { "drop", "schema" }, DATABASE_DROP },    { { "drop", "view" }, DATABASE_DROP },
	{ { "drop", "index" }, DATABASE_DROP },	    { { "drop", "collection" }, DATABASE_DROP },
	{ { "truncate", "table" }, DATABASE_DROP }, { { "delete", "from" }, DATABASE_DROP },
};

struct part {
	const char *text;
	enum ar_danger danger;
};

static const struct part parts[] = {
	{ "rmtree(", RECURSIVE_DELETE },
	{ "rmSync(", RECURSIVE_DELETE },
	{ "rmdirSync(", RECURSIVE_DELETE },
	{ "removeSync(", RECURSIVE_DELETE },
	{ "fs.rm(", RECURSIVE_DELETE },
	{ "rm_rf", RECURSIVE_DELETE },
	{ "remove_tree", RECURSIVE_DELETE },
	{ "dropDatabase", DATABASE_DROP },
	{ ".drop()", DATABASE_DROP },
	{ ".ssh/", CREDENTIAL_READ },
	{ "id_rsa", CREDENTIAL_READ },
	{ "id_ed25519", CREDENTIAL_READ },
	{ "id_ecdsa", CREDENTIAL_READ },
	{ ".aws/", CREDENTIAL_READ },
	{ ".netrc", CREDENTIAL_READ },
	{ ".pgpass", CREDENTIAL_READ },
	{ ".git-credentials", CREDENTIAL_READ },
	{ ".gnupg", CREDENTIAL_READ },
	{ ".kube/config", CREDENTIAL_READ },
	{ ".docker/config.json", CREDENTIAL_READ },
	{ ".config/gcloud", CREDENTIAL_READ },
	{ ".config/gh/hosts", CREDENTIAL_READ },
	{ ".pypirc", CREDENTIAL_READ },
	{ ".npmrc", CREDENTIAL_READ },
	{ ".vault-token", CREDENTIAL_READ },
	{ "/etc/shadow", CREDENTIAL_READ },
	{ "/etc/gshadow", CREDENTIAL_READ },
	{ "/environ", CREDENTIAL_READ },
	{ "ProxyCommand", UNREADABLE },
	{ "169.254.169.254", CREDENTIAL_READ },
	{ "metadata.google.internal", CREDENTIAL_READ },
};

#define FETCHERS "curl wget fetch aria2c http https nc ncat socat lynx"
#define EVALUATORS AR_SHELLS " " AR_INTERPRETERS " eval source ."
#define WRAPPERS \
	"sudo env nice nohup command exec time timeout xargs busybox doas stdbuf setsid ionice tee builtin"

/* ---- lists and marks ---- */

void ar_words_add(struct ar_words *w, struct ar_str word, struct ar_arena *a)
{
	w->is_full = w->is_full || w->count == AR_COMMAND_WORDS_MAX;
	if (w->is_full)
		return;
	if (w->count == w->room) {
		struct ar_str *more;

		w->room = w->room ? 2 * w->room : 8;
		more = ar_arena_alloc(a, w->room * sizeof(*more));
		if (w->count)
			memcpy(more, w->at, w->count * sizeof(*more));
		w->at = more;
	}
	w->at[w->count++] = word;
}

struct ar_str ar_words_join(const struct ar_words *w, size_t from, struct ar_arena *a)
{
	size_t len = 0;
	char *text;

	for (size_t i = from; i < w->count; i++)
		len += w->at[i].len + 1;
	text = ar_arena_alloc(a, len + 1);
	len = 0;
	for (size_t i = from; i < w->count; i++) {
		if (i > from)
			text[len++] = ' ';
		memcpy(text + len, w->at[i].p, w->at[i].len);
		len += w->at[i].len;
	}
	text[len] = 0;
	return (struct ar_str){ text, len };
}

void ar_danger_raise(struct ar_command_line *c, enum ar_danger danger, struct ar_str hit)
{
	if (c->dangers >> danger & 1)
		return;
	c->dangers |= 1u << danger;
	c->hits[danger] = hit;
}

struct ar_str ar_danger_base(struct ar_str path)
{
	size_t at = path.len;

	while (at > 0 && path.p[at - 1] != '/')
		at--;
	return ar_str_sub(path, at, path.len);
}

/* ---- alternatives ---- */

bool ar_danger_has_letter(struct ar_str word, char letter)
{
	return word.len > 1 && word.p[0] == '-' && word.p[1] != '-' &&
	       memchr(word.p + 1, letter, word.len - 1);
}

/* --recursive as --rec, and with a value. */
static bool is_long_option(struct ar_str word, struct ar_str option)
{
	struct ar_str name;

	ar_str_split(word, '=', &name);
	return name.len > 3 && ar_str_starts(option, name);
}

static bool fits_one(struct ar_str word, struct ar_str want)
{
	if (want.len > 1 && want.p[want.len - 1] == '*')
		return ar_str_starts(word, ar_str_sub(want, 0, want.len - 1));
	if (want.len == 2 && want.p[0] == '-')
		return ar_danger_has_letter(word, want.p[1]);
	if (ar_str_starts(want, AR_STR("--")))
		return is_long_option(word, want);
	return ar_str_eq(word, want);
}

bool ar_danger_fits(struct ar_str word, const char *alternatives)
{
	struct ar_str rest = ar_str_from(alternatives), want;

	while (!ar_str_absent(rest)) {
		rest = ar_str_split(rest, ' ', &want);
		if (fits_one(word, want))
			return true;
	}
	return false;
}

/* The place of the first word from `from` on that is one of them; the count when there is none. */
static size_t find_any(const struct ar_words *words, size_t from, const char *alternatives)
{
	while (from < words->count && !ar_danger_fits(words->at[from], alternatives))
		from++;
	return from;
}

/* ---- programs, phrases, parts ---- */

static struct ar_str hit_text(const struct ar_words *words, size_t program, size_t other, struct ar_arena *a)
{
	if (other <= program || other >= words->count)
		return words->at[program];
	return ar_arena_fmt(a, "%.*s %.*s", AR_STR_ARG(ar_str_utf8_prefix(words->at[program], 32)),
			    AR_STR_ARG(ar_str_utf8_prefix(words->at[other], 32)));
}

/* Its first place is enough: what does not follow that follows no later one. */
static void check_program(const struct ar_words *words, const struct program *p, struct ar_arena *a,
			  struct ar_command_line *c)
{
	size_t at = 0, sub, option;

	while (at < words->count && !ar_danger_fits(ar_danger_base(words->at[at]), p->names))
		at++;
	if (at == words->count)
		return;
	sub = p->subcommands ? find_any(words, at + 1, p->subcommands) : at;
	option = p->options ? find_any(words, at + 1, p->options) : at;
	if (sub < words->count && option < words->count)
		ar_danger_raise(c, p->danger, hit_text(words, at, p->subcommands ? sub : option, a));
}

static bool is_same_letters(struct ar_str word, const char *want)
{
	for (size_t i = 0; i < word.len; i++) {
		char c = word.p[i];

		if ((c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c) != want[i])
			return false;
	}
	return want[word.len] == 0;
}

static void check_phrase(const struct ar_words *words, size_t at, struct ar_arena *a,
			 struct ar_command_line *c)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(phrases) && at + 1 < words->count; i++) {
		if (is_same_letters(words->at[at], phrases[i].words[0]) &&
		    is_same_letters(words->at[at + 1], phrases[i].words[1]))
			ar_danger_raise(c, phrases[i].danger, hit_text(words, at, at + 1, a));
	}
}

bool ar_danger_contains(struct ar_str word, const char *part)
{
	size_t len = strlen(part);

	for (size_t i = 0; i + len <= word.len; i++) {
		if (memcmp(word.p + i, part, len) == 0)
			return true;
	}
	return false;
}

static void check_parts(struct ar_str word, struct ar_command_line *c)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(parts); i++) {
		if (ar_danger_contains(word, parts[i].text))
			ar_danger_raise(c, parts[i].danger, word);
	}
	if (ar_str_is(ar_danger_base(word), ".env") || ar_str_ends(word, AR_STR("/.ssh")))
		ar_danger_raise(c, CREDENTIAL_READ, word);
}

/* ---- what is not known ---- */

static bool is_option(struct ar_str word)
{
	return word.len > 1 && word.p[0] == '-';
}

/* The first word that is neither an option nor the value of one: the subcommand. */
static size_t first_operand(const struct ar_words *words, size_t at)
{
	static const char of_git[] = "-C -c --git-dir --work-tree --namespace --config-env";
	static const char of_others[] = "-C -c -n -f -p -R -w --namespace --context --kubeconfig "
					"--manifest-path --prefix --cwd --filter "
					"--workspace --project --profile --region --file --project-name "
					"--repo --registry --kube-context";
	const char *with_value = ar_str_is(ar_danger_base(words->at[at]), "git") ? of_git : of_others;

	for (at++; at < words->count && is_option(words->at[at]); at++) {
		struct ar_str rest = ar_str_from(with_value), want;

		while (!ar_str_absent(rest)) {
			rest = ar_str_split(rest, ' ', &want);
			if (ar_str_eq(words->at[at], want)) {
				at++;
				break;
			}
		}
	}
	return at < words->count ? at : words->count;
}

static size_t operands_after(const struct ar_words *words, size_t at)
{
	size_t count = 0;

	for (at++; at < words->count; at++)
		count += !is_option(words->at[at]);
	return count;
}

/* Whether the unknown word at `i` could turn the program at `at` to harm. */
static bool is_risky(const struct ar_words *words, const struct risk *r, size_t at, size_t i)
{
	if (!ar_shape_is_unknown(words->at[i]) || !ar_danger_may_fit(words->at[i], r->program.options))
		return false;
	if (r->unknown == ASKS_AFTER)
		return i > at + 1 && !is_option(words->at[i - 1]);
	return r->unknown == ASKS || ar_shape_splits(words->at[i]) || operands_after(words, at) > 1;
}

static bool has_risky(const struct ar_words *words, const struct risk *r, size_t at)
{
	for (size_t i = at + 1; i < words->count && !ar_str_is(words->at[i], "--"); i++) {
		if (is_risky(words, r, at, i))
			return true;
	}
	return false;
}

static bool is_row_unknown(const struct ar_words *words, const struct risk *r, size_t at, bool is_fed)
{
	const struct program *p = &r->program;
	size_t sub = at;

	if (p->subcommands) {
		sub = first_operand(words, at);
		if (sub == words->count)
			return is_fed;
		if (ar_shape_is_unknown(words->at[sub]))
			return ar_danger_may_fit(words->at[sub], p->subcommands);
		if (!ar_danger_fits(words->at[sub], p->subcommands))
			return false;
		if (p->options && sub + 1 < words->count && ar_shape_is_unknown(words->at[sub + 1]) &&
		    p->options[0] != '-' && ar_danger_may_fit(words->at[sub + 1], p->options))
			return true;
	}
	return p->options && r->unknown != NEVER && (is_fed || has_risky(words, r, sub));
}

static void check_row(const struct ar_words *words, const struct risk *r, size_t at, bool is_fed,
		      struct ar_command_line *c)
{
	if (ar_danger_fits(ar_danger_base(words->at[at]), r->program.names) &&
	    is_row_unknown(words, r, at, is_fed))
		ar_danger_raise(c, UNREADABLE, words->at[at]);
}

void ar_danger_check_unknown(const struct ar_words *words, size_t at, bool is_fed, struct ar_command_line *c)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(risks); i++)
		check_row(words, &risks[i], at, is_fed, c);
	for (size_t i = 0; i < AR_ARRAY_LEN(programs); i++) {
		if (!ar_str_is(ar_danger_base(words->at[at]), "find")) /* it has no subcommands */
			check_row(words, &(struct risk){ programs[i], NEVER }, at, is_fed, c);
	}
}

/* ---- what is read is run ---- */

static bool is_detail(struct ar_str word)
{
	return ar_str_empty(word) || word.p[0] == '-' || (word.p[0] >= '0' && word.p[0] <= '9') ||
	       memchr(word.p, '=', word.len);
}

/* A shell at the end of a pipe, without a script of its own. */
static void check_pipe(const struct ar_words *words, struct ar_command_line *c)
{
	size_t at = 0, script;
	struct ar_str name;

	while (at < words->count &&
	       (is_detail(words->at[at]) || ar_danger_fits(ar_danger_base(words->at[at]), WRAPPERS)))
		at++;
	if (at == words->count)
		return;
	name = ar_danger_base(words->at[at]);
	if (!ar_danger_fits(name, AR_SHELLS) && !ar_danger_fits(name, AR_INTERPRETERS))
		return;
	for (script = at + 1; script < words->count && words->at[script].len > 0 &&
			      words->at[script].p[0] == '-' && !ar_danger_has_letter(words->at[script], 's');)
		script++;
	if (script == words->count || ar_danger_has_letter(words->at[script], 's') ||
	    ar_str_is(words->at[script], "/dev/stdin"))
		ar_danger_raise(c, AR_DANGER_PIPE_TO_SHELL, words->at[at]);
}

/* sh -c "$(curl ...)", source <(wget ...): the words of what is nested are in the same list. */
static void check_fetched(const struct ar_words *words, struct ar_command_line *c)
{
	bool evaluates = false, fetches = false;

	for (size_t i = 0; i < words->count; i++) {
		struct ar_str name = ar_danger_base(words->at[i]);

		evaluates = evaluates || ar_danger_fits(name, EVALUATORS);
		fetches = fetches || ar_danger_fits(name, FETCHERS);
	}
	if (evaluates && fetches)
		ar_danger_raise(c, AR_DANGER_PIPE_TO_SHELL, words->at[0]);
}

void ar_danger_check(const struct ar_words *words, bool is_piped, struct ar_arena *a,
		     struct ar_command_line *c)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(programs); i++)
		check_program(words, &programs[i], a, c);
	for (size_t i = 0; i < words->count; i++) {
		check_phrase(words, i, a, c);
		check_parts(words->at[i], c);
	}
	if (is_piped)
		check_pipe(words, c);
	check_fetched(words, c);
	if (words->is_full)
		ar_danger_raise(c, AR_DANGER_UNREADABLE, words->at[0]);
}

void ar_danger_check_bomb(struct ar_str text, struct ar_arena *a, struct ar_command_line *c)
{
	char *tight = ar_arena_alloc(a, text.len + 1), *at, *name;
	size_t len = 0;
	int tries = 32; /* more functions than that in one command nobody reads */

	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] && !strchr(" \t\r\n", text.p[i]))
			tight[len++] = text.p[i];
	}
	for (at = strstr(tight, "(){"); at && tries-- > 0; at = strstr(at + 3, "(){")) {
		struct ar_str pipe;

		for (name = at; name > tight && !strchr(";&|(){}", name[-1]);)
			name--;
		pipe = ar_arena_fmt(a, "%.*s|%.*s", (int)(at - name), name, (int)(at - name), name);
		if (at > name && strstr(at, pipe.p))
			ar_danger_raise(c, AR_DANGER_FORK_BOMB, pipe);
	}
	if (at)
		ar_danger_raise(c, AR_DANGER_UNREADABLE, AR_STR("(){"));
}
