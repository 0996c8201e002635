# What makes a memory fault in our programs harder to use, for every target of a build that is neither sanitized nor fuzzed. A compiler that does not
# know a flag builds without it; tools/check-hardening reads the finished programs and says what is missing.
include(CheckCCompilerFlag)
if(NOT AR_SANITIZE AND NOT AR_FUZZ)
	set(CMAKE_REQUIRED_FLAGS -Werror) # clang only warns of a flag that is for another processor
	foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection=full -mbranch-protection=standard -ftrivial-auto-var-init=zero)
		string(MAKE_C_IDENTIFIER AR_HAS${flag} known)
		check_c_compiler_flag(${flag} ${known})
		if(${known})
			add_compile_options(${flag})
		endif()
	endforeach()
	unset(CMAKE_REQUIRED_FLAGS)
	# Without optimisation _FORTIFY_SOURCE is only a warning.
	add_compile_options($<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=3>)
	# What is in a library is compiled with -fPIC, which does for programs too.
	add_compile_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-fPIE>)
	add_link_options(-Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,-z,separate-code)
	# Addresses in tables take 3 bits of the file each instead of 24 bytes, which every start would read.
	add_link_options(-Wl,-z,pack-relative-relocs)
endif()
