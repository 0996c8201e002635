/* JSON reading over simdjson's DOM, behind the C functions of json.h. A value is a document pointer and an
 * index on simdjson's tape; this file is the only one that knows the tape. It also holds what needs C++:
 * the text of a double. No exception leaves it: simdjson runs in its error-code form and nothing here
 * allocates with a throwing new. A parser belongs to one thread; so do the values of its current document. */
#define SIMDJSON_EXCEPTIONS 0

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <new>

/* In C a function may carry the name of its struct; C++ would warn that it hides the constructor. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "json.h"
#pragma GCC diagnostic pop
#include "mem.h"

using simdjson::dom::document;
using simdjson::internal::tape_ref;
using simdjson::internal::tape_type;

static constexpr size_t max_bytes = 64u << 20;
static constexpr size_t max_depth = 64;
static constexpr size_t first_room = 4096;
static constexpr size_t keep_room = 256u
				    << 10; /* a parser that saw a larger document gives the memory back */
static constexpr size_t root_index = 1; /* of the tape; word 0 is simdjson's own */
static constexpr size_t few_members = 16; /* up to here comparing all pairs beats sorting */

struct ar_json_parser {
	simdjson::dom::parser dom;
	char *input; /* the padded copy of the text */
	size_t input_room;
};

static tape_ref ref_of(struct ar_json v)
{
	return tape_ref(static_cast<const document *>(v.doc), v.at);
}

static bool has_type(struct ar_json v, tape_type type)
{
	return v.doc && ref_of(v).tape_ref_type() == type;
}

static struct ar_str str_of(std::string_view s)
{
	return { s.data(), s.size() };
}

/* ---- parsing ---- */

extern "C" struct ar_json_parser *ar_json_parser_new(void)
{
	return new (ar_new0(sizeof(struct ar_json_parser))) ar_json_parser();
}

extern "C" void ar_json_parser_free(struct ar_json_parser *p)
{
	if (!p)
		return;
	ar_free(p->input);
	p->~ar_json_parser();
	ar_free(p);
}

/* The text may lie inside the parser's own last document, so it is copied before that document goes. */
static bool take_input(struct ar_json_parser *p, struct ar_str text)
{
	size_t need = text.len + simdjson::SIMDJSON_PADDING;

	if (need > p->input_room) {
		size_t room = std::max(need, std::min(2 * need, keep_room));
		char *fresh = static_cast<char *>(ar_try_alloc(room));

		if (!fresh)
			return false;
		std::memcpy(fresh, text.p, text.len);
		ar_free(p->input);
		p->input = fresh;
		p->input_room = room;
	} else {
		std::memcpy(p->input, text.p, text.len);
	}
	std::memset(p->input + text.len, 0, simdjson::SIMDJSON_PADDING);
	return true;
}

/* The values of a document are not in it. */
static void drop_large_input(struct ar_json_parser *p)
{
	if (p->input_room <= keep_room)
		return;
	ar_free(p->input);
	p->input = nullptr;
	p->input_room = 0;
}

extern "C" void ar_json_parser_trim(struct ar_json_parser *p)
{
	if (p->dom.capacity() > keep_room)
		p->dom = simdjson::dom::parser();
}

/* The first allocation sets the depth limit, which simdjson keeps when it grows for a longer document. */
static simdjson::error_code prepare(struct ar_json_parser *p)
{
	ar_json_parser_trim(p);
	if (p->dom.capacity() > 0)
		return simdjson::SUCCESS;
	return p->dom.allocate(first_room, max_depth + 1); /* simdjson errs at its limit, not above */
}

static enum ar_status parse_failed(simdjson::error_code code, struct ar_error *err)
{
	bool cap = code == simdjson::DEPTH_ERROR || code == simdjson::CAPACITY || code == simdjson::MEMALLOC;

	return ar_fail(err, cap ? AR_E_LIMIT : AR_E_INVALID, "JSON: %s", simdjson::error_message(code));
}

/* ---- duplicate keys ---- */

static enum ar_status duplicate_key(std::string_view key, struct ar_error *err)
{
	struct ar_str shown = ar_str_utf8_prefix(str_of(key), 64);

	return ar_fail(err, AR_E_INVALID, "JSON: the key '%.*s' occurs twice in one object",
		       AR_STR_ARG(shown));
}

static enum ar_status check_few_keys(tape_ref object, struct ar_error *err)
{
	std::string_view seen[few_members];
	size_t end = object.matching_brace_index() - 1, count = 0;

	for (tape_ref key(object.doc, object.json_index + 1); key.json_index < end; count++) {
		seen[count] = key.get_string_view();
		for (size_t i = 0; i < count; i++) {
			if (seen[i] == seen[count])
				return duplicate_key(seen[i], err);
		}
		key.json_index = tape_ref(key.doc, key.json_index + 1).after_element();
	}
	return AR_OK;
}

