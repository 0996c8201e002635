/* See the header. The files are those of the package tzdata, in a folder that only root writes; names are
 * checked before they become a path. What is not there is looked for again when somebody asks. */
#include "schedule/zones.h"

#include "mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "/usr/share/zoneinfo"
#define KEPT_MAX 1024 /* there are about 600 */

struct zone_entry {
	char name[AR_ZONE_NAME_MAX + 1];
	struct ar_zone *zone;
};

static struct ar_zone *read_zone(struct ar_str name)
{
	char path[sizeof(FOLDER) + AR_ZONE_NAME_MAX + 2];
	char *bytes = ar_new0(AR_ZONE_FILE_MAX);
	struct ar_zone *zone = NULL;
	ssize_t len = -1;
	int fd;

	snprintf(path, sizeof(path), FOLDER "/%.*s", AR_STR_ARG(name));
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0) {
		len = read(fd, bytes, AR_ZONE_FILE_MAX);
		close(fd);
	}
	if (len > 0 && ar_zone_parse((struct ar_str){ bytes, (size_t)len }, &zone, NULL) != AR_OK)
		zone = NULL;
	ar_free(bytes);
	return zone;
}

const struct ar_zone *ar_zones_find(void *arg, struct ar_str name)
{
	struct ar_zones *z = arg;
	struct zone_entry *entry = ar_map_get(&z->known, name);
	struct ar_zone *zone;

	if (entry)
		return entry->zone;
	if (!ar_zone_is_name(name) || z->known.count >= KEPT_MAX)
		return NULL;
	zone = read_zone(name);
	if (!zone)
		return NULL;
	entry = ar_new0(sizeof(*entry));
	entry->zone = zone;
	memcpy(entry->name, name.p, name.len);
	ar_map_put(&z->known, (struct ar_str){ entry->name, name.len }, entry);
	return zone;
}

void ar_zones_fini(struct ar_zones *z)
{
	struct zone_entry *entry;

	for (size_t i = 0; (entry = ar_map_next(&z->known, &i));) {
		ar_zone_free(entry->zone);
		ar_free(entry);
	}
	ar_map_fini(&z->known);
}
