/* SPDX-License-Identifier: MIT */
/*
** Text of the program as reports show it. See data/spell.h.
*/
#include "config.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "data/spell.h"

/* Bytes of the character, and its number; or 0: it is not UTF-8. */
static size_t decode(const unsigned char *s, size_t len, uint32_t *code)
{
  static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
  size_t n = *s < 0x80 ? 1 : *s < 0xc0 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 :
	     *s < 0xf8 ? 4 : 0, i;
  if (n == 0 || n > len) return 0;
  *code = n == 1 ? *s : *s & (0x7fu >> n);
  for (i = 1; i < n; i++) {
    if ((s[i] & 0xc0) != 0x80) return 0;
    *code = *code << 6 | (s[i] & 0x3f);
  }
  if (*code < least[n] || *code > 0x10ffff ||
      (*code >= 0xd800 && *code < 0xe000))
    return 0;
  return n;
}

/* Controls from 128 on, line ends, and characters that turn a text around. */
static bool is_hidden(uint32_t c)
{
  return (c >= 0x80 && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
	 (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
	 c == 0xfeff;
}

size_t mp_spell(const char *s, size_t len, char buf[MP_SPELLED])
{
  static const char controls[] = "\n\t\r", letters[] = "ntr";
  const char *c;
  uint32_t code = 0;
  size_t n = decode((const unsigned char *)s, len, &code);
  if (n > 1 && is_hidden(code)) {
    snprintf(buf, MP_SPELLED, "\\u{%X}", (unsigned)code);
  } else if (n == 0 || code < ' ' || code == 0x7f) {
    c = *s != '\0' ? strchr(controls, *s) : NULL;
    if (c != NULL) snprintf(buf, MP_SPELLED, "\\%c", letters[c - controls]);
    else snprintf(buf, MP_SPELLED, "\\%03u", (unsigned)(unsigned char)*s);
  } else {
    memcpy(buf, s, n);
    buf[n] = '\0';
  }
  return n > 0 ? n : 1;
}

size_t mp_spell_secret(const char *text, const char *s)
{
  const char *at;
  if (s < text + 3 || memcmp(s - 3, "://", 3) != 0) return 0;
  at = memrchr(s, '@', strcspn(s, "/?#, \t\n"));
  return at != NULL ? (size_t)(at + 1 - s) : 0;
}

void mp_spell_hide(char *text)
{
  char *s;
  for (s = text; *s != '\0'; s++) {
    size_t n = mp_spell_secret(text, s);
    if (n > 0) memmove(s, s + n, strlen(s + n) + 1);
    if (*s == '\0') break;
  }
}
