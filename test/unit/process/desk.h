/* Follows processes on a loop of its own and writes down what it is told, a line each: what is the same live
 * and after attach() is the same text. It fails the test when the host breaks its contract: a callback before
 * launch() or attach() returned, one after the end, a second end. */
#ifndef AR_TEST_PROCESS_DESK_H
#define AR_TEST_PROCESS_DESK_H

#include "buf.h"
#include "processes.h"

#include "cmocka_unit.h"

struct desk {
	uv_loop_t loop;
	struct ar_process_host *host;
	char root[64], folder[80]; /* temporary; the processes' folder in it */
	char shim[512], init[512];
	const char *sandbox_refuses; /* NULL: it does not */
	int64_t barrier_ms;
	uint64_t output_bytes;
	size_t open;
	int listeners, listener; /* that were handed out and not taken back; the newest */
	char listener_name[64];
};

struct desk_process {
	struct ar_process process;
	struct desk *desk;
	struct ar_buf story; /* reports, inputs, the end */
	struct ar_buf out[4]; /* by stream */
	char handle[512], boundary[8192];
	char message[2048], step[64], by[32], reason[256], signal[16];
	struct ar_process_end end; /* without its text */
	bool has_begun, is_ready, is_attached, is_done;
	bool goes; /* go() as soon as it is ready */
	uint64_t inputs; /* that on_attached named */
	void (*on_output)(struct desk_process *p); /* NULL: nothing more to do */
};

void desk_init(struct desk *d); /* and opens the host */
void desk_open(struct desk *d);
void desk_close(struct desk *d); /* the host alone; the loop runs until it is gone */
void desk_fini(struct desk *d); /* removes the folder */

/* `sh -c script`, which is let go at once unless it begins with #; `spec` may be NULL. */
struct desk_process *desk_launch(struct desk *d, const char *script, const struct ar_process_spec *spec);
struct desk_process *desk_attach(struct desk *d, const char *handle);
void desk_leave(struct desk_process *p);
void desk_free(struct desk_process *p);

void desk_wait_ready(struct desk_process *p);
void desk_wait_end(struct desk_process *p);
void desk_wait_all(struct desk *d);
void desk_wait_text(struct desk_process *p, int stream, const char *text); /* until its output holds this */
void desk_wait_story(struct desk_process *p, const char *text);
void desk_turn(struct desk *d, int ms); /* the loop for so long */

struct ar_str desk_out(struct desk_process *p, int stream);
void desk_assert_story(struct desk_process *p, const char *expected);
void desk_assert_same(struct desk_process *a, struct desk_process *b); /* story and output */
bool desk_exists(const char *folder, const char *name);
void desk_folder_of(const char *handle, char out[512]);

#endif
