/* Messages of agent-init: JSON is put together by hand, since this program carries no library. Descriptors go with READY alone. */
#include "say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

static void add_bytes(struct ar_text *t, const char *bytes, size_t len)
{
	if (t->is_cut || len > sizeof(t->bytes) - t->len) {
		t->is_cut = true;
		return;
	}
	memcpy(t->bytes + t->len, bytes, len);
	t->len += len;
}

void ar_text_add(struct ar_text *t, const char *text)
{
	add_bytes(t, text, strlen(text));
}

void ar_text_add_number(struct ar_text *t, uint64_t n)
{
	char text[24];

	add_bytes(t, text, (size_t)snprintf(text, sizeof(text), "%llu", (unsigned long long)n));
}

/* Bytes of the UTF-8 character that stands here; 0: there is none. Overlong forms, surrogates and what lies beyond are none. */
static size_t utf8_len(const unsigned char *s)
{
	uint32_t c = 0;
	size_t len = s[0] < 0x80		   ? 1
		     : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
		     : (s[0] & 0xf0) == 0xe0	   ? 3
		     : (s[0] & 0xf8) == 0xf0	   ? 4
						   : 0;

	if (len < 2)
		return len;
	c = s[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3fu);
	}
	if ((len == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) ||
	    (len == 4 && (c < 0x10000 || c > 0x10ffff)))
		return 0;
	return len;
}

static void add_character(struct ar_text *t, const unsigned char *s, size_t len)
{
	char escape[8];

	if (len == 0) {
		ar_text_add(t, "\\ufffd");
		return;
	}
	if (len > 1 || (s[0] >= 0x20 && s[0] != '"' && s[0] != '\\')) {
		add_bytes(t, (const char *)s, len);
		return;
	}
	add_bytes(t, escape, (size_t)snprintf(escape, sizeof(escape), "\\u%04x", s[0]));
}

void ar_text_add_string(struct ar_text *t, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	if (!text) {
		ar_text_add(t, "null");
		return;
	}
	ar_text_add(t, "\"");
	while (*s) {
		size_t len = utf8_len(s);

		add_character(t, s, len);
		s += len > 0 ? len : 1;
	}
	ar_text_add(t, "\"");
}

int ar_say_about(struct ar_init *in, const char *what, const char *which)
{
	int saved = errno;

	snprintf(in->about, sizeof(in->about), "%s%s%s", what, which ? " " : "", which ? which : "");
	errno = saved;
	return -1;
}

static bool send_message(enum ar_init_message kind, const struct ar_text *t, const int *fds, size_t count)
{
	char first = (char)kind;
	struct iovec parts[2] = { { &first, 1 }, { NULL, 0 } };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int) * AR_INIT_FD_COUNT)];
	} control = { 0 };
	struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 1 };
	ssize_t sent;

	if (t) {
		parts[1] = (struct iovec){ (void *)t->bytes, t->len };
		msg.msg_iovlen = 2;
	}
	if (count > 0) {
		control.head = (struct cmsghdr){ CMSG_LEN(sizeof(int) * count), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.head), fds, sizeof(int) * count);
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * count);
	}
	do {
		sent = sendmsg(AR_INIT_FD, &msg, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent >= 0;
}

bool ar_say(enum ar_init_message kind, const struct ar_text *t)
{
	return send_message(kind, t, NULL, 0);
}

bool ar_say_ready(const struct ar_init *in, const struct ar_text *t)
{
	int fds[AR_INIT_FD_COUNT];
	size_t count = 0;

	for (size_t i = 0; i < AR_INIT_FD_COUNT; i++) {
		if (in->fds[i] >= 0)
			fds[count++] = in->fds[i];
	}
	return send_message(AR_INIT_READY, t, fds, count);
}

void ar_say_failed(const struct ar_init *in, const char *step)
{
	int number = errno;
	struct ar_text t;
	char message[512];

	t.len = 0;
	t.is_cut = false;
	snprintf(message, sizeof(message), "%s%s%s", in->about, in->about[0] ? ": " : "", strerror(number));
	ar_text_add(&t, "{\"step\":");
	ar_text_add_string(&t, step);
	ar_text_add(&t, ",\"errno\":");
	ar_text_add_number(&t, (uint64_t)number);
	ar_text_add(&t, ",\"message\":");
	ar_text_add_string(&t, message);
	ar_text_add(&t, "}");
	ar_say(AR_INIT_FAILED, &t);
}
