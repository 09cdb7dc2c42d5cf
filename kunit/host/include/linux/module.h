/* SPDX-License-Identifier: GPL-2.0 */
/* A module's declarations mean nothing in userspace. */
#ifndef MROCE_HOST_LINUX_MODULE_H
#define MROCE_HOST_LINUX_MODULE_H

#include <assert.h>

#define MODULE_LICENSE(s) static_assert(sizeof(s), "")
#define MODULE_DESCRIPTION(s) static_assert(sizeof(s), "")
#define MODULE_AUTHOR(s) static_assert(sizeof(s), "")

#endif
