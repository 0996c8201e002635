# libagentruntime: the module `lib` with everything under it, as a shared and as a static library. Both show what agentruntime.map lists and nothing
# else: in the static one, hidden symbols are made local to its one object.
set(AR_SOVERSION 0)
set(AR_SYMBOLS ${CMAKE_SOURCE_DIR}/cmake/agentruntime.map)

add_library(agentruntime SHARED)
ar_link(agentruntime lib)
set_target_properties(agentruntime PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${AR_SOVERSION}
	LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib LINK_DEPENDS ${AR_SYMBOLS})
target_link_options(agentruntime PRIVATE -Wl,--version-script=${AR_SYMBOLS})
if(NOT AR_SANITIZE AND NOT AR_FUZZ)
	target_link_options(agentruntime PRIVATE -Wl,--no-undefined -Wl,-Map=${AR_MAPS}/libagentruntime.so.${PROJECT_VERSION}.map)
endif()

add_library(agentruntime_objects STATIC EXCLUDE_FROM_ALL)
ar_link(agentruntime_objects lib)
set_target_properties(agentruntime_objects PROPERTIES LINKER_LANGUAGE CXX)
set(AR_STATIC ${CMAKE_BINARY_DIR}/lib/libagentruntime.a)
set(whole ${CMAKE_BINARY_DIR}/lib/agentruntime.o)
add_custom_command(OUTPUT ${AR_STATIC}
	COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/lib
	COMMAND ${CMAKE_COMMAND} -E rm -f ${AR_STATIC}
	COMMAND ${CMAKE_LINKER} -r -o ${whole} --whole-archive $<TARGET_FILE:agentruntime_objects> $<TARGET_FILE:llhttp>
	COMMAND ${CMAKE_OBJCOPY} --localize-hidden --strip-debug ${whole}
	COMMAND ${CMAKE_AR} rcsD ${AR_STATIC} ${whole}
	COMMAND ${CMAKE_COMMAND} -E rm -f ${whole}
	DEPENDS agentruntime_objects llhttp VERBATIM)
if(AR_SANITIZE OR AR_FUZZ)
	set_target_properties(agentruntime PROPERTIES EXCLUDE_FROM_ALL ON) # nobody installs these
	add_custom_target(agentruntime_static DEPENDS ${AR_STATIC})
else()
	add_custom_target(agentruntime_static ALL DEPENDS ${AR_STATIC})
endif()
