/* SPDX-License-Identifier: MIT */
/*
** See data/slots.h.
*/
#include "config.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "data/slots.h"

/* A relocation's type and symbol, and the types that fill a slot. */
#if UINTPTR_MAX > UINT32_MAX
#define TYPE(info)	ELF64_R_TYPE(info)
#define SYMBOL(info)	ELF64_R_SYM(info)
#else
#define TYPE(info)	ELF32_R_TYPE(info)
#define SYMBOL(info)	ELF32_R_SYM(info)
#endif

#if defined(__x86_64__)
#define CALLED	R_X86_64_JUMP_SLOT
#define TAKEN	R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define CALLED	R_AARCH64_JUMP_SLOT
#define TAKEN	R_AARCH64_GLOB_DAT
#elif defined(__i386__)
#define CALLED	R_386_JMP_SLOT
#define TAKEN	R_386_GLOB_DAT
#endif

static atomic_ullong loaded;	/* Objects, when the slots were set. */

#ifdef CALLED

typedef void (*function)(void);

typedef struct object {
  const struct dl_phdr_info *info;
  const mp_slotcall *list;
  size_t n;
  bool reset;
  uintptr_t readonly, readonly_end;  /* Pages, since it was loaded. */
  uintptr_t page;		/* The one that was written last, or 0; */
  bool writable, opened;	/* The latter: by our doing. */
  const char *names;
  size_t namebytes;
  const ElfW(Sym) *symbols;
} object;

static uintptr_t page_size(void) { return (uintptr_t)sysconf(_SC_PAGESIZE); }

/* -- An object ------------------------------------------------------------- */

/* Whether one segment that is loaded has all of these bytes. */
static bool has(const object *o, uintptr_t p, size_t size, ElfW(Word) flags)
{
  int i;
  for (i = 0; i < o->info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &o->info->dlpi_phdr[i];
    uintptr_t at = p - (o->info->dlpi_addr + h->p_vaddr);
    if (h->p_type == PT_LOAD && (h->p_flags & flags) == flags &&
	at < h->p_memsz && size <= h->p_memsz - at)
      return true;
  }
  return false;
}

static bool has_function(const object *o, function f)
{
  return f != NULL && has(o, (uintptr_t)f, 1, 0);
}

/* Some loaders write addresses there, others leave what is in the file. */
static uintptr_t address(const object *o, ElfW(Addr) p)
{
  return p < o->info->dlpi_addr ? o->info->dlpi_addr + p : p;
}

static const ElfW(Dyn) *find_dynamic(object *o)
{
  uintptr_t page = page_size();
  const ElfW(Dyn) *dynamic = NULL;
  int i;
  for (i = 0; i < o->info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &o->info->dlpi_phdr[i];
    uintptr_t at = o->info->dlpi_addr + h->p_vaddr;
    if (h->p_type == PT_DYNAMIC) {
      dynamic = (const ElfW(Dyn) *)at;
    } else if (h->p_type == PT_GNU_RELRO) {
      o->readonly = at & ~(page - 1);
      o->readonly_end = (at + h->p_memsz) & ~(page - 1);
    }
  }
  return dynamic;
}

/* -- Writing --------------------------------------------------------------- */

/* Whether a word can be read only: the kernel is to set no bit of it. This is
** atomic: others may be writing there. */
static bool is_readonly(const void *word)
{
  uint32_t none = 0;
  return syscall(SYS_futex, &none, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, NULL,
		 word, FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0)) < 0 &&
	 errno == EFAULT;
}

static void close_page(object *o)
{
  if (o->opened) mprotect((void *)o->page, page_size(), PROT_READ);
  o->opened = false;
}

/* An object that another thread is loading is not read-only yet, but may become
** so at any moment: it is left alone. */
static bool open_page(object *o, uintptr_t page)
{
  if (page == o->page) return o->writable;
  close_page(o);
  o->page = page;
  o->writable = page < o->readonly || page >= o->readonly_end;
  if (!o->writable && is_readonly((const void *)page))
    o->writable = o->opened =
      mprotect((void *)page, page_size(), PROT_READ | PROT_WRITE) == 0;
  return o->writable;
}

static void write_slot(object *o, function *slot, const mp_slotcall *c)
{
  if ((*slot == c->ours) == o->reset &&
      open_page(o, (uintptr_t)slot & ~(page_size() - 1)))
    __atomic_store_n(slot, o->reset ? c->original : c->ours, __ATOMIC_RELEASE);
}

/* -- The tables ------------------------------------------------------------ */

static const mp_slotcall *find_call(const object *o, const char *name)
{
  size_t i;
  for (i = 0; i < o->n; i++) {
    const mp_slotcall *c = &o->list[i];
    if (strcmp(c->name, name) == 0)
      return c->original == NULL || has_function(o, c->original) ||
	     (c->within != NULL && !has_function(o, c->within)) ? NULL : c;
  }
  return NULL;
}

