/*
** The copy that a view (vm/view.h) shows where the stack itself does not tell:
** a thread and a C frame made up for the purpose, and, inside compiled code,
** the frames around the base of the trace, under those that its snapshot lists.
** Everything is written into the view, nothing into what is the VM's.
*/
#ifndef MP_COPY_H
#define MP_COPY_H

#include "vm/view.h"

/* Makes the view a copy of a thread, with its C frame, and with that PC; 0: not
** known. */
void mp_copy_thread(mp_view *v, lua_State *L, const char *cframe, uint64_t pc);

/* Prepares the view for a place on a trace. Where the trace's frames cannot be
** had, the view has the frames from the trace's base on. False: no room. */
bool mp_copy_trace(mp_view *v, const mp_vm *vm, const mp_where *w);

/* The made-up thread gets the copied stack, or the real one. */
void mp_copy_look(mp_view *v, bool copied);

#endif
