/* SPDX-License-Identifier: GPL-2.0 */
/* A module's declarations mean nothing in userspace. */
#ifndef MROCE_HOST_LINUX_MODULE_H
#define MROCE_HOST_LINUX_MODULE_H

#define MODULE_LICENSE(s)	extern int host_module
#define MODULE_DESCRIPTION(s)	extern int host_module
#define MODULE_AUTHOR(s)	extern int host_module

#endif
