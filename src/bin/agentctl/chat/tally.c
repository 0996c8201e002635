/* See chat.h: tokens, money, time and tools, of a turn or of all that were seen. What has no price is
 * told as unknown, never as 0. */
#include "chat/chat.h"

#include <stdio.h>
#include <string.h>

void ar_chat_tally_cost(struct ar_chat_tally *y, struct ar_json payload)
{
	struct ar_str currency = ar_api_str(payload, "currency");
	double amount = 0;

	y->input += ar_api_int(payload, "inputTokens");
	y->output += ar_api_int(payload, "outputTokens");
	y->cached += ar_api_int(payload, "cachedTokens");
	if (!ar_json_num(ar_json_get(payload, "amount"), &amount)) {
		y->is_unknown = true;
		return;
	}
	y->is_priced = true;
	y->amount += amount;
	snprintf(y->currency, sizeof(y->currency), "%.*s", AR_STR_ARG(currency));
}

void ar_chat_tally_add(struct ar_chat_tally *all, const struct ar_chat_tally *one)
{
	all->input += one->input;
	all->output += one->output;
	all->cached += one->cached;
	all->tools += one->tools;
	all->ms += one->ms;
	all->amount += one->amount;
	all->is_priced |= one->is_priced;
	all->is_unknown |= one->is_unknown;
	all->turns++;
	if (one->is_priced)
		memcpy(all->currency, one->currency, sizeof(all->currency));
}

static void print_cost(struct ar_out *o, const struct ar_chat_tally *y)
{
	if (!y->is_priced) {
		ar_out_printf(o, "cost unknown");
		return;
	}
	ar_out_printf(o, "cost %.6f ", y->amount);
	ar_out_line(o, ar_str_from(y->currency));
	if (y->is_unknown)
		ar_out_printf(o, " and an unknown part");
}

void ar_chat_tally_print(struct ar_out *o, const struct ar_chat_tally *y)
{
	ar_out_printf(o, "%lld in, %lld out, %lld cached; ", (long long)y->input, (long long)y->output,
		      (long long)y->cached);
	print_cost(o, y);
	ar_out_printf(o, "; %lld.%lld s; %lld tool%s", (long long)(y->ms / 1000),
		      (long long)(y->ms / 100 % 10), (long long)y->tools, y->tools == 1 ? "" : "s");
}
