/* See chat.h: a form is asked for field by field, as its JSON Schema names them. What a line cannot say is
 * typed as JSON; whether the whole fits the schema is the daemon's to judge, and if not it is asked for
 * again. */
#include "chat/chat.h"
#include "respond.h"

#define DOC_MAX 200

static struct ar_json_iter field_at(const struct ar_chat_form *f)
{
	struct ar_json_iter it = ar_json_iter(f->fields);
	bool is_there = ar_json_next(&it);

	for (size_t i = 0; i < f->next && is_there; i++)
		is_there = ar_json_next(&it);
	return is_there ? it : (struct ar_json_iter){ 0 };
}

static bool is_required(const struct ar_chat_form *f, struct ar_str name)
{
	struct ar_str one;

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(f->schema, "required")); ar_json_next(&it);) {
		if (ar_json_str(it.value, &one) && ar_str_eq(one, name))
			return true;
	}
	return false;
}

static void begin(struct ar_chat_form *f, struct ar_str schema)
{
	f->parser = ar_json_parser_new();
	if (ar_json_parse(f->parser, schema, &f->schema, NULL) != AR_OK)
		f->schema = (struct ar_json){ 0 };
	f->fields = ar_json_get(f->schema, "properties");
	f->next = 0;
	ar_buf_clear(&f->answer);
	ar_buf_addc(&f->answer, '{');
}

void ar_chat_form_drop(struct ar_chat *t)
{
	if (t->form.parser)
		ar_json_parser_free(t->form.parser);
	t->form.parser = NULL;
}

/* ---- asking ---- */

static void print_json(struct ar_out *o, const char *before, struct ar_json v)
{
	struct ar_buf text = { 0 };
	struct ar_arena a = { 0 };

	if (ar_json_type(v) == AR_JSON_NONE)
		return;
	ar_json_print(v, &text);
	ar_out_printf(o, "%s", before);
	ar_out_line(o, ar_arena_excerpt(&a, ar_buf_str(&text), DOC_MAX));
	ar_arena_fini(&a);
	ar_buf_fini(&text);
}

void ar_chat_form_prompt(struct ar_chat *t, const struct ar_chat_question *q)
{
	struct ar_json_iter it;
	struct ar_str doc;

	if (!t->form.parser)
		begin(&t->form, q->schema);
	if (ar_json_len(t->form.fields) == 0) {
		ar_out_printf(t->side, "a JSON object, or /decline: ");
		return;
	}
	it = field_at(&t->form);
	doc = ar_api_str(it.value, "description");
	if (!ar_str_empty(doc)) {
		ar_out_line(t->side, ar_arena_excerpt(&t->ctl->arena, doc, DOC_MAX));
		ar_out_printf(t->side, "\n");
	}
	ar_out_line(t->side, it.name);
	print_json(t->side, " one of ", ar_json_get(it.value, "enum"));
	print_json(t->side, ", else ", ar_json_get(it.value, "default"));
	ar_out_printf(t->side, "%s (%s/decline): ", is_required(&t->form, it.name) ? "" : ", optional",
		      ar_str_is(ar_api_str(it.value, "type"), "boolean") ? "y or n, " : "");
}

/* ---- taking ---- */

static bool add_string(struct ar_chat_form *f, struct ar_str line, struct ar_json field AR_UNUSED)
{
	struct ar_jw w = ar_jw(&f->answer);

	ar_jw_str(&w, line);
	return true;
}

static bool add_boolean(struct ar_chat_form *f, struct ar_str line, struct ar_json field AR_UNUSED)
{
	bool is_yes = ar_str_is(line, "y") || ar_str_is(line, "yes") || ar_str_is(line, "true");
	bool is_no = ar_str_is(line, "n") || ar_str_is(line, "no") || ar_str_is(line, "false");

	ar_buf_addz(&f->answer, is_yes ? "true" : "false");
	return is_yes || is_no;
}

/* A number is JSON too. */
static bool add_json(struct ar_chat_form *f, struct ar_str line, struct ar_json field)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_str type = ar_api_str(field, "type");
	bool wants_number = ar_str_is(type, "number") || ar_str_is(type, "integer");
	struct ar_json v = { 0 };
	double number;
	bool is_good =
		ar_json_parse(parser, line, &v, NULL) == AR_OK && (!wants_number || ar_json_num(v, &number));

	if (is_good)
		ar_json_print(v, &f->answer);
	ar_json_parser_free(parser);
	return is_good;
}

static const struct {
	const char *type;
	bool (*add)(struct ar_chat_form *f, struct ar_str line, struct ar_json field);
} types[] = { { "string", add_string }, { "boolean", add_boolean } };

/* Adds the field; false takes it out again: the line is no such value. */
static bool add_field(struct ar_chat_form *f, const struct ar_json_iter *it, struct ar_str line)
{
	struct ar_json otherwise = ar_json_get(it->value, "default");
	struct ar_str type = ar_api_str(it->value, "type");
	size_t before = f->answer.len, i = 0;
	bool has_default = ar_str_empty(line) && ar_json_type(otherwise) != AR_JSON_NONE, is_good = true;
	struct ar_jw w = ar_jw(&f->answer);

	if (f->answer.len > 1)
		ar_buf_addc(&f->answer, ',');
	ar_jw_str(&w, it->name);
	ar_buf_addc(&f->answer, ':');
	while (i < AR_ARRAY_LEN(types) && !ar_str_is(type, types[i].type))
		i++;
	if (has_default)
		ar_json_print(otherwise, &f->answer);
	else
		is_good = (i < AR_ARRAY_LEN(types) ? types[i].add : add_json)(f, line, it->value);
	if (!is_good)
		f->answer.len = before;
	return is_good;
}

/* What does not fit is asked for again from the first field. */
static void send(struct ar_chat *t, struct ar_str answer)
{
	struct ar_str word = ar_respond_pick(t->questions[0].decisions, ar_respond_here);

	if (!ar_chat_respond(t, word, answer))
		ar_chat_form_drop(t);
}

static void read_form(struct ar_chat *t, struct ar_str line)
{
	t->form.answer.len = 0;
	if (add_json(&t->form, line, (struct ar_json){ 0 }) && t->form.answer.p[0] == '{')
		send(t, ar_buf_str(&t->form.answer));
	else
		ar_chat_printf(t, "that is not a JSON object");
}

void ar_chat_form_input(struct ar_chat *t, struct ar_str line)
{
	struct ar_chat_form *f = &t->form;
	struct ar_json_iter it = field_at(f);
	bool is_left_out = ar_str_empty(line) && !is_required(f, it.name) &&
			   ar_json_type(ar_json_get(it.value, "default")) == AR_JSON_NONE;

	if (!f->parser)
		return;
	if (ar_json_len(f->fields) == 0) {
		read_form(t, line);
		return;
	}
	if (!is_left_out && !add_field(f, &it, line)) {
		ar_chat_printf(t, "that is not a valid value for this field");
		return;
	}
	if (++f->next < ar_json_len(f->fields))
		return;
	ar_buf_addc(&f->answer, '}');
	send(t, ar_buf_str(&f->answer));
}
