/* Intrusive doubly linked list; a node is in at most one list. The head is a node of its own. */
#ifndef AR_BASE_LIST_H
#define AR_BASE_LIST_H

#include "compiler.h"

#include <stdbool.h>

struct ar_list {
	struct ar_list *next, *prev;
};

static inline void ar_list_init(struct ar_list *head)
{
	head->next = head->prev = head;
}

static inline bool ar_list_empty(const struct ar_list *head)
{
	return head->next == head;
}

static inline void ar_list_push(struct ar_list *head, struct ar_list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void ar_list_del(struct ar_list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	node->next = node->prev = node;
}

static inline struct ar_list *ar_list_pop(struct ar_list *head)
{
	struct ar_list *node = head->next;

	if (node == head)
		return NULL;
	ar_list_del(node);
	return node;
}

/* Moves all nodes of `from` behind those of `to`; `from` is empty afterwards. */
static inline void ar_list_splice(struct ar_list *to, struct ar_list *from)
{
	if (ar_list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	ar_list_init(from);
}

#define AR_LIST_FOR(it, head) for (struct ar_list *it = (head)->next; it != (head); it = it->next)
#define AR_LIST_FOR_SAFE(it, head) \
	for (struct ar_list *it = (head)->next, *it##_next = it->next; it != (head); \
	     it = it##_next, it##_next = it->next)

#endif
