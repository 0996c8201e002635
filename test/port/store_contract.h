/* The tests that every store has to pass, in the files that hold them; test_store_contract.c runs them
 * all, once per engine. Each gets a fresh struct fixture as its state. */
#ifndef AR_TEST_STORE_CONTRACT_H
#define AR_TEST_STORE_CONTRACT_H

#include "store_fixture.h"

/* test_store_receipts.c: what makes a repeated write the same write. */
void known_receipt_stops_the_append(void **state);
void receipt_wins_over_a_wrong_sequence(void **state);
void one_receipt_twice_in_flight_is_written_once(void **state);
void receipt_needs_no_facts(void **state);
void missing_receipt_is_not_found(void **state);
struct ar_store_receipt a_receipt(const char *key, const char *input, const char *reply);
void expect_receipt(struct fixture *f, const char *key, const char *input, const char *reply);

/* test_store_log.c: windows of the log, snapshots, blobs, chunks. */
void forward_windows(void **state);
void backward_windows(void **state);
void snapshot_replaces_and_shortens_the_load(void **state);
void blobs_are_kept_by_hash(void **state);
void chunks_live_until_their_step_closes(void **state);
void assert_chunk(const struct ar_store_chunk_row *c, const char *step, uint64_t pos, const char *bytes);

/* test_store_flight.c: many writes at once, long windows, unusual names. */
void same_rows_in_one_flight_keep_the_last(void **state);
void step_closed_and_opened_again_in_one_flight(void **state);
void many_steps_and_sessions_in_one_flight(void **state);
void long_windows(void **state);
void names_may_hold_any_byte(void **state);
void too_long_names_are_refused_alone(void **state);
void heavy_flight(void **state);

/* test_store_lists.c: sessions and tasks. */
void sessions_come_newest_first_in_pages(void **state);
void sessions_are_listed_by_their_last_update(void **state);
void sessions_are_listed_without_a_status(void **state);
void session_filters_are_exact(void **state);
void sessions_are_listed_by_partition(void **state);
void session_rows_follow_their_last_append(void **state);
void tasks_come_in_order_of_creation(void **state);
void task_filters_and_single_tasks(void **state);
void index_of_a_session(void **state);
void sessions_are_listed_by_tenant(void **state);
void tenant_of_a_session(void **state);

/* test_store_actions.c: rows of actions. */
void actions_come_oldest_first_in_pages(void **state);
void action_rows_are_replaced(void **state);
void action_filters_are_exact(void **state);
void actions_in_one_flight_keep_the_last(void **state);
void actions_go_with_their_session(void **state);
void malformed_actions_are_refused(void **state);
void actions_are_listed_by_tenant(void **state);

/* rows/test_store_items.c: rows of long lists. */
void items_are_read_by_number(void **state);
void item_is_written_again(void **state);
void items_of_a_refused_append_are_not_there(void **state);
void items_go_with_their_session(void **state);

/* rows/test_store_usage.c: sums of what was used, lists over all sessions. */
void usage_is_added_up(void **state);
void usage_comes_in_pages(void **state);
void usage_of_a_refused_append_is_not_counted(void **state);
void usage_goes_with_its_age(void **state);
void open_sessions_are_listed(void **state);
void tasks_are_listed_without_some_statuses(void **state);

/* rows/test_store_tokens.c: rows of API tokens. */
void tokens_are_listed_by_version(void **state);
void tokens_are_removed(void **state);
void token_put_expects_a_version(void **state);
void tokens_survive_a_reopening(void **state);
void token_put_is_fenced(void **state);
void token_put_keeps_its_place_in_a_flight(void **state);
void malformed_tokens_are_refused(void **state);

/* rows/test_store_feed.c: the feed of a tenant. */
void feed_has_what_a_tenant_wrote(void **state);
void feed_goes_on_from_a_place(void **state);
void feed_knows_its_heads(void **state);
void feed_place_is_never_given_twice(void **state);
void feed_floor_is_how_far_removal_reached(void **state);
void feed_floors_of_one_step(void **state);
void facts_without_a_place_leave_no_floor(void **state);

/* rows/test_store_audit.c: the audit trail. */
void audit_entries_are_listed_by_time(void **state);
void audit_entry_is_there_with_its_append(void **state);
void audit_entry_is_there_with_its_token(void **state);
void audit_is_fenced(void **state);
void old_audit_entries_go_and_the_chain_holds(void **state);
void changed_and_removed_audit_entries_are_found(void **state);

/* rows/test_store_due.c: sessions by their due times. */
void due_sessions_come_earliest_first_in_pages(void **state);
void due_times_follow_their_last_append(void **state);
void due_sessions_are_listed_by_partition(void **state);

/* test_store_upkeep.c: what is forgotten. */
void old_sessions_go_with_all_they_have(void **state);
void workspaces_outlive_retention(void **state);
void removed_session_begins_anew(void **state);
void active_and_young_sessions_stay(void **state);
void steps_are_bounded_and_go_on(void **state);
void sessions_of_any_id_are_met(void **state);
void only_owned_partitions_are_touched(void **state);
void shared_content_stays_until_the_last_reference_goes(void **state);
void doomed_content_that_is_put_again_stays(void **state);
void removed_content_is_gone_for_its_session_alone(void **state);
void removed_content_may_be_put_again(void **state);
void upkeep_is_fenced(void **state);
void rows_without_a_checksum_get_one(void **state);
void upkeep_keeps_its_place_in_a_flight(void **state);

#endif
