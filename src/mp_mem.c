/*
** See mp_mem.h.
*/
#include "config.h"

#include "mp_mem.h"

int mp_mem_left = -1;
void (*mp_mem_mutex)(bool lock);
