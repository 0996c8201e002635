/* Skills and agent definitions that a session has: those of the settings that are for it, then those of its
 * trusted workspace, as its facts say. A name of the settings hides the same name of the workspace. What a
 * definition asks for (tools, model, mode) are words of its author: they are checked where they are used, and
 * grant nothing. Pure. */
#ifndef AR_SESSION_DEFINITION_DEFINITION_H
#define AR_SESSION_DEFINITION_DEFINITION_H

#include "session.h"

#define AR_READ_SKILL "read_skill" /* the tool by which the model gets the text of a skill */

struct ar_skill {
	struct ar_str name, description;
	struct ar_str ref; /* of its text among the session's contents; absent: `text` has it */
	struct ar_str text; /* of one of the settings */
	int64_t bytes; /* of its text */
};

struct ar_agent_definition {
	struct ar_str name, description;
	struct ar_texts tools; /* names that it asks for; no `at`: it names none */
	struct ar_str model, mode; /* that it asks for; each may be absent */
	struct ar_str isolation; /* "worktree": its children have a folder of their own; may be absent */
	struct ar_str ref; /* of its instructions among the session's contents; absent: `text` has them */
	struct ar_str text; /* of one of the settings */
	int64_t bytes; /* of its instructions */
};

/* Their number; the list is in the arena and borrows texts of the session and the policy. */
size_t ar_session_skills(const struct ar_session *s, const struct ar_policy *policy, struct ar_arena *a,
			 const struct ar_skill **ret);
size_t ar_session_agents(const struct ar_session *s, const struct ar_policy *policy, struct ar_arena *a,
			 const struct ar_agent_definition **ret);

/* The one of that name; false: there is none. */
bool ar_session_skill(const struct ar_session *s, const struct ar_policy *policy, struct ar_str name,
		      struct ar_skill *ret);
bool ar_session_agent(const struct ar_session *s, const struct ar_policy *policy, struct ar_str name,
		      struct ar_agent_definition *ret);

/* The tool AR_READ_SKILL; NULL: the session has no skills. The engine runs it itself. */
const struct ar_tool *ar_session_skill_tool(const struct ar_session *s, const struct ar_policy *policy);

/* Names and descriptions of the skills, as the model reads them; absent: there are none. *ret_left_out: how
 * many did not fit. */
struct ar_str ar_skills_text(const struct ar_session *s, const struct ar_policy *policy, struct ar_arena *a,
			     int64_t *ret_left_out);

#endif
