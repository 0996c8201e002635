/* The toolbox with made-up sources: order of the list, who wins a name, what is left out and said, changes,
 * and the JSON. */
#include "toolbox.h"
#include "unit.h"

struct fake {
	struct ar_tool_source source;
	int closed;
	bool changes_at_close;
};

static void fake_close(struct ar_tool_source *s)
{
	struct fake *f = AR_CONTAINER_OF(s, struct fake, source);

	f->closed++;
	if (f->changes_at_close && s->on_changed)
		s->on_changed(s->arg);
}

static const struct ar_tool_source_vtable fake_vtable = { .close = fake_close };

static struct fake fake(const char *name, const struct ar_tool *tools, size_t count)
{
	return (struct fake){ .source = { .v = &fake_vtable,
					  .name = name,
					  .tools = tools,
					  .tool_count = count,
					  .is_ready = true } };
}

static const struct ar_tool first_tools[] = {
	{ .name = { "read_file", 9 }, .owner = AR_TOOL_LOCAL },
	{ .name = { "list", 4 }, .owner = AR_TOOL_LOCAL },
};
static const struct ar_tool second_tools[] = {
	{ .name = { "list_more", 9 }, .owner = AR_TOOL_MCP },
	{ .name = { "list", 4 }, .owner = AR_TOOL_MCP },
	{ .name = { "a-b", 3 }, .owner = AR_TOOL_MCP },
};

static void count_change(void *arg)
{
	++*(int *)arg;
}

static void assert_names(const struct ar_inventory *inv, const char *const *names, size_t count)
{
	assert_int_equal(inv->count, count);
	for (size_t i = 0; i < count; i++)
		assert_str(inv->tools[i]->name, names[i]);
}

static void test_empty(void **state)
{
	(void)state;
	struct ar_toolbox *b = ar_toolbox_new();
	const struct ar_inventory *inv = ar_toolbox_inventory(b);

	assert_int_equal(inv->count, 0);
	assert_true(inv->is_ready);
	assert_int_equal(inv->version, 1);
	assert_null(ar_inventory_find(inv, AR_STR("x")));
	assert_null(ar_toolbox_trouble(b));
	assert_null(ar_toolbox_source_of(b, &first_tools[0]));
	ar_toolbox_close(b);
	ar_toolbox_close(NULL);
}

static void test_sorted_and_first_source_wins(void **state)
{
	(void)state;
	struct fake one = fake("one", first_tools, 2), two = fake("two", second_tools, 3);
	struct ar_toolbox *b = ar_toolbox_new();

	ar_toolbox_add(b, &one.source);
	ar_toolbox_add(b, &two.source);
	const struct ar_inventory *inv = ar_toolbox_inventory(b);

	assert_names(inv, (const char *const[]){ "a-b", "list", "list_more", "read_file" }, 4);
	assert_ptr_equal(ar_inventory_find(inv, AR_STR("list")), &first_tools[1]);
	assert_ptr_equal(ar_toolbox_source_of(b, inv->tools[1]), &one.source);
	assert_ptr_equal(ar_toolbox_source_of(b, inv->tools[2]), &two.source);
	assert_null(ar_inventory_find(inv, AR_STR("lis")));
	assert_null(ar_inventory_find(inv, AR_STR("zz")));
	assert_string_equal(ar_toolbox_trouble(b),
			    "two: left out, an earlier source has a tool of this name: 'list'");
	ar_toolbox_close(b);
	assert_int_equal(one.closed, 1);
	assert_int_equal(two.closed, 1);
}

