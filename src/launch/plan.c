/* The text of a plan: one table of words says what may stand in it, for writing and for reading. What a plan
 * may not be is in plan_check.c; both directions ask it. Called by the daemon on its loop
 * and by agent-init before it has any thread; no state. */
#include "plan.h"

#include "plan_check.h"

#include <string.h>

enum kind {
	ONE_OF, /* an enum by name; the first name is that of 1 */
	NUMBER,
	FLAG, /* `yes`, or not there */
	TEXT,
	LIST, /* may stand more than once */
};

struct word {
	const char *name;
	enum kind kind;
	size_t at, size; /* of the member */
	size_t count_at, max; /* LIST */
	const char *const *names; /* ONE_OF */
	bool is_commands; /* not the boundary's: may be said after that was made */
};

static const char *const modes[] = { "read_only", "workspace_write", "danger", NULL };
static const char *const networks[] = { "none", "proxy", "host", NULL };
static const char *const backends[] = { "root", "userns", NULL };

#define AT(member) offsetof(struct ar_plan, member), sizeof(((struct ar_plan *)0)->member)
#define COUNTED(counter, most) offsetof(struct ar_plan, counter), most

static const struct word words[] = {
	{ "prewarmed", FLAG, AT(is_prewarmed), 0, 0, NULL, true },
	{ "mode", ONE_OF, AT(mode), 0, 0, modes, false },
	{ "network", ONE_OF, AT(network), 0, 0, networks, false },
	{ "backend", ONE_OF, AT(backend), 0, 0, backends, false },
	{ "uid", NUMBER, AT(uid), 0, 0, NULL, false },
	{ "gid", NUMBER, AT(gid), 0, 0, NULL, false },
	{ "workspace", TEXT, AT(workspace), 0, 0, NULL, false },
	{ "reads_workspace", FLAG, AT(reads_workspace), 0, 0, NULL, false },
	{ "workspace_uid", NUMBER, AT(workspace_uid), 0, 0, NULL, false },
	{ "workspace_gid", NUMBER, AT(workspace_gid), 0, 0, NULL, false },
	{ "cwd", TEXT, AT(cwd), 0, 0, NULL, true },
	{ "read", LIST, AT(read_roots.at), COUNTED(read_roots.count, AR_PLAN_PATHS_MAX), NULL, false },
	{ "write", LIST, AT(write_roots.at), COUNTED(write_roots.count, AR_PLAN_PATHS_MAX), NULL, false },
	{ "protect", LIST, AT(protected_paths.at), COUNTED(protected_paths.count, AR_PLAN_PATHS_MAX), NULL,
	  true },
	{ "decoy", LIST, AT(decoys.at), COUNTED(decoys.count, AR_PLAN_PATHS_MAX), NULL, false },
	{ "cgroup", LIST, AT(cgroups.at), COUNTED(cgroups.count, AR_PLAN_PATHS_MAX), NULL, false },
	{ "filter", TEXT, AT(filter), 0, 0, NULL, false },
	{ "notifies", FLAG, AT(notifies), 0, 0, NULL, false },
	{ "landlock", FLAG, AT(uses_landlock), 0, 0, NULL, false },
	{ "tty", FLAG, AT(tty), 0, 0, NULL, true },
	{ "rows", NUMBER, AT(rows), 0, 0, NULL, true },
	{ "columns", NUMBER, AT(columns), 0, 0, NULL, true },
	{ "keeps_stdin", FLAG, AT(keeps_stdin), 0, 0, NULL, true },
	{ "stdin_is_given", FLAG, AT(stdin_is_given), 0, 0, NULL, true },
	{ "given", NUMBER, AT(given), 0, 0, NULL, true },
	{ "processes", NUMBER, AT(limits.processes), 0, 0, NULL, false },
	{ "memory_bytes", NUMBER, AT(limits.memory_bytes), 0, 0, NULL, false },
	{ "file_bytes", NUMBER, AT(limits.file_bytes), 0, 0, NULL, false },
	{ "open_files", NUMBER, AT(limits.open_files), 0, 0, NULL, false },
	{ "tmp_bytes", NUMBER, AT(limits.tmp_bytes), 0, 0, NULL, false },
	{ "arg", LIST, AT(argv), COUNTED(argc, AR_PLAN_ARGS_MAX), NULL, true },
	{ "env", LIST, AT(env), COUNTED(env_count, AR_PLAN_ENV_MAX), NULL, true },
};

#define WORDS (sizeof(words) / sizeof(words[0]))

static void *member_of(struct ar_plan *p, size_t at)
{
	return (char *)p + at;
}

