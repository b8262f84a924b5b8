/* SPDX-License-Identifier: MIT */
/*
** A heap as Chrome's DevTools read it: the text of a .heapsnapshot file.
**
** The file has all objects that have a holder, with all references. The objects
** without a holder have one node together, and so has each part of the VM's own
** memory: the total is the number that the collector counts.
**
** Tables, userdata and cdata are named by the line of the walk that they belong
** to, since DevTools sum objects by their names; and nodes are numbered by the
** addresses of their objects, which DevTools take for the same objects in two
** files.
*/
#ifndef MP_HEAPFILE_H
#define MP_HEAPFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "heapwalk/graph.h"
#include "heapwalk/holders.h"
#include "heapwalk/size.h"

/* The text, from malloc, and its length. NULL: no memory. g: dominated; the
** lines are not trimmed yet. */
char *mp_heapfile_make(mp_heap *h, mp_graph *g, const mp_holders *lines,
		       const mp_heapown *own, uint64_t garbage, size_t *len);

#endif
