/* See reasons.h. One thread. */
#include "reasons.h"

#define TYPE_WIDTH 28

static void print_reason(struct ar_out *o, struct ar_json reason)
{
	struct ar_str type = ar_api_str(reason, "type");
	int64_t sequence = 0;

	ar_json_i64(ar_json_get(reason, "sequence"), &sequence);
	ar_out_style(o, AR_STYLE_DIM);
	ar_out_printf(o, "%8lld  ", (long long)sequence);
	ar_out_line(o, type);
	ar_out_printf(o, "%*s", type.len < TYPE_WIDTH ? TYPE_WIDTH - (int)type.len : 1, "");
	ar_out_style(o, AR_STYLE_PLAIN);
	ar_out_line(o, ar_api_str(reason, "text"));
	ar_out_printf(o, "\n");
}

void ar_reasons_print(struct ar_out *o, struct ar_json answer)
{
	ar_out_style(o, AR_STYLE_BOLD);
	ar_out_line(o, ar_api_str(answer, "summary"));
	ar_out_style(o, AR_STYLE_PLAIN);
	ar_out_printf(o, "\n");
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(answer, "reasons")); ar_json_next(&it);)
		print_reason(o, it.value);
}
