/* Requests of A2A 0.3: what they ask is translated to 1.0 before it is read, what they get when it is
 * written. Owner: the loop thread. */
#include "a2a/exchange.h"
#include "server.h"

bool ar_a2a_read_old(struct ar_a2a_exchange *x, struct ar_str *method, struct ar_json *params)
{
	struct ar_buf text = { 0 };
	bool is_good;

	if (x->version != AR_A2A_0_3)
		return true;
	x->old = ar_a2a_v03_method(*method);
	if (ar_str_absent(x->old))
		return true;
	*method = x->old;
	ar_a2a_v03_params(x->old, *params, &text);
	is_good = ar_json_parse(x->server->parser, ar_buf_str(&text), params, NULL) == AR_OK;
	ar_buf_fini(&text);
	return is_good;
}

/* The parser of the server may hold what the caller still reads. */
struct ar_str ar_a2a_as_asked(struct ar_a2a_exchange *x, struct ar_str json, struct ar_buf *room)
{
	struct ar_json_parser *parser;
	struct ar_json v;

	if (ar_str_absent(x->old))
		return json;
	parser = ar_json_parser_new();
	AR_ASSERT(ar_json_parse(parser, json, &v, NULL) == AR_OK); /* we wrote it */
	ar_a2a_v03_result(x->old, v, room);
	ar_json_parser_free(parser);
	return ar_buf_str(room);
}
