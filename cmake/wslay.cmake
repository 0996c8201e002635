# WebSocket frames: package libwslay-dev, which has no pkg-config file.
find_library(WSLAY_LIBRARY wslay REQUIRED)
find_path(WSLAY_INCLUDE_DIR wslay/wslay.h REQUIRED)
add_library(wslay UNKNOWN IMPORTED)
set_target_properties(wslay PROPERTIES IMPORTED_LOCATION ${WSLAY_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${WSLAY_INCLUDE_DIR})
