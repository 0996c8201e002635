/* Known values in the forms they may take, found by their first bytes through a table. Which values are
 * secret is told from outside. */
#include "json.h"
#include "mem.h"
#include "redact_priv.h"

#include <string.h>

static size_t slot_of(const char *p)
{
	uint64_t head;

	memcpy(&head, p, sizeof(head));
	return (size_t)((head * 0x9E3779B97F4A7C15u) >> 52);
}

/* ---- finding ---- */

/* Under AR_REDACT_MIN bytes are left: the table does not help. */
static bool may_begin(const struct ar_redactor *r, struct ar_str text)
{
	for (size_t i = 0; i < r->form_count; i++) {
		if (*r->forms[i]->p == *text.p && memcmp(r->forms[i]->p, text.p, text.len) == 0)
			return true;
	}
	return false;
}

/* The text ends inside a value: it may have been cut there, and a good part of a secret is one. */
static bool is_part(const struct ar_form *f, size_t len)
{
	return len >= f->len / 4;
}

struct ar_found ar_forms_find(const struct ar_redactor *r, const struct ar_rest *rest)
{
	struct ar_str text = rest->text;

	if (text.len < AR_REDACT_MIN)
		return (struct ar_found){ .kind = !rest->is_last && may_begin(r, text) ? AR_FOUND_MAYBE
										       : AR_FOUND_NOTHING };
	for (const struct ar_form *f = r->slots[slot_of(text.p)]; f; f = f->next) {
		size_t len = f->len < text.len ? f->len : text.len;

		if (memcmp(f->p, text.p, len) != 0)
			continue;
		if (len < f->len && !rest->is_last)
			return (struct ar_found){ .kind = AR_FOUND_MAYBE };
		if (len == f->len || is_part(f, len))
			return (struct ar_found){ AR_FOUND_SECRET, AR_REDACT_SECRET, 0, len, 0 };
	}
	return (struct ar_found){ 0 };
}

/* ---- adding ---- */

static bool is_known(const struct ar_redactor *r, struct ar_str form)
{
	for (const struct ar_form *f = r->slots[slot_of(form.p)]; f; f = f->next) {
		if (f->len == form.len && memcmp(f->p, form.p, form.len) == 0)
			return true;
	}
	return false;
}

static void add_form(struct ar_redactor *r, struct ar_str text)
{
	struct ar_form **at, *f;

	if (text.len < AR_REDACT_MIN || is_known(r, text))
		return;
	f = ar_new0(sizeof(*f));
	f->p = ar_str_dup(text);
	f->len = text.len;
	for (at = &r->slots[slot_of(text.p)]; *at && (*at)->len > f->len;)
		at = &(*at)->next;
	f->next = *at;
	*at = f;
	r->forms = ar_grow(r->forms, r->form_count + 1, sizeof(struct ar_form *));
	r->forms[r->form_count++] = f;
	r->starts[(unsigned char)*text.p] |= AR_STARTS_FORM;
}

static void add_json(struct ar_redactor *r, struct ar_str secret)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_str(&w, secret);
	add_form(r, ar_str_sub(ar_buf_str(&text), 1, text.len - 2)); /* without the quotes */
	ar_buf_fini(&text);
}

static bool is_unreserved(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
	       c == '.' || c == '_' || c == '~';
}

static void add_percent(struct ar_redactor *r, struct ar_str secret, const char *digits)
{
	struct ar_buf text = { 0 };

	for (size_t i = 0; i < secret.len; i++) {
		unsigned char c = (unsigned char)secret.p[i];
		const char escape[] = { '%', digits[c >> 4], digits[c & 15] };

		if (is_unreserved(c))
			ar_buf_addc(&text, (char)c);
		else
			ar_buf_add(&text, escape, sizeof(escape));
	}
	add_form(r, ar_buf_str(&text));
	ar_buf_fini(&text);
}

/* In base64 a value looks different by how many bytes stand before it, modulo three; characters that
 * also hold bits of its neighbours are left off. */
static void add_base64(struct ar_redactor *r, struct ar_str secret, size_t before, const char *last_two)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	size_t end = (before + secret.len) * 8 / 6;
	struct ar_buf text = { 0 };

	for (size_t i = before ? before + 1 : 0; i < end; i++) {
		unsigned value = 0;

		for (size_t bit = i * 6; bit < i * 6 + 6; bit++) {
			unsigned char c = (unsigned char)secret.p[bit / 8 - before];

			value = value << 1 | ((unsigned)c >> (7 - bit % 8) & 1u);
		}
		ar_buf_addc(&text, value < 62 ? letters[value] : last_two[value - 62]);
	}
	add_form(r, ar_buf_str(&text));
	ar_buf_fini(&text);
}

static void add_part(struct ar_redactor *r, struct ar_str secret)
{
	add_form(r, secret);
	add_json(r, secret);
	add_percent(r, secret, "0123456789ABCDEF");
	add_percent(r, secret, "0123456789abcdef");
	for (size_t before = 0; before < 3; before++) {
		add_base64(r, secret, before, "+/");
		add_base64(r, secret, before, "-_");
	}
}

void ar_redactor_add(struct ar_redactor *r, struct ar_str secret)
{
	while (secret.len >= AR_REDACT_MAX) {
		struct ar_str part = ar_str_utf8_prefix(secret, AR_REDACT_MAX / 2);

		if (part.len < AR_REDACT_MIN)
			part = ar_str_sub(secret, 0, AR_REDACT_MAX / 2);
		add_part(r, part);
		secret = ar_str_sub(secret, part.len, secret.len);
	}
	if (secret.len >= AR_REDACT_MIN)
		add_part(r, secret);
}

void ar_forms_free(struct ar_redactor *r)
{
	for (size_t i = 0; i < r->form_count; i++) {
		ar_free(r->forms[i]->p);
		ar_free(r->forms[i]);
	}
	ar_free(r->forms);
}

void ar_redactor_forget(struct ar_redactor *r)
{
	ar_forms_free(r);
	r->forms = NULL;
	r->form_count = 0;
	memset(r->slots, 0, sizeof(r->slots));
	for (size_t i = 0; i < AR_ARRAY_LEN(r->starts); i++)
		r->starts[i] &= (uint8_t)~AR_STARTS_FORM;
}
