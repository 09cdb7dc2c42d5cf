/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * screen.c: the terminal of mroce top.
 */
#ifndef MROCE_TOOL_SCREEN_H
#define MROCE_TOOL_SCREEN_H

#include <stdbool.h>

/* what screen_key() returns that is no key */
enum { SCREEN_NONE = -1, SCREEN_RESIZED = -2, SCREEN_GONE = -3 };

/* Takes the terminal; false: there is none that can be drawn upon. */
bool screen_begin(void);
/* Gives it back. Without effect if it was not taken; also done at exit and by signals. */
void screen_end(void);
void screen_size(unsigned int *rows, unsigned int *columns);
/* A key, or why there is none after @ms. */
int screen_key(int ms);

#endif
