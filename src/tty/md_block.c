/* See markdown.h: one block through md4c, which reports its structure by callbacks. Text is gathered
 * until a leaf (a paragraph, a heading, a cell) ends; then it is broken into rows behind the marks of
 * the lists and quotes around it. HTML and images are shown as text. */
#include "markdown.h"
#include "md_table.h"

#include <md4c.h>
#include <string.h>

#define DEPTH 16 /* of lists and quotes; what is deeper looks like this */

struct level {
	bool is_quote; /* otherwise a list, or an item of one */
	bool is_item;
	bool is_ordered;
	unsigned number; /* of the next item */
	int width; /* columns of an item's mark */
};

struct block {
	const struct ar_md_out *out;
	struct level levels[DEPTH];
	int depth;
	struct ar_buf mark; /* of the item that begins, until its first line is out */
	struct ar_buf text; /* of the leaf */
	unsigned styles[AR_STYLES]; /* how often each is on */
	size_t link_at; /* where the text of the link begins */
	struct ar_buf code; /* lines of a code block */
	struct ar_lexer lexer;
	struct ar_md_table table;
	bool is_in_table, is_in_code;
};

/* ---- rows ---- */

/* What stands before a row: marks of quotes, and blanks or the mark of the item. */
static void add_before(struct block *b, struct ar_buf *row)
{
	for (int i = 0; i < b->depth; i++) {
		const struct level *l = &b->levels[i];
		bool has_mark = b->mark.len && i == b->depth - 1 && l->is_item;

		if (l->is_quote) {
			ar_text_style(row, AR_STYLE_DIM);
			ar_buf_addz(row, "│ ");
			ar_text_style(row, AR_STYLE_PLAIN);
		}
		for (int k = 0; l->is_item && !has_mark && k < l->width; k++)
			ar_buf_addc(row, ' ');
	}
	ar_buf_adds(row, ar_buf_str(&b->mark));
	ar_buf_clear(&b->mark);
}

static int width_before(const struct block *b)
{
	int cols = 0;

	for (int i = 0; i < b->depth; i++)
		cols += b->levels[i].is_quote ? 2 : b->levels[i].is_item ? b->levels[i].width : 0;
	return cols;
}

static void print_row(struct block *b, struct ar_str text, bool is_whole)
{
	struct ar_buf row = { 0 };

	add_before(b, &row);
	ar_buf_adds(&row, text);
	b->out->line(b->out->arg, ar_buf_str(&row), is_whole);
	ar_buf_fini(&row);
}

/* A word that no row can hold, such as an address: broken by us it could not be copied. */
static bool has_long_word(struct ar_str text, int cols)
{
	struct ar_str word;

	while (text.len) {
		text = ar_str_split(text, ' ', &word);
		if (ar_text_width(word) > cols)
			return true;
	}
	return false;
}

static void print_text(struct block *b)
{
	int cols = b->out->cols - width_before(b);
	struct ar_buf rows = { 0 };
	struct ar_str rest = ar_buf_str(&b->text), line, row;

	cols = cols > 10 ? cols : 10;
	while (rest.len) {
		rest = ar_str_split(rest, '\n', &line);
		ar_buf_clear(&rows);
		if (has_long_word(line, cols)) {
			print_row(b, line, true);
			continue;
		}
		ar_text_wrap(&rows, line, cols, 0);
		for (struct ar_str more = ar_buf_str(&rows); more.len;) {
			more = ar_str_split(more, '\n', &row);
			print_row(b, row, false);
		}
	}
	ar_buf_clear(&b->text);
	ar_buf_fini(&rows);
}

static void print_code(struct block *b)
{
	struct ar_str rest = ar_buf_str(&b->code), line;

	while (rest.len) {
		struct ar_buf styled = { 0 };

		rest = ar_str_split(rest, '\n', &line);
		ar_lexer_line(&b->lexer, line, &styled);
		print_row(b, ar_buf_str(&styled), true);
		ar_buf_fini(&styled);
	}
	ar_buf_clear(&b->code);
}

static void print_rule(struct block *b)
{
	int cols = b->out->cols - width_before(b);

	ar_text_style(&b->text, AR_STYLE_DIM);
	for (int i = 0; i < (cols < 40 ? cols : 40); i++)
		ar_buf_addz(&b->text, "─");
	ar_text_style(&b->text, AR_STYLE_PLAIN);
	print_text(b);
}

/* ---- styles ---- */

