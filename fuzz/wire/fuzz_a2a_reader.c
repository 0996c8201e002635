/* Fuzz target: any bytes as what an A2A peer says, read as everything that it can be. What is taken is text
 * within its limits; what is not has a sentence. */
#include "reader.h"

#define BYTES_MAX 4096

static struct ar_json_parser *parser;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerInitialize(int *argc AR_UNUSED, char ***argv AR_UNUSED)
{
	parser = ar_json_parser_new();
	return 0;
}

static void check_update(const struct ar_peer_update *u)
{
	size_t bytes = 0;

	AR_ASSERT(ar_str_absent(u->task_id) || ar_str_is_line(u->task_id, AR_A2A_ID_MAX));
	AR_ASSERT((u->state == AR_PEER_STATE_NONE) == ar_str_absent(u->native_status));
	AR_ASSERT(ar_str_absent(u->message) ||
		  (ar_str_is_text(u->message) && u->message.len <= AR_A2A_MESSAGE_MAX));
	AR_ASSERT(u->artifact_count <= AR_A2A_ARTIFACTS_MAX);
	for (size_t i = 0; i < u->artifact_count; i++) {
		AR_ASSERT(ar_str_is_line(u->artifacts[i].id, AR_A2A_ID_MAX));
		for (size_t n = 0; n < u->artifacts[i].part_count; n++) {
			const struct ar_peer_part *p = &u->artifacts[i].parts[n];

			AR_ASSERT(p->kind && !ar_str_absent(p->bytes));
			bytes += p->kind == AR_PEER_PART_URL ? 0 : p->bytes.len;
		}
	}
	AR_ASSERT(bytes <= BYTES_MAX + 3 * (size_t)AR_A2A_ARTIFACTS_MAX * AR_A2A_PARTS_MAX);
}

static void try_all(struct ar_a2a_reading *r, struct ar_json doc)
{
	struct ar_peer_update u, *list;
	struct ar_a2a_card card;
	struct ar_a2a_fault fault = { 0 };
	struct ar_json result;
	struct ar_str next, task;
	size_t count;

	if (ar_a2a_read_event(r, doc, &u) == AR_PEER_OK)
		check_update(&u);
	else
		AR_ASSERT(r->why);
	if (ar_a2a_read_task(r, doc, &u) == AR_PEER_OK)
		check_update(&u);
	if (ar_a2a_read_list(r, doc, &list, &count, &next) == AR_PEER_OK) {
		for (size_t i = 0; i < count; i++)
			check_update(&list[i]);
	}
	if (ar_a2a_read_rpc(r, doc, 1, &result, &fault) == AR_PEER_OK &&
	    ar_a2a_read_event(r, result, &u) == AR_PEER_OK)
		check_update(&u);
	AR_ASSERT(ar_a2a_read_http_error(r, 400, doc, &fault) != AR_PEER_OK);
	AR_ASSERT(ar_str_absent(fault.reason) || ar_str_is_utf8(fault.reason));
	if (ar_a2a_push_task(doc, &task))
		AR_ASSERT(ar_str_absent(task) || ar_str_is_line(task, AR_A2A_ID_MAX));
	if (ar_a2a_read_card(r, doc, &card) == AR_PEER_OK)
		AR_ASSERT(card.interface_count > 0 && card.interface_count <= AR_A2A_INTERFACES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct ar_arena arena = { 0 };
	struct ar_a2a_reading reading = { .arena = &arena, .bytes_max = BYTES_MAX };
	struct ar_json doc;

	if (ar_json_parse(parser, (struct ar_str){ (const char *)bytes, len }, &doc, NULL) == AR_OK)
		try_all(&reading, doc);
	ar_arena_fini(&arena);
	return 0;
}
