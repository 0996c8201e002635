/* Landlock as the kernel has it, to ABI 9. The system's own header may be years older than the kernel; these
 * are facts of its interface. */
#ifndef AR_LAUNCH_LANDLOCK_UAPI_H
#define AR_LAUNCH_LANDLOCK_UAPI_H

#include <stdint.h>
#include <sys/syscall.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

#define LL_CREATE_VERSION 1u
#define LL_RULE_PATH_BENEATH 1

/* Since ABI 7: denials after the next execve are audited, denials before it are
 * not. */
#define LL_LOG_SAME_EXEC_OFF 1u
#define LL_LOG_NEW_EXEC_ON 2u

#define LL_FS_EXECUTE (1ull << 0)
#define LL_FS_WRITE_FILE (1ull << 1)
#define LL_FS_READ_FILE (1ull << 2)
#define LL_FS_READ_DIR (1ull << 3)
#define LL_FS_REMOVE_DIR (1ull << 4)
#define LL_FS_REMOVE_FILE (1ull << 5)
#define LL_FS_MAKE_CHAR (1ull << 6)
#define LL_FS_MAKE_DIR (1ull << 7)
#define LL_FS_MAKE_REG (1ull << 8)
#define LL_FS_MAKE_SOCK (1ull << 9)
#define LL_FS_MAKE_FIFO (1ull << 10)
#define LL_FS_MAKE_BLOCK (1ull << 11)
#define LL_FS_MAKE_SYM (1ull << 12)
#define LL_FS_REFER (1ull << 13) /* ABI 2 */
#define LL_FS_TRUNCATE (1ull << 14) /* ABI 3 */
#define LL_FS_IOCTL_DEV (1ull << 15) /* ABI 5 */
#define LL_FS_RESOLVE_UNIX (1ull << 16) /* ABI 9 */

/* ABI 6 */
#define LL_SCOPE_ABSTRACT_UNIX (1ull << 0)
#define LL_SCOPE_SIGNAL (1ull << 1)

struct ll_ruleset {
	uint64_t handled_fs;
	uint64_t handled_net; /* ABI 4 */
	uint64_t scoped; /* ABI 6 */
};

struct ll_path_beneath {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

#endif
