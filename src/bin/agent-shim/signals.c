/* A signal as somebody asks for it: by name or by number. */
#include "signals.h"

#include <signal.h>

static int by_digits(struct ar_piece text)
{
	int n = 0;

	if (text.len == 0 || text.len > 2)
		return 0;
	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return 0;
		n = n * 10 + (text.p[i] - '0');
	}
	return n <= SIGRTMAX ? n : 0;
}

int ar_signal_number(struct ar_piece name)
{
	int number = ar_signal_named(name.p, name.len);

	return number ? number : by_digits(name);
}
