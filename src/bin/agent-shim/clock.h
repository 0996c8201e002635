/* The two clocks of the shim in microseconds: one for people and records, one for deadlines. */
#ifndef AR_SHIM_CLOCK_H
#define AR_SHIM_CLOCK_H

#include <stdint.h>

#define AR_SHIM_MS 1000ull /* microseconds */

uint64_t ar_shim_wall_time(void); /* since 1970 */
uint64_t ar_shim_file_time(void); /* since 1970, of the clock that file systems take their times from */
uint64_t ar_shim_mono(void); /* never steps; 0 never comes, so that 0 can mean "none" */

#endif