static void test_change(void **state)
{
	(void)state;
	struct fake one = fake("one", first_tools, 1);
	struct ar_toolbox *b = ar_toolbox_new();
	int changes = 0;

	one.source.is_ready = false;
	one.source.trouble = "not there yet";
	ar_toolbox_on_change(b, count_change, &changes);
	ar_toolbox_add(b, &one.source);
	assert_int_equal(changes, 1);
	const struct ar_inventory *inv = ar_toolbox_inventory(b);
	uint64_t version = inv->version;

	assert_false(inv->is_ready);
	assert_int_equal(inv->count, 1);
	assert_int_equal(ar_toolbox_inventory(b)->version, version);
	assert_string_equal(ar_toolbox_trouble(b), "one: not there yet");

	one.source.is_ready = true;
	one.source.trouble = NULL;
	one.source.tool_count = 2;
	one.source.on_changed(one.source.arg);
	assert_int_equal(changes, 2);
	inv = ar_toolbox_inventory(b);
	assert_true(inv->is_ready);
	assert_int_equal(inv->count, 2);
	assert_true(inv->version > version);
	assert_null(ar_toolbox_trouble(b));

	one.changes_at_close = true;
	ar_toolbox_close(b);
	assert_int_equal(changes, 2);
}

static void test_names_no_model_can_call(void **state)
{
	(void)state;
	static const char long_name[] = "a2345678901234567890123456789012345678901234567890123456789012345";
	const struct ar_tool tools[] = {
		{ .name = AR_STR("") },	       { .name = AR_STR("a.b") },     { .name = AR_STR("ok") },
		{ .name = { long_name, 65 } }, { .name = { long_name, 64 } },
	};
	struct fake one = fake("one", tools, AR_ARRAY_LEN(tools));
	struct ar_toolbox *b = ar_toolbox_new();

	ar_toolbox_add(b, &one.source);
	assert_int_equal(ar_toolbox_inventory(b)->count, 2);
	assert_non_null(strstr(ar_toolbox_trouble(b), "cannot call this name: 'a.b'\none: left out"));
	ar_toolbox_close(b);
}

static void test_those_with_a_key_have_more(void **state)
{
	(void)state;
	static const char *const all[] = { "list", "read_file" };
	static const char *const more[] = { "a-b", "list", "list_more", "read_file" };
	struct fake global = fake("global", first_tools, AR_ARRAY_LEN(first_tools));
	struct fake own = fake("own", second_tools, AR_ARRAY_LEN(second_tools));
	struct fake other = fake("other", second_tools, AR_ARRAY_LEN(second_tools));
	struct ar_toolbox *b = ar_toolbox_new();
	const struct ar_inventory *inv;

	ar_toolbox_add_for(b, AR_STR("here"), &own.source);
	ar_toolbox_add(b, &global.source); /* later, and it wins the name all the same */
	other.source.is_ready = false;
	ar_toolbox_add_for(b, AR_STR("there"), &other.source);
	assert_names(ar_toolbox_inventory(b), all, AR_ARRAY_LEN(all));
	assert_true(ar_toolbox_inventory(b)->is_ready);
	assert_null(ar_toolbox_trouble(b));
	assert_names(ar_toolbox_inventory_for(b, AR_STR("elsewhere")), all, AR_ARRAY_LEN(all));
	assert_names(ar_toolbox_inventory_for(b, AR_STR_NONE), all, AR_ARRAY_LEN(all));
	inv = ar_toolbox_inventory_for(b, AR_STR("here"));
	assert_names(inv, more, AR_ARRAY_LEN(more));
	assert_true(inv->is_ready);
	assert_ptr_equal(ar_inventory_find(inv, AR_STR("list")), &first_tools[1]);
	assert_ptr_equal(ar_toolbox_source_of(b, ar_inventory_find(inv, AR_STR("list"))), &global.source);
	assert_false(ar_toolbox_inventory_for(b, AR_STR("there"))->is_ready);

	ar_toolbox_remove(b, &own.source);
	assert_int_equal(own.closed, 1);
	assert_names(ar_toolbox_inventory_for(b, AR_STR("here")), all, AR_ARRAY_LEN(all));
	ar_toolbox_close(b);
	assert_int_equal(own.closed + global.closed + other.closed, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_sorted_and_first_source_wins),
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_names_no_model_can_call),
		cmocka_unit_test(test_those_with_a_key_have_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