static void turn_on(struct block *b, enum ar_style style)
{
	b->styles[style]++;
	ar_text_style(&b->text, style);
}

static void turn_off(struct block *b, enum ar_style style)
{
	b->styles[style]--;
	ar_text_style(&b->text, AR_STYLE_PLAIN);
	for (unsigned i = 1; i < AR_STYLES; i++) {
		if (b->styles[i])
			ar_text_style(&b->text, (enum ar_style)i);
	}
}

/* ---- blocks ---- */

static void push(struct block *b, struct level level)
{
	if (b->depth < DEPTH)
		b->levels[b->depth] = level;
	b->depth = b->depth < DEPTH ? b->depth + 1 : DEPTH;
}

static void begin_item(struct block *b, const MD_BLOCK_LI_DETAIL *detail)
{
	struct level *list = b->depth ? &b->levels[b->depth - 1] : NULL;

	if (b->text.len) /* of the item around it */
		print_text(b);
	ar_buf_clear(&b->mark);
	if (list && list->is_ordered)
		ar_buf_addf(&b->mark, "%u. ", list->number++);
	else
		ar_buf_addz(&b->mark, "• ");
	push(b, (struct level){ .is_item = true, .width = ar_text_width(ar_buf_str(&b->mark)) });
	if (detail->is_task)
		ar_buf_addz(&b->text, detail->task_mark == ' ' ? "[ ] " : "[x] ");
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct block *b = arg;

	switch (type) {
	case MD_BLOCK_QUOTE:
		push(b, (struct level){ .is_quote = true });
		break;
	case MD_BLOCK_UL:
		if (b->text.len)
			print_text(b);
		push(b, (struct level){ 0 });
		break;
	case MD_BLOCK_OL:
		if (b->text.len)
			print_text(b);
		push(b,
		     (struct level){ .is_ordered = true, .number = ((MD_BLOCK_OL_DETAIL *)detail)->start });
		break;
	case MD_BLOCK_LI:
		begin_item(b, detail);
		break;
	case MD_BLOCK_H:
		turn_on(b, AR_STYLE_BOLD);
		if (((MD_BLOCK_H_DETAIL *)detail)->level == 1)
			turn_on(b, AR_STYLE_UNDERLINE);
		break;
	case MD_BLOCK_CODE: {
		const MD_BLOCK_CODE_DETAIL *code = detail;

		if (b->text.len)
			print_text(b);
		b->is_in_code = true;
		b->lexer =
			ar_lexer((struct ar_str){ code->lang.text ? code->lang.text : "", code->lang.size });
		break;
	}
	case MD_BLOCK_TABLE:
		b->is_in_table = true;
		break;
	case MD_BLOCK_TR:
		ar_md_table_row(&b->table);
		break;
	default:
		break;
	}
	return 0;
}

static void end_heading(struct block *b)
{
	memset(b->styles, 0, sizeof(b->styles));
	ar_text_style(&b->text, AR_STYLE_PLAIN);
	print_text(b);
}

static void end_cell(struct block *b)
{
	ar_md_table_cell(&b->table, ar_buf_str(&b->text));
	ar_buf_clear(&b->text);
}

static void pop(struct block *b)
{
	if (b->text.len || b->mark.len)
		print_text(b);
	ar_buf_clear(&b->mark);
	b->depth -= b->depth > 0;
}

static int leave_block(MD_BLOCKTYPE type, void *detail AR_UNUSED, void *arg)
{
	struct block *b = arg;

	switch (type) {
	case MD_BLOCK_QUOTE:
	case MD_BLOCK_UL:
	case MD_BLOCK_OL:
	case MD_BLOCK_LI:
		pop(b);
		break;
	case MD_BLOCK_HR:
		print_rule(b);
		break;
	case MD_BLOCK_H:
		end_heading(b);
		break;
	case MD_BLOCK_CODE:
		b->is_in_code = false;
		print_code(b);
		break;
	case MD_BLOCK_P:
		print_text(b);
		break;
	case MD_BLOCK_TH:
	case MD_BLOCK_TD:
		end_cell(b);
		break;
	case MD_BLOCK_TR:
		ar_md_table_end_row(&b->table);
		break;
	case MD_BLOCK_TABLE:
		b->is_in_table = false;
		ar_md_table_print(&b->table, b->out);
		ar_md_table_fini(&b->table);
		b->table = (struct ar_md_table){ 0 };
		break;
	default:
		break;
	}
	return 0;
}

