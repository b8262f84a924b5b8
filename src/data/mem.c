/*
** See data/mem.h.
*/
#include "config.h"

#include "data/mem.h"

int mp_mem_left = -1;
void (*mp_mem_mutex)(bool lock);

bool mp_mem_room(void **array, uint32_t index, uint32_t *cap, size_t size)
{
  uint64_t n = *cap ? *cap : 32;
  void *p;
  if (index < *cap) return true;
  do n *= 2; while (n <= index);
  if (n > UINT32_MAX) return false;
  if (mp_mem_mutex) mp_mem_mutex(true);
  p = mp_realloc(*array, (size_t)n * size);
  if (p != NULL) {
    *array = p;
    *cap = (uint32_t)n;
  }
  if (mp_mem_mutex) mp_mem_mutex(false);
  return p != NULL;
}
