/* Words and commands of a text as they end: what they assign, what they are as the shell has them,
 * and what they lead to. Pure. */
#include "scan.h"

#include <string.h>

void ar_scan_unreadable(struct ar_scan *s, struct ar_str what)
{
	ar_danger_raise(s->out, AR_DANGER_UNREADABLE, what);
}

/* ---- lists ---- */

static void append_argv(struct ar_scan *s, struct ar_command_argv **list, size_t *count, size_t *room,
			const struct ar_command_argv *one)
{
	if (*count == *room) {
		struct ar_command_argv *more;

		*room = *room ? 2 * *room : 8;
		more = ar_arena_alloc(s->a, *room * sizeof(*more));
		if (*count)
			memcpy(more, *list, *count * sizeof(*more));
		*list = more;
	}
	(*list)[(*count)++] = *one;
}

/* ---- variables ---- */

bool ar_scan_is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void learn(struct ar_scan *s, struct ar_str name, struct ar_str text, struct ar_str shape)
{
	struct ar_variable one = { .name = name, .text = text, .shape = shape };

	if (!ar_variables_learn(&s->variables, &one, s->a) && !s->is_maybe)
		ar_scan_unreadable(s, name);
}

static void learn_unknown(struct ar_scan *s, struct ar_str name)
{
	learn(s, name, AR_STR(""), AR_STR("\2"));
}

/* Whether a word that begins now, or the one that is being read, is an assignment or the command word. */
static bool is_before_command(struct ar_reading *r)
{
	const struct ar_words *own = &r->own;

	if (r->start_known != own->count + 1) {
		r->start_known = own->count + 1;
		r->is_start =
			ar_look_start(own) == own->count &&
			!(own->count && (ar_str_is(own->at[0], "for") || ar_str_is(own->at[0], "case")));
	}
	return r->is_start;
}

static bool is_declaring(const struct ar_reading *r)
{
	size_t at = ar_look_start(&r->own);

	return at < r->own.count && ar_danger_fits(r->own.at[at], "export declare typeset readonly local");
}

/* declare -n, -l, -u, -i: the value is not what is written. */
static bool is_declared_plain(const struct ar_reading *r)
{
	for (size_t i = 0; i < r->own.count; i++) {
		if (ar_str_starts(r->own.at[i], AR_STR("-")) && !ar_danger_fits(r->own.at[i], "-x -r -g"))
			return false;
	}
	return true;
}

static void learn_assignment(struct ar_reading *r, struct ar_str text, struct ar_str shape)
{
	struct ar_str name, value, text_name, text_value;
	const struct ar_variable *old;
	bool is_more;

	if (r->own.is_full || !ar_shape_assigns(shape, &name, &value) ||
	    (!is_before_command(r) && !is_declaring(r)))
		return;
	is_more = shape.p[name.len] == '+';
	if (!is_declared_plain(r) || (shape.p[name.len] != '=' && !is_more) ||
	    !ar_shape_assigns(text, &text_name, &text_value)) {
		learn_unknown(r->s, name);
		return;
	}
	old = is_more ? ar_variables_find(&r->s->variables, name) : NULL;
	if (old) {
		text_value = ar_arena_fmt(r->s->a, "%.*s%.*s",
					  AR_STR_ARG(ar_str_sub(old->text, 0, AR_SCAN_WORD_SPARE)),
					  AR_STR_ARG(text_value));
		value = AR_STR("\2");
	}
	learn(r->s, name, text_value, value);
}

/* read -r x; but of printf only the name after -v. */
static void learn_operand(struct ar_reading *r, size_t command, size_t at)
{
	if (ar_str_starts(r->own.at[at], AR_STR("-")) ||
	    (ar_str_is(r->own.at[command], "printf") && !ar_str_is(r->own.at[at - 1], "-v")))
		return;
	learn_unknown(r->s, r->own.at[at]);
}