/* The loader has read all of this: what does not fit is not what it read. */
static const mp_slotcall *called(const object *o, size_t symbol)
{
  const ElfW(Sym) *s = &o->symbols[symbol];
  if (symbol == 0 || !has(o, (uintptr_t)s, sizeof(*s), PF_R) ||
      s->st_name >= o->namebytes)
    return NULL;
  return find_call(o, o->names + s->st_name);
}

static void set_table(object *o, uintptr_t table, size_t size, size_t step)
{
  size_t at;
  if (table == 0 || step < sizeof(ElfW(Rel)) || !has(o, table, size, PF_R))
    return;
  for (at = 0; at + step <= size; at += step) {
    const ElfW(Rel) *r = (const ElfW(Rel) *)(table + at);
    function *slot = (function *)(o->info->dlpi_addr + r->r_offset);
    const mp_slotcall *c;
    if (TYPE(r->r_info) != CALLED && TYPE(r->r_info) != TAKEN) continue;
    c = called(o, SYMBOL(r->r_info));
    if (c != NULL && (uintptr_t)slot % sizeof(slot) == 0 &&
	has(o, (uintptr_t)slot, sizeof(slot), PF_W))
      write_slot(o, slot, c);
  }
}

static void set_object(object *o)
{
  const ElfW(Dyn) *d = find_dynamic(o);
  uintptr_t calls = 0, rel = 0, rela = 0;
  size_t callbytes = 0, relbytes = 0, relabytes = 0;
  bool addends = false;
  if (d == NULL) return;
  for (; has(o, (uintptr_t)d, sizeof(*d), PF_R) && d->d_tag != DT_NULL; d++) {
    switch (d->d_tag) {
    case DT_STRTAB: o->names = (char *)address(o, d->d_un.d_ptr); break;
    case DT_STRSZ: o->namebytes = d->d_un.d_val; break;
    case DT_SYMTAB:
      o->symbols = (const ElfW(Sym) *)address(o, d->d_un.d_ptr);
      break;
    case DT_JMPREL: calls = address(o, d->d_un.d_ptr); break;
    case DT_PLTRELSZ: callbytes = d->d_un.d_val; break;
    case DT_PLTREL: addends = d->d_un.d_val == DT_RELA; break;
    case DT_REL: rel = address(o, d->d_un.d_ptr); break;
    case DT_RELSZ: relbytes = d->d_un.d_val; break;
    case DT_RELA: rela = address(o, d->d_un.d_ptr); break;
    case DT_RELASZ: relabytes = d->d_un.d_val; break;
    default: break;
    }
  }
  if (o->symbols == NULL || o->names == NULL ||
      !has(o, (uintptr_t)o->names, o->namebytes, PF_R))
    return;
  set_table(o, calls, callbytes, addends ? sizeof(ElfW(Rela)) :
					   sizeof(ElfW(Rel)));
  set_table(o, rel, relbytes, sizeof(ElfW(Rel)));
  set_table(o, rela, relabytes, sizeof(ElfW(Rela)));
  close_page(o);
}

static int visit(struct dl_phdr_info *info, size_t size, void *ud)
{
  object o = *(const object *)ud;
  (void)size;
  o.info = info;
  loaded = info->dlpi_adds;
  if (!has_function(&o, o.list[0].ours)) set_object(&o);
  return 0;
}

/* Two threads at once would find each other's pages writable. */
static void visit_all(const mp_slotcall *list, size_t n, bool reset)
{
  static atomic_flag busy = ATOMIC_FLAG_INIT;
  object o = { .list = list, .n = n, .reset = reset };
  int saved = errno;
  if (n == 0 || atomic_flag_test_and_set(&busy)) return;
  dl_iterate_phdr(visit, &o);
  atomic_flag_clear(&busy);
  errno = saved;
}

void mp_slots_set(const mp_slotcall *list, size_t n)
{
  visit_all(list, n, false);
}

void mp_slots_reset(const mp_slotcall *list, size_t n)
{
  visit_all(list, n, true);
}

static int count(struct dl_phdr_info *info, size_t size, void *n)
{
  (void)size;
  *(unsigned long long *)n = info->dlpi_adds;
  return 1;
}

bool mp_slots_grown(void)
{
  unsigned long long n = loaded;
  dl_iterate_phdr(count, &n);
  return n != loaded;
}

#else

void mp_slots_set(const mp_slotcall *list, size_t n) { (void)list; (void)n; }

void mp_slots_reset(const mp_slotcall *list, size_t n) { (void)list; (void)n; }

bool mp_slots_grown(void) { return false; }

#endif
