// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which devices libibverbs finds. It is loaded when asked for: the tool is of use without it.
 */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"

#define DRIVER	"/etc/libibverbs.d/mroce.driver"
#define PLUGINS	"/usr/lib*/*/libibverbs/libmroce-rdmav*.so"
#define PLUGINS_64 "/usr/lib64/libibverbs/libmroce-rdmav*.so"

struct ibv_device;

static const char *why(void)
{
	const char *reason = NULL;
	glob_t found = { 0 };

	if (access(DRIVER, R_OK))
		return "there is no " DRIVER ": install the provider";
	if (glob(PLUGINS, 0, NULL, &found) && glob(PLUGINS_64, 0, NULL, &found))
		return "its plug-in is not installed (libmroce-rdmav*.so)";
	if (!dlopen(found.gl_pathv[0], RTLD_NOW))
		reason = "its plug-in was built for another libibverbs; IBV_SHOW_WARNINGS=1 ibv_devinfo says more";
	globfree(&found);
	return reason ? reason : "module and provider are of different versions, or may this user not open "
				 "/dev/infiniband/uverbs*?";
}

bool verbs_has(const char *device, char *reason, size_t size)
{
	struct ibv_device **(*get)(int *n);
	const char *(*name)(struct ibv_device *d);
	void (*put)(struct ibv_device **list);
	void *lib = dlopen("libibverbs.so.1", RTLD_NOW);
	struct ibv_device **list = NULL;
	bool has = false;
	int i, n = 0;

	if (!lib) {
		snprintf(reason, size, "libibverbs is not installed");
		return false;
	}
	*(void **)&get = dlsym(lib, "ibv_get_device_list");
	*(void **)&name = dlsym(lib, "ibv_get_device_name");
	*(void **)&put = dlsym(lib, "ibv_free_device_list");
	if (get && name && put)
		list = get(&n);
	for (i = 0; list && i < n; i++)
		has |= !strcmp(name(list[i]), device);
	if (list)
		put(list);
	if (!has)
		snprintf(reason, size, "%s", why());
	return has;
}
