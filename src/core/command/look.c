/* One command as its own shell has it: through env, nice, xargs, find -exec and the like to the
 * program that runs, and to the texts that another shell will read. What is not known is
 * raised as unreadable. Pure. */
#include "danger.h"

#include <string.h>

/* Alternatives are separated by blanks. */
struct wrapper {
	const char *names;
	const char *with_value; /* options whose value is the next word */
	size_t operands; /* that come before the command */
};

static const struct wrapper wrappers[] = {
	{ "env", "-u -C --unset --chdir", 0 },
	{ "nice", "-n --adjustment", 0 },
	{ "ionice", "-c -n", 0 },
	{ "timeout", "-s -k --signal --kill-after", 1 },
	{ "chrt taskset faketime", "", 1 },
	{ "flock", "-w -E --timeout", 1 },
	{ "nohup setsid command builtin busybox toybox unbuffer chronic catchsegv firejail proxychains "
	  "torify",
	  "", 0 },
	{ "exec", "-a", 0 },
	{ "stdbuf", "-i -o -e", 0 },
	{ "time", "-f -o", 0 },
	{ "sudo doas run0", "-u -g -h -p -C -T -U -D -r -t", 0 },
	{ "strace ltrace", "-o -e -p -s -E -u", 0 },
	{ "xargs", "-n -P -I -L -s -d -E -a --arg-file --max-args --max-procs --delimiter --replace", 0 },
	{ "parallel", "-j -n -N -I --jobs --colsep --delay", 0 },
	{ "systemd-run unshare", "-p -u -S", 0 },
	{ "npx bunx pnpx uvx", "-p --package --from", 0 },
};

void ar_look_unreadable(struct ar_look *l, size_t at)
{
	struct ar_str word = at < l->words->count ? l->words->at[at] : AR_STR("");
	struct ar_str next = at + 1 < l->words->count ? l->words->at[at + 1] : AR_STR("");

	ar_danger_raise(
		l->c, AR_DANGER_UNREADABLE,
		ar_shape_shown(ar_arena_fmt(l->a, "%.*s%s%.*s", AR_STR_ARG(ar_str_utf8_prefix(word, 32)),
					    next.len ? " " : "", AR_STR_ARG(ar_str_utf8_prefix(next, 32))),
			       l->a));
}

static bool is_exactly(struct ar_str word, const char *alternatives)
{
	struct ar_str rest = ar_str_from(alternatives), want;

	while (!ar_str_absent(rest)) {
		rest = ar_str_split(rest, ' ', &want);
		if (want.len > 0 && ar_str_eq(word, want))
			return true;
	}
	return false;
}

static bool is_option(struct ar_str word)
{
	return word.len > 1 && word.p[0] == '-';
}

/* ---- what makes later words mean something else ---- */

#define HARMLESS_VALUES "cat true : less more vi vim nano --max* 0 1"

static bool changes_lookup(struct ar_str name)
{
	return ar_danger_fits(
		       name,
		       "PATH LD_* DYLD_* BASH_ALIASES BASH_CMDS BASH_ENV ENV SHELLOPTS BASHOPTS BASH_FUNC_* "
		       "PS4 PROMPT_COMMAND "
		       "CDPATH IFS "
		       "HOME XDG_CONFIG_HOME PAGER EDITOR VISUAL BROWSER MANPAGER LESSOPEN LESSCLOSE "
		       "PERL5OPT "
		       "PERL5LIB PERL5DB RUBYOPT PYTHONSTARTUP PYTHONHOME NODE_OPTIONS MAKEFLAGS MAKEFILES "
		       "TAR_OPTIONS JAVA_TOOL_OPTIONS RUSTC_WRAPPER GCONV_PATH") ||
	       (ar_str_starts(name, AR_STR("GIT_")) &&
		!ar_danger_fits(
			name,
			"GIT_AUTHOR_* GIT_COMMITTER_* GIT_TERMINAL_PROMPT GIT_TRACE* GIT_MERGE_AUTOEDIT "
			"GIT_OPTIONAL_LOCKS GIT_INDEX_FILE GIT_CEILING_DIRECTORIES"));
}

