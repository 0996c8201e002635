/* The auth port: who the caller is, and whether one more command of theirs is admitted. A
 * transport passes on the credentials that it was given (a bearer token, a client certificate, the
 * user at the other end of a unix socket) and gets a principal, which goes with every call from
 * then on. What a principal may do is decided in core/control, command by command; that a session
 * is its tenant's, there too.
 *
 * Owner: the loop thread. */
#ifndef AR_PORT_AUTH_H
#define AR_PORT_AUTH_H

#include "arena.h"
#include "status.h"

/* What a command asks for, called scopes where people read it; the catalogue names one for each. A principal
 * has any set of them, admin has all. */
enum ar_right {
	AR_RIGHT_READ = 1 << 0, /* look and follow */
	AR_RIGHT_SUBMIT = 1 << 1, /* give work, steer and stop it */
	AR_RIGHT_DECIDE = 1 << 2, /* answer questions: permissions, plans, budgets */
	AR_RIGHT_WORKER = 1 << 3, /* report results of tools and tasks; be a worker */
	AR_RIGHT_ADMIN = 1 << 4, /* tokens, policy, nodes */
	AR_RIGHT_ALL = (1 << 5) - 1,
};

#define AR_TENANT_LOCAL "local" /* of an installation that has no tenants */
#define AR_PERSON_LOCAL "local" /* the server's own user and root: they could write its store */

/* Who asks. Text is borrowed: it lives as long as what it was made for (a request, a connection). */
struct ar_principal {
	struct ar_str tenant; /* never empty; sessions of other tenants do not exist for it */
	/* Never empty; named by every fact that it causes: "local", "token:tok_...", "jwt:<subject>",
	 * "certificate:<subject>" */
	struct ar_str actor;
	/* Who stands behind it, in the tenant: AR_PERSON_LOCAL, "uid:1001", "jwt:<subject>",
	 * "certificate:<subject>", "person:<name>"; a token is its owner's. Absent: not known */
	struct ar_str person;
	/* What limits count by: id of the token, subject of the JWT; absent: the operator, to whom none
	 * apply */
	struct ar_str token;
	unsigned rights; /* of enum ar_right */
	ar_usec until; /* wall clock: what was shown ends then; 0: not by itself */
	uint64_t mark; /* the adapter's: which secret of the token was shown */
	/* wk_...: it is this worker, and no command but enrol_worker is for it; absent: it is none */
	struct ar_str worker;
	bool is_enrolment; /* with worker: it may enrol, and do nothing else */
	bool is_runtime; /* no caller: a session sends the command to another one of its tenant */
};

/* Whether it is the operator of this machine, who may also act for other tenants. */
static inline bool ar_principal_is_operator(const struct ar_principal *who)
{
	return !who || (ar_str_absent(who->token) && ar_str_is(who->tenant, AR_TENANT_LOCAL) &&
			(who->rights & AR_RIGHT_ADMIN));
}

/* What is admitted; each kind has a limit of how many there may be at once. */
enum ar_auth_slot {
	AR_AUTH_COMMAND,
	AR_AUTH_STREAM, /* a subscription, for as long as it is open */
};

/* The protocol that a call came by. */
enum ar_call_protocol {
	AR_PROTOCOL_NOT_KNOWN, /* a node that does not say so passed it on */
	AR_PROTOCOL_HTTP,
	AR_PROTOCOL_WEBSOCKET,
	AR_PROTOCOL_STDIO,
	AR_PROTOCOL_INSIDE, /* from a part of this process: the A2A server, or the program that embeds it */
	AR_PROTOCOL_COUNT,
};

/* Where a call came from, as far as that is known. Text is borrowed, like a principal's. */
struct ar_call_origin {
	struct ar_str address; /* of the other end, over TCP; absent: none, or not known */
	struct ar_str request_id; /* that the client gave; absent: it gave none */
	struct ar_str trace_parent; /* W3C traceparent that the client gave; absent: none, or no valid one */
	const char *via; /* tcp, unix, stdio; NULL: not known */
	enum ar_call_protocol protocol;
	bool has_uid;
	unsigned uid; /* with has_uid: the kernel's word */
};

/* What becomes a fact of the tenant's home session: a call that was refused for its credentials or for lack
 * of a right, an administrative act, or the policy of the host. Text is borrowed during the call. */
struct ar_audit {
	struct ar_str tenant, actor, token; /* whose; "local" and absent where nobody is known */
	struct ar_str command; /* what was asked for; absent where it was not looked at */
	uint16_t code; /* of the refusal; 0: an administrative act that was done */
	struct ar_str target; /* what was acted on, such as a token's id; absent: nothing */
	struct ar_str message;
	uint64_t count; /* how many alike this stands for */
	struct ar_call_origin from; /* the newest of them */
	struct ar_str policy; /* of the host, as JSON: the runtime began to work with it; absent otherwise */
};

/* What a caller shows to prove who it is. */
struct ar_credentials {
	struct ar_str bearer; /* absent: none */
	struct ar_str certificate; /* subject of a client certificate that was verified; absent: none */
	bool is_loopback; /* TCP from this machine */
	bool is_unix;
	bool is_in_group; /* with is_unix: that user is of the server's own group */
	unsigned uid; /* with is_loopback or is_unix: the kernel's word; (unsigned)-1: it does not say */
	struct ar_call_origin from; /* for the record, never for a decision */
};

/* One authentication. The caller owns it (zeroed), fills the first part, and keeps it until done(). */
struct ar_auth_request {
	struct ar_credentials credentials;
	struct ar_arena *arena; /* the caller's; text of the result lives in it */
	void (*done)(struct ar_auth_request *r);

	/* Result; AR_E_REFUSED with code auth_failed, not_authorized or storage_unavailable */
	enum ar_status status;
	struct ar_error err;
	struct ar_principal who; /* result; lives as long as the arena */

	void *work; /* the adapter's */
};

struct ar_auth;

struct ar_auth_vtable {
	/* Exactly one done(), which may come before this returns. */
	void (*authenticate)(struct ar_auth *a, struct ar_auth_request *r);

	/* A command or a stream begins: AR_OK, or AR_E_REFUSED with code rate_limited and the time to
	 * wait. After AR_OK release() follows, once, with the same. */
	enum ar_status (*acquire)(struct ar_auth *a, const struct ar_principal *who, enum ar_auth_slot slot,
				  uint32_t *ret_retry_ms, struct ar_error *err);
	void (*release)(struct ar_auth *a, const struct ar_principal *who, enum ar_auth_slot slot);

	/* Whether the credentials are still good: not expired, not revoked. Cheap; for streams, which
	 * are checked again and again. */
	bool (*is_valid)(struct ar_auth *a, const struct ar_principal *who);

	/* Something was refused that only its refuser knows of (a right is missing): it becomes a fact,
	 * together with others alike. */
	void (*refused)(struct ar_auth *a, const struct ar_audit *audit);
};

struct ar_auth {
	const struct ar_auth_vtable *v;
};

#endif