/* for x in a b; read x y; printf -v x; mapfile x: values that come from elsewhere. */
static void learn_from_command(struct ar_reading *r)
{
	const struct ar_words *own = &r->own;
	size_t at = ar_look_start(own);
	bool is_loop = own->count > 0 && !r->is_first_quoted &&
		       (ar_str_is(own->at[0], "for") || ar_str_is(own->at[0], "select"));

	if (is_loop && own->count > 1) {
		for (size_t i = 3; i < own->count; i++)
			learn(r->s, own->at[1], own->at[i], own->at[i]);
		if (own->count < 4)
			learn_unknown(r->s, own->at[1]);
	} else if (at < own->count &&
		   ar_danger_fits(own->at[at], "read mapfile readarray getopts printf unset")) {
		for (size_t i = at + 1; i < own->count; i++)
			learn_operand(r, at, i);
	} else if ((at < own->count && ar_danger_fits(own->at[at], "set shift")) ||
		   (own->count > 0 && ar_str_is(own->at[0], "function"))) {
		r->s->has_arguments = true;
	} else if (at < own->count && ar_danger_fits(own->at[at], "source .")) {
		for (size_t i = 0; i < r->s->variables.count; i++)
			learn_unknown(r->s, r->s->variables.at[i].name);
	}
}

/* ---- words ---- */

void ar_scan_put_shape(struct ar_reading *r, char c)
{
	r->has_word = true;
	if (r->shape_len < r->room)
		r->shape[r->shape_len++] = c;
	else
		ar_scan_unreadable(r->s, AR_STR("a word that grows"));
}

void ar_scan_put_byte(struct ar_reading *r, char c)
{
	static const char meant[] = " \t\n;&|()<>`$'\"\\{}";

	r->has_word = true;
	if (r->len == r->room) {
		ar_scan_unreadable(r->s, AR_STR("a word that grows"));
		return;
	}
	r->is_nested = r->is_nested || (c && strchr(meant, c));
	r->word[r->len++] = c;
}

void ar_scan_put(struct ar_reading *r, char c)
{
	ar_scan_put_byte(r, c);
	ar_scan_put_shape(r, c);
}

void ar_scan_put_all(struct ar_reading *r, struct ar_str text)
{
	for (size_t i = 0; i < text.len; i++)
		ar_scan_put(r, text.p[i]);
}

static bool is_assigning(struct ar_reading *r)
{
	struct ar_str name, value;

	return ar_shape_assigns((struct ar_str){ r->shape, r->shape_len }, &name, &value) &&
	       (is_before_command(r) || is_declaring(r));
}

void ar_scan_put_unknown(struct ar_reading *r)
{
	ar_scan_put_shape(r, r->in_quotes || is_assigning(r) ? AR_ANY_PART : AR_ANY_WORDS);
}

static void put_value_byte(struct ar_reading *r, char c, bool is_split)
{
	if (c == AR_ANY_PART || c == AR_ANY_WORDS)
		c = is_split ? AR_ANY_WORDS : AR_ANY_PART;
	else if (is_split && (c == '*' || c == '?' || c == '['))
		c = AR_ANY_WORDS;
	ar_scan_put_shape(r, c);
}

/* The newest text, and the shape of all that it may be; outside of quotes its blanks part words. */
static void put_value(struct ar_reading *r, const struct ar_variable *v)
{
	bool is_split = !r->in_quotes && !is_assigning(r);
	bool is_known = ar_str_eq(v->text, v->shape);

	r->has_word = r->has_word || v->text.len > 0 || v->shape.len > 0;
	for (size_t i = 0; i < v->text.len; i++) {
		bool is_blank = strchr(" \t\n", v->text.p[i]) && v->text.p[i];

		if (is_split && is_known && is_blank) {
			ar_scan_end_word(r);
			continue;
		}
		ar_scan_put_byte(r, v->text.p[i]);
		if (is_known)
			put_value_byte(r, v->text.p[i], is_split);
	}
	for (size_t i = 0; i < v->shape.len && !is_known; i++)
		put_value_byte(r, v->shape.p[i], is_split);
}

