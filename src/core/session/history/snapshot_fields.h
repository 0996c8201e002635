/* Rows of the tables by which snapshot.c writes and reads the state: one macro for each kind of member. */
#ifndef AR_SESSION_SNAPSHOT_FIELDS_H
#define AR_SESSION_SNAPSHOT_FIELDS_H

#include "catalog.h"

#include <stddef.h>
#include <stdint.h>

/* Where the member is, which must have this type. */
#define AT_TYPE(T, m, type) \
	(offsetof(struct T, m) + 0 * sizeof(char[_Generic(((struct T *)NULL)->m, type : 1, default : -1)]))
#define MEMBER(T, m, k, type, shape) \
	{ \
		.name = #m, .kind = AR_F_##k, .max = UINT32_MAX, .offset = AT_TYPE(T, m, type), .of = shape \
	}
#define STR(T, m) MEMBER(T, m, STRING, struct ar_str, NULL)
#define RAW(T, m) MEMBER(T, m, JSON, struct ar_str, NULL)
#define TEXTS(T, m) MEMBER(T, m, TEXTS, struct ar_texts, NULL)
/* Stored as the JSON of its shape. */
#define OBJECT(T, m, shape) MEMBER(T, m, OBJECT, const struct ar_shape_##shape *, &ar_shape_##shape##_desc)
#define ITEMS(T, m, shape) MEMBER(T, m, ARRAY, struct ar_shape_##shape##_list, &ar_shape_##shape##_desc)
#define INT(T, m) \
	{ \
		.name = #m, .kind = AR_F_INT, .required = true, .offset = offsetof(struct T, m) \
	}
/* Absent in what an older version stored: a struct with a flag. A plain number in its place
 * would take its neighbour for the flag. */
#define OPT(T, m) MEMBER(T, m, INT, struct ar_opt_int, NULL)
#define OPT_NUM(T, m) MEMBER(T, m, NUM, struct ar_opt_num, NULL)
#define OPT_FLAG(T, m) MEMBER(T, m, BOOL, struct ar_opt_bool, NULL)
#define FLAG(T, m) \
	{ \
		.name = #m, .kind = AR_F_BOOL, .required = true, .offset = offsetof(struct T, m) \
	}
#define TIME(T, m) MEMBER(T, m, TIME, ar_usec, NULL)
/* Of one quota. */
#define MARK(T, quota) \
	OPT(T, budget.marks[quota].limit), OPT(T, budget.marks[quota].warned), \
		OPT(T, budget.marks[quota].blocked)

#endif
