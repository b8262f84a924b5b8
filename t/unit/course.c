/* SPDX-License-Identifier: MIT */
/* mp_course: points that never grow, and what the rows counted between. */
#include "config.h"

#include "check_main.h"
#include "data/course.h"
#include "data/mem.h"

static mp_point point_at(double wall)
{
  mp_point p = { .wall = wall, .cpu = wall / 2, .phase = 'p' };
  p.inuse = (size_t)(wall * 1000);
  return p;
}

/* Sum of what a row counted over all points. */
static double sum_cpu(const mp_course *c, uint32_t row)
{
  double sum = 0;
  uint32_t i;
  for (i = 0; i < c->nchanges; i++)
    if (c->changes[i].row == row) sum += c->changes[i].cpu;
  return sum;
}

START_TEST(a_point_tells_what_changed)
{
  mp_course c;
  mp_counts n;
  mp_point p;
  uint32_t a, b;
  mp_course_init(&c);
  mp_counts_init(&n);
  a = mp_counts_row(&n, 1, 0, 'N', 0);
  b = mp_counts_row(&n, 2, 0, 'N', 0);
  n.rows[a].cpu = 3;
  p = point_at(0.01);
  mp_course_add(&c, &p, &n);
  mp_counts_alloc(&n, b, 2, 50);
  p = point_at(0.02);
  mp_course_add(&c, &p, &n);
  ck_assert_uint_eq(c.npoints, 2);
  ck_assert_uint_eq(c.nchanges, 2);
  ck_assert(c.changes[0].point == 0 && c.changes[0].row == a &&
	    c.changes[0].cpu == 3);
  ck_assert(c.changes[1].point == 1 && c.changes[1].row == b &&
	    c.changes[1].alloc_objects == 2 &&
	    c.changes[1].alloc_bytes == 100 &&
	    c.changes[1].inuse_bytes == 100);
  ck_assert(c.points[1].wall == 0.02 && c.points[1].inuse == 20);
  mp_counts_free(&n);
  mp_course_free(&c);
}
END_TEST

/* Points of a run of that many seconds, a safepoint each tenth of a
** millisecond. */
static uint32_t points_in(double seconds)
{
  mp_course c;
  mp_counts n;
  uint32_t i, points;
  mp_course_init(&c);
  mp_counts_init(&n);
  for (i = 0; i < seconds * 1e4; i++) {
    mp_point p = point_at(i * 1e-4);
    if (mp_course_due(&c, p.wall)) mp_course_add(&c, &p, &n);
  }
  points = c.npoints;
  mp_counts_free(&n);
  mp_course_free(&c);
  return points;
}

/* A program may leak megabytes in 15 ms, and a verdict on that takes several
** points. */
START_TEST(a_short_run_has_points)
{
  ck_assert_uint_ge(points_in(0.015), 10);
  ck_assert_uint_ge(points_in(0.1), 50);
  ck_assert_uint_le(points_in(1), 300);
}
END_TEST

/* A long run: points stay between half of the maximum and the maximum, ordered
** and evenly spaced, and nothing that was counted is lost. */
START_TEST(thinning_loses_no_count)
{
  enum { ROWS = 7 };
  mp_course c;
  mp_counts n;
  double wall, counted[ROWS + 1] = { 0 };
  uint32_t i, k;
  mp_course_init(&c);
  mp_counts_init(&n);
  for (i = 1; i <= ROWS; i++) mp_counts_row(&n, i, 0, 'N', 0);
  for (k = 1; k <= 50000; k++) {
    mp_point p;
    wall = k * MP_COURSE_SPACING;
    i = k % ROWS + 1;
    n.rows[i].cpu += 1;
    counted[i]++;
    if (!mp_course_due(&c, wall)) continue;
    p = point_at(wall);
    mp_course_add(&c, &p, &n);
    ck_assert_uint_le(c.npoints, MP_COURSE_MAX);
    if (k > MP_COURSE_MAX) ck_assert_uint_ge(c.npoints, MP_COURSE_MAX / 2);
  }
  ck_assert_uint_ge(c.npoints, 200);
  for (i = 1; i < c.npoints; i++)
    ck_assert(c.points[i].wall > c.points[i - 1].wall);
  for (i = 0; i < c.nchanges; i++) {
    ck_assert_uint_lt(c.changes[i].point, c.npoints);
    if (i > 0) ck_assert_uint_ge(c.changes[i].point, c.changes[i - 1].point);
  }
  for (i = 1; i <= ROWS; i++)  /* But for what came after the last point. */
    ck_assert(sum_cpu(&c, i) == c.before[i].cpu &&
	      counted[i] - sum_cpu(&c, i) < c.spacing / MP_COURSE_SPACING);
  mp_counts_free(&n);
  mp_course_free(&c);
}
END_TEST

