/* Programs in other languages that a command carries: code of interpreters, of awk, sed, editors and
 * debuggers. Only whether they start programs, evaluate text or delete; what code computes is not
 * known, so code with an unknown part is unreadable. Pure. */
#include "danger.h"

#include <string.h>

struct interpreter {
	const char *names;
	const char *options; /* whose value is code */
};

static const struct interpreter interpreters[] = {
	{ "python*", "-c" },
	{ "perl ruby lua julia Rscript osascript", "-e -E" },
	{ "node nodejs bun", "-e -p --eval --print" },
	{ "php", "-r -R -B -E" },
	{ "pwsh powershell", "-c -Command" },
	{ "psql", "-c --command" },
	{ "mysql mariadb", "-e --execute" },
	{ "deno", "eval" },
};

static const char *const starters[] = {
	"system(",
	"system ",
	"os.system",
	"popen",
	"Popen",
	"subprocess",
	"exec(",
	"exec \"",
	"exec '",
	"execv",
	"execl",
	"execSync",
	"execFile",
	"spawn",
	"eval(",
	"eval \"",
	"eval $",
	"fork(",
	"child_process",
	"pty.",
	"__import__",
	"importlib",
	"getattr(",
	"__builtins__",
	"globals()",
	"ctypes",
	"qx",
	"passthru",
	"proc_open",
	"shell_exec",
	"os.execute",
	"os.remove",
	"os.unlink",
	"removedirs",
	"unlink(",
	"unlink ",
	"unlinkSync",
	"rmdir",
	"io.popen",
	"process.binding",
	"import(",
	"compile(",
	"shell-command",
	"marshal",
	"pickle",
	"__dict__",
	"vars(",
	"locals()",
	"__getattribute__",
	"fromhex",
	"chr(",
	"b64decode",
	"Function(",
	"constructor(",
	"globalThis[",
	"send(",
	"%x",
	"call_user_func",
	"assert(",
};

/* require("./x") is plain; require(a + b) is not. */
static bool requires_unknown(struct ar_str code)
{
	static const struct ar_str call = AR_STR("require(");

	for (size_t i = 0; i + call.len < code.len; i++) {
		size_t at = i + call.len;
		char quote = code.p[at];

		if (!ar_str_starts(ar_str_sub(code, i, call.len), call))
			continue;
		if (quote != '\'' && quote != '"')
			return true;
		while (++at < code.len && code.p[at] != quote)
			;
		if (at + 1 >= code.len || code.p[at + 1] != ')')
			return true;
	}
	return false;
}

void ar_code_check(struct ar_str code, struct ar_command_line *c, struct ar_arena *a)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(starters); i++) {
		if (ar_danger_contains(code, starters[i]))
			ar_danger_raise(c, AR_DANGER_UNREADABLE, ar_str_from(starters[i]));
	}
	if (ar_shape_is_unknown(code) || requires_unknown(code))
		ar_danger_raise(c, AR_DANGER_UNREADABLE, ar_shape_shown(ar_str_utf8_prefix(code, 48), a));
}

/* ---- interpreters ---- */

static bool is_option(struct ar_str word)
{
	return word.len > 1 && word.p[0] == '-';
}

/* Backticks, and open() with a pipe. */
static bool starts_like_a_shell(struct ar_str code)
{
	return ar_danger_contains(code, "`") ||
	       (ar_danger_contains(code, "open") && ar_danger_contains(code, "|"));
}

static void look_at_interpreter(struct ar_look *l, const struct interpreter *in)
{
	bool has_code = false, has_script = false;
	bool has_backticks = ar_danger_fits(ar_danger_base(l->words->at[l->at]), "perl ruby php");

	for (size_t i = l->at + 1; i < l->words->count && !has_script; i++) {
		struct ar_str word = l->words->at[i], value;

		if (ar_shape_is_open(word) && ar_shape_splits(word) && !has_code)
			ar_look_unreadable(l, l->at); /* it may be an option with code */

		if (ar_danger_fits(word, in->options)) {
			value = ar_str_split(word, '=', &word);
			if (ar_str_absent(value) || word.p[1] != '-')
				value = i + 1 < l->words->count ? l->words->at[i + 1] : AR_STR("");
			ar_code_check(value, l->c, l->a);
			ar_code_check(l->words->at[i], l->c, l->a); /* -e'code' in one word */
			if (has_backticks &&
			    (starts_like_a_shell(value) || starts_like_a_shell(l->words->at[i])))
				ar_look_unreadable(l, l->at);
			has_code = true;
			i++;
		}
		has_script = !is_option(l->words->at[i < l->words->count ? i : l->at]) && !has_code;
	}
	if (l->is_fed && !has_script)
		ar_look_unreadable(l, l->at);
	if (!has_code && (!has_script || ar_str_is(l->words->at[l->words->count - 1], "-")))
		l->reads = AR_READS_CODE;
}

/* ---- awk ---- */

/* A pipe or system() outside of strings and patterns. */
static bool awk_starts(struct ar_str code)
{
	char inside = 0, before = '(';

	for (size_t i = 0; i < code.len; i++) {
		char c = code.p[i], after = i + 1 < code.len ? code.p[i + 1] : 0;

		if (inside) {
			i += c == '\\';
			inside = c == inside ? 0 : inside;
			before = 'x';
			continue;
		}
		if (c == '"' || (c == '/' && strchr("(,~!&|{;\n", before)))
			inside = c;
		else if (c == '|' && after == '|')
			i++;
		else if (c == '|' || ar_str_starts(ar_str_sub(code, i, 6), AR_STR("system")))
			return true;
		if (c != ' ' && c != '\t')
			before = c;
	}
	return false;
}