/* Only folders that no workspace reaches. */
static bool is_system_path(struct ar_str value)
{
	struct ar_str part;

	if (ar_shape_is_unknown(value) || ar_danger_contains(value, ".."))
		return false;
	while (!ar_str_absent(value)) {
		value = ar_str_split(value, ':', &part);
		if (!ar_danger_fits(part, "/usr/* /bin /sbin /opt/* ~/*"))
			return false;
	}
	return true;
}

static void check_assignment(struct ar_look *l, size_t at)
{
	struct ar_str name, value;
	size_t command;

	if (!ar_shape_assigns(l->words->at[at], &name, &value) || !changes_lookup(name))
		return;
	if (ar_str_is(name, "PATH") ? is_system_path(value) : ar_danger_fits(value, HARMLESS_VALUES))
		return;
	command = ar_look_start(l->words);
	if (ar_str_is(name, "IFS") && command < l->words->count && ar_str_is(l->words->at[command], "read"))
		return;
	ar_look_unreadable(l, at);
}

static void check_assignments(struct ar_look *l, size_t from, size_t to)
{
	for (; from < to; from++)
		check_assignment(l, from);
}

size_t ar_look_start(const struct ar_words *words)
{
	struct ar_str name, value;
	size_t at = 0;

	while (at < words->count &&
	       (ar_shape_assigns(words->at[at], &name, &value) ||
		is_exactly(words->at[at], "if then elif else do while until ! time coproc") ||
		(at > 0 && ar_str_is(words->at[at - 1], "time") && ar_str_is(words->at[at], "-p"))))
		at++;
	if (at < words->count && is_exactly(words->at[at], "for select case function fi done esac in ]] }"))
		return words->count;
	return at;
}

/* ---- texts for a shell ---- */

static void take_text(struct ar_look *l, struct ar_str text, size_t at)
{
	if (ar_shape_is_unknown(text))
		ar_look_unreadable(l, at);
	else
		ar_words_add(&l->texts, text, l->a);
}

static void take_rest(struct ar_look *l, size_t from)
{
	if (from < l->words->count)
		take_text(l, ar_words_join(l->words, from, l->a), l->at);
}

static bool is_input(struct ar_str word)
{
	return is_exactly(word, "- /dev/stdin") || ar_str_starts(word, AR_STR("/dev/fd/")) ||
	       (ar_str_starts(word, AR_STR("/proc/")) && ar_danger_contains(word, "/fd/"));
}

/* A script by its name: one that nobody knows, or one that another command writes. */
static void take_script(struct ar_look *l, size_t at)
{
	struct ar_str word = l->words->at[at];

	if (is_input(word))
		ar_danger_raise(l->c, AR_DANGER_PIPE_TO_SHELL, l->words->at[l->at]);
	else if (ar_shape_is_open(word) || (ar_shape_splits(word) && word.p[0] == AR_ANY_WORDS))
		ar_look_unreadable(l, l->at);
}

/* sh -c TEXT, sh SCRIPT, and sh alone, which reads its input. */
static void look_at_shell(struct ar_look *l)
{
	bool has_text = false;
	size_t at = l->at + 1;

	for (; at < l->words->count &&
	       (is_option(l->words->at[at]) || ar_str_starts(l->words->at[at], AR_STR("+")));
	     at++) {
		has_text = has_text || ar_danger_has_letter(l->words->at[at], 'c');
		if (is_exactly(l->words->at[at], "--rcfile --init-file"))
			ar_look_unreadable(l, l->at);
		at += is_exactly(l->words->at[at], "-o -O +o +O");
	}
	if (at >= l->words->count) {
		l->reads = AR_READS_COMMANDS;
		if (l->is_fed)
			ar_look_unreadable(l, l->at);
	} else if (has_text) {
		take_text(l, l->words->at[at], l->at);
	} else {
		if (is_input(l->words->at[at]))
			l->reads = AR_READS_COMMANDS;
		take_script(l, at);
	}
}

