/*
** See data/lock.h.
*/
#include "config.h"

#include <pthread.h>

#include "data/lock.h"

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void mp_lock(void) { pthread_mutex_lock(&mutex); }

void mp_unlock(void) { pthread_mutex_unlock(&mutex); }

void mp_lock_renew(void)
{
  mutex = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}
