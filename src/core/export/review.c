/* The facts of a scope as Markdown, for a reviewer. Each line names its fact; what a model or a tool said is
 * quoted as code and never read as markup. No verdict: the reviewer has it. */
#include "describe.h"
#include "pack.h"

#define SHOWN 400 /* bytes of one payload */

/* As code in one line: a backtick would end it. */
static void add_code(struct ar_buf *out, struct ar_str text)
{
	struct ar_str shown = ar_str_utf8_prefix(text, SHOWN);

	ar_buf_addc(out, '`');
	for (size_t i = 0; i < shown.len; i++)
		ar_buf_addc(out, shown.p[i] == '`' || (unsigned char)shown.p[i] < ' ' ? '\'' : shown.p[i]);
	ar_buf_addz(out, shown.len < text.len ? "...`" : "`");
}

void ar_pack_review_fact(struct ar_pack *p, const struct ar_event *e, struct ar_str line)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	(void)line;
	if (p->review.len > AR_PACK_REVIEW) {
		p->more_gaps++;
		return;
	}
	ar_struct_encode(&ar_event_describe(e->type)->payload, e->payload, AR_STR_NONE, &w);
	if (e->type == AR_EV_TURN_SUBMITTED)
		ar_buf_addf(&p->review, "\n## Turn %.*s\n\n", AR_STR_ARG(e->ids[AR_SCOPE_TURN]));
	ar_buf_addf(&p->review, "- %llu **%s** %.*s ", (unsigned long long)e->sequence,
		    ar_event_describe(e->type)->name, AR_STR_ARG(e->event_id));
	add_code(&p->review, ar_buf_str(&text));
	ar_buf_addc(&p->review, '\n');
	ar_buf_fini(&text);
}

void ar_pack_review(struct ar_pack *p, const struct ar_session *s, struct ar_buf *out)
{
	char root[AR_HASH_HEX];

	ar_hash_hex(&p->root, root);
	ar_buf_addz(out, "# Review\n\nTitle: ");
	add_code(out, ar_str_absent(s->title) ? AR_STR("-") : s->title);
	ar_buf_addf(out,
		    "\nSession: %.*s, facts %llu to %llu of the log, %llu in scope, %llu failed tool calls\n"
		    "Tree over the log: %llu facts, root %.64s\n\n"
		    "This page lists what was recorded. It has no verdict: that is the reviewer's.\n",
		    AR_STR_ARG(s->id), (unsigned long long)p->first, (unsigned long long)p->last,
		    (unsigned long long)p->facts, (unsigned long long)p->failed_calls,
		    (unsigned long long)p->tree.size, root);
	ar_buf_adds(out, ar_buf_str(&p->review));
	for (size_t i = 0; i < p->gap_count; i++)
		ar_buf_addf(out, "\nNot in this page: %.*s, %.*s\n", AR_STR_ARG(p->gaps[i].part),
			    AR_STR_ARG(p->gaps[i].reason));
}