static void look_at_ssh(struct ar_look *l)
{
	size_t at = l->at + 1;

	for (; at < l->words->count && is_option(l->words->at[at]); at++) {
		struct ar_str word = l->words->at[at];
		bool has_value = word.len == 2 && strchr("bcDEeFIiJLlmOopQRSWw", word.p[1]);

		if (word.p[1] == 'o' && ar_danger_contains(ar_words_join(l->words, at, l->a), "Command"))
			ar_look_unreadable(l, at);
		at += has_value;
	}
	take_rest(l, at + 1);
}

/* The value of the first of these options; absent: none is there. */
static struct ar_str option_value(const struct ar_look *l, const char *options)
{
	for (size_t i = l->at + 1; i + 1 < l->words->count; i++) {
		if (is_exactly(l->words->at[i], options))
			return l->words->at[i + 1];
	}
	return AR_STR_NONE;
}

static void look_at_text_option(struct ar_look *l, const char *options)
{
	struct ar_str text = option_value(l, options);

	if (!ar_str_absent(text))
		take_text(l, text, l->at);
}

/* The first operand is a text: trap TEXT EXIT. */
static void look_at_operand(struct ar_look *l)
{
	size_t at = l->at + 1;

	while (at < l->words->count && is_option(l->words->at[at]))
		at++;
	if (at < l->words->count)
		take_text(l, l->words->at[at], l->at);
}

/* watch: options, then the rest is a text. */
static void look_at_watch(struct ar_look *l)
{
	size_t at = l->at + 1;

	for (; at < l->words->count && is_option(l->words->at[at]); at++)
		at += is_exactly(l->words->at[at], "-n --interval");
	take_rest(l, at);
}

/* ---- git ---- */

/* Settings that start nothing. */
static bool is_harmless_key(struct ar_str setting, struct ar_arena *a)
{
	struct ar_str key, value = ar_str_split(setting, '=', &key);
	char *small = ar_arena_alloc(a, key.len + 1);

	for (size_t i = 0; i < key.len; i++)
		small[i] = key.p[i] >= 'A' && key.p[i] <= 'Z' ? (char)(key.p[i] + 'a' - 'A') : key.p[i];
	key = (struct ar_str){ small, key.len };
	if (is_exactly(key, "core.pager core.editor sequence.editor"))
		return !ar_str_absent(value) && ar_danger_fits(value, HARMLESS_VALUES);
	return ar_danger_fits(
		key,
		"user.* color.* advice.* commit.gpgsign tag.gpgsign core.quotepath core.autocrlf core.eol "
		"core.abbrev core.filemode core.longpaths init.defaultbranch safe.directory log.* "
		"diff.renames diff.algorithm diff.noprefix merge.conflictstyle pull.* push.default "
		"push.autosetupremote fetch.* gc.auto protocol.version submodule.recurse rebase.* "
		"branch.* status.* column.* format.pretty http.postbuffer http.lowspeed*");
}

static void look_at_git_setting(struct ar_look *l, size_t at)
{
	struct ar_str word = l->words->at[at], key;

	ar_str_split(word, '=', &key);
	if (ar_shape_is_unknown(key) || !is_harmless_key(word, l->a))
		ar_look_unreadable(l, at > 0 ? at - 1 : at);
}

/* git config KEY VALUE. */
static void look_at_git_config(struct ar_look *l, size_t at)
{
	for (at++; at < l->words->count && is_option(l->words->at[at]); at++) {
		if (ar_danger_fits(l->words->at[at], "--get* --list -l --unset*"))
			return;
	}
	if (at + 1 < l->words->count && is_exactly(l->words->at[at], "set"))
		at++;
	if (at + 1 < l->words->count &&
	    !is_harmless_key(ar_arena_fmt(l->a, "%.*s=%.*s", AR_STR_ARG(l->words->at[at]),
					  AR_STR_ARG(l->words->at[at + 1])),
			     l->a))
		ar_look_unreadable(l, at);
}

