/* SPDX-License-Identifier: GPL-2.0 */
/* A module's declarations mean nothing in userspace. */
#ifndef MROCE_HOST_LINUX_MODULE_H
#define MROCE_HOST_LINUX_MODULE_H

#define MODULE_LICENSE(s) _Static_assert(sizeof(s), "")
#define MODULE_DESCRIPTION(s) _Static_assert(sizeof(s), "")
#define MODULE_AUTHOR(s) _Static_assert(sizeof(s), "")

#endif
