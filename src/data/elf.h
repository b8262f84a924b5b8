/* SPDX-License-Identifier: MIT */
/*
** The functions in a file of code (ELF) by their addresses, or their names,
** from the symbol table that strip removes: it has those, too, that the file
** does not export.
**
** The file may be damaged, be a stranger's, or change while it is read: it is
** read piece by piece, never mapped, and what it says is bounded. Nothing is
** kept, and neither memory nor a lock is taken: also inside an allocator, but
** not in a signal handler.
*/
#ifndef MP_ELF_H
#define MP_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MP_ELF_NAME	512	/* Bytes of a name, with its 0. */
#define MP_ELF_HEAD	1024	/* Of a file, that are compared. */

typedef struct mp_function {
  uint64_t address;		/* Of the function, or of any byte in it. */
  bool inside;			/* The address may be that of any byte. */
  bool found;			/* There is a symbol. */
  uint64_t start;		/* The symbol's address, if found. */
  uint32_t at;			/* Where the symbol's name is, if found. */
  uint32_t id;			/* The user's. */
  char name[MP_ELF_NAME];	/* "": not known. */
} mp_function;

/* Whether a file is what was loaded at that address: head has the first bytes
** there. If so, *bias is what was added to the addresses that it has. */
bool mp_elf_is(int fd, uint64_t address, const char head[MP_ELF_HEAD],
	       uint64_t *bias);

/* Names those of n functions that have no name yet. They are in ascending order
** of their addresses, of which the file has those less the bias. */
void mp_elf_names(int fd, uint64_t bias, mp_function *list, size_t n);

/* The addresses, as the file has them, of functions with those names; 0: it has
** no such function that is global. */
void mp_elf_find(int fd, const char *const *names, uint64_t *list, size_t n);

/* Reads a section's contents, up to n bytes. Returns their number, or 0. */
size_t mp_elf_section(int fd, const char *name, void *buf, size_t n);

#endif
