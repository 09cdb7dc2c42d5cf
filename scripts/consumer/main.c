// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel user of Verbs, as NVMe over Fabrics or RDS are, that only tests: on insertion it runs
 * one test on one device, which talks to itself. The insertion fails if the test does, and the log
 * says why.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>

#include "consumer.h"

static char *device = "";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "name of the RDMA device");

static int gid;
module_param(gid, int, 0444);
MODULE_PARM_DESC(gid, "index of the GID by which it reaches itself");

static char *test = "";
module_param(test, charp, 0444);
MODULE_PARM_DESC(test, "what is tested: a name in the table of main.c");

static unsigned int rounds = 100;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "how often a test tries what may or may not happen");

static const struct {
	const char *name;
	int (*run)(struct consumer *c);
} tests[] = {
	{ "operations",		consumer_operations },
	{ "handlers",		consumer_handlers },
	{ "call-chain",		consumer_call_chain },
	{ "destruction",	consumer_destruction },
	{ "regions",		consumer_regions },
	{ "lasting",		consumer_lasting },
	{ "bad",		consumer_bad },
};

int failed(const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	va_start(args, fmt);
	vaf.va = &args;
	pr_err("%s: %pV\n", test, &vaf);
	va_end(args);
	return -EIO;
}

/* the device under test; used by one insertion, which has the module to itself */
static struct consumer consumer;
static int result = -ENODEV;

static int address(struct consumer *c)
{
	const struct ib_gid_attr *attr = rdma_get_gid_attr(c->dev, 1, c->gid_index);
	int err;

	if (IS_ERR(attr))
		return PTR_ERR(attr);
	c->gid = attr->gid;
	err = rdma_read_gid_l2_fields(attr, NULL, c->dmac);
	rdma_put_gid_attr(attr);
	return err;
}

static int two_processors(struct consumer *c)
{
	c->cpu[1] = cpumask_first(cpu_online_mask);
	c->cpu[0] = cpumask_next(c->cpu[1], cpu_online_mask);
	if (c->cpu[0] >= nr_cpu_ids)
		return failed("takes two processors");
	return set_cpus_allowed_ptr(current, cpumask_of(c->cpu[0]));
}

static int run(struct ib_device *dev)
{
	struct consumer *c = &consumer;
	int err, i;

	for (i = 0; i < ARRAY_SIZE(tests); i++)
		if (!strcmp(tests[i].name, test))
			break;
	if (i == ARRAY_SIZE(tests))
		return -EINVAL;

	c->dev = dev;
	c->gid_index = gid;
	c->rounds = rounds;
	err = address(c);
	if (err)
		return err;
	err = two_processors(c);
	if (err)
		return err;
	c->pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(c->pd))
		return PTR_ERR(c->pd);
	err = tests[i].run(c);
	ib_dealloc_pd(c->pd);
	return err;
}

/* The device stays for as long as this runs, and is of no use to us afterwards. */
static int consumer_add(struct ib_device *dev)
{
	if (!strcmp(dev_name(&dev->dev), device))
		result = run(dev);
	return -EOPNOTSUPP;
}

static struct ib_client consumer_client = {
	.name = KBUILD_MODNAME,
	.add = consumer_add,
};

static int __init consumer_init(void)
{
	int err = ib_register_client(&consumer_client);

	if (err)
		return err;
	ib_unregister_client(&consumer_client);
	if (!result)
		pr_info("%s: passed\n", test);
	return result;
}
module_init(consumer_init);

static void __exit consumer_exit(void)
{
}
module_exit(consumer_exit);

MODULE_DESCRIPTION("Tests of an RDMA device by a kernel user");
MODULE_LICENSE("GPL");
