/* Attributes and small macros that every file may use. Nothing here allocates or branches. */
#ifndef AR_BASE_COMPILER_H
#define AR_BASE_COMPILER_H

#include <stddef.h>

#ifdef __cplusplus
#define AR_BEGIN_DECLS extern "C" {
#define AR_END_DECLS }
#else
#define AR_BEGIN_DECLS
#define AR_END_DECLS
#endif

#define AR_MUST_USE __attribute__((warn_unused_result))
#define AR_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define AR_NORETURN __attribute__((noreturn))
#define AR_UNUSED __attribute__((unused))

/* Runs fn(&variable) when the variable leaves its scope. */
#define AR_AUTO(fn) __attribute__((cleanup(fn)))

#define AR_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define AR_CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