/* ---- spans ---- */

static const enum ar_style span_styles[] = {
	[MD_SPAN_EM] = AR_STYLE_ITALIC,	  [MD_SPAN_STRONG] = AR_STYLE_BOLD,
	[MD_SPAN_A] = AR_STYLE_UNDERLINE, [MD_SPAN_IMG] = AR_STYLE_UNDERLINE,
	[MD_SPAN_CODE] = AR_STYLE_CYAN,	  [MD_SPAN_DEL] = AR_STYLE_DIM,
};

static int enter_span(MD_SPANTYPE type, void *detail AR_UNUSED, void *arg)
{
	struct block *b = arg;

	if (type >= AR_ARRAY_LEN(span_styles))
		return 0;
	turn_on(b, span_styles[type]);
	if (type == MD_SPAN_A || type == MD_SPAN_IMG)
		b->link_at = b->text.len;
	return 0;
}

/* An address that the text does not show already. */
static void add_address(struct block *b, const MD_ATTRIBUTE *href, struct ar_str shown)
{
	struct ar_str address = { href->text ? href->text : "", href->size };

	if (!address.len || ar_str_eq(address, shown) ||
	    (ar_str_starts(address, AR_STR("mailto:")) && ar_str_ends(address, shown)))
		return;
	ar_text_style(&b->text, AR_STYLE_DIM);
	ar_buf_addz(&b->text, " (");
	ar_text_add(&b->text, address);
	ar_buf_addc(&b->text, ')');
	turn_off(b, AR_STYLE_PLAIN);
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
	struct block *b = arg;
	struct ar_str shown = ar_str_sub(ar_buf_str(&b->text), b->link_at, b->text.len);

	if (type >= AR_ARRAY_LEN(span_styles))
		return 0;
	if (type == MD_SPAN_A || type == MD_SPAN_IMG) {
		struct ar_buf kept = { 0 };

		ar_buf_adds(&kept, shown);
		turn_off(b, span_styles[type]);
		add_address(b,
			    type == MD_SPAN_A ? &((MD_SPAN_A_DETAIL *)detail)->href
					      : &((MD_SPAN_IMG_DETAIL *)detail)->src,
			    ar_buf_str(&kept));
		ar_buf_fini(&kept);
		return 0;
	}
	turn_off(b, span_styles[type]);
	return 0;
}

/* ---- text ---- */

static struct ar_str entity(struct ar_str text)
{
	static const char *const known[][2] = { { "&amp;", "&" },    { "&lt;", "<" },	 { "&gt;", ">" },
						{ "&quot;", "\"" },  { "&nbsp;", " " },	 { "&#39;", "'" },
						{ "&hellip;", "…" }, { "&mdash;", "—" }, { "&ndash;", "–" } };

	for (size_t i = 0; i < AR_ARRAY_LEN(known); i++) {
		if (ar_str_is(text, known[i][0]))
			return ar_str_from(known[i][1]);
	}
	return text;
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *p, MD_SIZE size, void *arg)
{
	struct block *b = arg;
	struct ar_str text = { p, size };

	if (b->is_in_code) {
		ar_buf_adds(&b->code, text);
		return 0;
	}
	switch (type) {
	case MD_TEXT_BR:
		ar_buf_addc(&b->text, b->is_in_table ? ' ' : '\n');
		break;
	case MD_TEXT_SOFTBR:
		ar_buf_addc(&b->text, ' ');
		break;
	case MD_TEXT_NULLCHAR:
		ar_buf_addz(&b->text, "\xef\xbf\xbd");
		break;
	default:
		ar_text_add(&b->text, type == MD_TEXT_ENTITY ? entity(text) : text);
	}
	return 0;
}

void ar_md_block(struct ar_str text, const struct ar_md_out *out)
{
	static const MD_PARSER parser = { .flags = MD_DIALECT_GITHUB | MD_FLAG_NOHTML,
					  .enter_block = enter_block,
					  .leave_block = leave_block,
					  .enter_span = enter_span,
					  .leave_span = leave_span,
					  .text = on_text };
	struct block b = { .out = out };

	md_parse(text.p, (MD_SIZE)text.len, &parser, &b);
	if (b.text.len)
		print_text(&b);
	ar_buf_fini(&b.text);
	ar_buf_fini(&b.mark);
	ar_buf_fini(&b.code);
	ar_md_table_fini(&b.table);
}
