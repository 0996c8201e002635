/* What a command under agent-init has no longer: privilege, a network, descriptors of others, more than its
 * share; and what --probe says of all that. */
#include "cmocka_unit.h"
#include "mem.h"
#include "status.h"
#include "world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

static struct launched l;

static void nothing_is_left_of_privilege(void **state)
{
	const struct world *w = *state;
	const char *zero = "0000000000000000";
	char want[512];

	need(w);
	run_in(&l, w,
	       plan_for(w, "grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs)' /proc/self/status; id -u; id "
			   "-G; cat /proc/self/oom_score_adj"));
	snprintf(want, sizeof(want),
		 "CapInh:\t%1$s\nCapPrm:\t%1$s\nCapEff:\t%1$s\nCapBnd:\t%1$s\nCapAmb:\t%1$s\nNoNewPrivs:"
		 "\t1\n%2$u\n%2$u\n500\n",
		 zero, plan_for(w, "")->uid);
	assert_string_equal(l.out[OUT], want);
	assert_non_null(strstr(l.ready, "\"noNewPrivs\":true"));
	assert_non_null(strstr(l.ready, "\"capabilities\":\"0000000000000000\""));
	assert_non_null(strstr(l.ready, "\"landlock\":{\"abi\":"));
	assert_non_null(strstr(l.ready, "\"isEnforced\":true"));
}

static void what_ready_says_is_so(void **state)
{
	const struct world *w = *state;
	char pid[64], mnt[64];
	unsigned long in_pid = 0, in_mnt = 0;

	need(w);
	run_in(&l, w, plan_for(w, "readlink /proc/self/ns/pid /proc/self/ns/mnt"));
	assert_int_equal(sscanf(l.out[OUT], "pid:[%lu]\nmnt:[%lu]", &in_pid, &in_mnt), 2);
	snprintf(pid, sizeof(pid), "\"pid\":%lu,\"net\"", in_pid);
	snprintf(mnt, sizeof(mnt), "\"mnt\":%lu,", in_mnt);
	assert_non_null(strstr(l.ready, pid));
	assert_non_null(strstr(l.ready, mnt));
	assert_non_null(
		strstr(l.ready, "\"readRoots\":[\"/usr\",\"/bin\",\"/lib\",\"/lib64\",\"/etc/passwd\"]"));
	assert_true(w->starter == 0 || !strstr(l.ready, "\"user\":null"));
}

/* The starter left 9 open, on purpose. */
static void no_descriptor_is_inherited(void **state)
{
	const struct world *w = *state;

	need(w);
	assert_string_equal(printed(w, "for i in $(seq 0 300); do [ -e /proc/self/fd/$i ] && echo $i; done"),
			    "0\n1\n2\n");
}

/* The reaper has the command's uid; it must not be its toy. */
static void the_reaper_is_out_of_reach(void **state)
{
	const struct world *w = *state;

	need(w);
	assert_string_equal(printed(w, "for s in KILL STOP TERM SEGV; do kill -$s 1; done; sleep 0.05; cat "
				       "/proc/1/environ /proc/1/fd/3 2>&1 | grep -c denied; "
				       "cat /proc/1/comm; grep State /proc/1/status"),
			    "2\nagent-init\nState:\tS (sleeping)\n");
}

static int listen_on(in_port_t *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 4), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static void there_is_no_network(void **state)
{
	const struct world *w = *state;
	char command[512];
	in_port_t port;
	int fd;

	need(w);
	fd = listen_on(&port);
	snprintf(command, sizeof(command),
		 "(echo > /dev/tcp/127.0.0.1/%u) 2>&1 | grep -q refused && echo refused; (echo > "
		 "/dev/tcp/192.0.2.1/80) 2>&1 "
		 "| grep -q unreachable && echo unreachable; "
		 "tail -n +3 /proc/net/dev | cut -d: -f1",
		 port);
	assert_string_equal(printed(w, command), "refused\nunreachable\n    lo\n");
	close(fd);
}