static const void *seen_member(const struct ar_plan *p, size_t at)
{
	return (const char *)p + at;
}

static uint64_t number_at(const struct ar_plan *p, const struct word *w)
{
	const void *at = seen_member(p, w->at);

	if (w->kind == FLAG)
		return *(const bool *)at;
	if (w->size == sizeof(uint16_t))
		return *(const uint16_t *)at;
	if (w->size == sizeof(uint32_t))
		return *(const uint32_t *)at;
	return *(const uint64_t *)at;
}

/* Where text goes while its size is still being counted: beyond `room` nothing is written. */
struct out {
	char *to;
	size_t room, used;
};

static void put_char(struct out *o, char c)
{
	if (o->used < o->room)
		o->to[o->used] = c;
	o->used++;
}

static void put_plain(struct out *o, const char *text)
{
	for (; *text; text++)
		put_char(o, *text);
}

static void put_escaped(struct out *o, const char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c > 0x20 && c < 0x7f && c != '\\') {
			put_char(o, *text);
			continue;
		}
		put_plain(o, "\\x");
		put_char(o, digits[c >> 4]);
		put_char(o, digits[c & 15]);
	}
}

static void put_number(struct out *o, uint64_t n)
{
	char text[21];
	size_t at = sizeof(text) - 1;

	text[at] = '\0';
	do {
		text[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	put_plain(o, text + at);
}

static void put_line(struct out *o, const char *name, const char *value)
{
	put_plain(o, name);
	put_char(o, ' ');
	put_escaped(o, value);
	put_char(o, '\n');
}

static void put_list(struct out *o, const struct ar_plan *p, const struct word *w)
{
	const char *const *items = seen_member(p, w->at);
	size_t count = *(const size_t *)seen_member(p, w->count_at);

	for (size_t i = 0; i < count; i++)
		put_line(o, w->name, items[i]);
}

static void put_word(struct out *o, const struct ar_plan *p, const struct word *w)
{
	if (w->kind == LIST) {
		put_list(o, p, w);
		return;
	}
	if (w->kind == TEXT) {
		const char *text = *(const char *const *)seen_member(p, w->at);

		if (text)
			put_line(o, w->name, text);
		return;
	}

	uint64_t n = number_at(p, w);

	if (n == 0)
		return;
	if (w->kind != NUMBER) {
		put_line(o, w->name, w->kind == FLAG ? "yes" : w->names[n - 1]);
		return;
	}
	put_plain(o, w->name);
	put_char(o, ' ');
	put_number(o, n);
	put_char(o, '\n');
}

static size_t put_plan(const struct ar_plan *p, char *out, size_t room)
{
	struct out o = { .to = out, .room = room };

	for (size_t i = 0; i < WORDS; i++)
		put_word(&o, p, &words[i]);
	put_plain(&o, "end\n");
	return o.used;
}

size_t ar_plan_write(const struct ar_plan *p, char *out, size_t room)
{
	if (ar_plan_wrong(p))
		return 0;

	size_t size = put_plan(p, NULL, 0);

	if (size > AR_PLAN_TEXT_MAX)
		return 0;
	if (size <= room)
		put_plan(p, out, room);
	return size;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place: what is read stands before what is written. */
static const char *unescape(char *text, size_t len)
{
	size_t to = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] <= 0x20 || text[i] >= 0x7f)
			return "a byte that must be escaped is not";
		if (text[i] != '\\') {
			text[to++] = text[i];
			continue;
		}
		if (len - i < 4 || text[i + 1] != 'x' || hex_digit(text[i + 2]) < 0 ||
		    hex_digit(text[i + 3]) < 0)
			return "a backslash without xHH";
		text[to] = (char)(hex_digit(text[i + 2]) * 16 + hex_digit(text[i + 3]));
		if (text[to++] == '\0')
			return "a zero byte in a value";
		i += 3;
	}
	text[to] = '\0';
	return NULL;
}

static const char *parse_number(void *at, const struct word *w, const char *text)
{
	uint64_t n = 0;

	for (const char *c = text; *c; c++) {
		if (*c < '0' || *c > '9' || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*c - '0'), &n))
			return "a number that is not valid, or too large";
	}
	if (!*text || (w->size < sizeof(n) && n >> (w->size * 8) != 0))
		return "a number that is not valid, or too large";
	if (w->size == sizeof(uint16_t))
		*(uint16_t *)at = (uint16_t)n;
	else if (w->size == sizeof(uint32_t))
		*(uint32_t *)at = (uint32_t)n;
	else
		*(uint64_t *)at = n;
	return NULL;
}

