/* The floor of a request: the same bytes in and out over the same number of connections, and nothing in between.
 *
 *   bench-floor-epoll REPLY_BYTES */
#include "tiny_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tiny_answer same_answer(void *arg)
{
	return *(const struct tiny_answer *)arg;
}

int main(int argc, char **argv)
{
	size_t body = argc > 1 ? strtoul(argv[1], NULL, 10) : 300;
	char *text = malloc(body + 200);
	int head;

	if (!text)
		return 1;
	head = snprintf(text, 200,
			"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
			body);
	memset(text + head, ' ', body);
	text[head] = '{';
	text[head + (int)body - 1] = '}';
	tiny_serve(same_answer, &(struct tiny_answer){ text, (size_t)head + body });
	return 0;
}
