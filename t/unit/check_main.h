/* SPDX-License-Identifier: MIT */
/*
** The main function of a libcheck program, as TAP. Each test is a case of its
** own: CK_RUN_CASE=NAME runs one of them.
*/
#ifndef CHECK_MAIN_H
#define CHECK_MAIN_H

#include <check.h>
#include <stdlib.h>

static int check_main(const char *name, const TTest *const *tests, int n)
{
  Suite *s = suite_create(name);
  SRunner *sr;
  int i, failed;
  for (i = 0; i < n; i++) {
    TCase *tc = tcase_create(tests[i]->name);
    tcase_set_timeout(tc, 0);
    tcase_add_test(tc, tests[i]);
    suite_add_tcase(s, tc);
  }
  sr = srunner_create(s);
  srunner_set_tap(sr, "-");
  srunner_run_all(sr, CK_SILENT);
  failed = srunner_ntests_failed(sr);
  srunner_free(sr);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define CHECK_MAIN(name, ...) \
  int main(void) \
  { \
    const TTest *const tests[] = { __VA_ARGS__ }; \
    return check_main(name, tests, (int)(sizeof(tests) / sizeof(tests[0]))); \
  }

#endif
