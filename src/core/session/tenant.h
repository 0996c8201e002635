/* Tenants and the ids of their sessions. Every id of ours names its session, so an id that a
 * caller chooses could tell whether another tenant has it. It cannot: ids that different tenants
 * may choose are different by their form alone.
 *
 * Sessions of named tenants have version 8 where a UUID has its version (a "g" or "h" as the
 * eleventh character); those that a caller names also end in the tenant's mark. Those of
 * AR_TENANT_LOCAL have any other version. What has a key of the first millisecond of 1970 is the
 * runtime's own, made by it alone: with version 7 the home of a tenant, with version 9 the log of a
 * workspace, with version 10 the log of a worker, with version 11 the log of a schedule. Pure. */
#ifndef AR_SESSION_TENANT_H
#define AR_SESSION_TENANT_H

#include "auth.h"
#include "id.h"

#define AR_TENANT_MARK 8 /* characters at the end of an id */

bool ar_tenant_is_local(struct ar_str tenant);

/* What facts say of a tenant: nothing of AR_TENANT_LOCAL. */
struct ar_str ar_tenant_told(struct ar_str tenant);

/* The 26 characters of a new session of that tenant. */
void ar_tenant_mint(struct ar_str tenant, char out[AR_SESSION_KEY_LEN]);

/* All homes are below this key, and whatever else is there is none (ar_tenant_is_a_home). */
extern const char ar_tenant_homes_below[AR_SESSION_KEY_LEN + 1];

/* Whether the tenant may make a session with those 26 characters, which a caller chose. */
bool ar_tenant_may_name(struct ar_str tenant, struct ar_str session_key);

/* The home of a tenant; its last AR_TENANT_MARK characters are the tenant's mark. */
void ar_tenant_home(struct ar_str tenant, char out[AR_SESSION_KEY_LEN]);
bool ar_tenant_is_home(struct ar_str tenant, struct ar_str session_key); /* that tenant's */

bool ar_tenant_is_a_home(struct ar_str session_key); /* whosever */

/* The greatest id that a home or a reserved key can have: sessions above it are the others. */
extern const char ar_tenant_homes_end[AR_SESSION_KEY_LEN + 1];

/* The log of something that is not a session: nobody but its own commands writes to it. */
bool ar_key_is_reserved(struct ar_str session_key);

/* The key of the workspace that is this folder: the same folder of the same tenant is the same
 * workspace. Never absent, never of another tenant. */
void ar_workspace_key(struct ar_str tenant, struct ar_str root, char out[AR_SESSION_KEY_LEN]);

/* The key of a workspace without a folder of its own: of the one that was asked for with this idempotency
 * key, or (absent) of a new one. */
void ar_workspace_mint(struct ar_str tenant, struct ar_str idempotency_key, char out[AR_SESSION_KEY_LEN]);

/* The key in the id of a workspace, ws_ and 26 characters; absent: it is not the id of one. */
struct ar_str ar_workspace_key_in(struct ar_str id);

/* Between these two, exclusive, are the keys of all workspaces. */
extern const char ar_workspaces_below[AR_SESSION_KEY_LEN + 1], ar_workspaces_above[AR_SESSION_KEY_LEN + 1];

/* The same of workers: wk_ and 26 characters. */
void ar_worker_mint(struct ar_str tenant, struct ar_str idempotency_key, char out[AR_SESSION_KEY_LEN]);
struct ar_str ar_worker_key_in(struct ar_str id);

/* Whether it can be the name of a pool of workers: no id of a worker is one. */
bool ar_pool_is_name(struct ar_str name);
bool ar_key_is_worker(struct ar_str session_key);
extern const char ar_workers_below[AR_SESSION_KEY_LEN + 1], ar_workers_above[AR_SESSION_KEY_LEN + 1];

/* The same of schedules: sched_ and 26 characters. */
void ar_schedule_mint(struct ar_str tenant, struct ar_str idempotency_key, char out[AR_SESSION_KEY_LEN]);
struct ar_str ar_schedule_key_in(struct ar_str id);
bool ar_key_is_schedule(struct ar_str session_key);
extern const char ar_schedules_below[AR_SESSION_KEY_LEN + 1], ar_schedules_above[AR_SESSION_KEY_LEN + 1];

/* The key of a session that the tenant may name, made from a time and a text: the same for the same. */
void ar_tenant_derive(struct ar_str tenant, ar_usec at, struct ar_str text, char out[AR_SESSION_KEY_LEN]);

#endif
