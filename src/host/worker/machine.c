/* See machine.h. */
#include "worker/machine.h"

#include "mem.h"
#include "sandbox_open.h"
#include "secrets.h"
#include "tool_files.h"
#include "workspace/checkpoint_open.h"

/* ---- folders ---- */

struct folder_wish {
	struct ar_folder_request request;
	struct ar_worker_folder *folder;
};

static void on_folder(struct ar_folder_request *r)
{
	struct folder_wish *wish = AR_CONTAINER_OF(r, struct folder_wish, request);
	struct ar_worker_folder *f = wish->folder;

	f->status = r->status;
	f->err = r->err;
	f->folder = r->folder;
	ar_free(wish);
	f->done(f);
}

/* It becomes the name of a folder: whatever the daemon says, it is a key and no path. */
static bool is_key(struct ar_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (!(s.p[i] >= '0' && s.p[i] <= '9') && !(s.p[i] >= 'a' && s.p[i] <= 'z'))
			return false;
	}
	return s.len == AR_SESSION_KEY_LEN;
}

/* What is there was checked when the worker started; others get no answer about it. */
static void find_offered(const struct ar_worker_machine *m, struct ar_worker_folder *f)
{
	for (size_t i = 0; i < m->root_names.count; i++) {
		if (ar_str_eq(m->root_names.at[i], f->root)) {
			f->folder = ar_arena_str(f->arena, m->root_paths.at[i]);
			f->done(f);
			return;
		}
	}
	f->status = ar_refuse(&f->err, AR_ERR_INVALID_INPUT, "the worker offers no folder of that name");
	f->done(f);
}

static void find_folder(void *arg, struct ar_worker_folder *f)
{
	struct ar_worker_machine *m = arg;
	struct folder_wish *wish;

	if (!ar_str_absent(f->root)) {
		find_offered(m, f);
		return;
	}
	if (!is_key(f->home) || !is_key(f->key)) {
		f->status = ar_refuse(&f->err, AR_ERR_INVALID_INPUT, "no workspace has such a key");
		f->done(f);
		return;
	}
	wish = ar_new0(sizeof(*wish));
	wish->folder = f;
	wish->request = (struct ar_folder_request){
		.home = f->home, .key = f->key, .arena = f->arena, .done = on_folder
	};
	ar_host_folders_find(&m->folders, &wish->request);
}

/* ---- life ---- */

enum ar_status ar_worker_machine_open(uv_loop_t *loop, const struct ar_config *c,
				      struct ar_worker_machine *ret, struct ar_error *err)
{
	struct ar_tool_files_options files = { .max_result_bytes = c->tools.max_result_bytes };

	ret->loop = loop;
	ret->processes.log = ret->log;
	if (ar_secrets_load(c, &ret->redactor, err) != AR_OK ||
	    ar_host_sandbox_open(c, &ret->sandbox, err) != AR_OK ||
	    ar_host_processes_open(loop, c, ret->sandbox, &ret->processes, err) != AR_OK ||
	    ar_host_folders_open(loop, c, &ret->arena, &ret->folders, err) != AR_OK)
		return err->status;
	ar_host_inspector_open(loop, c->context.instructions, ret->redactor, &ret->inspector);
	ret->ports = (struct ar_worker_ports){
		.processes = ret->processes.host,
		.files = ar_tool_files_new(loop, ret->sandbox, &files),
		.checkpoints = ar_host_checkpoints_new(loop, ret->sandbox, ret->folders.dir),
		.inspector = &ret->inspector.port,
		.find_folder = find_folder,
		.folder_arg = ret,
	};
	return AR_OK;
}

void ar_worker_machine_close(struct ar_worker_machine *m)
{
	ar_host_folders_close(&m->folders);
	if (m->inspector.loop)
		m->inspector.port.v->close(&m->inspector.port);
	if (m->ports.checkpoints)
		m->ports.checkpoints->v->close(m->ports.checkpoints);
	if (m->ports.files)
		m->ports.files->v->close(m->ports.files);
	ar_host_processes_close(&m->processes);
}

void ar_worker_machine_free(struct ar_worker_machine *m)
{
	ar_sandbox_close(m->sandbox);
	ar_redactor_free(m->redactor);
	ar_arena_fini(&m->arena);
}