static bool key_before(std::string_view a, std::string_view b)
{
	return a.size() != b.size() ? a.size() < b.size() : std::memcmp(a.data(), b.data(), a.size()) < 0;
}

static enum ar_status check_many_keys(tape_ref object, struct ar_error *err)
{
	size_t count = ar_json_len({ object.doc, object.json_index }), i = 0;
	struct ar_json_iter it = ar_json_iter({ object.doc, object.json_index });
	auto keys = static_cast<std::string_view *>(ar_try_alloc(count * sizeof(std::string_view)));
	enum ar_status status = AR_OK;

	if (!keys)
		return parse_failed(simdjson::MEMALLOC, err);
	while (ar_json_next(&it))
		new (&keys[i++]) std::string_view(it.name.p, it.name.len);
	std::sort(keys, keys + count, key_before);
	const std::string_view *twice = std::adjacent_find(keys, keys + count);
	if (twice != keys + count)
		status = duplicate_key(*twice, err);
	ar_free(keys);
	return status;
}

static enum ar_status check_keys(tape_ref object, struct ar_error *err)
{
	return object.scope_count() <= few_members ? check_few_keys(object, err)
						   : check_many_keys(object, err);
}

/* What simdjson lets pass: duplicate keys, and an empty container one level too deep. Walks the whole tape
 * flat, entering every container. */
static enum ar_status check_document(const document *doc, struct ar_error *err)
{
	size_t end = tape_ref(doc, root_index).after_element(), depth = 0;

	for (tape_ref at(doc, root_index); at.json_index < end;) {
		tape_type type = at.tape_ref_type();
		bool opens = type == tape_type::START_OBJECT || type == tape_type::START_ARRAY;
		enum ar_status status = type == tape_type::START_OBJECT ? check_keys(at, err) : AR_OK;

		if (status)
			return status;
		if (opens && ++depth > max_depth)
			return parse_failed(simdjson::DEPTH_ERROR, err);
		depth -= type == tape_type::END_OBJECT || type == tape_type::END_ARRAY;
		at.json_index = opens ? at.json_index + 1 : at.after_element();
	}
	return AR_OK;
}

extern "C" enum ar_status ar_json_parse(struct ar_json_parser *p, struct ar_str text, struct ar_json *ret,
					struct ar_error *err)
{
	*ret = {};
	if (text.len > max_bytes)
		return ar_fail(err, AR_E_LIMIT, "JSON: %zu bytes; at most %zu are read", text.len, max_bytes);
	if (text.len == 0)
		return parse_failed(simdjson::EMPTY, err);
	if (!take_input(p, text))
		return parse_failed(simdjson::MEMALLOC, err);
	simdjson::error_code code = prepare(p);
	if (!code)
		code = p->dom.parse(p->input, text.len, false).error();
	drop_large_input(p);
	if (code)
		return parse_failed(code, err);
	enum ar_status status = check_document(&p->dom.doc, err);
	if (!status)
		*ret = { &p->dom.doc, root_index };
	return status;
}

/* ---- values ---- */

extern "C" enum ar_json_type ar_json_type(struct ar_json v)
{
	if (!v.doc)
		return AR_JSON_NONE;
	switch (ref_of(v).tape_ref_type()) {
	case tape_type::NULL_VALUE:
		return AR_JSON_NULL;
	case tape_type::TRUE_VALUE:
	case tape_type::FALSE_VALUE:
		return AR_JSON_BOOL;
	case tape_type::INT64:
		return AR_JSON_INT;
	case tape_type::UINT64: /* simdjson uses it only above INT64_MAX */
	case tape_type::DOUBLE:
		return AR_JSON_NUM;
	case tape_type::STRING:
		return AR_JSON_STR;
	case tape_type::START_ARRAY:
		return AR_JSON_ARRAY;
	case tape_type::START_OBJECT:
		return AR_JSON_OBJECT;
	default:
		return AR_JSON_NONE;
	}
}

extern "C" struct ar_json_iter ar_json_iter(struct ar_json v)
{
	struct ar_json_iter it = {};
	bool object = has_type(v, tape_type::START_OBJECT);

	if (!object && !has_type(v, tape_type::START_ARRAY))
		return it;
	it.doc = v.doc;
	it.next = v.at + 1;
	it.end = ref_of(v).matching_brace_index() - 1;
	it.object = object;
	return it;
}

extern "C" bool ar_json_next(struct ar_json_iter *it)
{
	if (it->next >= it->end)
		return false;
	if (it->object)
		it->name = str_of(ref_of({ it->doc, it->next++ }).get_string_view());
	it->value = { it->doc, it->next };
	it->next = ref_of(it->value).after_element();
	return true;
}

