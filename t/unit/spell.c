/* SPDX-License-Identifier: MIT */
/* mp_spell: text that acts on nothing. t/program/names.lua: the same in Lua. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "check_main.h"
#include "data/spell.h"

/* The whole text, character by character. */
static const char *spelled(const char *s, size_t len)
{
  static char out[256];
  size_t at = 0;
  while (len > 0) {
    char c[MP_SPELLED];
    size_t n = mp_spell(s, len, c);
    ck_assert_uint_ge(n, 1);
    ck_assert_uint_le(n, len);
    at += (size_t)snprintf(out + at, sizeof(out) - at, "%s", c);
    s += n;
    len -= n;
  }
  out[at] = '\0';
  return out;
}

#define IS(text, want) ck_assert_str_eq(spelled(text, sizeof(text) - 1), want)

START_TEST(text_stays)
{
  IS("a b\\n\"'", "a b\\n\"'");
  IS("\xc3\xa4\xe2\x82\xac\xc2\xa0", "\xc3\xa4\xe2\x82\xac\xc2\xa0");
  IS("\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\xed\x9f\xbf",
     "\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\xed\x9f\xbf");
}
END_TEST

START_TEST(what_acts_is_spelled)
{
  IS("a\nb\t\r", "a\\nb\\t\\r");
  IS("\x1b[31m", "\\027[31m");
  IS("\0\x7f", "\\000\\127");
  IS("\xc2\x9b", "\\u{9B}");
  IS("\xe2\x80\xae" "abc", "\\u{202E}abc");
  IS("\xe2\x81\xa6\xe2\x80\xa8\xd8\x9c\xe2\x80\x8e\xef\xbb\xbf",
     "\\u{2066}\\u{2028}\\u{61C}\\u{200E}\\u{FEFF}");
}
END_TEST

START_TEST(bytes_that_are_no_text_are_spelled)
{
  IS("\xc0\x80", "\\192\\128");
  IS("\xe0\x80\x80", "\\224\\128\\128");
  IS("\xed\xa0\x80", "\\237\\160\\128");
  IS("\xf5\x80", "\\245\\128");
  IS("\xf0\x80\x80\x80", "\\240\\128\\128\\128");
  IS("\xf8\x88\x80\x80\x80", "\\248\\136\\128\\128\\128");
  IS("a\xc3z", "a\\195z");
  IS("\xe2\xc3\xa4", "\\226\xc3\xa4");
  IS("\x9b\xff", "\\155\\255");
}
END_TEST

/* Bytes behind the text are not looked at. */
START_TEST(a_character_is_cut_off)
{
  char c[MP_SPELLED];
  ck_assert_uint_eq(mp_spell("\xc3\xa4", 1, c), 1);
  ck_assert_str_eq(c, "\\195");
  ck_assert_uint_eq(mp_spell("\xf4\x8f\xbf\xbf", 3, c), 1);
  ck_assert_str_eq(c, "\\244");
}
END_TEST

static const char *hidden(const char *text)
{
  static char out[256];
  snprintf(out, sizeof(out), "%s", text);
  mp_spell_hide(out);
  return out;
}

START_TEST(passwords_are_left_out)
{
  ck_assert_str_eq(hidden("-jm=f,http://me:pw@host:1/a@b,x"),
		   "-jm=f,http://host:1/a@b,x");
  ck_assert_str_eq(hidden("http://a@b@c?d https://x:y@z"),
		   "http://c?d https://z");
  ck_assert_str_eq(hidden("http://me:pw@"), "http://");
  ck_assert_str_eq(hidden("a@b://c, d@e ://"), "a@b://c, d@e ://");
}
END_TEST

CHECK_MAIN("spell", text_stays, what_acts_is_spelled,
	   bytes_that_are_no_text_are_spelled, a_character_is_cut_off,
	   passwords_are_left_out)
