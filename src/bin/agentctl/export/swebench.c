/* A line of the predictions that evaluations of the SWE-bench family read: an instance, a model, and what
 * the session changed in the files of its workspace, from its first checkpoint to its last one. */
#include "export/export.h"

struct prediction {
	struct ar_ctl *ctl;
	struct ar_buf model, first, last; /* ids of checkpoints */
};

static void replace_text(struct ar_buf *at, struct ar_str text)
{
	ar_buf_clear(at);
	ar_buf_adds(at, text);
}

static bool on_fact(void *arg, struct ar_json fact)
{
	struct prediction *p = arg;
	struct ar_json payload = ar_json_get(fact, "payload");
	struct ar_str type = ar_api_str(fact, "type"), id = ar_api_str(payload, "checkpointId");

	if (ar_str_is(type, "model.completed"))
		replace_text(&p->model, ar_api_str(payload, "model"));
	if (!ar_str_is(type, "checkpoint.created"))
		return true;
	if (ar_str_is(ar_api_str(payload, "phase"), "end"))
		replace_text(&p->last, id);
	else if (!p->first.len)
		replace_text(&p->first, id);
	return true;
}

static struct ar_str write_body(struct ar_ctl *c, struct ar_str session, const struct prediction *p)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", session);
	ar_jw_mstr(&w, "from", ar_buf_str(&p->first));
	ar_jw_mstr(&w, "to", ar_buf_str(&p->last));
	ar_jw_close(&w);
	return ar_ctl_take_buf(c, &body);
}

static void print_line(struct ar_ctl *c, struct ar_str instance, struct ar_str model, struct ar_str patch)
{
	struct ar_buf line = { 0 };
	struct ar_jw w = ar_jw(&line);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "instance_id", instance);
	ar_jw_mstr(&w, "model_name_or_path", model);
	ar_jw_mstr(&w, "model_patch", patch);
	ar_jw_close(&w);
	ar_buf_addc(&line, '\n');
	ar_out_json(&c->out, ar_buf_str(&line));
	ar_buf_fini(&line);
}

/* Half a patch would be judged as if it were all that was done. */
static enum ar_exit print_patch(struct ar_ctl *c, struct ar_str instance, struct ar_str session,
				const struct prediction *p)
{
	struct ar_api_reply reply;
	enum ar_exit exit;
	bool is_cut = false;

	if (!p->first.len || !p->last.len) {
		print_line(c, instance, ar_buf_str(&p->model), AR_STR(""));
		return AR_EXIT_OK;
	}
	exit = ar_api_call(c, "diff_checkpoints", write_body(c, session, p), &reply);
	if (exit == AR_EXIT_OK) {
		ar_json_bool(ar_json_get(reply.doc, "cut"), &is_cut);
		if (is_cut)
			exit = ar_ctl_complain(c, AR_EXIT_FAILED,
					       AR_STR("compare the files of the workspace yourself"),
					       "the session changed more than a patch can hold");
		else
			print_line(c, instance, ar_buf_str(&p->model), ar_api_str(reply.doc, "diff"));
	}
	ar_api_fini(&reply);
	return exit;
}

enum ar_exit ar_export_swebench(struct ar_ctl *c, const char *instance, struct ar_str session, int64_t until)
{
	struct prediction p = { .ctl = c };
	struct ar_facts facts = { c, session, until, on_fact, &p };
	enum ar_exit exit = ar_facts_read(&facts);

	if (exit == AR_EXIT_OK)
		exit = print_patch(c, instance ? ar_str_from(instance) : session, session, &p);
	ar_buf_fini(&p.model);
	ar_buf_fini(&p.first);
	ar_buf_fini(&p.last);
	return exit;
}
