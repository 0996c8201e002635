/* write_process_stdin and terminate_process. What is to be written, and that a process is to
 * end, are facts before anything is done: after a crash both are done again, by number or
 * because ending twice is ending once. Pure. */
#include "process/record.h"
#include "base64.h"
#include "identity.h"

#define INPUT_MAX 61440 /* bytes of one input: what a supervisor takes at once */
#define PREVIEW_MAX 1024

static enum ar_status find_process(struct ar_decision *d, struct ar_str id, struct ar_process_record **ret,
				   struct ar_error *err)
{
	*ret = ar_session_process(d->session, id);
	if (!*ret)
		return ar_refuse(err, AR_ERR_PROCESS_NOT_FOUND, "session %.*s has no process %.*s",
				 AR_STR_ARG(d->session->id), AR_STR_ARG(ar_str_utf8_prefix(id, 64)));
	if ((*ret)->status == AR_PROCESS_UNAVAILABLE)
		return ar_refuse(err, AR_ERR_UNAVAILABLE,
				 "process %.*s cannot be reached any more, and its end is unknown",
				 AR_STR_ARG(id));
	return AR_OK;
}

/* ---- write_process_stdin ---- */

static enum ar_status bytes_of(struct ar_decision *d, const struct ar_cmd_write_process_stdin_in *in,
			       struct ar_str *ret, struct ar_error *err)
{
	*ret = in->input;
	if (in->encoding == AR_WRITE_PROCESS_STDIN_ENCODING_BASE64 &&
	    !ar_base64_decode(d->arena, in->input, ret))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "input is not base64");
	if (ret->len > INPUT_MAX)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "write at most %d bytes at a time, and wait for the answer between them",
				 INPUT_MAX);
	if (ret->len == 0 && !in->eof.v)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "there is nothing to write; send input or eof");
	return AR_OK;
}

static enum ar_status check_takes(const struct ar_decision *d, const struct ar_process_record *p,
				  struct ar_error *err)
{
	const struct ar_process_standing *s = &d->input->command.standing;

	if (!ar_process_is_running(p))
		return ar_refuse(err, AR_ERR_EXITED, "process %.*s is %.*s", AR_STR_ARG(p->id),
				 AR_STR_ARG(ar_process_status(p)));
	if (!p->has_input || p->is_closed || s->is_closed)
		return ar_refuse(err, AR_ERR_STDIN_CLOSED, "the input of process %.*s is closed",
				 AR_STR_ARG(p->id));
	if (!s->is_reached || p->inputs - (int64_t)s->taken >= AR_PROCESS_INPUTS)
		return ar_refuse(err, AR_ERR_BACKPRESSURE,
				 s->is_reached
					 ? "process %.*s has not read its earlier input; repeat later"
					 : "the runtime is reattaching to process %.*s; repeat in a moment",
				 AR_STR_ARG(p->id));
	return AR_OK;
}

static void write_it(struct ar_decision *d, const struct ar_process_record *p, struct ar_str bytes,
		     bool is_eof)
{
	struct ar_ids ids = ar_ids_process(d, p);
	struct ar_str ref = ar_decide_content(d, bytes), call = d->input->command.call;
	const struct ar_shape_process_writer writer = {
		.kind = ar_str_absent(call) ? AR_STR("client") : AR_STR("tool"),
		.tool_call_id = call,
		.account = ar_str_empty(d->input->account) ? AR_STR_NONE : d->input->account,
	};
	struct ar_str preview = ar_str_is_utf8(bytes) ? ar_str_utf8_prefix(bytes, PREVIEW_MAX) : AR_STR_NONE;

	ar_decide_emit(d, AR_EV_PROCESS_INPUT, &ids,
		       &(struct ar_ev_process_input){ .input_ref = ref,
						      .preview = preview,
						      .bytes = (int64_t)bytes.len,
						      .source = &writer,
						      .eof = AR_OPT_BOOL(is_eof),
						      .number = AR_OPT_INT(p->inputs + 1) });
	ar_decide_effect(d, AR_EFFECT_PROCESS_WRITE)->process_write = (struct ar_effect_process_write){
		.process = p->id, .number = (uint64_t)p->inputs, .bytes = bytes, .is_eof = is_eof
	};
}

/* Where what it answers will be: read_output from that byte on. */
static struct ar_str window_of(struct ar_decision *d, const struct ar_process_record *p)
{
	const struct ar_process_standing *s = &d->input->command.standing;
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "outputRef", ar_process_ref_make(d->arena, p->id, s->stream));
	ar_jw_mint(&w, "offset", (int64_t)s->written);
	ar_jw_close(&w);
	return ar_decide_json_end(d);
}

enum ar_status ar_decide_write_process_stdin(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_write_process_stdin_in *in = d->input->command.args;
	struct ar_process_record *p;
	struct ar_str bytes;

	if (find_process(d, in->process_id, &p, err) != AR_OK || check_takes(d, p, err) != AR_OK ||
	    bytes_of(d, in, &bytes, err) != AR_OK)
		return AR_E_REFUSED;
	write_it(d, p, bytes, in->eof.v);
	ar_decide_reply(d, AR_CMD_WRITE_PROCESS_STDIN,
			&(struct ar_cmd_write_process_stdin_out){ .process_id = p->id,
								  .bytes_written = (int64_t)bytes.len,
								  .output_window = window_of(d, p) });
	return AR_OK;
}

/* ---- terminate_process ---- */

static void say_terminating(struct ar_decision *d, const struct ar_process_record *p, struct ar_str reason)
{
	struct ar_ids ids = ar_ids_process(d, p);

	ar_decide_emit(d, AR_EV_RUN_STATUS, &ids,
		       &(struct ar_ev_run_status){
			       .phase = AR_STR(AR_PHASE_TERMINATING),
			       .title = AR_STR("a process is to end"),
			       .detail = ar_str_utf8_prefix(reason, 1024),
			       .metadata = &(struct ar_shape_run_metadata){ .process_id = p->id } });
}

void ar_decide_terminate(struct ar_decision *d, const struct ar_process_record *p,
			 const struct ar_effect_process_end *how)
{
	if (ar_str_absent(p->stop_reason))
		say_terminating(d, p, how->reason);
	ar_decide_effect(d, AR_EFFECT_PROCESS_END)->process_end = *how;
}

enum ar_status ar_decide_terminate_process(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_terminate_process_in *in = d->input->command.args;
	struct ar_cmd_terminate_process_out out = { .process_id = in->process_id };
	int64_t grace_ms = in->grace_ms.set ? in->grace_ms.v : d->input->policy->process_grace_ms;
	struct ar_process_record *p;

	if (find_process(d, in->process_id, &p, err) != AR_OK)
		return AR_E_REFUSED;
	out.status = ar_process_is_running(p) ? AR_STR("terminating") : ar_process_status(p);
	if (ar_process_is_running(p))
		ar_decide_terminate(d, p,
				    &(struct ar_effect_process_end){ .process = p->id,
								     .by = AR_STR("user"),
								     .reason = in->reason,
								     .signal = in->signal,
								     .grace_ms = grace_ms });
	ar_decide_reply(d, AR_CMD_TERMINATE_PROCESS, &out);
	return AR_OK;
}
