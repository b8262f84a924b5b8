/* SPDX-License-Identifier: MIT */
/*
** The memory of another process: its mappings and their contents.
**
** The process keeps running: a list describes the moment when it was read, and
** contents may change while they are read. Addresses are those of that process.
*/
#ifndef MP_MAPS_H
#define MP_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct mp_mapping {
  uint64_t from, to;		/* Addresses: the second one is outside. */
  uint64_t inode;		/* Of the file; 0: none. */
  bool readable, writable, executable;
  char *path;			/* The file, or "[stack]" and so on, or "". */
} mp_mapping;

typedef struct mp_maps {
  pid_t pid;
  mp_mapping *list;		/* By address. */
  int n;
} mp_maps;

/* Reads the list. Returns 0 or an errno value. The list must be freed even
** after a failure. */
int mp_maps_read(mp_maps *m, pid_t pid);
void mp_maps_free(mp_maps *m);

/* Reads it again: compiled code and stacks come and go. If it cannot be read,
** it stays as it was. */
void mp_maps_renew(mp_maps *m, pid_t pid);

/* The mapping that has an address, or NULL. */
const mp_mapping *mp_maps_find(const mp_maps *m, uint64_t address);

/* Whether two mappings are of one file. */
bool mp_maps_same(const mp_mapping *a, const mp_mapping *b);

/* Whether the mapping is code that belongs to no file: a compiler's. */
bool mp_maps_compiled(const mp_mapping *a);

/* Reads or writes n bytes. False: not all of them are there. */
bool mp_remote_read(pid_t pid, void *to, uint64_t from, size_t n);
bool mp_remote_write(pid_t pid, uint64_t to, const void *from, size_t n);

/* Reads a string of less than n bytes. */
bool mp_remote_string(pid_t pid, char *to, uint64_t from, size_t n);

#endif