/* Variables whose value is known although nothing assigns them, as far as it matters. */
static const char *known_value(struct ar_str name)
{
	static const struct {
		const char *names, *value;
	} known[] = {
		{ "HOME", "~" },	  { "PWD", "." },
		{ "TMPDIR", "/tmp" },	  { "PATH", "/usr/bin" },
		{ "SHELL BASH", "bash" }, { "? # $ ! UID EUID PPID RANDOM SECONDS LINENO BASHPID", "1" },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(known); i++) {
		if (ar_danger_fits(name, known[i].names))
			return known[i].value;
	}
	return NULL;
}

static bool is_argument(struct ar_str name)
{
	return name.len == 1 &&
	       (name.p[0] == '@' || name.p[0] == '*' || (name.p[0] >= '1' && name.p[0] <= '9'));
}

void ar_scan_put_variable(struct ar_reading *r, struct ar_str name)
{
	struct ar_variable *v = ar_variables_find(&r->s->variables, name);
	const char *value = v ? NULL : known_value(name);

	if (v && (r->s->variables.is_full || !ar_scan_afford(r->s, v->text.len + v->shape.len))) {
		ar_scan_put_unknown(r);
	} else if (v) {
		v->is_program = v->is_program ||
				(r->mode == AR_SCAN_COMMANDS && is_before_command(r) && !is_assigning(r));
		put_value(r, v);
	} else if (value) {
		ar_scan_put_all(r, ar_str_from(value));
	} else if (ar_str_is(name, "IFS")) {
		if (r->in_quotes)
			ar_scan_put(r, ' ');
		else
			ar_scan_end_word(r);
	} else if (ar_str_is(name, "0") && !r->s->has_arguments) {
		ar_scan_put_all(r, AR_STR("bash"));
	} else if (is_argument(name)) {
		r->has_word = true;
		if (r->s->has_arguments)
			ar_scan_put_shape(r, AR_ANY_WORDS);
	} else {
		ar_scan_put_unknown(r);
	}
}

static void keep_heredoc(struct ar_reading *r, struct ar_str end)
{
	if (r->heredoc_count == AR_SCAN_HEREDOCS_MAX) {
		ar_scan_unreadable(r->s, AR_STR("more here-documents than are read"));
		return;
	}
	r->heredocs[r->heredoc_count++] = (struct ar_heredoc){ .end = end, .is_quoted = r->has_quotes };
}

static void end_redirect(struct ar_reading *r, struct ar_str word, struct ar_str shape)
{
	if (r->redirect == 'h')
		keep_heredoc(r, word);
	else if (r->redirect == 's')
		r->input = shape;
	else if (r->redirect == '<' && ar_str_starts(shape, AR_STR("/dev/fd/")))
		r->input = AR_STR("\1"); /* what another command writes */
	else
		ar_danger_keep_path(r->s->out, shape, r->redirect == '>', r->s->a);
	r->redirect = 0;
}

static void add_own(struct ar_reading *r, struct ar_str shape)
{
	if (r->own.count == 0)
		r->is_first_quoted = r->has_quotes;
	ar_words_add(&r->own, shape, r->s->a);
}

void ar_scan_end_word(struct ar_reading *r)
{
	struct ar_str word = { r->word, r->len }, shape = { r->shape, r->shape_len };
	bool is_nested = r->is_nested;

	if (!r->has_word)
		return;
	word = ar_arena_str(r->s->a, word);
	shape = ar_arena_str(r->s->a, shape);
	r->has_word = r->is_nested = false;
	r->len = r->shape_len = 0;
	ar_words_add(&r->words, word, r->s->a);
	learn_assignment(r, word, shape);
	if (r->redirect)
		end_redirect(r, word, shape);
	else if (shape.len > 0 || r->has_quotes)
		add_own(r, shape);
	r->has_quotes = false;
	if (is_nested)
		ar_scan_text(r->s, word, &r->words, AR_SCAN_MAYBE);
}

/* ---- commands ---- */

