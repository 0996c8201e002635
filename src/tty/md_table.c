/* See md_table.h. */
#include "md_table.h"

#define BETWEEN 3 /* columns: " │ " */

void ar_md_table_row(struct ar_md_table *t)
{
	t->at = 0;
}

void ar_md_table_cell(struct ar_md_table *t, struct ar_str text)
{
	int most = t->rows ? t->columns : AR_MD_COLUMNS;

	if (t->at >= most)
		return;
	t->at++;
	ar_buf_adds(&t->cells, text);
	ar_buf_addc(&t->cells, '\n');
}

/* Rows that are too short are filled up. */
void ar_md_table_end_row(struct ar_md_table *t)
{
	if (t->rows == 0)
		t->columns = t->at;
	for (; t->at < t->columns; t->at++)
		ar_buf_addc(&t->cells, '\n');
	t->rows++;
}

static void measure(const struct ar_md_table *t, int widths[AR_MD_COLUMNS])
{
	struct ar_str rest = ar_buf_str(&t->cells), cell;

	for (int i = 0; rest.len; i++) {
		int width, *most = &widths[i % t->columns];

		rest = ar_str_split(rest, '\n', &cell);
		width = ar_text_width(cell);
		*most = width > *most ? width : *most;
	}
}

static void add_padding(struct ar_buf *line, int count)
{
	for (int i = 0; i < count; i++)
		ar_buf_addc(line, ' ');
}

static void print_rule(const struct ar_md_table *t, const int *widths, const struct ar_md_out *out)
{
	struct ar_buf line = { 0 };

	ar_text_style(&line, AR_STYLE_DIM);
	for (int i = 0; i < t->columns; i++) {
		ar_buf_addz(&line, i ? "─┼─" : "");
		for (int k = 0; k < widths[i]; k++)
			ar_buf_addz(&line, "─");
	}
	out->line(out->arg, ar_buf_str(&line), false);
	ar_buf_fini(&line);
}

static void print_columns(const struct ar_md_table *t, const int *widths, const struct ar_md_out *out)
{
	struct ar_str rest = ar_buf_str(&t->cells), cell;

	for (int row = 0; row < t->rows; row++) {
		struct ar_buf line = { 0 };

		for (int i = 0; i < t->columns; i++) {
			rest = ar_str_split(rest, '\n', &cell);
			ar_text_style(&line, AR_STYLE_DIM);
			ar_buf_addz(&line, i ? " │ " : "");
			ar_text_style(&line, AR_STYLE_PLAIN);
			if (row == 0)
				ar_text_style(&line, AR_STYLE_BOLD);
			ar_buf_adds(&line, cell);
			ar_text_style(&line, AR_STYLE_PLAIN);
			add_padding(&line, i + 1 < t->columns ? widths[i] - ar_text_width(cell) : 0);
		}
		out->line(out->arg, ar_buf_str(&line), false);
		ar_buf_fini(&line);
		if (row == 0)
			print_rule(t, widths, out);
	}
}

static void print_broken(const struct ar_md_out *out, struct ar_str line)
{
	struct ar_buf rows = { 0 };
	struct ar_str rest, row;

	ar_text_wrap(&rows, line, out->cols, 2);
	for (rest = ar_buf_str(&rows); rest.len;) {
		rest = ar_str_split(rest, '\n', &row);
		out->line(out->arg, row, false);
	}
	ar_buf_fini(&rows);
}

/* "head: cell", an empty line after each row. */
static void print_list(const struct ar_md_table *t, const struct ar_md_out *out)
{
	struct ar_str heads[AR_MD_COLUMNS], rest = ar_buf_str(&t->cells), cell;

	for (int i = 0; i < t->columns; i++)
		rest = ar_str_split(rest, '\n', &heads[i]);
	for (int row = 1; row < t->rows; row++) {
		for (int i = 0; i < t->columns; i++) {
			struct ar_buf line = { 0 };

			rest = ar_str_split(rest, '\n', &cell);
			ar_text_style(&line, AR_STYLE_BOLD);
			ar_buf_adds(&line, heads[i]);
			ar_text_style(&line, AR_STYLE_PLAIN);
			ar_buf_addz(&line, ": ");
			ar_buf_adds(&line, cell);
			print_broken(out, ar_buf_str(&line));
			ar_buf_fini(&line);
		}
		if (row + 1 < t->rows)
			out->line(out->arg, AR_STR(""), false);
	}
}

void ar_md_table_print(const struct ar_md_table *t, const struct ar_md_out *out)
{
	int widths[AR_MD_COLUMNS] = { 0 }, total;

	if (t->columns == 0)
		return;
	measure(t, widths);
	total = BETWEEN * (t->columns - 1);
	for (int i = 0; i < t->columns; i++)
		total += widths[i];
	if (total <= out->cols)
		print_columns(t, widths, out);
	else
		print_list(t, out);
}

void ar_md_table_fini(struct ar_md_table *t)
{
	ar_buf_fini(&t->cells);
}