static void look_at_awk(struct ar_look *l)
{
	size_t i = l->at + 1;

	for (; i < l->words->count && is_option(l->words->at[i]); i++) {
		if (ar_danger_fits(l->words->at[i], "-f --file"))
			return;
		i += ar_str_is(l->words->at[i], "-F") || ar_str_is(l->words->at[i], "-v");
	}
	if (i < l->words->count && (ar_shape_is_open(l->words->at[i]) || awk_starts(l->words->at[i])))
		ar_look_unreadable(l, l->at);
}

/* ---- sed ---- */

/* The place after a part that ends with `end`. */
static size_t sed_part(struct ar_str s, size_t at, char end)
{
	while (at < s.len && s.p[at] != end)
		at += s.p[at] == '\\' ? 2 : 1;
	return at < s.len ? at + 1 : s.len;
}

static size_t sed_address(struct ar_str s, size_t at)
{
	while (at < s.len) {
		char c = s.p[at];

		if (c == '/')
			at = sed_part(s, at + 1, '/');
		else if (c == '\\' && at + 1 < s.len)
			at = sed_part(s, at + 2, s.p[at + 1]);
		else if ((c >= '0' && c <= '9') || strchr("$,~+!IM \t", c))
			at++;
		else
			break;
	}
	return at;
}

/* s/a/b/flags: whether e is one of the flags. */
static bool sed_replaces_by_command(struct ar_str s, size_t *at)
{
	char end = *at + 1 < s.len ? s.p[*at + 1] : 0;
	bool evaluates = false;

	*at = sed_part(s, sed_part(s, *at + 2, end), end);
	for (; *at < s.len && !strchr(";\n} \t", s.p[*at]); ++*at)
		evaluates =
			evaluates || s.p[*at] == 'e' || s.p[*at] == AR_ANY_PART || s.p[*at] == AR_ANY_WORDS;
	return evaluates;
}

static bool sed_starts(struct ar_str s)
{
	for (size_t at = 0; at < s.len;) {
		while (at < s.len && strchr(" \t\n;{}", s.p[at]))
			at++;
		at = sed_address(s, at);
		if (at >= s.len)
			return false;
		switch (s.p[at]) {
		case 'e':
			return true;
		case 's':
			if (sed_replaces_by_command(s, &at))
				return true;
			break;
		case 'y':
			at = at + 1 < s.len ? sed_part(s, sed_part(s, at + 2, s.p[at + 1]), s.p[at + 1])
					    : s.len;
			break;
		case 'a':
		case 'i':
		case 'c':
		case 'r':
		case 'w':
		case '#':
			at = sed_part(s, at, '\n');
			break;
		case 'b':
		case 't':
		case ':':
			while (at < s.len && !strchr(";\n", s.p[at]))
				at++;
			break;
		default:
			at++;
		}
	}
	return false;
}

static void look_at_sed(struct ar_look *l)
{
	bool has_script = false;

	for (size_t i = l->at + 1; i < l->words->count; i++) {
		struct ar_str word = l->words->at[i], script = AR_STR_NONE;

		if (ar_str_starts(word, AR_STR("--expression=")))
			script = ar_str_sub(word, 13, word.len);
		else if (is_option(word) && word.p[1] != '-' && word.p[word.len - 1] == 'e' &&
			 i + 1 < l->words->count)
			script = l->words->at[++i];
		else if (ar_danger_fits(word, "-f --file"))
			has_script = true;
		else if (!is_option(word) && !has_script)
			script = word;
		if (ar_str_absent(script))
			continue;
		has_script = true;
		if (ar_shape_is_open(script) || sed_starts(script))
			ar_look_unreadable(l, l->at);
	}
}

/* ---- editors and debuggers ---- */

static void look_at_debugger(struct ar_look *l)
{
	for (size_t i = l->at + 1; i < l->words->count; i++) {
		struct ar_str word = l->words->at[i];

		if (ar_danger_fits(l->words->at[i - 1], "-ex -iex -o --eval-command --one-line") &&
		    (ar_shape_is_unknown(word) ||
		     ar_danger_fits(word,
				    "shell* !* python* pi* source* make* pipe* |* call* platform* script*")))
			ar_look_unreadable(l, i);
	}
}

static void look_at_editor(struct ar_look *l)
{
	for (size_t i = l->at + 1; i < l->words->count; i++) {
		if (ar_danger_fits(l->words->at[i],
				   "-c --cmd -S -s -e +* --eval --batch -f --funcall -l --load --script"))
			ar_look_unreadable(l, l->at);
	}
}

void ar_code_look(struct ar_look *l)
{
	struct ar_str name = ar_danger_base(l->words->at[l->at]);

	if (ar_danger_fits(name, "awk gawk mawk nawk"))
		look_at_awk(l);
	else if (ar_danger_fits(name, "sed gsed"))
		look_at_sed(l);
	else if (ar_danger_fits(name, "gdb lldb"))
		look_at_debugger(l);
	else if (ar_danger_fits(name, "vim vi nvim view gvim emacs"))
		look_at_editor(l);
	for (size_t i = 0; i < AR_ARRAY_LEN(interpreters); i++) {
		if (ar_danger_fits(name, interpreters[i].names))
			look_at_interpreter(l, &interpreters[i]);
	}
}
