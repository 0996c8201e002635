/* The floor of a request: the same bytes in and out over the same number of connections, and nothing in
 * between.
 *
 *   bench-floor-epoll REPLY_BYTES HEAD_BYTES */
#include "tiny_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tiny_answer same_answer(void *arg, const char *request, size_t len)
{
	(void)request;
	(void)len;
	return *(const struct tiny_answer *)arg;
}

/* A head as long as ours; the last header is as long as it has to be. */
static size_t write_head(char *text, size_t body, size_t wanted)
{
	int head = snprintf(
		text, 200,
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\nX-Pad: ", body);
	size_t pad = wanted > (size_t)head + 4 ? wanted - (size_t)head - 4 : 0;

	memset(text + head, 'x', pad);
	memcpy(text + head + pad, "\r\n\r\n", 4);
	return (size_t)head + pad + 4;
}

int main(int argc, char **argv)
{
	size_t body = argc > 1 ? strtoul(argv[1], NULL, 10) : 300;
	size_t wanted = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	char *text = malloc(body + wanted + 200);
	size_t head;

	if (!text || body < 2)
		return 1;
	head = write_head(text, body, wanted);
	memset(text + head, ' ', body);
	text[head] = '{';
	text[head + body - 1] = '}';
	tiny_serve(same_answer, &(struct tiny_answer){ .p = text, .len = head + body });
	return 0;
}
