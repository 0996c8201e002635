/* `agentctl job results`: one line per item that has an output, as JSON or as a row of a table. Text of
 * models goes out as data, quoted: never as what a terminal would act on. */
#include "job/job.h"

#define PAGE 1000
#define OUTPUT_MAX 16777216

struct results {
	struct ar_ctl *c;
	bool is_csv;
};

static void add_field(struct ar_buf *line, struct ar_str text)
{
	ar_buf_addc(line, '"');
	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] == '"')
			ar_buf_addc(line, '"');
		ar_buf_addc(line, text.p[i]);
	}
	ar_buf_addc(line, '"');
}

static void print_row(const struct results *x, struct ar_json item, struct ar_str output)
{
	struct ar_buf line = { 0 };
	struct ar_jw w = ar_jw(&line);

	if (x->is_csv) {
		ar_buf_addf(&line, "%lld,%.*s,", (long long)ar_api_int(item, "number"),
			    AR_STR_ARG(ar_api_str(item, "status")));
		add_field(&line, output);
	} else {
		ar_jw_open(&w);
		ar_jw_mint(&w, "number", ar_api_int(item, "number"));
		ar_jw_mstr(&w, "jobItemId", ar_api_str(item, "jobItemId"));
		ar_jw_mstr(&w, "status", ar_api_str(item, "status"));
		ar_jw_mstr(&w, "output", output);
		ar_jw_close(&w);
	}
	if (x->is_csv)
		ar_out_text(&x->c->out, ar_buf_str(&line));
	else
		ar_out_json(&x->c->out, ar_buf_str(&line));
	ar_out_printf(&x->c->out, "\n");
	ar_buf_fini(&line);
}

static enum ar_exit print_item(const struct results *x, struct ar_json item)
{
	struct ar_str ref = ar_api_str(item, "outputRef");
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply r;
	enum ar_exit rc;

	if (ar_str_empty(ref))
		return AR_EXIT_OK;
	ar_jw_open(&w);
	ar_jw_mstr(&w, "outputRef", ref);
	ar_jw_mint(&w, "length", OUTPUT_MAX);
	ar_jw_close(&w);
	rc = ar_api_call(x->c, "read_output", ar_buf_str(&body), &r);
	ar_buf_fini(&body);
	if (rc == AR_EXIT_OK)
		print_row(x, item, ar_api_str(r.doc, "content"));
	ar_api_fini(&r);
	return rc;
}

static enum ar_exit print_page(const struct results *x, struct ar_str job, struct ar_str *cursor)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply r;
	enum ar_exit rc;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "jobId", job);
	ar_jw_mstr(&w, "cursor", *cursor);
	ar_jw_mint(&w, "limit", PAGE);
	ar_jw_close(&w);
	rc = ar_api_call(x->c, "get_job", ar_buf_str(&body), &r);
	ar_buf_fini(&body);
	*cursor = AR_STR_NONE;
	if (rc == AR_EXIT_OK) {
		struct ar_str next = ar_api_str(r.doc, "nextCursor");

		for (struct ar_json_iter it = ar_json_iter(ar_json_get(r.doc, "items"));
		     rc == AR_EXIT_OK && ar_json_next(&it);)
			rc = print_item(x, it.value);
		if (!ar_str_empty(next))
			*cursor = ar_str_from(ar_ctl_strdup(x->c, next));
	}
	ar_api_fini(&r);
	return rc;
}

enum ar_exit ar_job_results(struct ar_ctl *c, struct ar_str job, bool is_csv)
{
	const struct results x = { c, is_csv };
	struct ar_str cursor = AR_STR_NONE;
	enum ar_exit rc;

	if (is_csv)
		ar_out_printf(&c->out, "number,status,output\n");
	do
		rc = print_page(&x, job, &cursor);
	while (rc == AR_EXIT_OK && !ar_str_absent(cursor));
	return rc;
}