static const char *parse_name(void *at, const struct word *w, const char *text)
{
	for (unsigned i = 0; w->names[i]; i++) {
		if (strcmp(w->names[i], text) == 0) {
			*(unsigned *)at = i + 1;
			return NULL;
		}
	}
	return "a mode, network or backend of an unknown name";
}

static const char *parse_item(struct ar_plan *p, const struct word *w, const char *text)
{
	const char **items = member_of(p, w->at);
	size_t *count = member_of(p, w->count_at);

	if (*count >= w->max)
		return "too many of one kind";
	items[(*count)++] = text;
	return NULL;
}

static const char *parse_value(struct ar_plan *p, const struct word *w, const char *text)
{
	void *at = member_of(p, w->at);

	switch (w->kind) {
	case ONE_OF:
		return parse_name(at, w, text);
	case NUMBER:
		return parse_number(at, w, text);
	case FLAG:
		*(bool *)at = true;
		return strcmp(text, "yes") == 0 ? NULL : "a flag that is not `yes`";
	case TEXT:
		*(const char **)at = text;
		return NULL;
	case LIST:
		return parse_item(p, w, text);
	}
	return NULL;
}

static const struct word *find_word(const char *name, size_t len)
{
	for (size_t i = 0; i < WORDS; i++) {
		if (strlen(words[i].name) == len && memcmp(words[i].name, name, len) == 0)
			return &words[i];
	}
	return NULL;
}

/* One line without its newline, whose place takes the value's end. */
static const char *parse_line(struct ar_plan *p, char *line, size_t len, bool seen[WORDS])
{
	char *gap = memchr(line, ' ', len);
	const struct word *w = gap ? find_word(line, (size_t)(gap - line)) : NULL;

	if (!w)
		return "an unknown word";
	if (seen[w - words] && w->kind != LIST)
		return "a word twice";
	seen[w - words] = true;

	const char *wrong = unescape(gap + 1, len - (size_t)(gap + 1 - line));

	return wrong ? wrong : parse_value(p, w, gap + 1);
}

static const char *parse_lines(struct ar_plan *p, char *text, size_t len)
{
	bool seen[WORDS] = { 0 };
	const char *wrong = NULL;

	while (!wrong) {
		char *stop = memchr(text, '\n', len);

		if (!stop)
			return "the end is missing";

		size_t line = (size_t)(stop - text);

		if (line == 3 && memcmp(text, "end", 3) == 0)
			return len == line + 1 ? NULL : "something after the end";
		wrong = parse_line(p, text, line, seen);
		text += line + 1;
		len -= line + 1;
	}
	return wrong;
}

bool ar_plan_read(char *text, size_t len, struct ar_plan *ret, const char **ret_wrong)
{
	const char *wrong = "a plan of no size, or too large";

	memset(ret, 0, sizeof(*ret));
	if (len > 0 && len <= AR_PLAN_TEXT_MAX)
		wrong = parse_lines(ret, text, len);
	if (!wrong)
		wrong = ar_plan_wrong(ret);
	if (wrong)
		*ret_wrong = wrong;
	return !wrong;
}

static void strip_word(struct ar_plan *p, const struct word *w)
{
	if (w->kind == LIST)
		*(size_t *)member_of(p, w->count_at) = 0;
	else
		memset(member_of(p, w->at), 0, w->size);
}

void ar_plan_strip(const struct ar_plan *p, struct ar_plan *ret)
{
	*ret = *p;
	for (size_t i = 0; i < WORDS; i++) {
		if (words[i].is_commands)
			strip_word(ret, &words[i]);
	}
	ret->cwd = "/";
	ret->is_prewarmed = true;
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_same_list(const struct ar_plan *a, const struct ar_plan *b, const struct word *w)
{
	const char *const *of_a = seen_member(a, w->at), *const *of_b = seen_member(b, w->at);
	size_t count = *(const size_t *)seen_member(a, w->count_at);

	if (count != *(const size_t *)seen_member(b, w->count_at))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!is_same_text(of_a[i], of_b[i]))
			return false;
	}
	return true;
}

static bool is_same(const struct ar_plan *a, const struct ar_plan *b, const struct word *w)
{
	if (w->kind == LIST)
		return is_same_list(a, b, w);
	if (w->kind == TEXT)
		return is_same_text(*(const char *const *)seen_member(a, w->at),
				    *(const char *const *)seen_member(b, w->at));
	return number_at(a, w) == number_at(b, w);
}

const char *ar_plan_differs(const struct ar_plan *prewarmed, const struct ar_plan *p)
{
	for (size_t i = 0; i < WORDS; i++) {
		if (!words[i].is_commands && !is_same(prewarmed, p, &words[i]))
			return words[i].name;
	}
	return NULL;
}
