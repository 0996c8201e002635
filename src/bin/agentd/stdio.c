/* `agentd stdio`: its help. See command.h. */
#include "command.h"
#include "log.h"

const char ar_agentd_stdio_help[] =
	"usage: agentd stdio [--config FILE] [--data-dir DIR] [--listen ADDR:PORT] [--socket PATH]\n"
	"\n"
	"Runs the whole runtime for one client, such as an editor or an SDK that starts it: JSON-RPC 2.0 on\n"
	"stdin and stdout, one message per line, logs on stderr. Nothing listens unless --listen, --socket "
	"or\n"
	"the settings enable it. The end of the input ends it like SIGTERM: open calls are answered, and an\n"
	"open turn continues at the next start.\n"
	"\n"
	"Methods are the commands (docs/reference/commands.md), params their input. subscribe_events "
	"returns\n"
	"a subscriptionId; its events follow as `event` notifications, each with a cursor to resume after.\n"
	"docs/rpc.md describes the protocol.\n"
	"\n"
	"example:\n"
	"  echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"list_sessions\"}' | agentd stdio\n";

int ar_agentd_stdio_fenced(const char *why)
{
	ar_log_line(&ar_agentd_log, "error", "fenced", why);
	return 1;
}
