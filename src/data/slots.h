/* SPDX-License-Identifier: MIT */
/*
** The slots of the loaded objects: each object has a table (GOT) of the
** functions that it calls in others, where the loader has written their
** addresses. Another address there, and the object calls another function.
**
** A slot is written at once, as the loader itself does: other threads may call
** the function in the meantime, load objects or unload them. Where a table is
** read-only since the object was loaded, its page is writable for a moment.
** What cannot be written stays as it is.
*/
#ifndef MP_SLOTS_H
#define MP_SLOTS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct mp_slotcall {
  const char *name;
  void (*ours)(void);
  /* The one that ours calls: an object that has it in itself keeps its slot,
  ** and so does one that has ours. NULL: the process has no such function. */
  void (*original)(void);
  /* Any address in the only object that is to call ours; NULL: all are. */
  void (*within)(void);
} mp_slotcall;

/* Has all objects call ours. Allocates nothing. */
void mp_slots_set(const mp_slotcall *list, size_t n);

/* Has those that call ours call the original again. */
void mp_slots_reset(const mp_slotcall *list, size_t n);

/* Whether objects were loaded since mp_slots_set() was called. Makes no system
** call. */
bool mp_slots_grown(void);

#endif
