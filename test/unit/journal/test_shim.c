/* The pure parts of agent-shim: the ring of newest output, the JSON it looks into, its options, the words for
 * system calls. */
#include "cmocka_unit.h"
#include "compiler.h"
#include "json.h"
#include "options.h"
#include "signals.h"
#include "syscalls.h"
#include "tail.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MODEL_MAX 4000000

/* Everything that was pushed, one byte and its stream each; the ring must be its end. */
struct model {
	unsigned char *bytes, *streams;
	size_t len;
};

static void push(struct ar_tail *t, struct model *m, enum ar_record_stream stream, size_t len)
{
	static char piece[65536];

	for (size_t i = 0; i < len; i++) {
		piece[i] = (char)(m->len * 7 + 3);
		m->bytes[m->len] = (unsigned char)piece[i];
		m->streams[m->len++] = (unsigned char)stream;
	}
	assert_true(ar_tail_push(t, stream, piece, len));
}

static void check_is_end_of(struct ar_tail *t, const struct model *m)
{
	size_t at = m->len - t->used, held[4] = { 0 }, n;
	enum ar_record_stream stream;
	const char *p;

	for (size_t i = at; i < m->len; i++)
		held[m->streams[i]]++;
	for (int i = 0; i < 4; i++)
		assert_int_equal(t->held[i], held[i]);
	while ((n = ar_tail_front(t, 1000, &stream, &p)) > 0) {
		for (size_t i = 0; i < n; i++)
			assert_int_equal(m->streams[at + i], stream);
		assert_memory_equal(p, m->bytes + at, n);
		at += n;
		ar_tail_drop(t, n);
	}
	assert_int_equal(at, m->len);
	assert_int_equal(t->used, 0);
}

static void fill_and_check(size_t pieces, size_t most, bool expects_full)
{
	static struct ar_tail t;
	struct model m = { calloc(MODEL_MAX, 1), calloc(MODEL_MAX, 1), 0 };
	uint32_t seed = 12345;

	memset(&t, 0, sizeof(t));
	for (size_t i = 0; i < pieces; i++) {
		seed = seed * 1664525 + 1013904223;
		push(&t, &m, seed >> 31 ? AR_STREAM_STDOUT : AR_STREAM_STDERR, seed % most + 1);
	}
	assert_true(!expects_full || t.used == AR_TAIL_BYTES);
	check_is_end_of(&t, &m);
	free(m.bytes);
	free(m.streams);
}

static void test_the_ring_is_the_end_of_all(void **state AR_UNUSED)
{
	fill_and_check(3, 1000, false);
	fill_and_check(100, 60000, true);
	fill_and_check(3000, 1000, true);
	/* More changes of the stream than are remembered: fewer bytes, still the newest, still in order. */
	fill_and_check(20000, 3, false);
}

static struct ar_piece piece(const char *text)
{
	return (struct ar_piece){ text, strlen(text) };
}

static void test_members_are_found(void **state AR_UNUSED)
{
	struct ar_piece json = piece("{ \"a\" : {\"code\":1,\"x\":[\"}\"]}, \"reason\":\"a \\\"b\\\" }\", "
				     "\"code\": 42 ,\"n\":null}");
	struct ar_piece got;

	assert_int_equal(ar_json_number(json, "code", 7), 42);
	assert_int_equal(ar_json_number(json, "reason", 7), 7);
	assert_true(ar_json_member(json, "reason", &got));
	assert_true(ar_piece_is(got, "a \\\"b\\\" }"));
	assert_true(ar_json_member(json, "n", &got) && ar_piece_is(got, "null"));
	assert_false(ar_json_member(json, "x", &got));
	for (size_t len = 0; len < json.len; len++)
		ar_json_member((struct ar_piece){ json.p, len }, "zz", &got);
	assert_false(ar_json_member(piece("[]"), "a", &got));
	assert_false(ar_json_member(piece("{\"a\"}"), "a", &got));
}

