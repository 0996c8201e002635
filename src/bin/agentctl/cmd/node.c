/* `agentctl node`: the nodes that share a store, as the one that is asked sees them; and
 * emptying one before it is stopped. */
#include "api.h"

#include <poll.h>
#include <string.h>

#define WAIT_STEP_MS 250
#define WAIT_MS 120000

static void print_node(struct ar_ctl *c, struct ar_json node)
{
	bool is_self = false;

	ar_json_bool(ar_json_get(node, "self"), &is_self);
	ar_out_printf(&c->out, "%-2s", is_self ? "*" : "");
	ar_out_printf(&c->out, "%-24.*s %-9.*s %6lld  %10lld  ", AR_STR_ARG(ar_api_str(node, "nodeId")),
		      AR_STR_ARG(ar_api_str(node, "state")), (long long)ar_api_int(node, "epoch"),
		      (long long)ar_api_int(node, "partitions"));
	ar_out_line(&c->out, ar_api_str(node, "address"));
	ar_out_printf(&c->out, "\n");
}

static void print_nodes(struct ar_ctl *c, struct ar_json doc)
{
	struct ar_json nodes = ar_json_get(doc, "nodes");
	bool is_settled = false;

	if (ar_json_len(nodes) == 0) {
		ar_ctl_note(c, "this daemon is not part of a cluster; a cluster needs a PostgreSQL address "
			       "in the setting store");
		return;
	}
	ar_out_style(&c->out, AR_STYLE_BOLD);
	ar_out_printf(&c->out, "  %-24s %-9s %6s  %10s  %s\n", "NODE", "STATE", "EPOCH", "PARTITIONS",
		      "ADDRESS");
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	for (struct ar_json_iter it = ar_json_iter(nodes); ar_json_next(&it);)
		print_node(c, it.value);
	ar_json_bool(ar_json_get(doc, "settled"), &is_settled);
	if (!is_settled)
		ar_ctl_note(
			c, "this node has not reached the database for a lease; the list may be out of date");
}

static enum ar_exit list(struct ar_ctl *c)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_api_call(c, "nodes", AR_STR_NONE, &reply);

	if (exit == AR_EXIT_OK && c->is_json)
		ar_api_print(c, &reply);
	else if (exit == AR_EXIT_OK)
		print_nodes(c, reply.doc);
	ar_api_fini(&reply);
	return exit;
}

/* Partitions that the asked node still has; nodes counts the others that could take them. */
static int64_t left_of(struct ar_json doc, size_t *ret_others)
{
	int64_t left = 0;

	*ret_others = 0;
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(doc, "nodes")); ar_json_next(&it);) {
		bool is_self = false;

		ar_json_bool(ar_json_get(it.value, "self"), &is_self);
		if (is_self)
			left = ar_api_int(it.value, "partitions");
		else
			*ret_others += ar_str_is(ar_api_str(it.value, "state"), "up");
	}
	return left;
}

static enum ar_exit wait_until_empty(struct ar_ctl *c)
{
	int64_t shown = -1;

	for (int waited = 0; waited < WAIT_MS; waited += WAIT_STEP_MS) {
		struct ar_api_reply reply;
		enum ar_exit exit = ar_api_call(c, "nodes", AR_STR_NONE, &reply);
		size_t others = 0;
		int64_t left = exit == AR_EXIT_OK ? left_of(reply.doc, &others) : 0;

		ar_api_fini(&reply);
		if (exit != AR_EXIT_OK)
			return exit;
		if (left == 0) {
			ar_out_printf(&c->out, c->is_json ? "{\"drained\":true}\n"
							  : "drained; `agentctl stop` or SIGTERM ends it\n");
			return AR_EXIT_OK;
		}
		if (others == 0)
			return ar_ctl_complain(c, AR_EXIT_FAILED,
					       AR_STR("start another node, or stop this one"),
					       "no other node is up; this node still owns %lld partitions",
					       (long long)left);
		if (left != shown)
			ar_ctl_note(c, "%lld partitions left", (long long)left);
		shown = left;
		poll(NULL, 0, WAIT_STEP_MS);
	}
	return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("run `agentctl node list` to see the owners"),
			       "the node still owns partitions after %d s", WAIT_MS / 1000);
}

static enum ar_exit drain(struct ar_ctl *c)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_api_call(c, "nodes/drain", AR_STR("{}"), &reply);

	ar_api_fini(&reply);
	return exit == AR_EXIT_OK ? wait_until_empty(c) : exit;
}

static enum ar_exit node(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	if (strcmp(a->words[0], "list") == 0)
		return list(c);
	if (strcmp(a->words[0], "drain") == 0)
		return drain(c);
	return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl node list, or agentctl node drain"),
			       "node has no '%s'", a->words[0]);
}

const struct ar_ctl_command ar_cmd_node = {
	.name = "node",
	.synopsis = "list|drain",
	.summary = "list the nodes of a cluster, or drain this one",
	.text = "list shows the nodes that share the daemon's PostgreSQL store, how many of the 1024 "
		"partitions each\n"
		"owns, and which one answered (*).\n"
		"drain hands all sessions of this node to the others, waits for model calls (at most\n"
		"cluster.handover_ms), and accepts no more sessions; the node still answers by forwarding "
		"requests.\n"
		"It returns when the node owns nothing. A stop (SIGTERM) does the same and then ends the "
		"process.",
	.examples = "agentctl node list\n"
		    "agentctl node drain && agentctl stop",
	.min = 1,
	.max = 1,
	.run = node,
};
