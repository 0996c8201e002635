/* Messages of agent-init: JSON is put together by hand, since this program carries no library. Descriptors go
 * with READY alone. */
#include "message.h"
#include "json_text.h"
#include "packet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void add_bytes(struct ar_message *t, const char *bytes, size_t len)
{
	if (t->is_cut || len > sizeof(t->bytes) - t->len) {
		t->is_cut = true;
		return;
	}
	memcpy(t->bytes + t->len, bytes, len);
	t->len += len;
}

void ar_message_add(struct ar_message *t, const char *text)
{
	add_bytes(t, text, strlen(text));
}

void ar_message_add_number(struct ar_message *t, uint64_t n)
{
	char text[24];

	add_bytes(t, text, (size_t)snprintf(text, sizeof(text), "%llu", (unsigned long long)n));
}

void ar_message_add_string(struct ar_message *t, const char *text)
{
	char character[AR_JSON_CHARACTER_MAX];

	if (!text) {
		ar_message_add(t, "null");
		return;
	}
	ar_message_add(t, "\"");
	while (*text) {
		text += ar_json_character(text, character);
		ar_message_add(t, character);
	}
	ar_message_add(t, "\"");
}

int ar_init_fail(struct ar_init *in, const char *what, const char *which)
{
	int saved = errno;

	snprintf(in->about, sizeof(in->about), "%s%s%s", what, which ? " " : "", which ? which : "");
	errno = saved;
	return -1;
}

static bool send_message(enum ar_init_message kind, const struct ar_message *t, int *fds, size_t count)
{
	char first = (char)kind;
	struct ar_packet p = { .parts = { { &first, 1 } }, .fds = fds, .fd_count = count };

	if (t)
		p.parts[1] = (struct iovec){ (void *)t->bytes, t->len };
	return ar_packet_send(AR_INIT_FD, &p, 0) >= 0;
}

bool ar_message_send(enum ar_init_message kind, const struct ar_message *t)
{
	return send_message(kind, t, NULL, 0);
}

bool ar_message_send_ready(const struct ar_init *in, const struct ar_message *t)
{
	int fds[AR_INIT_FD_COUNT];
	size_t count = 0;

	for (size_t i = 0; i < AR_INIT_FD_COUNT; i++) {
		if (in->fds[i] >= 0)
			fds[count++] = in->fds[i];
	}
	return send_message(AR_INIT_READY, t, fds, count);
}

void ar_message_send_failed(const struct ar_init *in, const char *step)
{
	int number = errno;
	struct ar_message t;
	char message[512];

	t.len = 0;
	t.is_cut = false;
	snprintf(message, sizeof(message), "%s%s%s", in->about, in->about[0] ? ": " : "", strerror(number));
	ar_message_add(&t, "{\"step\":");
	ar_message_add_string(&t, step);
	ar_message_add(&t, ",\"errno\":");
	ar_message_add_number(&t, (uint64_t)number);
	ar_message_add(&t, ",\"message\":");
	ar_message_add_string(&t, message);
	ar_message_add(&t, "}");
	ar_message_send(AR_INIT_FAILED, &t);
}