static bool has_unknown(const struct ar_words *words)
{
	for (size_t i = 0; i < words->count; i++) {
		if (ar_shape_is_unknown(words->at[i]))
			return true;
	}
	return false;
}

static void read_input(struct ar_scan *s, struct ar_str input, enum ar_reads reads)
{
	if (reads == AR_READS_CODE)
		ar_code_check(input, s->out, s->a);
	else if (reads == AR_READS_COMMANDS && ar_shape_is_unknown(input))
		ar_scan_unreadable(s, ar_shape_shown(input, s->a));
	else if (reads == AR_READS_COMMANDS)
		ar_scan_text(s, input, NULL, AR_SCAN_COMMANDS);
}

/* A command that certainly runs: finds its program, and scans the texts that another shell reads. */
static void scan_command(struct ar_reading *r)
{
	struct ar_look l = { .words = &r->own, .c = r->s->out, .a = r->s->a };
	bool had_arguments = r->s->has_arguments;

	if (has_unknown(&r->own))
		append_argv(r->s, &r->s->out->shapes, &r->s->out->shape_count, &r->s->shape_room,
			    &(struct ar_command_argv){ r->own.at, r->own.count, AR_JOIN_SEQUENCE });
	ar_look_through(&l);
	if (l.reads == AR_READS_COMMANDS && r->own.count > 0 && ar_str_is(r->own.at[0], "coproc"))
		ar_danger_raise(r->s->out, AR_DANGER_PIPE_TO_SHELL, r->own.at[0]);
	r->s->out->reads_input = r->s->out->reads_input || l.reads != AR_READS_DATA;
	r->s->has_arguments = true;
	for (size_t i = 0; i < l.texts.count; i++)
		ar_scan_text(r->s, l.texts.at[i], NULL, AR_SCAN_COMMANDS);
	if (!ar_str_absent(r->input))
		read_input(r->s, r->input, l.reads);
	r->s->has_arguments = had_arguments;
	for (; r->heredoc_done < r->heredoc_count; r->heredoc_done++)
		r->heredocs[r->heredoc_done].reads = l.reads;
}

/* case x in a) ... ;; b|c) ... ;; esac: what comes before each ) is a pattern. */
static void follow_case(struct ar_reading *r)
{
	const struct ar_words *own = &r->own;
	size_t at = 0;

	while (at < own->count && ar_danger_fits(own->at[at], "if then elif else do while until !"))
		at++;
	if (at == own->count || r->is_first_quoted)
		return;
	if (ar_str_is(own->at[at], "case") && !ar_str_is(own->at[own->count - 1], "esac")) {
		r->cases++;
		r->expects_pattern = !r->is_pattern;
	} else if (ar_str_is(own->at[at], "esac")) {
		r->cases -= r->cases > 0;
		r->expects_pattern = false;
	}
}

void ar_scan_end_command(struct ar_reading *r)
{
	struct ar_command_line *c = r->s->out;

	ar_scan_end_word(r);
	r->redirect = 0;
	if (c->seen_count == AR_COMMAND_WORDS_MAX) {
		ar_scan_unreadable(r->s, AR_STR("more commands than are read"));
	} else if (r->words.count > 0) {
		append_argv(r->s, &c->seen, &c->seen_count, &r->s->seen_room,
			    &(struct ar_command_argv){ r->words.at, r->words.count,
						       r->is_piped ? AR_JOIN_PIPE : AR_JOIN_SEQUENCE });
		ar_danger_check(&r->words, r->is_piped, r->s->a, c);
		if (r->mode == AR_SCAN_COMMANDS && !r->is_pattern && !r->expects_pattern)
			scan_command(r);
		follow_case(r);
		learn_from_command(r);
	}
	for (size_t i = 0; r->outer && i < r->words.count; i++)
		ar_words_add(r->outer, r->words.at[i], r->s->a);
	r->words = r->own = (struct ar_words){ 0 };
	r->start_known = 0;
	r->input = AR_STR_NONE;
	r->is_piped = r->is_next_piped;
	r->is_next_piped = r->is_pattern = false;
}
