/* SPDX-License-Identifier: MIT */
/*
** The names of C functions by their addresses: what the loader knows, what the
** file of the program or library has besides, and the names that C++ functions
** have in their source.
*/
#ifndef MP_SYMBOL_NAMES_H
#define MP_SYMBOL_NAMES_H

#include "data/elf.h"

/* Names n functions, and sorts them by their addresses: `inside` says whether
** an address is any in its function, or only its first. Asks the loader, reads
** files: not to be called in an allocator or a signal handler. */
void mp_symbol_names(mp_function *list, size_t n);

#endif
