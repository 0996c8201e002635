/* The fence around the workspace: every path is opened by beneath.c from a descriptor of the workspace.
 * Fifos, devices and sockets are never read.
 *
 * Any thread. Descriptors belong to the caller. */
#ifndef AR_FILES_WORKSPACE_H
#define AR_FILES_WORKSPACE_H

#include "work.h"

#include <sys/stat.h>

/* Descriptor of the workspace, or -1 with the failure in w. */
int ar_workspace_open(struct ar_files_work *w);

/* What a model named as a path from the workspace: the shown form is read, an absolute path below the
 * workspace is made relative, "./" and slashes at the end go; "." for the workspace itself. */
struct ar_str ar_workspace_path(struct ar_files_work *w, struct ar_str named);

/* A regular file for reading, or a folder, links followed as long as they stay inside; -1 with the failure in
 * w. */
int ar_workspace_open_file(struct ar_files_work *w, int root, struct ar_str path, struct stat *ret_stat);
int ar_workspace_open_folder(struct ar_files_work *w, int root, struct ar_str path);

/* What is at the path, without opening it; false with the failure in w. */
bool ar_workspace_stat(struct ar_files_work *w, int root, struct ar_str path, struct stat *ret);

/* Below a folder and without following any link: how a walk opens what it found. -1 with errno. The file is
 * regular, else EINVAL. */
int ar_workspace_reopen_file(int folder, const char *path, struct stat *ret_stat);
int ar_workspace_reopen_folder(int folder, const char *path);

/* Where the link itself points, not terminated; returns its length, 0: it is gone. */
size_t ar_workspace_read_link(int folder, const char *path, char *ret_target, size_t room);

/* Records why something at the path could not be done: `code` is an errno. */
void ar_workspace_refuse(struct ar_files_work *w, struct ar_str path, int code);

void ar_workspace_closep(int *fd);

#endif