/* Options before the subcommand, and subcommands that run something. Returns where another
 * command begins; 0: there is none. */
static size_t look_at_git(struct ar_look *l)
{
	size_t at = l->at + 1;

	for (; at < l->words->count && is_option(l->words->at[at]); at++) {
		struct ar_str word = l->words->at[at];

		if (ar_str_starts(word, AR_STR("--exec-path=")) ||
		    ar_str_starts(word, AR_STR("--config-env")))
			ar_look_unreadable(l, at);
		if (ar_str_is(word, "-c") && at + 1 < l->words->count)
			look_at_git_setting(l, at + 1);
		at += is_exactly(word, "-c -C --git-dir --work-tree --namespace --config-env");
	}
	for (size_t i = at; i < l->words->count; i++) {
		struct ar_str word = l->words->at[i], option, value = ar_str_split(word, '=', &option);

		if (ar_danger_contains(word, "ext::"))
			ar_look_unreadable(l, i);
		if (!ar_str_absent(value) && is_exactly(option, "--exec --extcmd"))
			take_text(l, value, i);
	}
	if (at >= l->words->count)
		return 0;
	if (ar_str_is(l->words->at[at], "config"))
		look_at_git_config(l, at);
	if (ar_str_is(l->words->at[at], "rebase"))
		look_at_text_option(l, "-x --exec");
	if (at + 2 < l->words->count && is_exactly(l->words->at[at + 1], "foreach"))
		take_rest(l, at + 2 + is_exactly(l->words->at[at + 2], "--recursive --quiet"));
	return at + 2 < l->words->count && ar_str_is(l->words->at[at], "bisect") &&
			       ar_str_is(l->words->at[at + 1], "run")
		       ? at + 2
		       : 0;
}

/* ---- what is written ---- */

/* Programs that write a file which they are given: to all operands, or to the last one. */
static void look_at_writes(struct ar_look *l, struct ar_str name)
{
	bool to_all = ar_danger_fits(name, "tee truncate shred");
	size_t last = 0;

	for (size_t i = l->at + 1; i < l->words->count; i++) {
		struct ar_str word = l->words->at[i];

		if (ar_str_is(name, "dd") && ar_str_starts(word, AR_STR("of=")))
			ar_danger_keep_path(l->c, ar_str_sub(word, 3, word.len), true, l->a);
		if (i + 1 < l->words->count &&
		    ((ar_str_is(name, "find") && ar_danger_fits(word, "-fprint* -fls")) ||
		     (is_exactly(name, "curl wget") && is_exactly(word, "-o -O --output --output-document"))))
			ar_danger_keep_path(l->c, l->words->at[i + 1], true, l->a);
		if (is_option(word))
			continue;
		if (to_all)
			ar_danger_keep_path(l->c, word, true, l->a);
		last = i;
	}
	if (last > 0 && ar_danger_fits(name, "cp mv ln install rsync scp"))
		ar_danger_keep_path(l->c, l->words->at[last], true, l->a);
}

/* ---- programs ---- */

/* Programs that read what another command writes as a script of their own. */
static void look_at_scripts(struct ar_look *l, struct ar_str name)
{
	static const char *const of_make[] = { "-", "-f-", "-f/dev/stdin" };

	if (!ar_danger_fits(name, AR_INTERPRETERS " awk gawk mawk nawk sed gsed make gmake"))
		return;
	for (size_t i = l->at + 1; i < l->words->count; i++) {
		bool is_makefile = false;

		for (size_t n = 0; n < AR_ARRAY_LEN(of_make); n++)
			is_makefile = is_makefile || ar_str_is(l->words->at[i], of_make[n]);
		if ((is_input(l->words->at[i]) && !ar_str_is(l->words->at[i], "-")) ||
		    (is_makefile && ar_danger_fits(name, "make gmake")))
			ar_danger_raise(l->c, AR_DANGER_PIPE_TO_SHELL, l->words->at[l->at]);
	}
}

