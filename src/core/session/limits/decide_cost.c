/* What calls cost: an estimate before the first, what was used after each. An amount that nobody
 * can know is "unknown", never a guess. Pure. */
#include "limits/limits.h"
#include "provider.h"
#include "quota/quota.h"

#define BYTES_PER_TOKEN 4 /* of text, about: the estimate says what it stands on */

/* As JSON. */
static struct ar_str amount_of(struct ar_decision *d, int64_t nano)
{
	return nano == AR_MONEY_UNKNOWN ? AR_STR("\"unknown\"") : ar_money_text(d->arena, nano);
}

static struct ar_str currency_of(const struct ar_model_entry *entry, int64_t amount)
{
	return entry && amount != AR_MONEY_UNKNOWN ? entry->currency : AR_STR_NONE;
}

void ar_limits_estimate(struct ar_decision *d, const struct ar_turn *turn, const struct ar_choice *choice,
			int64_t request_bytes)
{
	const struct ar_token_count count = { .input = request_bytes / BYTES_PER_TOKEN + 1 };
	int64_t amount = ar_price_cost(&choice->entry->price, &count);
	const struct ar_shape_cost_basis basis = { .input_tokens = AR_OPT_INT(count.input),
						   .covers = AR_STR("input") };

	ar_turn_emit(d, turn, AR_EV_COST_ESTIMATED,
		     &(struct ar_ev_cost_estimated){ .amount = amount_of(d, amount),
						     .currency = currency_of(choice->entry, amount),
						     .model = choice->name,
						     .basis = &basis });
}

static int64_t counted(int64_t tokens)
{
	return tokens > 0 ? tokens : 0;
}

void ar_limits_record(struct ar_decision *d, struct ar_turn *turn, const struct ar_step *step,
		      const struct ar_model_result *end)
{
	const struct ar_policy *policy = d->input->policy;
	const struct ar_model_entry *entry =
		ar_routing_find(policy->models, policy->model_count, step->model).entry;
	struct ar_token_count count = { end->input_tokens, end->output_tokens, end->cached_tokens,
					end->cache_write_tokens };
	struct ar_ids ids = ar_ids_turn(d, turn);
	int64_t amount = AR_MONEY_UNKNOWN;

	if (!end->has_usage && end->outcome != AR_MODEL_COMPLETED)
		return;
	if (entry && end->has_usage)
		amount = ar_price_cost(&entry->price, &count);
	ids.at[AR_SCOPE_STEP] = step->id;
	ids.at[AR_SCOPE_MODEL_REQUEST] = step->model_request;
	ar_decide_emit(d, AR_EV_COST_RECORDED, &ids,
		       &(struct ar_ev_cost_recorded){ .input_tokens = counted(end->input_tokens),
						      .output_tokens = counted(end->output_tokens),
						      .cached_tokens = counted(end->cached_tokens),
						      .amount = amount_of(d, amount),
						      .currency = currency_of(entry, amount),
						      .day = AR_OPT_INT(ar_day_of(d->input->now)) });
}
