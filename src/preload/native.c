/* SPDX-License-Identifier: MIT */
/*
** libluajit-mp-native.so: intercepts malloc and mmap, see data/port.h.
**
** Everything here may run before main, in any thread, inside dlopen and after
** fork. It takes no lock and no memory of its own. Memory that an allocator
** takes from the system for a request is part of that request, and not counted.
*/
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/filter.h"
#include "data/port.h"
#include "preload/environment.h"

#define EXPORT	__attribute__((visibility("default")))
#define RET	__builtin_return_address(0)

/* State of a thread. It lies in the thread's own block: an access needs no
** call, which could allocate. */
typedef struct thread {
  mp_draw draw;
  int paused;			/* Nothing is counted. */
  bool busy;			/* In the sampler. */
  const void **sites;		/* Calls are noted here, */
  int nsites, maxsites;
} thread;

static __thread thread t __attribute__((tls_model("initial-exec")));

static const uint8_t nothing[MP_FILTER_HASHES];

static void pause_thread(int by) { t.paused += by; }

static int note_thread(const void **sites, int max)
{
  int n = t.nsites;
  t.sites = sites;
  t.maxsites = max;
  t.nsites = 0;
  return n;
}

EXPORT mp_port luajit_mp_native_port = {
  .version = MP_PORT_VERSION, .filter = nothing, .pause = pause_thread,
  .note = note_thread
};
#define port	luajit_mp_native_port

/* -- The functions that are intercepted ---------------------------------- */

static struct {
  void *(*malloc)(size_t);
  void *(*calloc)(size_t, size_t);
  void *(*realloc)(void *, size_t);
  void (*free)(void *);
  void *(*memalign)(size_t, size_t);
  int (*posix_memalign)(void **, size_t, size_t);
  void *(*aligned_alloc)(size_t, size_t);
  void *(*valloc)(size_t);
  void *(*pvalloc)(size_t);
  void *(*mmap)(void *, size_t, int, int, int, off_t);
#ifdef __GLIBC__
  void *(*mmap64)(void *, size_t, int, int, int, off64_t);
#endif
  int (*munmap)(void *, size_t);
  void *(*mremap)(void *, size_t, size_t, int, ...);
} real;

/* dlsym may allocate before malloc itself was found. */
static char early[8192] __attribute__((aligned(16)));
static size_t nearly;

static bool is_early(const void *p)
{
  return (const char *)p >= early && (const char *)p < early + sizeof(early);
}

/* Filled with zeros, for calloc. Blocks are never freed. */
static void *early_alloc(size_t n)
{
  char *p = early + nearly;
  n = (n + 15) & ~(size_t)15;
  if (n > sizeof(early) - nearly) return NULL;
  nearly += n;
  return p;
}

static void find(void *where, const char *name)
{
  void *f = dlsym(RTLD_NEXT, name);
  memcpy(where, &f, sizeof(f));
}

/* free comes last: it stands for all of them. */
static void resolve(void)
{
  static bool resolving;
  if (resolving) return;
  resolving = true;
  find(&real.mmap, "mmap");
#ifdef __GLIBC__
  find(&real.mmap64, "mmap64");
#endif
  find(&real.munmap, "munmap");
  find(&real.mremap, "mremap");
  find(&real.calloc, "calloc");
  find(&real.malloc, "malloc");
  find(&real.realloc, "realloc");
  find(&real.memalign, "memalign");
  find(&real.posix_memalign, "posix_memalign");
  find(&real.aligned_alloc, "aligned_alloc");
  find(&real.valloc, "valloc");
  find(&real.pvalloc, "pvalloc");
  find(&real.free, "free");
}

static inline bool resolved(void)
{
  if (__builtin_expect(real.free == NULL, 0)) resolve();
  return real.free != NULL;
}

/* -- Counting ------------------------------------------------------------ */

static void note_site(const void *ret)
{
  int i;
  for (i = 0; i < t.nsites; i++)
    if (t.sites[i] == ret) return;
  if (t.nsites < t.maxsites) t.sites[t.nsites++] = ret;
}