/* tar cIf PROGRAM: letters without a dash. */
static void look_at_tar(struct ar_look *l)
{
	struct ar_str first = l->at + 1 < l->words->count ? l->words->at[l->at + 1] : AR_STR("");

	if (!is_option(first) && !ar_danger_contains(first, ".") &&
	    (ar_danger_contains(first, "I") || ar_danger_contains(first, "F")))
		ar_look_unreadable(l, l->at);
}

static void look_at_alias(struct ar_look *l)
{
	for (size_t i = l->at + 1; i < l->words->count; i++) {
		if (memchr(l->words->at[i].p, '=', l->words->at[i].len) ||
		    ar_shape_is_unknown(l->words->at[i]))
			ar_look_unreadable(l, l->at);
	}
}

static void look_at_rsync(struct ar_look *l)
{
	struct ar_str rsh = option_value(l, "-e --rsh");

	if (!ar_str_absent(rsh) && !ar_str_is(rsh, "ssh") && !ar_str_starts(rsh, AR_STR("ssh ")))
		ar_look_unreadable(l, l->at);
}

/* Returns where another command begins; 0: there is none. */
static size_t look_at_program(struct ar_look *l, struct ar_str name)
{
	if (is_exactly(name, "eval"))
		take_rest(l, l->at + 1);
	else if (ar_danger_fits(name, AR_SHELLS))
		look_at_shell(l);
	else if (is_exactly(name, "source .") && l->at + 1 < l->words->count)
		take_script(l, l->at + 1);
	else if (is_exactly(name, "trap"))
		look_at_operand(l);
	else if (is_exactly(name, "watch entr"))
		look_at_watch(l);
	else if (is_exactly(name, "ssh"))
		look_at_ssh(l);
	else if (is_exactly(name, "su script flock runuser"))
		look_at_text_option(l, "-c --command");
	else if (is_exactly(name, "mapfile readarray compgen complete"))
		look_at_text_option(l, "-C");
	else if (is_exactly(name, "alias"))
		look_at_alias(l);
	else if (is_exactly(name, "tar gtar bsdtar"))
		look_at_tar(l);
	else if (is_exactly(name, "rsync"))
		look_at_rsync(l);
	else if (is_exactly(name, "export declare typeset readonly local"))
		check_assignments(l, l->at + 1, l->words->count);
	else if (is_exactly(name, "hash enable") && !ar_str_absent(option_value(l, "-p -f")))
		ar_look_unreadable(l, l->at);
	else if (is_exactly(name, "cd pushd popd"))
		l->c->changes_folder = true;
	else if (is_exactly(name, "git"))
		return look_at_git(l);
	else if (is_exactly(name, "ed red ex"))
		ar_look_unreadable(l, l->at);
	return 0;
}

static size_t find_exec(const struct ar_look *l, size_t from)
{
	while (from < l->words->count && !is_exactly(l->words->at[from], "-exec -execdir -ok -okdir"))
		from++;
	return from;
}

/* ---- wrappers ---- */

static const struct wrapper *find_wrapper(struct ar_str name)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(wrappers); i++) {
		if (is_exactly(name, wrappers[i].names))
			return &wrappers[i];
	}
	return NULL;
}

/* env -S TEXT, xargs -I WORD: what an option of a wrapper means. */
static void look_at_wrapper_option(struct ar_look *l, struct ar_str name, size_t at)
{
	struct ar_str word = l->words->at[at];

	if (!ar_str_is(name, "env") ||
	    !(ar_danger_has_letter(word, 'S') || ar_str_starts(word, AR_STR("--split"))))
		return;
	take_rest(l, word.len == 2 && at + 1 < l->words->count ? at + 1 : at);
}

