/* `agentd stdio`: its words. See command.h. */
#include "command.h"
#include "log.h"

const char ar_agentd_stdio_help[] =
	"usage: agentd stdio [--config FILE] [--data-dir DIR] [--listen ADDR:PORT] [--socket PATH]\n"
	"\n"
	"The whole runtime for one peer, such as an editor or an SDK that starts it: JSON-RPC 2.0 on stdin "
	"and stdout, one\n"
	"message per line, logs on stderr. Nothing listens unless --listen, --socket or the settings say so. "
	"The end of the\n"
	"input ends it like SIGTERM: calls under way are answered, and a turn that is open goes on at the "
	"next start.\n"
	"\n"
	"Methods are the commands (docs/reference/commands.md), params their input. subscribe_events answers "
	"a\n"
	"subscriptionId; its events follow as `event` notifications, each with the cursor to go on after. "
	"docs/rpc.md has\n"
	"the rest.\n"
	"\n"
	"example:\n"
	"  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"list_sessions\"}' | agentd stdio\n";

int ar_agentd_stdio_fenced(void)
{
	ar_log_line("error", "fenced",
		    "another node has taken over; start again and subscribe after the last cursors");
	return 1;
}
