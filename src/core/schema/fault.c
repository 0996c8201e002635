/* The sentences: where the first wrong thing is and what would be right, for a model or a person who
 * wrote the value and can write it again. Nothing is rendered when only the verdict is wanted. */
#include "schema_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	LIST_SHOWN = 300, /* bytes of a list of names or values */
	VALUE_SHOWN = 60, /* bytes of the value that was given */
};

static void copy_cut(char *out, size_t room, struct ar_str s)
{
	s = ar_str_utf8_prefix(s, room - 1);
	memcpy(out, s.p, s.len);
	out[s.len] = '\0';
}

static void add_segment(struct ar_buf *b, const struct ar_spot *at)
{
	ar_buf_addc(b, '/');
	if (ar_str_absent(at->name)) {
		ar_buf_addf(b, "%zu", at->index);
		return;
	}
	for (size_t i = 0; i < at->name.len; i++) {
		char ch = at->name.p[i];

		if (ch == '~' || ch == '/')
			ar_buf_addz(b, ch == '~' ? "~0" : "~1");
		else if (ch != '\0')
			ar_buf_addc(b, ch);
	}
}

/* The way is a list from the end; its length is bounded by the depth of the value. Returns that length. */
static size_t add_pointer(struct ar_buf *b, const struct ar_spot *at)
{
	size_t depth;

	if (!at->up)
		return 0;
	depth = add_pointer(b, at->up);
	add_segment(b, at);
	return depth + 1;
}

static bool set(struct ar_check *c, const struct ar_spot *at, const char *before, struct ar_str after)
{
	struct ar_buf b = { 0 }, sentence = { 0 };

	c->fault_depth = add_pointer(&b, at);
	copy_cut(c->fault->pointer, sizeof(c->fault->pointer), ar_buf_str(&b));
	ar_buf_addz(&sentence, before);
	ar_buf_addz(&sentence, at->up ? c->fault->pointer : "the value");
	ar_buf_adds(&sentence, after);
	copy_cut(c->fault->message, sizeof(c->fault->message), ar_buf_str(&sentence));
	ar_buf_fini(&b);
	ar_buf_fini(&sentence);
	return false;
}

bool ar_fault(struct ar_check *c, const struct ar_spot *at, const char *fmt, ...)
{
	char text[sizeof(c->fault->message)];
	va_list ap;

	if (!c->fault || !ar_check_spend(c, AR_FAULT_STEPS))
		return false;
	text[0] = ' ';
	va_start(ap, fmt);
	(void)vsnprintf(text + 1, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	return set(c, at, "", ar_str_from(text));
}

static const struct {
	unsigned bit;
	const char *one; /* after "must be" */
} types[] = {
	{ AR_IS_STRING, "a string" },	 { AR_IS_INTEGER, "an integer" }, { AR_IS_NUMBER, "a number" },
	{ AR_IS_BOOL, "true or false" }, { AR_IS_ARRAY, "an array" },	  { AR_IS_OBJECT, "an object" },
	{ AR_IS_NULL, "null" },
};

static const char *type_word(unsigned bits)
{
	/* What it is, not what it might pass for: 1.0 is a number. */
	if (bits & AR_IS_BOOL)
		return "a boolean";
	if (bits & AR_IS_NUMBER)
		return "a number";
	for (size_t i = 0; i < AR_ARRAY_LEN(types); i++) {
		if (bits & types[i].bit)
			return types[i].one;
	}
	return "nothing";
}

bool ar_fault_type(struct ar_check *c, const struct ar_spot *at, unsigned allowed)
{
	struct ar_buf b = { 0 };

	if (!c->fault || c->gave_up)
		return false;
	for (size_t i = 0; i < AR_ARRAY_LEN(types); i++) {
		if (allowed & types[i].bit)
			ar_buf_addf(&b, "%s%s", b.len ? " or " : "", types[i].one);
	}
	ar_buf_addc(&b, '\0');
	(void)ar_fault(c, at, "must be %s, not %s", b.p, type_word(at->types));
	ar_buf_fini(&b);
	return false;
}

static void add_literal(struct ar_buf *b, const struct ar_literal *l)
{
	struct ar_jw w = ar_jw(b);

	if (l->container.doc)
		return ar_json_print(l->container, b);
	if (l->type == AR_JSON_STR)
		return ar_buf_adds(b, l->text.len ? l->text : AR_STR("\"\""));
	if (l->type == AR_JSON_BOOL)
		return ar_jw_bool(&w, l->truth);
	if (l->num.is_int)
		return ar_jw_int(&w, l->num.i);
	if (l->type == AR_JSON_NUM)
		return ar_jw_num(&w, l->num.d);
	ar_jw_null(&w);
}

static void add_value(struct ar_buf *b, struct ar_json v)
{
	struct ar_buf text = { 0 };
	struct ar_str s;

	if (!ar_json_str(v, &s) || s.len == 0) {
		ar_json_print(v, &text);
		s = ar_buf_str(&text);
	}
	ar_buf_adds(b, ar_str_utf8_prefix(s, VALUE_SHOWN));
	if (s.len > VALUE_SHOWN)
		ar_buf_addz(b, "...");
	ar_buf_fini(&text);
}

bool ar_fault_literals(struct ar_check *c, const struct ar_spot *at, const struct ar_literal *list,
		       size_t count)
{
	struct ar_buf b = { 0 };

	if (!c->fault || c->gave_up)
		return false;
	ar_buf_addz(&b, count == 1 ? " must be " : " must be one of ");
	for (size_t i = 0; i < count; i++) {
		if (b.len > LIST_SHOWN) {
			ar_buf_addf(&b, " and %zu more", count - i);
			break;
		}
		ar_buf_addz(&b, i ? ", " : "");
		add_literal(&b, &list[i]);
	}
	ar_buf_addz(&b, ", not ");
	add_value(&b, at->value);
	(void)set(c, at, "", ar_buf_str(&b));
	ar_buf_fini(&b);
	return false;
}

bool ar_fault_unknown(struct ar_check *c, const struct ar_spot *member, const struct ar_members *m)
{
	struct ar_buf b = { 0 };

	if (!c->fault || c->gave_up)
		return false;
	if (m && m->known_count)
		ar_buf_addz(&b, "; allowed: ");
	for (size_t i = 0; m && i < m->known_count; i++) {
		if (b.len > LIST_SHOWN) {
			ar_buf_addf(&b, " and %zu more", m->known_count - i);
			break;
		}
		ar_buf_addz(&b, i ? ", " : "");
		ar_buf_adds(&b, m->known[i].name);
	}
	if (m && m->pattern_count)
		ar_buf_addz(&b, " (and names of certain patterns)");
	(void)set(c, member, "unknown member ", ar_buf_str(&b));
	ar_buf_fini(&b);
	return false;
}