static void the_proxy_is_served_from_outside(void **state)
{
	const struct world *w = *state;
	struct ar_plan *p;
	int served;

	need(w);
	p = plan_for(w, "exec 5<>/dev/tcp/127.0.0.1/3128 && read -r line <&5 && echo $line");
	p->network = AR_PLAN_NET_PROXY;
	launch(&l, p, geteuid() == 0 ? w->starter : 0);
	hear(&l, AR_INIT_READY);
	assert_true(l.fds[AR_INIT_FD_PROXY] >= 0);
	say(&l, "G");
	served = accept(l.fds[AR_INIT_FD_PROXY], NULL, NULL);
	assert_true(served >= 0);
	assert_int_equal(write(served, "from outside\n", 13), 13);
	hear(&l, (enum ar_init_message)0);
	assert_string_equal(l.out[OUT], "from outside\n");
	close(served);
	end(&l);
}

/* A program as hex; the caller frees it. */
static char *hex_of(scmp_filter_ctx ctx)
{
	int fd = memfd_create("bpf", MFD_CLOEXEC);
	unsigned char bytes[65536];
	ssize_t len;
	char *hex;

	assert_int_equal(seccomp_export_bpf(ctx, fd), 0);
	len = pread(fd, bytes, sizeof(bytes), 0);
	assert_true(len > 0 && len % 8 == 0);
	hex = ar_new0((size_t)len * 2 + 1);
	for (ssize_t i = 0; i < len; i++)
		snprintf(hex + i * 2, 3, "%02x", bytes[i]);
	close(fd);
	seccomp_release(ctx);
	return hex;
}

static char *no_setuid_bits(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);

	seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(chmod), 1,
			 SCMP_A1(SCMP_CMP_MASKED_EQ, 04000, 04000));
	seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fchmod), 1,
			 SCMP_A1(SCMP_CMP_MASKED_EQ, 04000, 04000));
	seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fchmodat), 1,
			 SCMP_A2(SCMP_CMP_MASKED_EQ, 04000, 04000));
	return hex_of(ctx);
}

