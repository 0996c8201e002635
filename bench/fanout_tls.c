/* The client's side of TLS for readers: OpenSSL straight on the socket, nothing verified, for the server is
 * our own. */
#include "fanout.h"

#include <openssl/ssl.h>

void *fanout_tls_open(int fd)
{
	static SSL_CTX *context;
	SSL *tls;

	if (!context)
		context = SSL_CTX_new(TLS_client_method());
	tls = context ? SSL_new(context) : NULL;
	if (!tls || !SSL_set_fd(tls, fd) || SSL_connect(tls) != 1)
		fanout_die("no handshake");
	return tls;
}

bool fanout_tls_send(void *tls, const char *text, size_t len)
{
	return SSL_write(tls, text, (int)len) == (int)len;
}

int fanout_tls_recv(void *tls, char *text, size_t room)
{
	int n = SSL_read(tls, text, (int)room);

	if (n > 0)
		return n;
	return SSL_get_error(tls, n) == SSL_ERROR_WANT_READ ? 0 : -1;
}
