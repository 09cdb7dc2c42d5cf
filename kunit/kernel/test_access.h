/* SPDX-License-Identifier: GPL-2.0 */
/* What test_access.c puts in the place of functions that drivers/mroce/verbs/access.c calls. */
#ifndef MROCE_TEST_ACCESS_H
#define MROCE_TEST_ACCESS_H

#include <linux/types.h>

void *mroce_test_memcpy(void *dst, const void *src, size_t n);

#endif
