# Debian 12 ships llhttp as C sources (package node-llhttp); compiled from there in strict mode. Debian 13 has a library.
find_path(LLHTTP_SOURCE_DIR llhttp.c PATHS /usr/share/llhttp REQUIRED NO_DEFAULT_PATH)
find_path(LLHTTP_INCLUDE_DIR llhttp.h PATHS /usr/share/include/llhttp REQUIRED NO_DEFAULT_PATH)
add_library(llhttp STATIC ${LLHTTP_SOURCE_DIR}/llhttp.c ${LLHTTP_SOURCE_DIR}/api.c ${LLHTTP_SOURCE_DIR}/http.c)
target_include_directories(llhttp SYSTEM PUBLIC ${LLHTTP_INCLUDE_DIR})
target_compile_definitions(llhttp PRIVATE LLHTTP_STRICT_MODE=1)
target_compile_options(llhttp PRIVATE -w)
ar_hide(llhttp)
