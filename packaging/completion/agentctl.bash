# Completion of agentctl and agentd for bash: agentctl knows its own words, agentd's are those of its help.
_agentctl()
{
	local word

	COMPREPLY=()
	while IFS=$'\t' read -r word _; do
		COMPREPLY+=("$word")
	done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _agentctl agentctl

_agentd()
{
	local words

	[[ ${COMP_WORDS[COMP_CWORD - 1]} == --* ]] && return
	words=$("${COMP_WORDS[0]}" --help 2>/dev/null | grep -oE '^  --[a-z-]+|^ +agentd [a-z]+' | sed 's/.* //')
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _agentd agentd
