/* SPDX-License-Identifier: MIT */
/*
** Text of the program as reports show it: UTF-8 that neither moves a terminal's
** cursor, nor breaks a line, nor turns the text around it. Everything else is
** spelled as in a Lua string: \n, \027, \255 for bytes, \u{202E} for
** characters. lib/jit/mp/model/names.lua does the same for texts of profiles.
*/
#ifndef MP_SPELL_H
#define MP_SPELL_H

#include <stddef.h>

#define MP_SPELLED	12	/* Bytes that each character fits in. */

/* Writes the first character of a text that is not empty, with a zero. Returns
** how many bytes of the text it has. */
size_t mp_spell(const char *s, size_t len, char buf[MP_SPELLED]);

/* The length of the name and password of an address, as in
** http://name:password@host/, if they are at s, within a text; or 0. */
size_t mp_spell_secret(const char *text, const char *s);

/* Takes them out of a text. */
void mp_spell_hide(char *text);

#endif
