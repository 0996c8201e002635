/* References to secrets: a setting that says where its value is instead of what it is.
 *
 * api_key: { file: /etc/agentd/key } headers: [{ prefix: "Authorization: Bearer ", command:
 * [/usr/bin/pass, show, api] }]
 *
 * Any setting that the catalogue marks secret takes one. Reading the settings finds the references;
 * resolve.h gets their values, renewal.h keeps them new. */
#ifndef AR_HOST_SECRET_REFERENCE_H
#define AR_HOST_SECRET_REFERENCE_H

#include "config.h"
#include "secret_get.h"
#include "settings/problem.h"
#include "settings/yaml.h"

#define AR_SECRET_REFS_MAX 256

struct ar_secret_ref {
	struct ar_secret_ref *next;
	const struct ar_config_key *key;
	const char *path; /* "models[0].api_key" */
	struct ar_origin origin;
	struct ar_secret_source source;
	const char *prefix; /* stands before the value; "" = nothing */
	int64_t cache_s; /* how long a value is used before it is asked for again; 0: until SIGHUP */
	struct ar_str form; /* as it is shown: JSON without any value */
	const char **at; /* where the text is used: in the settings as they were read */
	bool is_there; /* the value is */
	/* Of the renewal; owner: loop thread */
	uint64_t due_ms; /* on the loop's clock; 0: never */
	uint64_t logged_ms; /* when a failure was last logged; 0: it does not fail */
	char *text; /* prefix and value, when they are renewed ones; ours */
	char *trouble; /* why the last renewal failed; NULL: it did not */
};

/* A value that has to be masked for as long as the process lives. */
struct ar_secret_known {
	struct ar_secret_known *next;
	const char *value;
};

struct ar_secret_refs {
	struct ar_secret_ref *first, **end; /* in the order of the file */
	size_t count;
	struct ar_secret_known *known; /* of the start, in the arena */
	char **renewed; /* every one that was got since, oldest first; ours */
	size_t renewed_count;
};

/* The setting that a reference stands for. */
struct ar_secret_place {
	const struct ar_config_key *key;
	const char *path;
	struct ar_origin origin;
	const char **at;
	struct ar_problems *problems;
	struct ar_secret_refs *refs;
};

/* Reads a mapping; what is wrong with it becomes a problem. The place gets a stand-in
 * until the value is there. */
void ar_secret_reference_read(const struct ar_secret_place *p, const struct ar_yaml *node);

/* The short form "env:NAME" at the end of a text. False with a problem when there is no such variable. */
AR_MUST_USE bool ar_secret_reference_variable(const struct ar_secret_place *p, struct ar_str prefix,
					      const char *name);

/* The reference whose value is used there; NULL: none. */
struct ar_secret_ref *ar_secret_reference_at(const struct ar_secret_refs *refs, const void *at);

/* What is written there is not what counts: the environment has the setting too. */
void ar_secret_reference_drop(struct ar_secret_refs *refs, const void *at);

#endif