static void the_filter_is_in_force(void **state)
{
	const struct world *w = *state;
	char *filter = no_setuid_bits();
	struct ar_plan *p;
	struct stat st;

	need(w);
	p = plan_for(w, "chmod 4755 file; chmod 700 file && echo ok; grep Seccomp: /proc/self/status");
	p->filter = filter;
	run_in(&l, w, p);
	assert_string_equal(l.out[OUT], "ok\nSeccomp:\t2\n");
	assert_non_null(strstr(l.out[ERR], "Operation not permitted"));
	assert_non_null(strstr(l.ready, "\"seccomp\":1,"));
	assert_int_equal(stat(inside(w, "file"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	ar_free(filter);
}

static void calls_are_heard_of(void **state)
{
	const struct world *w = *state;
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	struct seccomp_notif call = { 0 };
	struct seccomp_notif_resp reply = { .error = -EXDEV };
	struct ar_plan *p;
	char *filter;

	need(w);
	seccomp_rule_add(ctx, SCMP_ACT_NOTIFY, SCMP_SYS(rmdir), 0);
	seccomp_rule_add(ctx, SCMP_ACT_NOTIFY, SCMP_SYS(unlinkat), 1, SCMP_A2(SCMP_CMP_EQ, AT_REMOVEDIR));
	filter = hex_of(ctx);
	p = plan_for(w, "rmdir sub");
	p->filter = filter;
	p->notifies = true;
	launch(&l, p, geteuid() == 0 ? w->starter : 0);
	hear(&l, AR_INIT_READY);
	assert_true(l.fds[AR_INIT_FD_NOTIFY] >= 0);
	say(&l, "G");
	assert_int_equal(ioctl(l.fds[AR_INIT_FD_NOTIFY], SECCOMP_IOCTL_NOTIF_RECV, &call), 0);
	assert_true(call.data.nr == SYS_rmdir || call.data.nr == SYS_unlinkat);
	reply.id = call.id;
	assert_int_equal(ioctl(l.fds[AR_INIT_FD_NOTIFY], SECCOMP_IOCTL_NOTIF_SEND, &reply), 0);
	hear(&l, (enum ar_init_message)0);
	assert_non_null(strstr(l.out[ERR], "Invalid cross-device link"));
	end(&l);
	ar_free(filter);
}

static void limits_hold(void **state)
{
	const struct world *w = *state;
	struct ar_plan *p;

	need(w);
	p = plan_for(w, "ulimit -n; ulimit -c; head -c 3000000 /dev/zero > /tmp/x; stat -c %s /tmp/x | head "
			"-c 2; echo; head -c 9000000 /dev/zero > big; "
			"echo $?; stat -c %s big");
	p->limits = (struct ar_plan_limits){ .open_files = 64, .tmp_bytes = 2 << 20, .file_bytes = 4 << 20 };
	run_in(&l, w, p);
	assert_string_equal(l.out[OUT], "64\n0\n20\n153\n4194304\n");
	assert_non_null(strstr(l.out[ERR], "No space left"));
}

/* The first place that is a cgroup hierarchy of this kind; NULL: there is none. */
static const char *find_cgroup(const char *const *places)
{
	for (; *places; places++) {
		char file[128];

		snprintf(file, sizeof(file), "%s/cgroup.procs", *places);
		if (access(file, W_OK) == 0)
			return *places;
	}
	return NULL;
}

static void cgroups_are_joined(void **state)
{
	const struct world *w = *state;
	static const char *const unified[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup", NULL };
	static const char *const pids[] = { "/sys/fs/cgroup/pids", NULL };
	const char *places[2] = { find_cgroup(unified), find_cgroup(pids) };
	char folders[2][128], limit[160];
	struct ar_plan *p;

	need(w);
	p = plan_for(w, "grep -c agent-init-test /proc/self/cgroup; for i in $(seq 20); do sleep "
			"0.2 & done; wait");
	for (int i = 0; i < 2; i++) {
		if (!places[i])
			continue;
		snprintf(folders[i], sizeof(folders[i]), "%s/agent-init-test-%d", places[i], getpid());
		assert_int_equal(mkdir(folders[i], 0755), 0);
		p->cgroups.at[p->cgroups.count++] = folders[i];
	}
	if (p->cgroups.count == 0)
		skip();
	if (places[1]) {
		snprintf(limit, sizeof(limit), "%s/pids.max", folders[1]);
		write_file(limit, "8");
	}
	launch(&l, p, 0);
	hear(&l, AR_INIT_READY);
	for (size_t i = 0; i < p->cgroups.count; i++) {
		char procs[160], text[64] = "", want[32];
		int fd;

		snprintf(procs, sizeof(procs), "%s/cgroup.procs", p->cgroups.at[i]);
		fd = open(procs, O_RDONLY | O_CLOEXEC);
		assert_true(read(fd, text, sizeof(text) - 1) > 0);
		close(fd);
		snprintf(want, sizeof(want), "\"pid\":%d,", atoi(text));
		assert_non_null(strstr(l.ready, want));
	}
	say(&l, "G");
	hear(&l, (enum ar_init_message)0);
	assert_string_equal(l.out[OUT], "0\n"); /* where it is on the host is not told */
	if (places[1])
		assert_non_null(strstr(l.out[ERR], "Resource temporarily unavailable"));
	end(&l);
	for (size_t i = 0; i < p->cgroups.count; i++)
		assert_int_equal(rmdir(p->cgroups.at[i]), 0);
}

/* Neither may stand in for the other. */
static void backends_are_not_mixed(void **state)
{
	const struct world *w = *state;
	struct ar_plan *p;

	need(w);
	p = plan_for(w, "true");
	p->backend = p->backend == AR_PLAN_ROOT ? AR_PLAN_USERNS : AR_PLAN_ROOT;
	launch(&l, p, geteuid() == 0 ? w->starter : 0);
	hear(&l, (enum ar_init_message)0);
	assert_non_null(strstr(l.failed, "{\"step\":\"starter\",\"errno\":1,"));
	end(&l);
}

static const char *probe(const char *options)
{
	static char text[65536];
	char command[4200];
	FILE *f;

	snprintf(command, sizeof(command), "%s --probe %s", init_path(), options);
	f = popen(command, "r");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	assert_int_equal(pclose(f), 0);
	return text;
}

static int count(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		n++;
	return n;
}

static void the_probe_says_what_works(void **state)
{
	static const char *const sure[] = { "landlock",	      "mount_view",	   "pins",	    "idmap",
					    "pid_namespace",  "network_namespace", "ipc_namespace", "seccomp",
					    "seccomp_notify", "capabilities",	   "fd_hygiene",    "pty" };
	const struct world *w = *state;
	const char *text;

	need(w);
	text = probe("");
	assert_int_equal(count(text, "\"mechanism\":"), 16);
	/* those without which the tests before this one could not have passed */
	for (size_t i = 0; i < AR_ARRAY_LEN(sure); i++) {
		char want[64];

		snprintf(want, sizeof(want), "{\"mechanism\":\"%s\",\"isWorking\":true,", sure[i]);
		assert_non_null(strstr(text, want));
	}
	text = probe("--without pins --without seccomp_notify");
	assert_non_null(strstr(text, "{\"mechanism\":\"pins\",\"isWorking\":false,"));
	assert_non_null(strstr(text, "{\"mechanism\":\"seccomp_notify\",\"isWorking\":false,"));
	assert_non_null(strstr(text, "{\"mechanism\":\"seccomp\",\"isWorking\":true,"));
	/* where nothing can be written there is no proof */
	text = probe("/nowhere");
	assert_non_null(strstr(text, "{\"mechanism\":\"mount_view\",\"isWorking\":false,"));
}

/* The probe where clone3 is missing. */
static void probe_without_clone3(int out)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);

	seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	seccomp_load(ctx);
	dup2(out, STDOUT_FILENO);
	execl(init_path(), "agent-init", "--probe", (char *)NULL);
	_exit(98);
}

/* First of a pid namespace, so that only what is in it can be hit: 0 when a bystander outlives the probe. */
static int watch_bystander(int out)
{
	pid_t bystander = fork(), prober;
	int status;

	if (bystander == 0) {
		for (;;)
			pause();
	}
	prober = fork();
	if (prober == 0)
		probe_without_clone3(out);
	if (waitpid(prober, &status, 0) != prober || status != 0)
		return 1;
	return waitpid(bystander, &status, WNOHANG) == 0 ? 0 : 2;
}

static void a_probe_that_fails_hits_nobody(void **state)
{
	const struct world *w = *state;
	static char text[65536];
	int ends[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t child;

	need(w);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		pid_t first = unshare(CLONE_NEWPID) == 0 ? fork() : -1;

		if (first == 0)
			_exit(watch_bystander(ends[1]));
		_exit(first > 0 && waitpid(first, &status, 0) == first && WIFEXITED(status)
			      ? WEXITSTATUS(status)
			      : 99);
	}
	close(ends[1]);
	while ((n = read(ends[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, "{\"mechanism\":\"cgroup_kill\",\"isWorking\":false,"));
	assert_non_null(strstr(text, "{\"mechanism\":\"pid_namespace\",\"isWorking\":false,"));
	assert_non_null(strstr(text, "{\"mechanism\":\"landlock\",\"isWorking\":true,"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(nothing_is_left_of_privilege),
		BOTH(what_ready_says_is_so),
		BOTH(no_descriptor_is_inherited),
		BOTH(the_reaper_is_out_of_reach),
		BOTH(there_is_no_network),
		BOTH(the_proxy_is_served_from_outside),
		BOTH(the_filter_is_in_force),
		BOTH(calls_are_heard_of),
		BOTH(limits_hold),
		ROOT(cgroups_are_joined),
		BOTH(backends_are_not_mixed),
		ROOT(the_probe_says_what_works),
		ROOT(a_probe_that_fails_hits_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
