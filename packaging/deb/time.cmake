# Read by CPack before it packs: the time of all files in the package. It is that of the last commit unless SOURCE_DATE_EPOCH says another, so the same
# programs make the same bytes.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
	execute_process(COMMAND git -C ${CPACK_AR_SOURCE} log -1 --format=%ct OUTPUT_VARIABLE last OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
	if(NOT last)
		string(TIMESTAMP last %s UTC)
	endif()
	set(ENV{SOURCE_DATE_EPOCH} ${last})
endif()
