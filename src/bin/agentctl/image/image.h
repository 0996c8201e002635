/* Images of a turn: files that the text names with an at sign, `@shot.png` or `@"screen shot.png"`. What is
 * an image is decided by its first bytes. A path with a symbolic link in it is not followed: a command of the
 * agent may have made the link. Stateless. */
#ifndef AR_CTL_IMAGE_H
#define AR_CTL_IMAGE_H

#include "ctl.h"

/* Bytes of all images of a turn: the daemon takes a request of 1 MiB, and base64 needs a third more. */
#define AR_IMAGES_MAX ((size_t)690 * 1024)

struct ar_images {
	struct ar_str input; /* parts of the turn as JSON, the text first; absent: the text names no image */
	struct ar_str names; /* of the images, for people */
};

/* Reads the images that a text names. Both texts are in the arena of the invocation. Not OK: one cannot be
 * sent, and it was said why. */
AR_MUST_USE enum ar_exit ar_images_read(struct ar_ctl *c, struct ar_str text, struct ar_images *ret);

/* Whether a text that came at once is the path of an image, as a file that is dropped on a terminal gives:
 * quoted, with backslashes, or as a file: address. Adds it to `ret` as it is named in a text. */
bool ar_image_is_dropped(struct ar_str text, struct ar_buf *ret);

#endif
