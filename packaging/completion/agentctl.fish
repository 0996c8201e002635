# Completion of agentctl for fish: agentctl knows its own words.
complete -c agentctl -a '(agentctl __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
