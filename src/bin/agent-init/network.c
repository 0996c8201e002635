/* Loopback of a network namespace, and the proxy's listener in it: a socket belongs to the
 * namespace it was made in, so the process that gets its descriptor serves the inside from the
 * outside, with no bridge in between. */
#include "network.h"

#include "message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int raise_loopback(struct ar_init *in)
{
	struct ifreq lo = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), failed;

	if (fd < 0)
		return ar_init_fail(in, "socket for loopback", NULL);
	lo.ifr_flags = IFF_UP | IFF_RUNNING;
	failed = ioctl(fd, SIOCSIFFLAGS, &lo);
	if (failed)
		ar_init_fail(in, "loopback", NULL);
	close(fd);
	return failed;
}

static int listen_for_proxy(struct ar_init *in)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(AR_INIT_PROXY_PORT) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return ar_init_fail(in, "socket for the proxy", NULL);
	in->fds[AR_INIT_FD_PROXY] = fd;
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 128) < 0)
		return ar_init_fail(in, "listener for the proxy", NULL);
	return 0;
}

int ar_network_set(struct ar_init *in)
{
	if (!(in->namespaces & CLONE_NEWNET))
		return 0;
	if (raise_loopback(in) < 0)
		return -1;
	return in->plan.network == AR_PLAN_NET_PROXY ? listen_for_proxy(in) : 0;
}
