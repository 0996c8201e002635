/* The tools as the model sees them: names, words, schemas, what they touch. Tables only. */
#include "exec_priv.h"

/* Members of a schema. */
#define MEMBER(name, type, more, words) \
	"\"" name "\":{\"type\":\"" type "\"," more "\"description\":\"" words "\"}"
#define TEXT(name, max, words) MEMBER(name, "string", "\"minLength\":1,\"maxLength\":" max ",", words)
#define NUMBER(name, least, most, words) \
	MEMBER(name, "integer", "\"minimum\":" least ",\"maximum\":" most ",", words)
#define FLAG(name, words) MEMBER(name, "boolean", "", words)
#define ONE_OF(name, list, words) MEMBER(name, "string", "\"enum\":[" list "],", words)
#define OBJECT(members, required) \
	AR_STR("{\"type\":\"object\",\"properties\":{" members "},\"required\":[" required "]," \
	       "\"additionalProperties\":false}")

#define COMMAND TEXT("command", "65536", "Text for bash.")
#define CWD TEXT("cwd", "4096", "Folder to run in, from the workspace; without it the workspace itself.")
#define PROCESS TEXT("processId", "128", "Id that shell or terminal_open gave.")
#define SANDBOX \
	ONE_OF("sandbox", \
	       "\"read_only\",\"workspace_write\",\"no_network\",\"allowlisted_network\",\"danger_full_" \
	       "access\"", \
	       "Another boundary than the turn's. More than that is put to a person: say why in " \
	       "justification.") \
	"," TEXT("justification", "1024", "One sentence for the person who decides.")

#define CONFINED \
	.owner = AR_TOOL_LOCAL, .capabilities = AR_TOOL_SHELL | AR_TOOL_WRITE | AR_TOOL_FILESYSTEM, \
	.is_confined = true, .works_in_folder = true

static const struct ar_tool tools[AR_EXEC_KIND_COUNT] = {
	[AR_EXEC_SHELL] = { .name = AR_STR("shell"),
			    .title = AR_STR("Run a command"),
			    .description = AR_STR("Runs one command in the workspace, inside "
						  "a sandbox, and gives its exit code "
						  "and output. `command` is a text for bash; "
						  "prefer `argv`, a list of words, when "
						  "no shell is needed. With background=true "
						  "it lives on: read it with "
						  "process_read, stop it with process_stop. "
						  "There is no terminal, and no input "
						  "unless `input` gives it."),
			    .schema = OBJECT(
				    COMMAND "," MEMBER(
					    "argv", "array",
					    "\"minItems\":1,\"maxItems\":1024,"
					    "\"items\":{\"type\":\"string\"},",
					    "Program and its words, without a "
					    "shell.") "," CWD
						      "," NUMBER(
							      "timeoutMs", "1", "2592000000",
							      "Longest time in milliseconds; then it is "
							      "stopped.") "," TEXT("input", "1048576",
										   "What it reads from "
										   "its standard "
										   "input.") "," FLAG("backgr"
												      "ound",
												      "Whethe"
												      "r it "
												      "lives "
												      "on "
												      "while "
												      "the "
												      "turn "
												      "goes "
												      "on.") "," SANDBOX,
				    ""),
			    .runs_process = true,
			    CONFINED },
	[AR_EXEC_TERMINAL] = { .name = AR_STR("terminal_open"),
			       .title = AR_STR("Open a terminal"),
			       .description = AR_STR("Starts a command, or bash, in a terminal that "
						     "lives on, inside a sandbox. Gives "
						     "its processId and first output; go on with "
						     "process_write, process_read and "
						     "process_stop."),
			       .schema = OBJECT(COMMAND
						"," CWD
						"," NUMBER("rows", "1", "1000",
							   "Height of the terminal; 24 if not "
							   "given.") "," NUMBER("columns", "1", "1000",
										"Width of the "
										"terminal; 80 if "
										"not given.") "," SANDBOX,
						""),
			       .runs_process = true,
			       CONFINED },
	[AR_EXEC_WRITE] = { .name = AR_STR("process_write"),
			    .title = AR_STR("Write to a process"),
			    .description = AR_STR("Writes to the input of a process that "
						  "lives on, as typed: a line ends with a "
						  "newline."),
			    .schema = OBJECT(PROCESS "," TEXT("input", "15360", "What is typed.") "," FLAG(
						     "eof", "Closes its input after that."),
					     "\"processId\""),
			    CONFINED },
	[AR_EXEC_READ] = { .name = AR_STR("process_read"),
			   .title = AR_STR("Read from a process"),
			   .description = AR_STR("Gives what a process wrote, and whether it still runs."),
			   .schema = OBJECT(PROCESS "," NUMBER("offset", "0", "9007199254740991",
							       "From this byte of its output "
							       "on.") "," NUMBER("waitMs", "0", "30000",
										 "How long to "
										 "wait for "
										 "something "
										 "to come."),
					    "\"processId\""),
			   .owner = AR_TOOL_LOCAL,
			   .capabilities = AR_TOOL_READ,
			   .works_in_folder = true,
			   .is_read_only = true,
			   .is_concurrency_safe = true,
			   .is_idempotent = true },
	[AR_EXEC_STOP] = { .name = AR_STR("process_stop"),
			   .title = AR_STR("Stop a process"),
			   .description = AR_STR("Ends a process that lives on, with all that it started."),
			   .schema = OBJECT(PROCESS "," ONE_OF("signal",
							       "\"SIGINT\",\"SIGTERM\",\"SIGHUP\","
							       "\"SIGQUIT\",\"SIGKILL\"",
							       "Sent first; without it SIGTERM."),
					    "\"processId\""),
			   .owner = AR_TOOL_LOCAL,
			   .capabilities = AR_TOOL_WRITE,
			   .works_in_folder = true,
			   .is_confined = true,
			   .is_idempotent = true },
};

const struct ar_tool *ar_exec_tool(enum ar_exec_kind kind)
{
	return &tools[kind];
}