/* Where the command of the wrapper at `l->at` begins; the count when it has none. */
static size_t after_wrapper(struct ar_look *l, const struct wrapper *w, struct ar_str name)
{
	struct ar_str assigned, value;
	size_t at = l->at + 1;

	for (; at < l->words->count; at++) {
		struct ar_str word = l->words->at[at];

		if (ar_str_is(word, "--")) {
			at++;
			break;
		}
		if (is_exactly(name, "env sudo doas") && ar_shape_assigns(word, &assigned, &value)) {
			check_assignment(l, at);
			continue;
		}
		if (!is_option(word))
			break;
		if (ar_str_is(name, "command") && is_exactly(word, "-v -V"))
			return l->words->count;
		look_at_wrapper_option(l, name, at);
		at += is_exactly(word, w->with_value);
	}
	for (size_t i = 0; i < w->operands && at < l->words->count; i++, at++) {
		if (ar_shape_splits(l->words->at[at]))
			ar_look_unreadable(l, at);
	}
	return at < l->words->count ? at : l->words->count;
}

/* xargs and parallel put words of their input into the command. */
static void look_at_feeder(struct ar_look *l, struct ar_str name, size_t command)
{
	struct ar_str mark = option_value(l, "-I");

	for (size_t i = l->at + 1; i < command; i++) {
		if (l->words->at[i].len > 2 && ar_str_starts(l->words->at[i], AR_STR("-I")))
			mark = ar_str_sub(l->words->at[i], 2, l->words->at[i].len);
	}
	l->is_fed = true;
	if (command == l->words->count) {
		if (ar_str_is(name, "parallel"))
			ar_look_unreadable(l, l->at);
		return;
	}
	if (!ar_str_absent(mark) && ar_str_eq(l->words->at[command], mark))
		ar_look_unreadable(l, l->at);
	if (ar_str_is(name, "parallel"))
		take_text(l, l->words->at[command], l->at);
}

/* What the word at `l->at` is, as a program. */
static bool is_program_unknown(struct ar_str word)
{
	return ar_shape_splits(word) || ar_shape_is_unknown(ar_danger_base(word)) ||
	       ar_danger_contains(word, "{}");
}

/* Goes on to the next place where a command begins; the count: there is none. */
static size_t next_place(struct ar_look *l)
{
	struct ar_str name = ar_danger_base(l->words->at[l->at]);
	const struct wrapper *w = find_wrapper(name);
	size_t next;

	if (w) {
		next = after_wrapper(l, w, name);
		if (next == l->words->count && l->is_fed)
			ar_look_unreadable(l, l->at);
		if (is_exactly(name, "xargs parallel"))
			look_at_feeder(l, name, next);
		if (ar_str_is(name, "flock"))
			look_at_text_option(l, "-c --command");
		return next > 0 && next < l->words->count && is_option(l->words->at[next]) ? l->words->count
											   : next;
	}
	ar_danger_check_unknown(l->words, l->at, l->is_fed, l->c);
	ar_code_look(l);
	look_at_writes(l, name);
	look_at_scripts(l, name);
	l->has_find = l->has_find || ar_str_is(name, "find");
	next = look_at_program(l, name);
	return next ? next : l->words->count;
}

void ar_look_through(struct ar_look *l)
{
	size_t start = ar_look_start(l->words);

	check_assignments(l, 0, start);
	for (l->at = start; l->at < l->words->count;) {
		size_t here = l->at;

		if (is_program_unknown(l->words->at[here])) {
			ar_look_unreadable(l, here);
			return;
		}
		l->at = next_place(l);
		if (l->at >= l->words->count && l->has_find) {
			l->at = find_exec(l, here + 1) + 1;
			l->is_fed = false;
		}
	}
}