/* On the tape the name stands right before its value. */
extern "C" struct ar_json ar_json_name(const struct ar_json_iter *it)
{
	if (!it->object)
		return {};
	return { it->doc, it->value.at - 1 };
}

extern "C" struct ar_json ar_json_get(struct ar_json object, const char *name)
{
	std::string_view wanted(name);

	if (!has_type(object, tape_type::START_OBJECT))
		return {};
	for (struct ar_json_iter it = ar_json_iter(object); ar_json_next(&it);) {
		if (std::string_view(it.name.p, it.name.len) == wanted)
			return it.value;
	}
	return {};
}

extern "C" struct ar_json ar_json_at(struct ar_json array, size_t index)
{
	if (!has_type(array, tape_type::START_ARRAY))
		return {};
	for (struct ar_json_iter it = ar_json_iter(array); ar_json_next(&it);) {
		if (index-- == 0)
			return it.value;
	}
	return {};
}

/* simdjson's count saturates at 24 bits; beyond it the members are counted. */
extern "C" size_t ar_json_len(struct ar_json v)
{
	struct ar_json_iter it = ar_json_iter(v);
	size_t count = it.doc ? ref_of(v).scope_count() : 0;

	if (count < simdjson::internal::JSON_COUNT_MASK)
		return count;
	for (count = 0; ar_json_next(&it);)
		count++;
	return count;
}

extern "C" bool ar_json_str(struct ar_json v, struct ar_str *ret)
{
	if (!has_type(v, tape_type::STRING))
		return false;
	*ret = str_of(ref_of(v).get_string_view());
	return true;
}

extern "C" bool ar_json_i64(struct ar_json v, int64_t *ret)
{
	if (!has_type(v, tape_type::INT64))
		return false;
	*ret = ref_of(v).next_tape_value<int64_t>();
	return true;
}

extern "C" bool ar_json_num(struct ar_json v, double *ret)
{
	if (has_type(v, tape_type::DOUBLE))
		*ret = ref_of(v).next_tape_value<double>();
	else if (has_type(v, tape_type::INT64))
		*ret = static_cast<double>(ref_of(v).next_tape_value<int64_t>());
	else if (has_type(v, tape_type::UINT64))
		*ret = static_cast<double>(ref_of(v).next_tape_value<uint64_t>());
	else
		return false;
	return true;
}

extern "C" bool ar_json_bool(struct ar_json v, bool *ret)
{
	if (ar_json_type(v) != AR_JSON_BOOL)
		return false;
	*ret = ref_of(v).is_true();
	return true;
}

/* ---- printing ---- */

extern "C" size_t ar_json_num_text(double v, char out[AR_JSON_NUM_TEXT])
{
	double size = std::fabs(v);
	bool plain = v == 0 || (size >= 1e-5 && size < 1e15); /* the range people write without an exponent */
	auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
	char *end = std::to_chars(out, out + AR_JSON_NUM_TEXT - 2, v, format).ptr;

	if (plain && !std::memchr(out, '.', static_cast<size_t>(end - out))) {
		*end++ = '.';
		*end++ = '0';
	}
	return static_cast<size_t>(end - out);
}

static void print_value(struct ar_json v, struct ar_jw *w);

static void print_members(struct ar_json v, struct ar_jw *w)
{
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		if (it.object) {
			ar_jw_str(w, it.name);
			ar_buf_addc(w->out, ':');
			w->comma = false;
		}
		print_value(it.value, w);
	}
}

static void print_number(tape_ref ref, struct ar_jw *w)
{
	char text[24];

	if (!ref.is_uint64())
		return ar_jw_num(w, ref.next_tape_value<double>());
	char *end = std::to_chars(text, text + sizeof text, ref.next_tape_value<uint64_t>()).ptr;
	ar_jw_raw(w, { text, static_cast<size_t>(end - text) });
}

/* Recursion is bounded by max_depth. */
static void print_value(struct ar_json v, struct ar_jw *w)
{
	switch (ar_json_type(v)) {
	case AR_JSON_NONE:
	case AR_JSON_NULL:
		return ar_jw_null(w);
	case AR_JSON_BOOL:
		return ar_jw_bool(w, ref_of(v).is_true());
	case AR_JSON_INT:
		return ar_jw_int(w, ref_of(v).next_tape_value<int64_t>());
	case AR_JSON_NUM:
		return print_number(ref_of(v), w);
	case AR_JSON_STR:
		return ar_jw_str(w, str_of(ref_of(v).get_string_view()));
	case AR_JSON_ARRAY:
		ar_jw_open_array(w);
		print_members(v, w);
		return ar_jw_close_array(w);
	case AR_JSON_OBJECT:
		ar_jw_open(w);
		print_members(v, w);
		return ar_jw_close(w);
	}
}

extern "C" void ar_json_print(struct ar_json v, struct ar_buf *out)
{
	struct ar_jw w = ar_jw(out);

	print_value(v, &w);
}