static bool is_left_out(const void *ret)
{
  int i;
  for (i = 0; i < port.nsites; i++)
    if (port.sites[i] == ret) return true;
  return false;
}

static __attribute__((noinline)) void made_slowly(void *p, size_t n,
						  const void *ret,
						  const char *what)
{
  int saved = errno;
  if (t.busy || is_left_out(ret)) {
    t.draw.left += (int64_t)n;
    return;
  }
  t.busy = true;
  port.sink->made(p, n, ret, what, &t.draw);
  t.busy = false;
  errno = saved;
}

/* That function made a block. */
static inline void made(void *p, size_t n, const void *ret, const char *what)
{
  if (__builtin_expect(t.sites != NULL, 0)) note_site(ret);
  if (port.epoch == 0 || p == NULL || t.paused != 0) return;
  t.draw.left -= (int64_t)n;
  if (t.draw.left < 0 || t.draw.epoch != port.epoch)
    made_slowly(p, n, ret, what);
}

static inline bool may_be_sample(const void *p)
{
  return port.filter[mp_filter_hash(p)] != 0 && !t.busy && p != NULL;
}

static __attribute__((noinline)) void gone(void *p)
{
  int saved = errno;
  if (port.epoch == 0) return;
  t.busy = true;
  port.sink->gone(p);
  t.busy = false;
  errno = saved;
}

static __attribute__((noinline)) uint32_t take(void *p)
{
  uint32_t id;
  if (port.epoch == 0) return 0;
  t.busy = true;
  id = port.sink->take(p);
  t.busy = false;
  return id;
}

/* The reallocation of a sampled block has succeeded: the old one is gone. */
static __attribute__((noinline)) void drop_sample(uint32_t id)
{
  int saved = errno;
  t.busy = true;
  port.sink->drop(id);
  t.busy = false;
  errno = saved;
}

/* It has failed: the block is still there. */
static __attribute__((noinline)) void put_back(void *p, uint32_t id)
{
  int saved = errno;
  t.busy = true;
  port.sink->put(p, id);
  t.busy = false;
  errno = saved;
}

/* -- malloc -------------------------------------------------------------- */

EXPORT void *malloc(size_t n)
{
  void *p;
  if (!resolved()) return early_alloc(n);
  t.paused++;
  p = real.malloc(n);
  t.paused--;
  made(p, n, RET, "malloc");
  return p;
}

EXPORT void *calloc(size_t n, size_t size)
{
  void *p;
  if (!resolved()) return early_alloc(n * size);
  t.paused++;
  p = real.calloc(n, size);
  t.paused--;
  made(p, n * size, RET, "calloc");
  return p;
}

EXPORT void free(void *p)
{
  if (!resolved() || is_early(p)) return;
  if (may_be_sample(p)) gone(p);
  t.paused++;
  real.free(p);
  t.paused--;
}

static void *from_early(void *p, size_t n)
{
  size_t room = (size_t)(early + sizeof(early) - (char *)p);
  void *q = malloc(n);
  if (q != NULL) memcpy(q, p, n < room ? n : room);
  return q;
}

static inline void *reallocate(void *p, size_t n, const void *ret)
{
  uint32_t id = 0;
  void *q;
  if (!resolved() || is_early(p)) return from_early(p, n);
  if (may_be_sample(p)) id = take(p);
  t.paused++;
  q = real.realloc(p, n);
  t.paused--;
  if (id != 0 && (q != NULL || n == 0)) drop_sample(id);
  else if (id != 0) put_back(p, id);
  made(q, n, ret, "realloc");
  return q;
}

EXPORT void *realloc(void *p, size_t n) { return reallocate(p, n, RET); }

EXPORT void *reallocarray(void *p, size_t n, size_t size)
{
  size_t all;
  if (__builtin_mul_overflow(n, size, &all)) {
    errno = ENOMEM;
    return NULL;
  }
  return reallocate(p, all, RET);
}

EXPORT void *memalign(size_t align, size_t n)
{
  void *p;
  if (!resolved()) return NULL;
  t.paused++;
  p = real.memalign(align, n);
  t.paused--;
  made(p, n, RET, "memalign");
  return p;
}

