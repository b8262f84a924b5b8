/* SPDX-License-Identifier: MIT */
/* mp_variant: the layout found by behaviour is that of the proof. */
#include "config.h"

#include "check_main.h"
#include "check_vm.h"
#include "vm/layout.h"
#include "vm/variant.h"

START_TEST(finds_what_the_proof_finds)
{
  mp_variant v;
  mp_vm vm;
  lua_State *L = check_open(&vm, true);
  bool found = mp_variant_find(&v);
  ck_assert_int_eq(found, L != NULL);
  if (L == NULL) return;
  ck_assert_uint_eq(v.alloc, (uint32_t)(vm.alloc - vm.g));
  ck_assert_uint_eq(v.vmstate, vm.vmstate);
  ck_assert_uint_eq(v.states, vm.states);
  ck_assert_uint_eq(v.jitbase, vm.jitbase);
  ck_assert_uint_eq(v.strtab, vm.strtab);
  ck_assert_uint_eq(v.tmpbuf, vm.tmpbuf);
  ck_assert_uint_eq(v.prev, mp_variant_prev());
  ck_assert_uint_eq(v.len, mp_variant_len());
  ck_assert_uint_eq(v.data, mp_variant_data());
  ck_assert_uint_eq(v.bufword, mp_variant_bufword());
  lua_close(L);
}
END_TEST

START_TEST(finds_the_same_again)
{
  mp_variant v, w;
  if (!mp_variant_find(&v)) return;
  ck_assert(mp_variant_find(&w));
  ck_assert_mem_eq(&v, &w, sizeof(v));
  ck_assert_ptr_nonnull(mp_variant_once());
  ck_assert_mem_eq(&v, mp_variant_once(), sizeof(v));
}
END_TEST

CHECK_MAIN("variant", finds_what_the_proof_finds, finds_the_same_again)