START_TEST(changes_are_bounded)
{
  enum { ROWS = 3000 };
  mp_course c;
  mp_counts n;
  uint32_t i, k;
  mp_course_init(&c);
  mp_counts_init(&n);
  for (k = 1; k <= 100; k++) {
    mp_point p = point_at(k);
    for (i = 1; i <= ROWS; i++) {
      uint32_t row = mp_counts_row(&n, i, 0, 'N', 0);
      n.rows[row].cpu += 1;
    }
    mp_course_add(&c, &p, &n);
    ck_assert_uint_le(c.nchanges, ROWS * MP_COURSE_MIN);
    ck_assert_uint_eq(c.npoints, k);
  }
  ck_assert(c.points[c.npoints - 1].wall == 100);
  for (i = 1; i < c.nchanges; i++)
    ck_assert_uint_ge(c.changes[i].point, c.changes[i - 1].point);
  for (i = 1; i <= ROWS; i += 97) ck_assert(sum_cpu(&c, i) == 100);
  mp_counts_free(&n);
  mp_course_free(&c);
}
END_TEST

/* However many rows change, the heap has its points, and each row its counts,
** at points that there are. */
START_TEST(many_rows_leave_the_points)
{
  enum { ROWS = 2000, POINTS = 3 * MP_COURSE_MAX };
  mp_course c;
  mp_counts n;
  uint32_t i, k, lists = 0;
  mp_course_init(&c);
  mp_counts_init(&n);
  for (i = 1; i <= ROWS; i++) mp_counts_row(&n, i, 0, 'N', 0);
  for (k = 1; k <= POINTS; k++) {
    mp_point p = point_at(k);
    for (i = 1; i <= ROWS; i++) n.rows[i].cpu += 1;
    mp_course_add(&c, &p, &n);
    ck_assert_uint_ge(c.npoints, k < 400 ? k : 400);
    ck_assert_uint_le(c.nchanges, MP_COURSE_CHANGES);
  }
  for (i = 0; i < c.nchanges; i++) {
    ck_assert_uint_lt(c.changes[i].point, c.npoints);
    lists += i == 0 || c.changes[i].point > c.changes[i - 1].point;
  }
  ck_assert_uint_ge(lists, MP_COURSE_MIN / 4);
  for (i = 1; i <= ROWS; i += 97) ck_assert(sum_cpu(&c, i) == POINTS);
  for (i = 1; i < c.npoints; i++)
    ck_assert(c.points[i].wall > c.points[i - 1].wall);
  mp_counts_free(&n);
  mp_course_free(&c);
}
END_TEST

/* With very many rows few points have lists, but these have all counts. */
START_TEST(many_rows_are_looked_at_now_and_then)
{
  enum { ROWS = 20000, POINTS = 50 };  /* 100 ms and 10 ms. */
  mp_course c;
  mp_counts n;
  uint32_t i, k, lists = 0;
  mp_course_init(&c);
  mp_counts_init(&n);
  for (i = 1; i <= ROWS; i++) mp_counts_row(&n, i, 0, 'N', 0);
  for (k = 1; k <= POINTS; k++) {
    mp_point p = point_at(k * 0.01);
    uint32_t before = c.nchanges;
    n.rows[k].cpu += 1;
    mp_course_add(&c, &p, &n);
    lists += c.nchanges > before;
    ck_assert_uint_eq(c.npoints, k);
  }
  ck_assert_uint_ge(lists, 4);
  ck_assert_uint_le(lists, 6);
  for (k = 1; k <= c.changes[c.nchanges - 1].point; k++)
    ck_assert(sum_cpu(&c, k) == 1);
  mp_counts_free(&n);
  mp_course_free(&c);
}
END_TEST

/* The next point has the amounts of a point for which there was no memory. */
START_TEST(no_memory_loses_no_count)
{
  mp_course c;
  mp_counts n;
  uint32_t k, failures = 0;
  mp_course_init(&c);
  mp_counts_init(&n);
  for (k = 1; k <= 2000; k++) {
    mp_point p = point_at(k);
    uint32_t row, before = c.npoints;
    mp_mem_left = -1;
    row = mp_counts_row(&n, k % 400 + 1, 0, 'N', 0);
    n.rows[row].cpu += 1;
    mp_mem_left = (int)(k % 3);
    mp_course_add(&c, &p, &n);
    failures += c.npoints == before;
  }
  mp_mem_left = -1;
  ck_assert_uint_ge(failures, 2);
  for (k = 1; k <= 400; k++) ck_assert(sum_cpu(&c, k) == 5);
  mp_counts_free(&n);
  mp_course_free(&c);
}
END_TEST

CHECK_MAIN("course", a_point_tells_what_changed, a_short_run_has_points,
	   thinning_loses_no_count, changes_are_bounded,
	   many_rows_leave_the_points, many_rows_are_looked_at_now_and_then,
	   no_memory_loses_no_count)