EXPORT int posix_memalign(void **to, size_t align, size_t n)
{
  int err;
  if (!resolved()) return ENOMEM;
  t.paused++;
  err = real.posix_memalign(to, align, n);
  t.paused--;
  if (err == 0) made(*to, n, RET, "posix_memalign");
  return err;
}

EXPORT void *aligned_alloc(size_t align, size_t n)
{
  void *p;
  if (!resolved()) return NULL;
  t.paused++;
  p = real.aligned_alloc(align, n);
  t.paused--;
  made(p, n, RET, "aligned_alloc");
  return p;
}

EXPORT void *valloc(size_t n)
{
  void *p;
  if (!resolved()) return NULL;
  t.paused++;
  p = real.valloc(n);
  t.paused--;
  made(p, n, RET, "valloc");
  return p;
}

EXPORT void *pvalloc(size_t n)
{
  void *p;
  if (!resolved()) return NULL;
  t.paused++;
  p = real.pvalloc(n);
  t.paused--;
  made(p, n, RET, "pvalloc");
  return p;
}

/* -- mmap ---------------------------------------------------------------- */

/* Whether a mapping is memory, not a file or a mere range of addresses. */
static inline void mapped(void *p, size_t n, int prot, int flags,
			  const void *ret, const char *what)
{
  if (p == MAP_FAILED || !(flags & MAP_ANONYMOUS) || prot == PROT_NONE) return;
  if (!is_left_out(ret)) made(p, n, ret, what);
}

EXPORT void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t ofs)
{
  void *p;
  if (!resolved() && real.mmap == NULL) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  p = real.mmap(at, n, prot, flags, fd, ofs);
  mapped(p, n, prot, flags, RET, "mmap");
  return p;
}

#ifdef __GLIBC__  /* Elsewhere it is another name of mmap at most. */
EXPORT void *mmap64(void *at, size_t n, int prot, int flags, int fd,
		    off64_t ofs)
{
  void *p;
  if (!resolved() && real.mmap64 == NULL) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  p = real.mmap64(at, n, prot, flags, fd, ofs);
  mapped(p, n, prot, flags, RET, "mmap64");
  return p;
}
#endif

EXPORT int munmap(void *p, size_t n)
{
  if (!resolved() && real.munmap == NULL) return -1;
  if (may_be_sample(p)) gone(p);
  return real.munmap(p, n);
}

EXPORT void *mremap(void *p, size_t osize, size_t n, int flags, ...)
{
  uint32_t id = 0;
  va_list ap;
  void *q, *at;
  va_start(ap, flags);
  at = flags & MREMAP_FIXED ? va_arg(ap, void *) : NULL;
  va_end(ap);
  if (!resolved() && real.mremap == NULL) return MAP_FAILED;
  if (may_be_sample(p)) id = take(p);
  q = real.mremap(p, osize, n, flags, at);
  if (id != 0 && q != MAP_FAILED) drop_sample(id);
  else if (id != 0) put_back(p, id);
  mapped(q, n, PROT_READ, MAP_ANONYMOUS, RET, "mremap");
  return q;
}

/* The library whose malloc the program calls, if it is not this one: an mmap of
** that malloc would be counted while it holds its locks. */
static const char *comes_first(void)
{
  static Dl_info own, other;
  void *f = dlsym(RTLD_DEFAULT, "malloc");
  if (f == NULL || dladdr(&real, &own) == 0 || dladdr(f, &other) == 0 ||
      own.dli_fbase == other.dli_fbase)
    return NULL;
  return other.dli_fname;
}

static void refuse(const char *first)
{
  char text[512];
  int n = snprintf(text, sizeof(text), "luajit-mp: C memory is not profiled: "
		   "libluajit-mp-native.so must come before %s in LD_PRELOAD\n",
		   first);
  port.version = 0;
  if (n > 0 && write(2, text, strnlen(text, sizeof(text))) < 0) return;
}

static __attribute__((constructor)) void begin(void)
{
  const char *first = comes_first();
  resolved();
  leave_environment(&real);
  if (first != NULL) refuse(first);
}