static bool reads(const char *text)
{
	static struct ar_shim_options o;
	const char *wrong = NULL;
	char path[] = P_tmpdir "/ar-shim-options.XXXXXX";
	int fd = mkstemp(path);
	bool ok;

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	memset(&o, 0, sizeof(o));
	ok = ar_shim_options_read(&o, path, &wrong);
	unlink(path);
	assert_true(ok || wrong);
	return ok;
}

static void test_options_are_strict(void **state AR_UNUSED)
{
	assert_true(reads("init /a b/agent-init\ntimeout_ms 5\noutput_bytes 7\nleftovers keep\nbarrier_ms "
			  "9\ncgroup /x\n"));
	assert_true(reads("init /i"));
	assert_false(reads(""));
	assert_false(reads("timeout_ms 5\n"));
	assert_false(reads("init i\n"));
	assert_false(reads("init /i\ntimeout_ms -1\n"));
	assert_false(reads("init /i\ntimeout_ms 5s\n"));
	assert_false(reads("init /i\ntimeout_ms 99999999999999999999\n"));
	assert_false(reads("init /i\ntimeout_ms 18446744073709551\n"));
	assert_false(reads("init /i\nbarrier_ms 0\n"));
	assert_false(reads("init /i\nleftovers maybe\n"));
	assert_false(reads("init /i\ncgroup x\n"));
	assert_false(reads("init /i\nnew_word 1\n"));
	assert_false(reads("init /i\n\nleftovers kill\nnonsense\n"));
}

static void test_signals_have_names(void **state AR_UNUSED)
{
	assert_int_equal(ar_signal_number(piece("SIGTERM")), 15);
	assert_int_equal(ar_signal_number(piece("9")), 9);
	assert_int_equal(ar_signal_number(piece("SIGNONE")), 0);
	assert_int_equal(ar_signal_number(piece("")), 0);
	assert_int_equal(ar_signal_number(piece("-1")), 0);
	assert_string_equal(ar_signal_name(11), "SIGSEGV");
}

static void check_call(int nr, const uint64_t args[6], const char *boundary, const char *words)
{
	uint64_t key[3];
	char text[256];

	ar_syscall_key(nr, args, key);
	assert_string_equal(ar_syscall_describe(nr, key, text, sizeof(text)), boundary);
	assert_string_equal(text, words);
}

static void test_calls_in_words(void **state AR_UNUSED)
{
	check_call(SYS_socket, (const uint64_t[6]){ 40, 0x80801, 0 }, "network",
		   "socket(AF_VSOCK, SOCK_STREAM, 0)");
	check_call(SYS_socket, (const uint64_t[6]){ 99, 3, 1 }, "network", "socket(99, SOCK_RAW, 1)");
	check_call(SYS_ptrace, (const uint64_t[6]){ 16, 77 }, "process", "ptrace(16)");
	/* The upper half is what CVE-2019-7303 hid behind. */
	check_call(SYS_ioctl, (const uint64_t[6]){ 0, 0x100005412 }, "permission", "ioctl(TIOCSTI)");
	check_call(SYS_unshare, (const uint64_t[6]){ 0x10020000 }, "permission",
		   "unshare(CLONE_NEWNS|CLONE_NEWUSER)");
	check_call(SYS_fchmod, (const uint64_t[6]){ 3, 04755 }, "permission", "fchmod(mode 04755)");
	check_call(SYS_mount, (const uint64_t[6]){ 0xdeadbeef, 0xdeadbeef }, "permission", "mount()");
	check_call(9999, (const uint64_t[6]){ 1 }, "permission", "system call 9999");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_ring_is_the_end_of_all),
		cmocka_unit_test(test_members_are_found),
		cmocka_unit_test(test_options_are_strict),
		cmocka_unit_test(test_signals_have_names),
		cmocka_unit_test(test_calls_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
