/* SPDX-License-Identifier: MIT */
/*
** The names of C functions by their addresses: what the loader knows, what the
** file of the program or library has besides, and the names that C++ functions
** have in their source.
*/
#ifndef MP_SYMBOL_NAMES_H
#define MP_SYMBOL_NAMES_H

#include "data/elf.h"

/* Names the function at that address, which its library has: name gets its
** symbol, exported or not. False: there is none. Also inside the allocator, but
** not in a signal handler: asks the loader, reads a file. */
bool mp_symbol_name(const void *addr, char name[MP_ELF_NAME]);

/* Names those of n functions that have no name yet, sorts all by their
** addresses, and turns the symbols of C++ into what its source has: `inside`
** says whether an address is any in its function, or only its first. Not to be
** called in an allocator or a signal handler. */
void mp_symbol_names(mp_function *list, size_t n);

#endif
